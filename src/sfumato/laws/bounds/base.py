"""What the proofs need to know of a space (docs/proofs, Results 1 to 4).  Bounds know nothing of data."""

import math
from abc import ABC, abstractmethod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ...errors import Refusal
from ...numerics.arrays import Array, Points
from ...spaces.base import Moments, Space

CELLS = 24  # of the distance between a mean and the centre, in each of which data are bounded apart


class Bounds(ABC):
    """Curvature, Hessians, volumes and sensitivities of a space, which KNG, the Laplace and the exponential mechanism need.

    A subclass for a family of spaces is one file; ``register`` says which spaces it is for.
    """

    curvature: tuple[float, float] = (0.0, 0.0)  # a lower and an upper bound on the sectional curvature
    injectivity_radius: float = np.inf  # the distance within which geodesics are the only shortest ones
    radial_growth: float = 0.0  # the rate c of a growth like radius^(d−1)·exp(c·radius) of the upper bound far out

    def __init__(self, space: Space) -> None:
        self.space = space
        self.dim = space.dim

    @property
    def convexity_radius(self) -> float:
        """The distance π/(2√κ) up to which half the squared distance is convex; r + R must stay below it for KNG."""
        kappa = self.curvature[1]
        return float(np.pi / (2 * np.sqrt(kappa))) if kappa > 0 else np.inf

    @property
    def is_flat(self) -> bool:
        """Whether this is a Euclidean space in disguise."""
        return self.curvature == (0.0, 0.0) and np.isinf(self.injectivity_radius)

    # -- volume ----------------------------------------------------------------------------------------------------
    @abstractmethod
    def log_volume_density(self, base: Points, vectors: Points) -> Array:
        """Return log |det d exp_base| at the vectors: volume on the manifold over volume in the tangent space."""

    @abstractmethod
    def log_radial_bounds(self, radius: ArrayLike) -> tuple[Array, Array]:
        """Return bounds on log(radius^(d−1)·|det d exp|) over all directions.

        Along every ray the true density over the upper bound V never rises, so that laws computed with V dominate.
        """

    def radial_breaks(self) -> tuple[float, ...]:
        """Return the radii between which the upper radial bound is monotone and analytic."""
        return ()

    def log_sphere_area(self, radius: ArrayLike) -> Array | None:
        """Return the log mean over directions of radius^(d−1)·|det d exp|, up to a constant; None where not known exactly."""
        lower, upper = self.log_radial_bounds(radius)
        return upper if np.array_equal(lower, upper) else None

    # -- Hessians --------------------------------------------------------------------------------------------------
    @abstractmethod
    def hessian_bounds(self, distance: ArrayLike) -> tuple[Array, Array]:
        """Return bounds on the eigenvalues of the Hessian of ½·distance(·, y)² at a given distance from y."""

    @abstractmethod
    def mean_hessian_bounds(self, second_moment: ArrayLike, reach: ArrayLike) -> tuple[Array, Array]:
        """Return bounds on the eigenvalues of Hess F for data whose mean squared distance is at most ``second_moment`` and
        none of which is farther than ``reach``."""

    def gradient_error(self, length: ArrayLike, second_moment: ArrayLike, reach: ArrayLike, slope: float) -> Array:
        """Return a bound on ‖τ⁻¹∇F(exp v) − ∇F − Hv‖ for vectors v of a given length at a base, τ parallel transport along
        exp(tv), H = Hess F there; infinite where nothing is proven.

        It holds for data with that mean squared distance from the base, none farther than ``reach`` from any point on the
        way, and a gradient of length ``slope`` at the base.
        """
        return np.full(np.shape(length), np.inf)

    def public_gradient_error(self, length: Array, r: float, most: float, slope: float, fine: bool) -> Array:
        """Return the same for any data in a ball of radius r, at a point where their gradient is at most ``slope`` long, if no
        point on the way is farther than ``most`` from any of them; ``fine``: as small as can be proven."""
        moment = r * r + 4 * slope * (r + slope)
        return self.gradient_error(length, moment, np.minimum(2 * r + 4 * slope + length, most), slope)

    def second_moment_at(self, second_moment: ArrayLike, u: ArrayLike) -> Array:
        """Return a bound on 2F at distance u from the Fréchet mean, from a bound on 2F there.

        Where no curvature is negative Hess F ≤ 1 and 2F grows by at most u²; elsewhere √(2F) grows by at most u.
        """
        m = np.asarray(second_moment, dtype=np.float64)
        u = np.asarray(u, dtype=np.float64)
        return np.asarray(m + u * u if self.curvature[0] >= 0 else (np.sqrt(m) + u) ** 2)

    def second_moment(self, moments: Moments) -> float:
        """Return the mean squared distance from mean moments, rounded up by what a series left out and by angles below 1e-7,
        which cosines do not resolve; infinity where the moments do not give it."""
        curvature = self.curvature[1]
        numbers = 2 * math.prod(self.space.point_shape)  # a norm may be off by a rounding for each
        slack = (64 + 4 * numbers) * 2.0**-50 / curvature if curvature > 0 else 0.0
        return (math.sqrt(max(0.0, moments.square)) + moments.error) ** 2 * (1 + 1e-9) + slack

    # -- sensitivities ---------------------------------------------------------------------------------------------
    @abstractmethod
    def log_spread(self, r: float, R: float) -> float:
        """Return A(r, R): the largest ‖log_x y − log_x y'‖ for x in B_R(p0), y and y' in B_r(p0); rounded up (Result 1)."""

    @abstractmethod
    def divergence_bound(self, r: float, R: float) -> float:
        """Return B(r, R) ≥ |div(H⁻¹a)| on B_R(p0), a = log y − log y', H the mean Hessian of data in B_r(p0) (Result 3)."""

    @abstractmethod
    def local_divergence_bound(self, r: float, u: Array, R: float) -> Array:
        """Return this bound at distance u from the Fréchet mean, non-decreasing in u (Result 3b)."""

    @abstractmethod
    def mean_sensitivity(self, r: float) -> float:
        """Return the most that n times the mean of n points of B_r(p0) moves when one point is replaced (Result 2)."""

    @property
    def mean_radius_limit(self) -> float:
        """The radius below which data in a ball have a unique Fréchet mean, in the ball (Afsari 2011)."""
        return 0.5 * min(self.injectivity_radius, 2 * self.convexity_radius)


class Hadamard(Bounds):
    """A space without positive curvature: logarithms do not stretch distances."""

    def mean_hessian_bounds(self, second_moment: ArrayLike, reach: ArrayLike) -> tuple[Array, Array]:
        """Return bounds: t·coth t is concave in t², so its mean is at most its value at the root mean square (Jensen)."""
        return self.hessian_bounds(np.minimum(np.sqrt(np.asarray(second_moment, dtype=np.float64)), reach))

    def public_gradient_error(self, length: Array, r: float, most: float, slope: float, fine: bool) -> Array:
        """Return it, if it is to be fine, by the distance a of that point from the centre: as ½ρ² is 1-convex the mean squared
        distance of records from there is at most r² − a² + 2a·slope, and none is farther than r + a.  In each of CELLS of a
        both are taken at the end where they are larger (proofs, Result 4b)."""
        if not fine:
            return super().public_gradient_error(length, r, most, slope, fine)
        a = np.linspace(0.0, r + 4 * slope, CELLS + 1).reshape(-1, *(1,) * length.ndim)
        moment = np.maximum(r * r - a[:-1] ** 2 + 2 * slope * a[1:], 0.0)
        found = self.gradient_error(length, moment, np.minimum(r + a[1:] + length, most), slope)
        return np.asarray(np.max(found, axis=0))

    def log_spread(self, r: float, R: float) -> float:
        return 2 * r

    def mean_sensitivity(self, r: float) -> float:
        return 2 * r


class ChartBounds(Bounds):
    """A symmetric space with curvature between 0 and κ: enough for the bias of a chart (proofs, Result 5) alone.

    >>> from sfumato import Torus
    >>> ChartBounds(Torus(dim=2), kappa=0.0, injectivity_radius=3.0).mean_radius_limit
    1.5
    """

    def __init__(self, space: Space, kappa: float, injectivity_radius: float) -> None:
        super().__init__(space)
        self.curvature = (0.0, kappa)
        self.injectivity_radius = float(injectivity_radius)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise Refusal(f"nothing is proven of this mechanism on {self.space}; use the tangent mechanism")

    log_volume_density = log_radial_bounds = hessian_bounds = mean_hessian_bounds = _refuse
    log_spread = divergence_bound = local_divergence_bound = mean_sensitivity = _refuse
