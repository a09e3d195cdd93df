"""Laplace noise and choices on whole numbers, exactly: no rounding, so no δ (Canonne, Kamath and Steinke 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np

BITS, FAR = 16, 60  # of the ratio of a choice; and losses that cost more than e^−FAR count as that much


def discrete_laplace(scale: Fraction, rng: np.random.Generator) -> int:
    """A whole number k with probability ∝ exp(−|k|/scale), from random bits and whole numbers alone.

    With scale = t/s: u uniform below t is kept with probability e^(−u/t), v is geometric with ratio 1/e, and ⌊(u + t·v)/s⌋
    is a geometric variable with ratio e^(−s/t); it gets a random sign, and −0 is drawn again.

    >>> draws = [discrete_laplace(Fraction(5, 2), np.random.default_rng(seed)) for seed in range(2000)]
    >>> abs(sum(draws)) < 500, 2.2 < sum(map(abs, draws)) / 2000 < 2.8
    (True, True)
    """
    t, s = Fraction(scale).as_integer_ratio()
    if t <= 0:
        raise ValueError(f"the scale of noise must be positive, not {scale}")
    while True:
        u, v = _below(t, rng), 0
        if not _keeps(Fraction(u, t), rng):
            continue
        while _keeps(Fraction(1), rng):
            v += 1
        size, negative = (u + t * v) // s, _below(2, rng)
        if size or not negative:
            return -size if negative else size


def exponential_choice(losses: Sequence[int], rate: float, rng: np.random.Generator) -> int:
    """The place of a loss, with probability ∝ b^loss: the exponential mechanism in whole numbers alone.

    b is the first multiple of 2^−16 above e^(−rate).  Where replacing a record moves every loss by at most Δ, numerator and sum
    change by factors of at most b^−Δ each, so the choice is 2·Δ·rate-private.  Losses are capped, which keeps that.

    >>> draws = [exponential_choice([0, 1, 9], 1.0, np.random.default_rng(seed)) for seed in range(1000)]
    >>> 680 < draws.count(0) < 780, draws.count(2) < 3
    (True, True)
    """
    base = min(2**BITS, math.floor(math.exp(-rate) * 2**BITS) + 1)
    most = min(max(losses), math.ceil(FAR / rate))
    weights = [base ** min(loss, most) << BITS * (most - min(loss, most)) for loss in losses]
    ends = list(accumulate(weights))
    place = _below(ends[-1], rng)
    return next(j for j, end in enumerate(ends) if place < end)


def _below(end: int, rng: np.random.Generator) -> int:
    """A whole number from 0 to end − 1, each with the same probability."""
    bits = (end - 1).bit_length()
    while True:
        found = int.from_bytes(rng.bytes((bits + 7) // 8), "little") >> (-bits % 8) if bits else 0
        if found < end:
            return found


def _keeps(x: Fraction, rng: np.random.Generator) -> bool:
    """True with probability e^(−x), 0 ≤ x ≤ 1: the first k at which a coin of probability x/k fails is odd."""
    k = 1
    while _below(k * x.denominator, rng) < x.numerator:
        k += 1
    return k % 2 == 1
