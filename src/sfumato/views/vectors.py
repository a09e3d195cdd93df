"""Vectors of a Euclidean space: every coordinate, give or take the error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .base import View, chart_of, error_or_none, noise_of
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
        error, noise, region = error_or_none(release, p), noise_of(release, p), chart_of(release)
        half = error if noise is None else np.linalg.norm(noise.moves(len(noise.w)), axis=1)
        bars = None if half is None else (value - half, value + half)
        reach = r if region is None else np.linalg.norm(region.axes[:, None] * region.basis, axis=0)
        return intervals(release, p, "coordinate", value, bars, centre, (centre - reach, centre + reach))
