"""Laws behind regions and tests: sums of several noises, and the test of equal means of many groups."""

import math

import numpy as np
import pytest
from scipy.special import gammainccinv

from sfumato.laws.calibration.chart import chart_error
from sfumato.laws.calibration.population import omnibus, precisions, sum_quantile, sum_tail

DRAWS = 200_000
SIZES = {"alike": np.full(20, 200.0), "very unequal": np.geomspace(20, 20_000, 20)}


def noise(p, sigma, size, rng):
    return sigma * np.sqrt(rng.chisquare(p + 1, size))[:, None] * rng.normal(size=(size, p))


def statistics(p, sigmas, variances, rng):
    """Return Q of many draws of groups of one mean."""
    c = precisions(p, sigmas, variances)
    w = np.stack([noise(p, sigma, DRAWS, rng) for sigma in sigmas], axis=1)
    w[:, :, 0] += np.sqrt(variances) * rng.normal(size=(DRAWS, len(sigmas)))
    return np.einsum("g,sgp->s", c, (w - np.einsum("g,sgp->sp", c / c.sum(), w)[:, None]) ** 2)


def tail(q, p, sigmas, variances, cells=0.0):
    """Return the p-value of groups of which all but the first have the same released mean, and whose Q is this."""
    c = precisions(p, sigmas, variances)
    w = np.zeros((len(sigmas), p))
    w[0, 0] = math.sqrt(q / (c[0] * (1 - c[0] / c.sum())))
    return omnibus(w, sigmas, variances, np.full(len(sigmas), cells))


# -- many groups --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("groups", "p"), [(2, 2), (3, 1), (5, 2), (4, 5), (15, 1), (20, 3)])
def test_p_values_of_many_groups_are_those_of_draws(groups, p, sizes, rng):
    """At two levels; with noise 10% larger than it is they are others."""
    n = SIZES[sizes][:: 20 // groups][:groups]
    sigmas, variances = 2 / (0.9 * n), 0.3 / n
    drawn = statistics(p, sigmas, variances, rng)
    for level in (0.05, 0.005):
        q = np.quantile(drawn, 1 - level)
        margin = 5.5 * math.sqrt(level * (1 - level) / DRAWS)
        assert abs(tail(q, p, sigmas, variances) - level) < margin
    wide = math.sqrt(1.21)
    c, wider = (precisions(p, scale * sigmas, scale**2 * variances) for scale in (1.0, wide))
    assert abs(tail(q * wider[0] / c[0], p, wide * sigmas, wide**2 * variances) - level) > margin


@pytest.mark.parametrize("p", [1, 2, 5, 20, 96])
@pytest.mark.parametrize(("ratio", "spread"), [(1, 0.3), (100, 0.3), (3, 0.0), (3, 30.0)])
def test_two_groups_have_the_p_value_of_their_difference(p, ratio, spread):
    """Which is computed in another way: right to a thousandth down to 1e-5, as a correction for many tests needs."""
    n = np.array([100.0, 100.0 * ratio])
    sigmas, variances = 2 / (0.9 * n), spread / n
    for level in (0.5, 0.05, 1e-3, 1e-5):
        w = np.zeros((2, p))
        w[1, -1] = sum_quantile(1 - level, p, sigmas.tolist(), float(variances.sum()))
        assert omnibus(w, sigmas, variances, np.zeros(2)) == pytest.approx(level, rel=1e-3)


def test_the_p_value_does_not_depend_on_the_order_and_is_never_0(rng):
    n = SIZES["very unequal"]
    sigmas, variances, cells = 2 / n, 0.2 / n, np.full(20, 1e-5)
    w = noise(3, 1.0, 20, rng) * np.sqrt(3) * sigmas[:, None]
    order = rng.permutation(20)
    one = omnibus(w, sigmas, variances, cells)
    assert 1e-4 < one < 1
    assert omnibus(w[order], sigmas[order], variances[order], cells[order]) == pytest.approx(one, rel=1e-9)
    assert omnibus(np.ones((20, 3)), sigmas, variances, cells) == 1.0
    assert 0 < omnibus(1e6 * w, sigmas, variances, cells) <= 1e-8
    assert omnibus(w, sigmas, variances, 0.1 * sigmas) > one  # what the lattice may have added is taken off


# -- several noises -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("p", [1, 3, 20])
@pytest.mark.parametrize("sigmas", [(1.0, 0.5, 0.2), (1.0, 1.0, 1.0, 1.0), (1.0, 0.05, 0.6, 0.01, 0.3)])
def test_sums_of_several_noises_are_those_of_draws(p, sigmas, rng):
    total = sum(noise(p, sigma, DRAWS, rng) for sigma in sigmas)
    moved = total + np.sqrt(0.5) * rng.normal(size=(DRAWS, 1)) * np.eye(1, p)
    axes = 1 / np.arange(1.0, p + 1)
    law = chart_error(axes, sigmas)
    for level in (0.5, 0.95, 0.999):
        margin = 5.5 * math.sqrt(level * (1 - level) / DRAWS)
        for drawn, variance in ((total, 0.0), (moved, 0.5)):
            lengths = np.linalg.norm(drawn, axis=1)
            q = sum_quantile(level, p, sigmas, variance)
            assert abs((lengths <= q).mean() - level) < margin
            assert abs((lengths <= 1.1 * q).mean() - level) > margin
        held = (
            np.linalg.norm(axes * total, axis=1) <= law.quantile(level)
        ).mean()  # which is rounded up, by 1.1% at most
        assert (
            level - margin < held < (np.linalg.norm(axes * total, axis=1) <= 1.012 * law.quantile(level)).mean() + 1e-9
        )


def test_tails_of_three_noises_on_a_line_are_right_far_out():
    """Of three Laplace variables P(sum > x) is e^(−x)·(8 + 5x + x²)/16, and as much on the other side."""
    for x in (2.0, 8.0, 14.0, 20.0):
        truth = math.exp(-x) * (8 + 5 * x + x * x) / 8
        assert sum_tail(0.3 * x, 1, [0.3] * 3, 0.0) == pytest.approx(truth, rel=1e-3)
    assert sum_tail(gammainccinv(7, 1e-6), 7, [1.0, 1e-9], 0.0) == pytest.approx(1e-6, rel=1e-3)
