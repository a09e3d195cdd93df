"""How far a draw lies from the mean, from public numbers only."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..radial import RadialLaw, central_range, spread_edges
from ..spaces.base import Array, Space


def public_hessian(space: Space, r: float, R: float, u: Array) -> tuple[Array, Array]:
    """Bounds on the mean Hessian at distance u from the Fréchet mean, within B_R(p0), for any data in B_r(p0)."""
    reach = np.minimum(2 * r + u, r + R)
    return space.mean_hessian_bounds(space.second_moment_at(r * r, u), reach)


def kng_error_law(space: Space, r: float, R: float, sigma: float) -> RadialLaw:
    """A law that stochastically dominates the distance of a KNG draw from the mean, whatever the data.

    Along every ray the gradient norm rises at least like √(λΛ) − (Λ−λ)/2 (see certificate.py), the volume at most like V,
    and leaving Ω early only helps.
    """

    def slope(u: Array) -> Array:
        lower, upper = public_hessian(space, r, R, u)
        return (np.sqrt(lower * upper) - (upper - lower) / 2) / sigma

    return RadialLaw.from_slope(space, slope, min(r + R, space.injectivity_radius))


@lru_cache(maxsize=1024)
def kng_error_quantile(space: Space, r: float, R: float, sigma: float, p: float) -> float:
    """A distance from the mean that a KNG draw exceeds with probability at most 1 − p, whatever the data.

    The smaller of two proven bounds: the quantile of :func:`kng_error_law`, and the least t with
    ∫_t V·e^(−∫λ/σ) / ∫₀^t V·e^(−∫Λ/σ) ≤ (1 − p)/p.  The second holds as the gradient norm lies between ∫λ and ∫Λ and as the
    volume over V does not rise along a ray; it is the better one on widely spread SPD matrices.
    """
    first = kng_error_law(space, r, R, sigma).quantile(p)
    if np.isinf(R) or space.curvature_bounds[0] >= 0:
        return first
    shallow = RadialLaw.from_slope(space, lambda u: public_hessian(space, r, R, u)[0] / sigma, r + R)
    edges = shallow.edges
    upper = np.maximum.accumulate(public_hessian(space, r, R, edges[1:])[1])
    steep = RadialLaw(space, edges, upper / sigma)
    beyond = np.logaddexp.accumulate(shallow.log_masses()[::-1])[::-1]  # beyond[i]: from edge i on
    before = np.logaddexp.accumulate(steep.log_masses())  # before[i]: up to edge i + 1
    enough = np.flatnonzero(beyond[1:] - before[:-1] <= np.log((1 - p) / p))
    return min(first, float(edges[enough[0] + 1])) if len(enough) else first


@lru_cache(maxsize=64)
def exponential_error_law(space: Space, r: float, sigma: float) -> RadialLaw:
    """The same for the exponential mechanism: F rises from the mean at least like ∫∫λ."""
    limit = min(2 * r, space.injectivity_radius)
    edges = gaussian_edges(space, sigma, limit)
    lower = np.minimum.accumulate(public_hessian(space, r, r, edges[1:])[0])
    slopes = np.concatenate([[0.0], np.cumsum(lower * np.diff(edges))])[:-1]  # the gradient at each cell's left end
    return RadialLaw(space, edges, slopes / sigma)


def gaussian_edges(space: Space, sigma: float, limit: float) -> Array:
    """Cells for a law like exp(−u²/(2σ)): its draws seldom pass √σ·(√d + 9)."""
    return spread_edges(space, float(np.sqrt(2 * sigma) * (np.sqrt(space.dim) + 9)), limit)


@lru_cache(maxsize=1024)
def laplace_error_quantile(space: Space, sigma: float, p: float) -> float:
    """The distance that a Laplace draw exceeds with probability at most 1 − p."""
    return laplace_error_law(space, sigma).quantile(p)


@lru_cache(maxsize=64)
def laplace_error_law(space: Space, sigma: float) -> RadialLaw:
    """The law of the distance from its centre of a Laplace draw: exact where the sphere's area is known in closed form or
    by quadrature, otherwise dominating it."""
    exact = space.log_sphere_area(np.ones(1)) is not None
    if np.isinf(space.injectivity_radius):  # the quadrature is good for radii of ordinary size
        exact = exact and central_range(space, 1 / sigma) <= 8

    def area(u: Array) -> Array:
        value = space.log_sphere_area(u)
        assert value is not None
        return value

    return RadialLaw.from_slope(
        space, lambda u: np.full(u.shape, 1 / sigma), space.injectivity_radius, area if exact else None
    )
