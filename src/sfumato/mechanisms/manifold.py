"""Mechanisms whose draws are points of the manifold, with a radial envelope about the Fréchet mean."""

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..errors import Fix, Refusal
from ..laws.bounds import bounds_of
from ..laws.bounds.base import Bounds
from ..laws.calibration.error import FAIL
from ..laws.calibration.mean import MeanBounds, mean_bounds
from ..laws.calibration.rounding import (
    LEVELS,
    SELECTION,
    UNIT,
    crossing,
    density_error,
    gradient_error,
    relative_error,
    stretch,
)
from ..laws.radial import RadialLaw
from ..laws.sampling import Target, is_precise, lattice_spacing, round_to_lattice
from ..numerics.arrays import Array, Points
from ..records import Records, one_thread
from .base import Mechanism
from .plan import Drawn, Losses, Remedy
from .tangent import shaped

LARGEST_BATCH = 1024  # proposals, even if the chance that none is accepted is then above FAIL
LEAST_SHARE = 1e-3  # fewer accepted proposals than this are not worth waiting for


class ManifoldMechanism(Mechanism):
    """What exact rejection from a radial envelope has beside a scale: how many proposals are made, which of them ask the data,
    and what rounding does to them."""

    # of the noise's length: the gradient that may be left at a mean that only places proposals
    inexact: ClassVar[float] = 0.0

    @abstractmethod
    def target(self, records: Records) -> Target:
        """Return the density to draw from, for clipped records."""

    @property
    def after(self) -> str:
        return f"projected onto the {self.region.called}"

    @property
    def remedies(self) -> list[Remedy]:
        ways = shaped(self.region, self.n, self.privacy)
        return [(*way[:-1], " with ", Fix("mechanism", "auto"), ")") for way in ways]

    @property
    @abstractmethod
    def error_law(self) -> RadialLaw:
        """A distribution that dominates the distance of a draw from the mean, whatever the data."""

    def error_quantile(self, p: float) -> float:
        return self.error_law.quantile(p)

    # -- what differs between mechanisms ----------------------------------------------------------------------------------
    @property
    def acceptance(self) -> float | None:
        """A lower bound on the share of proposals that are accepted; None if there is none."""
        return None

    @property
    def noise_length(self) -> float:
        """The length that sets the size of the noise."""
        return self.scale.sigma

    @property
    def condition(self) -> float:
        """How much the shape of proposals stretches the relative error of a vector."""
        return 1.0

    @property
    def asks(self) -> tuple[int, float]:
        """About how many proposals of a batch the data must be asked, but for a chance that is given too."""
        return self.batch, 0.0

    def energy_error(self, error: float) -> float:
        """Return what an error in logarithms does to the utility that σ divides."""
        return error

    @cached_property
    def rounding(self) -> float:
        """Error of a computed gradient: of the point, of a logarithm there, and of the sum of n of them."""
        return gradient_error(self.space, self.ball.center, self.ball.radius + self.scale.region, self.n)

    @cached_property
    def slope(self) -> float:
        """A bound on the gradient at the mean that the solver found, and on what a series left out of it."""
        return max(self.inexact * self.noise_length, self.mean.tolerance) + self.mean.error

    # -- public numbers ------------------------------------------------------------------------------------------------
    @cached_property
    def bounds(self) -> Bounds:
        return bounds_of(self.space)

    @cached_property
    def mean(self) -> MeanBounds:
        """What is public about the mean of the records; raises where it could not be found."""
        return mean_bounds(self.ball, self.n)

    @cached_property
    def spacing(self) -> float:
        return lattice_spacing(min(self.noise_length, self.scale.region))

    def release_error(self, p: float) -> float:
        r = self.ball.radius
        region = self.scale.region
        ideal = self.error_quantile(p)
        # rounding moves a point by at most half the diagonal of a lattice cell, times the stretch sinh(s)/s of the exponential
        # map where the curvature is at least −κ, s = √κ times the distance from the centre
        half = np.sqrt(self.space.dim) / 2 * self.spacing
        shift = float(half * stretch(self.space, min(r + ideal, region) + half, 0.0))
        # no two points of the space, and none of the region and the ball, are farther apart than this
        return min(ideal + shift, self.bounds.injectivity_radius, r + region + shift)

    @cached_property
    def batch(self) -> int:
        """How many proposals are evaluated at once: so many that one is accepted but for a chance of FAIL."""
        share = self.acceptance
        if share is None:
            share = self.rough_acceptance
            if share < LEAST_SHARE:
                raise Refusal(
                    f"the noise of {self.name} on {self.space} would be as wide as the ball of radius {self.ball.radius:g}: "
                    "a draw would say nothing and take very long; use more records, a larger epsilon or another mechanism"
                )
        return min(LARGEST_BATCH, int(np.ceil(np.log(FAIL) / np.log1p(-min(share, 1 - FAIL)))))

    @property
    def rough_acceptance(self) -> float:
        """The share of directions that stay in the region from a mean at its edge, as if the space were flat, at the distance
        of a median draw.  Not proven: it decides what to refuse and how much work to do, never what is promised."""
        from scipy.special import betainc

        cosine = self.error_quantile(0.5) / (2 * self.scale.region)
        return 0.0 if cosine >= 1 else 0.5 * float(betainc((self.space.dim - 1) / 2 + 1e-9, 0.5, 1 - cosine**2))

    # -- what rounding adds ----------------------------------------------------------------------------------------------
    @cached_property
    def lengths(self) -> list[float]:
        """Lengths that the noise exceeds with probability at most 1 − LEVELS."""
        return self.error_law.reaches(LEVELS)

    @cached_property
    def losses(self) -> Losses:
        """δ: draws that rounding takes across a face of a lattice cell or across the edge of the region, and draws not bounded
        here.  ε: four times the error of the log density, which enters the density and its normaliser for both data sets.
        Derived in the proofs, Floating point."""
        space = self.space
        center = self.ball.center
        r = self.ball.radius
        scale = self.scale
        _ = self.mean, self.batch, self.asks  # raise what cannot be drawn, so that nothing does after the charge
        reach = min(scale.region, r + self.lengths[-1])
        if is_precise(space, reach):
            error = (relative_error(space.dim) * self.condition + UNIT) * self.stretched_length
            crossed = crossing(space.dim, self.spacing, error)
        else:
            crossed = 2 * space.dim * space.rounding_error(center, reach) / self.spacing
        energy_error = self.energy_error(gradient_error(space, center, r + reach, self.n))
        epsilon = float(4 * (energy_error / scale.sigma + density_error(space, self.lengths[-1])))
        share = self.acceptance
        return Losses(
            numerical_delta=self.both(crossed + self._edge() + 1 - LEVELS[-1] + SELECTION, epsilon),
            numerical_epsilon=epsilon,
            clock_delta=None if share is None else float((1 - share) ** self.batch) + self.asks[1],
        )

    @property
    def stretched_length(self) -> float:
        """E[ρ·stretch]: a bound from the quantiles of the length ρ of the noise."""
        lengths = np.array(self.lengths)
        chances = np.append(1.0, 1 - np.array(LEVELS))[:-1]
        ends = np.minimum(self.ball.radius + lengths, min(self.scale.region, self.far))
        return float(np.sum(chances * lengths * stretch(self.space, lengths, ends)))

    @property
    def far(self) -> float:
        """The distance from the centre from which on the cut locus needs a bound of its own."""
        return 0.9 * self.bounds.injectivity_radius

    def _edge(self) -> float:
        """Return the chance that the edge of the region is as close to a draw as the error of a computed distance: 2·error
        times the density there, which a shell of the thickness of the noise bounds, e² covering how it varies within."""
        region = self.scale.region
        noise = self.noise_length
        if np.isinf(region):
            return 0.0
        inside = region - self.ball.radius - noise
        near = min([1.0] + [1 - p for p, u in zip(LEVELS, self.lengths, strict=True) if u <= inside])
        error = self.space.rounding_error(self.ball.center, region)
        return float(16 * error * max(1 / noise, self.space.dim / region) * near)

    # -- draws -------------------------------------------------------------------------------------------------------------
    def draws(self, records: Records, size: int, rng: np.random.Generator) -> Array:
        with one_thread():
            return self.space.present(self.target(records).draw(size, rng).points)

    def draw(self, records: Records, rng: np.random.Generator) -> Drawn:
        point = self.rounded(self.target(records), rng)
        projected = self.projected(point)
        raw = self.space.present(point)
        return Drawn(raw if projected is point else self.space.present(projected), raw)

    def rounded(self, target: Target, rng: np.random.Generator) -> Points:
        """Return a draw on the lattice: all that is left of a release once its density is known."""
        coordinates = target.draw_one(self.batch, rng, self.asks[0])
        if coordinates is None:  # a chance far below numerical_delta: the way out is a public point
            return self.ball.center
        return round_to_lattice(self.space, target.base, coordinates, self.ball.center, self.spacing)

    def projected(self, point: Points) -> Points:
        """Return the nearest point of the ball, which is no farther from any point of the ball (proofs, Results 5 and 8) if
        that is within L/3 of the centre, L = min(inj M, π/√κ), or the draw within 2L − 3r.  For other draws the centre is,
        if they are 2r away; the rest, in balls larger than 2L/5, stay where they are."""
        ball = self.ball
        distance = float(self.space.distance(ball.center, point[None])[0])
        if distance <= ball.radius:
            return point
        widest = 2 * self.bounds.mean_radius_limit
        if ball.radius > widest / 3 and distance > 2 * widest - 3 * ball.radius:
            return ball.center if distance >= 2 * ball.radius else point
        nearest: Points = ball.clip(self.space.present(point)[None])[0]
        return nearest
