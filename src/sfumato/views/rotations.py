"""Rotations of space: where they take the three axes, with a soft cap about each end."""

import numpy as np

from ..numerics.arrays import Array
from .base import View
from .directions import angle_label
from .globe import Globe, cap
from .scene import CIRCLE, Dots, Line, Mark, Panel, Role, Scene, Words, blur, marker
from .subject import Subject

EYE = np.array([0.8, 0.45, 0.4])  # where the picture is seen from


class Rotations(View):
    records = "rotations of space"
    not_a_point = "the released matrix is not a rotation"
    entry = ""
    columns = "123"
    centers = ("origin", "identity")
    bounded = "a rotation by {degrees:.3g}°"
    note = "A rotation by an angle moves no axis by more than that: each cap holds its axis, all three at once."

    def seen(self, s: Subject) -> str:
        angle = np.degrees(np.arccos(np.clip((np.trace(s.centre.T @ s.about) - 1) / 2, -1.0, 1.0)))
        return f"It is turned by {angle:.3g}° from the public centre."

    def scene(self, s: Subject) -> Scene:
        """Return the images of the axes x, y, z on the unit sphere, seen from one side; what points away is faint."""
        globe = Globe(EYE)
        marks: list[Mark] = [Line(CIRCLE, Role.FRAME)]
        size = 5.0
        if s.error is not None:
            angle = min(s.error, np.pi)
            size = marker(160 * angle, 5.0)
            for axis in s.about.T:
                *at, depth = globe.frame @ axis
                edge = cap(axis, angle) @ globe.frame[:2].T
                marks += blur([edge], [np.array([at])], angle_label(s, angle), faint=bool(depth < 0))
        marks += _axes(globe, s.centre, Role.CENTRE, s.public, 5.0)
        for other in () if s.others is None else s.others:
            marks += [globe.dot(axis, s.role, s.others_label) for axis in other.T]
        if s.value is not None:
            marks += _axes(globe, s.value, Role.VALUE, s.name, size)
        for name, (x, y, depth) in zip("xyz", (globe.frame @ s.about).T, strict=True):
            away = 1.0 + 0.09 / max(float(np.hypot(x, y)), 0.3)
            marks.append(Words(away * np.array([x, y]), name, Role.VALUE, faint=bool(depth < 0)))
        return Scene([[Panel(marks, np.full(2, -1.2), np.full(2, 1.2), size=(4.6, 4.6))]])


def _axes(globe: Globe, matrix: Array, role: Role, label: str, size: float) -> list[Mark]:
    """Return a line and a dot for the image of each axis."""
    marks: list[Mark] = []
    for x, y, depth in (globe.frame @ matrix).T:
        end = np.array([[x, y]])
        marks.append(Line(np.concatenate([0 * end, end]), role, label, faint=bool(depth < 0)))
        marks.append(Dots(end, role, faint=bool(depth < 0), size=size))
    return marks
