"""Pictures of directions of variation: landmarks moved along them, or the variances that they explain."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..errors import printable
from .base import Links
from .figures import QUIET, RIM, SHARP, SOFT, TEXT, figure, plain, shared_legend
from .page import notebook
from .plots import render, write_picture
from .shapes import draw_links, joined

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..findings.components import Components

MOST_PANELS = 6
FAINT_WORDS = "not above the noise"


def plot(found: Components, path: str | os.PathLike[str] | None = None, *, links: Links | None = None) -> Figure:
    """Draw planar landmarks two standard deviations from the mean along each direction; of anything else, bars."""
    space = found.space.known
    planar = space is not None and space.kind == "landmarks" and found.center.shape[1:] == (2,)
    drawn = _shapes(found, links) if planar else _bars(found)
    if path is not None:
        write_picture(drawn, path, describe(found))
    return drawn


def describe(found: Components) -> str:
    """Return the directions and what each explains, in plain words."""
    guarantee, p = found.release.guarantee, len(found.axes)
    lines = [
        f"Directions of variation about the mean, in {p} public direction{'s' * (p > 1)}: {found.release.n} records, "
        f"epsilon {guarantee.epsilon:g} ({printable(guarantee.unit)}), beside that of the mean."
    ]
    rows = zip(found.variances, found.intervals(), found.shares, found.significant, found.angles, strict=True)
    for j, (variance, (low, high), share, clear, angle) in enumerate(rows, start=1):
        part = "" if np.isnan(share) else f", {share:.0%} of the total"
        known = f"its direction is known to within {angle:.0f} degrees" if angle < 90 else "its direction may be mixed"
        verdict = f"stands above the noise; {known}" if clear else "not above the noise: read nothing from it"
        lines.append(f"{j}. variance {variance:.3g} (95%: {low:.3g} to {high:.3g}){part}; {verdict}.")
    lines.append(
        "Intervals count the noise: they hold for the records as clipped to the public region, not for the population."
    )
    return "\n".join(lines)


def html(found: Components) -> str:
    """Return the picture and the words, as a notebook shows them."""
    return notebook(render(plot(found)), "How much each direction explains.", describe(found))


def _title(found: Components, j: int) -> str:
    share = found.shares[j]
    part = "" if np.isnan(share) else f", {share:.0%}"
    return f"component {j + 1}{part}" if found.significant[j] else f"component {j + 1}: {FAINT_WORDS}"


def _shapes(found: Components, links: Links | None) -> Figure:
    count = min(found.count, MOST_PANELS)
    columns, (wide, tall) = min(count, 2), np.ptp(found.center, axis=0)
    rows, width = -(-count // columns), 9.6 / columns
    drawn = figure(9.6, 0.6 + rows * (0.5 + width * float(np.clip(tall / wide, 0.3, 1.6))))
    panels = drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for j, axes in enumerate(panels[:count]):
        _panel(axes, found, j, links)
    for axes in panels[count:]:
        axes.remove()
    shared_legend(drawn, 3)
    return drawn


def _panel(axes: Axes, found: Components, j: int, links: Links | None) -> None:
    """The mean with each landmark's way from −2 to +2 standard deviations."""
    low, high = found.points(j)
    strong = 1.0 if found.significant[j] else 0.3
    for a, b in zip(low, high, strict=True):
        axes.plot(*zip(a, b, strict=True), color=SOFT, lw=1.5, alpha=strong, zorder=1)
    draw_links(axes, found.center, joined(links, len(found.center)), QUIET, "-")
    axes.plot(*found.center.T, ls="", marker="o", ms=3, color=QUIET, label="mean", zorder=2)
    axes.plot(*low.T, ls="", marker="o", ms=4, mfc="white", mec=SHARP, alpha=strong, label="−2 s.d.", zorder=3)
    axes.plot(*high.T, ls="", marker="o", ms=4, color=SHARP, alpha=strong, label="+2 s.d.", zorder=3)
    axes.set(aspect="equal")
    axes.set_title(_title(found, j), fontsize=10, color=TEXT)
    axes.axis("off")


def _bars(found: Components) -> Figure:
    drawn = figure(max(4.0, 1.6 + 1.3 * found.count), 4.0)
    axes, at, intervals = drawn.add_subplot(), np.arange(1, found.count + 1), found.intervals()
    shown = np.maximum(found.variances, 0.0)
    colours = [SOFT if clear else "white" for clear in found.significant]
    axes.bar(at, shown, color=colours, edgecolor=RIM, width=0.6)
    axes.vlines(at, *intervals.T, color=SHARP, lw=1.5)
    axes.set_xticks(at, [_title(found, j).replace(": ", "\n") for j in range(found.count)], fontsize=8)
    axes.set_ylabel("explained variance, with its 95% interval")
    plain(axes)
    return drawn
