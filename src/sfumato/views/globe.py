"""A globe from straight above a direction: its degrees, and the coasts of the Earth."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files

import numpy as np

from ..numerics.arrays import Array
from .scene import CIRCLE, Dots, Line, Mark, Panel, Role, Scene, Words

COARSE = 0.15  # how much of the globe must be in view for coasts that are right to a third of a degree
STEPS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
LEAST_ROOM = 0.13  # between the words of two lines, in parts of what is shown


class Globe:
    """A sphere of radius 1 from straight above a direction, as far as ``reach``, a part of its radius, is shown."""

    def __init__(self, view: Array, reach: float = 1.0) -> None:
        self.view = view / np.linalg.norm(view)
        self.reach = reach
        self.whole = reach >= 1.0
        axis = np.array([0.0, 0.0, 1.0]) if abs(self.view[2]) < 0.98 else np.array([0.0, 1.0, 0.0])
        up = axis - (axis @ self.view) * self.view
        up /= np.linalg.norm(up)
        self.frame = np.stack([np.cross(up, self.view), up, self.view])  # as rows: across, up and towards the eye

    def line(self, points: Array, role: Role, label: str = "") -> list[Mark]:
        """Return a line through unit vectors; faint on the far side, which a close-up does not show."""
        seen = points @ self.frame.T
        near = seen[:, 2:] >= 0
        marks: list[Mark] = [Line(np.where(near, seen[:, :2], np.nan), role, label)]
        if self.whole and not near.all():
            marks.append(Line(np.where(near, np.nan, seen[:, :2]), role, faint=True))
        return marks

    def dot(self, point: Array, role: Role, label: str = "") -> Dots:
        """Return the dot of a unit vector, faint on the far side."""
        x, y, depth = self.frame @ point
        return Dots(np.array([[x, y]]), role, label, faint=bool(depth < 0))

    def ground(self, degrees: bool, places: bool) -> list[Mark]:
        """Return the lines to read places by: parallels and meridians with their degrees, or the ends of the axes; coasts."""
        marks: list[Mark] = [Line(CIRCLE, Role.TIE)] if self.whole else []
        words: list[Mark] = []
        used: list[Array] = []
        for points, text, upright in graticule(self.view, self.reach):
            marks += self.line(points, Role.FRAME)
            at = _place(self.frame, points, self.reach, used, upright)
            words += [] if at is None else [Words(at, text)]
        for coast in coastlines() if places and self.reach > COARSE else ():
            seen = coast @ self.frame.T
            if (seen[:, 2] > 0).any():
                marks.append(Line(np.where(seen[:, 2:] > 0, seen[:, :2], np.nan), Role.COAST))
        if degrees:
            return marks + words
        ends = zip(("+x", "+y", "+z", "−x", "−y", "−z"), np.vstack([self.frame.T, -self.frame.T]), strict=True)
        shown = [Words(end[:2], text, move=(0.0, 8.0)) for text, end in ends if end[2] > -0.2]
        return [*marks, *shown] if self.whole else marks


def globes(view: Array, angle: float, close: float, times: float, marks: Callable[[Globe], list[Mark]]) -> Scene:
    """Return a globe with these marks; and closer, where the angle that they take up is smaller than ``close``."""
    edge = np.full(2, 1.12)
    whole = Panel(marks(Globe(view)), -edge, edge, size=(4.6, 4.6))
    if angle >= close:
        return Scene([[whole]])
    near = Globe(view, min(0.99, times * float(np.sin(angle))))
    edge = np.full(2, near.reach)
    across = 2 * times * angle
    title = f"close up: {np.degrees(across):.2g}°, {across:.2g} rad across"
    return Scene([[replace(whole, size=(3.6, 3.6)), Panel(marks(near), -edge, edge, title, (3.6, 3.6), boxed=True)]])


def cap(axis: Array, angle: float) -> Array:
    """Return unit vectors once round another, at an angle to it."""
    across = np.linalg.svd(axis[None])[2][1:]
    return np.asarray(np.cos(angle) * axis + np.sin(angle) * (CIRCLE @ across))


def is_place(names: tuple[str, ...]) -> bool:
    """Return whether two angles of these names are a latitude and a longitude, on the Earth as far as anybody can tell.

    >>> is_place(("lat", "lon")), is_place(("ra", "dec"))
    (True, False)
    """
    return len(names) == 2 and all(any(word in name.lower() for word in ("lat", "lon", "lng")) for name in names)


@lru_cache(maxsize=1)
def coastlines() -> list[Array]:
    """Return coasts of the Earth as lines of unit vectors."""
    text = files(__package__).joinpath("coastlines.csv").read_text(encoding="utf-8")
    lines = [np.array(line.split(","), dtype=np.float64) for line in text.splitlines() if not line.startswith("#")]
    angles = [np.radians(line.reshape(-1, 2).T / 10) for line in lines]
    return [_at(latitude, longitude) for longitude, latitude in angles]


def graticule(view: Array, reach: float) -> Iterator[tuple[Array, str, bool]]:
    """Yield parallels and meridians, every 30° or a handful in a close-up: unit vectors, degrees, whether it is a meridian."""
    latitude = np.degrees(np.arcsin(view[2]))
    longitude = np.degrees(np.arctan2(view[1], view[0]))
    width = float(np.degrees(np.arcsin(min(reach, 1.0))))
    step = next((s for s in STEPS if s >= width / 3), 30)
    half = 180.0 if reach >= 1 else 1.5 * width
    shrink = max(float(np.hypot(view[0], view[1])), half / 180)  # meridians crowd towards the poles
    parallels = _multiples(max(latitude - half, -89.9), min(latitude + half, 89.9), step)
    across = min(180.0, half / shrink)
    few = next((s for s in STEPS if s >= max(step, 2 * across / 14)), 30)
    meridians = _multiples(longitude - across, longitude + across, few)[: round(360 / few)]
    turn = np.radians(longitude + across * np.linspace(-1, 1, 361))
    along = np.radians(np.linspace(max(latitude - half, -90.0), min(latitude + half, 90.0), 361))
    for b in parallels:
        yield _at(np.radians(b), turn), _degrees(b, "NS", step), False
    for a in meridians:
        yield _at(along, np.radians(a)), _degrees((a + 180) % 360 - 180, "EW", few), True


def _at(latitude: Array | float, longitude: Array | float) -> Array:
    b, a = np.broadcast_arrays(np.asarray(latitude, dtype=np.float64), np.asarray(longitude, dtype=np.float64))
    return np.stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)], axis=-1)


def _multiples(low: float, high: float, step: float) -> Array:
    return step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)


def _degrees(x: float, ends: str, step: float) -> str:
    """Return degrees as 30°N or 120°W, with as many digits as the step has."""
    digits = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
    return f"{abs(x):.{digits}f}°{ends[int(x < 0)] if round(abs(x), 6) not in (0.0, 180.0) else ''}"


def _place(frame: Array, points: Array, reach: float, used: list[Array], upright: bool) -> Array | None:
    """Return where a line's words stand, inside at the left or, of a meridian, the bottom; None where others stand already."""
    limit = 0.9 * min(reach, 1.0)
    x, y, depth = frame @ points.T
    seen = np.stack([x, y], axis=1)[(depth > 0) & (np.maximum(np.abs(x), np.abs(y)) <= 1.02 * limit)]
    seen = seen[np.linalg.norm(seen, axis=1) < limit] if reach >= 1 else seen
    if not len(seen):
        return None
    place = np.asarray(seen[np.argmin(seen[:, int(upright)])])
    room = LEAST_ROOM * min(reach, 1.0)
    if any((np.abs(place - other) < [1.5 * room, 0.7 * room]).all() for other in used):
        return None
    used.append(place)
    return place
