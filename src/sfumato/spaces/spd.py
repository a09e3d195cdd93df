"""Symmetric positive definite matrices with the affine-invariant metric tr(p⁻¹u p⁻¹v): covariances, diffusion tensors.

Everything is computed in the frame of a Cholesky factor p = LLᵀ, where p is the identity: congruence by L⁻¹ is an
isometry, and unlike a square root it keeps the small rows of a badly scaled matrix small.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._curvature import WIDEST, artanh_series, coth_excess, coth_slope, log_sinhc, log_tables
from .base import (
    CACHE,
    MANY,
    RUN,
    Array,
    Moments,
    Points,
    Space,
    _not_finite,
    add_each,
    blocks,
    compiled,
    in_pairs,
    runs,
    uniform_weights,
    whole_number,
)

ASYMMETRY = 1e-5  # relative to the largest entry; single-precision pipelines leave a tenth of that
_Sums = tuple[float, Array, Array, float, float]
COMPILED = 16  # matrices up to this size are multiplied by our own loops, larger ones by BLAS


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
        array = self._real_batch(points)
        faults = self._faults(array)
        if not faults.any():
            return array, {}
        rows = np.flatnonzero(faults)
        repaired, found = self._look(array[rows])
        array = array.copy()
        array[rows] = repaired
        return array, {int(rows[row]): reason for row, reason in found.items()}

    def _faults(self, array: Array) -> NDArray[np.bool_]:
        """Which matrices need a closer look: all but those that are exactly symmetric and clearly positive definite."""
        least = 8 * self.size * np.finfo(float).eps
        if self.size <= COMPILED and array.size >= MANY and (kernels := compiled()):
            if self.size == 2 and kernels.plane_faults(array, 2 * least) == 0:
                return np.zeros(len(array), dtype=bool)
            return np.asarray(kernels.matrix_faults(array, least) != 0)
        diagonal = np.diagonal(array, axis1=1, axis2=2)
        if not ((diagonal > 0) & np.isfinite(diagonal)).all() or not (array == _t(array)).all():
            return np.ones(len(array), dtype=bool)
        scale = 1 / np.sqrt(diagonal)
        try:
            np.linalg.cholesky(array * scale[:, :, None] * scale[:, None, :] - least * np.eye(self.size))
        except np.linalg.LinAlgError:
            return np.ones(len(array), dtype=bool)
        return np.zeros(len(array), dtype=bool)

    def _look(self, array: Array) -> tuple[Array, dict[int, str]]:
        """Symmetric matrices, and for each that is none, or is not positive definite, the reason."""
        array = array.copy()
        reasons = _not_finite(array)
        array[list(reasons)] = np.eye(self.size)
        largest = np.abs(array).max(axis=(1, 2))
        skew = np.abs(array - _t(array)).max(axis=(1, 2))
        for row in np.flatnonzero(skew > ASYMMETRY * largest):
            reasons.setdefault(
                int(row),
                f"is not symmetric: entries differ from their mirror images by up to {skew[row]:.3g}, the largest entry "
                f"being {largest[row]:.3g}; average the matrix with its transpose if that is what you mean",
            )
        array = _symmetric(array)
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
        points, level = _in_range(base, points)
        difference = _whiten(factor, points - base)
        eigenvalues, vectors = np.linalg.eigh(difference)
        near = (np.abs(eigenvalues).max(axis=-1) < 0.5) & (level == 0)
        if near.all():
            return _rebuild(vectors, np.log1p(eigenvalues))
        close = _rebuild(vectors, np.log1p(np.where(near[..., None], eigenvalues, 0.0)))
        distant = _matrix_log(_whiten(factor, points)) + level[..., None, None] * np.eye(self.size)
        return np.where(near[..., None, None], close, distant)

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
        if weights is None and self.size > 1 and len(points) * self.size**2 >= MANY:
            return np.stack([self.moments(x, points).logs for x in bases]) / len(points)
        w, k = uniform_weights(len(points), weights), self.size
        factors = np.linalg.cholesky(bases)
        inverses = _inverse(factors)
        total = np.zeros(bases.shape)
        for some in blocks(len(bases), 4 * len(points) * k * k):
            inverse = inverses[some][:, None]
            total[some] = in_pairs(
                operator.add,
                (
                    np.einsum("n,mnij->mij", w[part], _matrix_log(_symmetric(inverse @ points[part] @ _t(inverse))))
                    for part in runs(len(points), 4 * k * k * (some.stop - some.start))
                ),
            )
        return _symmetric(factors @ total @ _t(factors))

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """The geometric mean of the arithmetic and the harmonic mean."""
        w = uniform_weights(len(points), weights)
        factor = np.linalg.cholesky(np.tensordot(w, points, 1))
        inverses = np.linalg.inv(points) if self.size != 2 else _inverse_2x2(points)
        harmonic = np.linalg.inv(_symmetric(np.tensordot(w, inverses, 1)))
        eigenvalues, vectors = np.linalg.eigh(_whiten(factor, harmonic))
        side = factor @ (vectors * _positive(eigenvalues) ** 0.25)
        return _symmetric(side @ side.T)

    def moments(self, base: Points, points: Points, weights: Array | None = None, accuracy: float = 0.0) -> Moments:
        factor = np.linalg.cholesky(base)
        inverse = _inverse(factor)
        total = None
        if weights is None and self.size > 1 and points.size >= MANY:
            total = self._fast_sums(points, inverse, accuracy)
        if total is None:
            total = self._sums(points, inverse, weights)
        weight, logs, hessian, square, error = total
        return Moments(weight, _symmetric(factor @ logs @ factor.T), hessian, square, error)

    def newton(self, base: Points, moments: Moments) -> Points:
        """Along the identity the Hessian is 1 whatever the data; the rest of its trace is spread over the other directions."""
        if moments.hessian.ndim or self.size == 1:
            return super().newton(base, moments)
        level = np.trace(np.linalg.solve(base, moments.logs)) / self.size * base
        return np.asarray(level + (moments.logs - level) * ((self.dim - 1) / (float(moments.hessian) - 1)))

    def _sums(self, points: Points, inverse: Array, weights: Array | None) -> _Sums:
        """Of weights, whitened logarithms, traces of Hessians, and squared distances, by eigendecomposition."""
        k = self.size

        def of_run(part: slice) -> tuple[float, Array, Array, float]:
            w = np.ones(len(points[part])) if weights is None else weights[part]
            eigenvalues, vectors = np.linalg.eigh(_symmetric(inverse @ points[part] @ inverse.T))
            logarithms = np.log(_positive(eigenvalues))
            columns = np.ascontiguousarray(np.swapaxes(vectors, 0, 1)).reshape(k, -1)
            logs = (columns * (w[:, None] * logarithms).ravel()) @ columns.T  # Σ w·U·diag(·)·Uᵀ as one product
            trace = w @ np.sum(coth_excess(self._half_gaps(logarithms)), axis=-1)
            return float(w.sum()), logs, trace, float(w @ np.sum(logarithms**2, axis=1))

        # k columns a record: a run of them is that much shorter
        weight, logs, trace, square = in_pairs(add_each, map(of_run, blocks(len(points), k, RUN)))
        return weight, logs, np.asarray(trace + weight * self.dim), square, 0.0

    def _fast_sums(self, points: Points, inverse: Array, accuracy: float) -> _Sums | None:
        """The same without eigenvectors, by series; None where a spectrum is too wide for them."""
        n, k = len(points), self.size
        kernels = compiled() if k <= COMPILED else None
        if k == 2:
            if kernels is None:
                return None
            first, second, square, h11, h12, h22, level, lost = kernels.plane_moments(
                points, inverse, artanh_series(), WIDEST**2
            )
            if lost:
                return None
            alpha = level / 2
            logs = np.array([[alpha + first, second], [second, alpha - first]])
            # coordinates (w₀₀, w₁₁, √2·w₀₁): the trace has Hessian 1, the traceless part (half, off) that of the plane
            turn = np.array([[0.5, -0.5, 0.0], [0.0, 0.0, np.sqrt(0.5)]]) * np.sqrt(2)
            hessian = n * np.eye(3) + turn.T @ np.array([[h11, h12], [h12, h22]]) @ turn
            return float(n), logs, hessian, 2 * float(square + alpha * alpha / n), 0.0
        accuracy = max(accuracy, 1e-15 * np.sqrt(k))
        tables = log_tables(accuracy / np.sqrt(k))
        if kernels is not None:
            logs, square, trace_square, wide = kernels.matrix_moments(points, inverse, *tables)
        else:
            logs, square, trace_square, wide = _series_sums(points, inverse, *tables)
        n -= int(wide.sum())
        # Σ over pairs of (half-gap)² = (k‖l‖² − tr²)/4, and t·coth t − 1 is nearly t²/3
        pairs = (k * square - trace_square) / 4
        trace = np.asarray(n * self.dim + pairs / 3 / (1 + pairs / max(1, n * k * (k - 1) / 2) / 15))
        if not wide.any():
            return float(n), logs, trace, float(square), accuracy
        # a few are summed the slow way; all of them would take longer, and a clock would tell
        count, slow_logs, slow_trace, slow_square, _ = self._sums(points[wide], inverse, None)
        return n + count, logs + slow_logs, trace + slow_trace, square + slow_square, accuracy

    @property
    def series_moments(self) -> bool:
        return self.size > 2

    def second_moment(self, moments: Moments) -> float:
        """The fast sums over 2×2 matrices do not tell that of the determinants."""
        return super().second_moment(moments) if self.size != 2 else np.inf

    def outside(self, base: Points, points: Points, radius: float) -> NDArray[np.bool_]:
        found = ~(self._squared_distances(base, points) <= (radius * (1 - 1e-6)) ** 2)
        found[found] = super().outside(base, points[found], radius)
        return found

    def _squared_distances(self, base: Points, points: Points) -> Array:
        """From eigenvalues alone; distances below 1e-8 are lost in rounding."""
        inverse = _inverse(np.linalg.cholesky(base))
        square = np.empty(len(points))
        for part in blocks(len(points), 4 * self.size**2):
            y, level = _in_range(base, points[part])
            white = _symmetric(inverse @ y @ inverse.T)
            if self.size == 2:
                square[part] = np.sum((_matrix_log(white) + level[:, None, None] * np.eye(2)) ** 2, axis=(1, 2))
            else:
                square[part] = np.sum((np.log(_positive(np.linalg.eigvalsh(white))) + level[:, None]) ** 2, axis=1)
        return square

    def hessian(self, base: Points, points: Points) -> Array | None:
        """Σ Q·diag(φ̃)·Qᵀ, Q the coordinates of the matrices U·E_pq·Uᵀ, U the eigenvectors of the whitened record."""
        inverse, k, d = _inverse(np.linalg.cholesky(base)), self.size, self.dim
        rows, columns = np.triu_indices(k, 1)

        def of_run(part: slice) -> Array:
            eigenvalues, u = np.linalg.eigh(_symmetric(inverse @ points[part] @ inverse.T))
            logarithms = np.log(_positive(eigenvalues))
            phi = np.concatenate([np.ones(logarithms.shape), 1 + coth_excess(self._half_gaps(logarithms))], axis=1)
            diagonal = u[:, :, None, :] * u[:, None, :, :]  # (n, i, j, p)
            off = u[:, :, None, rows] * u[:, None, :, columns]
            off = (off + np.swapaxes(off, 1, 2)) / np.sqrt(2)
            q = np.concatenate([diagonal, off], axis=3)
            index = np.arange(k)
            coordinates = np.concatenate([q[:, index, index], np.sqrt(2) * q[:, rows, columns]], axis=1)  # (n, d, d)
            flat = np.moveaxis(coordinates, 0, 1).reshape(d, -1)
            return np.asarray((flat * phi.ravel()) @ flat.T)

        return in_pairs(operator.add, map(of_run, runs(len(points), 4 * d * d)))

    def gradient_error(self, length: ArrayLike, second_moment: float, reach: ArrayLike, slope: float) -> Array:
        """For one record at distance s and w = −log, H = √Q·coth √Q with Q = −R(·, w)w, and w moves with Hv along v.  So
        (∇ᵥH)v = −⅓R(v, w)v + a rest: linear in w, so that the mean of the first part is at most ‖g‖/6, as
        ‖R(x, y)z‖ ≤ ½‖x‖‖y‖‖z‖.  The rest is at most ⅓s(Λ(s) − 1), for Hv − v, plus s³Λ(s)/45, for higher powers of Q.
        """
        u = np.asarray(length, dtype=np.float64)
        if self.size == 1:
            return np.zeros(u.shape)
        upper = self.hessian_bounds(reach)[1]
        moment = np.minimum(np.sqrt(second_moment) + u, reach) ** 2
        rest = np.asarray(reach) * moment * (1 / 18 + upper / 45)
        return np.asarray(u * u * (upper * u / 36 + slope / 12 + rest / 2))

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
        skew = float(np.linalg.norm(np.abs(_inverse(factor)) @ np.abs(factor), 2)) ** 2
        return 8 * float(np.sqrt(self.size)) * 2.0**-53 * skew * float(np.exp(min(600.0, np.sqrt(2) * reach)))


def _on_interval(end: float, count: int) -> tuple[Array, Array]:
    """Gauss–Legendre nodes and weights on [0, end]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return end / 2 * (1 + nodes), end / 2 * weights


def _t(matrices: Points) -> Points:
    return np.swapaxes(matrices, -1, -2)


def _symmetric(matrices: Points) -> Points:
    return matrices / 2 + _t(matrices) / 2  # halved before they are added: no overflow


def _in_range(base: Points, matrices: Points) -> tuple[Points, Array]:
    """Matrices over e^level, the levels being 0 except where products with the inverse of the base could overflow."""
    ratio = np.log2(np.abs(matrices).max(axis=(-2, -1))) - np.log2(np.abs(base).max(axis=(-2, -1)))
    power = np.where(np.abs(ratio) > 256, np.clip(np.rint(ratio), -1000, 1000), 0.0)
    return (np.ldexp(matrices, -power.astype(int)[..., None, None]) if power.any() else matrices), power * np.log(2)


def _inverse(factor: Points) -> Array:
    """L⁻¹ by substitution.  LAPACK's inverse exchanges rows, which mixes those of very different units."""
    inverse = np.zeros(factor.shape)
    for i in range(factor.shape[-1]):
        inverse[..., i, i] = 1.0
        inverse[..., i, :i] = -(factor[..., None, i, :i] @ inverse[..., :i, :i])[..., 0, :]
        inverse[..., i, : i + 1] /= factor[..., i, i, None]
    return inverse


def _whiten(factor: Points, matrices: Points) -> Points:
    """L⁻¹·m·L⁻ᵀ."""
    inverse = _inverse(factor)
    return _symmetric(inverse @ matrices @ _t(inverse))


def _rebuild(vectors: Points, eigenvalues: Array) -> Points:
    return (vectors * eigenvalues[..., None, :]) @ _t(vectors)


def _exp_half(matrix: Points) -> tuple[Points, Array]:
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return vectors, np.exp(eigenvalues / 2)


def _positive(eigenvalues: Array) -> Array:
    """Rounding can push an eigenvalue 1e16 times below the largest one to zero or under; hold it at that ratio."""
    return np.maximum(eigenvalues, eigenvalues[..., -1:] * 1e-20)


def _inverse_2x2(matrices: Points) -> Points:
    level = matrices[:, 0, 0] / 2 + matrices[:, 1, 1] / 2  # divided out first: the determinant could overflow
    a, b, c = matrices[:, 0, 0] / level, matrices[:, 0, 1] / level, matrices[:, 1, 1] / level
    result = np.empty(matrices.shape)
    result[:, 0, 0], result[:, 1, 1] = c, a
    result[:, 0, 1] = result[:, 1, 0] = -b
    result /= ((a * c - b * b) * level)[:, None, None]
    return result


def _series_sums(
    points: Points, inverse: Array, widths: Array, counts: NDArray[np.int64], tables: Array
) -> tuple[Array, float, float, NDArray[np.bool_]]:
    """As matrix_moments of the compiled kernels, a block of large matrices at a time; each is a few products of BLAS."""
    k = inverse.shape[0]
    identity, transposed = np.eye(k), np.ascontiguousarray(inverse.T)
    wide = np.zeros(len(points), dtype=bool)

    def of_run(part: slice) -> tuple[Array, float, float]:
        white = inverse @ (points[part].reshape(-1, k) @ transposed).reshape(-1, k, k)
        flat = white.reshape(len(white), -1)
        diagonal = flat[:, :: k + 1]
        center = np.vecdot(flat, flat) / diagonal.sum(axis=1)
        diagonal -= center[:, None]
        d2 = white @ white
        d4 = d2 @ d2
        eighth = d4.reshape(len(d4), -1)
        width = float((np.vecdot(eighth, eighth) ** 0.125 / center).max()) * (1 + 1e-12)
        if not width <= widths[-1]:
            wide[part] = True  # the whole block: it is small
            return np.zeros((k, k)), 0.0, 0.0
        row = int(np.searchsorted(widths, width))
        scale = (1 / (widths[row] * center))[:, None, None]
        basis = np.empty((4, *white.shape))  # T₀ to T₃ of D/δc
        basis[0] = identity
        np.multiply(white, scale, out=basis[1])
        d2 *= scale * scale
        np.multiply(d2, 2.0, out=basis[2])
        basis[2] -= identity
        np.matmul(basis[1], basis[2], out=basis[3])
        basis[3] *= 2
        basis[3] -= basis[1]
        d4 *= scale**4
        d4 -= d2
        d4 *= 16
        d4 += 2 * identity  # 2·T₄
        count = int(counts[row])
        terms = (tables[row, :count] @ basis.reshape(4, -1)).reshape(count, *white.shape)
        now, last = terms[-1], np.zeros(())
        for q in range(count - 2, -1, -1):
            new = d4 @ now
            if q == 0:
                new *= 0.5
            new -= last
            new += terms[q]
            now, last = new, now
        flat = now.reshape(len(now), -1)
        flat[:, :: k + 1] += np.log(center)[:, None]
        lengths = np.vecdot(flat, flat)
        return now.sum(axis=0), float(lengths.sum()), float(np.sum(flat[:, :: k + 1].sum(axis=1) ** 2))

    return *in_pairs(add_each, map(of_run, runs(len(points), k * k, CACHE // 8))), wide


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
