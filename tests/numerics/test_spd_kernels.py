"""Sums over covariance matrices without eigenvectors, against those with; and means on hard data."""

import warnings

import mpmath
import numpy as np
import pytest

import sfumato as sf
from sfumato.spaces import spd


def wishart(k, n, rng, spread=0.0):
    """Random covariance matrices; with a spread, of channels whose units differ from record to record."""
    a = rng.standard_normal((n, k, 2 * k)) * np.exp(spread * rng.uniform(-1, 1, (n, k, 1)))
    return a @ a.swapaxes(1, 2) / (2 * k)


def by_eigenvectors(points, weights=None):
    values, vectors = np.linalg.eigh(points)
    logs = (vectors * np.log(values)[:, None]) @ vectors.swapaxes(1, 2)
    return np.tensordot(np.ones(len(points)) if weights is None else weights, logs, 1), np.log(values)


@pytest.fixture
def eager(monkeypatch):
    monkeypatch.setattr(spd, "MANY", 1)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("spread", [0.0, 1.5, 5.0])
def test_sums_are_those_of_eigenvectors(k, spread, rng, eager, monkeypatch):
    space, points = sf.SPD(k), wishart(k, 201, rng, spread)
    weights = rng.random(201) * (rng.random(201) < 0.7)
    logs, values = by_eigenvectors(points, weights)
    worst = 4e-15 * k * float(np.exp(values.max(axis=1) - values.min(axis=1)).max())
    found = space.moments(np.eye(k), points, weights)
    assert found.weight == pytest.approx(weights.sum(), rel=1e-14)
    assert np.abs(found.logs - logs).max() < 201 * min(worst, 1e-9)
    assert found.square == pytest.approx(float(weights @ np.sum(values**2, axis=1)), rel=1e-8)
    monkeypatch.setattr(spd, "compiled", lambda *_: None)
    plain = space.moments(np.eye(k), points, weights)
    assert np.abs(found.logs - plain.logs).max() < 201 * min(worst, 1e-9)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 65, 2049])
def test_each_record_counts_once(n, rng, eager):
    for k in (2, 3, 4, 6, 9):
        points = wishart(k, n, rng)
        logs, _ = by_eigenvectors(points)
        assert np.abs(sf.SPD(k).moments(np.eye(k), points).logs - logs).max() < 1e-11 * n


@pytest.mark.parametrize("k", [2, 3, 4, 9])
def test_what_is_left_out_stays_below_what_is_said(k, rng, eager):
    space, points = sf.SPD(k), wishart(k, 300, rng, 1.0)
    exact = by_eigenvectors(points)[0] / 300
    for accuracy in (1e-2, 1e-5, 1e-8):
        found = space.moments(np.eye(k), points, None, accuracy)
        assert np.linalg.norm(found.logs / 300 - exact) <= found.error <= accuracy


@pytest.mark.parametrize("k", [2, 3, 7])
def test_means_do_not_depend_on_units(k, rng, eager):
    """Nor on how they differ by channel; records that coincide are their own mean."""
    space, points = sf.SPD(k), wishart(k, 150, rng)
    mean = sf.frechet_mean(space, points).point
    for scale in (np.full(k, 1e-14), np.full(k, 1e14), 10.0 ** np.linspace(-6, 6, k)):
        moved = sf.frechet_mean(space, points * np.outer(scale, scale)).point
        assert float(space.distance(moved, mean * np.outer(scale, scale))) < 1e-10
    same = np.repeat(points[:1], 150, axis=0)
    assert float(space.distance(sf.frechet_mean(space, same).point, points[0])) < 1e-13


@pytest.mark.parametrize("k", [3, 22])
def test_means_of_anisotropic_records_converge(k, rng, eager):
    """Condition numbers up to e^10 and channels a hundred times as loud as others; no stop before the tolerance."""
    scale = np.exp(rng.standard_normal((200, k)) * np.linspace(0, 1, k))
    mix = rng.standard_normal((k, k)) * 10.0 ** np.linspace(0, 2, k)
    points = mix @ (wishart(k, 200, rng) * scale[:, :, None] * scale[:, None, :]) @ mix.T
    points = (points + points.swapaxes(1, 2)) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sf.frechet_mean(sf.SPD(k), points, tolerance=1e-8)
    inverse = np.linalg.inv(np.linalg.cholesky(found.point))
    white = inverse @ points @ inverse.T
    logs, _ = by_eigenvectors((white + white.swapaxes(1, 2)) / 2)
    assert np.linalg.norm(logs) / 200 <= 1.01e-8 >= found.gradient_norm


def test_a_tolerance_that_is_not_reached_is_said(rng, eager):
    with pytest.warns(sf.ConvergenceWarning):
        sf.frechet_mean(sf.SPD(3), wishart(3, 100, rng), tolerance=1e-19)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8, 12])
def test_faults_are_those_that_numpy_finds(k, rng, eager, monkeypatch):
    """Nearly singular, indefinite, skew by one unit of the last digit, infinite and no numbers, in each place."""
    space, good = sf.SPD(k), wishart(k, 40, rng)
    points = np.concatenate([good * scale for scale in (1.0, 1e-28, 1e28)])
    bad = []
    for i in range(k):
        for j in range(k):
            for value in (np.nextafter(good[0, i, j], np.inf), np.nan, np.inf, -np.inf, -1.0):
                if not (i == j and np.isfinite(value) and value > 0):
                    bad.append(good[0].copy())
                    bad[-1][i, j] = value
    thin = rng.standard_normal((20, k, k - 1))
    bad = np.array([*bad, *(thin @ thin.swapaxes(1, 2)), *(good[:5] - 30 * np.eye(k))])
    mixed = np.concatenate([points, bad])[np.argsort(rng.random(len(points) + len(bad)))]
    found = space._faults(mixed)
    assert found.sum() >= len(bad) - 20
    assert not space._faults(points).any()
    assert space._faults(bad[:-25]).all()
    assert np.array_equal(found, space._faults(np.repeat(mixed, 2, axis=0)[::2]))
    assert np.array_equal(
        space.moments(np.eye(k), points).logs, space.moments(np.eye(k), np.asfortranarray(points)).logs
    )
    told = space.diagnose(np.concatenate([points, bad]))
    monkeypatch.setattr(spd, "compiled", lambda *_: None)
    plain = space.diagnose(np.concatenate([points, bad]))
    assert told[1] == plain[1]
    assert np.array_equal(told[0], plain[0])
    assert {row for row in plain[1] if row < 120} == set()
    assert {120 + row for row in range(len(bad)) if not np.isfinite(bad[row]).all() or row >= len(bad) - 5} <= set(
        plain[1]
    )


@pytest.mark.parametrize("k", [2, 3, 4, 8, 9])
def test_rounding_is_within_what_is_allowed_for_it(k, rng, eager):
    """Of single records with condition numbers up to those that go to eigenvectors, against thirty digits."""
    space, worst = sf.SPD(k), 0.0
    for width in (0.1, 1.0, 4.0, 8.0, 11.0):
        for _ in range(6):
            q = np.linalg.qr(rng.standard_normal((k, k)))[0]
            t = width * (rng.random(k) - 0.5)
            t[:2] = -width / 2, width / 2
            point = (q * np.exp(t)) @ q.T
            point = (point + point.T) / 2
            with mpmath.workdps(30):
                values, vectors = mpmath.eigsy(mpmath.matrix(point.tolist()))
                logs = vectors * mpmath.diag([mpmath.log(v) for v in values]) * vectors.T
                exact = np.array(logs.tolist(), dtype=float)
            found = space.moments(np.eye(k), point[None])
            allowed = found.error + space.rounding_error(np.eye(k), float(np.linalg.norm(t)))
            worst = max(worst, float(np.linalg.norm(found.logs - exact)) / allowed)
    assert worst < 0.7


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8, 9])
def test_rounding_is_that_of_one_condition_number_not_of_its_square(k, rng, eager):
    """Where several eigenvalues are small no pivot, cofactor or inverse of a part may lose more digits than the whole does; and
    a spectrum too wide, or not positive, is told from the others."""
    from sfumato.numerics.curvature import log_rules

    space = sf.SPD(k)
    for small in range(1, k):
        t = np.log(30000.0) * (small / k - (np.arange(k) < small))
        q = np.linalg.qr(rng.standard_normal((60, k, k)))[0]
        points = (q * np.exp(t)) @ q.swapaxes(1, 2)
        points = (points + points.swapaxes(1, 2)) / 2
        allowed = space.rounding_error(np.eye(k), float(np.linalg.norm(t)))
        for point in points:
            found = space.moments(np.eye(k), point[None])
            assert np.linalg.norm(found.logs - by_eigenvectors(point[None])[0]) < 0.3 * (allowed + found.error)
        for least in (1e-14, -1e-3):
            wide = (q * np.where(t < 0, least, 1.0)) @ q.swapaxes(1, 2)
            wide = np.ascontiguousarray((wide + wide.swapaxes(1, 2)) / 2)
            assert spd._kernel_sums(wide, None, np.eye(k), log_rules(1e-9))[1].all()


@pytest.mark.parametrize("k", [9, 10, 11, 12, 33, 63, 64, 65, 128])
def test_large_matrices_of_any_size_are_swept_in_fours(k, rng, eager):
    """Condition numbers go to 1000; those are left out that are nearly singular or not positive, at whichever pivot."""
    from sfumato.numerics.curvature import log_rules

    space = sf.SPD(k)
    t = np.log(1000.0) * (rng.random((11, 1, k)) - 0.5)
    q = np.linalg.qr(rng.standard_normal((11, k, k)))[0]
    points = (q * np.exp(t)) @ q.swapaxes(1, 2)
    points = (points + points.swapaxes(1, 2)) / 2
    logs, values = by_eigenvectors(points)
    allowed = space.rounding_error(np.eye(k), float(np.linalg.norm(t, axis=2).max()))
    found = space.moments(np.eye(k), points)
    assert np.linalg.norm(found.logs - logs) < 11 * (allowed + found.error)
    assert np.linalg.norm(found.logs - logs) < 1e-8
    assert found.square == pytest.approx(np.sum(values**2), rel=1e-10)
    t[::3, :, 0] = np.log(1e-14)
    thin = (q * np.exp(t) * np.where(np.arange(11) % 6 == 3, -1.0, 1.0)[:, None, None]) @ q.swapaxes(1, 2)
    pivots = np.array([np.eye(k)] * (2 * k))
    pivots[np.arange(k), np.arange(k), np.arange(k)] = -1e-3
    pivots[np.arange(k, 2 * k), np.arange(k), np.arange(k) - 1] = 1.001
    pivots[np.arange(k, 2 * k), np.arange(k) - 1, np.arange(k)] = 1.001
    mixed = np.concatenate([(thin + thin.swapaxes(1, 2)) / 2, pivots, points])
    sums, wide = spd._kernel_sums(mixed, None, np.eye(k), log_rules(1e-9))
    expected = [*(np.arange(11) % 3 == 0), *[True] * (2 * k), *[False] * 11]
    assert np.array_equal(wide, expected)
    assert sums[-1] == np.count_nonzero(~wide)
    assert np.isfinite(sums).all()


@pytest.mark.parametrize("k", [2, 3, 4, 5, 9])
def test_records_of_any_units_have_their_logarithms(k, rng, eager):
    for scale in (1e-308, 1e-300, 1e-150, 1e-3, 1e3, 1e150, 1e290, 1e300):
        points = scale * np.array([np.eye(k)] * 9)
        found = sf.SPD(k).moments(np.eye(k), points, None, 1e-9).logs / 9
        assert np.abs(found - np.log(scale) * np.eye(k)).max() < 1e-9 + 1e-13 * abs(np.log(scale))


@pytest.mark.parametrize("k", [2, 3, 4, 5, 7, 9])
def test_pivots_that_overflow_are_noticed(k, rng, eager):
    """A product of three numbers of 1e103 does; the bound on the spectrum was then too small."""
    for scale in (1e-110, 1e-100, 1e100, 1e105, 1e110, 1e150):
        points = wishart(k, 40, rng)
        logs, _ = by_eigenvectors(points)
        found = sf.SPD(k).moments(np.eye(k), points * scale, None, 1e-9)
        assert np.abs(found.logs - logs - 40 * np.log(scale) * np.eye(k)).max() < 40 * 1e-8


@pytest.mark.parametrize("accuracy", [1e-2, 1e-5, 1e-8, 1e-11, 1e-12])
def test_rules_keep_their_accuracy_in_all_of_their_width(accuracy):
    from sfumato.numerics.curvature import HALF_WIDTHS, log_rule

    for half in HALF_WIDTHS:
        nodes, weights = log_rule(half, accuracy)
        t = half * np.cos(np.linspace(0, np.pi, 4001))
        z = np.exp(t.astype(np.longdouble))[:, None] - 1
        assert float(np.abs((weights * z / (1 + z * nodes)).sum(axis=1) - t).max()) <= accuracy


def test_powers_of_two_of_eight_numbers_at_once(rng):
    """What a number is divided by, and what is added to its logarithm, are of the same whole number, whatever it is."""
    numba = pytest.importorskip("numba")
    from sfumato.numerics.spd_kernels import half_exponent, place_of, power_of_two

    @numba.njit
    def split(numbers, powers, scales):
        for i in range(len(numbers) // 8):
            power = half_exponent(place_of(numbers)[i])
            place_of(powers)[i], place_of(scales)[i] = power, power_of_two(power)

    some = np.exp(rng.uniform(-700, 700, 8000))
    numbers = np.concatenate([some, 2.0 ** np.arange(-1022, 1024), [5e-324, 1e-310, 0.0, np.inf, np.nan]])
    numbers = np.append(numbers, np.ones(-len(numbers) % 8))
    powers, scales = np.empty_like(numbers), np.empty_like(numbers)
    split(numbers, powers, scales)
    assert np.array_equal(np.log2(scales), powers)
    left = np.sqrt(numbers[: len(some) + 2046]) / scales[: len(some) + 2046]
    assert np.sqrt(0.5) * (1 - 1e-15) <= left.min() <= left.max() <= np.sqrt(2.0) * (1 + 1e-15)


@pytest.mark.parametrize("k", [2, 3, 9])
def test_one_bad_record_makes_no_other_suspect(k, rng, eager):
    """Wherever it stands: units are those of most of the first records."""
    good = wishart(k, 400, rng)
    for bad in (np.full((k, k), np.nan), np.full((k, k), np.inf), np.zeros((k, k)), -np.eye(k), 1e28 * np.eye(k)):
        for row in (0, 5, 150, 399):
            points = good.copy()
            points[row] = bad
            assert set(np.flatnonzero(sf.SPD(k)._faults(points))) == ({row} if bad[0, 0] != 1e28 else set())


def test_what_becomes_of_a_record_does_not_depend_on_others(eager):
    """To the last bit, also where entries differ from their mirror images by the least number there is."""
    points = np.tile(np.eye(2), (40, 1, 1))
    points[7, 0, 1], points[8, 0, 1], points[9, 1, 0] = 5e-324, 1e-300, 1e-9
    together = sf.SPD(2).diagnose(points)[0]
    alone = np.concatenate([sf.SPD(2).diagnose(one[None])[0] for one in points])
    assert np.array_equal(together, alone)
    assert np.array_equal(together, together.swapaxes(1, 2))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("height", [8, 16, 28, 40, 100])
def test_one_huge_record_fails_no_mean(k, height, rng):
    points = wishart(k, 60, rng) + np.eye(k)
    points[0] = np.diag([10.0**height] + [1.0] * (k - 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.ConvergenceWarning)
        found = sf.frechet_mean(sf.SPD(k), points)
    assert np.linalg.eigvalsh(found.point)[0] > 0
    if height == 8:  # and with fewer digits lost it is the mean
        assert found.gradient_norm < 1e-6
