"""What a law of privacy losses proves of each kind of privacy, and what a test by counting would have proven of it.

A pair of neighbours' laws P and Q is known here by the law of its loss log(P/Q) under P.  All numbers are found by sums over
that law, without the formulas of the package: ε is the largest loss, ρ the largest of all D_α/α, μ the largest of all
Φ⁻¹(P(A)) − Φ⁻¹(Q(A)), and δ(ε) is E(1 − e^(ε − loss))₊.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from sfumato.audit.verdict import lower_bound
from sfumato.laws.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from sfumato.numerics.arrays import Array

EPSILONS = (0.1, 1.0, 8.0)
DELTA = 1e-6
# what every release is asked for: the three pure ones first
CLAIMS: list[Privacy] = [
    *map(PureDP, EPSILONS),
    *(ApproxDP(epsilon, DELTA) for epsilon in EPSILONS),
    *(ZCDP(epsilon**2 / 2) for epsilon in EPSILONS),
    *map(GDP, EPSILONS),
]
ORDERS = 1 + np.geomspace(1e-4, 1e4, 400)
BINS = 1500  # into which losses are put before they are added up, rounded down
GRAINS = 6000  # of losses that are kept of a quadrature, the finer the nearer to the largest
SURE = 1e-5  # probabilities nearer to 0 or 1 are not used for μ
TOLERANCE = 4e-3  # of sums over the law of a loss, as a share of the claim
NODES = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True, eq=False)
class Losses:
    """The values that a loss has under P, and how likely each is."""

    values: Array
    chances: Array

    @property
    def largest(self) -> float:
        """The ε of the pair, in this direction."""
        return float(self.values[self.chances > 0].max())

    @property
    def rho(self) -> float:
        """The ρ of the pair, in this direction."""
        powers = (ORDERS[:, None] - 1) * self.values
        most = powers.max(axis=1)
        logs = most + np.log(np.exp(powers - most[:, None]) @ self.chances)
        return float(np.max(logs / (ORDERS - 1) / ORDERS))

    @property
    def mu(self) -> float:
        """The μ of the pair."""
        p, q = self.tails
        told = (p > SURE) & (p < 1 - SURE) & (q > SURE) & (q < 1 - SURE)
        return float(np.max(ndtri(p[told]) - ndtri(q[told]), initial=0.0))

    @property
    def tails(self) -> tuple[Array, Array]:
        """The probabilities of all {loss ≥ t} under P and Q."""
        order = np.argsort(self.values)[::-1]
        p = self.chances[order]
        return np.cumsum(p), np.cumsum(p * np.exp(-self.values[order]))

    def delta(self, epsilon: float) -> float:
        """Return δ(ε) of the pair, in this direction."""
        return float(self.chances @ np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - self.values))))

    def binned(self, width: float) -> Array:
        """Return how likely each multiple of a width is, losses being rounded down to them; the middle is a loss of 0."""
        places = np.floor(self.values / width + 1e-9).astype(int)
        reach = int(np.abs(places).max(initial=0))
        return np.asarray(np.bincount(places + reach, self.chances, 2 * reach + 1), dtype=np.float64)


def two_points(loss: float) -> Losses:
    """Return the losses of the worst pair whose losses are at most this: a truth told with probability e^ε/(1 + e^ε).

    >>> round(two_points(1.0).mu, 4), round(PureDP(1.0)._as(GDP)[0], 4)
    (1.232, 1.232)
    """
    chance = 1 / (1 + math.exp(-loss))
    return Losses(np.array([loss, -loss]), np.array([chance, 1 - chance]))


@lru_cache(maxsize=4096)
def radial(directions: int, shift: float) -> Losses:
    """Return the losses of noise with density ∝ e^(−‖x‖) in R^p and of the same moved by so much, by quadrature over the
    length of x and its angle to the shift.

    >>> one = radial(3, 1.0)
    >>> round(float(one.chances.sum()), 9), round(one.rho * 6, 3), round(one.largest, 3)
    (1.0, 0.964, 1.0)
    """
    p = directions
    if p == 1:
        x, weight = _panels(np.unique(np.concatenate([[0.0, shift], shift + np.linspace(0.0, 60.0, 240)])))
        x, weight = np.concatenate([x, -x]), np.concatenate([weight, weight])
        values, chances = np.abs(x - shift) - np.abs(x), weight * np.exp(-np.abs(x))
    else:
        corner = np.pi * 0.75 ** np.arange(48, -1, -1.0)  # small angles are where losses are the largest
        angle, across = _panels(np.unique(np.concatenate([[0.0], corner])))
        length, along = _panels(np.concatenate([[0.0], np.geomspace(1e-4, 6 * p + 60 + 4 * shift, 28)]))
        r, cosine = length[:, None], np.cos(angle)
        # ‖x − su‖ − ‖x‖, of which nothing cancels
        values = (shift**2 - 2 * r * shift * cosine) / (np.sqrt(r**2 - 2 * r * shift * cosine + shift**2 + 1e-300) + r)
        with np.errstate(divide="ignore"):
            logs = (p - 1) * np.log(r) - r + (p - 2) * np.log(np.sin(angle))
        chances = along[:, None] * across * np.exp(logs - logs.max())
        values, chances = values.ravel(), chances.ravel()
    return _grained(np.clip(values, -shift, shift), chances / chances.sum())


def normal(mu: float) -> Losses:
    """Return the losses of N(μ, 1) and N(0, 1).

    >>> round(normal(1.0).rho, 3), round(normal(1.0).mu, 3)
    (0.5, 1.0)
    """
    z = np.linspace(-8.0, 8.0, 6001)
    chances = np.exp(-(z**2) / 2)
    return Losses(mu * z + mu**2 / 2, chances / chances.sum())


def _grained(values: Array, chances: Array) -> Losses:
    """Return few losses that stand for many, each the mean of those beside it; the largest as it is."""
    largest = float(values.max())
    grain = (np.arccos(np.clip(values / largest, -1, 1)) / np.pi * (GRAINS - 1)).astype(int)
    total, sums = (np.bincount(grain, weight, GRAINS) for weight in (chances, chances * values))
    kept = np.where(total > 0, sums / np.maximum(total, 1e-300), 0.0)
    kept[0] = largest
    total[0] = max(total[0], 1e-300)
    return Losses(kept, np.asarray(total, dtype=np.float64))


def _panels(edges: Array) -> tuple[Array, Array]:
    """Return nodes and weights of Gauss's rule between edges."""
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + NODES[0])).ravel(), (half * NODES[1]).ravel()


def number(parts: Sequence[Losses], claim: Privacy) -> float:
    """Return the first number of a claim that parts which follow each other have together: ε, ε at its δ, ρ or μ.

    >>> one = radial(1, 1.0)
    >>> [round(number([one, one], kind), 3) for kind in (PureDP(1.0), ZCDP(1.0), GDP(1.0))]
    [2.0, 0.736, 1.458]
    """
    if isinstance(claim, ZCDP):
        return math.fsum(part.rho for part in parts)
    if isinstance(claim, GDP):
        return math.hypot(*(part.mu for part in parts))
    most = math.fsum(part.largest for part in parts)
    if not isinstance(claim, ApproxDP):
        return most
    whole = together(parts)
    low, high = 0.0, max(most, 0.0)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if whole.delta(middle) > claim.delta else (low, middle)
    return high


def together(parts: Sequence[Losses]) -> Losses:
    """Return the losses of all parts, each rounded down where there are several."""
    if len(parts) == 1:
        return parts[0]
    width = math.fsum(float(np.abs(part.values).max()) for part in parts) / BINS
    if not width:
        return Losses(np.zeros(1), np.ones(1))
    sums: Array = np.ones(1)
    for part in parts:
        sums = np.asarray(np.convolve(sums, part.binned(width)), dtype=np.float64)
    return Losses(np.asarray(width * (np.arange(len(sums)) - len(sums) // 2), dtype=np.float64), sums)


def reach(losses: Losses, claim: Privacy, draws: int, alpha: float) -> float:
    """Return the largest bound on a claim's number that events of so many draws would prove of such a pair.

    >>> [round(reach(two_points(1.0), PureDP(1.0), draws, 1e-6), 2) for draws in (1000, 100_000)]
    [0.66, 0.97]
    """
    p, q = losses.tails
    some = np.unique(np.searchsorted(p, np.concatenate([np.geomspace(1e-7, 0.5, 300), np.linspace(0.5, 1, 100)])))
    some = np.minimum(some, len(p) - 1)
    hits, misses = (np.floor(draws * np.clip(side[some], 0, 1)) for side in (p, q))
    return float(np.max(lower_bound(claim, hits, misses, draws, alpha)))
