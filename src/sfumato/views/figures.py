"""Colours and layout that pictures share.

No picture touches Matplotlib's global state: figures are made without pyplot, so a user's own backend and plots are left alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOFT = "#c9a66b"
SHARP = "#6b3f1d"
QUIET = "#8a8a8a"
RIM = "#a5803f"  # the edge of what is soft
TEXT = "#5c564f"  # words that stay in the background, and can be read all the same
FAINT = "#e2ddd6"
INK = "#222222"
REGION: dict[str, Any] = {"color": "#4f86b5", "width": 1.1, "dash": (0, (4, 2))}  # of a population's mean
PAIR = ("#0072b2", "#d55e00")  # two groups, told apart by all eyes (Okabe and Ito)
LINES = (  # several curves, told apart by their colours (Okabe and Ito) and without them
    ("#0072b2", "-"),
    ("#d55e00", "--"),
    ("#009e73", "-."),
    ("#882255", ":"),
    ("#000000", (0, (6, 2, 1, 2, 1, 2))),
    ("#8a8a8a", "-"),
)


def figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Figure:
    """Return a picture that is a table."""
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
    """Draw one legend above all panels; what several of them show stands in it once."""
    entries: dict[str, Any] = {}
    for axes in drawn.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        look: dict[str, Any] = {"loc": "outside upper center", "ncols": columns, "fontsize": 9, "frameon": False}
        drawn.legend(list(entries.values()), list(entries), **look)


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


def balanced(text: str, columns: int) -> list[str]:
    """Return as few lines as the width allows, of about the same length."""
    count = len(textwrap.wrap(text, columns))
    return next(lines for w in range(1, columns + 1) if len(lines := textwrap.wrap(text, w)) <= count)
