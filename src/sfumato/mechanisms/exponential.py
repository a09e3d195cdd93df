"""The exponential mechanism (McSherry and Talwar 2007) with utility −F."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from ..laws.calibration.error import (
    doubtful,
    exponential_doubt,
    exponential_error_law,
    gaussian_edges,
    public_hessian,
    widest_span,
)
from ..laws.calibration.scale import Scale, exponential_scale
from ..laws.radial import RadialLaw
from ..laws.sampling import Target
from ..numerics.arrays import Array, Points
from ..records import Records
from ..spaces.base import Space
from .kng import mean_envelope, span
from .manifold import ManifoldMechanism

WORTHWHILE = 0.5  # the share of proposals in doubt up to which the Hessian is worth its pass over the data
OFFSET = 1e-9  # by which the envelope is lowered, for rounding


@dataclass(frozen=True)
class Exponential(ManifoldMechanism):
    """Density ∝ exp(−F(x)/σ) on the ball, F(x) = ½·mean squared distance to the data.

    Privacy: ε-DP with σ = 2Δ/ε and Δ = 2r²/n, the most that F moves on the ball when one record is replaced;
    every calibration but "as run" is this one.

    Near the mean the density is Gaussian with variance σ.  Where public numbers say that this decides most proposals, the mean
    Hessian bounds F at them, and the data are asked about the others alone (proofs, Result 4c).

    >>> from sfumato import Ball, Sphere
    >>> round(Exponential(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), epsilon=1.0).at(100).scale.sigma, 6)
    0.0064
    """

    name: ClassVar[str] = "exponential"
    paper: ClassVar[str] = (
        "F. McSherry and K. Talwar (2007). Mechanism design via differential privacy. 48th IEEE Symposium on Foundations of "
        "Computer Science."
    )
    auto: ClassVar[bool] = True
    inexact: ClassVar[float] = 1e-5

    def noise(self, n: int, epsilon: float) -> Scale:
        return exponential_scale(self.space, self.ball.radius, n, epsilon)

    def target(self, records: Records) -> Target:
        space = self.space
        sigma = self.scale.sigma
        R = self.scale.region
        envelope = mean_envelope(self.ball, R, records, self.mean, self.inexact * self.noise_length)
        base = envelope.base
        reach = max(span(space, self.ball.center, base, R), widest_span(space, self.ball.radius))
        edges = gaussian_edges(space, sigma, reach)
        gradient = np.concatenate([[0.0], np.cumsum(np.minimum.accumulate(envelope.lower(edges[1:])) * np.diff(edges))])
        law = RadialLaw(space, edges, (gradient[:-1] - envelope.slope) / sigma)
        least = _half_mean_square(records, base[None])[0]

        def energy(x: Points) -> Array:
            return np.asarray((_half_mean_square(records, x) - least) / sigma)

        usable = self.doubt <= WORTHWHILE and envelope.slope <= self.slope
        hessian = envelope.hessian(records) if usable else None
        if hessian is None:
            return Target(space, base, law, energy, OFFSET, self.ball.center, R)
        gradient = -space.coordinates(base, envelope.moments.logs)
        most = self.ball.radius + R

        def squeeze(coordinates: Array) -> tuple[Array, Array]:
            """Return ⟨∇F, v⟩ + ½⟨v, Hv⟩ over σ, give or take what the third derivative can do."""
            length = np.linalg.norm(coordinates, axis=1)
            reach = np.minimum(envelope.furthest + length, most)
            curved = self.bounds.gradient_error(length, envelope.second_moment, reach, envelope.slope)
            error = self.value_error(length, curved, envelope.moments.error)
            value = coordinates @ gradient + np.vecdot(coordinates @ hessian, coordinates) / 2
            return (value - error) / sigma, (value + error) / sigma

        return Target(space, base, law, energy, OFFSET, self.ball.center, R, None, squeeze)

    def value_error(self, u: Array, curved: Array, series: float) -> Array:
        """Return a bound on |F(exp v) − F − ⟨∇F, v⟩ − ½⟨v, Hv⟩| as computed, ‖v‖ = u: ∫e ≤ u·e(u)/3 for the ``curved`` error e
        of the gradient, rounding in both values of F and in ∇F + Hv, and what a series left out of that."""
        return np.asarray(2 * self.energy_error(self.rounding) + u * (2 * self.rounding + series + curved / 3))

    @cached_property
    def doubt(self) -> float:
        """A bound on the share of proposals about which the data must be asked; 1 where there is none."""
        r = self.ball.radius
        slope = self.slope
        lower = float(public_hessian(self.space, r, r, np.zeros(()), slope)[0])
        if lower < 0.25 or 4 * slope > r:  # the mean is at most slope/λ away
            return 1.0
        series = slope if self.space.series_moments else 0.0

        def error(u: Array) -> Array:
            return self.value_error(u, self.bounds.public_gradient_error(u, r, 2 * r, slope, True), series)

        return exponential_doubt(self.space, r, self.scale.sigma, error, slope)

    @cached_property
    def asks(self) -> tuple[int, float]:
        if self.doubt > WORTHWHILE:
            return self.batch, 0.0
        most, chance = doubtful(self.batch, self.doubt)
        return max(1, most), chance

    @property
    def noise_length(self) -> float:
        return float(np.sqrt(self.scale.sigma))

    def energy_error(self, error: float) -> float:
        return 2 * self.ball.radius * error  # F is half a mean of squared distances, each at most 2r

    @cached_property
    def error_law(self) -> RadialLaw:
        return exponential_error_law(self.space, self.ball.radius, self.scale.sigma)


def _half_mean_square(records: Records, x: Points) -> Array:
    return records.reduce(partial(_square_sums, records.space, x)) / (2 * records.n)


def _square_sums(space: Space, x: Points, points: Points, _: Array | None) -> Array:
    return space.square_sums(x, points)
