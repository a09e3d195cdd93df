"""Spaces that are shown as tables: products, a table of each part; subspaces and frames, their vectors."""

import numpy as np

from ..spaces.product import Product
from .base import MOST_ROWS, Rows, View, numbered
from .scene import Scene
from .subject import Subject

Row = tuple[str, ...]
HEADER: Row = ("Part", "Number", "Value", "Public centre")


class Products(View):
    """Each number by itself: the error is one for all parts together, so no part is drawn with one of its own."""

    def things(self, s: Subject) -> str:
        names = [part["name"] for part in s.space_of.parameters["parts"]]
        return f"points with {len(names)} parts ({', '.join(names)})"

    def table(self, s: Subject) -> Rows:
        rows = [row for rows in _parts(s) for row in rows]
        return (HEADER, rows) if rows else super().table(s)

    def scene(self, s: Subject) -> Scene:
        """Return the first numbers of every part, so that none is left out for the length of another."""
        parts = _parts(s)
        if not parts or s.value is None:
            return super().scene(s)
        most = max(2, MOST_ROWS // len(parts))
        shown = list[Row]()
        for rows in parts:
            shown += rows[:most]
            shown += [(rows[0][0], "…", f"{len(rows) - most} more", "")] if len(rows) > most else []
        return Scene(header=HEADER, table=shown)


def _parts(s: Subject) -> list[list[Row]]:
    """Return for each part a row for each of its numbers; none where a part is not known here."""
    space = s.space_of.known
    parts = list[list[Row]]()
    if not isinstance(space, Product):
        return parts
    both = zip(space.parts, space.split(s.about), space.split(s.centre), strict=True)
    for i, (part, value, centre) in enumerate(both, start=1):
        places = [", ".join(str(k + 1) for k in place) for place in np.ndindex(value.shape)]
        rows = numbered(np.stack([value.ravel(), centre.ravel()], axis=1), places)
        parts.append([(f"{i}: {part.name}", *row) for row in rows])
    return parts


class Frames(View):
    records = "frames of {m} vectors in {k} dimensions"
    origin = "the first axes"

    def table(self, s: Subject) -> Rows:
        return ("Coordinate", *(f"Vector {j + 1}" for j in range(s.about.shape[1]))), numbered(s.about)


class Subspaces(Frames):
    def things(self, s: Subject) -> str:
        n, p = s.about.shape
        own = "1 dimension" if p == 1 else f"{p} dimensions"
        return f"subspaces of {own} in {n} dimensions"

    def meaning(self, s: Subject, error: float) -> str:
        """Return the error as an angle: no principal angle is larger than the distance, and a chart shortens no distance, as no
        curvature is negative."""
        return f"every principal angle at most {np.degrees(error):.3g}°" if error < np.pi / 2 else ""
