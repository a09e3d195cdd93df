"""Where the mean of a population lies, by a private release of the mean of a sample (Result 6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..laws.calibration.population import check_level, sum_quantile, variance_bound
from ..numerics.arrays import Array, Points

if TYPE_CHECKING:
    from .record import Release


@dataclass(frozen=True, eq=False)
class PopulationRegion:
    """{‖w − w̃‖ ≤ q} in the chart of a release: it holds the population's mean there with the stated confidence.

    Attributes
    ----------
    level : float
        The confidence, such as 0.95.
    chart_radius : float
        q, in the chart's norm, in which the public region has size 1.
    semi_axes : array
        q times the semi-axes of the public region: the region's own, as lengths in the space.
    bias : float or None
        How far the chart's mean may be from the Fréchet mean of the clipped population, beyond the region; None: not known.
    """

    release: Release
    level: float
    chart_radius: float
    semi_axes: Array
    bias: float | None

    @property
    def radius(self) -> float:
        """The longest semi-axis."""
        return float(self.semi_axes.max())

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Which points of the space lie in the region, as they look from the chart's centre."""
        distance = chart_coordinates(self.release, points) - released_coordinates(self.release)
        return np.asarray(np.linalg.norm(distance, axis=1) <= self.chart_radius)

    @property
    def size(self) -> str:
        """The semi-axes: one, or the shortest and the longest."""
        low, high = self.semi_axes.min(), self.semi_axes.max()
        return f"{high:.3g}" if np.isclose(low, high) else f"{low:.3g} to {high:.3g}, depending on direction"

    @property
    def words(self) -> str:
        """What it says, in a sentence that a paper can use."""
        release, scalar = self.release, self.release.scalar
        what = "the mean of the population" if scalar is None else f"{scalar.mean}, in the population,"
        value = "released mean" if scalar is None else "released value"
        region = "region that was found privately" if release.found else "public region"
        clipped = f"It is the mean of the population as clipped to the {region}."
        clipped = (
            clipped if scalar is None else f"In the population too, {scalar.each} count as held to the public limits."
        )
        spent = release.spread is not None
        spread = "" if spent else ", taking the records as spread out as their public region allows"
        return (
            f"With {self.level:.0%} confidence {what} lies within {self.size}{',' * (', ' in self.size)} of the {value} "
            f"(n = {release.n}; sampling error and privacy noise at epsilon {release.guarantee.epsilon:g} together{spread}). "
            f"{clipped}"
        )


def chart_coordinates(release: Release, points: ArrayLike) -> Array:
    """w of points in the chart of a release by chart, not clipped."""
    from ..regions import Ellipsoid

    space, found = release.space.known, release.chart
    if space is None or found is None:
        raise ValueError(
            f"the space {release.space.name!r} is not known here" if found else "this release has no chart"
        )
    chart = Ellipsoid(space, release.ball.center, found.axes, found.basis)
    canonical: Points = space.validate(points)
    return np.asarray(space.coordinates(chart.center, space.log(chart.center, canonical)) @ chart.basis.T / chart.axes)


def released_coordinates(release: Release) -> Array:
    """w̃, as it was drawn: beyond the cut locus of the centre the chart's coordinates of the released point are others."""
    found = release.chart
    if found is not None and found.point is not None:
        return np.array(found.point)
    return np.asarray(chart_coordinates(release, release.raw[None])[0])


def chart_variance(release: Release, level: float) -> float:
    """V of Result 6 by what was released of the spread; 1 without it, the most that the public region allows."""
    spread = release.spread
    if spread is None or spread.second_moment is None:
        return 1.0
    w = released_coordinates(release)
    numbers = (len(w), release.calibration.sigma, spread.second_moment, spread.scale, float(np.linalg.norm(w)))
    return variance_bound(level, release.n, release.guarantee.epsilon, *numbers)


def population_region(release: Release, level: float) -> PopulationRegion:
    """The region of a release; see :meth:`Release.region`."""
    check_level(level)
    chart, n = release.chart, release.n
    if chart is None or release.mechanism.name != "tangent":
        raise ValueError(
            f"a release by {release.mechanism.name} has no region for the population's mean: release it with "
            "private_mean(…, inference=0.1), which spends a tenth of epsilon on the spread of the records"
        )
    p, sigma, variance = len(chart.axes), release.calibration.sigma, chart_variance(release, level)
    cell = release.lattice_spacing / 2 * np.sqrt(p)
    q = _quantile(level, p, sigma, variance / n) + float(cell)
    bias = release.bias if release.bias is not None else chart.bias
    return PopulationRegion(release, level, q, q * np.asarray(chart.axes), bias)


@lru_cache(maxsize=256)
def _quantile(level: float, p: int, sigma: float, variance: float) -> float:
    return sum_quantile(level, p, [sigma], variance)
