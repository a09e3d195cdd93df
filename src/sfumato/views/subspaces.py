"""Subspaces and frames: the vectors in a table, and the error as an angle between subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .base import Table, numbered

if TYPE_CHECKING:
    from ..release import Release


class Frames(Table):
    origin = "the first axes"

    def things(self, release: Release) -> str:
        n, p = release.value.shape
        return f"frames of {p} vectors in {n} dimensions"

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        return ("Coordinate", *(f"Vector {j + 1}" for j in range(release.value.shape[1]))), numbered(release.value)


class Subspaces(Frames):
    def things(self, release: Release) -> str:
        n, p = release.value.shape
        return f"subspaces of {p} dimension{'s' * (p > 1)} in {n} dimensions"

    def meaning(self, release: Release, error: float) -> str:
        """No principal angle is larger than the distance; and a chart shortens no distance, as no curvature is negative."""
        return f"every principal angle at most {np.degrees(error):.3g}°" if error < np.pi / 2 else ""
