"""Directions, and axes, which have no sense: on a circle, on a globe, or by their coordinates."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ..numerics.arrays import Array
from .base import View
from .globe import Globe, cap, globes
from .layouts import intervals, near
from .scene import CIRCLE, GROUPS, TURN, Dots, Line, Mark, Panel, Role, Scene, Soft, Words, blur, marker
from .subject import Noise, Subject

CLOSE = 0.25  # radians: an error that is smaller is shown a second time, larger
FAR = 0.5  # the same for two directions
QUARTERS = ("0°", "90° = π/2", "180° = π", "270° = 3π/2")  # of a circle, in degrees and radians


class Directions(View):
    records = "directions in {k} dimensions"
    not_a_point = "the released vector has length {length:.3g}: it is not a point of the sphere"
    origin = "an arbitrary pole"
    entry = "Coordinate"
    undirected = False

    def meaning(self, s: Subject, error: float) -> str:
        return f"an angle of {np.degrees(cap_angle(s, error)):.3g}°" if length(s.about) > 0 else ""

    def seen(self, s: Subject) -> str:
        if s.degrees is not None:
            return f"In degrees it is {in_degrees(s.degrees)}."
        if s.about.size > 3:
            return ""
        return f"Its coordinates are {', '.join(f'{x:.3g}' for x in s.about)}."

    def scene(self, s: Subject) -> Scene:
        if length(s.about) == 0 or s.about.size > 3:
            return self._coordinates(s)
        return self._circle(s) if s.about.size == 2 else self._globes(s)

    def pair(self, subjects: Mapping[str, Subject], radius: float) -> Scene:
        """Return both on one globe, and closer where they lie close together."""
        first, second = subjects.values()
        if first.about.shape != (3,) or min(length(first.about), length(second.about)) == 0:
            return super().pair(subjects, radius)
        near = replace(second, value=self._facing(first, second.about))
        both = dict(zip(subjects, (first, near), strict=True))
        ends = [unit(s.about) for s in both.values()]
        middle = ends[0] + ends[1]
        view = ends[0] if length(middle) < 0.1 else unit(middle)
        edges = {name: self._edge(s, s.region) for name, s in both.items()}
        angle = max(_widest(view, points) for points in (np.stack(ends), *edges.values()) if points is not None)
        return globes(view, angle, FAR, 1.25, lambda globe: _pair(globe, both, edges))

    def _facing(self, s: Subject, points: Array) -> Array:
        """Return points as they are; of axes the ends on the side of the released one."""
        if not self.undirected:
            return points
        return np.asarray(np.where((points @ s.about)[..., None] < 0, -points, points))

    def _edge(self, s: Subject, noise: Noise | None) -> Array | None:
        """Return directions round what the noise, or a region, leaves open, if it has a shape on this side of the globe."""
        if noise is None or len(noise.w) > 2:
            return None
        edge = self._facing(s, noise.edge(CIRCLE[:, : len(noise.w)]))
        return edge if (edge @ s.about > 0).all() else None

    def _coordinates(self, s: Subject) -> Scene:
        """Return every coordinate with what the error leaves it: the range of a cap, or ± the error off the sphere."""
        s = replace(s, centre=self._facing(s, s.centre))
        bars = None
        if s.error is not None:
            caps = s.on_manifold and length(s.about) > 0
            bars = _cap_range(s.about, cap_angle(s, s.error)) if caps else (s.about - s.error, s.about + s.error)
        reach = _cap_range(s.centre, s.radius / length(s.centre))
        return Scene([intervals(s, "coordinate", "value", reach, bars)])

    def _circle(self, s: Subject) -> Scene:
        """Return the unit circle with both directions; of axes, with both ends of each."""
        at, centre = (float(np.arctan2(v[1], v[0])) for v in (s.about, self._facing(s, s.centre)))
        angle = None if s.error is None else cap_angle(s, s.error)
        others = np.empty(0) if s.others is None else np.arctan2(s.others[:, 1], s.others[:, 0])
        reach = min(s.radius / length(s.centre), np.pi)
        dial = circle(s, at, centre, reach, angle, others, self.undirected)
        s = replace(s, centre=self._facing(s, s.centre))
        return Scene([[dial, turned(s, lambda v: np.arctan2(v[1:], v[:1]), angle)]])

    def _globes(self, s: Subject) -> Scene:
        """Return a globe from above the direction; and closer, where what the error leaves open is small."""
        edges = [edge for noise in (s.noise, s.region) if (edge := self._edge(s, noise)) is not None]
        angles = [_widest(s.about, edge) for edge in edges]
        if s.error is not None and not (s.noise is not None and edges):
            angles.append(cap_angle(s, s.error))
        if s.others is not None:
            angles.append(_widest(s.about, s.others))
        angle = max(angles, default=np.pi)
        if angle < CLOSE:
            angle = near(angle, _widest(s.about, self._facing(s, s.centre)[None]))
        return globes(s.about, angle, FAR, 1.6, lambda globe: self._globe(s, globe))

    def _globe(self, s: Subject, globe: Globe) -> list[Mark]:
        where = length(s.about)
        marks = globe.ground(s.degrees is not None or s.value is None, s.places)
        if (region := self._edge(s, s.region)) is not None:
            marks += globe.line(region / where, Role.REGION, s.region_label)
        if s.error is not None:
            shape = self._edge(s, s.noise)
            edge = np.sin(min(cap_angle(s, s.error), np.pi / 2)) * CIRCLE
            label = angle_label(s, cap_angle(s, s.error))
            if shape is not None:
                edge = shape @ globe.frame[:2].T / where
                label = s.error_label
            marks += blur([edge], [np.zeros((1, 2))], label)
        marks += self._public(s, globe)
        shown = np.empty((0, 3)) if s.others is None else self._facing(s, s.others) / where
        marks += [globe.dot(other, s.role, s.others_label) for other in shown[shown @ globe.frame[2] > 0]]
        if s.value is not None:
            marks.append(Dots(np.zeros((1, 2)), Role.VALUE, s.name))
        return marks

    def _public(self, s: Subject, globe: Globe) -> list[Mark]:
        """Return the public centre and the edge of the public region."""
        scale = 1 / length(s.centre)
        centre = scale * self._facing(s, s.centre)
        edge = cap(centre, min(scale * s.radius, np.pi))
        name = f"edge of the {s.region_name}"
        if s.chart is not None and s.given_by_axes:
            edge = scale * self._facing(s, s.chart.point(CIRCLE[:, : len(s.chart.axes)]))
            name = "edge of the public ellipse"
        return [*globe.line(edge, Role.REACH, name), globe.dot(centre, Role.CENTRE, s.public)]


class Undirected(Directions):
    """Axes: the half of the globe about the released one, on which every axis has one end; on a circle both ends."""

    records = "axes in {k} dimensions"
    undirected = True

    def shown(self, s: Subject) -> str:
        return "Axes have no sense: the end nearer to the released one is shown." if s.about.size == 3 else ""


def cap_angle(s: Subject, error: float) -> float:
    """Return the angle about the released direction within which the direction of the statistic lies, if the error holds.

    Geodesic errors are arcs of radius 1/√κ, and no longer than those of a chart.  An ambient error is a Euclidean distance:
    between points of the sphere a chord, and about a vector v off the sphere a ball, which is seen from the origin under the
    angle arcsin(error/‖v‖).
    """
    q = np.sqrt(s.space_of.parameters.get("curvature", 1.0))
    if s.geodesic:
        return float(min(q * error, np.pi))
    if s.projected:
        return float(2 * np.arcsin(min(q * error / 2, 1.0)))
    size = length(s.about)
    return float(np.arcsin(error / size)) if error < size else float(np.pi)


def circle(s: Subject, at: float, centre: float, reach: float, error: float | None, others: Array, axis: bool) -> Panel:
    """Return an angle on a circle with what the error leaves open and how far records could lie; at each end of an axis."""
    marks: list[Mark] = [Line(CIRCLE, Role.TIE)]
    for quarter, words in enumerate(QUARTERS):
        tip = _arc(quarter * np.pi / 2, 0.0)[0]
        marks += [Line(np.stack([0 * tip, tip]), Role.FRAME), Words(tip * [1.32, 1.12], words)]
    for end in (0.0, np.pi) if axis else (0.0,):
        tip = _arc(at + end, 0.0)[:1]
        marks.append(Line(0.9 * _arc(centre + end, reach), Role.REACH, s.region_name))
        if error is not None:
            arc = _arc(at + end, error)
            core = np.repeat([[1.06], [0.94]], len(TURN), axis=0) * tip
            marks.append(Soft([np.concatenate([1.06 * arc, 0.94 * arc[::-1]])], [core], angle_label(s, error)))
        marks.append(Dots(0.9 * _arc(centre + end, 0.0)[:1], Role.CENTRE, s.public))
        marks += [Dots(_arc(float(other) + end, 0.0)[:1], s.role, s.others_label, size=4.0) for other in others]
        if s.value is not None:
            marks.append(Line(np.concatenate([0 * tip, tip]), Role.VALUE))
            marks.append(Dots(tip, Role.VALUE, s.name, size=6.0 if error is None else marker(160 * error)))
    edge = np.array([1.7, 1.3])
    return Panel(marks, -edge, edge, size=(3.6, 3.0))


def turned(s: Subject, read: Callable[[Array], Array], error: float | None) -> Panel:
    """Return angles as they are ``read`` of points, in degrees from those of the public centre, with what the error leaves."""
    centre = read(s.centre)

    def away(point: Array) -> Array:
        return np.asarray(np.degrees(np.angle(np.exp(1j * (read(point) - centre)))))

    bars = None if error is None else (away(s.about) - np.degrees(error), away(s.about) + np.degrees(error))
    label = angle_label(s, error or 0.0)
    (panel,) = intervals(s, "angle", f"degrees from the {s.public}", None, bars, read=away, label=label)
    return replace(panel, size=(min(3.0, 1.6 + 0.3 * centre.size), 3.0))


def _arc(at: float, half: float) -> Array:
    turn = at + np.linspace(-1, 1, len(TURN)) * min(half, np.pi)
    return np.stack([np.cos(turn), np.sin(turn)], axis=1)


def _pair(globe: Globe, subjects: Mapping[str, Subject], edges: Mapping[str, Array | None]) -> list[Mark]:
    """Return two directions, each with the region of its population's mean, and the shortest way between them."""
    degrees = all(s.degrees is not None for s in subjects.values())
    marks = globe.ground(degrees, all(s.places for s in subjects.values()))
    part = np.linspace(0, 1, 60)[:, None]
    ends = [unit(s.about) for s in subjects.values()]
    way = (1 - part) * ends[0] + part * ends[1]
    marks += globe.line(way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300), Role.TIE)
    for role, (name, s) in zip(GROUPS, subjects.items(), strict=True):
        edge = edges[name]
        if edge is not None:
            marks += globe.line(edge / length(s.about), role, f"{s.p:.0%} region, population of {name}")
        marks.append(globe.dot(unit(s.about), role, f"released mean of {name}"))
    return marks


def _cap_range(point: Array, angle: float) -> tuple[Array, Array]:
    """Return the least and the largest value of each coordinate within an angle of a point of a sphere."""
    size = length(point)
    away = np.arccos(np.clip(point / size, -1.0, 1.0))
    return size * np.cos(np.minimum(away + angle, np.pi)), size * np.cos(np.maximum(away - angle, 0.0))


def _widest(direction: Array, edge: Array) -> float:
    """Return the largest angle between a direction and those of an edge."""
    cosine = edge @ direction / (np.linalg.norm(edge, axis=1) * length(direction))
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)).max())


def angle_label(s: Subject, angle: float) -> str:
    """Return what an error is called that is this angle."""
    return f"{s.error_label}: {angle:.3g} rad, {np.degrees(angle):.3g}°"


def in_degrees(angles: Mapping[str, float]) -> str:
    """Return named angles as text."""
    return ", ".join(f"{name} {angle:.6g}" for name, angle in angles.items())


def unit(vector: Array) -> Array:
    """Return the vector of length 1 in this direction."""
    return vector / length(vector)


def length(vector: Array) -> float:
    """Return the Euclidean length."""
    return float(np.linalg.norm(vector))
