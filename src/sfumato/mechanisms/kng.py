"""The K-norm gradient mechanism on manifolds (Soto, Bharath, Reimherr and Slavković 2022)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..calibration.error import kng_error_quantile, public_hessian
from ..calibration.scale import Scale, check_request, kng_scale
from ..frechet import steady_solve
from ..radial import RadialLaw, gauss_legendre, spread_edges
from ..sampling import Target
from ..spaces.base import Array, Points, Space, uniform_weights
from .base import ManifoldMechanism


@dataclass(frozen=True)
class Objective:
    """A user's own objective for KNG: what to release is where its gradient vanishes.

    ``gradient(x, points)`` gives tangent vectors (m, …) at m points x; ``sensitivity(n)`` bounds its change when one of n
    records in the ball is replaced by another, at every x of the ball; ``start(points)`` is a point near the minimiser;
    ``envelope(radius, points)`` is a lower bound on the gradient's norm at that distance from the start, which never falls
    as the radius grows.  All take canonical points.
    """

    gradient: Callable[[Points, Points], Points]
    sensitivity: Callable[[int], float]
    start: Callable[[Points], Points]
    envelope: Callable[[Array, Points], Array]
    statistic: str = "minimiser of a custom objective"


@dataclass(frozen=True, eq=False)
class KNG(ManifoldMechanism):
    """Density ∝ exp(−‖∇F(x)‖/σ) on a ball about the public centre, F half the mean squared distance to the data.

    Privacy: ε-DP.  "theorem": σ = 2Δ/ε with Theorem 2's Δ, on the ball itself.  "tight": σ = 2A/(nε) with the exact
    sensitivity A/n.  "certified": σ = A/(nε − B_eff) on a slightly larger ball, no factor 2 (theory, Results 1, 3 and 3b).
    With an ``objective`` of your own: σ = 2Δ/ε (Theorem 1), whatever the calibration.

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

    def options(self) -> dict[str, Any]:
        return {} if self.objective is None else {"objective": self.objective.statistic}

    def calibrate(self, n: int) -> Scale:
        if self.objective is not None:
            check_request(n, self.epsilon)
            delta = float(self.objective.sensitivity(n))
            formula = "2·Δ/ε, Δ the stated sensitivity of the gradient (theorem 1)"
            return Scale(2 * delta / self.epsilon, formula, {"delta": delta}, self.ball.radius)
        return kng_scale(self.space, self.ball.radius, n, self.epsilon, self.calibration)

    def target(self, points: Points, scale: Scale) -> Target:
        space, ball, sigma, R = self.space, self.ball, scale.sigma, scale.region
        if self.objective is not None:
            return self._custom_target(self.objective, points, scale)
        base, eta, law = mean_envelope(space, ball.center, ball.radius, R, points)

        def energy(x: Points) -> Array:
            return space.norm(x, space.mean_log(x, points)) / sigma

        scaled = RadialLaw.from_slope(space, lambda u: law(u) / sigma, _span(space, ball.center, base, R))
        return Target(space, base, scaled, energy, eta / sigma, ball.center, R)

    def _custom_target(self, objective: Objective, points: Points, scale: Scale) -> Target:
        space, R = self.space, scale.region
        base = objective.start(points)
        span = _span(space, self.ball.center, base, R)
        edges = spread_edges(space, span, span)
        floor = np.asarray(objective.envelope(edges[:-1], points), dtype=np.float64) / scale.sigma
        if (np.diff(floor) < 0).any():
            raise ValueError("the envelope of an objective must not fall as the radius grows")
        # at each edge the envelope's value one cell before: a line between two such values stays below the envelope
        law = RadialLaw(space, edges, np.diff(np.concatenate([floor[:1], floor])) / np.diff(edges))

        def energy(x: Points) -> Array:
            return space.norm(x, objective.gradient(x, points)) / scale.sigma

        return Target(space, base, law, energy, -float(floor[0]), self.ball.center, R)

    def predicted_error(self, n: int) -> dict[str, Any] | None:
        return super().predicted_error(n) if self.objective is None else None

    def error_quantile(self, n: int, p: float) -> float:
        if self.objective is not None:
            raise ValueError("no error can be predicted for a custom objective: nothing public is known of its growth")
        scale = self.calibrate(n)
        return kng_error_quantile(self.space, self.ball.radius, scale.region, scale.sigma, p)

    def _rough_acceptance(self, n: int) -> float:
        return 0.05 if self.objective is not None else super()._rough_acceptance(n)

    def acceptance(self, n: int) -> float | None:
        """∫₀^(R−r) V₋·e^(−Λu/σ) over ∫ V·e^(−Gu/σ), with the public bounds Λ and G on the mean Hessian."""
        if self.objective is not None:
            return None
        scale, r, space = self.calibrate(n), self.ball.radius, self.space
        if np.isinf(scale.region):
            return 1.0
        envelope = RadialLaw.from_slope(
            space,
            lambda u: public_hessian(space, r, scale.region, u)[0] / scale.sigma,
            min(r + scale.region, space.injectivity_radius),
        )
        inner = envelope.edges[envelope.edges <= scale.region - r]
        if len(inner) < 2:
            return None
        nodes, weights = gauss_legendre(inner)
        steepest = public_hessian(space, r, scale.region, nodes)[1] * nodes / scale.sigma
        log_mass = np.logaddexp.reduce((np.log(weights) + space.log_radial_bounds(nodes)[0] - steepest).ravel())
        return float(np.exp(log_mass - np.logaddexp.reduce(envelope.log_masses())))


def mean_envelope(
    space: Space, center: Points, r: float, R: float, points: Points
) -> tuple[Points, float, Callable[[Array], Array]]:
    """The mean, the gradient η left there, and a lower bound on the mean Hessian at distance u from it.

    With 2F the mean squared distance, 2F(x) ≤ 2F(x̄) + 2ηu + u² where no curvature is negative: a bound on the second
    moment along the way, and with the largest distance one on the Hessian.  The answer of the solver only places the
    proposals: an inexact one costs speed, never privacy.
    """
    weights = uniform_weights(len(points), None)
    base, eta, _, _ = steady_solve(space, points, weights)
    if not float(space.distance(center, base)) <= R:  # a solver gone astray
        base = center
        eta = float(space.norm(base, space.mean_log(base[None], points)[0]))
    distances = space.distance(base, points)
    second_moment, furthest = float(np.mean(distances**2)), float(distances.max())

    def lower(u: Array) -> Array:
        reach = np.minimum(furthest + u, r + R)
        return space.mean_hessian_bounds(space.second_moment_at(second_moment + 2 * eta * u, u), reach)[0]

    return base, eta + space.rounding_error(center, r + min(R, r + furthest)), lower


def _span(space: Space, center: Points, base: Points, R: float) -> float:
    """The farthest that a point of B_R(center) can be from the base."""
    return min(float(space.distance(center, base)) + R, space.injectivity_radius)
