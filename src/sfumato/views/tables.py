"""Numbers side by side: of vectors, give or take the error, and of subspaces and frames; and products, a row for each part."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..release.record import SpaceOf
from ..spaces.product import Product
from .base import Rows, View, numbered
from .layouts import intervals
from .scene import Scene
from .subject import Subject

HEADER = ("Part", "Number", "Value", "Public centre")
COLUMNS = 3  # of vectors in a picture


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


class Products(View):
    """Each part as its own view shows it: the error is one for all parts together, so no part is drawn with one of its own."""

    note = "The error is one for all parts together, so none is drawn."

    def __init__(self, views: Mapping[str, View]) -> None:
        self.views = views

    def things(self, s: Subject) -> str:
        names = [part["name"] for part in s.space_of.parameters["parts"]]
        return f"points with {len(names)} parts ({', '.join(names)})"

    def table(self, s: Subject) -> Rows:
        rows: list[tuple[str, ...]] = []
        for i, part in enumerate(_parts(s), start=1):
            places = [", ".join(str(k + 1) for k in place) for place in np.ndindex(part.about.shape)]
            both = np.stack([part.about.ravel(), part.centre.ravel()], axis=1)
            rows += [(f"{i}: {part.space_of.name}", *row) for row in numbered(both, places)]
        return (HEADER, rows) if rows else super().table(s)

    def scene(self, s: Subject) -> Scene:
        """Return the first row of panels of each part."""
        rows = []
        for i, part in enumerate(_parts(s), start=1):
            first, *more = self.views[part.space_of.name].scene(part).rows[0]
            rows.append([replace(first, title=f"part {i}: {part.space_of.name}"), *more])
        return Scene(rows) if rows else super().scene(s)


def _parts(s: Subject) -> list[Subject]:
    """Return what is drawn of each part; nothing where a part is not known here."""
    space = s.space_of.known
    if not isinstance(space, Product):
        return []
    none = [None] * len(space.parts)
    points = (none if each is None else space.split(each) for each in (s.centre, s.value, s.others))
    words: dict[str, Any] = {"name": s.name, "public": s.public, "role": s.role, "others_label": s.others_label}
    return [
        Subject(SpaceOf.of(part), centre, s.radius / weight, value, others=others, **words)
        for part, weight, centre, value, others in zip(space.parts, space.weights, *points, strict=True)
    ]


class Frames(View):
    records = "frames of {m} vectors in {k} dimensions"
    origin = "the first axes"
    note = "The error is not drawn: it is a distance between all vectors together, and bounds no single number."

    def table(self, s: Subject) -> Rows:
        return ("Coordinate", *(f"Vector {j + 1}" for j in range(s.about.shape[1]))), numbered(s.about)

    def scene(self, s: Subject) -> Scene:
        """Return a panel for each vector."""
        panels = []
        for j in range(s.about.shape[1]):
            (panel,) = intervals(s, "coordinate", "value", read=lambda point, j=j: point[:, j])  # type: ignore[misc]
            panels.append(replace(panel, title=f"vector {j + 1}", size=(3.6, 3.0)))
        return Scene([panels[i : i + COLUMNS] for i in range(0, len(panels), COLUMNS)])


class Subspaces(Frames):
    def things(self, s: Subject) -> str:
        n, p = s.about.shape
        own = "1 dimension" if p == 1 else f"{p} dimensions"
        return f"subspaces of {own} in {n} dimensions"

    def meaning(self, s: Subject, error: float) -> str:
        """Return the error as an angle: no principal angle exceeds it, nor a chart's length, as no curvature is negative."""
        return f"every principal angle at most {np.degrees(error):.3g}°" if error < np.pi / 2 else ""
