"""Landmarks in space: Kendall's shapes and sizes-and-shapes."""

import numpy as np
import pytest
from geomstats.geometry.pre_shape import PreShapeSpace

import sfumato as sf
from sfumato.spaces import Family
from sfumato.spaces.kendall import Landmarks

SOLID = [sf.Shapes3D(24), sf.Shapes3D(9, reflections=True), sf.SizeAndShape(24, dim=3), sf.SizeAndShape(9, dim=2)]


class Planar(sf.Shapes3D):
    """The same formulas in the plane."""

    name, landmark_dim = "planar", 2

    def __init__(self, landmarks):
        self._make(landmarks, 2, False)


def rotations(n, m, rng):
    q = np.linalg.qr(rng.normal(size=(n, m, m)))[0]
    q[:, :, 0] *= np.linalg.det(q)[:, None]
    return q


def specimens(space, n, rng, spread=0.1):
    """As they are digitized: somewhere, turned, of some size (of similar size where that counts)."""
    k, m = space.point_shape
    one = rng.normal(size=(k, m))
    raw = (one + spread * rng.normal(size=(n, k, m))) @ rotations(n, m, rng)
    sizes = np.exp(0.1 * rng.normal(size=n)) if not space.unit else rng.uniform(0.1, 50, size=n)
    return raw * sizes[:, None, None] + 30 * rng.normal(size=(n, 1, m))


def procrustes(space, raw, steps=200):
    """Generalized Procrustes analysis, specimen by specimen: turn all to the mean, average, repeat; along great circles where
    there is no size."""
    points = [x - x.mean(axis=0) for x in raw]
    if space.unit:
        points = [x / np.linalg.norm(x) for x in points]
    mean = points[0]
    for _ in range(steps):
        logs = []
        for x in points:
            u, _, vt = np.linalg.svd(x.T @ mean)
            flip = np.eye(len(u))
            if not space.reflections:
                flip[-1, -1] = np.linalg.det(u @ vt)
            turned = x @ u @ flip @ vt
            if space.unit:
                angle = np.arccos(min(1.0, np.sum(turned * mean)))
                turned = mean + angle / np.sin(angle) * (turned - np.cos(angle) * mean) if angle > 1e-6 else turned
            logs.append(turned - mean)
        step = np.mean(logs, axis=0)
        t = np.linalg.norm(step)
        mean = np.cos(t) * mean + np.sin(t) * step / max(t, 1e-300) if space.unit else mean + step
        if t < 1e-13:
            break
    return mean


@pytest.mark.parametrize("space", SOLID, ids=str)
def test_means_are_those_of_generalized_procrustes_analysis(space, rng):
    raw = specimens(space, 58, rng)
    mean = sf.frechet_mean(space, raw).point
    wanted = procrustes(space, raw)
    assert float(space.distance(wanted, mean)) < 1e-8
    assert np.abs(space.align(wanted, mean) - wanted).max() < 1e-8
    other = procrustes(space, specimens(space, 58, rng))  # of other specimens: the bound has a meaning
    assert float(space.distance(other, mean)) > 1e-2


def test_shapes_are_those_of_geomstats(rng):
    space, theirs = sf.Shapes3D(12), PreShapeSpace(12, 3)
    theirs.equip_with_group_action("rotations")
    theirs.equip_with_quotient()
    metric = theirs.quotient.metric
    base, *points = space.validate(specimens(space, 21, rng, 0.3))
    points = np.array(points)
    # geomstats takes the arccosine of a cosine, which is right only away from zero: no point here is near the base
    assert np.allclose(space.distance(base, points), metric.dist(base, points), rtol=1e-9, atol=1e-9)
    logs = space.log(base, points)
    assert np.allclose(logs, metric.log(points, base), atol=1e-9)
    assert np.allclose(space.exp(base, 0.7 * logs), metric.exp(0.7 * logs, base), atol=1e-9)


def test_planar_shapes_are_the_same_by_both_formulas(rng):
    ours, planar = Planar(8), sf.PlanarShapes(8)
    raw = specimens(ours, 40, rng, 0.4)
    a, z = ours.validate(raw), planar.validate(raw)
    assert np.allclose(planar.present(z), a, atol=1e-14)
    assert ours.dim == planar.dim
    assert np.allclose(ours.distance(a[0], a), planar.distance(z[0], z), atol=1e-9)
    assert np.allclose(ours.log(a[0], a), planar.present(planar.log(z[0], z)), atol=1e-9)
    one, two = (sf.frechet_mean(space, raw).point for space in (ours, planar))
    assert planar.distance(planar.validate(one[None]), planar.validate(two[None])) < 1e-9


# -- accuracy ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("length", [1e-12, 1e-6, 0.1, 1.0])
@pytest.mark.parametrize("space", SOLID, ids=str)
def test_distances_keep_their_digits(space, length, rng):
    base = space.validate(specimens(space, 1, rng))[0]
    base = base / np.linalg.norm(base)
    vectors = length * space.random_directions(base, 30, rng)
    if length > 0.5:  # the shortest way still
        vectors = 0.3 * vectors
    turned = space.exp(base, vectors) @ rotations(30, base.shape[1], rng)
    lengths = np.linalg.norm(vectors, axis=(1, 2))
    assert np.allclose(space.distance(base, turned), lengths, rtol=1e-12, atol=1e-15)
    assert np.allclose(space.log(base, turned), vectors, rtol=0, atol=4e-15)


def test_shapes_have_no_unit_and_sizes_have_theirs(rng):
    shapes, sizes = sf.Shapes3D(5), sf.SizeAndShape(5, dim=3)
    raw = specimens(shapes, 4, rng) - 30
    for factor in (1e-200, 1e-28, 1e28, 1e200, 1e300):
        assert shapes.distance(shapes.validate(factor * raw), shapes.validate(raw)).max() < 1e-12
    for factor in (1e-28, 1e28):
        small, large = sizes.validate(raw), sizes.validate(factor * raw)
        assert np.allclose(
            sizes.distance(large[0], large[1:]), factor * sizes.distance(small[0], small[1:]), rtol=1e-9, atol=0
        )
    for factor in (1e-200, 1e200):
        with pytest.raises(sf.InvalidPointError, match="measure in another unit"):
            sizes.validate(factor * raw)


def test_mirror_images(rng):
    apart, same = sf.Shapes3D(6), sf.Shapes3D(6, reflections=True)
    raw = specimens(apart, 9, rng)
    mirrored = raw * [1.0, 1.0, -1.0]
    assert same.distance(same.validate(raw), same.validate(mirrored)).max() < 1e-7
    assert apart.distance(apart.validate(raw), apart.validate(mirrored)).min() > 0.01
    assert apart != same
    assert repr(same) == "Shapes3D(landmarks=6, reflections=True)"


@pytest.mark.parametrize("space", [*SOLID, sf.Shapes3D(300)], ids=str)
def test_canonical_points_stay_as_they_are_to_the_bit(space, rng):
    raw = specimens(space, 50, rng)
    raw[::3] += 1e9
    points = space.validate(raw)
    assert np.abs(points.mean(axis=1)).max() < 1e-15 * np.abs(points).max()
    assert space.validate(points).tobytes() == points.tobytes()


# -- what is no shape, and where turning is not unique ------------------------------------------------------------------------
@pytest.mark.parametrize("space", SOLID, ids=str)
def test_what_is_no_point_is_named(space, rng):
    raw = specimens(space, 5, rng)
    raw[1] = 7.5
    raw[3, 2, 1] = np.nan
    raw[4] = 0.0
    reasons = space.diagnose(raw)[1]
    assert sorted(reasons) == [1, 3, 4]
    assert f"all its {space.landmarks} landmarks coincide" in reasons[1]
    assert reasons[3] == "holds NaN or an infinite value: y of landmark 3"
    with pytest.raises(ValueError, match="shape"):
        space.validate(raw[:, :-1])


def test_singular_records_have_logarithms_of_the_right_length(rng):
    """Records on a line, flat ones, and such as have no nearest rotation: one of the nearest is taken, the same each time."""
    space = sf.Shapes3D(6)
    base = space.origin()
    line = np.outer(np.arange(6.0), [1.0, 2.0, -1.0])
    flat = rng.normal(size=(6, 3)) * [1, 1, 0]
    mirrored = base * [1.0, 1.0, -1.0]  # all singular values are equal
    points = space.validate([line, flat, mirrored])
    logs = space.log(base, points)
    assert np.allclose(space.norm(base, logs), space.distance(base, points), atol=1e-12)
    assert space.distance(space.exp(base, logs), points).max() < 1e-7
    assert np.array_equal(logs, space.log(base, points))
    for _ in range(200):  # nothing lies nearer
        turned = points @ rotations(1, 3, rng)[0]
        assert (
            np.linalg.norm(turned - base, axis=(1, 2))
            >= np.linalg.norm(space.exp(base, logs) - base, axis=(1, 2)) - 1e-12
        ).all()


@pytest.mark.parametrize("space", [sf.Shapes3D(6), sf.SizeAndShape(6, dim=3)], ids=str)
def test_a_line_is_no_centre_and_nothing_is_charged_for_it(space, tmp_path, rng):
    line = np.outer(np.arange(6.0), [1.0, 2.0, -1.0])
    ledger = sf.Ledger.create(tmp_path / "ledger.json", 1.0)
    session = sf.Session(tmp_path / "mean.json", ledger)
    with pytest.raises(ValueError, match="lie on one line cannot be a centre"):
        session.release(specimens(space, 30, rng), sf.Ball(space, line, 0.2), 1.0, "tangent")
    assert ledger.left == 1.0
    flat = rng.normal(size=(6, 3)) * [1, 1, 0]
    assert sf.private_mean(specimens(space, 90, rng), sf.Ball(space, flat, 0.2), 1.0).value.shape == (6, 3)


def test_sizes_and_dimensions_are_checked():
    assert [sf.Shapes3D(4).dim, sf.SizeAndShape(4, 3).dim, sf.SizeAndShape(3, 2).dim] == [5, 6, 3]
    for wrong in (
        lambda: sf.Shapes3D(3),
        lambda: sf.SizeAndShape(5, 4),
        lambda: sf.Shapes(5, 1),
        lambda: sf.SizeAndShape(5, 1),
    ):
        with pytest.raises(ValueError, match=r"dim|at least 4"):
            wrong()
    with pytest.raises(ValueError, match="reflections must be True or False"):
        sf.Shapes3D(5, reflections=1)


# -- the frame, and rows ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("space", SOLID, ids=str)
def test_the_frame_is_horizontal(space, rng):
    base = space.validate(specimens(space, 1, rng))[0]
    basis = space.tangent_basis(base)
    assert np.abs(basis.sum(axis=1)).max() < 1e-13
    product = base.T @ basis
    assert np.abs(product - np.swapaxes(product, 1, 2)).max() < 1e-13 * np.linalg.norm(base)
    if space.unit:
        assert np.abs(space.inner(base, basis, base)).max() < 1e-13


def test_rounding_does_not_turn_the_frame_of_a_symmetric_centre(rng):
    """Its normal vectors have many entries that are equal or nought but for rounding, which differs between processors."""
    space = sf.Shapes3D(9)
    half = rng.normal(size=(4, 3))
    symmetric = space.validate(np.concatenate([half, half * [-1, 1, 1], [[0.0, 0.4, 0.3]]])[None])[0]
    for base in (symmetric, space.origin()):
        wanted = space.tangent_basis(base)
        for _ in range(20):
            near = base * (1 + 1e-15 * rng.normal(size=base.shape)) + 1e-17 * rng.normal(size=base.shape)
            assert np.abs(space.tangent_basis(near) - wanted).max() < 1e-11


@pytest.mark.parametrize("space", [*SOLID, sf.Shapes3D(50)], ids=str)
def test_rows_stand_alone_to_the_bit(space, rng):
    center = space.validate(specimens(space, 1, rng))[0]
    odd = [np.nan, np.inf, 0.0, 1e308, 1e250 * space.origin(), 1e-250 * space.origin(), center, -center]
    odd += [np.outer(np.arange(len(center)), np.arange(center.shape[1])), np.nextafter(center, np.inf)]
    for n in (2, 5, 33, 130):
        raw = specimens(space, n, rng, 0.5)
        honest = made(space, center, raw)
        for value in odd:
            attacked, place = raw.copy(), int(rng.integers(n))
            attacked[place] = value
            for one, two in zip(honest, made(space, center, attacked), strict=True):
                assert np.delete(one, place, axis=0).tobytes() == np.delete(two, place, axis=0).tobytes()


def made(space, center, raw):
    with np.errstate(all="ignore"):
        points = space.diagnose(raw)[0]
        logs = space.log(center, points)
        rows = np.eye(space.dim)[::3]
        return [
            points,
            logs,
            space.coordinates(center, logs),
            space.distance(center, points),
            space.exp(center, logs),
            space.align(center, points),
            space.log_map(center)(points),
            space.log_map(center, rows)(points),
        ]


def test_the_family_is_closed():
    assert all(issubclass(type(space), Landmarks) for space in SOLID)
    family = Family(sf.SizeAndShape)
    assert family.shaped((7, 2)) == sf.SizeAndShape(7, 2)
    assert family.sized(landmarks=7, dim=3, size=None) == sf.SizeAndShape(7, 3)
    assert family.sized(landmarks=None) is None
    for given in ({"landmarks": 7}, {"dim": 3}):
        with pytest.raises(ValueError, match="landmarks and dim together"):
            family.sized(**given)
    for shape, words in (((7, 4), "dim is 2 or 3"), ((7,), "no points of shape")):
        with pytest.raises(ValueError, match=words):
            family.shaped(shape)
    with pytest.raises(ValueError, match="size does not go with"):
        family.sized(size=3)


def test_landmarks_as_far_as_numbers_go_are_named_without_a_warning():
    space = sf.SizeAndShape(4, dim=2)
    far = 1.7e308 * np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    assert "measure in another unit" in space.diagnose(far[None])[1][0]
