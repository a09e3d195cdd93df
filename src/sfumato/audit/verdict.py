"""The verdict of an audit: which event {score ≥ t} or {score < t} to count, the bound that it proves, words and a picture.

A mechanism that is (ε, δ)-differentially private gives every event E at neighbouring data sets D and D' probabilities with
P(E | D) ≤ e^ε·P(E | D') + δ.  So an event that is frequent at D and rare at D' bounds ε from below: with a lower bound p
on the first probability and an upper bound q on the second, ε ≥ log((p − δ)/q).  It bounds ρ and μ in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.special import betaincinv, ndtri, rel_entr

from ..laws.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from ..numerics.arrays import Array
from ..views.figures import QUIET, SHARP, SOFT, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Counts = NDArray[np.int64]


def clopper_pearson(hits: ArrayLike, size: int, tail: float) -> tuple[Array, Array]:
    """Return lower and upper bounds on a probability from a count, each wrong with probability at most ``tail``.

    (Clopper and Pearson 1934.)

    >>> low, high = clopper_pearson(0, 100, 0.05)
    >>> round(float(low), 4), round(float(high), 4)
    (0.0, 0.0295)
    """
    k = np.asarray(hits, dtype=np.float64)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), size - np.maximum(k, 1) + 1, tail), 0.0)
    high = np.where(k < size, betaincinv(np.minimum(k, size - 1) + 1, size - np.minimum(k, size - 1), 1 - tail), 1.0)
    return low, high


def epsilon_bound(hits: ArrayLike, misses: ArrayLike, size: int, alpha: float, delta: float = 0.0) -> Array:
    """Return a lower bound log((p − δ)/q) on ε from ``hits`` of one event among ``size`` draws from D, ``misses`` from D'.

    Zero where they prove nothing; wrong with probability at most ``alpha``, half of it for each of p and q.

    >>> round(float(epsilon_bound(5000, 1000, 10_000, 1e-6)), 2)
    1.42
    """
    return lower_bound(ApproxDP(1.0, delta) if delta else PureDP(1.0), hits, misses, size, alpha)


def lower_bound(claim: Privacy, hits: ArrayLike, misses: ArrayLike, size: int, alpha: float) -> Array:
    """Return such a lower bound on the number of another claim: on ε at its δ, on ρ or on μ.

    >>> round(float(lower_bound(GDP(1.0), 5000, 1000, 10_000, 1e-6)), 2)
    1.14
    """
    p = clopper_pearson(hits, size, alpha / 2)[0]
    q = clopper_pearson(misses, size, alpha / 2)[1]
    return np.maximum(least(claim, p, q), 0.0)


def least(claim: Privacy, p: Array, q: Array) -> Array:
    """Return the least number that a promise of this kind can have if an event has probabilities p at D and q at D'.

    ε ≥ log((p − δ)/q); μ ≥ Φ⁻¹(p) − Φ⁻¹(q) (Dong, Roth and Su 2022); ρ ≥ p·log(p/q) + (1 − p)·log((1 − p)/(1 − q)), as ρ
    bounds the divergence of order 1 (Bun and Steinke 2016).  Negative where the event is not more likely at D.

    >>> half, rare = np.array([0.5]), np.array([0.1])
    >>> [round(float(least(kind, half, rare)[0]), 3) for kind in (PureDP(1.0), ApproxDP(1.0, 0.1), ZCDP(1.0), GDP(1.0))]
    [1.609, 1.386, 0.511, 1.282]
    """
    p, q = (np.clip(x, 1e-300, 1 - 1e-16) for x in (p, q))
    if isinstance(claim, GDP):
        return np.asarray(ndtri(p) - ndtri(q))
    if isinstance(claim, ZCDP):
        return np.asarray(np.sign(p - q) * (rel_entr(p, q) + rel_entr(1 - p, 1 - q)))
    delta = claim.delta if isinstance(claim, ApproxDP) else 0.0
    return np.asarray(np.log(np.maximum(p - delta, 1e-300) / q))


def divergence_bound(first: Array, second: Array, alpha: float) -> float:
    """Return a lower bound on ρ from counts of draws in bins of a score, of which higher ones are more likely in the first.

    Whatever g rises with the score, ρ ≥ E g − log E' e^g (Donsker and Varadhan 1983), and bounds on the probabilities of all
    {score in this bin or a higher one} bound both terms.  e^g is the ratio of these bounds, of bins that are pooled until it
    rises.  In many directions one event tells at most 2/π of a small ρ; this tells all of it.

    >>> second = np.array([4000, 3000, 2000, 1000])
    >>> one_event = lower_bound(ZCDP(1.0), 7000, 3000, 10_000, 1e-6)
    >>> round(divergence_bound(second[::-1], second, 1e-6), 2), round(float(one_event), 2)
    (0.34, 0.26)
    """
    size = int(first.sum())
    counts = (np.cumsum(bins[::-1])[::-1] for bins in (first, second))
    bounds = [clopper_pearson(count[1:], size, alpha / (2 * len(first)))[i] for i, count in enumerate(counts)]
    p, q = (-np.diff(bound, prepend=1.0, append=0.0) for bound in bounds)
    weights = np.maximum(q, 1e-12)
    ratio = isotonic_regression(p / weights, weights=weights).x
    return max(0.0, float(p @ np.log(ratio) - np.log(q @ ratio)))


@dataclass(frozen=True)
class Event:
    """{score ≥ threshold} or {score < threshold}; ``swapped``: it is more likely at D'."""

    score: str
    column: int
    threshold: float
    above: bool
    swapped: bool

    def holds(self, scores: Array) -> NDArray[np.bool_]:
        """Return where the event happened."""
        return scores >= self.threshold if self.above else scores < self.threshold

    def __str__(self) -> str:
        sign = "at least" if self.above else "below"
        return f"{self.score} {sign} {self.threshold:.6g}, more likely at {'D′' if self.swapped else 'D'}"


def best_event(first: Array, second: Array, names: Sequence[str], alpha: float, claim: Privacy) -> tuple[float, Event]:
    """Return the largest bound on a claim's number, and its event.

    All columns of scores are tried, about 300 thresholds each, and both directions; ranked by Wilson's bounds, which are quick.
    """
    size = len(first)
    tail = np.unique(np.geomspace(5, size, 80).astype(int))
    ranks = np.unique(np.concatenate([tail, 2 * size - tail, np.linspace(0, 2 * size - 1, 200).astype(int)]))
    best_of_columns = []
    for column, name in enumerate(names):
        sides = [np.sort(side[:, column]) for side in (first, second)]
        values = np.sort(np.concatenate(sides))
        thresholds = np.unique(values[ranks[ranks < len(values)]])
        thresholds = np.append(thresholds, np.nextafter(thresholds[[0, -1]], np.inf))
        a, b = (np.searchsorted(side, thresholds, side="left") for side in sides)
        hits = np.stack([a, size - a, b, size - b])  # below and above the threshold at D, and at D'
        misses = np.roll(hits, 2, axis=0)
        bounds = least(claim, *_wilson(hits, misses, size, alpha))
        best = np.unravel_index(np.argmax(bounds), bounds.shape)
        event = Event(name, column, float(thresholds[best[1]]), above=bool(best[0] % 2), swapped=bool(best[0] // 2))
        best_of_columns.append((float(bounds[best]), int(hits[best]), int(misses[best]), event))
    _, hit, miss, event = max(best_of_columns, key=lambda row: row[0])
    return float(lower_bound(claim, hit, miss, size, alpha)), event


def _wilson(hits: Counts, misses: Counts, size: int, alpha: float) -> tuple[Array, Array]:
    """Return Wilson's lower bounds on the one probability, and upper bounds on the other."""
    z = float(-ndtri(alpha / 2))

    def bound(k: Counts, sign: float) -> Array:
        share = k / size
        middle = share + z * z / (2 * size)
        width = z * np.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2)
        return np.asarray((middle + sign * width) / (1 + z * z / size))

    return bound(hits, -1.0), bound(misses, 1.0)


@dataclass(frozen=True, eq=False)
class Verdict:
    """The verdict of an audit: with probability ``confidence`` the claim's first number (ε, ρ or μ) is in truth ≥ ``lower``."""

    name: str
    pair: str
    claim: Privacy
    confidence: float
    event: Event
    lower: float
    draws: int  # fresh ones, from each data set
    hits: int  # how often the event happened at the data set where it is likely
    misses: int  # and at the other
    pairs: int  # of data sets that were tried; this is the worst
    edges: Array = field(repr=False)  # of the histograms of the event's score at both data sets, for the picture
    histograms: Array = field(repr=False)

    @property
    def claimed(self) -> float:
        """The ε, ρ or μ that is claimed."""
        return self.claim.numbers[0]

    @property
    def convicted(self) -> bool:
        """Whether the bound exceeds the claim."""
        return self.lower > self.claimed

    @property
    def word(self) -> str:
        """The verdict in a word."""
        return "CONVICTED" if self.convicted else "cleared"

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.claim.symbols[0]} is at least {self.lower:.4g} (wrong with probability "
            f"{1 - self.confidence:.1g}), claimed {self.claim}: {self.word}\n  data: {self.pair}\n  event: {self.event}\n"
            f"  found {self.hits} times against {self.misses} in {self.draws} draws each"
        )

    def record(self) -> dict[str, Any]:
        """Return everything except the picture's numbers, for JSON."""
        fields = {key: value for key, value in asdict(self).items() if key not in ("edges", "histograms", "claim")}
        claim = {"claim": self.claim.to_dict(), "claimed": self.claimed}
        return {**fields, **claim, "event": str(self.event), "convicted": self.convicted}

    def plot(self) -> Figure:
        """Draw the score of the event at both data sets, and the bound that each threshold would give."""
        symbol = self.claim.symbols[0]
        drawn = figure(7, 5.5)
        top, bottom = drawn.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        for counts, label, colour in zip(self.histograms, ("D", "D′"), (SHARP, SOFT), strict=True):
            top.stairs(counts / self.draws, self.edges, label=f"at {label}", color=colour, fill=True, alpha=0.25)
            top.stairs(counts / self.draws, self.edges, color=colour)
        top.set_ylabel("share of draws")
        top.set_title(f"{self.name}\n{symbol} ≥ {self.lower:.3f}, claimed {self.claim}: {self.word}", fontsize=11)
        cumulative = np.cumsum(self.histograms, axis=1)[:, :-1]
        counts = self.draws - cumulative if self.event.above else cumulative
        hits, misses = counts[::-1] if self.event.swapped else counts
        bounds = lower_bound(self.claim, hits, misses, self.draws, 1 - self.confidence)
        bottom.plot(self.edges[1:-1], bounds, color=SHARP, label="bound at other thresholds")
        bottom.axhline(self.claimed, color=QUIET, ls="--", label="claimed")
        bottom.plot([self.event.threshold], [self.lower], "o", color=SHARP, label="the event", clip_on=False)
        for axes in (top, bottom):
            axes.axvline(self.event.threshold, color=QUIET, lw=1)
            axes.legend(frameon=False, fontsize=9)
            axes.spines[["top", "right"]].set_visible(False)
        bottom.set_ylabel(f"lower bound on {symbol}")
        bottom.set_ylim(0, 1.15 * max(self.claimed, self.lower, float(bounds.max())))
        bottom.set_xlabel(f"{self.event.score}\n{self.pair}", fontsize=9)
        return drawn


def count(event: Event, seen: Array, fresh: Iterable[Sequence[Array]], **about: Any) -> Verdict:
    """Return the verdict on an event, counted in parts of fresh scores at D and D'; ``seen`` scores set the picture's frame."""
    low, high = (float(end) for end in np.quantile(seen, [1e-3, 1 - 1e-3]))
    low = min(low, event.threshold)
    high = max(high, event.threshold)
    margin = 0.02 * (high - low) or 0.5
    edges = np.linspace(low - margin, high + margin, 81)
    counted = [0, 0]
    histograms = np.zeros((2, len(edges) - 1))
    draws = 0
    for both in fresh:
        draws += len(both[0])
        for side, scores in enumerate(both):
            counted[side] += int(np.sum(event.holds(scores)))
            histograms[side] += np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0]
    hits, misses = counted[::-1] if event.swapped else counted
    alpha = 1 - about["confidence"]
    bound = float(lower_bound(about["claim"], hits, misses, draws, alpha))
    if isinstance(about["claim"], ZCDP):
        bins = histograms[:: -1 if event.swapped else 1, :: 1 if event.above else -1]
        bound = divergence_bound(bins[0], bins[1], alpha)
    about |= {"event": event, "lower": bound, "draws": draws, "hits": hits, "misses": misses}
    return Verdict(**about, edges=edges, histograms=histograms)
