"""How far a release by chart may be from the mean of the population that the records are a sample of (Result 6)."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, chdtri, erf, gdtrix

from ...numerics.arrays import Array

LEAST = 0.85  # the smallest level at which a spread in one direction is the worst of its size
MANY_EPSILON = 2.0  # above this 4/n is added to the variance: the noise no longer covers the error of its estimate
NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)
CELLS = (400, 48)  # equally likely values of χ² that stand for its distribution, for one group and for each of two


def check_level(level: float) -> None:
    """Raise a ValueError unless regions at this level are shown to cover.

    >>> check_level(0.5)
    Traceback (most recent call last):
    ...
    ValueError: a population region needs a level from 0.85 to 0.999, not 0.5: below, what is known of the spread is not enough
    """
    if not (isinstance(level, int | float) and LEAST <= level <= 0.999):
        raise ValueError(
            f"a population region needs a level from {LEAST:g} to 0.999, not {level!r}: below, what is known of the spread is "
            "not enough"
        )


def noise_quantile(level: float, p: int, sigma: float) -> float:
    """Return the quantile of ‖N‖ for N of density ∝ e^(−‖w‖/σ) in R^p: σ·Gamma(p)."""
    return sigma * float(gdtrix(1.0, float(p), level))


def variance_bound(
    level: float, n: int, epsilon: float, p: int, sigma: float, second_moment: float, scale: float, length: float
) -> float:
    """Return V of Result 6: a bound on E‖w − Ew‖² from the released second moment m̃ and the released length ‖w̃‖.

    V = n/(n − 1)·clip(min(1, (m̃ + b·ln(½/(1 − level)))⁺) − ((‖w̃‖ − q_N)⁺)², 0, 1), b the scale of the Laplace noise of m̃ and
    q_N the quantile of the noise of w̃ at that level; plus 4/n for ε above 2.

    >>> round(variance_bound(0.95, 100, 1.0, 2, 0.02, 0.3, 0.1, 0.2), 4)
    0.5245
    """
    if n < 2:
        return 1.0
    above = min(1.0, max(0.0, second_moment + scale * math.log(0.5 / (1 - level))))
    center = max(0.0, length - noise_quantile(level, p, sigma)) ** 2
    more = 4 / n if epsilon > MANY_EPSILON else 0.0
    return min(1.0, n / (n - 1) * min(1.0, max(0.0, above - center))) + more


def sum_quantile(level: float, p: int, sigmas: Sequence[float], variance: float) -> float:
    """Return the quantile of ‖N + √variance·Z·e₁‖, N the sum of noises with scales ``sigmas`` in R^p, Z standard normal.

    >>> round(sum_quantile(0.95, 1, [1e-9], 1.0), 3), round(sum_quantile(0.95, 1, [1.0], 0.0), 2)
    (1.96, 3.0)
    """
    high = p * sum(sigmas) + math.sqrt(variance)
    while sum_probability(high, p, sigmas, variance) < level:
        high *= 2
    root = brentq(lambda x: sum_probability(x, p, sigmas, variance) - level, 0.0, high, xtol=1e-10 * high, rtol=1e-10)
    return float(root) + 2e-10 * high


def sum_probability(length: float, p: int, sigmas: Sequence[float], variance: float) -> float:
    """Return P(‖N + √variance·Z·e₁‖ ≤ length).

    A noise of scale σ is σ·χ_{p+1}·g with g standard normal; given τ² = Σσᵢ²χ²_{p+1}, the square of the norm is
    (τ² + variance)·χ²₁ + τ²·χ²_{p−1}: integrated over the first by Gauss's rule, and over equally likely values of τ².
    """
    cells = CELLS[len(sigmas) > 1]
    chi = chdtri(p + 1, 1 - (np.arange(cells) + 0.5) / cells)
    tau: Array = sigmas[0] ** 2 * chi
    if len(sigmas) > 1:
        tau = (tau[:, None] + sigmas[1] ** 2 * chi).ravel()
    most = np.minimum(length / np.sqrt(tau + variance), 9.0)[:, None]
    if p == 1:
        return float(np.mean(erf(most / math.sqrt(2))))
    angle = (NODES + 1) * math.pi / 4
    z = most * np.sin(angle)
    rest = np.maximum(0.0, (length**2 - (tau[:, None] + variance) * z * z) / tau[:, None])
    others = erf(np.sqrt(rest / 2)) if p == 2 else chdtr(p - 1, rest)
    inside = others * np.exp(-z * z / 2) * math.sqrt(2 / math.pi) * most * np.cos(angle)
    return float(np.mean(inside @ WEIGHTS) * math.pi / 4)
