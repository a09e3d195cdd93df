"""How far a release by chart may be from the mean of the population that the records are a sample of (Result 6)."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtrc, chdtrc, erfc, gammaln, gdtrix

from ...numerics.arrays import Array
from .chart import SHORTEST, bins, chi_squares

LEAST = 0.85  # the smallest level at which a spread in one direction is the worst of its size
MANY_EPSILON = 2.0  # above this 4/n is added to the variance: the noise no longer covers the error of its estimate
NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)
FAR = 9.0  # standard deviations, beyond which nothing of a normal law is left to count
SHIFT = 20.0  # Laplace transforms are inverted up to e^−SHIFT, on a line that multiplies rounding by e^(SHIFT/2)
SMOOTHED = 12  # terms of the inversion that are averaged by Euler's method


def check_level(level: float) -> None:
    """Raise a ValueError unless regions at this level are shown to cover.

    >>> check_level(0.5)
    Traceback (most recent call last):
    ...
    ValueError: a population region needs a level from 0.85 to 0.999, not 0.5: below, what is known of the spread is not enough
    """
    if not (isinstance(level, int | float) and LEAST <= level <= 0.999):
        words = f"a population region needs a level from {LEAST:g} to 0.999, not {level!r}"
        raise ValueError(f"{words}: below, what is known of the spread is not enough")


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


def sum_quantile(level: float, p: int, sigmas: Sequence[float], variance: float, noises: float = 1.0) -> float:
    """Return the quantile of ‖N + √variance·Z·e₁‖, N the sum of noises with scales ``sigmas`` in R^p, Z standard normal.

    >>> round(sum_quantile(0.95, 1, [1e-9], 1.0), 3), round(sum_quantile(0.95, 1, [1.0], 0.0), 2)
    (1.96, 3.0)
    """
    high = p * sum(sigmas) + math.sqrt(variance)
    law = (p, sigmas, variance, noises)
    while sum_tail(high, *law) > 1 - level:
        high *= 2
    root = brentq(lambda x: sum_tail(x, *law) - (1 - level), 0.0, high, xtol=1e-10 * high, rtol=1e-10)
    return float(root) + 2e-10 * high


def sum_tail(length: float, p: int, sigmas: Sequence[float], variance: float, noises: float = 1.0) -> float:
    """Return P(‖N + √variance·Z·e₁‖ > length), to four digits also where it is tiny.

    A noise of scale σ is σ·χ_{p+1}·g with g standard normal; given τ² = Σσᵢ²χ²_{p+1}, the square of the norm is
    (τ² + variance)·χ²₁ + τ²·χ²_{p−1}.  All are integrated by Gauss's rule.  ``noises`` is as in :func:`chart_error`.

    >>> f"{sum_tail(8.0, 1, [1.0], 0.0):.6f} {math.exp(-8.0):.6f}"
    '0.000335 0.000335'
    """
    tau, each = sum_squares(noises * (p + 1), tuple(sigmas))
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


@lru_cache(maxsize=512)
def sum_squares(degrees: float, sigmas: tuple[float, ...]) -> tuple[Array, Array]:
    """Return values of Σσᵢ²χ² and weights for its law; of σ below a sixteenth of the largest χ² counts with its mean."""
    longest = max(sigmas)
    shares = np.sort(np.square(sigmas)) / longest**2
    few = shares[shares >= SHORTEST]
    beta, law = chi_squares(few, degrees)
    starts = bins(len(law), 256) - 1
    masses = np.add.reduceat(law, starts)
    order = degrees * len(few) / 2 + np.add.reduceat(np.arange(len(law)) * law, starts) / np.maximum(masses, 1e-300)
    middle = math.sqrt(degrees * float(np.sum(few)))
    half = (FAR + min(middle, FAR)) / 2  # of the range of the root, in units of the largest σ
    root = middle + FAR + half * (NODES - 1)
    x = root[:, None] ** 2 / beta
    density = np.exp((order - 1) * np.log(x / 2) - x / 2 - gammaln(order)) @ masses * root / beta
    return longest**2 * (root**2 + degrees * float(np.sum(shares)) - middle**2), density * WEIGHTS * half


def precisions(p: int, sigmas: Array, variances: Array, noises: float = 1.0) -> Array:
    """Return c = 1/(p(p + 1)σ² + V/n), one over the mean square of noise and sampling error, of each group."""
    return np.asarray(1 / (noises * p * (p + 1) * sigmas**2 + variances))


def omnibus(w: Array, sigmas: Array, variances: Array, cells: Array, noises: float = 1.0) -> float:
    """Return the p-value, to 1e-8, of one mean of all groups (Result 15) by Q = Σc‖w̃ − w̄‖² of their released means,
    (G, p), w̄ the mean of these by c; ``cells``, half the diagonals of those of the lattice, are taken off each distance.

    w̃ is N + √(V/n)·Z·e₁.  The Laplace transform of Q is inverted by a Fourier series (Abate and Whitt 1995).
    """
    p = w.shape[1]
    c = precisions(p, sigmas, variances, noises)
    length = math.sqrt(float(c @ np.sum((w - c @ w / np.sum(c)) ** 2, axis=1))) - math.sqrt(float(c @ cells**2))
    if length <= 0:
        return 1.0
    k = np.arange(16 + math.ceil(2.5 * math.sqrt(p * (len(c) - 1) / 2)) + SMOOTHED)
    theta = (SHIFT / 2 + 1j * math.pi * k) / length**2
    rest = [((1 - _transform(one, p, sigmas, variances, noises)) / one).real for one in theta.tolist()]
    weights = np.where(k > 0, 1.0, 0.5) * bdtrc(k - k[-SMOOTHED], SMOOTHED, 0.5) * (-1.0) ** k
    return float(np.clip(math.exp(SHIFT / 2) / length**2 * (rest @ weights), 1e-8, 1.0))


def _transform(theta: complex, p: int, sigmas: Array, variances: Array, noises: float) -> complex:
    """Return E e^(−θQ), by integrals over τ, where N = τ·g with g standard normal in R^p.

    Given all τ it is, for each coordinate, (Πh·Σω/h)^(−½) with h = 1 + 2θc(τ² (+ V/n along e₁)) and ω = c/Σc.  With S^(−½) =
    √(2/π)·∫e^(−x²S/2)dx along e₁ and S^(−m) = ∫t^(m−1)e^(−tS)dt/Γ(m), m = (p − 1)/2, for the others, each along the ray of a
    typical 1/S, groups are apart but for t and x.
    """
    c = precisions(p, sigmas, variances, noises)
    share = c / np.sum(c)
    chi, weights = sum_squares(noises * (p + 1), (1.0,))
    h = 1 + 2 * theta * np.outer(c * sigmas**2, chi)
    first = h + 2 * theta * (c * variances)[:, None]
    m = (p - 1) / 2
    logs = np.log(weights) - np.log(first) / 2 - m * np.log(h)
    most = logs.real.max(axis=1, keepdims=True)
    u = np.arange(0.0, 4.0, 0.125)
    unit = 1 / np.sqrt(share @ (1 / (first @ weights)))
    dx = unit * np.cosh(u) * np.where(u > 0, 0.125, 0.0625)
    along = np.exp(-(share[:, None] / first)[:, :, None] * (unit * np.sinh(u)) ** 2 / 2)
    t, dt = np.zeros((2, 1), dtype=complex)  # of dt the logarithm, with t^m/Γ(m)
    if m > 0:
        wide = math.sqrt(75 / m)
        u, step = np.linspace(-math.log(1 + wide + 30 / m), math.log(1 + wide + 80 / m), 48, retstep=True)
        t = m * np.exp(u + 1 - np.exp(-u)) / (share @ (1 / (h @ weights)))
        dt = m * np.log(t) - gammaln(m) + np.log(step * (1 + np.exp(-u)))
    beside = np.exp((logs - most)[:, None] - (share[:, None] / h)[:, None] * t[:, None])
    return complex(math.sqrt(2 / math.pi) * np.exp(dt + np.sum(most)) @ np.prod(beside @ along, axis=0) @ dx)
