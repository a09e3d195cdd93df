"""Laplace noise and choices on whole numbers: no δ, no rounding outside ε, and a constant number of steps."""

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

DIGITS = 150  # of the decimal numbers that probabilities are computed with
TAIL = 64.0  # −ln of the probability that a geometric draw takes another round
CLOCK_DELTA = 2 * math.exp(-TAIL)  # the probability that a Laplace draw takes more time than others
LEAST = Fraction(1, 256)  # the smallest scale of a Laplace
RESERVE = 2.0**-40  # share of ε that is left to the rounding of probabilities
FAR = 60  # losses that cost more than e^−FAR count as that much
WIDE = 640  # random bits of a choice


def discrete_laplace(scale: Fraction, rng: np.random.Generator) -> int:
    """Return a whole number k with probability ∝ exp(−|k|/scale), in a number of steps that does not depend on k.

    k is the difference of two geometric variables with ratio q = e^(−1/scale), whose binary digits are independent: digit j is
    1 with probability 1/(1 + q^(−2^j)) (proofs, Whole numbers).  Digits beyond q^(2^j) < e^−64 are one geometric variable
    more, which is 0 except with probability e^−64.  Scales below 1/256, at which no draw is ever other than 0, count as that.

    >>> draws = [discrete_laplace(Fraction(5, 2), np.random.default_rng(seed)) for seed in range(2000)]
    >>> abs(sum(draws)) < 500, 2.2 < sum(map(abs, draws)) / 2000 < 2.8
    (True, True)
    """
    if not scale > 0:
        raise ValueError(f"the scale of noise must be positive, not {scale}")
    wide = max(Fraction(scale), LEAST)
    return _geometric(wide, rng) - _geometric(wide, rng)


def _geometric(scale: Fraction, rng: np.random.Generator) -> int:
    """Return k ≥ 0 with probability ∝ e^(−k/scale)."""
    limits = _digit_probabilities(scale)
    digits = _heads(limits, rng)
    rounds = 0
    while digits[-1]:
        rounds += 1
        digits[-1] = _heads(limits[-1:], rng)[0]
    low = int.from_bytes(np.packbits(digits[:-1], bitorder="little").tobytes(), "little")
    return low + (rounds << len(limits) - 1)


@lru_cache(maxsize=64)
def _digit_probabilities(scale: Fraction) -> NDArray[np.uint64]:
    """Return the probabilities of the digits of a geometric variable, and last that of another round.

    Each is a row of words of 64 bits, the highest first: B bits in all.  The exponents are 2^j/scale up to the first above 64,
    x.  No probability is below e^−x/2, and each is off by 2^−B at most, B at least 192 + 2x.
    """
    with localcontext(Context(prec=DIGITS)) as context:
        times = [(1 - Fraction(RESERVE)) / scale]
        while times[-1] < TAIL:
            times.append(2 * times[-1])
        exact = [Decimal(t.numerator) / Decimal(t.denominator) for t in times]
        words = 3 + math.ceil(times[-1] / 32)
        context.prec += 20 * words
        probabilities = [1 / (1 + x.exp()) for x in exact[:-1]] + [(-exact[-1]).exp()]
        whole = [int(probability * 2 ** (64 * words)) for probability in probabilities]
    rows = [np.frombuffer(number.to_bytes(8 * words, "big"), dtype=">u8") for number in whole]
    return np.array(rows, dtype=np.uint64)


def _heads(limits: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return, for each probability, whether as many random bits are below it: all are compared to the end."""
    drawn = np.frombuffer(rng.bytes(limits.nbytes), dtype=np.uint64).reshape(limits.shape)
    below = np.zeros(len(limits), dtype=bool)
    for j in reversed(range(limits.shape[1])):
        below = (drawn[:, j] < limits[:, j]) | ((drawn[:, j] == limits[:, j]) & below)
    return below


def exponential_choice(losses: Sequence[int], most: int, rate: float, rng: np.random.Generator) -> int:
    """Return the place of a loss, with probability ∝ w(loss): the exponential mechanism in whole numbers alone.

    From each loss to the next w falls by a factor between e^(−rate) and 1.  So where replacing a record moves every loss by at
    most Δ, numerator and sum change by factors of at most e^(Δ·rate) each: the choice is 2·Δ·rate-private (proofs, Whole
    numbers).  ``most`` is a public bound of the losses, and the number of steps does not depend on them.

    >>> draws = [exponential_choice([0, 1, 9], 9, 1.0, np.random.default_rng(seed)) for seed in range(1000)]
    >>> 680 < draws.count(0) < 780, draws.count(2) < 3
    (True, True)
    """
    weights = _weights(rate, min(most, math.ceil(FAR / rate)))
    ends = list(accumulate(weights[min(loss, len(weights) - 1)] for loss in losses))
    place = int.from_bytes(rng.bytes(WIDE // 8), "little") * ends[-1] >> WIDE
    return next(j for j, end in enumerate(ends) if place < end)


@lru_cache(maxsize=8)
def _weights(rate: float, most: int) -> list[int]:
    """Return w(0) to w(most): w(0) = 2^160, and each is the one before times a public number above e^(−rate), rounded up."""
    with localcontext(Context(prec=DIGITS)):
        factor = int((Decimal(-rate) * (1 - Decimal(RESERVE))).exp() * 2**64) + 1
    weights = [2**160]
    for _ in range(most):
        weights.append(min(weights[-1], (weights[-1] * factor >> 64) + 1))
    return weights
