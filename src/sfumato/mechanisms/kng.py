"""The K-norm gradient mechanism on manifolds (Soto, Bharath, Reimherr and Slavković 2022)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..bounds import bounds_of
from ..calibration.error import (
    Ellipse,
    doubtful,
    kng_acceptance,
    kng_ellipse,
    kng_error_quantile,
    public_hessian,
)
from ..calibration.mean import mean_bounds
from ..calibration.rounding import LEVELS, gradient_error
from ..calibration.scale import Scale, check_request, kng_scale
from ..frechet import mean_in_ball
from ..radial import RadialLaw, spread_edges
from ..records import Records, one_thread
from ..regions.ball import Ball
from ..release.record import STATED, ErrorOf, Release
from ..sampling import Target, coarse
from ..spaces.base import Array, Moments, Points, Space
from .base import Budget, ManifoldMechanism

WORTHWHILE = 0.5  # share of proposals that must be accepted for the Hessian to be worth its pass over the data
TRIALS, MANY = (
    40,
    10_000,
)  # made-up neighbours that a stated sensitivity is tried at; fewer where there are many records
INEXACT = 1e-4  # of σ: the gradient that may be left at the mean, which only places proposals


@dataclass(frozen=True)
class Objective:
    """A user's own objective for KNG: what to release is where its gradient vanishes.

    ``gradient(x, points)`` gives tangent vectors (m, …) at m points x; ``sensitivity(n)`` bounds its change when one of n
    records in the ball is replaced by another, at every x of the ball; ``start(points)`` is a point near the minimiser;
    ``envelope(radius, points)`` is a lower bound on the gradient's norm at that distance from the start, which never falls
    as the radius grows.  All take canonical points.

    The promise rests on ``sensitivity``, which no program can prove, and which must not come from the data.  So a release says
    "if the stated sensitivity holds: not checked" and is never called private.  One that made-up neighbours refute
    (:meth:`refute`) is refused before anything is charged.
    """

    gradient: Callable[[Points, Points], Points]
    sensitivity: Callable[[int], float]
    start: Callable[[Points], Points]
    envelope: Callable[[Array, Points], Array]
    statistic: str = "minimiser of a custom objective"

    def refute(self, ball: Ball, n: int) -> None:
        """A ValueError if replacing one of n made-up records moves the gradient by more than is stated, or the envelope is
        none, at one of the pairs and points tried: the same for all data, as none are looked at.  Silence proves nothing.

        >>> from sfumato import Euclidean
        >>> space = Euclidean(dim=2)
        >>> mean = Objective(lambda x, p: x - p.mean(axis=0), lambda n: 1 / n, lambda p: p[0], lambda r, p: 0 * r)
        >>> mean.refute(Ball(space, [0.0, 0.0], radius=0.5), 20)  # a record moves the mean by at most 2r/n
        >>> mean.refute(Ball(space, [0.0, 0.0], radius=0.6), 20)
        Traceback (most recent call last):
        ...
        ValueError: the objective states a sensitivity of 0.05 for 20 records, but ... by 0.06; state a larger one
        """
        space, stated, found = ball.space, float(self.sensitivity(n)), 0.0
        for x, first, second in made_up_neighbours(ball, n):
            with one_thread():
                here = self.gradient(x, first)
                found = float(np.maximum(found, np.max(space.norm(x, here - self.gradient(x, second)))))  # NaN stays
                radius = np.atleast_1d(space.distance(self.start(first), x))
            order = np.argsort(radius)
            floor = np.asarray(self.envelope(radius[order], first), dtype=np.float64)
            if not (np.diff(floor) >= 0).all():
                raise ValueError("the envelope of an objective must not fall as the radius grows")
            if not (floor <= space.norm(x, here)[order] + 1e-9 * np.abs(floor)).all():
                raise ValueError("the envelope of an objective must not exceed the norm of its gradient, and did")
        if not found <= stated * (1 + 1e-9):
            raise ValueError(
                f"the objective states a sensitivity of {stated:g} for {n} records, but replacing one of {n} made-up records "
                f"moved its gradient by {found:g}; state a larger one"
            )


def made_up_neighbours(ball: Ball, n: int) -> Iterator[tuple[Points, Points, Points]]:
    """Points of the ball, and data sets of n records in it that differ in the first: from a fixed seed and public numbers."""
    space, rng = ball.space, np.random.default_rng(0)
    ones = (1,) * len(space.point_shape)

    def spread(count: int, low: float) -> Points:
        lengths = ball.radius * rng.uniform(low, 1.0, count).reshape(-1, *ones)
        return space.exp(ball.center, lengths * space.random_directions(ball.center, count, rng))

    for _ in range(TRIALS if n <= MANY else TRIALS // 5):
        end = ball.radius * space.random_directions(ball.center, 1, rng)
        pair = space.exp(ball.center, np.concatenate([end, -end]))
        if rng.random() < 0.25:  # another end, or one inside
            pair[1] = spread(1, 0.0)[0]
        others = (pair[:1], pair[1:], ball.center[None], pair, spread(3, 1.0), spread(1000, 0.0))[rng.integers(6)]
        rest = others[np.arange(n - 1) % len(others)]
        x = np.concatenate([ball.center[None], pair, spread(4, 1.0), spread(4, 0.0)])
        yield x, np.concatenate([pair[:1], rest]), np.concatenate([pair[1:], rest])


@dataclass(frozen=True, eq=False)
class KNG(ManifoldMechanism):
    """Density ∝ exp(−‖∇F(x)‖/σ) on a ball about the public centre, F half the mean squared distance to the data.

    Privacy: ε-DP.  "theorem": σ = 2Δ/ε with Theorem 2's Δ, on the ball itself.  "tight": σ = 2A/(nε) with the exact
    sensitivity A/n.  "certified": σ = A/(nε − B_eff) on a slightly larger ball, no factor 2 (theory, Results 1, 3 and 3b).
    With an ``objective`` of your own: σ = 2Δ/ε (Theorem 1), whatever the calibration, if the Δ that it states holds.

    >>> from sfumato import Ball, Sphere
    >>> kng = KNG(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), epsilon=1.0)
    >>> round(kng.scale(100), 5), round(kng.error_quantile(100, 0.95), 4)
    (0.00836, 0.0421)
    """

    objective: Objective | None = field(default=None, repr=False)
    name: ClassVar[str] = "kng"

    @property
    def statistic(self) -> str:  # type: ignore[override]
        return "Fréchet mean" if self.objective is None else self.objective.statistic

    @property
    def condition(self) -> str:  # type: ignore[override]
        return "" if self.objective is None else STATED

    def options(self) -> dict[str, Any]:
        return {} if self.objective is None else {"objective": self.objective.statistic}

    def _calibrate(self, n: int, epsilon: float) -> Scale:
        if self.objective is not None:
            check_request(n, epsilon)
            delta = float(self.objective.sensitivity(n))
            if not 0 < delta < np.inf:
                raise ValueError(f"the sensitivity of an objective is a positive number, not {delta!r} for {n} records")
            formula = "2·Δ/ε, Δ the stated sensitivity of the gradient (theorem 1)"
            return Scale(2 * delta / epsilon, formula, {"delta": delta}, self.ball.radius)
        return kng_scale(self.space, self.ball.radius, n, epsilon, self.calibration)

    def _release(
        self, records: Records, unit: str, budget: Budget | None, degrees: tuple[str, str] | None = None
    ) -> Release:
        if self.objective is not None:  # all before anything is charged
            len(records.points)  # it asks for them all: raises if they are not in memory
            self.calibrate(records.n)
            self.objective.refute(self.ball, records.n)
        return super()._release(records, unit, budget, degrees)

    def target(self, records: Records, scale: Scale) -> Target:
        space, ball, sigma, R = self.space, self.ball, scale.sigma, scale.region
        if self.objective is not None:
            return self._custom_target(self.objective, records.points, scale)
        found = mean_envelope(ball, R, records, INEXACT * sigma)

        def energy(x: Points) -> Array:
            return space.norm(x, records.mean_log(x)) / sigma

        offset = found.slope / sigma
        ellipse = self._ellipse(scale, records.n)
        if found.slope > self._public_slope(scale, records.n):  # the ellipse takes the solver's success for granted
            ellipse = None
        hessian = None if ellipse is None else found.hessian(records)
        if ellipse is None or hessian is None:
            span = _span(space, ball.center, found.base, R)
            law = RadialLaw.from_slope(space, lambda u: found.lower(u) / sigma, span)
            return Target(space, found.base, law, energy, offset, ball.center, R)
        gradient, most = -space.coordinates(found.base, found.moments.logs), ball.radius + R

        def squeeze(coordinates: Array) -> tuple[Array, Array]:
            """‖∇F + Hv‖/σ, give or take what the third derivative can do."""
            length = np.linalg.norm(coordinates, axis=1)
            reach = np.minimum(found.furthest + length, most)
            inexact = (
                2 * self._rounding(R, records.n) + found.moments.error
            )  # of the energy there and the gradient here
            error = inexact + bounds_of(space).gradient_error(length, found.second_moment, reach, found.slope)
            norm = np.linalg.norm(gradient + coordinates @ hessian, axis=1)
            return np.maximum(norm - error, 0.0) / sigma, (norm + error) / sigma

        shape = coarse(np.asarray(np.linalg.inv(hessian), dtype=np.float64))
        return Target(space, found.base, ellipse.law, energy, offset, ball.center, R, shape, squeeze)

    def _rounding(self, region: float, n: int) -> float:
        """Error of a computed gradient: of the point, of a logarithm there, and of the sum of n of them."""
        return gradient_error(self.space, self.ball.center, self.ball.radius + region, n)

    def _ellipse(self, scale: Scale, n: int) -> Ellipse | None:
        """Proposals shaped by the Hessian, where public numbers say that most of them are accepted: for many records."""
        if self.objective is not None or np.isinf(scale.region):
            return None
        slope = self._public_slope(scale, n)
        inexact = 2 * self._rounding(scale.region, n) + (slope if self.space.series_moments else 0.0)
        found = kng_ellipse(self.space, self.ball.radius, scale.region, scale.sigma, inexact, slope)
        return found if found is not None and found.acceptance >= WORTHWHILE else None

    def _public_slope(self, scale: Scale, n: int) -> float:
        """A bound on the gradient at the mean that the solver found, and on what a series left out of it."""
        bounds = mean_bounds(self.space, self.ball.center, self.ball.radius, n)
        return max(INEXACT * scale.sigma, bounds.tolerance) + bounds.error

    def _condition(self, n: int) -> float:
        scale = self.calibrate(n)
        if self._ellipse(scale, n) is None:
            return 1.0
        lower, upper = public_hessian(self.space, self.ball.radius, scale.region, np.zeros(()))
        return float(upper / lower)

    def asks(self, n: int, proposals: int) -> tuple[int, float]:
        ellipse = self._ellipse(self.calibrate(n), n)
        return (proposals, 0.0) if ellipse is None else doubtful(proposals, ellipse.doubt)

    def _custom_target(self, objective: Objective, points: Points, scale: Scale) -> Target:
        space, R = self.space, scale.region
        base = objective.start(points)
        span = _span(space, self.ball.center, base, R)
        edges = spread_edges(space, span, span)
        floor = np.asarray(objective.envelope(edges[:-1], points), dtype=np.float64) / scale.sigma
        floor = np.minimum.accumulate(floor[::-1])[::-1]  # one that falls after all is lowered: no refusal by the data
        # at each edge the envelope's value one cell before: a line between two such values stays below the envelope
        law = RadialLaw(space, edges, np.diff(np.concatenate([floor[:1], floor])) / np.diff(edges))

        def energy(x: Points) -> Array:
            return space.norm(x, objective.gradient(x, points)) / scale.sigma

        return Target(space, base, law, energy, -float(floor[0]), self.ball.center, R, doubted=True)

    def predicted_error(self, n: int) -> ErrorOf | None:
        return super().predicted_error(n) if self.objective is None else None

    def error_quantile(self, n: int, p: float) -> float:
        if self.objective is not None:
            raise ValueError("no error can be predicted for a custom objective: nothing public is known of its growth")
        scale = self.calibrate(n)
        return kng_error_quantile(self.space, self.ball.radius, scale.region, scale.sigma, p)

    def _lengths(self, n: int) -> list[float]:
        return super()._lengths(n) if self.objective is None else [2 * self.calibrate(n).region] * len(LEVELS)

    def _rough_acceptance(self, n: int) -> float:
        return 0.05 if self.objective is not None else super()._rough_acceptance(n)

    def acceptance(self, n: int) -> float | None:
        """From the public bounds on the mean Hessian; see calibration/error.py."""
        if self.objective is not None:
            return None
        scale = self.calibrate(n)
        ellipse = self._ellipse(scale, n)
        if ellipse is not None:
            return ellipse.acceptance
        return kng_acceptance(self.space, self.ball.radius, scale.region, scale.sigma)


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
        """The mean Hessian at the base; asks the records only if the solver did not learn it."""
        return self.moments.hessian if self.moments.hessian.ndim else records.hessian(self.base)


def mean_envelope(ball: Ball, R: float, records: Records, tolerance: float) -> Envelope:
    """The envelope about the mean of records in the ball, for draws in B_R.

    With 2F the mean squared distance, 2F(x) ≤ 2F(x̄) + 2ηu + u² where no curvature is negative: a bound on the second
    moment along the way, and with the largest distance one on the Hessian.  As F is convex 2F(x̄) ≤ 2F(p₀) + 2ηρ(p₀, x̄), and
    2F(p₀) ≤ r²; the solver often knows better; no record is farther than r from p₀.  The answer of the solver only places the
    proposals: an inexact one costs speed, never privacy.
    """
    space, r = ball.space, ball.radius
    bounds = mean_bounds(space, ball.center, r, records.n)
    found = mean_in_ball(ball, records, bounds, max(tolerance, bounds.tolerance))
    base, eta, moments = found.point, found.gradient_norm, found.moments
    off = float(space.distance(ball.center, base))
    second_moment = min(bounds_of(space).second_moment(moments), r * r + 2 * eta * off)
    furthest = (r + off) * (1 + 1e-12)

    def lower(u: Array) -> Array:
        reach = np.minimum(furthest + u, r + R)
        return bounds_of(space).mean_hessian_bounds(
            bounds_of(space).second_moment_at(second_moment + 2 * eta * u, u), reach
        )[0]

    return Envelope(base, eta + bounds.error, second_moment, furthest, lower, moments)


def _span(space: Space, center: Points, base: Points, R: float) -> float:
    """The farthest that a point of B_R(center) can be from the base."""
    return min(float(space.distance(center, base)) + R, bounds_of(space).injectivity_radius)
