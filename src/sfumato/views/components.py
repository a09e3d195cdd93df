"""Pictures of directions of variation: landmarks moved along them, or the variances that they explain."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..errors import printable
from ..findings.components import Components
from .figures import draw
from .page import notebook
from .plots import render, write_picture
from .scene import Dots, Line, Mark, Panel, Role, Scales, Scene, around, segments
from .shapes import joined
from .subject import Links

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 6
FAINT_WORDS = "not above the noise"


def plot(components: Components, path: str | os.PathLike[str] | None = None, *, links: Links | None = None) -> Figure:
    """Draw planar landmarks two standard deviations from the mean along each direction; of anything else, the
    variances that they explain."""
    space = components.space.known
    planar = space is not None and space.kind == "landmarks" and components.center.shape[1:] == (2,)
    drawn = draw(_shapes(components, links) if planar else _bars(components))
    if path is not None:
        write_picture(drawn, path, describe(components))
    return drawn


def describe(components: Components) -> str:
    """Return the directions and what each explains, in plain words."""
    guarantee = components.release.guarantee
    p = len(components.axes)
    many = "1 public direction" if p == 1 else f"{p} public directions"
    lines = [
        f"Directions of variation about the mean, in {many}: {components.release.n} records, "
        f"{guarantee.privacy} ({printable(guarantee.unit)}), beside that of the mean."
    ]
    for j, (low, high) in enumerate(components.intervals()):
        share = components.shares[j]
        angle = components.angles[j]
        part = "" if np.isnan(share) else f", {share:.0%} of the total"
        known = f"its direction is known to within {angle:.0f} degrees" if angle < 90 else "its direction may be mixed"
        verdict = f"{FAINT_WORDS}: read nothing from it"
        if components.significant[j]:
            verdict = f"stands above the noise; {known}"
        variance = f"variance {components.variances[j]:.3g} (95%: {low:.3g} to {high:.3g})"
        lines.append(f"{j + 1}. {variance}{part}; {verdict}.")
    holds = "they hold for the records as clipped to the public region, not for the population"
    return "\n".join([*lines, f"Intervals count the noise: {holds}."])


def html(components: Components) -> str:
    """Return the picture and the words, as a notebook shows them."""
    lines = [("", line) for line in describe(components).splitlines()]
    return notebook(render(plot(components)), "How much each direction explains.", lines)


def _title(components: Components, j: int) -> str:
    share = components.shares[j]
    part = "" if np.isnan(share) else f", {share:.0%}"
    return f"component {j + 1}{part}" if components.significant[j] else f"component {j + 1}: {FAINT_WORDS}"


def _shapes(components: Components, links: Links | None) -> Scene:
    """Return the mean with each landmark's way from −2 to +2 standard deviations, for each direction."""
    count = min(components.count, MOST_PANELS)
    columns = min(count, 2)
    ends = [components.points(j) for j in range(count)]
    low, high = around([components.center, *ends], 0.05 * float(np.ptp(components.center, axis=0).max()))
    width = 9.6 / columns
    size = (width, 0.4 + width * float(np.clip((high - low)[1] / (high - low)[0], 0.3, 1.6)))
    pairs = joined(links, len(components.center))
    panels = []
    for j, (start, end) in enumerate(ends):
        faint = not components.significant[j]
        marks: list[Mark] = [
            Line(segments(start, end), Role.NOISE, faint=faint),
            Line(segments(*components.center[pairs.T]), Role.TIE),
            Dots(components.center, Role.REACH, "mean", size=3.0),
            Dots(start, Role.FIRST, "−2 s.d.", faint, size=4.0),
            Dots(end, Role.SECOND, "+2 s.d.", faint, size=4.0),
        ]
        panels.append(Panel(marks, low, high, _title(components, j), size))
    return Scene([panels[i : i + columns] for i in range(0, count, columns)], columns=3)


def _bars(components: Components) -> Scene:
    """Return the explained variances with their intervals; those not above the noise are faint."""
    low, high = components.intervals().T
    marks: list[Mark] = []
    for j in range(components.count):
        faint = not components.significant[j]
        label = "" if j else "explained variance, with its 95% interval"
        marks.append(Line(np.array([[j + 1, low[j]], [j + 1, high[j]]]), Role.VALUE, label, faint))
        marks.append(Dots(np.array([[j + 1, max(float(components.variances[j]), 0.0)]]), Role.VALUE, faint=faint))
    names = [_title(components, j).replace(": ", "\n").replace(", ", "\n") for j in range(components.count)]
    scales = Scales("", "explained variance", names)
    size = (max(4.0, 1.6 + 1.3 * components.count), 3.6)
    top = np.array([components.count + 0.6, 1.05 * float(high.max())])
    return Scene([[Panel(marks, np.array([0.4, 0.0]), top, size=size, scales=scales, equal=False)]])
