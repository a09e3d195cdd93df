"""What rounding adds to the promise of a release, from public numbers only (proofs, Floating point)."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from ...numerics.arrays import RUN, Array, Points
from ...spaces.base import Space
from ..bounds import bounds_of
from ..radial import RadialLaw, gauss_legendre

UNIT = 2.0**-53  # half the distance from 1 to the next double
SELECTION = 1e-12  # error of the choice of a cell and of acceptance, as random numbers have finitely many bits
LEVELS = (0.99, 1 - 1e-6, 1 - 1e-12)  # at which the quantiles of the length of the noise are computed


def relative_error(dim: int) -> float:
    """Return the expected error of the coordinates ρ·z/‖z‖ of a draw, in parts of ρ, against real random numbers.

    Eight roundings of one unit; and the normal numbers z have steps of at most 3.66·2^−52 (they are 52 random bits times a
    width of the ziggurat), a root mean square error of 1/√3 of that, which ‖z‖ divides: √d·E[1/‖z‖] =
    √(d/2)·Γ((d−1)/2)/Γ(d/2).  One coordinate is ±ρ.

    >>> [round(relative_error(d) / UNIT, 1) for d in (1, 2, 96)]
    [8.0, 15.5, 12.3]
    """
    if dim == 1:
        return 8 * UNIT
    spread = np.sqrt(dim / 2) * np.exp(gammaln((dim - 1) / 2) - gammaln(dim / 2))
    return float(UNIT * (8 + 7.32 / np.sqrt(3) * spread))


def crossing(dim: int, spacing: float, error: float) -> float:
    """Return the probability that an error of this expected length takes a point across a face of its cell.

    Coordinate i lies within eᵢ of a face with probability (2eᵢ/spacing)·(1 + spacing·E|∂ᵢ log density|); the spacing is at
    most a sixteenth of the noise, a quarter is added for the second term, and Σeᵢ ≤ √d·‖e‖.
    """
    return float(2.5 * np.sqrt(dim) * error / spacing)


def density_error(space: Space, radius: float) -> float:
    """Return the error of a proposal's log density beside that of the energy: of sums over the cells of a radial law (up to a
    thousand terms), of the volume at a vector of length ``radius``, and of the norm of a direction (d/2 roundings)."""
    exponent = space.dim + 9 * np.sqrt(space.dim) + 45  # log densities of interest lie between ± this
    return float(UNIT * exponent * (1000 + space.dim) + 16 * UNIT * space.dim * bounds_of(space).radial_growth * radius)


def mean_error(n: int) -> float:
    """Return the relative error of a mean of n numbers that NumPy adds in pairs: blocks of 128 on eight lanes, then halves."""
    return float(UNIT * (24 + np.log2(n)))


def gradient_error(space: Space, center: Points, reach: float, n: int) -> float:
    """Return a bound on the rounding in a mean of n logarithms at a computed point, for records and points within ``reach``: of
    the point, of a logarithm there, and of the sum, over runs of RUN records, at most RUN runs in a row, and then in pairs."""
    additions = min(n, RUN) + min(n / RUN, RUN) + np.log2(n)
    return float(2 * space.rounding_error(center, reach) + additions * UNIT * space.largest_term(reach))


def stretch(space: Space, radius: ArrayLike, distance: ArrayLike) -> Array:
    """Return how much log_p₀∘exp_x̄ stretches vectors of length ``radius`` at x̄ whose ends lie ``distance`` from p₀ (Rauch):
    sinh(√κ₋·ρ)/(√κ₋·ρ) for curvature at least −κ₋, times √κ·t/sin(√κ·t) for curvature at most κ.

    >>> from sfumato import SPD, Sphere
    >>> round(float(stretch(Sphere(dim=2), 0.1, np.pi / 2)), 4), round(float(stretch(SPD(size=2), 1.0, 2.0)), 4)
    (1.5708, 1.0854)
    """
    lower, upper = bounds_of(space).curvature if space.dim > 1 else (0.0, 0.0)
    s = np.maximum(np.sqrt(max(0.0, -lower)) * np.asarray(radius), 1e-9)
    t = np.maximum(np.sqrt(max(0.0, upper)) * np.asarray(distance), 1e-9)
    return np.asarray(np.sinh(np.minimum(s, 300.0)) / s * (t / np.sin(t)))


def stretch_at_cut_locus(space: Space, law: RadialLaw, r: float, start: float) -> float:
    """Return E[stretch] where a Laplace draw lies beyond ``start`` from the centre, on a space of positive curvature.

    The density is there at most its value at start − r from the mean, and the stretch times the volume is integrable:
    e^(−(start−r)/σ)·∫_start^inj stretch·V / ∫V·e^(−u/σ).
    """
    nodes, weights = gauss_legendre(np.linspace(start, bounds_of(space).injectivity_radius, 17))
    log_terms = np.log(weights * stretch(space, 0.0, nodes)) + bounds_of(space).log_radial_bounds(nodes)[1]
    top = np.logaddexp.reduce(log_terms.ravel())
    least = float(law.energy(np.array([max(0.0, start - r)]))[0])
    return float(np.exp(min(0.0, top - least - np.logaddexp.reduce(law.log_masses()))))
