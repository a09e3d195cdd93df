"""Vectors of a Euclidean space: every coordinate, give or take the error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .base import View, error_or_none, numbered
from .figures import intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..release import Release


class Vectors(View):
    def things(self, release: Release) -> str:
        return f"vectors of {release.value.size} numbers"

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        return ("Coordinate", "Value"), numbered(release.value.reshape(-1, 1))

    def laplace(self, release: Release) -> str | None:
        return ""

    def draw(self, release: Release, p: float, outline: Sequence[int] | None = None) -> Figure:
        value, centre, r = release.value, np.asarray(release.ball.center, dtype=np.float64), release.ball.radius
        error = error_or_none(release, p)
        bars = None if error is None else (value - error, value + error)
        return intervals(release, p, "coordinate", value, bars, centre, (centre - r, centre + r))
