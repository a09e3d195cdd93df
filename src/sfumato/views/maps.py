"""Points on a map: with what the error leaves open about one, the edge of the public region, the centre, and other points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..numerics.arrays import Array
from .scene import Dots, Line, Mark, Panel, Role, Scene, blur, broken
from .subject import Subject

HERE = (np.zeros(2),)


def mapped(
    s: Subject,
    ground: Panel,
    place: Callable[[Array], Array],
    region: Array,
    error: Array | None,
    close: float,
    unit: str,
    again: Sequence[Array] = HERE,
) -> Scene:
    """Return the map, on a panel that holds its ground; and closer, where the error is smaller than ``close`` on it.

    ``place`` says where a point stands, ``region`` and ``error`` are the edges of both, drawn ``again`` at every shift.
    """
    at = place(s.about)
    marks: list[Mark] = [
        *ground.marks,
        Line(broken(region + shift for shift in again), Role.REACH, "range of clipped records"),
    ]
    half = np.inf
    if error is not None:
        half = float(np.abs(error - at).max())
        marks += blur([error + shift for shift in again], [(at + shift)[None] for shift in again], s.error_label)
    marks.append(Dots(place(s.centre)[None], Role.CENTRE, "public centre"))
    if s.others is not None:
        marks.append(Dots(np.stack([place(other) for other in s.others]), s.role, size=4.0))
    if s.value is not None:
        marks.append(Dots(at[None], Role.VALUE, s.name))
    whole = replace(ground, marks=marks)
    if half >= close:
        return Scene([[whole]])
    return Scene([[whole, whole.closer(at, half, f"close up: {3.2 * half:.2g}{unit} across")]], columns=4)
