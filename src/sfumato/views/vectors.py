"""Vectors of a Euclidean space: every coordinate, give or take the error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .base import View, error_or_none
from .figures import intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..release import Release


class Vectors(View):
    entry, exact_up_to = "Coordinate", np.inf

    def things(self, release: Release) -> str:
        return f"vectors of {release.value.size} numbers"

    def draw(self, release: Release, p: float, outline: Sequence[int] | None = None) -> Figure:
        value, centre, r = release.value, np.asarray(release.ball.center, dtype=np.float64), release.ball.radius
        error = error_or_none(release, p)
        bars = None if error is None else (value - error, value + error)
        return intervals(release, p, "coordinate", value, bars, centre, (centre - r, centre + r))
