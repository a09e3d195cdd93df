"""What a picture is of: a release with its error, or a public centre with points about it.  Every number is computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..laws.calibration.chart import chart_error
from ..laws.calibration.population import LEAST
from ..numerics.arrays import Array, Points
from ..regions.ball import Ball
from ..regions.ellipsoid import Ellipsoid
from ..release import Release
from ..release.population import chart_of, no_region, noises, released_coordinates
from ..release.record import SpaceOf
from ..release.terms import After, Kind
from ..spaces.base import Space
from .globe import is_place
from .scene import Role

Links = Sequence[int] | Sequence[tuple[int, int]]  # landmarks in the order of a closed line, or pairs that lines join


@dataclass(frozen=True)
class Noise:
    """The noise of a release by chart, σ·Gamma(p)·(a uniform direction), about the chart's coordinates w of the release.

    That is σ·χ_{p+1}·g for a standard normal g in R^p.  So the image of the ball of radius ``reach(m)`` under any linear map of
    rank m holds the image of the statistic with probability P at least: all of w for m = p, one landmark by itself for m = 2.
    """

    chart: Ellipsoid
    w: Array
    sigma: float
    P: float
    fixed: float | None = None  # the radius of the ball, where it is not that of the noise
    noises: float = 1.0  # how many the parts of sites are, of which each is χ²_{p+1}·σ²

    def reach(self, m: int) -> float:
        """Return the quantile of σ·χ_{p+1}·χ_m, rounded up; of a ball that is given, its radius."""
        if self.fixed is not None:
            return self.fixed
        axes = np.where(np.arange(len(self.w)) < m, 1.0, 0.0)
        return chart_error(axes, self.sigma, noises=self.noises).quantile(self.P)

    def values(self, u: Array) -> Array:
        """Return the values at coordinates w + u."""
        return self.chart.space.present(self.chart.point(self.w + u))

    def edge(self, directions: Array) -> Array:
        """Return the values on the edge of what holds all of w, in these directions."""
        return self.values(self.reach(len(self.w)) * directions)

    def moves(self, m: int) -> Array:
        """Return (size of a value, p): how the value moves, to first order, along each axis of the ball of radius reach(m)."""
        step = 1e-4 * np.eye(len(self.w))
        return self.reach(m) * ((self.values(step) - self.values(-step)) / 2e-4).reshape(len(step), -1).T

    def bars(self) -> Array:
        """Return how far each number of the value may be off, all at once."""
        return np.asarray(np.linalg.norm(self.moves(len(self.w)), axis=1))


@dataclass(frozen=True, eq=False)
class Subject:
    """What is drawn.  Without a ``value`` nothing is released yet: then what is soft lies about the public centre."""

    space_of: SpaceOf
    centre: Array  # as the space presents it
    radius: float
    value: Array | None = None
    raw: Array | None = None
    p: float = 0.95
    error: float | None = None
    geodesic: bool = True  # whether the error is a distance along the space, or a length in a chart of it
    whole: bool = False  # whether the error of a chart is a distance in the space too: curvature is in it
    projected: bool = False  # whether a draw off the space was moved onto it
    on_manifold: bool = True
    chart: Ellipsoid | None = None
    given_by_axes: bool = False  # whether the chart is that of an ellipsoid, not of a ball
    noise: Noise | None = None
    region: Noise | None = None  # of the population's mean
    region_radius: float = 0.0
    name: str = "released mean"
    region_name: str = "public ball"
    degrees: Mapping[str, float] | None = None
    links: Links | None = None
    names: tuple[str, ...] = ()  # of channels, parts or coordinates, as whoever draws says
    others: Array | None = None  # points beside the centre, as the space presents them
    role: Role = Role.OTHER  # of these
    places: bool = False  # whether directions are places on the Earth
    public: str = "public centre"  # or mean
    others_label: str = "made-up records"  # what those are

    @classmethod
    def of(cls, release: Release, p: float = 0.95, links: Links | None = None, names: Sequence[str] = ()) -> Subject:
        """Return what a picture of a release shows, with its error at probability p."""
        error = release.predicted_error
        recorded = release.chart
        space = release.space.known
        chart = chart_of(release) if recorded is not None and space is not None else None
        sample = release.whole is not None and release.whole.relation
        subject = cls(
            space_of=release.space,
            centre=np.asarray(release.ball.center, dtype=np.float64),
            radius=release.ball.radius,
            value=release.value,
            raw=release.raw,
            p=p,
            error=None if error is None else release.stated(p),
            geodesic=error is None or recorded is not None or error.geodesic,
            whole=release.whole is not None,
            projected=bool(release.mechanism.options.get("project")),
            on_manifold=release.on_manifold,
            chart=chart,
            given_by_axes=recorded is not None and recorded.basis is not None,
            name="released mean" if release.kind is Kind.MEAN else "released value",
            region_name="ball found privately" if release.found_privately else "public ball",
            degrees=release.degrees,
            links=links,
            names=tuple(names),
            places=is_place(tuple(release.degrees or ())),
            public="centre found privately" if release.found_privately else f"public {'mean' if sample else 'centre'}",
        )
        return subject if chart is None else replace(subject, **_in_chart(release, chart, p))

    @property
    def space(self) -> Space:
        """The space; a ValueError where this version does not know it."""
        return self.space_of.required

    @cached_property
    def base(self) -> Points:
        """The centre as the space computes with it."""
        return Ball(self.space, self.centre, self.radius).center

    @property
    def about(self) -> Array:
        """What the soft part of the picture is about."""
        return self.centre if self.value is None else self.value

    @cached_property
    def point(self) -> Points:
        """The same as the space computes with it."""
        return np.asarray(self.space.validate(self.about[None])[0])

    @cached_property
    def reach(self) -> Array:
        """How far from the centre clipping let each coordinate be, where coordinates are those of the tangent space."""
        if self.chart is None:
            return np.full(self.centre.size, self.radius)
        return np.asarray(np.linalg.norm(self.chart.axes[:, None] * self.chart.basis, axis=0))

    @property
    def error_label(self) -> str:
        return f"{self.p:.0%} error of the release"

    @property
    def region_label(self) -> str:
        return f"{self.p:.0%} region for the population's mean"

    def called(self, i: int) -> str:
        """Return the name of a channel, part or coordinate; its number, from 1, where it has none."""
        return self.names[i] if self.names else str(i + 1)


def _in_chart(release: Release, chart: Ellipsoid, p: float) -> dict[str, Any]:
    """Return the noise of a release by chart, and the region for the population's mean where a share of ε was spent on it.

    Of a draw that was projected from outside the length alone is known; one that was moved towards the centre is shown with the
    noise that it was drawn with, widened to the whole error where that is known.  The region is a ball in the chart: any
    image of it, such as one landmark, holds the image of the mean with the same confidence, all of them at once.
    """
    parts: dict[str, Any] = {}
    space = chart.space
    sigma = release.calibration.sigma
    recorded = release.chart
    shrunk = recorded is not None and After.SHRUNK in recorded.after and np.linalg.norm(recorded.point or np.inf) <= 1
    if release.unprojected is None or shrunk:
        tangent = space.coordinates(chart.center, space.log(chart.center, space.validate(release.value[None])))[0]
        wider = 1.0 if release.gain is None else max(1.0, release.error(p) / release.noise(p))
        parts["noise"] = Noise(chart, chart.basis @ tangent / chart.axes, wider * sigma, p, noises=noises(release))
    if release.spread is not None and p >= LEAST and not no_region(release):
        region = release.region(p)
        w = released_coordinates(release)
        parts["region"] = Noise(chart, w, sigma, p, region.chart_radius)
        parts["region_radius"] = region.radius
    return parts
