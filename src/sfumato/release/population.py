"""Where the mean of a population lies, by a private release of the mean of a sample (Result 6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..laws.calibration.population import check_level, sum_quantile, variance_bound
from ..numerics.arrays import Array
from ..regions import Ellipsoid
from .record import stated_at
from .terms import COMBINED

if TYPE_CHECKING:
    from .record import Release

CONTRADICTED = 1.5  # times the whole error that was foreseen: after the draw, from which on there is no region
LEFT_OUT = 1.5  # times the noise: a whole error from which on there is none
_quantile = lru_cache(maxsize=256)(sum_quantile)


@dataclass(frozen=True, eq=False)
class PopulationRegion:
    """{‖w − w̃‖ ≤ q} in the chart of a release: it holds the population's mean there with the stated confidence."""

    release: Release
    level: float  # the confidence, such as 0.95
    chart_radius: float  # q, in the chart's norm, in which the public region has size 1
    semi_axes: Array  # q times those of the public region: the region's own, as lengths in the space
    bias: float | None  # how far the chart's mean may be from the clipped population's Fréchet mean; None: not known

    @property
    def radius(self) -> float:
        """The longest semi-axis."""
        return float(self.semi_axes.max())

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Return which points of the space lie in the region, as they look from the chart's centre."""
        distance = chart_coordinates(self.release, points) - released_coordinates(self.release)
        return np.asarray(np.linalg.norm(distance, axis=1) <= self.chart_radius)

    @property
    def is_round(self) -> bool:
        """Whether all semi-axes are alike."""
        return bool(np.isclose(self.semi_axes.min(), self.radius))

    @property
    def size(self) -> str:
        """The semi-axes: one, or the shortest and the longest."""
        if self.is_round:
            return f"{self.radius:.3g}"
        return f"{self.semi_axes.min():.3g} to {self.radius:.3g}, depending on direction"

    @property
    def words(self) -> str:
        """What it says, in a sentence that a paper can use."""
        release = self.release
        if release.scalar is None:
            several = release.mechanism.name == COMBINED
            what = "the weighted mean of the populations" if several else "the mean of the population"
            value = "released mean"
            region = "region that was found privately" if release.found_privately else "public region"
            clipped = f"It is the mean of the population as clipped to the {region}."
        else:
            what = f"{release.scalar.mean}, in the population,"
            value = "released value"
            clipped = f"In the population too, {release.scalar.each} count as clipped to the public limits."
        size = self.size if self.is_round else f"{self.size},"
        wide = ", taking the records as spread out as their public region allows" if release.spread is None else ""
        return (
            f"With {self.level:.0%} confidence {what} lies within {size} of the {value} "
            f"(n = {release.n}; sampling error and privacy noise at {release.guarantee.privacy} together{wide}). "
            f"{clipped}"
        )


def chart_coordinates(release: Release, points: ArrayLike) -> Array:
    """Return w of points in the chart of a release by chart, not clipped."""
    chart = chart_of(release)
    space = chart.space
    vectors = space.log(chart.center, space.validate(points))
    return np.asarray(space.coordinates(chart.center, vectors) @ chart.basis.T / chart.axes)


def chart_of(release: Release) -> Ellipsoid:
    """Return the chart of a release by chart, as a region."""
    if release.chart is None:
        raise ValueError("this release has no chart")
    return Ellipsoid(release.space.required, release.ball.center, release.chart.axes, release.chart.basis)


def released_coordinates(release: Release) -> Array:
    """Return w̃ as it was drawn: beyond the cut locus of the centre the released point has other coordinates."""
    if release.chart is not None and release.chart.point is not None:
        return np.array(release.chart.point)
    return np.asarray(chart_coordinates(release, release.raw[None])[0])


def chart_variance(release: Release, level: float) -> float:
    """Return V of Result 6 by what was released of the spread; 1 without it, the most that the public region allows."""
    spread = release.spread
    if spread is None or spread.second_moment is None:
        return 1.0
    w = released_coordinates(release)
    k = noises(release)  # quantiles of so many noises are at most k times those of one
    numbers = (len(w), k * release.calibration.sigma, spread.second_moment, k * spread.scale, float(np.linalg.norm(w)))
    return variance_bound(level, release.n, release.guarantee.epsilon, *numbers)


def noises(release: Release) -> float:
    """Return how many noises of one curator the parts of all sites are (Result 13); 1 without sites."""
    return float(release.mechanism.options.get("noises", 1.0))


def no_region(release: Release) -> str:
    """Return why nothing is said of the population's mean by a public sample's chart; empty where it is, or there is none."""
    whole = release.whole
    if release.mechanism.name == COMBINED:
        return str(release.mechanism.options["no_region"])
    if whole is None or not whole.relation:
        return ""
    look = None if release.chart is None else release.chart.look
    if look is None and whole.relation != "same":
        return "no look was made at whether the public specimens fit the records"
    if look is not None and look.get("fell_back"):
        return "a look says that the public specimens may not fit the records"
    if whole.drawn and whole.drawn["0.95"] > CONTRADICTED * whole.quantiles["0.95"]:
        return "the draw lies farther from the public centre than it would if the public specimens fitted the records"
    if release.error(0.95) > LEFT_OUT * release.noise(0.95):
        return "what is clipped and left out may be more than the noise, by what is public: a region counts the noise"
    return ""


def population_region(release: Release, level: float) -> PopulationRegion:
    """Return the region of a release; see :meth:`Release.region`."""
    check_level(level)
    chart = release.chart
    if why := no_region(release):
        raise ValueError(f"this release has no region for the population's mean: {why}")
    if chart is None:
        raise ValueError(
            f"a release by {release.mechanism.name} has no region for the population's mean: release it with "
            "private_mean(…, inference=0.1), which spends a tenth of epsilon on the spread of the records"
        )
    p = len(chart.axes)
    sigmas = (release.calibration.sigma,)
    variance = chart_variance(release, level) / release.n
    if release.mechanism.name == COMBINED:
        sigmas = tuple(release.mechanism.options["sigmas"])
        variance = stated_at(release.mechanism.options["variances"], level)
    cell = float(release.lattice_spacing / 2 * np.sqrt(p))
    q = _quantile(level, p, sigmas, variance, noises(release)) + cell
    bias = chart.bias if release.bias is None else release.bias
    return PopulationRegion(release, level, q, q * np.asarray(chart.axes), bias)
