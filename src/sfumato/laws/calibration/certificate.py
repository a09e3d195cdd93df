"""KNG without the factor 2: the smallest scale that Results 3 and 3b prove.

On Ω = B_R(p0) the log normaliser moves, when one of n records is replaced, by at most B_eff/n; so any σ with

    A(r, R)/σ + B_eff(r, R, σ) ≤ n·ε

is ε-differentially private.  Two bounds on B_eff are known, and the better one is taken:

* **global** (Result 3): B(r, R) + flux, with flux ≤ (A/λ)·V(R)·e^(−(R−r)/σ) / ∫₀^(R−r) V₋·e^(−Λu/σ) du;
* **localised** (Result 3b): integration by parts only within ρ₁ = R − r of the mean, where the gradient norm rises along
  every ray with slope at least √(λΛ) − (Λ−λ)/2 (Kantorovich's inequality for the mean Hessian, λ ≤ H ≤ Λ), so the distance u
  from the mean is stochastically below the law Γ ∝ V·e^(−∫slope/σ):  E_Γ[β(u)] + flux + (A/σ)·(mass beyond ρ₁)/(mass within).

Every function of u is taken at the end of its cell where it is worse; integrals are eight-point Gauss sums on cells much
shorter than their scale (relative error below 1e-11, tested), upper sums or nothing on long ones; all times 1 + 1e-9.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...numerics.arrays import Array
from ...spaces.base import Space
from ..bounds import bounds_of
from ..radial import central_range, gauss_legendre, spread_edges

ROUND_UP = 1 + 1e-9


@dataclass(frozen=True)
class Certificate:
    """A proven scale and the numbers behind it: A/σ + B + flux + tail ≤ n·ε."""

    sigma: float
    R: float
    A: float
    B: float
    flux: float
    tail: float
    localised: bool


Effect = Callable[[float], tuple[float, float, float]]  # σ → (B, flux, tail)
Make = Callable[[Space, float, float, float, float], Effect]


def certify(space: Space, r: float, n_epsilon: float, below: float) -> Certificate | None:
    """Return the smallest certified scale under ``below``, over R and both bounds; None if there is none."""
    limit = bounds_of(space).convexity_radius
    widest = np.inf if np.isinf(limit) else (limit - 2 * r) * (1 - 1e-9)
    typical = min((space.dim + 6 * np.sqrt(space.dim)) * 2 * r / n_epsilon, widest)  # few draws are farther

    def search(effect: Make) -> Certificate | None:
        """Return the best certificate over R, any of which is valid: by large steps from a typical one, then by small ones."""
        tried: dict[float, Certificate | None] = {}

        def sigma(step: float) -> float:  # R − r is 1.4^step times the typical distance
            if step not in tried:
                tried[step] = _solve(space, r, r + min(typical * 1.4**step, widest), n_epsilon, below, effect)
            certificate = tried[step]
            return np.inf if certificate is None else certificate.sigma

        k = 0
        for step in (1, -1):
            while abs(k + step) <= 7 and (sigma(k + step) < sigma(k) or np.isinf(sigma(k))):
                k += step
        return tried[min(k + np.linspace(-1, 1, 7), key=sigma)]

    best = search(_localised)
    if best is None or best.sigma > 0.55 * below:  # no scale is below half of it
        best = min(filter(None, [best, search(_global)]), key=lambda c: c.sigma, default=None)
    return best


def _solve(space: Space, r: float, R: float, n_epsilon: float, below: float, make: Make) -> Certificate | None:
    """Return the certificate of the smallest σ under ``below`` for this R; None if there is none."""
    A = bounds_of(space).log_spread(r, R)
    lowest = A / n_epsilon
    if lowest >= below:
        return None
    effect = make(space, r, R, A, lowest)

    def enough(sigma: float) -> bool:
        return (A / sigma + sum(effect(sigma))) * ROUND_UP <= n_epsilon

    # a larger σ lowers A/σ but lets more mass reach the rim: scan for the first σ that suffices, then bisect below it
    low = lowest
    for high in lowest + (below - lowest) * np.geomspace(2e-3, 1.0, 20):
        if enough(high):
            break
        low = high
    else:
        return None
    while high > low * (1 + 1e-7):
        middle = (low + high) / 2
        if enough(middle):
            high = middle
        else:
            low = middle
    sigma = float(high)  # the last σ that was verified
    return Certificate(sigma, float(R), A, *effect(sigma), localised=make is _localised)


def _global(space: Space, r: float, R: float, A: float, sigma_floor: float) -> Effect:
    """Return B_eff by Result 3."""
    bounds = bounds_of(space)
    B = bounds.divergence_bound(r, R)
    lower, upper = bounds.hessian_bounds(r + R)
    log_area = float(bounds.log_radial_bounds(R)[1])
    central = min(R - r, central_range(space, 0.5 / sigma_floor))
    edges = spread_edges(space, central, central)
    nodes, weights = gauss_legendre(edges)
    log_volume = bounds.log_radial_bounds(nodes)[0] + np.log(weights)

    def effect(sigma: float) -> tuple[float, float, float]:
        log_mass = _log_sum(log_volume - float(upper) * nodes / sigma)
        flux = A / float(lower) * _exp(log_area - (R - r) / sigma - log_mass)
        return B, flux, 0.0

    return effect


def _localised(space: Space, r: float, R: float, A: float, sigma_floor: float) -> Effect:
    """Return B_eff by Result 3b."""
    bounds = bounds_of(space)
    rho1 = R - r
    end = min(R + r, bounds.injectivity_radius)
    central = min(end, central_range(space, 0.5 / sigma_floor))
    edges = np.union1d(spread_edges(space, central, end), [rho1])
    right = edges[1:]
    width = np.diff(edges)
    fine = right <= central  # fine cells are integrated, coarse ones get upper sums
    within = right <= rho1

    moment = bounds.second_moment_at(r * r, right)
    lower, upper = bounds.mean_hessian_bounds(moment, np.minimum(2 * r + right, r + R))
    # the slope is proven with one λ and one Λ for the whole ray up to u: bounds that hold from 0 to u
    lower = np.minimum.accumulate(lower)
    upper = np.maximum.accumulate(upper)
    slope = np.minimum.accumulate(np.sqrt(lower * upper) - (upper - lower) / 2)
    energy = np.concatenate([[0.0], np.cumsum(slope * width)])
    beta = np.maximum.accumulate(bounds.local_divergence_bound(r, right[within], R))
    lam = float(lower[within][-1])

    nodes, weights = (each[fine] for each in gauss_legendre(edges))
    volumes = bounds.log_radial_bounds(np.concatenate([nodes.ravel(), edges, [rho1]]))[1]
    fine_volume = volumes[: nodes.size].reshape(nodes.shape) + np.log(weights)
    fine_energy = energy[:-1][fine, None] + slope[fine, None] * (nodes - edges[:-1][fine, None])
    at_edges = volumes[nodes.size : -1]
    coarse_volume = np.maximum(at_edges[:-1], at_edges[1:])[~fine] + np.log(width[~fine])
    coarse_energy = np.minimum(energy[:-1], energy[1:])[~fine]
    log_rim = float(volumes[-1])
    rim_energy = float(energy[1:][within][-1])

    def effect(sigma: float) -> tuple[float, float, float]:
        log_cells = fine_volume - fine_energy / sigma
        log_z = _log_sum(log_cells[within[fine]])  # a lower bound: coarse cells are left out
        mass = np.empty(len(right))
        mass[fine] = np.exp(np.minimum(log_cells - log_z, 500.0)).sum(axis=1)
        mass[~fine] = np.exp(np.minimum(coarse_volume - coarse_energy / sigma - log_z, 500.0))
        flux = A / lam * _exp(log_rim - rim_energy / sigma - log_z)
        return float(mass[within] @ beta), flux, A / sigma * float(mass[~within].sum())

    return effect


def _log_sum(log_values: Array) -> float:
    top = float(np.max(log_values))
    return top + float(np.log(np.sum(np.exp(log_values - top))))


def _exp(x: float) -> float:
    return float(np.exp(min(x, 500.0)))
