"""The fast paths: compiled loops and series against the plain path, the solver's passes."""

import subprocess
import sys

import mpmath
import numpy as np
import pytest
import threadpoolctl

import sfumato as sf
from attacks.adversary import transport_back
from conftest import cloud, column, typical_radius
from sfumato.laws.bounds import bounds_of
from sfumato.means.frechet import solve
from sfumato.numerics import curvature as curvature
from sfumato.records import Records, one_thread
from sfumato.spaces import base, rays, spd, sphere
from sfumato.spaces.base import Space

FAST = [sf.Sphere(dim=2), sf.Sphere(dim=9), sf.PlanarShapes(landmarks=8), sf.ElasticCurves(points=9, closed=False)]
FAST += [sf.SPD(size=2), sf.SPD(size=3), sf.SPD(size=7), sf.SPD(size=20)]


@pytest.fixture
def eager(monkeypatch):
    """Compiled loops from the first record on."""
    for module in (base, sphere, rays, spd):
        if hasattr(module, "MANY"):
            monkeypatch.setattr(module, "MANY", 1)


def some_records(space, rng, radius=None, n=400):
    center = cloud(space, space.origin(), 0.2, 1, rng)[0]
    points = cloud(space, center, radius or typical_radius(space), n, rng)
    return np.ascontiguousarray(points), space.exp(center, 0.1 * space.random_directions(center, 1, rng)[0])


def same_moments(space, x, points, fast):
    plain = Space.moments(space, x, points)  # from log, distance and hessian_trace
    scale = len(points) * float(np.abs(plain.logs / len(points)).max() + 1)
    assert fast.weight == len(points)
    assert np.abs(fast.logs - plain.logs).max() < 2e-14 * scale
    trace = float(fast.hessian) if fast.hessian.ndim == 0 else np.trace(fast.hessian)
    assert trace == pytest.approx(float(plain.hessian), rel=2e-2)
    assert 0.2 * plain.square < fast.square < plain.square * (1 + 1e-12)


@pytest.mark.parametrize("space", FAST, ids=str)
def test_fast_moments_are_the_plain_ones(space, rng, eager):
    points, x = some_records(space, rng)
    same_moments(space, x, points, space.moments(x, points))
    bases = cloud(space, x, 0.2, 3, rng)
    logs = np.stack([space.log(b, points).mean(axis=0) for b in bases])
    assert np.abs(space.mean_log(bases, points) - logs).max() < 3e-14


@pytest.mark.parametrize("space", FAST, ids=str)
def test_the_package_works_without_numba(space, rng, eager, monkeypatch):
    without_numba(monkeypatch)
    points, x = some_records(space, rng)
    same_moments(space, x, points, space.moments(x, points))
    assert space.validate(space.present(points)).shape == points.shape


def without_numba(monkeypatch):
    for module in (base, sphere, rays, spd):
        monkeypatch.setattr(module, "compiled", lambda *_: None, raising=False)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 31, 32, 33, 63, 64, 67, 2049, 2112])
@pytest.mark.parametrize("space", [sf.Sphere(dim=2), sf.Sphere(dim=9), sf.PlanarShapes(landmarks=8)], ids=str)
def test_loops_over_a_few_records_count_each_once(space, n, rng, eager):
    points, x = some_records(space, rng, n=n)
    same_moments(space, x, points, space.moments(x, points))
    radius = float(np.median(space.distance(x, points)))
    assert np.array_equal(space.outside(x, points, radius), space.distance(x, points) > radius)


@pytest.mark.parametrize("space", FAST, ids=str)
def test_second_moments_are_not_too_small(space, rng, eager):
    for radius in (1e-9, 1e-4, typical_radius(space)):
        points, x = some_records(space, rng, radius)
        moments = Records(space, points).moments(x, accuracy=1e-3)
        assert bounds_of(space).second_moment(moments) >= np.mean(space.distance(x, points) ** 2)


def test_raw_landmarks_are_the_same_shapes_by_either_path(rng, eager, monkeypatch):
    space = sf.PlanarShapes(landmarks=7)
    raw = rng.standard_normal((50, 7, 2)) * 10.0 ** rng.uniform(-20, 20, (50, 1, 1))
    raw += rng.standard_normal((50, 1, 2)) * np.abs(raw).max(axis=(1, 2), keepdims=True)
    assert np.abs(space.validate(space.validate(raw)) - space.validate(raw)).max() < 1e-15
    bad = raw.copy()
    bad[3], bad[4, 2, 0], bad[5] = 1.0, np.nan, 1e200
    fast = space.validate(raw), space.diagnose(bad)
    without_numba(monkeypatch)
    assert np.abs(space.validate(raw) - fast[0]).max() < 1e-15
    canonical, reasons = space.diagnose(bad)
    assert reasons == fast[1][1]
    assert sorted(reasons) == [3, 4, 5]
    assert np.abs(canonical - fast[1][0]).max() < 1e-15


@pytest.mark.parametrize(
    ("space", "radius"),
    [
        (sf.Sphere(dim=2), 2.5),
        (sf.Sphere(dim=9), 2.5),
        (sf.PlanarShapes(8), 1.4),
        (sf.SPD(size=2), 9.0),
        (sf.SPD(size=5), 12.0),
    ],
)
def test_data_too_wide_for_a_series_take_the_plain_path(space, radius, rng, eager):
    points, x = some_records(space, rng, radius)
    plain = Space.moments(space, x, points)
    assert np.abs(space.moments(x, points).logs - plain.logs).max() < 1e-9 * np.abs(plain.logs).max()
    assert np.abs(space.mean_log(x[None], points)[0] - plain.logs / len(points)).max() < 1e-9 * np.abs(plain.logs).max()


FAR = [(sf.Sphere(dim=2), 3.0), (sf.Sphere(dim=9), 3.0), (sf.PlanarShapes(8), 1.5), (sf.SPD(2), 4.0)]
FAR += [(sf.SPD(3), 12.0), (sf.SPD(20), 12.0)]


@pytest.mark.parametrize(("space", "radius"), FAR, ids=str)
def test_one_record_too_far_for_a_series_is_summed_apart(space, radius, rng, eager, monkeypatch):
    """All the others by the fast path still: the slow one for all would tell that there is one."""
    points, x = some_records(space, rng, n=300)
    for row in (0, 77, 299):
        points[row] = space.exp(x, radius * space.random_directions(x, 1, rng)[0])
    plain = space._sums if isinstance(space, sf.SPD) else Space.moments
    slow = []
    if isinstance(space, sf.SPD):
        monkeypatch.setattr(sf.SPD, "_sums", lambda self, some, *rest: slow.append(len(some)) or plain(some, *rest))
    fast = space.moments(x, points)
    slow_rows = slow.copy()
    same_moments(space, x, points, fast)
    bases = np.stack([x, points[5]])
    logs = np.stack([space.log(b, points).mean(axis=0) for b in bases])
    assert np.abs(space.mean_log(bases, points) - logs).max() < 3e-13 * radius * np.abs(bases).max()
    hessian = space.hessian(x, points)
    if fast.hessian.ndim:
        assert np.abs(fast.hessian - hessian).max() < 1e-10 * np.abs(hessian).max()
    trace = np.sum(space.hessian_trace(x, points))
    assert np.trace(hessian) == pytest.approx(trace, rel=1e-6)
    assert sum(slow_rows) < 150


@pytest.mark.parametrize("space", FAST, ids=str)
@pytest.mark.parametrize("numba", [True, False], ids=["numba", "plain"])
def test_full_hessians_are_derivatives_of_the_gradient(space, numba, rng, eager, monkeypatch):
    if not numba:
        without_numba(monkeypatch)
    points, x = some_records(space, rng, n=60)
    hessian = space.hessian(x, points) / len(points)
    assert np.trace(hessian) == pytest.approx(np.mean(space.hessian_trace(x, points)), rel=1e-7)
    steps = 1e-4 * np.eye(space.dim)[: min(4, space.dim)]
    ends = np.concatenate([space.exp(x, space.from_coordinates(x, s)) for s in (steps, -steps)])
    gradients = transport_back(space, x, ends, -space.mean_log(ends, points))
    slopes = (gradients[: len(steps)] - gradients[len(steps) :]) / 2e-4
    assert np.abs(slopes - hessian[: len(steps)]).max() < 1e-6


def test_series_are_good_to_rounding():
    with mpmath.workdps(40):
        for cosine in np.linspace(curvature.NEAR, 1.0, 57)[:-1]:
            z = 1 - cosine
            exact = mpmath.acos(1 - mpmath.mpf(z)) / mpmath.sin(mpmath.acos(1 - mpmath.mpf(z)))
            assert abs(np.polyval(curvature.angle_series()[::-1], z) / exact - 1) < 8e-16


def test_rows_that_are_not_side_by_side_in_memory_are_summed_as_well(rng, eager):
    points, x = some_records(sf.Sphere(dim=2), rng, n=1000)
    for same in (np.asfortranarray(points), np.repeat(points, 2, axis=0)[::2], np.tile(points, 2)[:, :3]):
        assert not same.flags.c_contiguous
        same_moments(sf.Sphere(dim=2), x, points, sf.Sphere(dim=2).moments(x, same))
        assert np.array_equal(sf.Sphere(dim=2).diagnose(same)[0], same)
        assert np.array_equal(sf.Sphere(dim=2).outside(x, same, 0.3), sf.Sphere(dim=2).distance(x, points) > 0.3)


@pytest.mark.parametrize("dim", [1, 2, 9])
def test_a_read_that_checks_and_adds_up_is_the_check_and_the_first_guess(dim, rng, eager):
    space = sf.Sphere(dim, curvature=4.0)
    points, _ = some_records(space, rng, n=1000)
    for same in (points, points[:63], np.asfortranarray(points), np.repeat(points, 2, axis=0)[::2]):
        canonical, start, _ = space.validate_and_start(same)
        assert np.array_equal(canonical, same)
        assert np.abs(start - space.mean_start(canonical)).max() < 1e-15
    opposite = np.eye(dim + 1)[[0, 0]] * [[0.5], [-0.5]]
    assert np.array_equal(space.validate_and_start(opposite)[1], opposite[0])  # their sum is no direction
    for factor, right in ((1 + 1e-9, True), (1.1, False), (np.nan, False)):
        off = points.copy()
        off[17] *= factor
        if right:
            assert np.abs(space.validate_and_start(off)[0] - points).max() < 1e-15
        else:
            with pytest.raises(sf.InvalidPointError, match=r"norm|NaN"):
                space.validate_and_start(off)


@pytest.mark.parametrize("space", [sf.Sphere(dim=2), sf.Sphere(dim=9), sf.Simplex(parts=3)], ids=str)
def test_means_refuse_and_put_right_what_the_check_does(space, rng, eager):
    """Also where it is in the last of many records."""
    points = space.present(some_records(space, rng, n=200)[0])
    for row, wrong in ((0, -2.0), (199, np.nan), (199, np.inf), (130, -np.inf)):
        bad = points.copy()
        bad[row, 1] = wrong
        with pytest.raises(sf.InvalidPointError) as expected:
            space.validate(bad)
        with pytest.raises(sf.InvalidPointError) as found:
            sf.frechet_mean(space, bad)
        assert str(found.value) == str(expected.value)
        assert f"record {row}:" in str(found.value)
    rounded = points.astype(np.float32)
    mean = sf.frechet_mean(space, rounded).point
    assert np.abs(mean - sf.frechet_mean(space, space.present(space.validate(rounded))).point).max() < 1e-14
    assert np.abs(mean - sf.frechet_mean(space, points).point).max() < 1e-7
    weights = np.zeros(200)
    weights[7] = 1.0
    assert np.abs(sf.frechet_mean(space, points, weights).point - points[7]).max() < 1e-14


DRAWN = [
    *(sf.Sphere(dim=1), sf.Sphere(dim=2), sf.Sphere(dim=5, curvature=2.5)),
    *(sf.PlanarShapes(landmarks=8), sf.SPD(size=2), sf.SPD(size=3), sf.SPD(size=9)),
]


@pytest.mark.parametrize("radius", [1e-9, 1e-4, 0.3, 1.0])
@pytest.mark.parametrize("space", DRAWN, ids=str)
def test_records_are_drawn_into_a_ball_as_by_log_and_exp(space, radius, rng, eager):
    center = cloud(space, space.origin(), 0.2, 1, rng)[0]
    ball = sf.Ball(space, space.present(center), radius)
    widest = min(3.0, 0.95 * bounds_of(space).injectivity_radius)
    lengths = (0.9 * radius, min(2 * radius, widest), widest)
    points = np.concatenate([cloud(space, center, most, 200, rng) for most in lengths])
    made = ball.clip(space.present(points))
    outside = Space.outside(space, ball.center, points, radius)
    assert 80 < outside.sum() < 500
    assert np.array_equal(made[:200], points[:200])
    rounding = space.rounding_error(center, widest)
    expected = np.where(column(space, outside) > 0, ball._onto_boundary(points), points)
    assert (space.distance(expected, made) <= rounding).all()
    assert (space.distance(ball.center, made) <= radius + rounding).all()
    # a row depends on its record alone, wherever it stands, and is one that nothing need be done with
    for shift in (1, 7, 64):
        assert np.array_equal(ball.clip(space.present(np.roll(points, shift, axis=0))), np.roll(made, shift, axis=0))
    few = ball.clip(space.present(points[590:593]))
    assert np.array_equal(few, made[590:593])
    assert (space.distance(made, ball.clip(space.present(made))) <= rounding).all()


def test_directions_beside_the_antipode_are_drawn_into_the_ball(eager):
    """At the antipode there is no direction; a little beside it rounding must not lead out of the ball."""
    for space in (sf.Sphere(dim=1), sf.Sphere(dim=2), sf.Sphere(dim=5, curvature=2.5)):
        ball = sf.Ball(space, space.origin(), 0.3)
        beside = -ball.center + 1e-16 * np.arange(-5, 6)[:, None]
        assert (space.distance(ball.center, ball.clip(beside)) <= 0.3).all()


def test_shapes_without_a_nearest_rotation_are_drawn_into_the_ball(eager):
    space = sf.PlanarShapes(landmarks=4)
    ball = sf.Ball(space, space.present(space.origin()), 0.2)
    across = np.array([[1, -1, 1, -1], [1, -1j, -1, 1j]]) / 2  # both orthogonal to the square
    assert np.abs(np.abs(across @ np.conj(ball.center))).max() < 1e-15
    assert np.abs(space.distance(ball.center, ball.clip(space.present(across))) - 0.2).max() < 1e-10


def test_matrices_of_any_scale_are_drawn_into_the_ball(rng, eager):
    """Loops without eigenvectors of LAPACK leave some records to it; these do not change the others."""
    space = sf.SPD(size=3)
    ball = sf.Ball(space, np.eye(3), 0.5)
    points = cloud(space, np.eye(3), 1.0, 40, rng)
    made = ball.clip(points)
    odd = [1e-290 * np.eye(3), 1e290 * np.eye(3), np.diag([1e-200, 1.0, 1e200]), np.diag([1e-9, 1.0, 1e9]), np.eye(3)]
    mixed = points.copy()
    mixed[3:28:6] = odd
    found = ball.clip(mixed)
    others = np.delete(np.arange(40), np.arange(3, 28, 6))
    assert np.array_equal(found[others], made[others])
    assert np.array_equal(found[27], np.eye(3))
    lengths = space.distance(ball.center, found[3:27:6])
    assert np.abs(lengths - 0.5).max() < 1e-9
    chart = space.log_map(ball.center)(mixed)[3:28:6]
    assert np.abs(chart - space.coordinates(ball.center, space.log(ball.center, np.array(odd)))).max() < 1e-9


@pytest.mark.parametrize("radius", [1e-9, 1e-4, 0.3, 1.0])
@pytest.mark.parametrize("space", DRAWN, ids=str)
def test_sums_of_squares_are_those_of_distances(space, radius, rng, eager):
    center = cloud(space, space.origin(), 0.2, 1, rng)[0]
    points = np.ascontiguousarray(cloud(space, center, radius, 333, rng))
    bases = cloud(space, center, radius, 3, rng)
    found = space.square_sums(bases, points)
    plain = Space.square_sums(space, bases, points)
    # as accurate as if each logarithm were off by its rounding error
    close = 2 * radius * space.rounding_error(center, 2 * radius)
    assert np.abs(found - plain).max() / (2 * len(points)) <= 2 * close
    assert np.abs(found - plain * (1 + 1e-4)).max() / (2 * len(points)) > 2 * close or radius < 1e-6


@pytest.mark.parametrize("space", [*DRAWN, sf.ElasticCurves(points=9, closed=False)], ids=str)
def test_charts_are_coordinates_of_logarithms(space, rng, eager):
    center = cloud(space, space.origin(), 0.2, 1, rng)[0]
    points = np.ascontiguousarray(cloud(space, center, 0.9, 333, rng))
    plain = space.coordinates(center, space.log(center, points))
    for rows in (None, 2.5 * np.eye(space.dim), rng.standard_normal((3, space.dim))):
        found = space.log_map(center, rows)(points)
        assert np.abs(found - (plain if rows is None else plain @ rows.T)).max() < 1e-13
        # a product may round by the place of a row, never by what other rows hold
        mixed = points.copy()
        mixed[::2] = center
        assert np.array_equal(space.log_map(center, rows)(mixed)[1::2], found[1::2])


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_directions_that_are_not_quite_of_length_one_are_put_right_as_they_are_read(kind, rng, eager):
    for space in (sf.Sphere(dim=2), sf.Sphere(dim=6)):
        points = cloud(space, space.origin(), 1.0, 333, rng)
        given = (points * (1 + 1e-6 * rng.standard_normal((333, 1)))).astype(kind)
        exact = given.astype(np.float64)
        made = space.validate(given)
        assert made.dtype == np.float64
        assert np.abs(made - exact / np.linalg.norm(exact, axis=1, keepdims=True)).max() < 2e-16
        assert np.array_equal(space.validate(np.roll(given, 3, axis=0)), np.roll(made, 3, axis=0))
        given[200] *= 2
        with pytest.raises(sf.InvalidPointError, match="record 200: is not of unit norm: its norm is 2"):
            space.validate(given)


def test_compositions_are_not_checked_as_the_directions_that_they_become(rng, eager):
    space = sf.Simplex(parts=3)
    amounts = np.abs(some_records(space, rng)[0])  # of the norm that directions have there
    shares = amounts / amounts.sum(axis=1, keepdims=True)
    assert np.abs(sf.frechet_mean(space, amounts).point - sf.frechet_mean(space, shares).point).max() < 1e-14


def test_numbers_of_another_kind_are_summed_as_well(rng, eager):
    """Loops that read a whole piece of memory would read past the end of shorter numbers."""
    space = sf.Sphere(dim=2)
    points = cloud(space, space.origin(), 0.5, 200, rng).astype(np.float32)
    for some in (points, points[:64], np.eye(3, dtype=np.int64)[[0] * 130]):
        same = some.astype(np.float64)
        assert np.array_equal(space.moments(space.origin(), some).logs, space.moments(space.origin(), same).logs)
        assert np.array_equal(space.outside(space.origin(), some, 0.3), space.outside(space.origin(), same, 0.3))


def test_angles_beyond_the_series_are_good_to_rounding(eager):
    """From one record at a time, as θ² = f²·(1 − c²); and at the antipode no logarithm is made up."""
    space, x = sf.Sphere(dim=2), np.array([0.0, 0.0, 1.0])
    with mpmath.workdps(40):
        for cosine in [*np.linspace(-0.999, curvature.NEAR, 41), -1 + 1e-9, -1 + 2.0**-52]:
            y = np.array([np.sqrt((1 - cosine) * (1 + cosine)), 0.0, cosine])
            exact = mpmath.acos(cosine) ** 2
            assert abs(space.moments(x, y[None]).square / exact - 1) < 2e-15
            series = np.polyval(curvature.angle_series()[::-1], 1 - cosine) ** 2 * (1 - cosine) * (1 + cosine)
            assert abs(series / exact - 1) > 1e-13 or cosine > 0.6
    assert space.moments(x, -x[None]).square == 0.0


@pytest.mark.parametrize("accuracy", [1e-4, 1e-9, 1e-15])
def test_rational_logarithms_keep_their_accuracy(accuracy):
    """Against forty digits; rounding of nodes and weights is left, a few units of the logarithm."""
    with mpmath.workdps(40):
        for half in curvature.HALF_WIDTHS[::3]:
            nodes, weights = ([mpmath.mpf(v) for v in each.tolist()] for each in curvature.log_rule(half, accuracy))
            worst = 0.0
            for t in half * np.cos(np.linspace(0, np.pi, 6 * len(nodes) + 1)):
                z = mpmath.exp(mpmath.mpf(float(t)))
                found = mpmath.fsum(w * (z - 1) / (x * z + 1 - x) for x, w in zip(nodes, weights, strict=True))
                worst = max(worst, abs(float(found - mpmath.mpf(float(t)))))
            assert worst < accuracy + 3e-15 * max(1.0, half)
            assert (
                len(nodes) < 3 or accuracy < 1e-12 or worst > 1e-3 * accuracy
            )  # and takes no more nodes than it needs


@pytest.mark.parametrize("size", [3, 20])
def test_an_inexact_pass_says_how_inexact(size, rng, eager):
    space = sf.SPD(size=size)
    points, x = some_records(space, rng)
    exact = space.moments(x, points).logs / len(points)
    for accuracy in (1e-3, 1e-7):
        rough = space.moments(x, points, None, accuracy)
        assert 0 < rough.error <= accuracy
        assert float(space.norm(x, rough.logs / len(points) - exact)) <= rough.error


@pytest.mark.parametrize("space", FAST, ids=str)
def test_the_solver_needs_few_passes(space, rng, eager):
    points, _ = some_records(space, rng)
    records = Records(space, points)
    found = solve(records, tolerance=1e-8)
    assert found.gradient_norm <= 1e-8
    assert records.passes <= 5
    assert float(space.norm(found.point, space.log(found.point, points).mean(axis=0))) <= 1.01e-8


def test_threads_give_the_same_mean(rng):
    points, _ = some_records(sf.Sphere(dim=3), rng)
    one, three = (sf.frechet_mean(sf.Sphere(dim=3), points, workers=w).point for w in (1, 3))
    assert np.abs(one - three).max() < 1e-14


def test_points_that_are_canonical_are_not_copied_and_never_changed(space, rng):
    points = space.present(cloud(space, space.origin(), 0.5 * typical_radius(space), 50, rng))
    before = points.copy()
    ball = sf.Ball(space, space.present(space.origin()), 0.1 * typical_radius(space))
    assert not np.shares_memory(ball.clip(points), points)  # some lie outside
    sf.frechet_mean(space, points)
    assert np.array_equal(points, before)


def test_blas_is_held_to_one_thread_and_let_go():
    def threads():
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    with threadpoolctl.threadpool_limits(2, "blas"):
        before = threads()
        with one_thread():
            assert set(threads()) == {1}
            with one_thread():  # has nothing to do
                assert set(threads()) == {1}
            assert set(threads()) == {1}
        assert threads() == before


def test_numba_is_not_loaded_for_few_records():
    code = (
        "import sys, numpy as np, sfumato as sf; p = np.random.default_rng(0).normal(size=(500, 3)) * .1 + [0, 0, 1];"
        "p /= np.linalg.norm(p, axis=1)[:, None];"
        "sf.private_mean(p, sf.Ball(sf.Sphere(dim=2), [0, 0, 1], 0.5), 1.0); print('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
