"""Mechanisms that are wrong on purpose: an audit must convict them.

Each takes what a mechanism takes and returns a function ``draw(data, size, rng)``.  None of them may be used for a release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ..laws.bounds import has_bounds
from ..mechanisms import KNG, ManifoldLaplace, Mechanism, TangentKNorm
from ..numerics.arrays import Array, Points
from ..records import Records
from ..regions import Ball, Ellipsoid
from ..regions.ellipsoid import shorten, tangent_coordinates
from .blackbox import Draw, region_of
from .exact import target_of
from .features import facing


def broken_variants(ball: Ball, epsilon: float) -> dict[str, Draw]:
    """Return all of them by name; on a space without bounds, those by chart."""
    if not has_bounds(ball.space):
        return broken_charts(ball.as_chart(), epsilon)
    return {
        "KNG, scale 20% too small": small_scale(KNG(ball, epsilon)),
        "Laplace, scale 20% too small": small_scale(ManifoldLaplace(ball, epsilon)),
        "Laplace without the volume element": wrong_volume(ball, epsilon),
        "radius from the data": data_radius(ball, epsilon),
    }


def broken_charts(region: Ellipsoid, epsilon: float) -> dict[str, Draw]:
    """Return those by chart, in this ellipsoid; in a ball the norm of the metric is the right one."""
    norm = {"chart, clipped in the norm of the metric": wrong_norm(region, epsilon)} if np.ptp(region.axes) else {}
    return {
        "chart, scale 20% too small": small_scale(TangentKNorm(region, epsilon)),
        **norm,
        "chart, axes from the data": data_axes(region, epsilon),
        "chart, size from the data": data_size(region, epsilon),
    }


def small_scale(mechanism: Mechanism, factor: float = 0.8) -> Draw:
    """Return draws from the right density with a scale 20% too small."""

    def draw(data: Array, size: int, rng: np.random.Generator) -> Array:
        plan = mechanism.at(len(data))
        records = Records(mechanism.space, mechanism.region.admit(data))
        small = plan.settled(plan.n, plan.ideal, replace(plan.scale, sigma=factor * plan.scale.sigma))
        return facing(region_of(mechanism), mechanism.space.validate(small.draws(records, size, rng)))

    return draw


def wrong_volume(ball: Ball, epsilon: float, power: int = 0) -> Draw:
    """Return draws from the manifold Laplace with a wrong volume element.

    The distance from the mean is ∝ exp(−ρ/σ)·ρ^power, not ∝ exp(−ρ/σ)·sin^(d−1)(ρ) or the like.  A power of 0 leaves the
    element out; d − 1 is that of a flat space.
    """
    laplace = ManifoldLaplace(ball, epsilon)
    space = ball.space

    def draw(data: Array, size: int, rng: np.random.Generator) -> Array:
        base = target_of(laplace, data).base
        radius = laplace.at(len(data)).scale.sigma * rng.standard_gamma(power + 1, size)
        vectors = radius.reshape(-1, *(1,) * len(space.point_shape)) * space.random_directions(base, size, rng)
        return facing(ball, space.exp(base, vectors))

    return draw


def data_radius(ball: Ball, epsilon: float) -> Draw:
    """Return draws from the manifold Laplace with the radius that the data have, not a public one."""
    space = ball.space

    def draw(data: Array, size: int, rng: np.random.Generator) -> Array:
        own = Ball(space, space.present(ball.center), max(float(ball.distances(ball.clip(data)).max()), 1e-6))
        return facing(ball, space.validate(ManifoldLaplace(own, epsilon).sample(data, size, rng)))

    return draw


class _InMetric(Ellipsoid):
    """Records are clipped to the longest axis in the norm of the metric: along the other axes ‖w‖ may be above 1."""

    def chart_blocks(self, points: Points) -> Iterator[Array]:
        tangents = shorten(tangent_coordinates(self.space, self.center, points), self.radius)
        yield np.asarray(tangents @ self.basis.T / self.axes)


def wrong_norm(region: Ellipsoid, epsilon: float) -> Draw:
    """Return draws by a chart that clips in the wrong norm."""
    parameters = region.parameters() | {"source": "in the wrong norm"}  # so that it does not equal the right one
    chart = _InMetric(region.space, **parameters)
    return TangentKNorm(chart, epsilon).sample


def data_axes(region: Ellipsoid, epsilon: float) -> Draw:
    """Return draws by a chart whose axes are the best for the second moment of the data themselves."""

    def own(tangents: Array) -> tuple[Array, Array]:
        values, rows = np.linalg.eigh(tangents.T @ tangents / len(tangents))
        roots = np.sqrt(np.maximum(values, 1e-12 * region.radius**2))
        return np.sqrt(roots * roots.sum()), rows.T

    return _from_data(region, epsilon, own)


def data_size(region: Ellipsoid, epsilon: float) -> Draw:
    """Return draws by a chart whose size covers 90% of the data themselves."""

    def own(tangents: Array) -> tuple[Array, Array]:
        size = np.quantile(np.linalg.norm(tangents @ region.basis.T / region.axes, axis=1), 0.9)
        return max(float(size), 1e-6) * region.axes, region.basis

    return _from_data(region, epsilon, own)


def _from_data(region: Ellipsoid, epsilon: float, own: Callable[[Array], tuple[Array, Array]]) -> Draw:
    """Return draws by a chart whose axes and basis come from the tangent vectors of the data."""
    space = region.space
    center = space.present(region.center)

    def draw(data: Array, size: int, rng: np.random.Generator) -> Array:
        chart = Ellipsoid(space, center, *own(tangent_coordinates(space, region.center, region.admit(data))))
        return TangentKNorm(chart, epsilon).sample(data, size, rng)

    return draw
