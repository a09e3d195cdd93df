"""Scenes as Matplotlib figures, and the colours and layout that all pictures share.

No picture touches Matplotlib's global state: figures are made without pyplot, so a user's own backend and plots are left alone.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .scene import Arrows, Cells, Dots, Line, Mark, Panel, Role, Scene, Soft, Words, closed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOFT = "#c9a66b"
SHARP = "#6b3f1d"
QUIET = "#8a8a8a"
RIM = "#a5803f"  # the edge of what is soft
TEXT = "#5c564f"  # words that stay in the background, and can be read all the same
FAINT = "#e2ddd6"
WASH = "#f6f3ee"
INK = "#222222"
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
WIDE = 6.5  # inches: the width of a page
TALL = 7.4  # what leaves room for a legend and three sentences on a sheet
SMALL = 8.0  # points of print: words beside marks


def figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(colors=TEXT, labelsize=SMALL)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=TEXT, fontsize=9)


def shared_legend(drawn: Figure, title: str = "") -> int:
    """Draw one legend above all panels, in which what several of them show stands once; return how many rows it has."""
    entries: dict[str, Any] = {}
    for axes in drawn.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    wide = [0.5 + 0.059 * len(label) for label in entries]  # inches, about

    def width(rows: int) -> float:
        return sum(max(wide[i : i + rows]) for i in range(0, len(wide), rows))

    rows = next((rows for rows in range(1, len(wide)) if width(rows) <= drawn.get_figwidth()), max(1, len(wide)))
    look: dict[str, Any] = {"loc": "outside upper center", "ncols": -(-len(wide) // rows), "frameon": False}
    look |= {"fontsize": SMALL, "labelcolor": INK, "columnspacing": 1.2, "handletextpad": 0.6, "title": title or None}
    legend = drawn.legend(list(entries.values()), list(entries), **look)
    for line in legend.get_lines():
        line.set_markersize(max(4.5, line.get_markersize()))
    return rows + bool(title)


def shade(x: float) -> str:
    """Return a colour from blue (−1) over white to orange (1), told apart by all eyes.

    >>> shade(-1), shade(0), shade(1)
    ('#2a5c9e', '#ffffff', '#b35806')
    """
    end = np.array([0xB3, 0x58, 0x06]) if x > 0 else np.array([0x2A, 0x5C, 0x9E])
    red, green, blue = np.round(255 + (end - 255) * min(abs(x), 1.0)).astype(int).tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"


def contrast(one: str, two: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG 2 counts it: text needs 4.5, and what is drawn 3.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    rgb = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in (one, two)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    low, high = sorted((linear @ [0.2126, 0.7152, 0.0722]).tolist())
    return float((high + 0.05) / (low + 0.05))


def ink(paper: str) -> str:
    """Return black or white, whichever is read more easily on a colour.

    >>> ink("#ffffff"), ink("#2a5c9e")
    ('#000000', '#ffffff')
    """
    return max("#000000", "#ffffff", key=lambda colour: contrast(colour, paper))


# -- scenes -----------------------------------------------------------------------------------------------------------------
class Style(NamedTuple):
    """How a role is drawn: colour, width and dashes of lines, shape of dots, and whether these are filled."""

    color: str
    width: float = 1.0
    dash: Any = "-"
    marker: str = "o"
    filled: bool = True


STYLES = {
    Role.VALUE: Style(SHARP, 1.2),
    Role.CENTRE: Style(QUIET, 1.0, "--", filled=False),
    Role.REACH: Style(QUIET, 0.9, ":"),
    Role.NOISE: Style(RIM, 0.7),
    Role.REGION: Style("#4f86b5", 1.1, (0, (4, 2))),
    Role.FRAME: Style(FAINT, 0.7),
    Role.COAST: Style(QUIET, 0.7),
    Role.TIE: Style(QUIET, 0.6),
    Role.FIRST: Style(PAIR[0], 1.2),
    Role.SECOND: Style(PAIR[1], 1.2, "--", marker="s"),
    Role.DRAW: Style(PAIR[0], 0.9),
    Role.OTHER: Style(SHARP, 0.6),
}


def draw(scene: Scene, title: str = "") -> Figure:
    """Return a scene as a figure, with one legend for all its panels: as wide as a page of a journal at most."""
    heights = [max(panel.size[1] for panel in row) for row in scene.rows]
    width = max(sum(panel.size[0] for panel in row) for row in scene.rows)
    smaller = min(1.0, WIDE / width, TALL / sum(heights))
    drawn = figure(max(3.6, smaller * width), smaller * sum(heights))
    rows = drawn.add_gridspec(len(heights), 1, height_ratios=heights)
    for i, row in enumerate(scene.rows):
        inner = rows[i].subgridspec(1, len(row), width_ratios=[panel.size[0] for panel in row])
        bars: dict[tuple[float, str], list[Axes]] = {}
        for j, panel in enumerate(row):
            axes = drawn.add_subplot(inner[0, j])
            _panel(axes, panel, smaller * panel.size[0])
            for mark in panel.marks:
                if isinstance(mark, Cells):
                    bars.setdefault((mark.most, mark.unit), []).append(axes)
        for (_, unit), several in bars.items():  # a bar for each scale of colours
            bar = drawn.colorbar(several[0].images[0], ax=several, shrink=0.85)
            bar.set_label(unit, color=TEXT, fontsize=SMALL)
            bar.ax.tick_params(colors=TEXT, labelsize=7)
            bar.outline.set_edgecolor(FAINT)
    above = shared_legend(drawn, "\n".join(filter(None, [title, scene.title])))
    drawn.set_figheight(drawn.get_figheight() + 0.15 + 0.19 * above + 0.22 * len(scene.rows))
    return drawn


def _panel(axes: Axes, panel: Panel, inches: float) -> None:
    """Draw the marks of a panel, so many inches wide, in their order, and what is about them."""
    axes.set_aspect("equal" if panel.equal else "auto")
    cells = any(isinstance(mark, Cells) for mark in panel.marks)
    letters = int((7 if cells else 11) * inches)  # a matrix leaves room for its bar of colours
    axes.set_title(textwrap.fill(panel.title, max(16, letters)), fontsize=9, color=TEXT)
    for order, mark in enumerate(panel.marks, start=1):
        _mark(axes, mark, order)
    axes.set(xlim=(panel.low[0], panel.high[0]), ylim=(panel.low[1], panel.high[1]))
    if panel.scales is not None:
        _numbers(axes, panel, inches)
    elif panel.boxed:
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color(FAINT)
    elif not cells:
        axes.axis("off")


def _mark(axes: Axes, mark: Mark, order: int) -> None:
    match mark:
        case Line():
            style = STYLES[mark.role]
            alpha, width = (0.35, 0.6 * style.width) if mark.faint else (1.0, style.width)
            look: dict[str, Any] = {"color": style.color, "lw": width, "ls": style.dash, "alpha": alpha}
            axes.plot(*mark.points.T, label=mark.label or None, zorder=order, **look)
            if mark.fill:
                axes.fill(*mark.points.T, color=WASH, lw=0, zorder=0)
        case Dots():
            style = STYLES[mark.role]
            look = {"marker": style.marker, "mec": style.color, "mfc": style.color if style.filled else "white"}
            look |= {"ms": mark.size, "mew": min(1.0, 0.2 * mark.size), "alpha": 0.4 if mark.faint else 1.0}
            axes.plot(*mark.points.T, ls="", label=mark.label or None, zorder=order, **look)
        case Soft():
            _soft(axes, mark, order)
        case Words():
            _words(axes, mark, order)
        case Arrows():
            look = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.0025, "color": INK}
            look |= {"headwidth": 5, "headlength": 6, "headaxislength": 5}
            axes.quiver(*mark.starts.T, *(mark.ends - mark.starts).T, zorder=order, **look)
        case Cells():
            _cells(axes, mark)


def _soft(axes: Axes, mark: Soft, order: int) -> None:
    """Draw areas in layers, each a path of all areas together, so that overlaps are no darker."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    alpha = ALPHA / 2 if mark.faint else ALPHA
    for fraction in LAYERS:
        rings = [core + fraction * (edge - core) for edge, core in zip(mark.edges, mark.cores, strict=True)]
        path = Path.make_compound_path(*(Path(closed(ring), closed=True) for ring in rings))
        axes.add_artist(PathPatch(path, color=SOFT, alpha=alpha, lw=0, zorder=order))
    axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=mark.label or None)


def _words(axes: Axes, mark: Words, order: int) -> None:
    color = TEXT if mark.role is Role.FRAME else STYLES[mark.role].color
    look: dict[str, Any] = {"fontsize": 7.5, "color": color, "ha": "center", "va": "center", "zorder": order}
    if mark.role is Role.FRAME:
        look["bbox"] = {"fc": "white", "ec": "none", "alpha": 0.75, "pad": 0.8}
    look["alpha"] = 0.4 if mark.faint else 1.0
    place: dict[str, Any] = {"xytext": mark.move, "textcoords": "offset points", "annotation_clip": True}
    axes.annotate(mark.text, tuple(mark.at), **place, **look).set_in_layout(False)


def _cells(axes: Axes, mark: Cells) -> None:
    """Draw a matrix in colours, with the names of its rows, or their numbers."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("sfumato", [shade(x) for x in (-1.0, 0.0, 1.0)])
    axes.imshow(mark.matrix, cmap=colours, vmin=-mark.most, vmax=mark.most)
    count = len(mark.matrix)
    few = not mark.names and count > 12
    at = np.unique(np.linspace(0, count - 1, 9).round().astype(int)) if few else np.arange(count)
    names = [mark.names[i] if mark.names else str(i + 1) for i in at.tolist()]
    small = float(np.clip(48 / len(at), 6, SMALL))
    axes.set_xticks(at, names, fontsize=small, rotation=90 if sum(map(len, names)) > 40 else 0)
    axes.set_yticks(at, names, fontsize=small)
    axes.tick_params(length=0, colors=TEXT)  # a tick would look like a minus
    axes.spines[:].set_color(FAINT)
    for i, row in enumerate(mark.numbers):
        for j, text in enumerate(row):
            color = ink(shade(float(mark.matrix[i, j]) / mark.most))
            axes.text(j, i, text, ha="center", va="center", fontsize=min(small - 1, 38 / count), color=color)


def _numbers(axes: Axes, panel: Panel, inches: float) -> None:
    """Draw axes with their numbers or names."""
    from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    about = panel.scales
    assert about is not None
    axes.set(xlabel=about.x, ylabel=about.y)
    if about.names:
        axes.set_xticks(np.arange(1, len(about.names) + 1), about.names)
        crowded = (max(map(len, about.names)) + 1) * len(about.names) > 15 * (inches - 0.6)
        axes.tick_params(axis="x", labelrotation=90 if crowded else 0)
    elif about.whole:
        count = int(panel.high[0])
        every = FixedLocator(list(range(1, count + 1)))
        axes.xaxis.set_major_locator(every if count <= 12 else MaxNLocator(integer=True, nbins=12))
    if len(about.ticks):
        axes.set(xticks=about.ticks, yticks=about.ticks)
    if about.log_y:
        wide = panel.high[1] / panel.low[1]
        axes.set_yscale("log")
        axes.set_ylim(panel.low[1], panel.high[1])
        few = LogLocator(subs=(1, 2, 5) if wide < 1e3 else (1,))
        axes.yaxis.set_major_locator(MaxNLocator(6) if wide < 8 else few)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    plain(axes)
