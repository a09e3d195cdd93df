"""The hyperbolic plane in the Poincaré disc; other dimensions by their numbers."""

from __future__ import annotations

import numpy as np

from ..numerics.arrays import Array
from ..spaces.hyperbolic import Hyperbolic as Plane
from .base import View
from .scene import CIRCLE, Dots, Line, Mark, Panel, Role, Scene, Soft
from .subject import Subject

CLOSE = 0.12  # of the disc: what is smaller is shown a second time, larger
FARTHEST = 15.0  # a ball beyond that fills the disc


class Hyperbolic(View):
    entry = "Coordinate"
    exact_up_to = np.inf

    def things(self, s: Subject) -> str:
        return f"points of hyperbolic space of dimension {s.about.size - 1}"

    def off_manifold(self, s: Subject) -> str:
        return "the released value is not on the hyperboloid"

    def caption(self, s: Subject) -> str:
        return super().caption(s) if s.about.size == 3 else "What was released, in numbers."

    def shown(self, s: Subject) -> str:
        return "Drawn in the Poincaré disc, whose edge is infinitely far away" if s.about.size == 3 else ""

    def scene(self, s: Subject) -> Scene:
        if s.about.size != 3 or not isinstance(s.space, Plane):
            return super().scene(s)
        space, at = s.space, s.space.to_poincare(s.about)
        marks: list[Mark] = [Line(CIRCLE, Role.TIE)]
        if s.radius < FARTHEST:
            marks.append(Line(_circle(space, s.base, s.radius), Role.REACH, f"edge of the {s.region_name}"))
        half = np.inf
        if s.error is not None:
            edge = _error_edge(s, space, s.error)
            half = float(np.abs(edge - at).max())
            marks += [Soft([edge], [at[None]], s.error_label), Line(edge, Role.NOISE)]
        marks.append(Dots(space.to_poincare(s.base)[None], Role.CENTRE, "public centre"))
        if s.others is not None:
            marks.append(Dots(np.stack([space.to_poincare(other) for other in s.others]), s.role, size=4.0))
        if s.value is not None:
            marks.append(Dots(at[None], Role.VALUE, s.name))
        whole = Panel(marks, np.full(2, -1.05), np.full(2, 1.05), size=(4.9, 4.9))
        if half >= CLOSE:
            return Scene([[whole]])
        close = whole.closer(at, half, f"close up: {3.2 * half:.2g} of the disc's radius across")
        return Scene([[whole, close]], columns=4)


def _circle(space: Plane, center: Array, radius: float, about: Array | None = None) -> Array:
    """Return a circle in the tangent space at a point, about a vector there, as it lies in the disc."""
    turn = radius * CIRCLE if about is None else radius * CIRCLE + about
    return space.to_poincare(space.exp(center, space.from_coordinates(center, turn)))


def _error_edge(s: Subject, space: Plane, error: float) -> Array:
    """Return points round what holds the statistic: a circle about the value, or for a chart one in the tangent space at the
    centre."""
    if s.chart is None:
        return _circle(space, s.point, error)
    at = s.chart.center
    return _circle(space, at, error, space.coordinates(at, space.log(at, s.point)))
