"""Pictures of directions of variation: landmarks moved along them, or the variances that they explain."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..errors import printable
from .drawing import draw
from .page import notebook
from .plots import render, write_picture
from .scene import Dots, Line, Mark, Panel, Role, Scales, Scene, around, segments
from .shapes import joined
from .subject import Links

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..findings.components import Components

MOST_PANELS = 6
FAINT_WORDS = "not above the noise"


def plot(found: Components, path: str | os.PathLike[str] | None = None, *, links: Links | None = None) -> Figure:
    """Draw planar landmarks two standard deviations from the mean along each direction; of anything else, the
    variances that they explain."""
    space = found.space.known
    planar = space is not None and space.kind == "landmarks" and found.center.shape[1:] == (2,)
    drawn = draw(_shapes(found, links) if planar else _bars(found))
    if path is not None:
        write_picture(drawn, path, describe(found))
    return drawn


def describe(found: Components) -> str:
    """Return the directions and what each explains, in plain words."""
    guarantee = found.release.guarantee
    p = len(found.axes)
    many = "1 public direction" if p == 1 else f"{p} public directions"
    lines = [
        f"Directions of variation about the mean, in {many}: {found.release.n} records, "
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
    lines = [("", line) for line in describe(found).splitlines()]
    return notebook(render(plot(found)), "How much each direction explains.", lines)


def _title(found: Components, j: int) -> str:
    share = found.shares[j]
    part = "" if np.isnan(share) else f", {share:.0%}"
    return f"component {j + 1}{part}" if found.significant[j] else f"component {j + 1}: {FAINT_WORDS}"


def _shapes(found: Components, links: Links | None) -> Scene:
    """Return the mean with each landmark's way from −2 to +2 standard deviations, for each direction."""
    count = min(found.count, MOST_PANELS)
    columns = min(count, 2)
    ends = [found.points(j) for j in range(count)]
    low, high = around([found.center, *ends], 0.05 * float(np.ptp(found.center, axis=0).max()))
    width = 9.6 / columns
    size = (width, 0.4 + width * float(np.clip((high - low)[1] / (high - low)[0], 0.3, 1.6)))
    pairs = joined(links, len(found.center))
    panels = []
    for j, (start, end) in enumerate(ends):
        faint = not found.significant[j]
        marks: list[Mark] = [Line(segments(start, end), Role.NOISE, faint=faint)]
        marks.append(Line(segments(found.center[pairs[:, 0]], found.center[pairs[:, 1]]), Role.TIE))
        marks.append(Dots(found.center, Role.REACH, "mean", size=3.0))
        marks.append(Dots(start, Role.FIRST, "−2 s.d.", faint, size=4.0))
        marks.append(Dots(end, Role.SECOND, "+2 s.d.", faint, size=4.0))
        panels.append(Panel(marks, low, high, _title(found, j), size))
    return Scene([panels[i : i + columns] for i in range(0, count, columns)], columns=3)


def _bars(found: Components) -> Scene:
    """Return the explained variances with their intervals; those not above the noise are faint."""
    low, high = found.intervals().T
    marks: list[Mark] = []
    for j in range(found.count):
        faint = not found.significant[j]
        label = "" if j else "explained variance, with its 95% interval"
        marks.append(Line(np.array([[j + 1, low[j]], [j + 1, high[j]]]), Role.VALUE, label, faint))
        marks.append(Dots(np.array([[j + 1, max(float(found.variances[j]), 0.0)]]), Role.VALUE, faint=faint))
    names = [_title(found, j).replace(": ", "\n").replace(", ", "\n") for j in range(found.count)]
    scales = Scales("", "explained variance", names)
    size = (max(4.0, 1.6 + 1.3 * found.count), 3.6)
    top = np.array([found.count + 0.6, 1.05 * float(high.max())])
    return Scene([[Panel(marks, np.array([0.4, 0.0]), top, size=size, scales=scales, equal=False)]])
