"""Noise in parts: what enough sites draw is one curator's, to the law and, with given random numbers, to the integer."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from sfumato.laws.calibration.rounding import UNIT
from sfumato.laws.sampling.divided import GRID, Divided
from sfumato.mechanisms.base import radial_noise

MOST = 2e8  # normal numbers of one case; all of 10^5 draws are in `python -m benchmarks.sites law`


def sums(p, m, trusted, count, rng):
    """Return sums of m parts each, drawn by the function that sites draw with."""
    noise = Divided(p, 1.0, trusted, m)
    total = np.zeros((count, p))
    for _ in range(m):
        total += noise.draws(count, rng)
    return total


@pytest.mark.parametrize("m", [2, 5, 20, 200])
@pytest.mark.parametrize("p", [1, 10, 96])
def test_parts_add_up_to_the_noise_of_one_curator(p, m):
    rng = np.random.Generator(np.random.SFC64(7 * p + m))
    total = sums(p, m, m, int(min(1e5, MOST / (p * m))), rng)
    length = np.linalg.norm(total, axis=1)
    assert stats.kstest(length, stats.gamma(p).cdf).pvalue > 1e-6
    one = radial_noise(p, 1.0, len(total), rng)
    assert stats.ks_2samp(total[:, 0], one[:, 0]).pvalue > 1e-6  # a coordinate, so the direction too
    assert stats.ks_2samp(total @ np.ones(p), one @ np.ones(p)).pvalue > 1e-6


@pytest.mark.parametrize(("p", "m"), [(1, 20), (10, 5), (96, 5)])
def test_another_shape_is_convicted(p, m):
    """p/2 in the place of (p + 1)/2, or a tenth too little: the test above has power."""
    rng = np.random.Generator(np.random.SFC64(3))
    for wrong in (m * (p + 1) / p, m / 0.9):
        length = np.linalg.norm(sums(p, m, wrong, 100_000, rng), axis=1)
        assert stats.kstest(length, stats.gamma(p).cdf).pvalue < 1e-6


def test_so_many_parts_at_once_have_the_law_of_their_sum(rng):
    once = Divided(3, 1.0, 4).draws(50_000, rng, parts=6)
    assert (
        stats.ks_2samp(np.linalg.norm(once, axis=1), np.linalg.norm(sums(3, 6, 4, 50_000, rng), axis=1)).pvalue > 1e-6
    )


@pytest.mark.parametrize(("p", "trusted"), [(1, 199), (1, 1), (10, 3), (96, 100)])
def test_a_part_is_its_real_number_rounded_with_its_dither_to_the_integer(p, trusted):
    noise = Divided(p, 2.0, trusted, trusted + 1)
    drawn = noise.draws(1, np.random.default_rng(5))[0]
    rng = np.random.default_rng(5)
    whole = noise.part(rng)
    again = np.random.default_rng(5)
    noise.draws(1, again)
    dithers = [int.from_bytes(again.bytes(16), "little") % noise.dither for _ in range(p)]
    assert [x - d for x, d in zip(whole, dithers, strict=True)] == [round(Fraction(float(x)) * 2**GRID) for x in drawn]
    assert noise.dither & (noise.dither - 1) == 0
    assert 0.5 < noise.dither / 2**GRID / (2.0 * np.sqrt((p + 1) / trusted) / 32) <= 1


def test_dithers_are_uniform(rng):
    noise = Divided(4, 1.0, 1, 2)
    fine = np.array([x % noise.dither for _ in range(3000) for x in noise.part(rng)], dtype=np.float64) / noise.dither
    assert stats.kstest(fine, "uniform").pvalue > 1e-6
    assert stats.kstest(fine * 0.9, "uniform").pvalue < 1e-6


class Steps:
    """A generator whose numbers can be moved by what double precision leaves open."""

    def __init__(self, moved, seed):
        self.rng = np.random.default_rng(seed)
        self.moved = moved

    def standard_exponential(self, count):
        return self.rng.standard_exponential(count) + self.moved * 8.7 * UNIT

    def standard_normal(self, shape):
        return self.rng.standard_normal(shape) + self.moved * 7.32 * UNIT

    def standard_gamma(self, shape, count):
        """Return b·(1 + c·x)³ as Marsaglia and Tsang do, x moved by a step of the ziggurat."""
        b = shape - 1 / 3
        c = 1 / np.sqrt(9 * b)
        x = (np.cbrt(self.rng.standard_gamma(shape, count) / b) - 1) / c + self.moved * 7.32 * UNIT
        return [mpmath.mpf(b) * (1 + mpmath.mpf(c) * one) ** 3 for one in map(mpmath.mpf, x.tolist())]


@pytest.mark.parametrize(("p", "trusted"), [(1, 199), (1, 1), (5, 2), (96, 100), (96, 1)])
def test_rounding_is_within_what_is_stated_on_average(p, trusted):
    """The formula in forty digits, with every random number a whole step off, against doubles."""
    noise, count = Divided(p, 1.0, trusted), 300
    shape = (p + 1) / (2 * trusted)
    stated = UNIT * ((12 * shape + 9 * np.sqrt(2 + 2 * shape)) / (1 + 2 * shape) + 24 * np.sqrt(2 * shape))

    class Plain(Steps):
        def standard_gamma(self, shape, count):
            return np.array([float(x) for x in super().standard_gamma(shape, count)])

    drawn = noise.draws(count, Plain(0, 1))
    exact, off = Steps(1, 1), []
    with mpmath.workdps(40):
        gamma = exact.standard_gamma(1 + shape, count)
        exponent = exact.rng.standard_exponential(count).tolist()
        normal = exact.rng.standard_normal((count, p)).tolist()
        for i in range(count):
            e = mpmath.mpf(exponent[i]) + 8.7 * UNIT
            radius = mpmath.sqrt(2 * gamma[i]) * mpmath.exp(-e / (2 * mpmath.mpf(shape)))
            off += [
                abs(radius * (mpmath.mpf(x) + 7.32 * UNIT) - float(y)) for x, y in zip(normal[i], drawn[i], strict=True)
            ]
    mean = float(sum(off) / len(off))
    assert 0.02 * stated < mean < stated


def test_the_chance_grows_with_sites_and_falls_with_the_dither():
    chances = [Divided(96, 2.0, h, h + 1).chance for h in (1, 10, 199)]
    assert chances == sorted(chances)
    assert 1e-12 < chances[0] < chances[-1] < 1e-8
    assert Divided(96, 2.0, 10, 11).chance == pytest.approx(Divided(96, 2.0, 10, 200).chance)
