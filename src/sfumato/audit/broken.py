"""Mechanisms that are wrong on purpose: an audit must convict them.

Each takes what a mechanism takes and gives a function ``draw(data, size, rng)``.  None of them may be used for a release.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..mechanisms import KNG, ManifoldLaplace
from ..mechanisms.manifold import ManifoldMechanism
from ..records import Records
from ..regions.ball import Ball
from ..spaces.base import Array
from .blackbox import Draw
from .exact import target_of
from .features import facing


def broken_variants(ball: Ball, epsilon: float) -> dict[str, Draw]:
    """All of them by name."""
    return {
        "KNG, scale 20% too small": small_scale(KNG(ball, epsilon)),
        "Laplace, scale 20% too small": small_scale(ManifoldLaplace(ball, epsilon)),
        "Laplace without the volume element": wrong_volume(ball, epsilon),
        "radius from the data": data_radius(ball, epsilon),
    }


def small_scale(mechanism: ManifoldMechanism, factor: float = 0.8) -> Draw:
    """The right density with a scale 20% too small."""

    def draw(data: Array, size: int, rng: np.random.Generator) -> Array:
        plan, records = mechanism.at(len(data)), Records(mechanism.space, mechanism.ball.clip(data))
        target = replace(plan, scale=replace(plan.scale, sigma=factor * plan.scale.sigma)).target(records)
        return facing(mechanism.ball, target.draw(size, rng).points)

    return draw


def wrong_volume(ball: Ball, epsilon: float, power: int = 0) -> Draw:
    """The manifold Laplace with a wrong volume element: the distance from the mean is ∝ exp(−ρ/σ)·ρ^power where it should be
    ∝ exp(−ρ/σ)·sin^(d−1)(ρ) or the like.  A power of 0 leaves it out; d − 1 is that of a flat space."""
    laplace, space = ManifoldLaplace(ball, epsilon), ball.space

    def draw(data: Array, size: int, rng: np.random.Generator) -> Array:
        base = target_of(laplace, data).base
        radius = laplace.scale(len(data)) * rng.standard_gamma(power + 1, size)
        vectors = radius.reshape(-1, *(1,) * len(space.point_shape)) * space.random_directions(base, size, rng)
        return facing(ball, space.exp(base, vectors))

    return draw


def data_radius(ball: Ball, epsilon: float) -> Draw:
    """The manifold Laplace with the radius that the data have, not a public one."""
    space = ball.space

    def draw(data: Array, size: int, rng: np.random.Generator) -> Array:
        own = Ball(space, space.present(ball.center), max(float(ball.distances(ball.clip(data)).max()), 1e-6))
        return facing(ball, space.validate(ManifoldLaplace(own, epsilon).sample(data, size, rng)))

    return draw
