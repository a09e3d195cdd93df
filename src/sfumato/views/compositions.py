"""Compositions: three parts in a triangle, others side by side with the range that the error leaves to each."""

import numpy as np

from ..numerics.arrays import Array, Points
from ..spaces.base import Space
from ..spaces.simplex import Aitchison, Simplex
from .base import BEYOND, View
from .layouts import Range, intervals, mapped
from .scene import CIRCLE, Line, Mark, Panel, Role, Scene, Words, broken, closed
from .subject import Subject

CORNERS = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])  # where each of three parts is the whole
CLOSE = 0.08  # of the side of the triangle: an error that is smaller is shown a second time, larger


class Compositions(View):
    records = "compositions of {k} parts"
    entry = "Part"
    nameable = True
    origin = "equal parts"
    centers = ("origin", "equal parts")

    def seen(self, s: Subject) -> str:
        high, low = (int(pick(s.about)) for pick in (np.argmax, np.argmin))
        shares = [f"part {s.called(i)}, {s.about[i]:.3g} of the whole" for i in (high, low)]
        return f"The largest is {shares[0]}; the smallest is {shares[1]}."

    def meaning(self, s: Subject, error: float) -> str:
        low, high = shares_within(s.space, s.about, error)
        return f"no share off by more than {max((s.about - low).max(), (high - s.about).max()):.2g}"

    def scene(self, s: Subject) -> Scene:
        if s.about.size == 3:
            return _triangle(s)
        bars = None if s.error is None else shares_within(s.space, s.about, s.error)
        reach = shares_within(s.space, s.centre, s.radius)
        return Scene([intervals(s, "part", "share", reach, bars, least=0.0)])


def shares_within(space: Space, shares: Array, distance: float) -> Range:
    """Return the least and the largest that each part of a composition within a distance of this one can be.

    By square roots: part j is cos² of an angle, which changes by half the distance at most.  By ratios: a ratio of two parts
    changes by a factor of e^(√2·distance) at most, and so do the odds of a part, a sum of such ratios.
    """
    if isinstance(space, Aitchison):
        factor = float(np.exp(min(np.sqrt(2) * distance, BEYOND)))
        return shares / (shares + (1 - shares) * factor), shares * factor / (shares * factor + 1 - shares)
    away = np.arccos(np.clip(np.sqrt(shares), 0.0, 1.0))
    low = np.minimum(away + distance / 2, np.pi / 2)
    high = np.maximum(away - distance / 2, 0.0)
    return np.cos(low) ** 2, np.cos(high) ** 2


def _triangle(s: Subject) -> Scene:
    """Return every composition within the error, and the public ball, as far as they lie in the triangle."""
    fifths = [(part, tick, 1 - tick) for tick in np.arange(0.2, 0.9, 0.2) for part in range(3)]
    grid = [np.roll([[one, 0.0, rest], [one, rest, 0.0]], part, axis=1) @ CORNERS for part, one, rest in fifths]
    marks: list[Mark] = [Line(broken(grid), Role.FRAME), Line(closed(CORNERS), Role.TIE)]
    for part, (corner, up) in enumerate(zip(CORNERS, (8.0, -8.0, -8.0), strict=True)):
        marks.append(Words(corner, s.called(part) if s.names else f"part {part + 1}", move=(0.0, up)))
    ground = Panel(marks, np.array([-0.1, -0.1]), np.array([1.1, 1.0]), size=(3.8, 3.5))
    error = None if s.error is None else _round(s.space, s.point, s.error)
    region = _round(s.space, s.base, s.radius)
    return mapped(s, ground, lambda shares: shares @ CORNERS, region, error, CLOSE, " of a side")


def _round(space: Space, point: Points, distance: float) -> Array:
    """Return points once round a composition of three parts at a distance, in the triangle.

    A geodesic that leaves it stops at its side: that shows the whole ball, as shortest ways between compositions stay inside.
    """
    ways = space.from_coordinates(point, CIRCLE)
    lengths = np.full(len(CIRCLE), min(distance, BEYOND))
    if isinstance(space, Simplex):  # x·cos t + u·sin t is 0 in a part at t = atan2(x, −u), half the length
        lengths = np.minimum(lengths, 2 * np.arctan2(np.maximum(point / 2, 0.0), -ways).min(axis=1))
    return np.asarray(space.present(space.exp(point, lengths[:, None] * ways)) @ CORNERS)
