"""Mechanisms that are wrong on purpose: an audit must convict them.

Each takes what a mechanism takes and returns a function ``draw(data, size, rng)``.  None of them may be used for a release.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Concatenate, ParamSpec

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

P = ParamSpec("P")


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


def _maker(draw: Callable[Concatenate[Array, int, np.random.Generator, P], Array]) -> Callable[P, Draw]:
    """Return a function that takes the last arguments of ``draw`` and returns one of the first three, data, size and rng."""
    return lambda *args, **options: lambda data, size, rng: draw(data, size, rng, *args, **options)


@_maker
def small_scale(data: Array, size: int, rng: np.random.Generator, mechanism: Mechanism, factor: float = 0.8) -> Array:
    """Draw from the right density with a scale 20% too small."""
    plan = mechanism.at(len(data))
    records = Records(mechanism.space, mechanism.region.admit(data))
    small = plan.settled(plan.n, plan.ideal, replace(plan.scale, sigma=factor * plan.scale.sigma))
    return facing(region_of(mechanism), mechanism.space.validate(small.draws(records, size, rng)))


@_maker
def wrong_volume(data: Array, size: int, rng: np.random.Generator, ball: Ball, epsilon: float, power: int = 0) -> Array:
    """Draw from the manifold Laplace with a wrong volume element.

    The distance from the mean is ∝ exp(−ρ/σ)·ρ^power, not ∝ exp(−ρ/σ)·sin^(d−1)(ρ) or the like.  A power of 0 leaves the
    element out; d − 1 is that of a flat space.
    """
    laplace = ManifoldLaplace(ball, epsilon)
    base = target_of(laplace, data).base
    radius = laplace.at(len(data)).scale.sigma * rng.standard_gamma(power + 1, size)
    directions = ball.space.random_directions(base, size, rng)
    return facing(ball, ball.space.exp(base, radius.reshape(-1, *(1,) * (directions.ndim - 1)) * directions))


@_maker
def data_radius(data: Array, size: int, rng: np.random.Generator, ball: Ball, epsilon: float) -> Array:
    """Draw from the manifold Laplace with the radius that the data have, not a public one."""
    own = Ball(ball.space, ball.space.present(ball.center), max(float(ball.distances(ball.clip(data)).max()), 1e-6))
    return facing(ball, ball.space.validate(ManifoldLaplace(own, epsilon).sample(data, size, rng)))


class _InMetric(Ellipsoid):
    """Records are clipped to the longest axis in the norm of the metric: along the other axes ‖w‖ may be above 1."""

    def chart_blocks(self, points: Points) -> Iterator[Array]:
        tangents = shorten(tangent_coordinates(self.space, self.center, points), self.radius)
        yield np.asarray(tangents @ self.basis.T / self.axes)


def wrong_norm(region: Ellipsoid, epsilon: float) -> Draw:
    """Return draws by a chart that clips in the wrong norm."""
    parameters = region.parameters() | {"source": "in the wrong norm"}  # so that it does not equal the right one
    return TangentKNorm(_InMetric(region.space, **parameters), epsilon).sample


@_maker
def data_axes(data: Array, size: int, rng: np.random.Generator, region: Ellipsoid, epsilon: float) -> Array:
    """Draw by a chart whose axes are the best for the second moment of the data themselves."""
    tangents = tangent_coordinates(region.space, region.center, region.admit(data))
    values, rows = np.linalg.eigh(tangents.T @ tangents / len(tangents))
    roots = np.sqrt(np.maximum(values, 1e-12 * region.radius**2))
    own = Ellipsoid(region.space, region.space.present(region.center), np.sqrt(roots * roots.sum()), rows.T)
    return TangentKNorm(own, epsilon).sample(data, size, rng)


@_maker
def data_size(data: Array, size: int, rng: np.random.Generator, region: Ellipsoid, epsilon: float) -> Array:
    """Draw by a chart whose size covers 90% of the data themselves."""
    tangents = tangent_coordinates(region.space, region.center, region.admit(data))
    covers = np.quantile(np.linalg.norm(tangents @ region.basis.T / region.axes, axis=1), 0.9)
    axes = max(float(covers), 1e-6) * region.axes
    own = Ellipsoid(region.space, region.space.present(region.center), axes, region.basis)
    return TangentKNorm(own, epsilon).sample(data, size, rng)
