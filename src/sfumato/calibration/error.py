"""How far a draw lies from the mean, from public numbers only."""

from __future__ import annotations

import numpy as np

from ..radial import RadialLaw
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


def exponential_error_law(space: Space, r: float, sigma: float) -> RadialLaw:
    """The same for the exponential mechanism: F rises from the mean at least like ∫∫λ."""
    limit = min(2 * r, space.injectivity_radius)
    edges = np.linspace(0.0, limit, 4097)
    lower = np.minimum.accumulate(public_hessian(space, r, r, edges[1:])[0])
    slopes = np.concatenate([[0.0], np.cumsum(lower * np.diff(edges))])[:-1]  # the gradient at each cell's left end
    return RadialLaw(space, edges, slopes / sigma)


def laplace_error_law(space: Space, sigma: float) -> RadialLaw:
    """The law of the distance from its centre of a Laplace draw: exact where the sphere's area is known in closed form or
    by quadrature, otherwise dominating it."""
    exact = space.log_sphere_area(np.ones(1)) is not None

    def area(u: Array) -> Array:
        value = space.log_sphere_area(u)
        assert value is not None
        return value

    return RadialLaw.from_slope(
        space, lambda u: np.full(u.shape, 1 / sigma), space.injectivity_radius, area if exact else None
    )
