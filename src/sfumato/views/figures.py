"""What pictures share.

No picture touches Matplotlib's global state: figures are made without pyplot, so a user's own backend and plots are left alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..numerics.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..release import Release

SOFT, SHARP, QUIET = "#c9a66b", "#6b3f1d", "#8a8a8a"
RIM = "#a5803f"  # the edge of what is soft
TEXT = "#5c564f"  # words that stay in the background, and can be read all the same
FAINT = "#e2ddd6"
REGION: dict[str, Any] = {
    "color": "#4f86b5",
    "lw": 1.1,
    "ls": (0, (4, 2)),
}  # of a population's mean: a second, lighter outline
PAIR = ("#0072b2", "#d55e00")  # two groups, told apart by all eyes (Okabe and Ito)
LINES = (  # several curves, told apart by their colours (Okabe and Ito) and without them
    ("#0072b2", "-"),
    ("#d55e00", "--"),
    ("#009e73", "-."),
    ("#882255", ":"),
    ("#000000", (0, (6, 2, 1, 2, 1, 2))),
    ("#8a8a8a", "-"),
)
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
    axes.tick_params(colors=TEXT, labelsize=9)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=TEXT, fontsize=10)


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
    names: Sequence[str] = (),
    axes: Axes | None = None,
) -> Figure:
    """Numbers side by side with their bars, the public centre and the range that clipping left to each record; ``region`` is
    the range of the population's mean."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    count = len(value)
    at = np.arange(1, count + 1)
    if axes is None:
        drawn = figure(float(np.clip(2.5 + 0.5 * count, 6, 9)), 5.2)
        axes = drawn.add_subplot()
    else:
        drawn = cast("Figure", axes.figure)
    thick = float(np.clip(90 / count, 2, 14))
    if bars is not None:
        for fraction in LAYERS:
            low, high = (value + fraction * (bar - value) for bar in bars)
            axes.vlines(at, low, high, color=SOFT, alpha=ALPHA, lw=thick)
        for end in bars:
            axes.plot(at, end, ls="", marker="_", ms=thick, mew=0.8, color=RIM)
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
    if names:
        axes.set_xticks(at, names)
        _room_for(axes, names)
    axes.set_xlabel(what)
    axes.set_ylabel("value" if what == "coordinate" else what.partition(",")[0])
    plain(axes)
    top_legend(axes)
    return drawn


def _room_for(axes: Axes, names: Sequence[str]) -> None:
    """Names below an axis upright, where they would run into each other."""
    if sum(map(len, names)) > 60:
        axes.tick_params(axis="x", labelrotation=90)


def shade(x: float) -> str:
    """From blue (−1) over white to orange (1): told apart by all eyes.

    >>> shade(-1), shade(0), shade(1)
    ('#2a5c9e', '#ffffff', '#b35806')
    """
    end = np.array([0xB3, 0x58, 0x06]) if x > 0 else np.array([0x2A, 0x5C, 0x9E])
    red, green, blue = np.round(255 + (end - 255) * min(abs(x), 1.0)).astype(int).tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"


def contrast(one: str, two: str) -> float:
    """The contrast of two colours, from 1 to 21, as WCAG 2 counts it: text needs 4.5, and what is drawn 3.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    rgb = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in (one, two)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    low, high = sorted((linear @ [0.2126, 0.7152, 0.0722]).tolist())
    return float((high + 0.05) / (low + 0.05))


def ink(paper: str) -> str:
    """Black or white, whichever is read more easily on a colour.

    >>> ink("#ffffff"), ink("#2a5c9e")
    ('#000000', '#ffffff')
    """
    return max("#000000", "#ffffff", key=lambda colour: contrast(colour, paper))


def heat(axes: Axes, matrix: Array, title: str, most: float, names: Sequence[str] = ()) -> Any:
    """A matrix in colours, of which the strongest stand for ± most; with the names of its rows, or their numbers."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("sfumato", [shade(x) for x in (-1.0, 0.0, 1.0)])
    image = axes.imshow(matrix, cmap=colours, vmin=-most, vmax=most)
    count = len(matrix)
    at = np.arange(count) if names or count <= 12 else np.unique(np.linspace(0, count - 1, 9).round().astype(int))
    told = [names[i] if names else str(i + 1) for i in at.tolist()]
    small = float(np.clip(190 / len(at), 6, 9))
    upright = 90 if sum(map(len, told)) > 40 else 0
    axes.set_xticks(at, told, fontsize=small, rotation=upright)
    axes.set_yticks(at, told, fontsize=small)
    axes.tick_params(length=2, colors=TEXT)
    axes.spines[:].set_color(FAINT)
    axes.set_title(title, fontsize=10, color=TEXT)
    return image


def close_up(axes: Axes, at: Array, size: float, unit: str = "") -> None:
    """What is about a place, as much as leaves room for something of this size."""
    low, high = np.asarray(at) - 1.6 * size, np.asarray(at) + 1.6 * size
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set_title(f"close up: {3.2 * size:.2g}{unit} across", fontsize=10, color=TEXT)


def marker(radius: float, most: float = 6.0) -> float:
    """The size of a mark that does not hide what is within this many points of it."""
    return float(np.clip(0.7 * radius, 1.8, most))


def balanced(text: str, columns: int) -> list[str]:
    """As few lines as the width allows, of about the same length."""
    count = len(textwrap.wrap(text, columns))
    return next(lines for w in range(1, columns + 1) if len(lines := textwrap.wrap(text, w)) <= count)
