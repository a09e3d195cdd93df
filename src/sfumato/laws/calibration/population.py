"""How far a release by chart may be from the mean of the population that the records are a sample of (Result 6)."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtrc, erfc, gammaln, gdtrix

from ...numerics.arrays import Array

LEAST = 0.85  # the smallest level at which a spread in one direction is the worst of its size
MANY_EPSILON = 2.0  # above this 4/n is added to the variance: the noise no longer covers the error of its estimate
NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)
FAR = 9.0  # standard deviations, beyond which nothing of a normal law is left to count


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
    while sum_tail(high, p, sigmas, variance) > 1 - level:
        high *= 2
    root = brentq(lambda x: sum_tail(x, p, sigmas, variance) - (1 - level), 0.0, high, xtol=1e-10 * high, rtol=1e-10)
    return float(root) + 2e-10 * high


def sum_tail(length: float, p: int, sigmas: Sequence[float], variance: float) -> float:
    """Return P(‖N + √variance·Z·e₁‖ > length), to four digits also where it is tiny.

    A noise of scale σ is σ·χ_{p+1}·g with g standard normal; given τ² = Σσᵢ²χ²_{p+1}, the square of the norm is
    (τ² + variance)·χ²₁ + τ²·χ²_{p−1}.  All are integrated by Gauss's rule.

    >>> f"{sum_tail(8.0, 1, [1.0], 0.0):.6f} {math.exp(-8.0):.6f}"
    '0.000335 0.000335'
    """
    chi, weights = _chi(p + 1)
    tau: Array = sigmas[0] ** 2 * chi
    each = weights
    if len(sigmas) > 1:
        tau = (tau[:, None] + sigmas[1] ** 2 * chi).ravel()
        each = (weights[:, None] * weights).ravel()
    most = length / np.sqrt(tau + variance)
    beyond = erfc(most / math.sqrt(2))
    if p > 1:
        angle = (NODES + 1) * math.pi / 4
        z = np.minimum(most, FAR)[:, None] * np.sin(angle)
        rest = np.maximum(0.0, (length**2 - (tau[:, None] + variance) * z * z) / tau[:, None])
        others = erfc(np.sqrt(rest / 2)) if p == 2 else chdtrc(p - 1, rest)
        density = np.exp(-z * z / 2) * math.sqrt(2 / math.pi) * np.minimum(most, FAR)[:, None] * np.cos(angle)
        beyond = beyond + (others * density) @ WEIGHTS * math.pi / 4
    return float(each @ beyond)


@cache
def _chi(degrees: int) -> tuple[Array, Array]:
    """Return values of χ² and their weights, for integrals over its law: its root is within FAR of √degrees."""
    low = max(0.0, math.sqrt(degrees) - FAR)
    high = math.sqrt(degrees) + FAR
    root = low + (high - low) * (NODES + 1) / 2
    density = np.exp(
        (degrees - 1) * np.log(root) - root**2 / 2 - gammaln(degrees / 2) - (degrees / 2 - 1) * math.log(2)
    )
    return root**2, density * WEIGHTS * (high - low) / 2
