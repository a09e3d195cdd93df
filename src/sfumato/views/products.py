"""Points made of several parts: a table of each, under its own heading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..spaces.product import Product
from .base import MOST_ROWS, Links, Table
from .figures import grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..release import Release

Row = tuple[str, ...]
HEADER: Row = ("Part", "Number", "Value", "Public centre")


class Products(Table):
    """Each number by itself: the error is one for all parts together, so no part is drawn with one of its own."""

    def things(self, release: Release) -> str:
        names = [part["name"] for part in release.space.parameters["parts"]]
        return f"points with {len(names)} parts ({', '.join(names)})"

    def table(self, release: Release) -> tuple[Sequence[str], list[Row]]:
        parts = _parts(release)
        if parts is None:
            return super().table(release)
        return HEADER, [row for rows in parts for row in rows]

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        """The first numbers of every part, so that none is left out for the length of another."""
        parts = _parts(release)
        if parts is None:
            return super().draw(release, p, outline)
        shown = list[Row]()
        for rows in parts:
            most = max(2, MOST_ROWS // len(parts))
            shown += rows[:most]
            shown += [(rows[0][0], "…", f"{len(rows) - most} more", "")] if len(rows) > most else []
        return grid(HEADER, shown)


def _parts(release: Release) -> list[list[Row]] | None:
    """For each part a row for each of its numbers; None where a part is not known here."""
    space = release.space.known
    if not isinstance(space, Product):
        return None
    made = list[list[Row]]()
    both = zip(space.parts, space.split(release.value), space.split(release.ball.center), strict=True)
    for i, (part, value, centre) in enumerate(both, start=1):
        told = zip(np.ndindex(value.shape), value.ravel(), centre.ravel(), strict=True)
        places = ((", ".join(str(k + 1) for k in place), f"{x:.6g}", f"{c:.6g}") for place, x, c in told)
        made.append([(f"{i}: {part.name}", *row) for row in places])
    return made
