"""The exponential mechanism (McSherry and Talwar 2007) with utility −F."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from ..calibration.error import exponential_error_law, gaussian_edges
from ..calibration.scale import Scale, exponential_scale
from ..radial import RadialLaw
from ..records import Records
from ..sampling import Target
from ..spaces.base import Array, Points, Space, blocks, in_pairs, runs
from .kng import mean_envelope, span
from .manifold import ManifoldMechanism, ManifoldPlan


@dataclass(frozen=True)
class Exponential(ManifoldMechanism):
    """Density ∝ exp(−F(x)/σ) on the ball, F(x) = ½·mean squared distance to the data.

    Privacy: ε-DP with σ = 2Δ/ε and Δ = 2r²/n, the most that F moves on the ball when one record is replaced;
    every calibration but "as run" is this one.

    >>> from sfumato import Ball, Sphere
    >>> round(Exponential(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), epsilon=1.0).scale(100), 6)
    0.0064
    """

    name: ClassVar[str] = "exponential"

    @property
    def kind(self) -> type[ExponentialPlan]:
        return ExponentialPlan

    def noise(self, n: int, epsilon: float) -> Scale:
        return exponential_scale(self.space, self.ball.radius, n, epsilon)


@dataclass(frozen=True, eq=False)
class ExponentialPlan(ManifoldPlan):
    """Near the mean the density is Gaussian with variance σ."""

    def target(self, records: Records) -> Target:
        space, sigma, R = self.space, self.scale.sigma, self.scale.region
        found = mean_envelope(self.ball, R, records, self.mean, 1e-5 * float(np.sqrt(sigma)))
        base = found.base
        edges = gaussian_edges(space, sigma, span(space, self.ball.center, base, R))
        gradient = np.concatenate([[0.0], np.cumsum(np.minimum.accumulate(found.lower(edges[1:])) * np.diff(edges))])
        law = RadialLaw(space, edges, (gradient[:-1] - found.slope) / sigma)
        least = _half_mean_square(records, base[None])[0]

        def energy(x: Points) -> Array:
            return np.asarray((_half_mean_square(records, x) - least) / sigma)

        return Target(space, base, law, energy, 1e-9, self.ball.center, R)

    @property
    def noise_length(self) -> float:
        return float(np.sqrt(self.scale.sigma))

    def energy_error(self, error: float) -> float:
        return 2 * self.ball.radius * error  # F is half a mean of squared distances, each at most 2r

    @cached_property
    def error_law(self) -> RadialLaw:
        return exponential_error_law(self.space, self.ball.radius, self.scale.sigma)

    def error_quantile(self, p: float) -> float:
        return self.error_law.quantile(p)


def _half_mean_square(records: Records, x: Points) -> Array:
    return records.reduce(partial(_square_sums, records.space, x)) / (2 * records.n)


def _square_sums(space: Space, x: Points, points: Points, _: Array | None) -> Array:
    each = int(np.prod(space.point_shape)) * 4

    def of_run(some: slice, part: slice) -> Array:
        return np.asarray(np.sum(space.distance(x[some, None], points[None, part]) ** 2, axis=1))

    return np.concatenate(
        [
            in_pairs(operator.add, (of_run(some, part) for part in runs(len(points), each * (some.stop - some.start))))
            for some in blocks(len(x), each * len(points))
        ]
    )
