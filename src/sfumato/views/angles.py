"""Angles: two on a square that is joined at its sides, others on a circle each."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..numerics.arrays import Array
from .base import Table, View
from .directions import circle_ground, on_circle
from .scene import CIRCLE, Dots, Line, Mark, Panel, Role, Scales, Scene, Soft
from .subject import Subject

CLOSE = 0.35  # radians: a smaller error is shown a second time, larger
MOST = 12  # circles in a picture; more angles than that are a table
COLUMNS = 4


class Angles(View):
    entry = "Angle, in radians"
    origin = "an arbitrary angle"
    exact_up_to = np.inf

    def things(self, s: Subject) -> str:
        count = s.about.size
        return "angles" if count == 1 else f"sets of {count} angles"

    def meaning(self, s: Subject, error: float) -> str:
        return f"every angle within {np.degrees(min(error, np.pi)):.3g}°"

    def caption(self, s: Subject) -> str:
        return Table().caption(s) if s.about.size > MOST else super().caption(s)

    def scene(self, s: Subject) -> Scene:
        count = s.about.size
        if count > MOST:
            return super().scene(s)
        if count != 2:
            panels = [_circle(s, j, 6.0 if count == 1 else 2.5) for j in range(count)]
            rows = [panels[i : i + COLUMNS] for i in range(0, count, COLUMNS)]
            return Scene(rows, columns=COLUMNS if count > 1 else 2)
        square = _square(s)
        if s.error is None or s.error >= CLOSE:
            return Scene([[square]])
        size = float(np.degrees(s.error))
        close = square.closer(np.degrees(s.about), size, f"close up: {3.2 * size:.2g}° across")
        return Scene([[square, close]], columns=4)


def _circle(s: Subject, j: int, size: float) -> Panel:
    others = np.empty(0) if s.others is None else s.others[:, j]
    marks = circle_ground()
    marks += on_circle(s, s.about[j], s.centre[j], s.reach[j], s.error, s.error_label, others)
    title = "" if s.about.size == 1 else f"angle {j + 1}"
    return Panel(marks, np.full(2, -1.25), np.full(2, 1.25), title, (size, size))


def _square(s: Subject) -> Panel:
    """In degrees; what leaves at one side comes in at the other."""
    edge = s.radius * CIRCLE
    if s.chart is not None:
        edge = s.chart.tangent(CIRCLE[:, : len(s.chart.axes)])
    value, centre = np.degrees(s.about), np.degrees(s.centre)
    shifts = [np.array(shift) for shift in product((0.0, -360.0, 360.0), repeat=2)]
    marks: list[Mark] = [Line(_repeated(centre + np.degrees(edge), shifts), Role.REACH, "range of clipped records")]
    if s.error is not None:
        rim = value + np.degrees(s.error) * CIRCLE
        marks.append(
            Soft([rim + shift for shift in shifts], [(value + shift)[None] for shift in shifts], s.error_label)
        )
        marks.append(Line(_repeated(rim, shifts), Role.NOISE))
    marks.append(Dots(centre[None], Role.CENTRE, "public centre"))
    if s.others is not None:
        marks.append(Dots((np.degrees(s.others) + 180) % 360 - 180, s.role, size=4.0))
    if s.value is not None:
        marks.append(Dots(value[None], Role.VALUE, s.name))
    scales = Scales("angle 1, in degrees", "angle 2, in degrees", ticks=range(-180, 181, 60))
    return Panel(marks, np.full(2, -180.0), np.full(2, 180.0), size=(4.9, 4.9), scales=scales)


def _repeated(points: Array, shifts: list[Array]) -> Array:
    """Return a line again at every shift."""
    return np.concatenate([np.concatenate([points + shift, np.full((1, 2), np.nan)]) for shift in shifts])
