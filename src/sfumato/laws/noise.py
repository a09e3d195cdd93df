"""Every kind of privacy that one noise has, from the law of its privacy loss (proofs, Result 9).

Noise of density ∝ e^(−‖x‖) in R^p, moved by at most s, is s-differentially private.  Its loss l = ‖x − su‖ − ‖x‖ has, between
−s and s, a density ∝ e^(l/2)·(s² − l²)^((p−3)/2)·(κ + s² − l²) with κ = 2(p − 1)·s·K_{p/2}(s/2)/K_{p/2−1}(s/2), so that

    δ(ε) = ∫_ε^s (1 − e^(ε−l)) dP(l) = (1/Z)·∫₀^φ₀ (1 − e^(ε − s·cos φ))·e^(s·cos(φ)/2)·sin^(p−2)(φ)·(κ + s²·sin² φ) dφ

with l = s·cos φ, cos φ₀ = ε/s and Z the same integral up to π without the first factor: nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfinv, expit, k0e, k1e, log_expit, ndtri_exp, xlogy

from ..numerics.arrays import Array

TINY = 1e-300  # below which sums may vanish
ROUND_UP = 1 + 1e-9  # far above the rounding of sums of positive numbers
NODES = np.polynomial.legendre.leggauss(24)
CELLS = 2048  # into which each panel is cut for a certificate
CLOSE = 0.9985  # of the δ that is allowed: what the certificate of a scale leaves room for


@dataclass(frozen=True)
class Noise:
    """Noise that is s-differentially private, s = ``epsilon``: of density ∝ e^(−‖x‖/σ) in so many ``directions``, where s·σ is
    the largest shift.  0 directions: any mechanism that is s-private and of which no more is known.

    >>> noise = Noise(1.0, directions=96)
    >>> round(noise.rho, 5), round(noise.mu, 4), round(noise.delta(0.39) * 1e6, 3)
    (0.00521, 0.1024, 0.973)
    """

    epsilon: float
    directions: int = 0

    @property
    def rho(self) -> float:
        """ρ = s²/(2p): the noise is ρ-zero-concentrated differentially private."""
        return self.epsilon**2 / (2 * max(1, self.directions))

    @cached_property
    def mu(self) -> float:
        """μ = 2Φ⁻¹((1 + δ(0))/2): the noise is μ-Gaussian differentially private."""
        apart = self.certified(0.0)
        mu = math.sqrt(8) * float(erfinv(apart))
        if apart < 0.5:
            return mu
        # That of any s-private mechanism, 2Φ⁻¹(e^s/(1 + e^s)): δ(0) may be too near 1 for doubles.
        return min(mu, -2 * float(ndtri_exp(log_expit(-self.epsilon))) * ROUND_UP)

    def delta(self, epsilon: float) -> float:
        """Return δ(ε), the least for which the noise is (ε, δ)-differentially private, to nine digits."""
        return self._delta(epsilon, False)

    def certified(self, epsilon: float) -> float:
        """Return a number that is proven to be δ(ε) or more: an upper sum over a lower one, rounded up."""
        return min(1.0, self._delta(epsilon, True) * ROUND_UP + (TINY if epsilon < self.epsilon else 0.0))

    def _delta(self, epsilon: float, certain: bool) -> float:
        s = self.epsilon
        p = self.directions
        if epsilon < 0:
            return -math.expm1(epsilon) + math.exp(epsilon) * self._delta(-epsilon, certain)
        if epsilon >= s:
            return 0.0
        if p == 0:
            return -math.expm1(epsilon - s) / (1 + math.exp(-s))
        if p == 1:
            return -math.expm1((epsilon - s) / 2)
        end = 2 * math.asin(math.sqrt((s - epsilon) / (2 * s)))
        return _integral(p, s, end, True, certain) / _integral(p, s, math.pi / 2, False, certain)


@dataclass(frozen=True)
class Parts:
    """Purely private stages and one noise in any order: of several ``ways`` the stages before it chose one."""

    spent: float  # ε of all stages together
    ways: tuple[Noise, ...]

    def delta(self, epsilon: float, certain: bool = False) -> float:
        """Return [e^a·δ₂(ε − a) + δ₂(ε + a)]/(1 + e^a), a what was spent and δ₂ the most over the ways: a bound on δ(ε)."""
        near, far = (
            max((way.certified if certain else way.delta)(epsilon + side) for way in self.ways)
            for side in (-self.spent, self.spent)
        )
        return float(expit(self.spent) * near + expit(-self.spent) * far)

    def certified(self, epsilon: float) -> float:
        """Return a proven bound on δ(ε) of all of it."""
        return min(1.0, self.delta(epsilon, certain=True) * ROUND_UP)

    def least_epsilon(self, delta: float) -> float:
        """Return an ε at which the certified δ(ε) is at most ``delta``, close to the least.

        >>> [round(Parts(spent, (Noise(1.0, 96),)).least_epsilon(1e-6), 3) for spent in (0.0, 0.2)]
        [0.389, 0.577]
        """
        most = self.spent + max(way.epsilon for way in self.ways)
        return most - _largest(most, delta, lambda x: self.delta(most - x), lambda x: self.certified(most - x))


def quick_root(high: float, most: float, quick: Callable[[float], float], low: float = 0.0) -> float:
    """Return where a function that rises from 0 at ``low`` passes ``most``, or ``high`` if it does not."""
    if quick(high) <= most:
        return high

    def excess(x: float) -> float:
        return math.log(max(quick(x), 1e-300) / most)

    return float(brentq(excess, low, high, xtol=1e-13 * high, rtol=1e-11))


def _largest(
    high: float, most: float, quick: Callable[[float], float], certified: Callable[[float], float], low: float = 0.0
) -> float:
    """Return about the largest number from low to high at which a rising function is certainly at most ``most``."""
    found = quick_root(high, CLOSE * most, quick, low)
    steps = (found - (found - low) * step for step in (0.0, *4.0 ** np.arange(-15, 0)))
    return float(next((x for x in steps if certified(x) <= most), low))


@lru_cache(maxsize=1024)
def largest_noise(directions: int, promises: tuple[tuple[float, float], ...]) -> Noise:
    """Return the noise with the largest s of which each of these (ε, δ) is proven.

    >>> [round(largest_noise(p, ((1.0, 1e-6),)).epsilon, 3) for p in (5, 10, 20, 96)]  # 1 in any number of directions if pure
    [1.014, 1.091, 1.294, 2.422]
    """

    def bound(epsilon: float, delta: float) -> float:
        def quick(s: float) -> float:
            return Noise(s, directions).delta(epsilon)

        high = 2 * epsilon + 1
        while quick(high) <= delta and high < 1e3:
            high *= 2
        return _largest(high, delta, quick, lambda s: Noise(s, directions).certified(epsilon), epsilon)

    return Noise(min(bound(*promise) for promise in promises), directions)


# -- the integrals -----------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=512)
def kappa(p: int, s: float) -> float:
    """Return 2(p − 1)·s·K_{p/2}(s/2)/K_{p/2−1}(s/2): by K_{ν+1}/K_ν = 2ν/x + K_{ν−1}/K_ν, whose terms are all positive.

    >>> kappa(3, 1.0)  # K_{3/2}/K_{1/2} = 1 + 1/x
    12.0
    """
    x = s / 2
    ratio = 1.0 if p % 2 else float(k1e(x) / k0e(x))
    for twice in range(2 - p % 2, p, 2):
        ratio = twice / x + 1 / ratio
    return 2 * (p - 1) * s * ratio


def _logs(p: int, s: float, end: float, away: Array, above: bool) -> tuple[Array, Array]:
    """Return, at distances from ``end``, the logarithms of the factors of an integrand that fall with them, and of those that
    rise; less those of sin^(p−2)(φ)·e^(s·cos(φ)/2) where it is largest, at cos φ = s/(p − 2 + √((p − 2)² + s²))."""
    both = p - 2 + math.hypot(p - 2, s)
    sine = np.sin(end - away)
    half = s / 2 * np.cos(end - away)
    falling = xlogy(p - 2, sine) + np.log(kappa(p, s) + (s * sine) ** 2)
    rising = np.logaddexp(half, -half)
    if above:
        rising = half + xlogy(1, -np.expm1(-2 * s * np.sin(end - away / 2) * np.sin(away / 2)))
    return falling - xlogy(p - 2, 2 * (p - 2) / both) / 2, rising - s / 2 * (s / both)


@lru_cache(maxsize=1024)
def _integral(p: int, s: float, end: float, above: bool, certain: bool) -> float:
    """Return the integral of δ (``above``) or that of Z, folded at π/2: by Gauss's rule on panels that double; if ``certain``
    an upper sum of δ's and a lower one of Z's, with each factor at the end of its cell where it is worse."""
    first = 1 / (1 + (p - 2) / math.tan(end) + math.sqrt(p) + s)
    doubled = first * 2.0 ** np.arange(max(0, math.ceil(math.log2(end / first))))
    panels = np.concatenate([[0.0], doubled, [end]])
    width = np.diff(panels)[:, None]
    if not certain:
        falling, rising = _logs(p, s, end, panels[:-1, None] + width * (1 + NODES[0]) / 2, above)
        return float(np.sum(width * NODES[1] * np.exp(falling + rising)) / 2)
    edges = np.append(panels[:-1, None] + width * np.arange(CELLS) / CELLS, end)
    falling, rising = _logs(p, s, end, edges, above)
    return float(np.diff(edges) @ np.exp(falling[:-1] + rising[1:] if above else falling[1:] + rising[:-1]))
