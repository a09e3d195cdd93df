"""Floating point: long arithmetic against fifty digits, and what rounding adds."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import sfumato as sf
from conftest import cloud
from sfumato.laws.calibration.error import FAIL
from sfumato.laws.calibration.rounding import UNIT, crossing, gradient_error, relative_error, stretch
from sfumato.laws.sampling.lattice import add_exactly, whole_numbers
from sfumato.laws.sampling.rejection import Target, coarse, product
from sfumato.numerics.fixed import ONE, fixed, matrix_exp, matrix_log
from sfumato.records import Records
from sfumato.spaces.exact import WIDEST

SMALL = [
    (sf.Sphere(dim=1), 0.5),
    (sf.Sphere(dim=2), 0.5),
    (sf.Sphere(dim=5, curvature=2.5), 0.4),
    (sf.PlanarShapes(landmarks=3), 0.3),
    (sf.PlanarShapes(landmarks=6), 0.3),
    (sf.ElasticCurves(points=3, closed=False), 0.3),
    (sf.ElasticCurves(points=6, closed=False), 0.3),
    (sf.SPD(size=1), 1.0),
    (sf.SPD(size=2), 1.5),
    (sf.SPD(size=3), 1.5),
]


def setting(space, spread, rng):
    """A public centre, a base near it, and coordinates of a draw there."""
    center, base = cloud(space, space.origin(), spread, 2, rng)
    direction = rng.standard_normal(space.dim)
    return base, spread * rng.random() * direction / np.linalg.norm(direction), center


# -- the same map in fifty digits, from the textbook -----------------------------------------------------------------------
def mp_dot(a, b):
    return mp.fsum(mp.conj(x) * y for x, y in zip(a, b, strict=True))


def mp_unit(v):
    size = mp.sqrt(mp.re(mp_dot(v, v)))
    return [x / size for x in v]


def mp_reflect(mirror, v):
    c = 2 * mp_dot(mirror, v)
    return [x - c * m for x, m in zip(v, mirror, strict=True)]


def mp_mirror(x, turn):
    return mp_unit([x[0] + turn, *x[1:]])


def mp_geodesic(x, v, p):
    """log_p(exp_x(v)) on the unit sphere, y being turned to p first if it is complex."""
    t = mp.sqrt(mp.re(mp_dot(v, v)))
    y = [mp.cos(t) * a + mp.sin(t) / t * b for a, b in zip(x, v, strict=True)]
    c = mp_dot(p, y)
    if any(isinstance(a, mp.mpc) for a in p):
        y, c = [a * mp.conj(c) / abs(c) for a in y], abs(c)
    u = [a - c * b for a, b in zip(y, p, strict=True)]
    return [mp.acos(c) * a for a in mp_unit(u)]


def mp_sphere(space, base, coordinates, center):
    q = mp.mpf(space.q)
    x, p = (mp_unit([mp.mpf(a) for a in z]) for z in (base, center))
    frames = [mp_mirror(z, 1 if z[0] >= 0 else -1) for z in (x, p)]
    v = mp_reflect(frames[0], [mp.mpf(0)] + [q * mp.mpf(a) for a in coordinates])
    return [a / q for a in mp_reflect(frames[1], mp_geodesic(x, v, p))[1:]]


def mp_shapes(space, base, coordinates, center, exact_turn):
    k = space.landmarks
    middle = mp_unit([1 / mp.sqrt(k) + (1 if i == 0 else 0) for i in range(k)])
    points, frames = [], []
    for z in (base, center):
        numbers = [mp.mpc(a.real, a.imag) for a in z.tolist()]
        mean = mp.fsum(numbers) / k
        x = mp_unit([a - mean for a in numbers])
        inside = mp_reflect(middle, x)[1:]
        turn = inside[0] if exact_turn and z is base else mp.mpc(complex(space._mirror(z)[0]))
        points.append(x)
        frames.append(mp_mirror(inside, turn / abs(turn)))
    half = [mp.mpc(a, b) for a, b in zip(coordinates[: k - 2], coordinates[k - 2 :], strict=True)]
    v = mp_reflect(middle, [mp.mpc(0), *mp_reflect(frames[0], [mp.mpc(0), *half])])
    along = mp_dot(points[0], v)
    v = [a - along * b for a, b in zip(v, points[0], strict=True)]
    found = mp_reflect(frames[1], mp_reflect(middle, mp_geodesic(points[0], v, points[1]))[1:])[1:]
    return [mp.re(a) for a in found] + [mp.im(a) for a in found]


def mp_curves(space, base, coordinates, center, exact_turn):
    points, frames, m = [], [], len(base)
    for z in (base, center):
        x = mp_unit([mp.mpc(a.real, a.imag) for a in z.tolist()])
        turn = x[0] if exact_turn and z is base else mp.mpc(complex(space._mirror(z)[0]))
        points.append(x)
        frames.append(mp_mirror(x, turn / abs(turn)))
    half = [mp.mpc(a, b) for a, b in zip(coordinates[: m - 1], coordinates[m - 1 :], strict=True)]
    v = mp_reflect(frames[0], [mp.mpc(0), *half])
    along = mp_dot(points[0], v)
    v = [a - along * b for a, b in zip(v, points[0], strict=True)]
    found = mp_reflect(frames[1], mp_geodesic(points[0], v, points[1]))[1:]
    return [mp.re(a) for a in found] + [mp.im(a) for a in found]


def mp_spd(space, base, coordinates, center):
    k = space.size
    pairs = list(zip(*np.triu_indices(k, 1), strict=True))
    m = mp.matrix(k, k)
    for i in range(k):
        m[i, i] = mp.mpf(coordinates[i])
    for (i, j), c in zip(pairs, coordinates[k:], strict=True):
        m[int(i), int(j)] = m[int(j), int(i)] = mp.mpf(c) / mp.sqrt(2)
    low, factor = (mp.cholesky(mp.matrix(z.tolist())) for z in (center, base))
    side = low**-1 * factor
    values, vectors = mp.eigsy(m)
    values, vectors = mp.eigsy(side * vectors * mp.diag([mp.exp(v) for v in values]) * vectors.T * side.T)
    log = vectors * mp.diag([mp.log(v) for v in values]) * vectors.T
    return [log[i, i] for i in range(k)] + [mp.sqrt(2) * log[int(i), int(j)] for i, j in pairs]


@pytest.mark.parametrize(("space", "spread"), SMALL, ids=str)
def test_the_long_arithmetic_agrees_with_fifty_digits(space, spread, rng):
    """To 25 digits; doubles would be off in the sixteenth.  On shapes the turn of the frame is a double: that alone moves
    a draw by less than the three units that relative_error counts for it."""
    with mp.workdps(60):
        for _ in range(8):
            base, coordinates, center = setting(space, spread, rng)
            length = float(np.linalg.norm(coordinates))
            exactly = space.exact.coordinates(space, base, coordinates, center)
            found = [mp.mpf(c.numerator) / c.denominator for c in exactly]

            def error(exact, found=found):
                return max(abs(a - b) for a, b in zip(found, exact, strict=True))

            if space.kind == "landmarks":
                textbook = mp_shapes if isinstance(space, sf.PlanarShapes) else mp_curves
                assert error(textbook(space, base, coordinates, center, False)) < 1e-25
                assert error(textbook(space, base, coordinates, center, True)) < 3 * UNIT * length
            else:
                exact = (mp_spd if isinstance(space, sf.SPD) else mp_sphere)(space, base, coordinates, center)
                assert error(exact) < 1e-25
            point = space.exp(base, space.from_coordinates(base, coordinates))
            doubles = space.coordinates(center, space.log(center, point)).tolist()
            gap = max(abs(mp.mpf(a) - b) for a, b in zip(doubles, found, strict=True))
            assert 1e-20 < gap < space.rounding_error(center, float(space.distance(center, point)))


@pytest.mark.parametrize("size", [2, 3, 10])
def test_logarithms_of_matrices_are_found_up_to_the_widest(size, rng):
    """log(exp(x)) = x for eigenvalues that are WIDEST apart, where doubles have three digits left."""
    q = np.linalg.qr(rng.standard_normal((size, size)))[0]
    values = np.concatenate([[-WIDEST / 2, WIDEST / 2], rng.uniform(-WIDEST / 2, WIDEST / 2, size - 2)])
    x = fixed((q * values) @ q.T)
    x = (x + x.T) // 2
    assert max(abs(int(a)) for a in (matrix_log(matrix_exp(x)) - x).ravel()) / ONE < 1e-25


def test_sums_with_noise_are_exact():
    value, noise = np.array([2.0**51, 0.1, -3.0]), np.array([0.5 + 2.0**-40, 1e-17, 2.5])
    assert add_exactly(value, noise, 1.0).tolist() == [2.0**51 + 1, 0.0, 0.0]
    assert np.rint(value + noise)[0] == 2.0**51  # doubles lose what decides
    assert add_exactly(value, noise, np.array([4.0, 0.25, 0.5])).tolist() == [2.0**51, 0.0, -0.5]
    one = sf.Euclidean(dim=1)
    # 2^60 + 1/2 − 2^60: doubles lose the half
    found = whole_numbers(one, np.array([2.0**60]), np.array([0.5]), np.array([2.0**60]), 0.25)
    assert found.tolist() == [2.0]


@pytest.mark.parametrize("dim", [1, 2, 96, 300])
def test_products_are_rounded_once(dim, rng):
    matrix = coarse(np.linalg.inv(np.eye(dim) + 0.02 * rng.standard_normal((dim, dim)) / np.sqrt(dim)))
    vector = rng.standard_normal(dim) * 10.0 ** rng.integers(-12, 0, dim)
    found = product(vector, matrix)
    for j in range(min(dim, 9)):
        terms = zip(vector.tolist(), matrix[:, j].tolist(), strict=True)
        assert found[j] == float(sum(Fraction(a) * Fraction(b) for a, b in terms))
    if dim > 2:
        assert np.any(found != vector @ matrix)  # doubles would not do


# -- what rounding adds -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dim", [1, 2, 3, 30])
def test_coordinates_are_as_close_to_real_numbers_as_claimed(dim, rng):
    """ρ·z/‖z‖ as the sampler computes it, against real z and ρ that round to these doubles."""
    count, cell = 300, 0.125
    z, u = rng.standard_normal((count, dim)), rng.random(count)
    radius = 1.0 + u * cell
    c = radius[:, None] * (z / np.linalg.norm(z, axis=1, keepdims=True))
    within = rng.random((count, dim + 1))  # where the real numbers lie in the steps of the random ones
    errors = []
    with mp.workdps(40):
        for i in range(count):
            real = [mp.mpf(a) + mp.sign(a) * mp.mpf(b) * 3.66 * 2 * UNIT for a, b in zip(z[i], within[i], strict=False)]
            rho = 1 + (mp.mpf(u[i]) + mp.mpf(within[i, -1]) * UNIT) * cell
            exact = [rho * a for a in mp_unit(real)]
            errors.append(float(mp.norm([mp.mpf(a) - b for a, b in zip(c[i], exact, strict=True)]) / rho))
    assert np.mean(errors) < relative_error(dim)
    assert np.mean(errors) > relative_error(dim) / 40  # and the claim is not idle


@pytest.mark.parametrize(
    ("space", "spread"), [(sf.Sphere(dim=2), 0.5), (sf.PlanarShapes(landmarks=4), 0.3), (sf.SPD(size=2), 1.0)], ids=str
)
def test_faces_are_crossed_as_seldom_as_claimed(space, spread, rng):
    """A coarse error, so that it happens often enough to count: the share of draws on another lattice point."""
    spacing, error, count, crossed = 2.0**-10, 2.0**-14, 300, 0
    base, _, center = setting(space, spread, rng)
    for _ in range(count):
        z, shift = rng.standard_normal((2, space.dim))
        c = spread * rng.random() * z / np.linalg.norm(z)
        moved = c + error * shift / np.linalg.norm(shift)
        crossed += not np.array_equal(*(whole_numbers(space, base, v, center, spacing) for v in (c, moved)))
    claimed = crossing(space.dim, spacing, error * stretch(space, spread, 2 * spread))
    assert claimed / 10 < crossed / count < claimed


@pytest.mark.parametrize(("space", "spread"), [s for s in SMALL if s[0].dim > 1], ids=str)
def test_gradients_are_as_accurate_as_claimed(space, spread, rng):
    """The mean logarithm in doubles and in fifty digits, at points spread/2 from the centre."""
    n = 40
    center, *points = cloud(space, space.origin(), spread, n + 1, rng)
    points = np.stack(points)
    worst = 0.0
    bound = gradient_error(space, center, 3 * spread, n)
    for x in cloud(space, center, spread / 2, 3, rng):
        found = space.coordinates(x, space.mean_log(x[None], points)[0])
        with mp.workdps(40):
            exact = [mp.mpf(0)] * space.dim
            for y in points:
                # the logarithm at x of a point reached from itself by (almost) nothing
                nothing = np.append(np.full(space.dim - 1, 0.0), 1e-40)
                if space.kind == "landmarks":
                    log = (mp_shapes if isinstance(space, sf.PlanarShapes) else mp_curves)(space, y, nothing, x, False)
                else:
                    log = (mp_spd if isinstance(space, sf.SPD) else mp_sphere)(space, y, nothing, x)
                exact = [a + b / n for a, b in zip(exact, log, strict=True)]
            worst = max(worst, float(mp.norm([mp.mpf(float(a)) - b for a, b in zip(found, exact, strict=True)])))
    assert bound / 100_000 < worst < bound  # the claim holds, and is not idle


def test_ill_conditioned_centres_are_counted():
    """Units of rows do not matter to the accuracy on SPD matrices, near-singular correlations do."""
    space = sf.SPD(size=2)
    plain = space.rounding_error(np.eye(2), 1.0)
    assert space.rounding_error(np.diag([1e-8, 1e8]), 1.0) == pytest.approx(plain)
    assert space.rounding_error(np.array([[1.0, 0.9999], [0.9999, 1.0]]), 1.0) > 1000 * plain


BOTH = 1 + np.e  # at ε = 1 a stated δ is so many times the chance that a draw fails, as either of two data sets may
TABLE = [
    (sf.Euclidean(dim=3), 1.0, 50),
    (sf.Sphere(dim=2), np.pi / 8, 50),
    (sf.Sphere(dim=9), np.pi / 8, 50),
    (sf.Sphere(dim=99), np.pi / 8, 500),
    (sf.SPD(size=2), 1.5, 50),
    (sf.SPD(size=3), 1.0, 50),
    (sf.SPD(size=10), 1.0, 500),
    (sf.PlanarShapes(landmarks=3), 0.2, 50),
    (sf.PlanarShapes(landmarks=10), 0.2, 50),
    (sf.PlanarShapes(landmarks=50), 0.2, 500),
    (sf.PlanarShapes(landmarks=100), 0.2, 1000),
]


@pytest.mark.parametrize(("space", "radius", "least"), TABLE, ids=lambda x: str(x))
def test_failure_probabilities_are_below_a_billionth(space, radius, least):
    ball = sf.Ball(space, space.present(space.origin()), radius)
    kinds = [sf.KNG, sf.ManifoldLaplace, sf.ManifoldStaircase, sf.Exponential]
    kinds += [sf.PointwiseLaplace if isinstance(space, sf.PlanarShapes) else sf.AmbientLaplace]
    for kind in kinds:
        # with fewer records the exponential mechanism's noise is as wide as the ball in many dimensions
        for n in (10**6,) if kind is sf.Exponential and space.dim > 50 else (least, 10**6):
            mechanism = kind(ball, 1.0)
            losses = mechanism.at(n).losses
            assert 1e-13 < losses.numerical_delta / BOTH < 1e-9
            assert 1e-14 < losses.numerical_epsilon < 1e-4
    assert (
        sf.ManifoldLaplace(ball, 1.0).at(max(50, least // 10)).losses.numerical_delta / BOTH < 1e-9
    )  # for any number of records


def test_spaces_of_users_fall_back_to_doubles(rng):
    class Mine(sf.Sphere):
        """A geometry that the long arithmetic does not know."""

    center, n = [0.0, 0.0, 1.0], 60
    theirs, ours = (sf.ManifoldLaplace(sf.Ball(s, center, 0.4), 1.0) for s in (Mine(dim=2), sf.Sphere(dim=2)))
    assert ours.at(n).losses.numerical_delta / BOTH < 1e-11 < theirs.at(n).losses.numerical_delta / BOTH < 1e-9
    value = theirs.release(np.tile(center, (n, 1))).value
    assert np.linalg.norm(value) == pytest.approx(1)


def test_noise_that_reaches_the_cut_locus_is_counted():
    """Few records: the Laplace covers the sphere, and near the antipode of the centre the lattice is badly stretched."""
    wide = sf.ManifoldLaplace(sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], 0.4), 0.1)
    assert wide.at(3).error_quantile(0.99) + 0.4 > np.pi
    assert 1e-12 < wide.at(3).losses.numerical_delta < 1e-9


@pytest.mark.parametrize("space", [sf.Sphere(dim=99), sf.PlanarShapes(landmarks=100), sf.SPD(size=10)], ids=str)
def test_released_bits_do_not_depend_on_the_number_of_threads(space, rng):
    center = cloud(space, space.origin(), 0.2, 1, rng)[0]
    steps = np.rint(rng.normal(0, 40, space.dim)) * 2.0**-10
    values = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            values.append(space.present(space.exp(center, space.from_coordinates(center, steps))))
    assert np.array_equal(*values)


def test_a_draw_is_its_own_coordinates(rng):
    """What draw_one returns leads to a point that follows the law of the sampler."""
    space = sf.Sphere(dim=2)
    mechanism = sf.ManifoldLaplace(sf.Ball(space, [0.0, 0.0, 1.0], 0.4), 1.0)
    points = cloud(space, space.origin(), 0.3, 50, rng)
    target = mechanism.at(len(points)).target(Records(mechanism.space, points))
    assert isinstance(target, Target)
    lengths = np.array([np.linalg.norm(target.draw_one(4, rng)) for _ in range(1500)])
    for p in (0.5, 0.9):
        assert np.mean(lengths <= mechanism.at(50).error_quantile(p)) == pytest.approx(
            p, abs=5 * np.sqrt(p * (1 - p) / 1500)
        )
    assert FAIL < 1e-6


@pytest.mark.parametrize(
    ("space", "spread"),
    [(sf.Sphere(2), 0.39), (sf.Sphere(3), 0.39), (sf.Sphere(9), 1.4), (sf.PlanarShapes(12), 0.2), (sf.SPD(2), 1.5)],
    ids=str,
)
@pytest.mark.parametrize("n", [300, 3_000, 300_000])
def test_sums_of_records_that_coincide_are_as_accurate_as_claimed(space, spread, n, rng):
    """All records are rounded the same way, so that errors add up.  A plain sum from first to last exceeds the bound."""
    center = space.origin()
    if n * center.nbytes > 1 << 25:
        pytest.skip("large")
    x, y = (space.validate(space.present(p[None]))[0] for p in cloud(space, center, spread, 2, rng))
    data = np.ascontiguousarray(np.broadcast_to(y, (n, *y.shape)))
    bound = gradient_error(space, center, 2 * spread, n)
    expected = space.mean_log(x[None], y[None])[0]
    for found in (
        Records(space, data).mean_log(x[None])[0],
        Records(space, data).mean_log(np.stack([x] * 3))[1],
        Records(space, data, workers=2).moments(x).logs,
    ):
        assert float(space.norm(x, found - expected)) <= bound
    assert bound < 1e-11
    plain = np.cumsum(np.broadcast_to(expected, data.shape), axis=0)[-1] / n
    if n == 300_000:
        assert float(space.norm(x, plain - expected)) > bound / 10
