"""What pictures share, and the view of a space that nobody drew: its numbers, and no claim about them.

No picture touches Matplotlib's global state: figures are made without pyplot, so a user's own backend and plots are left alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ball import Ball
from ..spaces.base import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..release import Release

SOFT, SHARP, QUIET = "#c9a66b", "#6b3f1d", "#8a8a8a"
FAINT = "#e2ddd6"
LAYERS = np.linspace(1.0, 0.04, 24)  # a soft edge: many thin layers of one colour, each smaller than the last
ALPHA = 0.03
LAYER: dict[str, Any] = {"color": SOFT, "alpha": ALPHA, "lw": 0}
MOST_ROWS = 30  # of a table in a picture
Range = tuple[Array, Array]


class View:
    """How releases of a space are shown.  This one knows nothing of the space."""

    origin = ""  # what the origin would be as a centre, where that is a choice of ours about which no data lie
    centers: tuple[str, ...] = ("origin",)  # words for the origin

    def things(self, release: Release) -> str:
        """What the records are."""
        return f"points of the space '{release.space.name}'"

    def draw(self, release: Release, p: float, outline: Sequence[int] | None = None) -> Figure:
        """A picture of a release and its error at probability p, without caption; ``outline`` is for shapes."""
        header, rows = self.table(release)
        centre = np.ravel(np.asarray(release.ball.center, dtype=np.float64)).tolist()
        if len(header) == 2 and len(centre) == len(rows):  # one number a row: that of the centre fits beside it
            header, rows = (*header, "Public centre"), [(*row, f"{c:.6g}") for row, c in zip(rows, centre, strict=True)]
        if len(rows) > MOST_ROWS:
            rows = [*rows[:MOST_ROWS], ("…", f"{len(rows) - MOST_ROWS} more", *[""] * (len(header) - 2))]
        drawn = figure(6.4, 1.6 + 0.28 * len(rows))
        axes = drawn.add_subplot()
        axes.axis("off")
        cells = axes.table(cellText=rows, colLabels=header, loc="center", cellLoc="right", edges="horizontal")
        cells.auto_set_font_size(False)
        cells.set_fontsize(9)
        return drawn

    def meaning(self, release: Release, error: float) -> str:
        """A distance in words that the space understands; empty where it needs none."""
        return ""

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        """The value as header and rows."""
        return ("Number", "Value"), numbered(release.value.reshape(-1, 1))

    def off_manifold(self, release: Release) -> str:
        return "the released value is not a point of this space"

    def laplace(self, release: Release) -> str | None:
        """What to add where the Laplace's errors are called its own quantiles; None if they may be bounds."""
        return None

    def degrees(self, release: Release, names: tuple[str, str]) -> dict[str, float] | None:
        """The value as two angles; None where it has none."""
        return None


# -- what a release says ------------------------------------------------------------------------------------------------
def error_or_none(release: Release, p: float) -> float | None:
    """The error of a release at probability p; None where nothing public is known of it."""
    return None if release.predicted_error is None else release.error(p)


def is_geodesic(release: Release) -> bool:
    return release.predicted_error is None or release.predicted_error.distance == "geodesic distance"


def public_ball(release: Release) -> Ball:
    space = release.space.known
    if space is None:
        raise ValueError(f"the space {release.space.name!r} is not known here")
    return Ball(space, release.ball.center, release.ball.radius)


def name_of(release: Release) -> str:
    return "released mean" if "mean" in release.statistic else "released value"


def numbered(rows: Any) -> list[tuple[str, ...]]:
    return [(str(i), *(f"{x:.6g}" for x in row)) for i, row in enumerate(rows, start=1)]


def length(vector: Array) -> float:
    return float(np.linalg.norm(vector))


# -- figures ------------------------------------------------------------------------------------------------------------
def figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(colors=QUIET, labelsize=9)
    axes.xaxis.label.set(color=QUIET, fontsize=10)
    axes.yaxis.label.set(color=QUIET, fontsize=10)


def top_legend(axes: Axes) -> None:
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=9, frameon=False)


def intervals(
    release: Release, p: float, what: str, value: Array, bars: Range | None, centre: Array, reach: Range
) -> Figure:
    """Numbers side by side with their bars, the public centre and the range that clipping left to each record."""
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
