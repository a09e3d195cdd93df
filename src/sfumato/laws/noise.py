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
from scipy.special import expit, k0e, k1e, ndtri

from ..numerics.arrays import Array

ROUND_UP = 1 + 1e-9  # far above the rounding of sums of positive numbers
NODES = np.polynomial.legendre.leggauss(24)
CELLS = 2048  # into which each panel is cut for a certificate
CLOSE = 0.9985  # of the δ that is allowed: what the certificate of a scale leaves room for
SCAN = 4.8  # up to this s the proof of μ holds in two directions


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
        """μ = 2Φ⁻¹((1 + δ(0))/2): the noise is μ-Gaussian differentially private; that of any s-private mechanism if less."""
        pure = -2 * float(ndtri(expit(-self.epsilon)))
        if self.directions == 2 and self.epsilon > SCAN:
            return pure
        return min(pure, -2 * float(ndtri((1 - self.certified(0.0)) / 2)))

    def delta(self, epsilon: float) -> float:
        """Return δ(ε), the least for which the noise is (ε, δ)-differentially private, to nine digits."""
        return self._delta(epsilon, _by_nodes)

    def certified(self, epsilon: float) -> float:
        """Return a number that is proven to be δ(ε) or more: an upper sum over a lower one, rounded up."""
        return min(1.0, self._delta(epsilon, _by_cells) * ROUND_UP)

    def _delta(self, epsilon: float, rule: Callable[[int, float, float, bool], float]) -> float:
        s = self.epsilon
        p = self.directions
        if epsilon < 0:
            return -math.expm1(epsilon) + math.exp(epsilon) * self._delta(-epsilon, rule)
        if epsilon >= s:
            return 0.0
        if p == 0:
            return -math.expm1(epsilon - s) / (1 + math.exp(-s))
        if p == 1:
            return -math.expm1((epsilon - s) / 2)
        return rule(p, s, 2 * math.asin(math.sqrt((s - epsilon) / (2 * s))), True) / _total(p, s, rule)


@dataclass(frozen=True)
class Parts:
    """Purely private stages and one noise in any order: of several ``ways`` the stages before it chose one."""

    spent: float  # ε of all stages together
    ways: tuple[Noise, ...]

    def _delta(self, epsilon: float, name: str) -> float:
        """Return [e^a·δ₂(ε − a) + δ₂(ε + a)]/(1 + e^a), a what was spent and δ₂ the most over the ways (Result 9)."""
        first, second = (
            max(getattr(way, name)(epsilon + side) for way in self.ways) for side in (-self.spent, self.spent)
        )
        return float(expit(self.spent) * first + expit(-self.spent) * second)

    def delta(self, epsilon: float) -> float:
        """Return a bound on δ(ε) of all of it, to nine digits."""
        return self._delta(epsilon, "delta")

    def certified(self, epsilon: float) -> float:
        """Return a proven bound on δ(ε) of all of it."""
        return min(1.0, self._delta(epsilon, "certified") * ROUND_UP)

    def least_epsilon(self, delta: float) -> float:
        """Return an ε at which the certified δ(ε) is at most ``delta``, close to the least.

        >>> [round(Parts(spent, (Noise(1.0, 96),)).least_epsilon(1e-6), 3) for spent in (0.0, 0.2)]
        [0.389, 0.577]
        """
        most = self.spent + max(way.epsilon for way in self.ways)
        return most - _largest(most, delta, lambda x: self.delta(most - x), lambda x: self.certified(most - x))


def _largest(
    high: float, most: float, quick: Callable[[float], float], certified: Callable[[float], float], low: float = 0.0
) -> float:
    """Return about the largest number from low to high at which a rising function is certainly at most ``most``."""
    found = quick_root(high, CLOSE * most, quick, low)
    for step in (0.0, *4.0 ** np.arange(-15, 0)):
        x = found - (found - low) * step
        if certified(x) <= most:
            return float(x)
    return low


def quick_root(high: float, most: float, quick: Callable[[float], float], low: float = 0.0) -> float:
    """Return where a function that rises from 0 at ``low`` passes ``most``, or ``high`` if it does not."""
    if quick(high) <= most:
        return high

    def excess(x: float) -> float:
        return math.log(max(quick(x), 1e-300) / most)

    return float(brentq(excess, low, high, xtol=1e-13 * high, rtol=1e-11))


@lru_cache(maxsize=1024)
def largest_noise(directions: int, promises: tuple[tuple[float, float], ...], certain: bool = True) -> Noise:
    """Return the noise with the largest s of which each of these (ε, δ) is proven; only to nine digits unless ``certain``.

    >>> [round(largest_noise(p, ((1.0, 1e-6),)).epsilon, 3) for p in (5, 10, 20, 96)]  # 1 in any number of directions if pure
    [1.014, 1.091, 1.294, 2.422]
    """

    def bound(epsilon: float, delta: float) -> float:
        def quick(s: float) -> float:
            return Noise(s, directions).delta(epsilon)

        high = 2 * epsilon + 1
        while quick(high) <= delta and high < 1e3:
            high *= 2
        if not certain:
            return quick_root(high, delta, quick, epsilon)
        return _largest(high, delta, quick, lambda s: Noise(s, directions).certified(epsilon), epsilon)

    return Noise(min(bound(*promise) for promise in promises), directions)


def scales(count: int, one: Callable[[int], float]) -> Array:
    """Return s for 1 … ``count`` directions, from a few of them: between these the logarithm of s is a line in that of p.

    For the choice of a chart alone, which any s would do for.
    """
    some = sorted({*range(1, min(count, 4) + 1), *(round(4 * 1.4**k) for k in range(40) if 4 * 1.4**k < count), count})
    known = np.log([one(p) for p in some])
    return np.asarray(np.exp(np.interp(np.log(np.arange(1, count + 1)), np.log(some), known)))


# -- the integrals -----------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=512)
def _total(p: int, s: float, rule: Callable[[int, float, float, bool], float]) -> float:
    return rule(p, s, math.pi / 2, False)


@lru_cache(maxsize=512)
def kappa(p: int, s: float) -> float:
    """Return 2(p − 1)·s·K_{p/2}(s/2)/K_{p/2−1}(s/2): by K_{ν+1}/K_ν = 2ν/x + K_{ν−1}/K_ν, whose terms are all positive.

    >>> kappa(3, 1.0)  # K_{3/2}/K_{1/2} = 1 + 1/x
    12.0
    """
    x = s / 2
    order, ratio = (0.5, 1.0) if p % 2 else (1.0, float(k1e(x) / k0e(x)))
    while order < p / 2:
        ratio = 2 * order / x + 1 / ratio
        order += 1
    return 2 * (p - 1) * s * ratio


def _panels(p: int, s: float, end: float) -> Array:
    """Return distances from ``end`` to 0, in panels that double, the first shorter than the integrand takes to change."""
    first = 1 / (1 + (p - 2) / math.tan(end) + math.sqrt(p) + s)
    count = max(0, math.ceil(math.log2(end / first)))
    return np.concatenate([[0.0], first * 2.0 ** np.arange(count), [end]])


def _factors(p: int, s: float, end: float, away: Array, above: bool) -> tuple[Array, Array]:
    """Return, at distances from ``end``, the factors of the integrand that fall with them, and those that rise: of δ, or of Z
    folded at π/2."""
    sine = np.sin(end - away)
    falling = np.exp((p - 2) * np.log(np.maximum(sine, 1e-300))) * (kappa(p, s) + (s * sine) ** 2)
    half = s / 2 * np.cos(end - away)
    if not above:
        return falling, 2 * np.cosh(half)
    return falling, np.exp(half) * -np.expm1(-2 * s * np.sin(end - away / 2) * np.sin(away / 2))


def _by_nodes(p: int, s: float, end: float, above: bool) -> float:
    """Return an integral by Gauss's rule on each panel."""
    edges = _panels(p, s, end)
    half = np.diff(edges)[:, None] / 2
    falling, rising = _factors(p, s, end, edges[:-1, None] + half * (1 + NODES[0]), above)
    return float(np.sum(half * NODES[1] * falling * rising))


def _by_cells(p: int, s: float, end: float, above: bool) -> float:
    """Return an upper sum of δ's integral, or a lower one of Z's: each factor at the end of a cell where it is worse."""
    panels = _panels(p, s, end)
    starts = panels[:-1, None] + np.diff(panels)[:, None] * np.arange(CELLS) / CELLS
    edges = np.append(starts.ravel(), end)
    falling, rising = _factors(p, s, end, edges, above)
    return float(np.diff(edges) @ (falling[:-1] * rising[1:] if above else falling[1:] * rising[:-1]))
