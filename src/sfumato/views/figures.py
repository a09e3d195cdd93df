"""What pictures share.

No picture touches Matplotlib's global state: figures are made without pyplot, so a user's own backend and plots are left alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..spaces.base import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..release import Release

SOFT, SHARP, QUIET = "#c9a66b", "#6b3f1d", "#8a8a8a"
FAINT = "#e2ddd6"
REGION: dict[str, Any] = {
    "color": "#4f86b5",
    "lw": 1.1,
    "ls": (0, (4, 2)),
}  # of a population's mean: a second, lighter outline
PAIR = ("#0072b2", "#d55e00")  # two groups, told apart by all eyes (Okabe and Ito)
LAYERS = np.linspace(1.0, 0.04, 24)  # a soft edge: many thin layers of one colour, each smaller than the last
ALPHA = 0.03
LAYER: dict[str, Any] = {"color": SOFT, "alpha": ALPHA, "lw": 0}
Range = tuple[Array, Array]


def name_of(release: Release) -> str:
    return "released mean" if "mean" in release.statistic else "released value"


def figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Figure:
    """A picture that is a table."""
    drawn = figure(6.4, 1.6 + 0.28 * len(rows))
    axes = drawn.add_subplot()
    axes.axis("off")
    cells = axes.table(cellText=rows, colLabels=header, loc="center", cellLoc="right", edges="horizontal")
    cells.auto_set_font_size(False)
    cells.set_fontsize(9)
    return drawn


def plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(colors=QUIET, labelsize=9)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=QUIET, fontsize=10)


def top_legend(axes: Axes, columns: int = 2) -> None:
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, fontsize=9, frameon=False)


def shared_legend(drawn: Figure, columns: int) -> None:
    """One legend for all panels, which show the same things."""
    handles, labels = drawn.axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside upper center", ncols=columns, fontsize=9, frameon=False)


def intervals(
    release: Release,
    p: float,
    what: str,
    value: Array,
    bars: Range | None,
    centre: Array,
    reach: Range,
    region: Range | None = None,
) -> Figure:
    """Numbers side by side with their bars, the public centre and the range that clipping left to each record; ``region`` is
    the range of the population's mean."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    count = len(value)
    at = np.arange(1, count + 1)
    drawn = figure(float(np.clip(2.5 + 0.5 * count, 6, 9)), 5.2)
    axes = drawn.add_subplot()
    thick = float(np.clip(90 / count, 2, 14))
    if bars is not None:
        for fraction in LAYERS:
            low, high = (value + fraction * (bar - value) for bar in bars)
            axes.vlines(at, low, high, color=SOFT, alpha=ALPHA, lw=thick)
        for end in bars:
            axes.plot(at, end, ls="", marker="_", ms=thick, mew=0.8, color=SOFT)
        axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=f"its {p:.0%} error, all bars at once")
    if region is not None:
        wide = min(0.16, 0.02 * thick + 0.05)
        for i, low, high in zip(at, *region, strict=True):
            name = f"{p:.0%} region for the population's mean" if i == 1 else None
            axes.plot(i + wide * np.array([-1, 1, 1, -1, -1]), [low, low, high, high, low], label=name, **REGION)
    small = float(np.clip(120 / count, 1.5, 6))
    axes.vlines(at, *reach, color=QUIET, lw=0.8, ls=":", label="range of clipped records", zorder=1)
    axes.plot(at, centre, ls="", marker="o", ms=small, mfc="white", mec=QUIET, label="public centre")
    axes.plot(at, value, ls="", marker="o", ms=small, color=SHARP, label=name_of(release))
    axes.set_xlim(0.4, count + 0.6)
    axes.xaxis.set_major_locator(FixedLocator(at.tolist()) if count <= 12 else MaxNLocator(integer=True, nbins=12))
    axes.set_xlabel(what)
    axes.set_ylabel("value" if what == "coordinate" else what.partition(",")[0])
    plain(axes)
    top_legend(axes)
    return drawn


def balanced(text: str, columns: int) -> list[str]:
    """As few lines as the width allows, of about the same length."""
    count = len(textwrap.wrap(text, columns))
    return next(lines for w in range(1, columns + 1) if len(lines := textwrap.wrap(text, w)) <= count)
