"""Symmetric positive definite matrices with the affine-invariant metric tr(p⁻¹u p⁻¹v): covariances, diffusion tensors.

Everything is computed in the frame of a Cholesky factor p = LLᵀ, where p is the identity: congruence by L⁻¹ is an
isometry, and unlike a square root it keeps the small rows of a badly scaled matrix small.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ._curvature import coth_excess, coth_slope, log_sinhc
from .base import Array, Points, Space, blocks, uniform_weights, whole_number

ASYMMETRY = 1e-5  # relative to the largest entry; single-precision pipelines leave a tenth of that


@dataclass(frozen=True)
class SPD(Space):
    """Positive definite matrices of one size.

    >>> space = SPD(size=2)
    >>> round(float(space.distance(np.eye(2), np.diag([np.e, 1.0]))), 12)
    1.0
    """

    size: int
    dim: int = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "spd"
    metric: ClassVar[str] = "affine-invariant"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number("SPD", "size", self.size, 1))
        object.__setattr__(self, "dim", self.size * (self.size + 1) // 2)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.size, self.size)

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        return (-0.5, 0.0) if self.size > 1 else (0.0, 0.0)

    @property
    def injectivity_radius(self) -> float:
        return np.inf

    def parameters(self) -> dict[str, Any]:
        return {"size": self.size}

    def origin(self) -> Points:
        return np.eye(self.size)

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        array, reasons = self._real_batch(points)
        array[list(reasons)] = np.eye(self.size)
        largest = np.abs(array).max(axis=(1, 2))
        skew = np.abs(array - _t(array)).max(axis=(1, 2))
        for row in np.flatnonzero(skew > ASYMMETRY * largest):
            reasons.setdefault(
                int(row),
                f"is not symmetric: entries differ from their mirror images by up to {skew[row]:.3g}, the largest entry "
                f"being {largest[row]:.3g}; average the matrix with its transpose if that is what you mean",
            )
        array = (array + _t(array)) / 2
        # definiteness is judged after scaling the diagonal to one: units must not matter, nor how they differ by row
        diagonal = np.diagonal(array, axis1=1, axis2=2)
        scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        correlation = array / scale[:, :, None] / scale[:, None, :]
        smallest = np.linalg.eigvalsh(correlation)[:, 0]
        bad = (diagonal <= 0).any(axis=1) | (smallest <= 4 * self.size * np.finfo(float).eps)
        for row in np.flatnonzero(bad):
            eigenvalue = np.linalg.eigvalsh(array[row])[0]
            reasons.setdefault(
                int(row),
                f"is not positive definite to working precision: its smallest eigenvalue is {eigenvalue:.3g}",
            )
        array[list(reasons)] = np.eye(self.size)
        return array, reasons

    # -- geometry --------------------------------------------------------------------------------------------------
    def exp(self, base: Points, vectors: Points) -> Points:
        """L·Exp(L⁻¹vL⁻ᵀ)·Lᵀ, as base + L·(Exp − 1)·Lᵀ so that short steps keep their digits (Pennec and others 2006)."""
        factor = np.linalg.cholesky(base)
        eigenvalues, vectors_ = np.linalg.eigh(_whiten(factor, vectors))
        small = np.abs(eigenvalues).max(axis=-1, keepdims=True) < 0.5
        change = np.where(small, np.expm1(np.where(small, eigenvalues, 0.0)), np.exp(np.where(small, 0.0, eigenvalues)))
        side = factor @ vectors_
        moved = (side * change[..., None, :]) @ _t(side)
        return _symmetric(np.where(small[..., None], base, 0.0) + moved)

    def log(self, base: Points, points: Points) -> Points:
        """L·Log(L⁻¹yL⁻ᵀ)·Lᵀ."""
        factor = np.linalg.cholesky(base)
        return _symmetric(factor @ self._whitened_log(base, factor, points) @ _t(factor))

    def distance(self, a: Points, b: Points) -> Array:
        """‖Log(L⁻¹bL⁻ᵀ)‖, a = LLᵀ (Frobenius norm)."""
        whitened = self._whitened_log(a, np.linalg.cholesky(a), b)
        return np.asarray(np.linalg.norm(whitened, axis=(-2, -1)))

    def _whitened_log(self, base: Points, factor: Points, points: Points) -> Points:
        # Log(1 + E) with E from the difference, which is exact for close points; the plain form for distant ones
        difference = _whiten(factor, points - base)
        eigenvalues, vectors = np.linalg.eigh(difference)
        near = np.abs(eigenvalues).max(axis=-1) < 0.5
        if near.all():
            return _rebuild(vectors, np.log1p(eigenvalues))
        close = _rebuild(vectors, np.log1p(np.where(near[..., None], eigenvalues, 0.0)))
        return np.where(near[..., None, None], close, _matrix_log(_whiten(factor, points)))

    def inner(self, base: Points, u: Points, v: Points) -> Array:
        factor = np.linalg.cholesky(base)
        return np.asarray(np.sum(_whiten(factor, u) * _whiten(factor, v), axis=(-2, -1)))

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        """Diagonal entries first, then the upper triangle divided by √2, in the frame of the Cholesky factor."""
        k = self.size
        upper = np.triu_indices(k, 1)
        matrix = np.zeros((*coordinates.shape[:-1], k, k))
        matrix[..., np.arange(k), np.arange(k)] = coordinates[..., :k]
        matrix[..., upper[0], upper[1]] = matrix[..., upper[1], upper[0]] = coordinates[..., k:] / np.sqrt(2)
        factor = np.linalg.cholesky(base)
        return _symmetric(factor @ matrix @ factor.T)

    def coordinates(self, base: Points, vectors: Points) -> Array:
        white = _whiten(np.linalg.cholesky(base), vectors)
        rows, columns = np.triu_indices(self.size, 1)
        diagonal = np.diagonal(white, axis1=-2, axis2=-1)
        return np.concatenate([diagonal, np.sqrt(2) * white[..., rows, columns]], axis=-1)

    # -- means -----------------------------------------------------------------------------------------------------
    def mean_log(self, bases: Points, points: Points, weights: Array | None = None) -> Points:
        w, k = uniform_weights(len(points), weights), self.size
        factors = np.linalg.cholesky(bases)
        inverses = np.linalg.inv(factors)
        total = np.zeros(bases.shape)
        for some in blocks(len(bases), 4 * len(points) * k * k):
            inverse = inverses[some][:, None]
            for part in blocks(len(points), 4 * k * k * (some.stop - some.start)):
                logs = _matrix_log(_symmetric(inverse @ points[part] @ _t(inverse)))
                total[some] += np.einsum("n,mnij->mij", w[part], logs)
        return _symmetric(factors @ total @ _t(factors))

    def mean_start(self, points: Points, weights: Array) -> Points:
        """The log-Euclidean mean, taken in the frame of the weighted arithmetic mean."""
        factor = np.linalg.cholesky(np.tensordot(weights, points, 1))
        logs = np.tensordot(weights, _matrix_log(_whiten(factor, points)), 1)
        side = factor @ _rebuild(*_exp_half(logs))
        return _symmetric(side @ side.T)

    def hessian_trace(self, base: Points, points: Points) -> Array:
        eigenvalues = np.log(_positive(np.linalg.eigvalsh(_whiten(np.linalg.cholesky(base), points))))
        return np.asarray(self.dim + np.sum(coth_excess(self._half_gaps(eigenvalues)), axis=-1))

    def _half_gaps(self, eigenvalues: Array) -> Array:
        rows, columns = np.triu_indices(self.size, 1)
        return np.abs(eigenvalues[..., rows] - eigenvalues[..., columns]) / 2

    # -- volume ----------------------------------------------------------------------------------------------------
    def log_volume_density(self, base: Points, vectors: Points) -> Array:
        """Σ_{i<j} log(sinh(g)/g), g = |lᵢ − lⱼ|/2, l the eigenvalues of the whitened vector (Terras 1988)."""
        eigenvalues = np.linalg.eigvalsh(_whiten(np.linalg.cholesky(base), vectors))
        return np.asarray(np.sum(log_sinhc(self._half_gaps(eigenvalues)), axis=-1))

    @property
    def radial_growth(self) -> float:
        """c_k = max Σ_{i<j} |lᵢ − lⱼ|/2 over unit vectors l = ½·√(k(k²−1)/3)."""
        k = self.size
        return 0.5 * float(np.sqrt(k * (k * k - 1) / 3))

    def log_radial_bounds(self, radius: ArrayLike) -> tuple[Array, Array]:
        """Below: (d−1)·log ρ.  Above: that plus ∫₀^ρ min(k·t/12, c_k)dt, as coth x − 1/x ≤ min(x/3, 1)."""
        rho = np.asarray(radius, dtype=np.float64)
        with np.errstate(divide="ignore"):
            lower = (self.dim - 1) * np.log(rho) if self.dim > 1 else np.zeros(rho.shape)
        c, k = self.radial_growth, self.size
        turn = 12 * c / k  # radial_breaks
        excess = np.where(rho < turn, k * rho**2 / 24, k * turn**2 / 24 + c * (rho - turn))
        return lower, lower + (excess if k > 1 else 0.0)

    def log_sphere_area(self, radius: ArrayLike) -> Array | None:
        """Averages of Π sinh(g)/g over directions, by quadrature over the eigenvalues' angles for sizes up to 3 (relative
        error below 1e-7 up to radius 8, tested).

        The trace makes an angle α with a uniform direction of R^d, with density ∝ sin^(d−2) α; the rest is one gap for
        2×2, and for 3×3 three gaps that an angle with density ∝ sin 3ψ sets.
        """
        if self.size > 3:
            return None
        rho = np.asarray(radius, dtype=np.float64)
        lower = self.log_radial_bounds(rho)[0]
        if self.size == 1:
            return lower
        alpha, w = _on_interval(np.pi / 2, 20)
        w = w * np.sin(alpha) ** (self.dim - 2)
        half_gaps = np.sin(alpha)[:, None] / np.sqrt(2)
        if self.size == 3:
            angle, w_angle = _on_interval(np.pi / 3, 8)
            thirds = np.sqrt(2 / 3) * np.cos(angle[:, None] - 2 * np.pi / 3 * np.arange(3))
            half_gaps = (np.sin(alpha)[:, None, None] * self._half_gaps(thirds)).reshape(-1, 3)
            w = (w[:, None] * (w_angle * np.sin(3 * angle))).ravel()
        logs = log_sinhc(rho[..., None, None] * half_gaps).sum(axis=-1)
        top = logs.max(axis=-1, keepdims=True)
        return np.asarray(lower + top[..., 0] + np.log(np.exp(logs - top) @ (w / w.sum())))

    def radial_breaks(self) -> tuple[float, ...]:
        return (12 * self.radial_growth / self.size,) if self.size > 1 else ()

    # -- calibration -------------------------------------------------------------------------------------------------
    def hessian_bounds(self, distance: ArrayLike) -> tuple[Array, Array]:
        """1 and (s/√2)·coth(s/√2): two eigenvalues of a matrix of norm s differ by at most √2·s."""
        s = np.asarray(distance, dtype=np.float64)
        excess = coth_excess(s / np.sqrt(2)) if self.size > 1 else np.zeros(s.shape)
        return np.ones_like(s), 1 + excess

    def mean_hessian_bounds(self, second_moment: ArrayLike, reach: ArrayLike) -> tuple[Array, Array]:
        """t·coth t is concave in t², so its mean is at most its value at the root mean square (Jensen)."""
        return self.hessian_bounds(np.minimum(np.sqrt(np.asarray(second_moment, dtype=np.float64)), reach))

    def log_spread(self, r: float, R: float) -> float:
        return 2 * r  # logarithms do not stretch distances where the curvature is nowhere positive

    def _trace_excess(self, s: ArrayLike) -> Array:
        """T(s) ≥ tr(Hess ½ρ² − 1) at distance s (Jensen over the k(k−1)/2 pairs)."""
        k = self.size
        return k * (k - 1) / 2 * coth_excess(np.asarray(s) / np.sqrt(2 * max(1, k - 1)))

    def divergence_bound(self, r: float, R: float) -> float:
        """Result 3: T + 2r·[(k·S/4)·ψ̃(δ)/δ + (S/3)·√Λ·T·√(d/(d+T))], δ = S/√2, Λ = δ·coth δ.

        div(Ka) = tr K(H_y' − H_y) − ⟨div H, w⟩ − Σⱼ(κⱼ − 1)⟨(∇ⱼH)w, eⱼ⟩ in an eigenbasis of K = H⁻¹ ≤ 1.  div H is a
        graph Laplacian applied to the logarithm; ‖∇ᵥH_y‖ ≤ ⅓·S·‖H_y v‖ as √q·coth √q is operator monotone.
        """
        if self.size == 1:
            return 0.0
        bound = self._divergence(r, np.asarray(r + R), np.asarray(r + R), 0.0)
        if self.size == 2:
            bound = np.minimum(bound, self._plane_divergence(r, r + R))
        return float(bound)

    def _divergence(self, r: float, reach: Array, spread: Array, linear: ArrayLike) -> Array:
        """The bound for data within ``reach`` with root mean square distance ``spread``; ``linear`` is the part of
        ψ̃(δ)/δ that the gradient accounts for."""
        k, d = self.size, self.dim
        delta = reach / np.sqrt(2)
        trace = self._trace_excess(spread)
        laplacian = k * spread / 4 * (coth_slope(delta) - np.asarray(linear))
        turning = spread / 3 * np.sqrt(1 + coth_excess(delta)) * trace * np.sqrt(d / (d + trace))
        return np.asarray(self._trace_excess(reach) + 2 * r * (laplacian + turning))

    @staticmethod
    def _plane_divergence(r: float, S: float) -> float:
        """SPD(2) is a line times the hyperbolic plane of curvature −½: the sphere's bound, continued to −1."""
        r, S = r / np.sqrt(2), S / np.sqrt(2)
        t = np.linspace(0.0, S, 2049)[1:]
        chi = 1 / np.tanh(t) - t / np.sinh(np.minimum(t, 300.0)) ** 2
        # chi = (t·coth t)′, and (t·coth t − 1)·coth t equals t − chi and rises
        # 2·chi − t has a slope between −1 and 1/3: what the grid can miss is at most one cell
        across = np.abs(2 * chi - t).max() + S / 2048
        excess = float(coth_excess(S))
        return float(excess + 2 * r * (S - chi[-1] + 0.5 * (1 - 1 / (1 + excess)) * across))

    def local_divergence_bound(self, r: float, u: Array, R: float) -> Array:
        """Result 3b: the linear third of ψ̃(δ)/δ sums to (k/12)·g, and ‖g‖ ≤ Λ(u)·u; the rest as in Result 3."""
        if self.size == 1:
            return np.zeros(np.shape(u))
        reach, spread = np.minimum(2 * r + u, r + R), np.minimum(r + u, r + R)
        gradient = self.hessian_bounds(spread)[1] * u
        return self._divergence(r, reach, spread, 1 / 3) + 2 * r * self.size / 12 * gradient

    def mean_sensitivity(self, r: float) -> float:
        return 2 * r

    @property
    def mean_radius_limit(self) -> float:
        return np.inf

    def rounding_error(self, center: Points, reach: float) -> float:
        """Whitening by L⁻¹ multiplies errors by ‖|L⁻¹|·|L|‖², which no units change, and the logarithm by the condition
        number, which is at most exp(√2·reach)."""
        factor = np.linalg.cholesky(center)
        skew = float(np.linalg.norm(np.abs(np.linalg.inv(factor)) @ np.abs(factor), 2)) ** 2
        return 8 * float(np.sqrt(self.size)) * 2.0**-53 * skew * float(np.exp(min(300.0, np.sqrt(2) * reach)))


def _on_interval(end: float, count: int) -> tuple[Array, Array]:
    """Gauss–Legendre nodes and weights on [0, end]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return end / 2 * (1 + nodes), end / 2 * weights


def _t(matrices: Points) -> Points:
    return np.swapaxes(matrices, -1, -2)


def _symmetric(matrices: Points) -> Points:
    return (matrices + _t(matrices)) / 2


def _whiten(factor: Points, matrices: Points) -> Points:
    """L⁻¹·m·L⁻ᵀ."""
    inverse = np.linalg.inv(factor)
    return _symmetric(inverse @ matrices @ _t(inverse))


def _rebuild(vectors: Points, eigenvalues: Array) -> Points:
    return (vectors * eigenvalues[..., None, :]) @ _t(vectors)


def _exp_half(matrix: Points) -> tuple[Points, Array]:
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return vectors, np.exp(eigenvalues / 2)


def _positive(eigenvalues: Array) -> Array:
    """Rounding can push an eigenvalue 1e16 times below the largest one to zero or under; hold it at that ratio."""
    return np.maximum(eigenvalues, eigenvalues[..., -1:] * 1e-20)


def _matrix_log(matrices: Points) -> Points:
    """Log of positive definite matrices; closed form for 2×2, where Log W = ½log det·1 + artanh(δ/μ)/δ·(W − μ·1)."""
    if matrices.shape[-1] != 2:
        eigenvalues, vectors = np.linalg.eigh(matrices)
        return _rebuild(vectors, np.log(_positive(eigenvalues)))
    a, b, c = matrices[..., 0, 0], matrices[..., 0, 1], matrices[..., 1, 1]
    mean, half = (a + c) / 2, (a - c) / 2
    gap = np.hypot(half, b)
    ratio = np.minimum(gap / mean, 1 - 1e-16)
    alpha = np.log(mean) + 0.5 * np.log1p(-ratio * ratio)
    beta = np.where(ratio < 1e-8, 1.0, np.arctanh(ratio) / np.where(ratio < 1e-8, 1.0, ratio)) / mean
    result = np.empty(matrices.shape)
    result[..., 0, 0], result[..., 1, 1] = alpha + beta * half, alpha - beta * half
    result[..., 0, 1] = result[..., 1, 0] = beta * b
    return result
