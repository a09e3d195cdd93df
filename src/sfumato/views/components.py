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
from .scene import Dots, Line, Mark, Panel, Role, Scales, Scene, segments
from .shapes import over_each_other, principal
from .subject import Links

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 6
APART = 2  # standard deviations
SHOWN = 2  # of the sides of landmarks in space: front and side
FAINT_WORDS = "not above the noise"


def plot(components: Components, path: str | os.PathLike[str] | None = None, *, links: Links | None = None) -> Figure:
    """Draw landmarks two standard deviations to both sides of the mean along each direction that stands above the noise; of
    anything else, and where none does, the variances that they explain."""
    space = components.space.known
    shapes = space is not None and space.kind == "landmarks" and any(components.significant)
    drawn = draw(_shapes(components, links) if shapes else _bars(components))
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
    return f"component {j + 1}" if np.isnan(share) else f"component {j + 1}, {share:.0%}"


def _shapes(components: Components, links: Links | None) -> Scene:
    """Return for each direction above the noise both shapes two standard deviations from the mean, over each other."""
    center = components.center
    turn = principal(center) if center.shape[1] == 3 else np.eye(2)
    panels = []
    for j in np.flatnonzero(components.significant)[:MOST_PANELS].tolist():
        start, end = components.points(j, APART) @ turn
        both = {f"−{APART} s.d.": start, f"+{APART} s.d.": end}
        panels += over_each_other(both, links, title=_title(components, j)).panels[-SHOWN:]
    columns = 1 if len(panels) == 1 else 2
    return Scene([panels[i : i + columns] for i in range(0, len(panels), columns)])


def _bars(components: Components) -> Scene:
    """Return the explained variances with their intervals; those not above the noise are faint."""
    low, high = components.intervals().T
    at = np.arange(1.0, components.count + 1)
    variances = np.maximum(components.variances[: components.count], 0.0)
    above = np.asarray(components.significant)
    marks: list[Mark] = []
    for some, role, label in ((above, Role.VALUE, "variance above the noise"), (~above, Role.REACH, FAINT_WORDS)):
        if some.any():
            ends = (np.stack([at, end], axis=1)[some] for end in (np.maximum(low, 0.0), high))
            marks.append(Line(segments(*ends), role, "95% interval"))
            marks.append(Dots(np.stack([at, variances], axis=1)[some], role, label))
    names = [_title(components, j).removeprefix("component ") for j in range(components.count)]
    top = np.array([components.count + 0.6, 1.05 * float(high.max())])
    size = (float(np.clip(1.6 + 0.8 * components.count, 4.2, 7.2)), 3.2)
    scales = Scales("component, and its share of the variance", "explained variance", names)
    return Scene([[Panel(marks, np.array([0.4, 0.0]), top, size=size, scales=scales, equal=False)]])
