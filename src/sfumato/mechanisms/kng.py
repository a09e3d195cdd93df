"""The K-norm gradient mechanism on manifolds (Soto, Bharath, Reimherr and Slavković 2022)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import Refusal
from ..laws.bounds import bounds_of
from ..laws.calibration.error import (
    Ellipse,
    doubtful,
    kng_acceptance,
    kng_ellipse,
    kng_error_laws,
    kng_error_quantile,
    public_hessian,
)
from ..laws.calibration.mean import MeanBounds
from ..laws.calibration.rounding import LEVELS
from ..laws.calibration.scale import Scale, kng_scale
from ..laws.radial import RadialLaw, spread_edges
from ..laws.sampling import Target, coarse
from ..numerics.arrays import Array, Points
from ..records import Records
from ..regions.ball import Ball
from ..regions.mean import mean_in_ball
from ..spaces.base import Moments, Space
from .manifold import ManifoldMechanism
from .statistics import Objective

WORTHWHILE = 0.5  # share of proposals that must be accepted for the Hessian to be worth its pass over the data
LEAST = 0.02  # and at least: of fewer the largest batch may not be enough
BETTER = 4.0  # and times the share of radial proposals, which need no Hessian


@dataclass(frozen=True)
class KNG(ManifoldMechanism):
    """Density ∝ exp(−‖∇F(x)‖/σ) on a ball about the public centre, F half the mean squared distance to the data.

    Privacy: ε-DP.  "theorem": σ = 2Δ/ε with Theorem 2's Δ, on the ball itself.  "tight": σ = 2A/(nε) with the exact
    sensitivity A/n.  "certified": σ = A/(nε − B_eff) on a slightly larger ball, no factor 2 (theory, Results 1, 3 and 3b).
    With an ``objective`` of your own: σ = 2Δ/ε (Theorem 1), whatever the calibration, if the Δ that it states holds.

    Proposals are shaped by the mean Hessian where public numbers say that this pays, and else radial: for few records of many
    dimensions, as of SPD(22), that asks the data 1,024 times.  The Laplace and a chart draw once there, with less noise.

    >>> from sfumato import Ball, Sphere
    >>> kng = KNG(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), epsilon=1.0)
    >>> round(kng.at(100).scale.sigma, 5), round(kng.at(100).error_quantile(0.95), 4)
    (0.00836, 0.0421)
    """

    objective: Objective | None = field(default=None, repr=False)

    name: ClassVar[str] = "kng"
    paper: ClassVar[str] = (
        "C. Soto, K. Bharath, M. Reimherr and A. Slavković (2022). Shape and structure preserving differential privacy. "
        "Advances in Neural Information Processing Systems 35."
    )
    auto: ClassVar[bool] = True
    inexact: ClassVar[float] = 1e-4

    def at(self, n: int) -> Self:
        if self.objective is None:
            return super().at(n)
        own: Any = OwnObjective(self.region, self.epsilon, self.calibration, objective=self.objective)
        return own.at(n)  # type: ignore[no-any-return]

    def noise(self, n: int, epsilon: float) -> Scale:
        return kng_scale(self.space, self.ball.radius, n, epsilon, self.calibration)

    def target(self, records: Records) -> Target:
        space = self.space
        ball = self.ball
        sigma = self.scale.sigma
        R = self.scale.region
        envelope = mean_envelope(ball, R, records, self.mean, self.inexact * sigma)

        def energy(x: Points) -> Array:
            return space.norm(x, records.mean_log(x)) / sigma

        offset = envelope.slope / sigma
        # the ellipse takes the solver's success for granted
        ellipse = None if envelope.slope > self.slope else self.ellipse
        hessian = None if ellipse is None else envelope.hessian(records)
        if ellipse is None or hessian is None:
            reach = span(space, ball.center, envelope.base, R)
            law = RadialLaw.from_slope(space, lambda u: envelope.lower(u) / sigma, reach)
            return Target(space, envelope.base, law, energy, offset, ball.center, R)
        gradient = -space.coordinates(envelope.base, envelope.moments.logs)
        most = ball.radius + R
        inexact = 2 * self.rounding + envelope.moments.error  # of the energy there and the gradient here

        def squeeze(coordinates: Array) -> tuple[Array, Array]:
            """Return ‖∇F + Hv‖/σ, give or take what the third derivative can do."""
            length = np.linalg.norm(coordinates, axis=1)
            reach = np.minimum(envelope.furthest + length, most)
            error = inexact + self.bounds.gradient_error(length, envelope.second_moment, reach, envelope.slope)
            norm = np.linalg.norm(gradient + coordinates @ hessian, axis=1)
            return np.maximum(norm - error, 0.0) / sigma, (norm + error) / sigma

        shape = coarse(np.asarray(np.linalg.inv(hessian), dtype=np.float64))
        return Target(space, envelope.base, ellipse.law, energy, offset, ball.center, R, shape, squeeze)

    @cached_property
    def ellipse(self) -> Ellipse | None:
        """Proposals shaped by the Hessian, where public numbers say that most of them are accepted: for many records."""
        if np.isinf(self.scale.region):
            return None
        inexact = 2 * self.rounding + (self.slope if self.space.series_moments else 0.0)
        numbers = (self.space, self.ball.radius, self.scale.region, self.scale.sigma)
        plain = kng_ellipse(*numbers, inexact, self.slope, fine=False)
        if plain is not None and plain.acceptance >= WORTHWHILE:
            return plain
        ellipse = kng_ellipse(*numbers, inexact, self.slope, fine=True)
        radial = kng_acceptance(*numbers) or 0.0
        return ellipse if ellipse is not None and ellipse.acceptance >= max(LEAST, BETTER * radial) else None

    @property
    def condition(self) -> float:
        if self.ellipse is None:
            return 1.0
        lower, upper = public_hessian(self.space, self.ball.radius, self.scale.region, np.zeros(()))
        return float(upper / lower)

    @cached_property
    def asks(self) -> tuple[int, float]:
        return (self.batch, 0.0) if self.ellipse is None else doubtful(self.batch, self.ellipse.doubt)

    @cached_property
    def acceptance(self) -> float | None:
        """From the public bounds on the mean Hessian; see calibration/error.py."""
        if self.ellipse is not None:
            return self.ellipse.acceptance
        return kng_acceptance(self.space, self.ball.radius, self.scale.region, self.scale.sigma)

    @cached_property
    def error_laws(self) -> tuple[RadialLaw, ...]:
        return kng_error_laws(self.space, self.ball.radius, self.scale.region, self.scale.sigma)

    @property
    def error_law(self) -> RadialLaw:
        return self.error_laws[0]

    def error_quantile(self, p: float) -> float:
        return kng_error_quantile(self.error_laws, p)


@dataclass(frozen=True)
class Envelope:
    """What the records tell of the gradient about their mean: the base, bounds on its length there and on the mean squared and
    the largest distance from there, and a lower bound on the mean Hessian at distance u."""

    base: Points
    slope: float
    second_moment: float
    furthest: float
    lower: Callable[[Array], Array]
    moments: Moments

    def hessian(self, records: Records) -> Array | None:
        """Return the mean Hessian at the base; asks the records only if the solver did not learn it."""
        return self.moments.hessian if self.moments.hessian.ndim else records.hessian(self.base)


def mean_envelope(ball: Ball, R: float, records: Records, bounds: MeanBounds, tolerance: float) -> Envelope:
    """Return the envelope about the mean of records in the ball, for draws in B_R.

    With 2F the mean squared distance, 2F(x) ≤ 2F(x̄) + 2ηu + u² where no curvature is negative: a bound on the second
    moment along the way, and with the largest distance one on the Hessian.  As F is convex 2F(x̄) ≤ 2F(p₀) + 2ηρ(p₀, x̄), and
    2F(p₀) ≤ r²; the solver often knows better; no record is farther than r from p₀.  The answer of the solver only places the
    proposals: an inexact one costs speed, never privacy.
    """
    space = ball.space
    r = ball.radius
    solution = mean_in_ball(ball, records, bounds, max(tolerance, bounds.tolerance))
    base = solution.point
    eta = solution.gradient_norm
    moments = solution.moments
    off = float(space.distance(ball.center, base))
    second_moment = min(bounds_of(space).second_moment(moments), r * r + 2 * eta * off)
    furthest = (r + off) * (1 + 1e-12)

    def lower(u: Array) -> Array:
        reach = np.minimum(furthest + u, r + R)
        along = bounds_of(space).second_moment_at(second_moment + 2 * eta * u, u)
        return bounds_of(space).mean_hessian_bounds(along, reach)[0]

    return Envelope(base, eta + bounds.error, second_moment, furthest, lower, moments)


def span(space: Space, center: Points, base: Points, R: float) -> float:
    """Return the farthest that a point of B_R(center) can be from the base."""
    return min(float(space.distance(center, base)) + R, bounds_of(space).injectivity_radius)


@dataclass(frozen=True)
class OwnObjective(ManifoldMechanism):
    """What KNG is with an objective (Theorem 1).  Nothing public is known of how its gradient grows: no error is stated."""

    objective: Objective = field(kw_only=True)

    name: ClassVar[str] = KNG.name
    paper: ClassVar[str] = KNG.paper
    error = None
    rough_acceptance = 0.05

    @property
    def statistic(self) -> Objective:
        return self.objective

    @property
    def options(self) -> dict[str, Any]:
        return {"objective": self.objective.statistic}

    def noise(self, n: int, epsilon: float) -> Scale:
        """Return σ = 2Δ/ε (Theorem 1), Δ the sensitivity that the objective states."""
        delta = float(self.objective.sensitivity(n))
        if not 0 < delta < np.inf:
            raise Refusal(f"the sensitivity of an objective is a positive number, not {delta!r} for {n} records")
        formula = "2·Δ/ε, Δ the stated sensitivity of the gradient (theorem 1)"
        return Scale(2 * delta / epsilon, formula, {"delta": delta}, self.ball.radius)

    def check_data(self, records: Records) -> None:
        len(records.points)  # it asks for them all: raises if they are not in memory
        self.objective.refute(self.ball, records.n)

    def target(self, records: Records) -> Target:
        space = self.space
        sigma = self.scale.sigma
        R = self.scale.region
        points = records.points
        base = self.objective.start(points)
        reach = span(space, self.ball.center, base, R)
        edges = spread_edges(space, reach, reach)
        floor = np.asarray(self.objective.envelope(edges[:-1], points), dtype=np.float64) / sigma
        floor = np.minimum.accumulate(floor[::-1])[::-1]  # one that falls after all is lowered: no refusal by the data
        # at each edge the envelope's value one cell before: a line between two such values stays below the envelope
        law = RadialLaw(space, edges, np.diff(np.concatenate([floor[:1], floor])) / np.diff(edges))

        def energy(x: Points) -> Array:
            return space.norm(x, self.objective.gradient(x, points)) / sigma

        return Target(space, base, law, energy, -float(floor[0]), self.ball.center, R, doubted=True)

    @property
    def error_law(self) -> RadialLaw:
        raise ValueError("no error can be predicted for a custom objective: nothing public is known of its growth")

    @property
    def lengths(self) -> list[float]:
        return [2 * self.scale.region] * len(LEVELS)
