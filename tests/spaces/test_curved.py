"""Rotations, axes and hyperbolic space: their geometry beside SciPy, geomstats and fifty digits."""

import mpmath
import numpy as np
import pytest
from geomstats.geometry.grassmannian import Grassmannian
from geomstats.geometry.hyperbolic import Hyperbolic as TheirHyperbolic
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.special_orthogonal import SpecialOrthogonal
from geomstats.learning.frechet_mean import FrechetMean
from scipy.spatial.transform import Rotation

import sfumato as sf
from conftest import cloud
from sfumato.app import cli
from sfumato.spaces import Family
from sfumato.spaces.hyperbolic import FARTHEST
from sfumato.views import view_of
from sfumato.views.figures import draw
from sfumato.views.subject import Subject

TURNS, AXES, PLANE = sf.Rotations(), sf.Axes(dim=2), sf.Hyperbolic(dim=2)


def their_mean(space, points):
    """geomstats stops at 1e-4 unless told."""
    found = FrechetMean(space)
    found.optimizer.epsilon, found.optimizer.max_iter = 1e-13, 2000
    return found.fit(points).estimate_


# -- rotations -------------------------------------------------------------------------------------------------------------
@pytest.fixture
def rotations(rng):
    """All angles up to π, and the half turns, whose quaternions have no scalar part."""
    half = Rotation.from_rotvec(np.pi * np.eye(3))
    return Rotation.concatenate([Rotation.from_quat(rng.normal(size=(200, 4))), half, Rotation.identity(1)])


def test_matrices_quaternions_of_either_sign_and_vectors_are_the_same_rotations(rotations, rng):
    signs = rng.choice([-1.0, 1.0], len(rotations))[:, None]
    quaternions = rotations.as_quat()[:, [3, 0, 1, 2]]  # SciPy has the scalar last
    longer = rotations.as_rotvec() * (1 + 2 * np.pi / np.maximum(rotations.magnitude(), 1e-9))[:, None]
    points = TURNS.validate(rotations.as_matrix())
    for same in (signs * quaternions, rotations.as_rotvec(), longer[:200]):
        assert TURNS.distance(points[: len(same)], TURNS.validate(same)).max() < 1e-14
    assert np.allclose(TURNS.present(points), rotations.as_matrix(), atol=1e-15)
    assert np.allclose(TURNS.to_vectors(points)[:200], rotations.as_rotvec()[:200], atol=1e-14)
    assert (TURNS.to_quaternions(points)[:, 0] >= 0).all()


def test_distances_are_angles(rotations):
    a, b = rotations, rotations[::-1]
    points, others = (TURNS.validate(each.as_matrix()) for each in (a, b))
    assert TURNS.distance(points, others) == pytest.approx((a.inv() * b).magnitude(), abs=1e-14)
    theirs = SpecialOrthogonal(3).metric.dist(a.as_matrix()[:200], b.as_matrix()[:200])
    assert TURNS.distance(points, others)[:200] == pytest.approx(
        theirs, abs=1e-9
    )  # geomstats has the angle too: a factor of 1


def test_the_mean_of_rotations_is_where_scipy_finds_no_turn_left(rng):
    some = Rotation.from_rotvec(rng.normal(0.4, 0.5, (60, 3)))
    mean = sf.frechet_mean(TURNS, some.as_matrix()).point
    left = (Rotation.from_matrix(mean).inv() * some).as_rotvec().mean(axis=0)
    assert np.linalg.norm(left) < 1e-11
    assert np.allclose(mean, their_mean(SpecialOrthogonal(3), some.as_matrix()), atol=1e-9)
    start = TURNS.mean_start(
        TURNS.validate(some.as_matrix())
    )  # SciPy's mean is that of the matrices around: where ours begins
    assert np.allclose(TURNS.present(start), some.mean().as_matrix(), atol=1e-12)
    assert np.linalg.norm(TURNS.present(start) - mean) > 1e-3


def test_rounded_matrices_become_the_nearest_rotation_each_by_itself(rotations, rng):
    rounded = rotations.as_matrix().round(3)
    u, _, v = np.linalg.svd(rounded)
    assert np.allclose(TURNS.present(TURNS.validate(rounded)), u @ v, atol=1e-12)
    assert "put right" in TURNS.corrections(rounded)[0]
    assert TURNS.corrections(rotations.as_matrix()) == TURNS.corrections(rotations.as_rotvec()) == []


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (np.diag([1.0, 1.0, -1.0]), "is a reflection, not a rotation: its determinant is −1"),
        (1.1 * np.eye(3), "is not a rotation matrix: its columns are not of length 1 and at right angles, by 0.1;"),
        (np.zeros((3, 3)), "is not a rotation matrix"),
        (np.array([0.7, 0.7, 0.7, 0.7]), "is not of unit norm: its norm is 1.4; if it is the quaternion of a rotation"),
        (np.array([2e6, 0.0, 0.0]), "is too long for a rotation vector"),
    ],
)
def test_what_is_no_rotation_is_told_why(record, words):
    assert words in TURNS.diagnose(record[None])[1][0]


def test_only_three_dimensions_have_rotations_here():
    for size in (2, 4, True, "3"):
        with pytest.raises(ValueError, match="only rotations of three-dimensional space are known, size=3"):
            sf.Rotations(size)
    assert sf.Rotations(3) == TURNS


@pytest.mark.parametrize("space", [TURNS, AXES, sf.Axes(dim=7), PLANE], ids=str)
def test_points_are_canonical_once_and_for_all(space, rng):
    points = cloud(space, space.origin(), 1.2, 300, rng)
    once = space.validate(points * rng.choice([-1.0, 1.0], (300, 1)) if space is not PLANE else points)
    assert np.array_equal(space.validate(once), once)


# -- axes ------------------------------------------------------------------------------------------------------------------
def test_axes_are_at_the_nearer_of_two_angles(rng):
    u, v = rng.normal(size=(2, 100, 3))
    u, v = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (u, v))
    theirs = Hypersphere(2).metric
    nearer = np.minimum(theirs.dist(u, v), theirs.dist(u, -v))
    assert AXES.distance(AXES.validate(u), AXES.validate(-v)) == pytest.approx(nearer, abs=1e-9)
    assert np.array_equal(AXES.validate(u), AXES.validate(-u))
    lines = [x[:, :, None] * x[:, None] for x in (u, v)]
    # as lines in geomstats' Grassmannian, whose metric makes every distance √2 times as long
    assert np.sqrt(2) * nearer == pytest.approx(Grassmannian(3, 1).metric.dist(*lines), abs=1e-6)
    turned = np.where(np.sum(u * v, axis=1, keepdims=True) < 0, -v, v)
    assert np.allclose(AXES.log(u, v), theirs.log(turned, u), atol=1e-9)


def test_the_mean_of_axes_does_not_depend_on_their_signs(rng):
    base = cloud(AXES, AXES.origin(), 0.7, 1, rng)[0]
    points = cloud(AXES, base, 0.7, 50, rng)
    mixed = points * rng.choice([-1.0, 1.0], 50)[:, None]
    mean = sf.frechet_mean(AXES, mixed).point
    turned = np.where((points @ mean)[:, None] < 0, -points, points)
    assert np.linalg.norm(Hypersphere(2).metric.log(turned, mean).mean(axis=0)) < 1e-11


def test_axes_at_right_angles_have_a_logarithm_that_their_signs_do_not_change():
    up, level = AXES.validate([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    for sign in (1, -1):
        assert AXES.log(up, AXES.validate(sign * level[None])).round(12).tolist() == [[round(np.pi / 2, 12), 0.0, 0.0]]


def test_axes_have_latitudes_and_longitudes_of_their_upper_end():
    points = AXES.from_degrees(np.array([-30.0, 30.0]), np.array([10.0, 20.0]))
    assert AXES.to_degrees(AXES.validate(points)).round(9).tolist() == [[30.0, -170.0], [30.0, 20.0]]
    assert sf.Axes(dim=3).from_degrees is None


# -- files and pictures ------------------------------------------------------------------------------------------------------
def test_files_hold_points_in_any_layout(tmp_path, rng):
    some = Rotation.from_rotvec(rng.normal(0, 0.5, (30, 3)))
    quaternions = some.as_quat()[:, [3, 0, 1, 2]] * rng.choice([-1.0, 1.0], (30, 1))
    points = TURNS.validate(some.as_matrix())
    for i, given in enumerate((some.as_matrix(), quaternions, some.as_rotvec(), some.as_matrix().reshape(30, 9))):
        np.save(tmp_path / f"{i}.npy", given)
        np.savetxt(tmp_path / f"{i}.csv", given.reshape(30, -1), delimiter=",", fmt="%.17g", header="id", comments="")
        for file in (f"{i}.npy", f"{i}.csv"):
            text = tmp_path / file
            if file.endswith("csv"):
                names = ",".join(f"c{j}" for j in range(given.reshape(30, -1).shape[1]))
                text.write_text(text.read_text().replace("id", names, 1))
            assert TURNS.distance(TURNS.validate(sf.read(text, TURNS).points), points).max() < 1e-14
    np.save(tmp_path / "one.npy", some.as_matrix()[0])  # not three rotation vectors
    assert sf.read(tmp_path / "one.npy", TURNS).points.shape == (1, 3, 3)
    plane = cloud(PLANE, PLANE.origin(), 2.0, 20, rng)
    np.save(tmp_path / "disc.npy", PLANE.to_poincare(plane))
    assert PLANE.distance(PLANE.validate(sf.read(tmp_path / "disc.npy", PLANE).points), plane).max() < 1e-13
    (tmp_path / "poles.csv").write_text("lat,lon\n80,10\n-80,190\n")
    up, same = AXES.validate(sf.read(tmp_path / "poles.csv", AXES).points)
    assert AXES.distance(up, same) < 1e-14
    np.save(tmp_path / "five.npy", np.zeros((4, 5)))
    with pytest.raises(
        sf.FileError,
        match=r"needs rotation matrices of shape .3, 3. or unit quaternions of shape .4,. or rotation vectors",
    ):
        sf.read(tmp_path / "five.npy", TURNS)


@pytest.mark.parametrize(
    "names", ["Quat_X,Quat_Y,Quat_Z,Quat_W", "orientation.x,orientation.y,orientation.z,orientation.w", "qi,qj,qk,qr"]
)
def test_the_names_of_columns_tell_which_part_of_a_quaternion_is_the_scalar(tmp_path, rng, names):
    some = Rotation.from_rotvec(rng.normal(0, 0.5, (30, 3)))
    np.savetxt(tmp_path / "q.csv", some.as_quat(), delimiter=",", fmt="%.17g", header=names, comments="")  # scalar last
    found = TURNS.validate(sf.read(tmp_path / "q.csv", TURNS).points)
    assert TURNS.distance(found, TURNS.validate(some.as_matrix())).max() < 1e-14
    header = f"{names},left_w,left_x,left_y,left_z"
    twice = np.hstack([some.as_quat(), some.as_quat()])
    np.savetxt(tmp_path / "two.csv", twice, delimiter=",", fmt="%.17g", header=header, comments="")
    with pytest.raises(sf.FileError, match=r"holds several quaternions in a row: .* say which, as columns='"):
        sf.read(tmp_path / "two.csv", TURNS)


def test_euler_angles_are_no_rotation_vectors_and_degrees_are_noticed(tmp_path, rng):
    angles = Rotation.from_rotvec(rng.normal(0, 0.5, (30, 3)))
    np.savetxt(tmp_path / "a.csv", angles.as_euler("xyz"), delimiter=",", header="roll,pitch,yaw", comments="")
    with pytest.raises(sf.FileError, match=r"roll, pitch, yaw are named as Euler angles.*turn them into quaternions"):
        sf.read(tmp_path / "a.csv", TURNS)
    assert TURNS.corrections(angles.as_rotvec()) == []
    assert "if they are in degrees, multiply them by π/180" in TURNS.corrections(np.degrees(angles.as_rotvec()))[0]


def test_a_release_of_quaternions_is_written_as_a_matrix(tmp_path, rng, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("q.npy", Rotation.from_rotvec(rng.normal(0, 0.1, (60, 3))).as_quat()[:, [3, 0, 1, 2]])
    told = ["release", "q.npy", "--space", "rotations", "--center", "identity", "--radius", "0.7", "--epsilon", "2"]
    monkeypatch.setattr("sys.argv", ["sfumato", *told, "--value", "mean.csv"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code, capsys.readouterr().err
    assert np.array_equal(sf.read("mean.csv", TURNS).points[0], sf.Release.load("mean.json").value)


@pytest.mark.parametrize("space", [TURNS, sf.Axes(dim=1), AXES, PLANE, sf.Hyperbolic(dim=3)], ids=str)
@pytest.mark.parametrize("mechanism", ["laplace", "tangent"])
def test_pictures_hold_the_error_and_no_more(space, mechanism, rng):
    base = space.exp(space.origin(), space.from_coordinates(space.origin(), 0.5 * np.eye(space.dim)[0]))
    points = cloud(space, base, 0.5, 100, rng)
    release = sf.private_mean(space.present(points), sf.Ball(space, space.present(base), 0.7), 1.0, mechanism)
    shown, view = Subject.of(release), view_of(release)
    drawn = draw(view.scene(shown))
    words = {text.get_text() for legend in drawn.legends for text in legend.get_texts()}
    assert {"public centre", "released mean"} <= words
    bare = space.dim == 3 and space.name == "hyperbolic"  # numbers alone
    assert any("95% error of the release" in word for word in words) != bare
    assert view.things(shown) in ("rotations of space", f"axes in {space.dim + 1} dimensions") or (
        f"hyperbolic space of dimension {space.dim}" in view.things(shown)
    )


def test_the_caps_of_a_picture_hold_every_rotation_within_the_error(rng):
    """A turn by an angle moves no axis by more than that."""
    turns = Rotation.from_rotvec(0.3 * TURNS.random_directions(TURNS.origin(), 500, rng)[:, 1:])
    moved = np.arccos(np.clip(np.einsum("nii->ni", turns.as_matrix()), -1, 1))
    assert 0.29 < moved.max() <= 0.3 + 1e-7


# -- hyperbolic space ------------------------------------------------------------------------------------------------------
def test_it_is_the_hyperbolic_space_of_geomstats(rng):
    theirs, ours = TheirHyperbolic(3), sf.Hyperbolic(dim=3)
    x, y = (ours.present(cloud(ours, ours.origin(), 2.0, 30, rng)) for _ in range(2))
    assert ours.distance(x, y) == pytest.approx(theirs.metric.dist(x, y), abs=1e-9)
    vectors = np.stack([ambient(a, v[1:]) for a, v in zip(x, ours.log(x, y), strict=True)])
    assert np.allclose(vectors, theirs.metric.log(y, x), atol=1e-9)
    assert np.allclose(ours.exp(x, ours.log(x, y)), y, atol=1e-12)
    assert ours.distance(sf.frechet_mean(ours, x).point, their_mean(theirs, x)) < 1e-6  # geomstats' arccosh stops there
    ball = TheirHyperbolic(3, coords_type="ball").metric
    u, v = ours.to_poincare(x), ours.to_poincare(y)
    assert ours.distance(ours.validate(u), ours.from_poincare(v)) == pytest.approx(ball.dist(u, v), abs=1e-9)


def ambient(x, c):
    """A tangent vector in Minkowski's space from its coordinates in the frame that a boost carries to x."""
    along = x[1:] @ c
    return np.concatenate([[along], c + along / (1 + x[0]) * x[1:]])


def digits(side):
    side = mpmath.matrix([mpmath.mpf(float(s)) for s in side])
    return mpmath.sqrt(1 + (side.T * side)[0]), side


@pytest.mark.parametrize("gap", [1e-9, 1e-3, 1.0, 15.0])
@pytest.mark.parametrize("far", [0.0, 1e-8, 2.0, 15.0])
def test_logarithms_far_out_are_good_to_the_last_digits_that_points_have(far, gap, rng):
    """Against fifty digits for the same doubles: nothing is lost but what a rounding of the points is worth, e^T at T."""
    mpmath.mp.dps = 50
    for _ in range(5):
        x, c = PLANE.exp(PLANE.origin(), far * PLANE.random_directions(PLANE.origin(), 1, rng)[0]), rng.normal(size=2)
        y = PLANE.exp(x, PLANE.from_coordinates(x, gap * c / np.linalg.norm(c)))
        (p0, p), (y0, s) = digits(x[1:]), digits(y[1:])
        along = (p.T * s)[0]
        z = s + p * (along / (1 + p0) - y0)
        size = mpmath.sqrt((z.T * z)[0])
        exact = np.array([float(v) for v in z * (mpmath.asinh(size) / size)])
        allowed = 64 * 2.0**-53 * (1 + gap) * max(1.0, np.linalg.norm(x), np.exp(far - gap))
        off = np.abs(PLANE.coordinates(x, PLANE.log(x, y)) - exact).max()
        assert off < allowed
        assert off < PLANE.rounding_error(x, gap) / 4
        assert abs(float(PLANE.distance(x, y)) - np.linalg.norm(exact)) < allowed


def test_the_way_back_to_the_origin_ends_there(rng):
    far = PLANE.exp(PLANE.origin(), 15 * PLANE.random_directions(PLANE.origin(), 20, rng))
    assert np.abs(PLANE.exp(far, PLANE.log(far, PLANE.origin()))[:, 1:]).max() < 1e-8  # e^15 roundings of a direction
    assert PLANE.distance(far, PLANE.origin()) == pytest.approx(np.full(20, 15.0), rel=1e-14)


def test_noise_of_any_length_leads_to_a_point(rng):
    for length in (20.0, 40.0, 1e3, 1e300):
        for base in (PLANE.origin(), PLANE.exp(PLANE.origin(), np.array([0.0, 15.0, 0.0]))):
            end = PLANE.exp(base, np.array([0.0, -length, 0.1]))
            assert not PLANE.diagnose(PLANE.present(end)[None])[1]
            assert np.linalg.norm(end[1:]) <= FARTHEST * (1 + 1e-12)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ([0.6, 0.8], "is not in the Poincaré ball: its norm is 1, and must be below 1"),
        ([1 - 1e-12, 0.0], "lies too far out to be told from its neighbours"),
        ([-1.25, 0.75, 0.0], "lies on the other sheet"),
        ([0.1, 0.2, 0.3], "is not on the hyperboloid: x₀ is 0.1, and must be √(1 + x₁² + …) = 1.06301"),
    ],
)
def test_what_is_no_hyperbolic_point_is_told_why(record, words):
    assert words in PLANE.diagnose(np.array([record]))[1][0]


def test_columns_are_on_the_hyperboloid_unless_the_dimension_says_otherwise():
    assert Family(sf.Hyperbolic).shaped((3,)) == PLANE
    assert Family(sf.Hyperbolic, (), {"dim": 3}).shaped((3,)) == sf.Hyperbolic(dim=3)
    with pytest.raises(
        ValueError, match=r"expected points of the hyperboloid .n, 3. or points of the Poincaré ball .n, 2."
    ):
        PLANE.validate(np.zeros((2, 5)))


# -- long arithmetic -------------------------------------------------------------------------------------------------------
def _reflected(x, v):
    """mpmath's twin of the frame at a unit vector."""
    mirror = x.copy()
    mirror[0] += 1 if x[0] >= 0 else -1
    mirror /= mpmath.sqrt((mirror.T * mirror)[0])
    return v - mirror * (2 * (mirror.T * v)[0])


def _by_arcs(space, base, c, center):
    unit = [mpmath.matrix([mpmath.mpf(float(v)) for v in point]) for point in (base, center)]
    x, p = (v / mpmath.sqrt((v.T * v)[0]) for v in unit)
    v = _reflected(x, mpmath.matrix([0, *(mpmath.mpf(float(a)) * space.q for a in c)]))
    t = mpmath.sqrt((v.T * v)[0])
    y = x * mpmath.cos(t) + v * (mpmath.sin(t) / t)
    y = -y if (p.T * y)[0] < 0 else y
    u = y - p * (p.T * y)[0]
    sine = mpmath.sqrt((u.T * u)[0])
    return list(_reflected(p, u * (mpmath.atan2(sine, (p.T * y)[0]) / sine / space.q)))[1:]


def _by_boosts(space, base, c, center):
    c = mpmath.matrix([mpmath.mpf(float(a)) for a in c])
    t = mpmath.sqrt((c.T * c)[0])

    def boost(p0, p, x0, x):
        along = (p.T * x)[0]
        return p0 * x0 + along, x + p * (x0 + along / (1 + p0))

    x0, x = boost(*digits(base[1:]), mpmath.cosh(t), c * (mpmath.sinh(t) / t))
    z = boost(*digits(-center[1:]), x0, x)[1]
    size = mpmath.sqrt((z.T * z)[0])
    return list(z * (mpmath.asinh(size) / size))


@pytest.mark.parametrize(
    ("space", "twin", "far", "noise"),
    [
        (TURNS, _by_arcs, 2.0, 2.9),
        (sf.Axes(1), _by_arcs, 1.4, 1.2),
        (sf.Axes(4), _by_arcs, 1.4, 1.5),
        (PLANE, _by_boosts, 1.0, 2.0),
        (sf.Hyperbolic(4), _by_boosts, 23.0, 13.0),
    ],
    ids=["turns", "axes1", "axes4", "plane", "far"],
)
def test_the_long_arithmetic_agrees_with_a_hundred_digits(space, twin, far, noise, rng):
    mpmath.mp.dps = 100
    center = space.exp(space.origin(), far * space.random_directions(space.origin(), 1, rng)[0])
    for base in cloud(space, center, 1.5 if space.name != "axes" else 0.7, 4, rng):
        c = rng.normal(size=space.dim)
        c *= noise / np.linalg.norm(c)
        exact = twin(space, base, c, center)
        found = space.exact.coordinates(space, base, c, center)
        off = max(abs(mpmath.mpf(a.numerator) / a.denominator - b) for a, b in zip(found, exact, strict=True))
        assert off < 1e-25
        doubles = space.coordinates(center, space.log(center, space.exp(base, space.from_coordinates(base, c))))
        if far < 3:
            assert np.allclose(doubles, [float(b) for b in exact], atol=1e-12)
