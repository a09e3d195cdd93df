"""The verdict of an audit, in words, numbers and a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics.arrays import Array
from ..views.figures import QUIET, SHARP, SOFT
from .threshold import Event, epsilon_bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Verdict:
    """The verdict of an audit: with probability ``confidence`` the mechanism's true ε is at least ``epsilon_lower``.

    The event happened ``hits`` times in ``draws`` fresh draws from the data set where it is likely, ``misses`` times in as
    many from the other; it is for the worst of ``pairs`` of data sets.
    """

    name: str
    pair: str
    claimed: float
    confidence: float
    delta: float
    event: Event
    epsilon_lower: float
    draws: int
    hits: int
    misses: int
    pairs: int
    edges: Array = field(repr=False)  # of the histograms of the event's score at both data sets, for the picture
    histograms: Array = field(repr=False)

    @property
    def convicted(self) -> bool:
        """Whether the bound exceeds the claim."""
        return self.epsilon_lower > self.claimed

    @property
    def word(self) -> str:
        """The verdict in a word."""
        return "CONVICTED" if self.convicted else "cleared"

    def __str__(self) -> str:
        return (
            f"{self.name}: ε is at least {self.epsilon_lower:.4g} (wrong with probability {1 - self.confidence:.1g}), claimed "
            f"{self.claimed:g}: {self.word}\n  data: {self.pair}\n  event: {self.event}\n"
            f"  found {self.hits} times against {self.misses} in {self.draws} draws each"
        )

    def record(self) -> dict[str, Any]:
        """Return everything except the picture's numbers, for JSON."""
        fields = {key: value for key, value in asdict(self).items() if key not in ("edges", "histograms")}
        return {**fields, "event": str(self.event), "convicted": self.convicted}

    def plot(self) -> Figure:
        """Draw the score of the event at both data sets, and the bound on ε that each threshold would give."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 5.5), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        for counts, label, colour in zip(self.histograms, ("D", "D′"), (SHARP, SOFT), strict=True):
            top.stairs(counts / self.draws, self.edges, label=f"at {label}", color=colour, fill=True, alpha=0.25)
            top.stairs(counts / self.draws, self.edges, color=colour)
        top.set_ylabel("share of draws")
        top.set_title(f"{self.name}\nε ≥ {self.epsilon_lower:.3f}, claimed {self.claimed:g}: {self.word}", fontsize=11)
        cumulative = np.cumsum(self.histograms, axis=1)[:, :-1]
        counts = self.draws - cumulative if self.event.above else cumulative
        hits, misses = counts[::-1] if self.event.swapped else counts
        bounds = epsilon_bound(hits, misses, self.draws, 1 - self.confidence, self.delta)
        bottom.plot(self.edges[1:-1], bounds, color=SHARP, label="bound at other thresholds")
        bottom.axhline(self.claimed, color=QUIET, ls="--", label="claimed")
        bottom.plot([self.event.threshold], [self.epsilon_lower], "o", color=SHARP, label="the event", clip_on=False)
        for axes in (top, bottom):
            axes.axvline(self.event.threshold, color=QUIET, lw=1)
            axes.legend(frameon=False, fontsize=9)
            axes.spines[["top", "right"]].set_visible(False)
        bottom.set_ylabel("lower bound on ε")
        bottom.set_ylim(0, 1.15 * max(self.claimed, self.epsilon_lower, float(bounds.max())))
        bottom.set_xlabel(f"{self.event.score}\n{self.pair}", fontsize=9)
        return figure


def count(event: Event, seen: Array, fresh: Iterable[tuple[Array, Array]], **about: Any) -> Verdict:
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
    bound = float(epsilon_bound(hits, misses, draws, 1 - about["confidence"], about["delta"]))
    about |= {"event": event, "epsilon_lower": bound, "draws": draws, "hits": hits, "misses": misses}
    return Verdict(**about, edges=edges, histograms=histograms)
