"""One suite over every space: the contract of base.py."""

import numpy as np
import pytest

import sfumato as sf
from conftest import cloud, column, typical_radius
from sfumato.laws.bounds import bounds_of, spd
from sfumato.spaces import Family

# log ∘ exp cannot be better than the doubles in between: a point moved by t keeps about eps/t of a short step, and one
# that stops short of the cut locus by c keeps about eps/c of its direction
EPS = np.finfo(float).eps


@pytest.mark.parametrize("distance", [1e-12, 1e-9, 1e-4, 0.3, 1.2, "edge"])
def test_exp_and_log_are_inverse(space, rng, distance):
    base = cloud(space, space.origin(), typical_radius(space), 1, rng)[0]
    short = 1e-6 if distance == "edge" else 1.0
    if distance == "edge":
        distance = (
            bounds_of(space).injectivity_radius - 1e-6 if np.isfinite(bounds_of(space).injectivity_radius) else 6.0
        )
    distance = min(distance, bounds_of(space).injectivity_radius - 1e-6)
    vectors = distance * space.random_directions(base, 50, rng)
    points = space.exp(base, vectors)
    back = space.log(base, points)
    # eigenvalues e^±t of a matrix at distance t make its small ones t·e^(√2·t) times less accurate
    stretch = np.exp(np.sqrt(2) * distance) if isinstance(space, sf.SPD) else 1.0
    assert space.norm(base, back - vectors).max() <= 1e-11 * distance + 40 * EPS * stretch / short
    assert space.distance(space.exp(base, back), points).max() <= 1e-11 * distance + 40 * EPS * stretch
    assert np.abs(space.distance(base, points) - distance).max() <= 1e-11 * distance + 20 * EPS * stretch
    assert np.allclose(space.distance(points, base), space.distance(base, points), rtol=1e-11, atol=20 * EPS * stretch)


def test_distance_is_not_lost_near_zero():
    pole = np.array([0.0, 0.0, 1.0])
    assert sf.Sphere(dim=2).distance(pole, np.array([1e-9, 0.0, 1.0])) == pytest.approx(1e-9, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-28, 1.0, 1e28])
def test_spd_does_not_care_for_units(rng, scale):
    space = sf.SPD(size=3)
    points = cloud(space, np.eye(3), 2.0, 30, rng)
    base = points[0]
    assert space.validate(scale * points).shape == (30, 3, 3)
    assert np.allclose(
        space.distance(scale * base, scale * points), space.distance(base, points), rtol=1e-12, atol=1e-14
    )
    assert np.allclose(space.log(scale * base, scale * points) / scale, space.log(base, points), rtol=1e-10, atol=1e-13)
    back = space.exp(scale * base, space.log(scale * base, scale * points)) / scale
    assert np.allclose(back, points, rtol=1e-11)


def test_badly_scaled_rows_of_a_matrix_are_fine():
    space, units = sf.SPD(size=2), np.diag([1e-14, 1e14])
    a, b = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[1.0, -0.2], [-0.2, 3.0]])
    assert space.validate([units @ a @ units]).shape == (1, 2, 2)
    assert space.distance(units @ a @ units, units @ b @ units) == pytest.approx(float(space.distance(a, b)), rel=1e-12)


def test_coordinates_are_orthonormal(space, rng):
    base = cloud(space, space.origin(), typical_radius(space), 1, rng)[0]
    basis = space.tangent_basis(base)
    assert basis.shape == (space.dim, *space.point_shape)
    gram = np.array([[float(space.inner(base, a, b)) for a in basis] for b in basis])
    assert np.allclose(gram, np.eye(space.dim), atol=1e-12)
    coordinates = rng.normal(size=(7, space.dim))
    assert np.allclose(space.coordinates(base, space.from_coordinates(base, coordinates)), coordinates, atol=1e-12)


def test_directions_are_uniform(space, rng):
    base = cloud(space, space.origin(), typical_radius(space), 1, rng)[0]
    units = space.coordinates(base, space.random_directions(base, 20_000, rng))
    assert np.allclose(np.linalg.norm(units, axis=1), 1.0)
    assert np.abs(units.mean(axis=0)).max() < 5.5 / np.sqrt(20_000 * space.dim)
    assert np.allclose(units.T @ units / 20_000, np.eye(space.dim) / space.dim, atol=6 / np.sqrt(20_000) / space.dim)


def test_volume_density_is_the_jacobian_of_exp(space, rng):
    """Against finite differences: how exp stretches a small box of tangent vectors."""
    base, step = cloud(space, space.origin(), typical_radius(space), 1, rng)[0], 1e-5
    for length in (0.05, 0.6, 1.1):
        v = rng.normal(size=space.dim)
        v *= min(length, 0.8 * bounds_of(space).injectivity_radius) / np.linalg.norm(v)
        moved = v + step * np.concatenate([np.eye(space.dim), -np.eye(space.dim)])
        end = space.exp(base, space.from_coordinates(base, v))
        ends = space.coordinates(end, space.log(end, space.exp(base, space.from_coordinates(base, moved))))
        jacobian = (ends[: space.dim] - ends[space.dim :]) / (2 * step)
        expected = np.log(abs(np.linalg.det(jacobian)))
        found = bounds_of(space).log_volume_density(base, space.from_coordinates(base, v[None]))[0]
        assert found == pytest.approx(expected, abs=1e-6)


def test_radial_bounds_hold_and_dominate(space, rng):
    """lower ≤ radius^(d−1)·density ≤ upper, and density/upper falls along every ray."""
    base = space.origin()
    radii = np.linspace(0.01, min(0.99 * bounds_of(space).injectivity_radius, 9.0), 200)
    lower, upper = bounds_of(space).log_radial_bounds(radii)
    for direction in space.random_directions(base, 40, rng):
        vectors = direction * column(space, radii)
        density = bounds_of(space).log_volume_density(base, vectors) + (space.dim - 1) * np.log(radii)
        assert (density >= lower - 1e-9).all()
        assert (density <= upper + 1e-9).all()
        assert (np.diff(density - upper) <= 1e-9).all()


def test_sphere_area_is_the_mean_density(rng):
    for size in (2, 3):
        space = sf.SPD(size=size)
        directions = space.random_directions(np.eye(size), 200_000, rng)
        for radius in (0.5, 2.0, 4.0):
            ratio = np.exp(bounds_of(space).log_volume_density(np.eye(size), radius * directions))
            mean, error = ratio.mean(), ratio.std() / np.sqrt(len(ratio))
            exact = np.exp(bounds_of(space).log_sphere_area(np.array([radius])) - (space.dim - 1) * np.log(radius))[0]
            assert abs(mean - exact) < 5 * error
    assert bounds_of(sf.SPD(size=4)).log_sphere_area(1.0) is None


@pytest.mark.parametrize("size", [2, 3])
def test_sphere_area_has_converged(size, monkeypatch):
    radii = np.array([0.01, 1.0, 4.0, 8.0])
    found = bounds_of(sf.SPD(size=size)).log_sphere_area(radii)
    many = np.linspace(0.01, 60.0, 4000)  # of so many a series gives the values
    few = np.concatenate([bounds_of(sf.SPD(size=size)).log_sphere_area(part) for part in np.split(many, 40)])
    assert np.abs(bounds_of(sf.SPD(size=size)).log_sphere_area(many) - few).max() < 1e-9
    quadrature = spd._on_interval
    monkeypatch.setattr(spd, "_on_interval", lambda end, count: quadrature(end, 100))
    assert np.abs(found - bounds_of(sf.SPD(size=size)).log_sphere_area(radii)).max() < 1e-7


def test_hessian_bounds_and_trace_match_finite_differences(space, rng):
    base, h = cloud(space, space.origin(), typical_radius(space), 1, rng)[0], 1e-4
    for distance in (0.2, 0.7):
        y = space.exp(base, distance * space.random_directions(base, 1, rng)[0])
        hessian = finite_hessian(space, base, y[None], np.ones(1), h)
        eigenvalues = np.linalg.eigvalsh(hessian)
        lower, upper = bounds_of(space).hessian_bounds(distance)
        assert eigenvalues[0] >= lower - 1e-6
        assert eigenvalues[-1] <= upper + 1e-6
        assert np.trace(hessian) == pytest.approx(space.hessian_trace(base, y[None])[0], abs=1e-5)
        if not isinstance(space, sf.SPD) and space.dim > 1:  # the lower bound is attained
            assert eigenvalues[0] == pytest.approx(float(lower), abs=1e-6)


def test_mean_hessian_bounds_hold(space, rng):
    for _ in range(20):
        points = cloud(space, space.origin(), typical_radius(space), 4, rng)
        base, w = cloud(space, space.origin(), typical_radius(space), 1, rng)[0], rng.dirichlet(np.ones(4))
        distances = space.distance(base, points)
        lower, upper = bounds_of(space).mean_hessian_bounds(w @ distances**2, distances.max())
        eigenvalues = np.linalg.eigvalsh(finite_hessian(space, base, points, w, 1e-4))
        assert lower - 1e-6 <= eigenvalues[0]
        assert eigenvalues[-1] <= upper + 1e-6


def test_mean_log_is_the_mean_of_logs(space, rng):
    points, bases = (cloud(space, space.origin(), typical_radius(space), k, rng) for k in (40, 5))
    weights = rng.random(40)
    for w in (None, weights):
        kernel = space.mean_log(bases, points, w)
        shares = np.full(40, 1 / 40) if w is None else w / w.sum()
        for base, mean in zip(bases, kernel, strict=True):
            assert np.allclose(mean, np.tensordot(shares, space.log(base, points), 1), atol=1e-13)


def test_mean_log_does_not_depend_on_blocks(space, rng, monkeypatch):
    points, bases = (cloud(space, space.origin(), typical_radius(space), k, rng) for k in (60, 7))
    whole = space.mean_log(bases, points)
    monkeypatch.setattr("sfumato.numerics.arrays.BLOCK", 64)
    assert np.allclose(space.mean_log(bases, points), whole, atol=1e-14)


def test_shapes_ignore_position_size_and_rotation_but_not_reflection(rng):
    space = sf.PlanarShapes(landmarks=7)
    shape = rng.normal(size=(7, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert space.distance(shape, 1e5 * shape @ turn + [3.0, -2.0]) < 1e-11
    assert space.distance(shape, shape * [1, -1]) > 0.1


def finite_hessian(space, base, points, weights, h):
    """Hess F at base in an orthonormal frame, from F along geodesics."""
    d = space.dim
    pairs = np.concatenate([np.eye(d)[i][None] + np.eye(d)[j] for i in range(d) for j in range(d)]).reshape(d, d, d)

    def values(coordinates):
        x = space.exp(base, space.from_coordinates(base, coordinates))
        return np.array([weights @ space.distance(p, points) ** 2 / 2 for p in x])

    center = values(np.zeros((1, d)))[0]
    single = values(h * np.eye(d)) + values(-h * np.eye(d)) - 2 * center
    both = (values(h * pairs.reshape(-1, d)) + values(-h * pairs.reshape(-1, d)) - 2 * center).reshape(d, d)
    return (both - single[:, None] - single[None]) / (2 * h * h)


# -- validation -------------------------------------------------------------------------------------------------------
BAD = [
    (sf.Sphere(dim=2), [[0, 0, 1], [0, np.nan, 1]], 1, "NaN"),
    (sf.Sphere(dim=2), [[0, 0, 1], [0, 0, 2]], 1, "norm is 2"),
    (sf.Sphere(dim=2, curvature=4.0), [[0, 0, 1]], 0, "0.5"),
    (sf.SPD(size=2), [[[1, 0], [0, np.inf]]], 0, "infinite"),
    (sf.SPD(size=2), [[[1, 0], [0, 1]], [[1, 0.5], [0, 1]]], 1, "not symmetric"),
    (sf.SPD(size=2), [[[1, 2], [2, 1]]], 0, "smallest eigenvalue is -1"),
    (sf.SPD(size=2), [[[1, 0], [0, 1]], [[1e-28, 1e-28], [1e-28, 1e-28]]], 1, "not positive definite"),
    (sf.PlanarShapes(landmarks=3), [[[0, 0], [1, 0], [0, 1]], [[2, 3], [2, 3], [2, 3]]], 1, "landmarks coincide"),
    (sf.PlanarShapes(landmarks=3), [[[0, 0], [1, np.nan], [0, 1]]], 0, "NaN"),
    (sf.Euclidean(dim=2), [[0, 0], [np.inf, 0]], 1, "infinite"),
]


@pytest.mark.parametrize(("space", "points", "row", "reason"), BAD, ids=lambda x: str(x)[:30])
def test_validate_names_the_row_and_the_reason(space, points, row, reason):
    with pytest.raises(sf.InvalidPointError, match=reason) as caught:
        space.validate(np.array(points, dtype=float))
    assert caught.value.row == row
    assert f"record {row}" in str(caught.value)


@pytest.mark.parametrize(
    ("space", "points", "reason"),
    [
        (sf.Sphere(dim=2), np.ones((4, 4)), r"\(4, 4\), expected \(n, 3\)"),
        (sf.SPD(size=3), np.ones((4, 2, 2)), r"expected \(n, 3, 3\)"),
        (sf.PlanarShapes(landmarks=5), np.ones((4, 4, 2)), r"expected \(n, 5, 2\)"),
        (sf.SPD(size=2), np.ones((1, 2, 2)) * 1j, "complex"),
        (sf.Euclidean(dim=2), np.ones((1, 2)) * 1j, "complex"),
    ],
)
def test_wrong_shapes_and_kinds_are_refused(space, points, reason):
    with pytest.raises(ValueError, match=reason):
        space.validate(points)


def test_all_bad_rows_are_counted():
    points = np.tile([0.0, 0.0, 1.0], (30, 1))
    points[[3, 7, 8, 20]] = np.nan
    with pytest.raises(sf.InvalidPointError, match=r"record 3: holds NaN .* \(3 more are bad: 7, 8, 20\)"):
        sf.Sphere(dim=2).validate(points)


def test_tiny_drift_is_put_right():
    points = sf.Sphere(dim=2).validate(np.array([[0.0, 0.0, 1.0 + 3e-7]], dtype=np.float32).astype(float))
    assert np.linalg.norm(points[0]) == pytest.approx(1.0, abs=1e-15)


def test_complex_landmarks_are_the_same_shapes(rng):
    space, landmarks = sf.PlanarShapes(landmarks=4), rng.normal(size=(3, 4, 2))
    assert np.allclose(space.validate(landmarks), space.validate(landmarks[..., 0] + 1j * landmarks[..., 1]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.Sphere(dim=0),
        lambda: sf.Sphere(dim=2, curvature=-1),
        lambda: sf.SPD(size=0),
        lambda: sf.PlanarShapes(2),
    ],
)
def test_impossible_spaces_are_refused(make):
    with pytest.raises(ValueError, match=r"at least|positive"):
        make()


# -- where spaces lie, and how they are found ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("space", "radius"), [(sf.Euclidean(3), 1.0), (sf.Sphere(2, 2.5), 0.4), (sf.SPD(3), 0.8)], ids=str
)
def test_embeddings_hold_what_they_claim(space, radius, rng):
    """Points come back, the image of a ball has the diameter stated and not half of it, and projections are near the mean."""
    ambient, center = space.embedding(), cloud(space, space.origin(), 0.3, 1, rng)[0]
    points = space.exp(center, radius * space.random_directions(center, 400, rng))
    y = ambient.embed(points)
    assert y.shape == (400, ambient.dim)
    assert np.array_equal(ambient.unembed(y), space.present(points))
    widest = np.linalg.norm(y[:, None] - y, axis=-1).max()
    assert widest < ambient.diameter(center, radius) * (1 + 1e-9)
    assert space.name == "spd" or widest > 0.9 * ambient.diameter(center, radius)  # there a bound only
    mean = y.mean(axis=0)
    noise = rng.standard_normal((200, ambient.dim))
    for length in (0.01, 0.2):
        draws = mean + length * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        projected = ambient.project(draws, center, radius)
        assert not space.diagnose(projected)[1]
        errors = np.linalg.norm(ambient.embed(projected - ambient.project(mean, center, radius)), axis=-1)
        assert errors.max() < ambient.after_projection(length, center, radius) * (1 + 1e-9)
    assert ambient.on_manifold(ambient.unembed(y[0])) == (space.name != "sphere")


def test_landmarks_have_no_embedding_but_can_be_aligned(rng):
    shapes, sphere = sf.PlanarShapes(4), sf.Sphere(2)
    base, point = cloud(shapes, shapes.origin(), 0.3, 2, rng)
    aligned = shapes.align(base, 1j * point)
    assert (shapes.embedding(), shapes.landmark_dim) == (None, 2)
    assert abs(np.vdot(base, aligned).imag) < 1e-14
    assert sphere.landmark_dim is None
    assert sphere.align(sphere.origin(), sphere.origin()[None]).tolist() == [[0.0, 0.0, 1.0]]


def test_a_space_is_found_by_its_size_and_by_the_shape_of_its_points(space):
    if space.name == "elastic-curves":
        pytest.skip("it must also be told whether curves are closed: tests/spaces/test_elastic_curves.py")
    kind, option = Family(type(space)), space.size_option
    assert kind.shaped(space.present(space.origin()).shape).point_shape == space.point_shape
    assert kind.sized(**{option: space.parameters()[option]}).point_shape == space.point_shape
    assert kind.sized(**{option: None}) is None
    with pytest.raises(ValueError, match=f"colour does not go with the space {space.name}, which takes {option}"):
        kind.sized(colour=3)
    with pytest.raises(ValueError, match=f"the space {space.name} has no points of shape"):
        kind.shaped((7, 5, 3))


def test_complex_landmarks_that_were_not_validated_are_the_same_shapes():
    space = sf.PlanarShapes(landmarks=3)
    triangle = np.array([0, 1, 1j])
    other = np.array([0, 2, 1j])
    assert space.distance(triangle, 5j * triangle + 2) < 1e-15
    assert space.distance(triangle, 5j * other + 2) == pytest.approx(space.distance(*space.validate([triangle, other])))
