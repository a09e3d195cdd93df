"""How far a draw lies from the mean, from public numbers only."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtrc

from ...numerics.arrays import Array
from ...spaces.base import Space
from ..bounds import bounds_of
from ..radial import RadialLaw, central_range, gauss_legendre, radial_edges, spread_edges

COARSE = 26  # bits of the matrix that shapes proposals
FAIL = 1e-9  # the probability with which a fixed amount of work may not be enough


def public_hessian(space: Space, r: float, R: float, u: Array, slope: float = 0.0) -> tuple[Array, Array]:
    """Return bounds on the mean Hessian at distance u from the Fréchet mean, within B_R(p0), for any data in B_r(p0).

    Or at distance u from a point where the gradient is at most ``slope``, and that is outside of B_r(p0) by at most 4·slope.
    """
    reach = np.minimum(2 * r + 4 * slope + u, r + R)
    moment = bounds_of(space).second_moment_at(r * r + 4 * slope * (r + slope), u)
    return bounds_of(space).mean_hessian_bounds(moment, reach)


def kng_error_law(space: Space, r: float, R: float, sigma: float) -> RadialLaw:
    """Return a law that stochastically dominates the distance of a KNG draw from the mean, whatever the data.

    Along every ray the gradient norm rises at least like √(λΛ) − (Λ−λ)/2 (see certificate.py), the volume at most like V,
    and leaving Ω early only helps.
    """

    def slope(u: Array) -> Array:
        lower, upper = public_hessian(space, r, R, u)
        return (np.sqrt(lower * upper) - (upper - lower) / 2) / sigma

    return RadialLaw.from_slope(space, slope, min(r + R, bounds_of(space).injectivity_radius))


def kng_acceptance(space: Space, r: float, R: float, sigma: float) -> float | None:
    """Return a lower bound on the share of KNG's proposals that are accepted; None if the region is within the ball.

    ∫₀^(R−r) V₋·e^(−Λu/σ) over ∫ V·e^(−Gu/σ), with the public bounds Λ and G on the mean Hessian.
    """
    if np.isinf(R):
        return 1.0
    limit = min(r + R, bounds_of(space).injectivity_radius)  # of the widest law of proposals, whatever the data
    envelope = RadialLaw.from_slope(space, lambda u: public_hessian(space, r, R, u)[0] / sigma, limit)
    inner = envelope.edges[envelope.edges <= R - r]
    if len(inner) < 2:
        return None
    nodes, weights = gauss_legendre(inner)
    steepest = public_hessian(space, r, R, nodes)[1] * nodes / sigma
    log_mass = np.logaddexp.reduce((np.log(weights) + bounds_of(space).log_radial_bounds(nodes)[0] - steepest).ravel())
    return float(np.exp(log_mass - np.logaddexp.reduce(envelope.log_masses())))


@dataclass(frozen=True, eq=False)
class Ellipse:
    """Proposals v = H⁻¹w about the mean, H the mean Hessian there, whatever the data.

    The law of ‖w‖, a lower bound on the share that is accepted, and an upper bound on the share for which only the data decide.
    """

    law: RadialLaw
    acceptance: float
    doubt: float


def kng_ellipse(
    space: Space, r: float, R: float, sigma: float, rounding: float, slope: float, fine: bool
) -> Ellipse | None:
    """Return proposals for KNG that follow its Hessian; None for too few records, or too narrow a region.  With a ``fine``
    bound on e more of them are accepted.

    Transported back to the mean the gradient is Hv, give or take its error e(‖v‖).  So ‖∇F‖ ≥ s − e(s/λ), s = ‖Hv‖, which is
    the better bound near the mean, and ‖∇F‖ ≥ G(s/Λ) with G = ∫λ and λ, Λ the public bounds on H, which is better far out.  As
    e rises, chords stay below the first if each grid point takes e from the next one; as λ is the least so far, G is a chain of
    chords itself.  Accepted is at least ∫ s^(d−1)·J₋·e^(−(s+e)/σ), up to where s/λ = R − r, over the mass of the law; bounds on
    the energy are 2e/σ apart.
    """
    if np.isinf(R) or r >= R:
        return None
    lower, upper = (float(h) for h in public_hessian(space, r, R, np.zeros(()), slope))
    if lower < 0.25 or 4 * slope > r:  # the mean is at most slope/λ away
        return None
    d = space.dim
    limit = min(r + R, bounds_of(space).injectivity_radius)
    # H⁻¹ is kept to COARSE bits, half a unit off in each of d² entries: that moves Hv by less than rough·‖w‖
    rough = d * 2.0**-COARSE * upper / lower
    lower = lower * (1 - rough)
    upper = upper / (1 - rough)

    def error(u: Array) -> Array:
        return rounding + rough * upper * u + bounds_of(space).public_gradient_error(u, r, r + R, slope, fine)

    def stretch(s: Array) -> tuple[Array, Array]:
        """Return bounds on log J at ‖Hv‖ = s."""
        u = np.maximum(s / lower, 1e-300)
        below, above = bounds_of(space).log_radial_bounds(u)
        return below - (d - 1) * np.log(u), np.maximum(0.0, above - (d - 1) * np.log(u))

    def log_volume(s: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(((d - 1) * np.log(s) if d > 1 else 0.0) + stretch(s)[1])

    edges = radial_edges(space, 1 / sigma, upper * limit)
    inner = np.minimum(edges / upper, limit)
    growth = np.minimum.accumulate(public_hessian(space, r, R, inner[1:], slope)[0])
    errors = np.maximum.accumulate(error(np.minimum(edges / lower, limit)))
    near = edges - np.append(errors[1:], errors[-1])
    far = np.concatenate([[0.0], np.cumsum(growth * np.diff(inner))])
    beyond = np.flatnonzero(near[1:] < far[1:])
    turn = 1 + int(beyond[0]) if len(beyond) else len(edges)
    if turn <= 1:
        return None
    values = np.where(np.arange(len(edges)) < turn - 1, near, far)
    law = RadialLaw(space, edges, np.diff(values) / np.diff(edges) / sigma, False, log_volume)
    inside = edges[edges <= lower * (R - r)]
    nodes, weights = gauss_legendre(inside)
    log_lower = (d - 1) * np.log(nodes) + stretch(nodes)[0] - (nodes + error(nodes / lower) + slope) / sigma
    log_mass = np.logaddexp.reduce((np.log(weights) + log_lower).ravel())
    acceptance = float(np.exp(log_mass - np.logaddexp.reduce(law.log_masses())))
    doubt = law.expect(lambda s: np.minimum(1.0, 2 * error(s / lower) / sigma))
    return Ellipse(law, min(1.0, acceptance), min(1.0, doubt))


def doubtful(proposals: int, probability: float) -> tuple[int, float]:
    """Return the least count that undecided proposals exceed with a probability of at most FAIL, and that probability."""
    exceeded = bdtrc(np.arange(proposals + 1), proposals, min(1.0, probability))
    most = int(np.flatnonzero(exceeded <= FAIL)[0])
    return most, float(exceeded[most])


def kng_error_laws(space: Space, r: float, R: float, sigma: float) -> tuple[RadialLaw, ...]:
    """Return the law that dominates the distance of a KNG draw from the mean.

    With negative curvature on a bounded region, also one shallower and one steeper than the density along every ray.
    """
    first = kng_error_law(space, r, R, sigma)
    if np.isinf(R) or bounds_of(space).curvature[0] >= 0:
        return (first,)
    shallow = RadialLaw.from_slope(space, lambda u: public_hessian(space, r, R, u)[0] / sigma, r + R)
    upper = np.maximum.accumulate(public_hessian(space, r, R, shallow.edges[1:])[1])
    return first, shallow, RadialLaw(space, shallow.edges, upper / sigma)


def kng_error_quantile(laws: tuple[RadialLaw, ...], p: float) -> float:
    """Return a distance from the mean that a KNG draw exceeds with probability at most 1 − p, whatever the data.

    The smaller of two proven bounds: the quantile of :func:`kng_error_law`, and the least t with
    ∫_t V·e^(−∫λ/σ) / ∫₀^t V·e^(−∫Λ/σ) ≤ (1 − p)/p.  The second holds as the gradient norm lies between ∫λ and ∫Λ and as the
    volume over V does not rise along a ray; it is the better one on widely spread SPD matrices.
    """
    first = laws[0].quantile(p)
    if len(laws) == 1:
        return first
    _, shallow, steep = laws
    beyond = np.logaddexp.accumulate(shallow.log_masses()[::-1])[::-1]  # beyond[i]: from edge i on
    before = np.logaddexp.accumulate(steep.log_masses())  # before[i]: up to edge i + 1
    enough = np.flatnonzero(beyond[1:] - before[:-1] <= np.log((1 - p) / p))
    return min(first, float(shallow.edges[enough[0] + 1])) if len(enough) else first


def exponential_error_law(space: Space, r: float, sigma: float) -> RadialLaw:
    """Return a law that dominates the distance of an exponential draw from the mean: F rises at least like ∫∫λ."""
    limit = min(2 * r, bounds_of(space).injectivity_radius)
    edges = gaussian_edges(space, sigma, limit)
    lower = np.minimum.accumulate(public_hessian(space, r, r, edges[1:])[0])
    slopes = np.concatenate([[0.0], np.cumsum(lower * np.diff(edges))])[:-1]  # the gradient at each cell's left end
    return RadialLaw(space, edges, slopes / sigma)


def exponential_doubt(space: Space, r: float, sigma: float, error: Callable[[Array], Array], slope: float) -> float:
    """Return a bound on the share of the exponential mechanism's proposals that a squeeze does not decide, whatever the data.

    Its bounds on F are 2·error(u) apart at distance u from a base where the gradient is at most ``slope``.  The law is
    the widest that proposals follow, on the same edges; a narrower one has less mass far out, where the error is larger.
    """
    edges = gaussian_edges(space, sigma, widest_span(space, r))
    lower = np.minimum.accumulate(public_hessian(space, r, r, edges[1:], 2 * slope)[0])
    gradient = np.concatenate([[0.0], np.cumsum(lower * np.diff(edges))])[:-1]
    law = RadialLaw(space, edges, (gradient - slope) / sigma)
    return min(1.0, law.expect(lambda u: np.minimum(1.0, 2 * error(u) / sigma)))


def widest_span(space: Space, r: float) -> float:
    """Return the largest distance of two points of a ball, rounded up."""
    return min(2 * r * (1 + 1e-9), bounds_of(space).injectivity_radius)


def gaussian_edges(space: Space, sigma: float, limit: float) -> Array:
    """Return cells for a law like exp(−u²/(2σ)), whose draws seldom pass √σ·(√d + 9)."""
    return spread_edges(space, float(np.sqrt(2 * sigma) * (np.sqrt(space.dim) + 9)), limit)


def known_area(space: Space, sigma: float) -> Any:
    """Return the log area of a sphere as a function of its radius, for laws of rate 1/σ.

    None where it is not known to the accuracy that such a law needs, or equals the bound that laws take anyway.
    """
    bounds = bounds_of(space)
    ones = np.ones(1)
    if bounds.log_sphere_area(ones) is None or np.array_equal(*bounds.log_radial_bounds(ones)):
        return None
    if np.isinf(bounds.injectivity_radius) and central_range(space, 1 / sigma) > 8:
        return None  # the quadrature is good for radii of ordinary size
    return bounds.log_sphere_area


def laplace_error_law(space: Space, sigma: float) -> RadialLaw:
    """Return the law of the distance of a Laplace draw from its centre.

    It is exact where the sphere's area is known in closed form or by quadrature, and dominates otherwise.
    """
    limit = bounds_of(space).injectivity_radius
    return RadialLaw.from_slope(space, lambda u: np.full(u.shape, 1 / sigma), limit, known_area(space, sigma))
