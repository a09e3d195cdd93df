"""Second moments: how far one record moves them, the laws of their noise, its exactness, and the nearest matrix."""

from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import gammainc
from scipy.stats import gamma, kstest

import sfumato as sf
from sfumato.laws.calibration.rounding import UNIT
from sfumato.mechanisms.moments import (
    GRID,
    ROUNDED,
    SecondMoment,
    WishartMoment,
    from_triangle,
    least_noise,
    nearest_moment,
    spectra,
    triangle,
    upper,
    wishart_noise,
)
from sfumato.mechanisms.tangent import BITS, whole_sums
from sfumato.records import Records

PURE = sf.PureDP(1.0)


def unit_ball(dim):
    return sf.Ball(sf.Euclidean(dim=dim), np.zeros(dim), 1.0).as_chart()


def hostile(dim, rng):
    """Pairs of records: opposite, equal up to the last bits, orthogonal, far beyond the region, next to nothing."""
    u = rng.normal(size=(60, dim))
    edge = u / np.linalg.norm(u, axis=1, keepdims=True)
    turned = np.roll(np.eye(dim), 1, axis=0)
    return [
        (edge, -edge),
        (edge, np.nextafter(edge, 2)),
        (1e9 * edge, rng.permutation(edge)),
        (np.eye(dim), turned),
        (7.0 * np.eye(dim), turned),
        (1e-300 * edge, edge),
        (1e200 * edge, np.zeros_like(edge)),
        (1e300 * edge, -1e300 * edge),
    ]


def totals(kind, chart, points):
    rows = partial(kind.products, chart)
    return whole_sums(lambda y: [rows(y)], points, None)


def test_one_record_moves_the_second_moment_by_root_two_and_not_by_less(rng):
    """The bound is met by orthogonal vectors at the edge, so that a scale a hundredth smaller would be refuted."""
    chart = unit_ball(6)
    worst = 0.0
    for first, second in hostile(6, rng):
        for a, b in zip(first, second, strict=True):
            apart = totals(SecondMoment, chart, a[None]) - totals(SecondMoment, chart, b[None])
            worst = max(worst, float(np.sqrt(float(sum(apart**2)))) / 2.0**BITS)
    scale = SecondMoment.of(6, PURE).noise(1, 1.0).sigma
    assert worst <= scale == np.sqrt(2) * ROUNDED
    assert worst > 0.99 * scale


def test_one_record_moves_the_second_moment_by_two_in_the_nuclear_norm_and_not_by_less(rng):
    """In a crowd of two coincident records, or alone.  2/n·1/2c = ε: noise a hundredth smaller would be refuted."""
    chart = unit_ball(6)
    worst = 0.0
    for first, second in hostile(6, rng):
        for a, b in zip(first, second, strict=True):
            crowd = [np.stack([first[0], first[0], end]) for end in (a, b)]
            apart, same = (
                totals(WishartMoment, chart, x) - totals(WishartMoment, chart, y)
                for x, y in (crowd, (a[None], b[None]))
            )
            assert np.array_equal(apart, same)  # the others cancel to the bit
            matrix = from_triangle(apart.astype(float) / 2.0**BITS, 6, weighted=False)
            worst = max(worst, float(np.abs(np.linalg.eigvalsh(matrix)).sum()))
    c = WishartMoment.of(6, PURE).noise(1, 1.0).sigma
    assert worst <= 2 * c == 2
    assert worst > 0.99 * 2 * c


def test_rows_are_exact_products_of_vectors_no_longer_than_one(rng):
    """So nothing is rounded away between a record and the sum, and no row can be longer than the proof says."""
    chart = unit_ball(5)
    points = np.concatenate([rng.normal(size=(300, 5)), np.eye(5), 1e-7 * np.eye(5), 1e300 * np.eye(5)])
    w = np.trunc(chart.chart(points) * GRID) / GRID
    rows, columns, _ = triangle(5)
    made = WishartMoment.products(chart, points)
    for vector, row in zip(w.tolist(), made.tolist(), strict=True):
        exact = [Fraction(vector[i]) * Fraction(vector[j]) for i, j in zip(rows, columns, strict=True)]
        assert [Fraction(x) for x in row] == exact
        assert all((x * 2**BITS).denominator == 1 for x in exact)
        assert sum(Fraction(x) ** 2 for x in vector) <= 1
    assert np.array_equal(made, WishartMoment.products(chart, -points))


def test_opposite_vectors_have_the_same_products_so_the_mean_must_not_be_mixed_in(rng):
    """The triangle is an isometry, and u and −u are one matrix."""
    chart = unit_ball(4)
    u = rng.normal(size=(50, 4)) / 8
    rows, columns, weights = triangle(4)
    made = SecondMoment.products(chart, u)
    assert np.array_equal(made, SecondMoment.products(chart, -u))
    assert np.linalg.norm(made, axis=1) == pytest.approx(np.linalg.norm(u, axis=1) ** 2)
    assert made == pytest.approx((u[:, :, None] * u[:, None, :])[:, rows, columns] * weights)


# -- the noise -------------------------------------------------------------------------------------------------------------
def log_density(a, b):
    """Return log g(diag(a, b)) of Z₁Z₁ᵀ − Z₂Z₂ᵀ for p = 2, up to a constant: ∫ e^(−tr W + (a + b)/2) over W ≥ 0 with
    W ≥ diag(a, b), the entry off the diagonal integrated out."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ends = np.concatenate([[0.0], 2.0 ** np.arange(-6, 6.0)])
    steps = np.concatenate([lo + (hi - lo) * (nodes + 1) / 2 for lo, hi in pairwise(ends)])
    width = np.concatenate([(hi - lo) * weights / 2 for lo, hi in pairwise(ends)])
    x, y = max(a, 0) + steps[:, None], max(b, 0) + steps[None]
    across = 2 * np.sqrt(np.minimum(x * y, (x - a) * (y - b)))
    return (a + b) / 2 + np.log(np.sum(width[:, None] * width * across * np.exp(-x - y)))


def test_the_density_falls_no_faster_than_the_nuclear_norm():
    """For p = 2 by quadrature, over matrices and shifts of all signs: log g(N) − log g(N + E) ≤ ‖E‖_*/2; shifts of both signs
    far out attain it to 3%, so that noise a tenth smaller would be refuted."""
    grid = [-30.0, -8.0, -1.0, 0.0, 0.5, 4.0, 30.0]
    shifts = [(2.0, 0.0), (0.0, -2.0), (1.0, -1.0), (-1.5, 0.5), (1.0, 1.0), (-1.0, -1.0)]
    worst = 0.0
    for a in grid:
        for b in grid:
            here = log_density(a, b)
            for e, f in shifts:
                loss = abs(here - log_density(a + e, b + f))
                worst = max(worst, loss / (abs(e) + abs(f)) * 2)
    assert 0.97 < worst <= 1 + 1e-3
    definite = log_density(3.0, 1.0) - log_density(5.0, 1.0)
    assert definite == pytest.approx(1.0, rel=1e-3)  # e^(−tr N/2) where N ≥ 0


def difference_law(k, t):
    """Return P(X − Y ≤ t) for independent χ² numbers with k degrees."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    y = gamma(k / 2, scale=2)
    top = y.ppf(1 - 1e-12)
    places, width = top * (nodes + 1) / 2, top * weights / 2
    return np.sum(width * y.pdf(places) * gammainc(k / 2, np.maximum(np.asarray(t)[:, None] + places, 0) / 2), axis=1)


@pytest.mark.parametrize("p", [2, 5, 12])
def test_the_noise_is_that_of_two_wishart_matrices(p, rng):
    """uᵀNu/c is a difference of χ² with p + 1 degrees for any unit u, and tr N/c with p(p + 1); a scale 20% off is another law,
    and so is one of p degrees."""
    plan = WishartMoment.of(p, PURE).plan(200)
    draws = from_triangle(plan.sampled_noise(20_000, rng), p, weighted=False) / plan.scale.sigma
    u = rng.normal(size=p)
    along = (draws @ u) @ u / (u @ u)
    assert kstest(along, partial(difference_law, p + 1)).pvalue > 1e-6
    assert kstest(1.2 * along, partial(difference_law, p + 1)).pvalue < 1e-6
    trace = np.trace(draws, axis1=1, axis2=2)
    assert kstest(trace, partial(difference_law, p * (p + 1))).pvalue > 1e-6
    assert kstest(1.2 * trace, partial(difference_law, p * (p + 1))).pvalue < 1e-6
    if p == 2:
        assert kstest(along, partial(difference_law, p)).pvalue < 1e-6


def test_the_noise_has_the_frobenius_law(rng):
    plan = SecondMoment.of(4, PURE).plan(200)
    lengths = np.linalg.norm(plan.sampled_noise(4000, rng), axis=1) / plan.scale.sigma
    assert kstest(lengths, "gamma", (10,)).pvalue > 1e-6
    assert kstest(1.2 * lengths, "gamma", (10,)).pvalue < 1e-6


@pytest.mark.parametrize("p", [5, 40])
def test_sums_of_normal_products_are_exact_but_for_one_rounding(p):
    """Against fractions, from the same normal numbers.  A sum in doubles alone is not."""
    found = wishart_noise(p, 1, np.random.default_rng(3))[0]
    z = np.random.default_rng(3).standard_normal((2, 1, p, p + 1))[:, 0]
    plain = z[0] @ z[0].T - z[1] @ z[1].T
    off, naive = 0.0, 0.0
    for i in range(0, p, 4):
        for j in range(i, p, 3):
            pairs = [
                (Fraction(a) * Fraction(b)) * s
                for s, y in ((1, z[0]), (-1, z[1]))
                for a, b in zip(y[i], y[j], strict=True)
            ]
            exact = sum(pairs)
            off = max(off, float(abs(Fraction(found[i, j]) - exact) / max(abs(exact), Fraction(1, 8))))
            naive = max(naive, float(abs(Fraction(plain[i, j]) - exact) / max(abs(exact), Fraction(1, 8))))
    assert off <= 1.01 * UNIT
    assert naive > 2 * UNIT


def test_rounding_is_within_what_the_record_states():
    """The normal numbers themselves have steps of 3.66·2⁻⁵²: a draw from numbers moved by that much, at random, lands on
    another lattice point less often than numerical_delta says, times 10⁶ for both."""
    p, large, rng = 6, 1e6, np.random.default_rng(5)
    plan = WishartMoment.of(p, PURE).plan(100)
    chance = plan.losses.numerical_delta / (1 + np.e)
    assert chance < 1e-9
    z = rng.standard_normal((2, 4000, p, p + 1))
    moved = z + large * 7.32 * UNIT * rng.uniform(-1, 1, z.shape)
    cells = [
        np.rint((y[0] @ y[0].swapaxes(1, 2) - y[1] @ y[1].swapaxes(1, 2)) * plan.scale.sigma / plan.spacing)
        for y in (z, moved)
    ]
    share = np.mean(np.any(cells[0] != cells[1], axis=(1, 2)))
    assert share < large * chance
    for side in (5, 10, 20, 40):
        assert WishartMoment.of(side, PURE).plan(1000).losses.numerical_delta < 3e-7


@pytest.mark.parametrize("p", [5, 12])
def test_stated_errors_hold_and_are_not_idle(p, rng):
    plan = WishartMoment.of(p, PURE).plan(300)
    lengths = np.linalg.norm(plan.sampled_noise(40_000, rng) * triangle(p)[2], axis=1)
    quantiles = plan.error.quantiles
    assert list(quantiles.values()) == sorted(quantiles.values())
    for level, radius in quantiles.items():
        rest = 1 - float(level)
        assert np.mean(lengths > radius) <= rest + 5 * np.sqrt(rest / len(lengths))
    assert np.mean(lengths > 0.8 * quantiles["0.95"]) > 0.1  # 20% less would not hold
    assert quantiles["0.999999"] < 9 * quantiles["0.5"]


def test_eigenvalues_move_by_no_more_than_the_quantile_of_the_operator_norm(rng):
    for kind in (SecondMoment, WishartMoment):
        axes = np.array([3.0, 2.0, 1.0, 0.5, 0.5])
        sigma = kind.of(5, PURE).plan(200).scale.sigma
        noise = {SecondMoment: True, WishartMoment: False}[kind]
        draws = from_triangle(kind.of(5, PURE).plan(200).sampled_noise(4000, rng), 5, noise) * np.outer(axes, axes)
        moment = np.diag([0.3, 0.2, 0.05, 0.01, 0.0]) * np.outer(axes, axes)
        moved = np.abs(np.linalg.eigvalsh(moment + draws) - np.linalg.eigvalsh(moment)).max(axis=1)
        limit = sigma * upper(spectra(tuple(axes.tolist()), kind), 0.95)
        assert np.mean(moved > limit) < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 4000)
        assert np.mean(np.abs(np.linalg.eigvalsh(draws)).max(axis=1) > 0.8 * limit) > 0.08
    with pytest.raises(ValueError, match=r"between 0\.5 and 0\.99"):
        upper(np.arange(4000.0), 0.999)


def test_each_promise_has_the_noise_that_moves_eigenvalues_less():
    for p, privacy, kind in [
        (2, PURE, SecondMoment),
        (4, PURE, SecondMoment),
        (5, PURE, WishartMoment),
        (20, PURE, WishartMoment),
        (10, sf.ApproxDP(1.0, 1e-6), SecondMoment),
        (10, sf.ZCDP(0.1), SecondMoment),
        (10, sf.GDP(0.5), SecondMoment),
    ]:
        noise, found = least_noise(np.ones(p), 100, privacy, 0.95)
        assert found is kind, (p, privacy)
        plan = kind.of(p, privacy).plan(100)
        assert noise == pytest.approx(plan.scale.sigma * upper(spectra((1.0,) * p, kind), 0.95), rel=1e-3)
        assert plan.facts.asked == privacy
    facts = WishartMoment.of(6, PURE).plan(100).facts
    assert (facts.epsilon, facts.rho) == (1.0, 0.5)


@pytest.mark.parametrize(("p", "most"), [(10, 0.75), (20, 0.55), (40, 0.42)])
def test_eigenvalues_move_less_than_by_the_noise_of_the_last_version(p, most):
    """σ = √2/(nε) in the Frobenius norm; a check that the wrong way round fails."""
    norms = [
        kind.of(p, PURE).plan(600).scale.sigma * np.abs(spectra((1.0,) * p, kind)).max(axis=1)
        for kind in (WishartMoment, SecondMoment)
    ]
    assert np.mean(norms[0]) < most * np.mean(norms[1])
    assert upper(norms[0], 0.95) < most * upper(norms[1], 0.95)
    assert np.mean(norms[0]) > 0.85 * most * np.mean(norms[1])


# -- the nearest matrix ----------------------------------------------------------------------------------------------------
def some_moment(p, rng):
    w = rng.normal(size=(rng.integers(1, 2 * p), p))
    w /= np.maximum(1.0, np.linalg.norm(w, axis=1, keepdims=True) / rng.choice([0.3, 1.0]))
    return w.T @ w / len(w)


def test_the_nearest_moment_is_nearer_in_frobenius_norm_and_at_most_twice_as_far_in_operator_norm(rng):
    """Dividing by the trace instead, as one might, does raise the error."""
    raised = operator = 0.0
    for _ in range(600):
        p = int(rng.integers(1, 7))
        noise = wishart_noise(p, 1, rng)[0] * rng.choice([0.003, 0.05, 1.0])
        truth = some_moment(p, rng)
        found = nearest_moment(truth + noise)
        assert np.linalg.eigvalsh(found)[0] >= -1e-12
        assert np.trace(found) <= 1 + 1e-12
        size = np.linalg.norm(noise)
        assert np.linalg.norm(found - truth) <= size * (1 + 1e-9)
        assert np.linalg.norm(found - truth, 2) <= 2 * np.linalg.norm(noise, 2) * (1 + 1e-9)
        operator = max(operator, np.linalg.norm(found - truth, 2) / np.linalg.norm(noise, 2))
        values, vectors = np.linalg.eigh(truth + noise)
        kept = np.maximum(values, 0)
        scaled = (vectors * kept / max(1.0, kept.sum())) @ vectors.T
        raised = max(raised, np.linalg.norm(scaled - truth) / size)
        other = nearest_moment(some_moment(p, rng))  # no feasible matrix is nearer to what was released
        assert np.linalg.norm(found - truth - noise) <= np.linalg.norm(other - truth - noise) + 1e-9
    assert operator > 1.01
    assert raised > 1.0


def test_the_nearest_moment_of_anything_is_finite(rng):
    for far in (0.0, 1e-300, 1.0, -1e6, 1e12, 1e150):
        for matrix in (np.full((4, 4), far), far * np.eye(4), np.diag([far, -far, 0.0, 0.5])):
            found = nearest_moment(matrix)
            assert np.isfinite(found).all()
            assert np.trace(found) <= 1 + 1e-9


# -- a release ---------------------------------------------------------------------------------------------------------------
def test_a_release_is_a_point_of_the_lattice_and_its_value_the_nearest_moment(rng):
    plan = WishartMoment.of(6, PURE).plan(50)
    points = rng.normal(size=(50, 6))
    rows = plan.products(unit_ball(6), points)
    release = plan.release_of(Records(plan.space, rows), "one record")
    whole = release.raw / plan.spacing
    assert np.array_equal(whole, np.rint(whole))
    matrix = from_triangle(release.value, 6, weighted=False)
    assert matrix == pytest.approx(nearest_moment(from_triangle(release.raw, 6, weighted=False)))
    assert "trace 1" in release.after
    assert release.chart.after == ["projected"]
    assert release.mechanism.options == {"noise": "wishart"}
    assert sf.Release.from_json(release.to_json()).to_json() == release.to_json()
    assert plan.mean(Records(plan.space, rows)) == [sum(Fraction(x) for x in column) / 50 for column in rows.T.tolist()]
