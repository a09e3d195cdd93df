"""The staircase mechanism (Geng, Kairouz, Oh and Viswanath 2015) on a manifold (proofs, Result 5c)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..laws.bounds import bounds_of
from ..laws.calibration.error import known_area
from ..laws.calibration.rounding import UNIT
from ..laws.calibration.scale import Scale, laplace_scale
from ..laws.radial import RadialLaw, central_range, gauss_legendre, radial_edges
from ..spaces.base import Space
from .laplace import ManifoldLaplace

MOST_STEPS = 256  # beyond them the energy rises evenly, like that of the Laplace
CANDIDATES = np.geomspace(1e-4, 1.0, 128)  # for γ


@dataclass(frozen=True)
class ManifoldStaircase(ManifoldLaplace):
    """Density ∝ exp(−ε·k(x)) on the whole manifold, k the number of thresholds γΔ, (1+γ)Δ, (2+γ)Δ, … up to ρ(x, x̄), x̄ the
    Fréchet mean.

    Privacy: ε-DP for any γ, as an interval of length Δ that is open at one end holds at most one threshold and the normaliser
    does not depend on the data (proofs, Result 5c).  Δ is that of the manifold Laplace, and σ = Δ/ε.  γ is the one with the
    smallest mean error, from public numbers.  In up to three dimensions, or for an ε of 4 or more, that is less than the
    Laplace's; in one dimension it is the least that any noise can have (Geng and Viswanath 2016).

    >>> from sfumato import Ball, Euclidean
    >>> scale = ManifoldStaircase(Ball(Euclidean(dim=2), [0.0, 0.0], radius=1.0), epsilon=4.0).at(100).scale
    >>> round(scale.sigma, 6), round(scale.numbers["gamma"], 2)
    (0.005, 0.31)
    """

    name: ClassVar[str] = "staircase"
    paper: ClassVar[str] = (
        "Q. Geng, P. Kairouz, S. Oh and P. Viswanath (2015). The staircase mechanism in differential privacy. IEEE Journal of "
        "Selected Topics in Signal Processing 9(7)."
    )
    worth_from: ClassVar[tuple[float, float]] = (2.0, 4.0)  # below it gains less than a hundredth on the Laplace

    def noise(self, n: int, epsilon: float) -> Scale:
        # wider by what roundings of thresholds, and of the norm that a direction is divided by, can take (Result 5c)
        wider = 1 + 2 * (MOST_STEPS + 1) * (self.space.dim + 8) * UNIT
        scale = laplace_scale(self.ball, n, epsilon / wider, self.calibration, "staircase")
        numbers = {**scale.numbers, "gamma": best_gamma(self.space, scale.sigma, epsilon), "jump": epsilon}
        return replace(scale, formula=scale.formula + "; steps of Δ, the first γ·Δ (result 5c)", numbers=numbers)

    @cached_property
    def proposals(self) -> RadialLaw:
        return staircase_law(self.space, self.scale.sigma, self.scale.numbers["jump"], self.scale.numbers["gamma"])

    @cached_property
    def error_law(self) -> RadialLaw:
        area = known_area(self.space, self.scale.sigma)
        return self.proposals if area is None else replace(self.proposals, log_volume=area)

    def loss(self, distance: float) -> float:
        jump = self.scale.numbers["jump"]
        return jump * float(np.ceil(distance / (self.scale.sigma * jump)))

    @cached_property
    def noise_length(self) -> float:
        """1/E|∂ log density|, at most σ: what the lattice must be fine against, so that few draws lie near a face of a cell."""
        return float(1 / max(1 / self.scale.sigma, roughness(self.proposals)))


def staircase_law(space: Space, sigma: float, jump: float, gamma: float) -> RadialLaw:
    """Return the law with E(u) = jump·#{j ≥ 0: (j + γ)·σ·jump ≤ u}.

    From the last threshold on E rises evenly with slope 1/σ instead: where an unbounded space has all but e⁻⁴⁰ of the draws
    before it, and after MOST_STEPS.

    >>> from sfumato import Euclidean
    >>> law = staircase_law(Euclidean(dim=2), sigma=0.5, jump=2.0, gamma=0.25)
    >>> law.energy(np.array([0.2, 0.3, 1.2, 1.3])).tolist()
    [0.0, 2.0, 2.0, 4.0]
    """
    limit = bounds_of(space).injectivity_radius
    cells = radial_edges(space, 1 / sigma, limit)
    thresholds = sigma * jump * (np.arange(MOST_STEPS) + gamma)
    thresholds = thresholds[thresholds < cells[-1]]
    even = np.append(0.0, thresholds)[-1] if np.isinf(limit) or len(thresholds) == MOST_STEPS else np.inf
    edges = np.union1d(cells, thresholds)
    jumps = np.where(np.isin(edges, thresholds) & (edges < even), jump, 0.0)
    slopes = np.where(edges[:-1] < even, 0.0, 1 / sigma)
    return RadialLaw(space, edges, slopes, bool(np.isinf(limit)), None, jumps)


def best_gamma(space: Space, sigma: float, jump: float) -> float:
    """Return the candidate for γ with the smallest mean distance from the centre.  Any γ is as private.

    The mean and not a quantile: a γ that is best for one quantile puts a step's edge there and can be worse than the Laplace
    at all others.
    """
    step = sigma * jump
    bounds = bounds_of(space)
    count = min(MOST_STEPS, int(np.ceil(central_range(space, 1 / sigma) / step)) + 1)
    rows = np.arange(count)[:, None]
    edges = np.minimum(step * (rows + CANDIDATES), bounds.injectivity_radius)
    nodes, weights = gauss_legendre(np.append(0.0, edges.ravel()))
    logs = bounds.log_radial_bounds(nodes)[1].reshape(*edges.shape, -1) - jump * rows[..., None]
    density = weights.reshape(logs.shape) * np.exp(logs - logs.max())
    # in row j the energy is j·jump up to the threshold, one jump more from there on
    mass, moment = (
        np.sum(np.cumsum(m, axis=1) * -np.expm1(-jump) + np.exp(-jump) * m.sum(axis=1, keepdims=True), axis=0)
        for m in (density.sum(axis=2), np.sum(density * nodes.reshape(logs.shape), axis=2))
    )
    return float(CANDIDATES[np.argmin(moment / mass)])


def roughness(law: RadialLaw) -> float:
    """Return a bound on E|∂ log density| over the whole space: areas of the thresholds' spheres times what the density falls
    there, over its integral; or the most that area over volume can be for balls from the first threshold on (Result 5c)."""
    bounds = bounds_of(law.space)
    below = replace(law, log_volume=lambda u: bounds.log_radial_bounds(u)[0])
    assert law.jumps is not None
    jumps = law.jumps[:-1]
    total = np.logaddexp.reduce(below.log_masses())
    with np.errstate(divide="ignore"):
        falls = law.volume(law.edges[:-1]) + jumps - law.edge_energy[:-1] + np.log(-np.expm1(-jumps))
        rises = law.log_masses() + np.log(law.slopes)
        first = np.append(law.edges[:-1][(jumps > 0) | (law.slopes > 0)], law.edges[-1])[0]
        most = np.log(law.space.dim / first + bounds.radial_growth)
    return float(np.exp(min(np.logaddexp.reduce(np.append(falls, rises)) - total, most)))
