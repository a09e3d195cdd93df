"""The hyperbolic plane in the Poincaré disc; other dimensions by their numbers."""

import numpy as np

from ..numerics.arrays import Array
from ..spaces.hyperbolic import Hyperbolic as Plane
from .base import View
from .layouts import mapped
from .scene import CIRCLE, Line, Mark, Panel, Role, Scene, Words
from .subject import Subject

CLOSE = 0.12  # of the disc: what is smaller is shown a second time, larger
FARTHEST = 15.0  # of a ball: beyond that it fills the disc as far as anybody sees


class Hyperbolic(View):
    records = "points of hyperbolic space of dimension {d}"
    entry = "Coordinate"
    not_a_point = "the released value is not on the hyperboloid"

    def shown(self, s: Subject) -> str:
        disc = "Drawn in the Poincaré disc, whose edge is infinitely far away: pale circles are 1, 2 and 3 from its middle."
        return disc if s.about.size == 3 else ""

    def scene(self, s: Subject) -> Scene:
        space = s.space
        if s.about.size != 3 or not isinstance(space, Plane):
            return super().scene(s)

        def circle(center: Array, radius: float, about: Array | float = 0.0) -> Array:
            """Return a circle in the tangent space at a point, about a vector there, as it lies in the disc."""
            return space.to_poincare(space.exp(center, space.from_coordinates(center, radius * CIRCLE + about)))

        at = s.point if s.chart is None else s.chart.center
        error = None if s.error is None else circle(at, s.error, space.coordinates(at, space.log(at, s.point)))
        marks: list[Mark] = [Line(CIRCLE, Role.TIE)]
        for d in (1, 2, 3):
            marks += [Line(np.tanh(d / 2) * CIRCLE, Role.FRAME), Words(np.array([0.0, -np.tanh(d / 2)]), f"{d}")]
        disc = Panel(marks, np.full(2, -1.05), np.full(2, 1.05), size=(3.6, 3.6))
        region = circle(s.base, min(s.radius, FARTHEST))
        return mapped(s, disc, space.to_poincare, region, error, CLOSE, " of the disc's radius")
