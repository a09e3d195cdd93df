"""Laplace noise on whole numbers follows its law exactly."""

from decimal import Context, FloatOperation, Inexact, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

from sfumato.laws.sampling.discrete import TAIL, _digit_probabilities, _weights, discrete_laplace, exponential_choice


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


@pytest.mark.parametrize(
    "scale", [Fraction(1, 100), Fraction(1, 3), Fraction(5, 2), Fraction(2**40, 3), Fraction(2) ** 60]
)
def test_chances_of_digits_are_those_of_the_law_to_their_last_bit(scale):
    """Against 300 digits of mpmath; and no digit is left out that has a chance above e^−64."""
    found = _digit_probabilities(scale)
    with mp.workdps(300):
        x = [(1 - mpf(2) ** -40) * 2**j * scale.denominator / scale.numerator for j in range(len(found))]
        wanted = [1 / (1 + mp.exp(each)) for each in x[:-1]] + [mp.exp(-x[-1])]
        for row, chance in zip(found.tolist(), wanted, strict=True):
            stated = sum(mpf(word) / mpf(2) ** (64 * i) for i, word in enumerate(row, start=1))
            assert abs(stated / chance - 1) < mpf(2) ** -190
    assert x[-1] >= TAIL
    assert len(x) == 1 or x[-2] < TAIL


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2), Fraction(2**40, 3)])
def test_every_draw_asks_for_the_same_random_bits(scale):
    """The time of an earlier version told the size of the noise: it tossed coins until one fell."""
    rng = Counted(np.random.default_rng(0))
    sizes, asked = [], []
    for _ in range(300):
        rng.asked.clear()
        sizes.append(abs(discrete_laplace(scale, rng)))
        asked.append(tuple(rng.asked))
    assert len(set(asked)) == 1
    assert max(sizes) > 2 * scale


class Counted:
    """A generator that notes how many bytes it was asked for."""

    def __init__(self, rng):
        self.rng, self.asked = rng, []

    def bytes(self, length):
        self.asked.append(length)
        return self.rng.bytes(length)


@pytest.mark.parametrize("rate", [1e-9, 1e-3, 0.4, 1.0, 30.0])
def test_weights_fall_by_no_more_than_the_rate(rate):
    weights = _weights(rate, 500)
    with mp.workdps(100):
        least = mp.exp(-mpf(rate))
        assert all(least * a < b <= a for a, b in pairwise(map(mpf, weights)))
    assert rate < 1e-3 or weights[1] < weights[0]
    assert weights[1] / weights[0] == pytest.approx(np.exp(-rate), rel=1e-9)


def test_a_choice_asks_for_the_same_random_bits_whatever_the_losses():
    rng = Counted(np.random.default_rng(0))
    for losses in ([0] * 60, [0, *[1000] * 59], [*range(60)]):
        exponential_choice(losses, 1000, 0.01, rng)
    assert len(set(rng.asked)) == 1


def test_no_settings_of_a_users_decimals_reach_the_noise():
    with localcontext(Context(prec=5, Emax=6, traps=[Inexact, FloatOperation])):
        discrete_laplace(Fraction(17, 3), np.random.default_rng(0))
        exponential_choice([0, 1], 1, 0.123, np.random.default_rng(0))
