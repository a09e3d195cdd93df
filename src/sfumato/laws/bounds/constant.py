"""Spaces of constant curvature of any sign: R^d, S^d, H^d; and the sphere with opposite points taken for one."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from ...numerics.arrays import Array, Points
from ...numerics.curvature import DEFECT, coth_excess, log_sinc, log_sinhc, near_zero
from ...spaces.base import Space
from .base import Bounds, Hadamard

PSI_PEAK = 0.98737570  # where the concave function ψ has its maximum: χ′ = 1.  An error here enters ψ squared


class PositiveCurvature(Bounds):
    """The sphere of curvature κ, whose geodesics close after 2π/√κ."""

    def __init__(self, space: Space, kappa: float) -> None:
        super().__init__(space)
        self.kappa = kappa
        self.q = float(np.sqrt(kappa))
        self.curvature = (kappa, kappa)
        self.injectivity_radius = float(np.pi) / self.q

    def log_volume_density(self, base: Points, vectors: Points) -> Array:
        """Return (d − 1)·log(sin(√κ·t)/(√κ·t)), t = ‖v‖."""
        return (self.dim - 1) * log_sinc(self.q * self.space.norm(base, vectors))

    def log_radial_bounds(self, radius: ArrayLike) -> tuple[Array, Array]:
        """Return two numbers that both equal (d − 1)·log(sin(√κ·ρ)/√κ): the sphere looks the same in every direction."""
        value = xlogy(self.dim - 1, np.maximum(np.sin(self.q * np.asarray(radius)), 0.0) / self.q)
        return value, value

    def radial_breaks(self) -> tuple[float, ...]:
        return (np.pi / (2 * self.q),)

    def hessian_bounds(self, distance: ArrayLike) -> tuple[Array, Array]:
        """Return √κ·s·cot(√κ·s), d − 1 times, and 1."""
        lower = 1 - cot_defect(self.q * np.asarray(distance, dtype=np.float64))
        return lower, np.ones_like(lower)

    def mean_hessian_bounds(self, second_moment: ArrayLike, reach: ArrayLike) -> tuple[Array, Array]:
        """Return bounds: 1 − s·cot s is s² times a rising function, so its mean is at most E s²·(1 − S·cot S)/S²."""
        reach = np.maximum(reach, 1e-150)  # all records in one place
        share = np.minimum(1.0, np.asarray(second_moment) / reach**2)
        lower = 1 - share * cot_defect(self.q * reach)
        return lower, np.ones_like(lower)

    def gradient_error(self, length: ArrayLike, second_moment: ArrayLike, reach: ArrayLike, slope: float) -> Array:
        moment = self.second_moment_at(np.asarray(second_moment) + 2 * slope * np.asarray(length), length)
        return gradient_error(self.kappa, length, moment, np.asarray(reach), slope)

    def log_spread(self, r: float, R: float) -> float:
        return unit_log_spread(self.q * r, self.q * R) / self.q

    def divergence_bound(self, r: float, R: float) -> float:
        """Return the bound of Result 3: tr K(H_y' − H_y) ≤ (trace of 1 − H)/λ, plus |Ka| times the length of div H."""
        S = r + R
        lam = 1 - float(cot_defect(self.q * S))
        turning = float(np.hypot(*self._turning(S, lam)))
        return float(self._trace_defect(S)) / lam + self.log_spread(r, R) / lam * turning

    def local_divergence_bound(self, r: float, u: Array, R: float) -> Array:
        """Return the bound of Result 3b: the terms of div H that are linear in t sum to multiples of ⟨g, w⟩, and ‖g‖ ≤ u."""
        S = np.minimum(2 * r + u, r + R)
        second_moment = self.second_moment_at(r * r, u)
        lam = self.mean_hessian_bounds(second_moment, S)[0]
        trace = self._trace_defect(S)
        share = np.minimum(1.0, second_moment / S**2)
        trace_k = np.minimum((self.dim - 1) / lam, self.dim - 1 + share * trace / lam)  # ≥ tr K − 1
        linear, rest = self._local_turning(S, u, trace_k)
        w = local_log_spread(self.q * r, self.q * u) / self.q / lam
        return np.asarray(trace / lam + w * (linear + (1 / lam - 1) * rest))

    def _trace_defect(self, S: ArrayLike) -> Array:
        """Return the trace of 1 − Hess ½ρ² at distance S."""
        return (self.dim - 1) * cot_defect(self.q * np.asarray(S))

    def _turning(self, S: float, lam: float) -> tuple[float, float]:
        """Return bounds on div H along and across Ka, with x = √κ·S, λ = x·cot x, K = H⁻¹ and w = Ka; at unit curvature

        div(Ka) = tr K(H_y' − H_y) − Σ wᵢ[(χᵢ − ψᵢ)⟨w⊥, Knᵢ⟩ − ψᵢ⟨nᵢ, w⟩(tr K − ⟨nᵢ, Knᵢ⟩)], H = Σ wᵢ(φᵢ·1 + (1 − φᵢ)nᵢnᵢᵀ);
        an off-diagonal entry of 1 ≤ K ≤ 1/λ is at most ½(1/λ − 1).
        """
        x = self.q * S
        return self.q * psi_max(x) * (self.dim - 1) / lam, self.q * 0.5 * (1 / lam - 1) * float(2 * chi(x) - x)

    def _local_turning(self, S: Array, u: Array, trace_k: Array) -> tuple[Array, Array]:
        """Return bounds on div H near the mean, beside and within K − 1: ψ(t) = t/3 − (χ(t) − 2t/3)."""
        x = self.q * S
        linear = self.q * trace_k * (chi(x) - 2 * x / 3 + self.q * u / 3)
        return linear, self.q * np.hypot(psi_max(x), 0.5 * (2 * chi(x) - x))

    def mean_sensitivity(self, r: float) -> float:
        return 2 * float(np.tan(self.q * r)) / self.q


class UpToSignCurvature(PositiveCurvature):
    """The sphere of curvature κ divided by ±1: real projective space, and with κ = ¼ the rotations of space.

    Only the injectivity radius changes: beyond π/(2√κ) the other of the two points above is nearer.  Records in
    B_r(p₀) and outputs in B_R(p₀), r + R < π/(2√κ), and all between them, lie above as on the sphere (proofs, Result 8).
    """

    def __init__(self, space: Space, kappa: float) -> None:
        super().__init__(space, kappa)
        self.injectivity_radius = float(np.pi) / (2 * self.q)


class NoPositiveCurvature(Hadamard):
    """Hyperbolic space of curvature κ < 0: the sphere's formulas, continued; and R^d, where every bound is exact."""

    def __init__(self, space: Space, kappa: float) -> None:
        super().__init__(space)
        self.q = float(np.sqrt(-kappa))
        self.curvature = (kappa, 0.0) if self.dim > 1 else (0.0, 0.0)
        self.radial_growth = (self.dim - 1) * self.q  # coth x ≤ 1 + 1/x

    def log_volume_density(self, base: Points, vectors: Points) -> Array:
        """Return (d − 1)·log(sinh(q·t)/(q·t)), t = ‖v‖."""
        if self.q == 0:
            return np.zeros(np.shape(vectors)[: np.ndim(vectors) - len(self.space.point_shape)])
        return np.asarray((self.dim - 1) * log_sinhc(self.q * self.space.norm(base, vectors)))

    def log_radial_bounds(self, radius: ArrayLike) -> tuple[Array, Array]:
        """Return two numbers that both equal (d − 1)·log(sinh(q·ρ)/q)."""
        value = xlogy(self.dim - 1, radius)
        if self.q:  # sinh t = e^t·(1 − e^(−2t))/2
            t = self.q * np.asarray(radius)
            value = (self.dim - 1) * t + xlogy(self.dim - 1, -np.expm1(-2 * t) / (2 * self.q))
        return value, value

    def hessian_bounds(self, distance: ArrayLike) -> tuple[Array, Array]:
        """Return 1, and q·s·coth(q·s) d − 1 times."""
        s = np.asarray(distance, dtype=np.float64)
        return np.ones_like(s), 1 + (coth_excess(self.q * s) if self.dim > 1 else np.zeros(s.shape))

    def gradient_error(self, length: ArrayLike, second_moment: ArrayLike, reach: ArrayLike, slope: float) -> Array:
        return np.full(np.shape(length), np.inf if self.q else 0.0)

    def divergence_bound(self, r: float, R: float) -> float:
        return float(hyperbolic_divergence(self.dim, self.q, r, np.asarray(r + R)))

    def local_divergence_bound(self, r: float, u: Array, R: float) -> Array:
        return hyperbolic_divergence(self.dim, self.q, r, np.minimum(2 * r + u, r + R))


def hyperbolic_divergence(dim: int, q: float, r: float, reach: Array) -> Array:
    """Return the bound of Result 3 for records within S of x: at curvature −1,

    (d−1)(φ(S) − 1) + 2r·[(d−1)·ψ(S) + ½(1 − 1/φ(S))·max|2χ − t|], φ = t·coth t, χ = φ′, ψ = (φ − 1)·coth t = t − χ.
    Here H ≥ 1, so K = H⁻¹ ≤ 1, and ψ rises.
    """
    if dim == 1 or q == 0:
        return np.zeros(np.shape(reach))
    S = np.asarray(q * reach)
    # 2χ − t has a slope between −1 and 1/3: what the grid can miss is at most one cell
    t = np.linspace(0.0, 1.0, 2049)[1:] * S[..., None]
    chi_t = 1 / np.tanh(t) - t / np.sinh(np.minimum(t, 300.0)) ** 2
    across = np.abs(2 * chi_t - t).max(axis=-1) + S / 2048
    excess = coth_excess(S)
    along = (dim - 1) * (S - chi_t[..., -1])
    return np.asarray((dim - 1) * excess + 2 * q * r * (along + 0.5 * (1 - 1 / (1 + excess)) * across))


def constant_curvature(space: Space, kappa: float) -> Bounds:
    """Return the bounds of a simply connected space of constant curvature κ."""
    return PositiveCurvature(space, kappa) if kappa > 0 else NoPositiveCurvature(space, kappa)


def psi_max(S: ArrayLike) -> Any:
    """Return the maximum of ψ on [0, S], rounded up."""
    return psi(np.minimum(S, PSI_PEAK)) * (1 + 1e-7)


def local_log_spread(r: float, u: Array) -> Array:
    """Return A(r, r + u) on the unit sphere for an array of u, rounded up to the next of 8 knots up to the largest u.

    A rises with R, so it is valid for every u, though it depends on the array that u comes in.
    """
    knots = np.linspace(0.0, float(np.max(u)), 9)[1:]
    values = np.array([unit_log_spread(r, r + knot) for knot in knots])
    return np.asarray(values[np.searchsorted(knots, u * (1 - 1e-12))])


def cot_defect(t: ArrayLike) -> Array:
    """Return 1 − t·cot t: how far the Hessian of half the squared distance falls below 1 where the curvature is 1."""
    t = np.asarray(t, dtype=np.float64)
    q = t * t
    series = q * (DEFECT[0] + q * (DEFECT[1] + q * (DEFECT[2] + q * (DEFECT[3] + q * DEFECT[4]))))
    return near_zero(t, series, lambda t: 1.0 - t / np.tan(t))


def chi(t: ArrayLike) -> Array:
    """Return χ(t) = −(t·cot t)′ = t/sin²t − cot t."""
    t = np.asarray(t, dtype=np.float64)
    q = t * t
    series = t * (2 * DEFECT[0] + q * (4 * DEFECT[1] + q * (6 * DEFECT[2] + q * (8 * DEFECT[3] + q * 10 * DEFECT[4]))))
    return near_zero(t, series, lambda t: t / np.sin(t) ** 2 - 1.0 / np.tan(t))


def psi(t: ArrayLike) -> Array:
    """Return ψ(t) = (1 − t·cot t)·cot t, which equals t − χ(t); concave, so it has one maximum on (0, π)."""
    return np.asarray(t, dtype=np.float64) - chi(t)


@lru_cache(maxsize=4096)
def unit_log_spread(r: float, R: float) -> float:
    """Return A(r, R) on the unit sphere, rounded up: the largest ‖log_x y − log_x y'‖, x in B_R(p0), y and y' in B_r(p0).

    The widest pair lies on the edge of B_r(p0), at an angle b from the direction of x and mirrored; by the law of
    sines its width is 2·sin r·sin b·s/sin s with cos s = cos r·cos R + sin r·sin R·cos b (theory, Result 1).  For b
    below π/2 the mirror image π − b is wider, and on [π/2, π] sin b falls while s/sin s rises: each cell therefore has
    an upper bound from its two ends, and cells that could still hold the maximum are divided until it is known to 1e-7.
    """

    def stretch(b: Array) -> Array:  # s/sin s
        cosine = np.cos(r) * np.cos(R) + np.sin(r) * np.sin(R) * np.cos(b)
        return np.asarray(1 / np.sinc(np.arccos(np.clip(cosine, -1.0, 1.0)) / np.pi))

    low = np.linspace(np.pi / 2, np.pi, 65)[:-1]
    width = np.pi / 128
    for _ in range(14):
        upper = np.sin(low) * stretch(np.minimum(low + width, np.pi))
        largest = float(np.max(np.sin(low) * stretch(low)))
        if upper.max() - largest <= 1e-7 * largest:
            break
        width /= 8
        low = (low[upper > largest][:, None] + width * np.arange(8)).ravel()
    return max(2 * r, 2 * float(np.sin(r) * upper.max()) * (1 + 1e-14))


def gradient_error(kappa: float, length: ArrayLike, second_moment: Array, reach: Array, slope: float) -> Array:
    """Return the bound of Bounds.gradient_error on the sphere (κ = 1/radius²) and on CP^m (κ = 4).

    For one record at distance s, (∇ᵥH)v = ⅓R(w, v)v + a rest, w = −log: linear in w, so that the mean of the first part is
    ⅓R(g, v)v, at most ⅓κ‖g‖ with ‖g‖ ≤ slope + t along the way; and ‖rest‖ ≤ 2/√3·D(s), D(s) = √κ·(χ(x) − 2x/3), x = √κ·s.
    D(s)/s³ rises, so the mean of D is at most D(S)/S² times the second moment.
    """
    u = np.asarray(length, dtype=np.float64)
    S = np.maximum(reach, 1e-150)
    x = np.sqrt(kappa) * S
    # χ(x) − 2x/3 = 4x³/45 + …: by the series where the difference would be rounding
    small = 4 * x**3 / 45 * (1 + x * x)
    rest = np.where(x < 0.05, small, chi(x) - 2 * x / 3)
    share = np.minimum(1.0, second_moment / S**2)
    return np.asarray(kappa * u * u * (slope / 6 + u / 18) + u * u / np.sqrt(3) * np.sqrt(kappa) * rest * share)
