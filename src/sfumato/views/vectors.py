"""Vectors of a Euclidean space: every coordinate, give or take the error."""

from collections.abc import Mapping

import numpy as np

from ..numerics.arrays import Array
from .base import View
from .layouts import intervals
from .scene import Dots, Line, Mark, Panel, Role, Scales, Scene, around, segments
from .subject import Subject


class Vectors(View):
    records = "vectors of {k} numbers"
    entry = "Coordinate"
    measured = "in the unit of the records"
    exact_up_to = np.inf
    nameable = True

    def scene(self, s: Subject) -> Scene:
        half = s.error if s.noise is None else s.noise.bars()
        bars = None if half is None else (s.about - half, s.about + half)
        region = None
        if s.region is not None and s.raw is not None:
            wide = s.region.bars()
            region = (s.raw - wide, s.raw + wide)
        reach = (s.centre - s.reach, s.centre + s.reach)
        return Scene([[intervals(s, "coordinate", "value", reach, bars, region)]])

    def pair(self, subjects: Mapping[str, Subject], radius: float) -> Scene:
        """Return each coordinate of both, with the region of its population's mean."""
        marks: list[Mark] = []
        ends: list[Array] = []
        for shift, role, (name, s) in zip((-0.12, 0.12), (Role.FIRST, Role.SECOND), subjects.items(), strict=True):
            value = s.about if s.raw is None else s.raw
            half = 0.0 if s.region is None else s.region.bars()
            at = np.stack([np.arange(1, value.size + 1) + shift, value], axis=1)
            up = np.stack([0 * value, 0 * value + half], axis=1)
            label = "" if s.region is None or ends else f"{s.p:.0%} region for each population's mean"
            marks += [Line(segments(at - up, at + up), role, label), Dots(at, role, name)]
            ends += [at - up, at + up]
        low, high = around(ends, 0.1 * float(np.ptp([end[:, 1] for end in ends])))
        low[0] = 0.4
        high[0] = value.size + 0.6
        scales = Scales("coordinate", "value", s.names, whole=True)
        size = (float(np.clip(2.5 + 0.6 * value.size, 6, 9)), 4.6)
        return Scene([[Panel(marks, low, high, size=size, scales=scales, equal=False)]])
