"""Vectors of a Euclidean space: every coordinate, give or take the error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .base import Links, View, chart_of, error_or_none, noise_of, population_of
from .figures import PAIR, QUIET, figure, intervals, plain, top_legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..release import Release


class Vectors(View):
    entry, exact_up_to = "Coordinate", np.inf
    nameable = True

    def things(self, release: Release) -> str:
        return f"vectors of {release.value.size} numbers"

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        value, centre, r = release.value, np.asarray(release.ball.center, dtype=np.float64), release.ball.radius
        error, noise, region = error_or_none(release, p), noise_of(release, p), chart_of(release)
        half = error if noise is None else np.linalg.norm(noise.moves(len(noise.w)), axis=1)
        bars = None if half is None else (value - half, value + half)
        reach = r if region is None else np.linalg.norm(region.axes[:, None] * region.basis, axis=0)
        found = population_of(release, p)
        half = None if found is None else np.linalg.norm(found.moves(len(found.w)), axis=1)
        at = release.raw
        known = None if half is None else (at - half, at + half)
        ranges = (bars, centre, (centre - reach, centre + reach), known)
        return intervals(release, p, "coordinate", value, *ranges, names=self.names)

    def draw_pair(self, releases: Mapping[str, Release], radius: float, links: Links | None = None) -> Figure:
        """Each coordinate of both, with the region of its population's mean."""
        drawn = figure(float(np.clip(2.5 + 0.6 * next(iter(releases.values())).value.size, 6, 9)), 5.2)
        axes = drawn.add_subplot()
        for shift, color, (name, release) in zip((-0.12, 0.12), PAIR, releases.items(), strict=True):
            at, found = np.arange(1, release.value.size + 1) + shift, population_of(release, 0.95)
            half = np.zeros(len(at)) if found is None else np.linalg.norm(found.moves(len(found.w)), axis=1)
            axes.errorbar(at, release.raw, half, color=color, ls="", marker="os"[shift > 0], capsize=4, label=name)
        axes.plot([], [], color=QUIET, marker="|", ls="-", label="95% region for each population's mean")
        axes.set(xlabel="coordinate", ylabel="value", xticks=np.arange(1, release.value.size + 1))
        plain(axes)
        top_legend(axes, 3)
        return drawn
