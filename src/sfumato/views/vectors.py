"""Vectors of a Euclidean space: every coordinate, give or take the error."""

from .base import View
from .layouts import intervals
from .scene import Scene
from .subject import Subject


class Vectors(View):
    records = "vectors of {k} numbers"
    entry = "Coordinate"
    measured = "in their unit"
    nameable = True
    flat = True

    def scene(self, s: Subject) -> Scene:
        half = s.error if s.noise is None else s.noise.bars()
        bars = None if half is None else (s.about - half, s.about + half)
        region = None
        if s.region is not None and s.raw is not None:
            wide = s.region.bars()
            region = (s.raw - wide, s.raw + wide)
        reach = (s.centre - s.reach, s.centre + s.reach)
        return Scene([intervals(s, "coordinate", "value", reach, bars, region)])
