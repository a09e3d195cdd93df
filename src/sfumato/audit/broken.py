"""Mechanisms that are wrong on purpose: an audit is worth what it convicts.

Each takes what a mechanism takes and gives a function ``draw(data, size, rng)``.  None of them may be used for a release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..bounds import bounds_of
from ..calibration import Scale
from ..mechanisms import KNG, ManifoldLaplace
from ..mechanisms.laplace import LaplacePlan
from ..mechanisms.manifold import ManifoldMechanism
from ..records import Records
from ..regions.ball import Ball
from ..sampling import Target
from ..spaces import Space, Sphere
from ..spaces.base import Array, Points
from .blackbox import Draw, facing
from .exact import energies


def _drawing(ball: Ball, points: Callable[[Points, int, np.random.Generator], Points]) -> Draw:
    return lambda data, size, rng: facing(ball, points(ball.clip(data), size, rng))


def small_scale(mechanism: ManifoldMechanism, factor: float = 0.8) -> Draw:
    """The right density with a scale 20% too small."""

    def points(clipped: Points, size: int, rng: np.random.Generator) -> Points:
        plan = mechanism.at(len(clipped))
        plan = replace(plan, scale=replace(plan.scale, sigma=factor * plan.scale.sigma))
        return plan.target(Records(mechanism.space, clipped)).draw(size, rng).points

    return _drawing(mechanism.ball, points)


def no_volume(ball: Ball, epsilon: float) -> Draw:
    """The manifold Laplace without the volume element: the distance from the mean is exponential, ∝ exp(−ρ/σ), where it should
    be ∝ exp(−ρ/σ)·sin^(d−1)(ρ) and the like."""
    return _radial(ball, epsilon, lambda size, rng: rng.standard_exponential(size))


def flat_volume(ball: Ball, epsilon: float) -> Draw:
    """The manifold Laplace with the volume element of a flat space: the distance from the mean is ∝ exp(−ρ/σ)·ρ^(d−1)."""
    return _radial(ball, epsilon, lambda size, rng: rng.standard_gamma(ball.space.dim, size))


def _radial(ball: Ball, epsilon: float, law: Callable[[int, np.random.Generator], Array]) -> Draw:
    mechanism, space = ManifoldLaplace(ball, epsilon), ball.space

    def points(clipped: Points, size: int, rng: np.random.Generator) -> Points:
        base = mechanism.target(Records(space, clipped)).base
        radius = mechanism.scale(len(clipped)) * law(size, rng)
        vectors = radius.reshape(-1, *(1,) * len(space.point_shape)) * space.random_directions(base, size, rng)
        return space.exp(base, vectors)

    return _drawing(ball, points)


def paper_scale(ball: Ball, epsilon: float) -> Draw:
    """KNG as the paper ran it on the sphere: without the factor 2 of its own theorem, which nothing replaces."""
    return _drawing(ball, lambda clipped, size, rng: KNG(ball, epsilon, "as run").sample(clipped, size, rng))


def short_chain(ball: Ball, epsilon: float, steps: int = 50, step: float = 0.25) -> Draw:
    """The Laplace by a Metropolis chain that starts at the mean and is stopped after 50 steps of a quarter of σ; on spheres."""
    mechanism, space = ManifoldLaplace(ball, epsilon), ball.space
    if not isinstance(space, Sphere):
        raise ValueError(f"the short chain walks on spheres, not on {space}")

    def points(clipped: Points, size: int, rng: np.random.Generator) -> Points:
        sigma, target = mechanism.scale(len(clipped)), mechanism.target(Records(space, clipped))
        x = np.repeat(target.base[None], size, axis=0)
        current = energies(target, x)
        for _ in range(steps):
            z = step * sigma * rng.standard_normal(x.shape)
            z -= np.sum(z * x, axis=1, keepdims=True) * x * space.curvature  # a normal vector of the tangent space
            candidate = space.exp(x, z)
            proposed = energies(target, candidate)
            moved = rng.standard_exponential(size) >= proposed - current
            x, current = np.where(moved[:, None], candidate, x), np.where(moved, proposed, current)
        return x

    return _drawing(ball, points)


def data_radius(ball: Ball, epsilon: float) -> Draw:
    """The manifold Laplace with the radius that the data have, not a public one."""

    def draw(data: Array, size: int, rng: np.random.Generator) -> Array:
        clipped = ball.clip(data)
        own = Ball(ball.space, ball.space.present(ball.center), max(float(ball.distances(clipped).max()), 1e-6))
        return facing(ball, ball.space.validate(ManifoldLaplace(own, epsilon).sample(data, size, rng)))

    return draw


@dataclass(frozen=True)
class Misplaced(ManifoldLaplace):
    """The manifold Laplace about ``place(space, points)``, which should be the Fréchet mean and is not always."""

    place: Callable[[Space, Points], Points] = field(kw_only=True)

    @property
    def kind(self) -> type[MisplacedPlan]:
        return MisplacedPlan

    def options(self) -> dict[str, Any]:
        return {"place": self.place}

    def noise(self, n: int, epsilon: float) -> Scale:
        delta, room = bounds_of(self.space).mean_sensitivity(self.ball.radius) / n, 1e-9 * self.ball.radius
        return Scale((delta + room) / epsilon, "Δ/ε (result 2)", {"delta": delta, "solver": room})


@dataclass(frozen=True, eq=False)
class MisplacedPlan(LaplacePlan):
    def center(self, records: Records) -> Points:
        found: Points = self.options["place"](self.space, records.points)
        return found


def straying(space: Space, points: Points) -> Points:
    """A solver that takes any point where the gradient vanishes for the mean: Newton's steps, with the trace of the Hessian for
    all of it, walk out of a large ball, where there are others."""
    x, damping = space.mean_start(points), 1.0
    pull = space.mean_log(x[None], points)[0]
    for _ in range(500):
        norm = float(space.norm(x, pull))
        if norm < 1e-12 or damping < 1e-6:
            break
        there = space.exp(x, damping * pull * (space.dim / float(np.mean(space.hessian_trace(x, points)))))
        new = space.mean_log(there[None], points)[0]
        if float(space.norm(there, new)) < norm:
            x, pull, damping = there, new, min(1.0, 2 * damping)
        else:
            damping /= 2
    return x


def hasty(share: float) -> Callable[[Space, Points], Points]:
    """A solver that stops where the gradient is below a share of the data's own spread: how far off it is, the data decide."""

    def place(space: Space, points: Points) -> Points:
        x: Points = points[0]
        for _ in range(50):
            logs = space.log(x, points)
            pull = logs.mean(axis=0)
            if float(space.norm(x, pull)) <= share * float(np.sqrt(np.mean(space.norm(x, logs) ** 2))):
                break
            x = space.exp(x, pull)
        return x

    return place


def first_acceptance(target: Target, rng: np.random.Generator) -> tuple[Points, int]:
    """A draw that proposes one point at a time and stops at the first that is accepted, and how many it took: exact, but its
    time tells of the data."""
    tried = 0
    while True:
        tried += 1
        proposed = target.propose(1, rng)
        if -rng.standard_exponential() <= float(
            proposed.log_ratio[0] + target.log_acceptance(proposed.x, proposed.envelope)[0]
        ):
            return proposed.x[0], tried
