"""Laplace noise on whole numbers follows its law exactly."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato.sampling.discrete import _below, discrete_laplace


def masses(scale, reach):
    """Probabilities of −reach, …, reach, the tails put to the ends."""
    k = np.arange(-reach, reach + 1)
    found = np.tanh(0.5 / scale) * np.exp(-np.abs(k) / scale)
    found[[0, -1]] = np.exp(-reach / scale) / (1 + np.exp(-1 / scale))
    return found


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2), Fraction(40)])
def test_draws_follow_the_law_and_no_other(scale):
    rng, draws, reach = np.random.default_rng(4), 20_000, max(2, int(5 * scale))
    found = np.array([discrete_laplace(scale, rng) for _ in range(draws)])
    counts = np.bincount(np.clip(found, -reach, reach) + reach, minlength=2 * reach + 1)

    def p_value(width):
        expected = draws * masses(width, reach)
        often = expected > 5
        return stats.chisquare(counts[often], expected[often] * counts[often].sum() / expected[often].sum()).pvalue

    assert masses(float(scale), reach).sum() == pytest.approx(1)
    assert p_value(float(scale)) > 1e-6
    assert p_value(1.15 * float(scale)) < 1e-6


def test_the_ratio_of_neighbouring_masses_is_the_promise():
    m = masses(2.5, 30)[1:-1]
    assert np.abs(np.diff(np.log(m))).max() == pytest.approx(1 / 2.5)


def test_numbers_below_an_end_are_uniform():
    rng = np.random.default_rng(1)
    counts = np.bincount([_below(11, rng) for _ in range(11_000)], minlength=11)
    assert stats.chisquare(counts).pvalue > 1e-6
    assert _below(1, rng) == 0
    assert 0 <= _below(1 << 90, rng) < 1 << 90
