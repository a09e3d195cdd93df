"""Curves and outlines over the public reference, with a band as wide as the noise moves them across themselves."""

from collections.abc import Iterable

import numpy as np

from ..landmarks.outlines import crosses_itself
from ..numerics.arrays import Array
from ..spaces import ElasticCurves
from .base import View
from .bending import larger, magnified
from .scene import Dots, Line, Mark, Panel, Role, Scene, Soft, around, broken, closed
from .subject import Noise, Subject


class Curves(View):
    records = "planar curves of {k} points"
    entry = "Point"
    columns = "xy"
    origin = "a straight line, or a regular polygon"

    def shown(self, s: Subject) -> str:
        if s.noise is None:
            return "The error is one number for the whole curve, so no band is drawn."
        within = f"lies within the band with probability {s.p:g}, taken by itself"
        return f"Across the curve, each point of that mean {within}."

    def scene(self, s: Subject) -> Scene:
        assert isinstance(s.space, ElasticCurves)
        ring = s.space.closed
        reference = s.space.present(s.base)
        marks: list[Mark] = []
        widths = np.zeros(len(reference)) if s.noise is None else across(s.noise, s.about, ring)
        times = magnified(reference, s.about, float(widths.max()))
        every = (s.about, *(() if s.others is None else s.others))
        curve, *others = (reference + times * (x - reference) for x in every)
        if s.noise is not None:
            marks += band(curve, times * widths, ring, f"{s.error_label}, across the curve{larger(times)}")
        marks += overlaid(s, reference, curve, others, ring, times)
        margin = times * float(widths.max()) + 0.03 * float(np.ptp(reference, axis=0).max())
        low, high = around([reference, curve, *others], margin)
        tall = float(np.clip(7.2 * np.divide(*(high - low)[::-1]), 2.0, 6.0))
        return Scene([[Panel(marks, low, high, size=(7.2, tall))]])


def overlaid(s: Subject, reference: Array, curve: Array, others: Iterable[Array], ring: bool, times: int) -> list[Mark]:
    """Return the public curve, and as lines so many times as far from it the released one, if there is one, and others."""
    end = closed if ring else np.asarray
    marks: list[Mark] = [Line(end(x), s.role, s.others_label, variant=i) for i, x in enumerate(others)]
    marks.append(Line(end(reference), Role.CENTRE, s.public))
    if s.value is not None:
        name = f"{s.name}{larger(times, 'differences')}"
        marks += [Line(end(curve), Role.VALUE, name), Dots(curve, Role.VALUE, size=2.5)]
    return marks


def looks_like_an_outline(landmarks: Array) -> bool:
    """Return whether landmarks follow a closed curve: 20 or more, no step longer than a quarter of the whole, no crossing.

    >>> angle = 2 * np.pi * np.arange(30) / 30
    >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> looks_like_an_outline(circle), looks_like_an_outline(np.random.default_rng(0).permutation(circle))
    (True, False)
    """
    steps = np.linalg.norm(landmarks - np.roll(landmarks, 1, axis=0), axis=1)
    size = np.linalg.norm(np.ptp(landmarks, axis=0))
    return len(landmarks) >= 20 and bool(steps.max() <= size / 4) and not bool(crosses_itself(landmarks))


def hull(landmarks: Array) -> list[Mark]:
    """Return the hull of landmarks in the plane, washed pale; nothing where they lie on a line."""
    from scipy.spatial import ConvexHull

    if len(landmarks) < 3 or np.linalg.svd(landmarks - landmarks.mean(axis=0))[1][1] < 1e-6 * np.ptp(landmarks):
        return []
    return [Line(closed(landmarks[ConvexHull(landmarks).vertices]), Role.FRAME, fill=True)]


def across(noise: Noise, curve: Array, ring: bool) -> Array:
    """Return how far the noise leaves each point of a curve off, across the curve."""
    moves = noise.moves(1).reshape(len(curve), 2, -1)
    return np.asarray(np.linalg.norm(np.einsum("ki,kip->kp", _normals(curve, ring), moves), axis=1))


def _normals(curve: Array, ring: bool) -> Array:
    """Return unit vectors across a curve at its points."""
    padded = np.pad(curve, ((1, 1), (0, 0)), mode="wrap" if ring else "edge")
    normals = (padded[2:] - padded[:-2])[:, ::-1] * [-1.0, 1.0]
    return np.asarray(normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300))


def sides_of(curve: Array, widths: Array, ring: bool) -> list[Array]:
    """Return the curves so far to both sides of a curve."""
    away = widths[:, None] * _normals(curve, ring)
    return [closed(side) if ring else side for side in (curve + away, curve - away)]


def band(curve: Array, widths: Array, ring: bool, label: str) -> tuple[Soft, Line]:
    """Return all places within these widths of a curve, darker towards it."""
    one, two = sides_of(curve, widths, ring)
    line = closed(curve) if ring else curve
    edges = np.stack([one[:-1], one[1:], two[1:], two[:-1]], axis=1)
    cores = np.stack([line[:-1], line[1:], line[1:], line[:-1]], axis=1)
    return Soft(list(edges), list(cores), label), Line(broken([one, two]), Role.NOISE)
