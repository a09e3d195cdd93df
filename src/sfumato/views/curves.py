"""Curves over the public reference, with a band as wide as the noise moves them across themselves."""

from __future__ import annotations

import numpy as np

from ..spaces import ElasticCurves
from .base import View
from .scene import Dots, Line, Mark, Panel, Role, Scene, around, closed
from .shapes import across, band
from .subject import Subject


class Curves(View):
    records = "planar curves of {k} points"
    entry = "Point"
    columns = "xy"
    origin = "a straight line, or a regular polygon"
    exact_up_to = np.inf

    def shown(self, s: Subject) -> str:
        if s.noise is not None:
            often = f"with probability {s.p:g}, taken by itself"
            return f"across the curve, each point of that mean lies within the soft band {often}"
        return "" if s.error is None else "the error is one number for the whole curve, so no band is drawn"

    def scene(self, s: Subject) -> Scene:
        assert isinstance(s.space, ElasticCurves)
        ring = s.space.closed
        curve = s.about
        reference = s.space.present(s.base)
        marks: list[Mark] = []
        widest = 0.0
        if s.noise is not None:
            widths = across(s.noise, curve, ring)
            widest = float(widths.max())
            marks += band(curve, widths, ring, f"{s.error_label}, across the curve")
        others = [] if s.others is None else list(s.others)
        lines = [(other, s.role, "") for other in others]
        lines.append((reference, Role.CENTRE, "public reference"))
        lines += [] if s.value is None else [(curve, Role.VALUE, s.name)]
        for i, (line, role, label) in enumerate(lines):
            marks.append(Line(closed(line) if ring else line, role, label, variant=i))
        if s.value is not None:
            marks.append(Dots(curve, Role.VALUE, size=2.5))
        margin = widest + 0.03 * float(np.ptp(reference, axis=0).max())
        low, high = around([reference, curve, *others], margin)
        tall = float(np.clip(9 * (high - low)[1] / (high - low)[0], 2.0, 8.0))
        return Scene([[Panel(marks, low, high, size=(9.0, tall))]], columns=3)
