"""Symmetric positive definite matrices with the affine-invariant metric."""

from functools import lru_cache

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import ArrayLike
from scipy.special import xlogy

from ...numerics.arrays import Array, Points
from ...numerics.curvature import coth_excess, coth_slope, log_sinhc
from ...spaces.base import Space
from ...spaces.spd import half_gaps, whiten
from .base import Hadamard
from .constant import hyperbolic_divergence


class PositiveDefinite(Hadamard):
    """SPD(k), with curvature between −½ and 0; for k = 2 a line times the hyperbolic plane of curvature −½."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.size = k = int(space.point_shape[0])
        self.curvature = (-0.5, 0.0) if k > 1 else (0.0, 0.0)
        self.radial_growth = 0.5 * float(np.sqrt(k * (k * k - 1) / 3))  # max Σ_{i<j} |lᵢ − lⱼ|/2 over unit vectors l

    def log_volume_density(self, base: Points, vectors: Points) -> Array:
        """Return Σ_{i<j} log(sinh(g)/g), g = |lᵢ − lⱼ|/2, l the eigenvalues of the whitened vector (Terras 1988)."""
        eigenvalues = np.linalg.eigvalsh(whiten(np.linalg.cholesky(base), vectors))
        return np.asarray(np.sum(log_sinhc(half_gaps(eigenvalues)), axis=-1))

    def log_radial_bounds(self, radius: ArrayLike) -> tuple[Array, Array]:
        """Return bounds, below: (d−1)·log ρ.  Above: that plus ∫₀^ρ min(k·t/12, c_k)dt, as coth x − 1/x ≤ min(x/3, 1)."""
        rho = np.asarray(radius, dtype=np.float64)
        lower = xlogy(self.dim - 1, rho)
        c = self.radial_growth
        k = self.size
        turn = 12 * c / k  # radial_breaks
        excess = np.where(rho < turn, k * rho**2 / 24, k * turn**2 / 24 + c * (rho - turn))
        return lower, lower + (excess if k > 1 else 0.0)

    def log_sphere_area(self, radius: ArrayLike) -> Array | None:
        """Return log averages of Π sinh(g)/g over directions, for sizes up to 3, by quadrature over the eigenvalues' angles
        (relative error below 1e-7 up to radius 8, tested).

        The trace makes an angle α with a uniform direction of R^d, with density ∝ sin^(d−2) α; the rest is one gap for
        2×2, and for 3×3 three gaps that an angle with density ∝ sin 3ψ sets.
        """
        if self.size > 3:
            return None
        rho = np.asarray(radius, dtype=np.float64)
        lower = self.log_radial_bounds(rho)[0]
        if self.size == 1:
            return lower
        ends = [float(rho.min()), float(rho.max())] if rho.size else [0.0, 0.0]
        degree = int(64 + 8 * np.sqrt(ends[1] - ends[0]))
        if ends[0] < ends[1] and rho.size > 2 * degree:  # an analytic function: the series is as good as its values
            return np.asarray(lower + Chebyshev.interpolate(self._log_mean_density, degree, ends)(rho))
        return lower + self._log_mean_density(rho)

    def _log_mean_density(self, rho: Array) -> Array:
        """Return the quadrature of :meth:`log_sphere_area`."""
        alpha, w = _on_interval(np.pi / 2, 20)
        w = w * np.sin(alpha) ** (self.dim - 2)
        gaps = np.sin(alpha)[:, None] / np.sqrt(2)
        if self.size == 3:
            angle, w_angle = _on_interval(np.pi / 3, 8)
            thirds = np.sqrt(2 / 3) * np.cos(angle[:, None] - 2 * np.pi / 3 * np.arange(3))
            gaps = (np.sin(alpha)[:, None, None] * half_gaps(thirds)).reshape(-1, 3)
            w = (w[:, None] * (w_angle * np.sin(3 * angle))).ravel()
        logs = log_sinhc(rho[..., None, None] * gaps).sum(axis=-1)
        top = logs.max(axis=-1, keepdims=True)
        return np.asarray(top[..., 0] + np.log(np.exp(logs - top) @ (w / w.sum())))

    def radial_breaks(self) -> tuple[float, ...]:
        return (12 * self.radial_growth / self.size,) if self.size > 1 else ()

    def hessian_bounds(self, distance: ArrayLike) -> tuple[Array, Array]:
        """Return 1 and (s/√2)·coth(s/√2): two eigenvalues of a matrix of norm s differ by at most √2·s."""
        s = np.asarray(distance, dtype=np.float64)
        excess = coth_excess(s / np.sqrt(2)) if self.size > 1 else np.zeros(s.shape)
        return np.ones_like(s), 1 + excess

    def gradient_error(self, length: ArrayLike, second_moment: ArrayLike, reach: ArrayLike, slope: float) -> Array:
        """Return a bound: for one record at distance s and w = −log, H = √Q·coth √Q with Q = −R(·, w)w, and w moves with Hv
        along v.  So (∇ᵥH)v = −⅓R(v, w)v + a rest: linear in w, so that the mean of the first part is at most ‖g‖/6, as ‖R(x,
        y)z‖ ≤ ½‖x‖‖y‖‖z‖.  The rest is at most ⅓s(Λ(s) − 1), for Hv − v, plus s³Λ(s)/45, for higher powers of Q.
        """
        u = np.asarray(length, dtype=np.float64)
        if self.size == 1:
            return np.zeros(u.shape)
        upper = self.hessian_bounds(reach)[1]
        moment = np.minimum(np.sqrt(second_moment) + u, reach) ** 2
        rest = np.asarray(reach) * moment * (1 / 18 + upper / 45)
        return np.asarray(u * u * (upper * u / 36 + slope / 12 + rest / 2))

    def _trace_excess(self, s: ArrayLike) -> Array:
        """Return T(s) ≥ tr(Hess ½ρ² − 1) at distance s (Jensen over the k(k−1)/2 pairs)."""
        k = self.size
        return k * (k - 1) / 2 * coth_excess(np.asarray(s) / np.sqrt(2 * max(1, k - 1)))

    def divergence_bound(self, r: float, R: float) -> float:
        """Return the bound of Result 3: T + 2r·[(k·S/4)·ψ̃(δ)/δ + (S/3)·√Λ·T·√(d/(d+T))], δ = S/√2, Λ = δ·coth δ.

        div(Ka) = tr K(H_y' − H_y) − ⟨div H, w⟩ − Σⱼ(κⱼ − 1)⟨(∇ⱼH)w, eⱼ⟩ in an eigenbasis of K = H⁻¹ ≤ 1.  div H is a
        graph Laplacian applied to the logarithm; ‖∇ᵥH_y‖ ≤ ⅓·S·‖H_y v‖ as √q·coth √q is operator monotone.
        """
        if self.size == 1:
            return 0.0
        bound = self._divergence(r, np.asarray(r + R), np.asarray(r + R), 0.0)
        if self.size == 2:
            bound = np.minimum(bound, hyperbolic_divergence(2, np.sqrt(0.5), r, np.asarray(r + R)))
        return float(bound)

    def _divergence(self, r: float, reach: Array, spread: Array, linear: ArrayLike) -> Array:
        """Return the bound for data within ``reach`` with root mean square distance ``spread``.

        ``linear`` is the part of ψ̃(δ)/δ that the gradient accounts for.
        """
        k = self.size
        d = self.dim
        delta = reach / np.sqrt(2)
        trace = self._trace_excess(spread)
        laplacian = k * spread / 4 * (coth_slope(delta) - np.asarray(linear))
        turning = spread / 3 * np.sqrt(1 + coth_excess(delta)) * trace * np.sqrt(d / (d + trace))
        return np.asarray(self._trace_excess(reach) + 2 * r * (laplacian + turning))

    def local_divergence_bound(self, r: float, u: Array, R: float) -> Array:
        """Return the bound of Result 3b: the linear third of ψ̃(δ)/δ sums to (k/12)·g, ‖g‖ ≤ Λ(u)·u; the rest is Result 3's."""
        if self.size == 1:
            return np.zeros(np.shape(u))
        reach = np.minimum(2 * r + u, r + R)
        spread = np.minimum(r + u, r + R)
        gradient = self.hessian_bounds(spread)[1] * u
        return self._divergence(r, reach, spread, 1 / 3) + 2 * r * self.size / 12 * gradient


@lru_cache(maxsize=4)
def _on_interval(end: float, count: int) -> tuple[Array, Array]:
    """Return Gauss–Legendre nodes and weights on [0, end]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return end / 2 * (1 + nodes), end / 2 * weights
