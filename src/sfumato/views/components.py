"""Pictures of directions of variation: landmarks moved along them, or the variances that they explain."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from .figures import QUIET, SHARP, SOFT, figure, plain, shared_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..findings.components import Components

MOST_PANELS = 6
FAINT_WORDS = "not above the noise"


def plot_components(found: Components, path: str | os.PathLike[str] | None = None) -> Figure:
    """Planar landmarks two standard deviations from the mean along each direction; of anything else, bars."""
    space = found.space.known
    planar = space is not None and space.kind == "landmarks" and found.center.shape[1:] == (2,)
    drawn = _shapes(found) if planar else _bars(found)
    if path is not None:
        drawn.savefig(path, dpi=150)
    return drawn


def _title(found: Components, j: int) -> str:
    share = found.shares[j]
    part = "" if np.isnan(share) else f", {share:.0%}"
    return f"component {j + 1}{part}" if found.significant[j] else f"component {j + 1}: {FAINT_WORDS}"


def _shapes(found: Components) -> Figure:
    count = min(found.count, MOST_PANELS)
    drawn = figure(4.2 * count, 4.6)
    for j, axes in enumerate(np.ravel(drawn.subplots(1, count, sharex=True, sharey=True))):
        _panel(axes, found, j)
    shared_legend(drawn, 3)
    return drawn


def _panel(axes: Axes, found: Components, j: int) -> None:
    """The mean with each landmark's way from −2 to +2 standard deviations."""
    low, high = found.points(j)
    strong = 1.0 if found.significant[j] else 0.3
    for a, b in zip(low, high, strict=True):
        axes.plot(*zip(a, b, strict=True), color=SOFT, lw=1.5, alpha=strong, zorder=1)
    axes.plot(*found.center.T, ls="", marker="o", ms=3, color=QUIET, label="mean", zorder=2)
    axes.plot(*low.T, ls="", marker="o", ms=4, mfc="white", mec=SHARP, alpha=strong, label="−2 s.d.", zorder=3)
    axes.plot(*high.T, ls="", marker="o", ms=4, color=SHARP, alpha=strong, label="+2 s.d.", zorder=3)
    axes.set(aspect="equal", title=_title(found, j))
    axes.axis("off")


def _bars(found: Components) -> Figure:
    drawn = figure(max(4.0, 1.6 + 1.3 * found.count), 4.0)
    axes, at, intervals = drawn.add_subplot(), np.arange(1, found.count + 1), found.intervals()
    shown = np.maximum(found.variances, 0.0)
    colours = [SOFT if clear else "white" for clear in found.significant]
    axes.bar(at, shown, color=colours, edgecolor=SOFT, width=0.6)
    axes.vlines(at, *intervals.T, color=SHARP, lw=1.5)
    axes.set_xticks(at, [_title(found, j).replace(": ", "\n") for j in range(found.count)], fontsize=8)
    axes.set_ylabel("explained variance, with its 95% interval")
    plain(axes)
    return drawn
