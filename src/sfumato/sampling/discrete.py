"""Laplace noise on whole numbers, exactly: no rounding, so no δ (Canonne, Kamath and Steinke 2020)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def discrete_laplace(scale: Fraction, rng: np.random.Generator) -> int:
    """A whole number k with probability ∝ exp(−|k|/scale), from random bits and whole numbers alone.

    With scale = t/s: u uniform below t is kept with probability e^(−u/t), v is geometric with ratio 1/e, and ⌊(u + t·v)/s⌋
    is a geometric variable with ratio e^(−s/t); it gets a random sign, and −0 is drawn again.

    >>> draws = [discrete_laplace(Fraction(5, 2), np.random.default_rng(seed)) for seed in range(2000)]
    >>> abs(sum(draws)) < 500, 2.2 < sum(map(abs, draws)) / 2000 < 2.8
    (True, True)
    """
    t, s = Fraction(scale).as_integer_ratio()
    while True:
        u, v = _below(t, rng), 0
        if not _keeps(Fraction(u, t), rng):
            continue
        while _keeps(Fraction(1), rng):
            v += 1
        size, negative = (u + t * v) // s, _below(2, rng)
        if size or not negative:
            return -size if negative else size


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
