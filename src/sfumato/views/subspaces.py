"""Subspaces and frames: the vectors in a table, and the error as an angle between subspaces."""

from __future__ import annotations

import numpy as np

from .base import Rows, Table, numbered
from .subject import Subject


class Frames(Table):
    origin = "the first axes"

    def things(self, s: Subject) -> str:
        n, p = s.about.shape
        return f"frames of {p} vectors in {n} dimensions"

    def table(self, s: Subject) -> Rows:
        return ("Coordinate", *(f"Vector {j + 1}" for j in range(s.about.shape[1]))), numbered(s.about)


class Subspaces(Frames):
    def things(self, s: Subject) -> str:
        n, p = s.about.shape
        own = "1 dimension" if p == 1 else f"{p} dimensions"
        return f"subspaces of {own} in {n} dimensions"

    def meaning(self, s: Subject, error: float) -> str:
        """No principal angle is larger than the distance; and a chart shortens no distance, as no curvature is negative."""
        return f"every principal angle at most {np.degrees(error):.3g}°" if error < np.pi / 2 else ""
