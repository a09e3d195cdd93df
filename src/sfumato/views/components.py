"""Pictures of directions of variation: landmarks moved along them, or the variances that they explain; and of specimens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..files import Dataset
from ..findings.components import Components
from .curves import hull, looks_like_an_outline
from .figures import draw
from .page import Page, Paragraph
from .plots import html as html
from .plots import plot_release as plot  # noqa: F401
from .report import promised
from .scene import Dots, Line, Mark, Panel, Role, Scales, Scene, around, segments
from .shapes import joined, over_each_other, principal
from .subject import Links
from .words import prepared, protects

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 6
APART = 2  # standard deviations
SHOWN = 2  # of the sides of landmarks in space: front and side
SPECIMENS = 12  # in rows of four


def scene(components: Components, links: Links | None = None, channels: Sequence[str] = ()) -> Scene:
    """Return landmarks two standard deviations to both sides of the mean along each direction; of all else, the variances."""
    space = components.space.known
    shapes = space is not None and space.kind == "landmarks" and any(components.significant)
    return _shapes(components, links) if shapes else _bars(components)


def in_short(components: Components) -> list[str]:
    """Return what was released, and how many directions are above the noise: a sentence each."""
    release = components.release
    above = sum(components.significant)
    many = {0: "No component is", 1: "One component is"}.get(above, f"{above} components are")
    return [
        f"Released the directions in which {release.n} records vary most; {protects(release.guarantee)}.",
        f"{many} above the noise, of {components.count} in {len(components.axes)} public directions.",
    ]


def describe(components: Components, channels: Sequence[str] = ()) -> str:
    """Return the directions above the noise and what each explains, in plain words."""
    lines = in_short(components)
    for j, (low, high) in enumerate(components.intervals()[: sum(components.significant)]):
        angle = components.angles[j]
        known = "which may be mixed with others" if angle == 90 else f"known to within {angle:.0f} degrees"
        share = "" if np.isnan(components.shares[j]) else f", {components.shares[j]:.0%} of that in all of these"
        variance = f"variance {components.variances[j]:.3g} (95%: {low:.3g} to {high:.3g})"
        lines.append(f"{j + 1}. {variance}{share}; a direction {known}.")
    if components.weight < 1:
        lines.append(f"Directions come from the release, weighed {components.weight:.0%}, and public specimens.")
    holds = "They hold for the records as clipped to the public region, not for the population."
    lines += [f"Prepared: {words}" for words in prepared(components.release)]
    return "\n".join([*lines, f"Intervals and the number of components count the noise. {holds}"])


in_words = describe  # what the picture shows, for those who do not see it


def page(components: Components, links: Links | None, channels: Sequence[str]) -> Page:
    """Return what a page about directions says: each of them, and what is promised."""
    lines = [*map(Paragraph, describe(components).splitlines())]
    caption = "Directions above the noise, and what they explain."
    return Page("Directions in which records vary", caption, lines, [promised("It is", components.guarantee, {})])


def _title(components: Components, j: int) -> str:
    share = components.shares[j]
    return f"component {j + 1}" if np.isnan(share) else f"component {j + 1}, {share:.0%}"


def _shapes(components: Components, links: Links | None) -> Scene:
    """Return for each direction above the noise both shapes two standard deviations from the mean, over each other."""
    center = components.center
    turn = principal(center) if center.shape[1] == 3 else np.eye(2)
    panels = []
    for j in range(min(MOST_PANELS, sum(components.significant))):
        start, end = components.points(j, APART) @ turn
        both = {f"−{APART} s.d.": start, f"+{APART} s.d.": end}
        panels += over_each_other(both, links, title=_title(components, j)).panels[-SHOWN:]
    return _in_rows(panels, 2)


def _in_rows(panels: list[Panel], most: int) -> Scene:
    columns = min(most, len(panels))
    return Scene([panels[i : i + columns] for i in range(0, len(panels), columns)])


def _bars(components: Components) -> Scene:
    """Return the explained variances above the noise, with their intervals."""
    above = sum(components.significant)
    at = np.arange(1.0, above + 1)
    low, high, dots = (np.stack([at, x[:above]], axis=1) for x in (*components.intervals().T, components.variances))
    marks: list[Mark] = [Line(segments(low, high), Role.VALUE, "95% interval")]
    marks.append(Dots(dots, Role.VALUE, "variance above the noise"))
    names = [_title(components, j).removeprefix("component ") for j in range(above)]
    scales = Scales("component, and its share of the variance", "explained variance", names)
    top = np.array([above + 0.6, 1.05 * float(components.intervals().max())])
    panel = Panel(marks, np.array([0.4, 0.0]), top, size=(4.2, 3.2), scales=scales, equal=False)
    none = Panel([], -np.ones(2), np.ones(2), "no component is above the noise", (4.2, 0.6))
    return Scene([[panel if above else none]])


def plot_specimens(data: Dataset, links: Links | None = None) -> Figure:
    """Draw the landmarks of twelve specimens beside each other, to one scale, as :meth:`Components.sample` makes them."""
    if data.kind != "landmarks":
        raise ValueError(f"specimens are drawn by their landmarks, and these are {data.kind}")
    shapes = data.points[:SPECIMENS] - data.points[:SPECIMENS].mean(axis=1, keepdims=True)
    shapes = (shapes @ principal(shapes[0]))[:, :, :2] if shapes.shape[2] == 3 else shapes
    low, high = around(list(shapes), 0.05 * float(np.ptp(shapes)))
    wide, tall = high - low
    ring = links is None and looks_like_an_outline(shapes[0])
    pairs = joined(range(shapes.shape[1]) if ring else links, shapes.shape[1])
    size = (2.0, float(np.clip(2.0 * tall / wide, 0.6, 2.4)))
    panels = []
    for one in shapes:
        marks = [] if len(pairs) else hull(one)
        marks += [Line(segments(*one[pairs.T]), Role.VALUE), Dots(one, Role.VALUE, size=1.0 if ring else 2.4)]
        panels.append(Panel(marks, low, high, size=size))
    return draw(_in_rows(panels, 4), "synthetic specimens: none of them is a record")
