"""Angles: two on a square that is joined at its sides, others on a circle each."""

from dataclasses import replace
from itertools import product

import numpy as np

from .base import View
from .directions import angle_label, circle, turned
from .layouts import mapped
from .scene import CIRCLE, Panel, Scales, Scene
from .subject import Subject

CLOSE = 20.0  # degrees: a smaller error is shown a second time, larger
MOST = 12  # circles in a picture; more angles than that are a table
COLUMNS = 3


class Angles(View):
    entry = "Angle, in radians"
    flat = True
    origin = "an arbitrary angle"
    bounded = "every angle within {degrees:.3g}°"

    def things(self, s: Subject) -> str:
        count = s.about.size
        return "angles" if count == 1 else f"sets of {count} angles"

    def scene(self, s: Subject) -> Scene:
        count = s.about.size
        if count > MOST:
            return super().scene(s)
        if count == 2:
            return _square(s)
        others = np.empty((0, count)) if s.others is None else s.others
        each = zip(s.about, s.centre, s.reach, strict=True)
        panels = [circle(s, *numbers, s.error, others[:, j], False) for j, numbers in enumerate(each)]
        if count > 1:
            panels = [replace(panel, title=f"angle {j + 1}", size=(2.4, 2.4)) for j, panel in enumerate(panels)]
        panels.append(turned(s, np.ravel, s.error))
        return Scene([panels[i : i + COLUMNS] for i in range(0, len(panels), COLUMNS)])


def _square(s: Subject) -> Scene:
    """Return two angles on a square, in degrees; what leaves at one side comes in at the other."""
    edge = s.radius * CIRCLE
    if s.chart is not None:
        edge = s.chart.tangent(CIRCLE[:, : len(s.chart.axes)])
    region = np.degrees(s.centre + edge)
    error = None if s.error is None else np.degrees(s.about + s.error * CIRCLE)
    scales = Scales("angle 1, in degrees (180° = π rad)", "angle 2, in degrees", ticks=range(-180, 181, 60))
    ground = Panel([], np.full(2, -180.0), np.full(2, 180.0), size=(3.6, 3.6), scales=scales)
    again = [np.array(shift) for shift in product((0.0, -360.0, 360.0), repeat=2)]
    label = "" if s.error is None else angle_label(s, s.error)
    return mapped(s, ground, lambda at: (np.degrees(at) + 180) % 360 - 180, region, error, CLOSE, "°", again, label)
