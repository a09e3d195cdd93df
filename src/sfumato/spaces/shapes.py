"""Kendall's planar shape space: k labelled landmarks up to translation, scale and rotation, the complex projective
space CP^(k−2) with holomorphic curvature 4 (Kendall 1984; Dryden and Mardia 2016)."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._curvature import (
    NEAR,
    angle_condition,
    angle_over_sine,
    angle_series,
    chi,
    cot_defect,
    gradient_error,
    log_sinc,
    psi,
    unit_log_spread,
)
from .base import (
    CACHE,
    MANY,
    Array,
    Moments,
    Points,
    Space,
    _not_finite,
    add_each,
    as_numbers,
    compiled,
    in_pairs,
    runs,
    uniform_weights,
    whole_number,
)
from .sphere import EXACT, local_log_spread, norm_error, psi_max

SINGLE = 2048  # records that are summed in single precision at once
COINCIDENT = 1e-12  # size over distance from the origin below which all landmarks are one point


@dataclass(frozen=True)
class PlanarShapes(Space):
    """Shapes of k ≥ 3 landmarks in the plane; mirror images are different shapes.

    Users give landmarks as (n, k, 2), or complex (n, k).  A canonical point is the complex vector, centred and of norm
    one; shapes that differ by a rotation are the same point, and every method is blind to it.

    >>> space = PlanarShapes(landmarks=3)
    >>> triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> turned = 5 * triangle @ np.array([[0.0, -1.0], [1.0, 0.0]]) + 2
    >>> float(space.distance(triangle, turned)) < 1e-15
    True
    """

    landmarks: int
    dim: int = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "shapes"
    metric: ClassVar[str] = "Riemannian shape distance (Kendall)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "landmarks", whole_number("PlanarShapes", "landmarks", self.landmarks, 3))
        object.__setattr__(self, "dim", 2 * self.landmarks - 4)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.landmarks,)

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        return (1.0 if self.landmarks > 3 else 4.0, 4.0)

    @property
    def injectivity_radius(self) -> float:
        return np.pi / 2

    def parameters(self) -> dict[str, Any]:
        return {"landmarks": self.landmarks}

    def origin(self) -> Points:
        return _unit(np.exp(2j * np.pi * np.arange(self.landmarks) / self.landmarks))

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        z = np.ascontiguousarray(self._complex(points))
        if z.ndim != 2:
            raise ValueError(f"{self}: points have shape {np.shape(points)}, expected (n, {self.landmarks}, 2)")
        if (kernels := self._kernels(z)) is not None:
            rows = z.view(np.float64)
            if kernels.shape_faults(rows, norm_error(2 * self.landmarks), (self.landmarks * EXACT) ** 2) == 0:
                return z, {}
            made = np.empty_like(z)
            if kernels.shape_canonical(rows, made.view(np.float64)) == 0:
                return made, {}
        with np.errstate(over="ignore", invalid="ignore"):
            mean = z @ np.full(self.landmarks, 1 / self.landmarks, dtype=np.complex128)
            real = z.view(np.float64)
            exact = norm_error(2 * self.landmarks)
            if np.abs(np.vecdot(real, real) - 1).max(initial=0.0) <= exact and np.abs(mean).max(initial=0.0) <= EXACT:
                return z, {}  # canonical already
            centred = z - mean[:, None]
            real = centred.view(np.float64)
            size2 = np.vecdot(real, real)
            shift2 = size2 + self.landmarks * np.abs(mean) ** 2
        if ((size2 > 1e-200) & (shift2 < 1e200) & (size2 > 1e-20 * shift2)).all():
            real *= (1 / np.sqrt(size2))[:, None]
            return centred, {}
        # something is unusual: very large or small numbers, or a record that is no shape
        reasons = _not_finite(z)
        z = np.where(np.isfinite(z), z, 0.0)
        largest = np.maximum(np.abs(z.real), np.abs(z.imag)).max(axis=1, keepdims=True)
        largest = np.where(largest < 1e-300, 0.0, largest)
        z = z / np.where(largest > 0, largest, 1.0)  # no overflow, no underflow
        z = z - z.mean(axis=1, keepdims=True)
        size = np.linalg.norm(z, axis=1, keepdims=True)
        for row in np.flatnonzero(size[:, 0] <= COINCIDENT):
            reasons.setdefault(int(row), f"has no shape: all its {self.landmarks} landmarks coincide")
        z[list(reasons)] = np.exp(2j * np.pi * np.arange(self.landmarks) / self.landmarks)
        return z / np.linalg.norm(z, axis=1, keepdims=True), reasons

    def present(self, points: Points) -> Array:
        return np.stack([points.real, points.imag], axis=-1)

    def _complex(self, points: ArrayLike) -> Points:
        array = points if type(points) is np.ndarray and points.dtype == np.complex128 else as_numbers(points)
        if np.iscomplexobj(array):
            if array.shape[-1:] != (self.landmarks,):
                raise ValueError(
                    f"{self}: points have shape {array.shape}, expected (n, {self.landmarks}) complex numbers"
                )
            return array.astype(np.complex128, copy=False)
        if array.shape[-2:] != (self.landmarks, 2):
            raise ValueError(f"{self}: points have shape {array.shape}, expected (n, {self.landmarks}, 2)")
        return np.ascontiguousarray(array, dtype=np.float64).view(np.complex128)[..., 0]

    def _preshape(self, points: ArrayLike) -> Points:
        z = self._complex(points)
        z = z - np.add.reduce(z, axis=-1, keepdims=True) / self.landmarks
        return np.asarray(z / _length(z)[..., None])

    # -- geometry --------------------------------------------------------------------------------------------------
    def align(self, base: Points, points: Points) -> Points:
        """Preshapes turned so that ⟨base, y⟩ is real and not negative: the closest rotation."""
        x, y = self._preshape(base), self._preshape(points)
        c = np.sum(np.conj(x) * y, axis=-1, keepdims=True)
        size = np.abs(c)
        return np.asarray(y * np.where(size > 0, np.conj(c) / np.where(size > 0, size, 1.0), 1.0))

    def exp(self, base: Points, vectors: Points) -> Points:
        """cos(t)·x + sin(t)·v/‖v‖ for a horizontal v."""
        x, v = self._preshape(base), self._complex(vectors)
        t = _length(v)[..., None]
        y = np.cos(t) * x + (np.sin(t) / np.maximum(t, 1e-300)) * v
        return np.asarray(y / _length(y)[..., None])

    def retract(self, base: Points, vectors: Points) -> Points:
        y = base + vectors
        return np.asarray(y / _length(y)[..., None])

    def log(self, base: Points, points: Points) -> Points:
        """atan2(‖u‖, |c|)·u/‖u‖ with y aligned to x, c = ⟨x, y⟩ and u = y − |c|·x."""
        x, y = self._preshape(base), self.align(base, points)
        near = y - x
        u = near - np.sum(np.conj(x) * near, axis=-1, keepdims=True) * x
        sine = _length(u)[..., None]
        theta = np.arctan2(sine, np.sum(np.conj(x) * y, axis=-1, keepdims=True).real)
        return np.asarray(theta * u / np.where(sine > 0, sine, 1.0))

    def distance(self, a: Points, b: Points) -> Array:
        """2·atan2(‖x − y‖, ‖x + y‖) after alignment."""
        x, y = self._preshape(a), self.align(a, b)
        return np.asarray(2 * np.arctan2(_length(x - y), _length(x + y)))

    def inner(self, base: Points, u: Points, v: Points) -> Array:
        return np.asarray(np.sum(np.conj(self._complex(u)) * self._complex(v), axis=-1).real)

    def norm(self, base: Points, vectors: Points) -> Array:
        return _length(self._complex(vectors))

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        m = self.landmarks - 2
        half = coordinates[..., :m] + 1j * coordinates[..., m:]
        center, mirror = self._mirrors(self._preshape(base))
        horizontal = np.concatenate([np.zeros((*half.shape[:-1], 1)), half], axis=-1)
        inside = _householder(mirror, horizontal)
        return _householder(center, np.concatenate([np.zeros((*half.shape[:-1], 1)), inside], axis=-1))

    def coordinates(self, base: Points, vectors: Points) -> Array:
        center, mirror = self._mirrors(self._preshape(base))
        half = _householder(mirror, _householder(center, self._complex(vectors))[..., 1:])[..., 1:]
        return np.concatenate([half.real, half.imag], axis=-1)

    def _mirrors(self, x: Points) -> tuple[Points, Points]:
        """Two reflections: the first takes (1,…,1)/√k to −e₀ and so centred vectors to C^(k−1), the second x to ∓e₀ there."""
        k = self.landmarks
        center = np.full(k, 1 / np.sqrt(k), dtype=np.complex128)
        center[0] += 1.0
        center /= _length(center)
        mirror = _householder(center, x)[1:].copy()
        mirror[0] += mirror[0] / abs(mirror[0]) if mirror[0] != 0 else 1.0
        return center, mirror / _length(mirror)

    # -- means -----------------------------------------------------------------------------------------------------
    def mean_log(self, bases: Points, points: Points, weights: Array | None = None) -> Points:
        if weights is None and (kernels := self._kernels(points)) is not None:
            x = np.ascontiguousarray(bases)
            logs = kernels.shape_logs(points.view(np.float64), x.view(np.float64), angle_series(), NEAR)
            return np.asarray(logs.view(np.complex128) / len(points))
        w = None if weights is None else uniform_weights(len(points), weights)

        def of_run(part: slice) -> tuple[Points, Array]:
            turn, size, factor = _turns(np.conj(bases) @ points[part].T)
            factor *= 1 / len(points) if w is None else w[part]
            turn *= factor
            return turn @ points[part], np.sum(factor * size, axis=1)

        each = 2 * max(len(bases), self.landmarks)
        toward, along = in_pairs(add_each, map(of_run, runs(len(points), each, 2 * CACHE)))
        mean = toward - along[:, None] * bases
        return np.asarray(mean - np.sum(np.conj(bases) * mean, axis=1, keepdims=True) * bases)

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """Towards the full Procrustes mean, the leading eigenvector of Σ wᵢ zᵢzᵢ* (Kent 1994), by two steps of the power
        iteration; the solver takes over where they are not enough."""
        if weights is None:  # some records will do: the start is off by their spread over the root of their number
            points = points[:: max(1, len(points) // 64)]
        x = points[0 if weights is None else int(np.argmax(weights))]
        for _ in range(2):
            c = np.conj(points @ np.conj(x))
            x = _unit((c if weights is None else c * weights) @ points)
        return np.asarray(x)

    def moments(self, base: Points, points: Points, weights: Array | None = None, accuracy: float = 0.0) -> Moments:
        if weights is None and (found := self._compiled_moments(base, points)):
            return found

        def of_run(part: slice) -> tuple[Points, float, float, float, float]:
            z = points[part]
            turn, size, factor = _turns(z @ np.conj(base))
            phi, theta2 = factor * size, factor * factor * ((1 - size) * (1 + size))
            w = np.ones(len(z)) if weights is None else weights[part]
            turning = float(w @ (theta2 / np.maximum(phi, 1e-3)))  # θ·tan θ = φ₁ − φ₂
            turn *= factor * w
            return turn @ z, float(w.sum()), float(w @ phi), float(w @ theta2), turning

        toward, weight, along, square, turning = in_pairs(
            add_each, map(of_run, runs(len(points), 2 * self.landmarks, 2 * CACHE))
        )
        logs = toward - along * base
        trace = weight + (self.dim - 1) * along - turning
        return Moments(weight, logs - np.vdot(base, logs) * base, np.asarray(trace), max(0.0, square))

    @staticmethod
    def _kernels(points: Points) -> ModuleType | None:
        """Compiled loops, for points that are many."""
        return compiled() if points.size >= MANY // 2 and points.flags.c_contiguous else None

    def _compiled_moments(self, base: Points, points: Points) -> Moments | None:
        """The same in one pass; None for few points."""
        if (kernels := self._kernels(points)) is None:
            return None
        x, n = np.ascontiguousarray(base), float(len(points))
        logs, along, square, turning = kernels.shape_moments(
            points.view(np.float64), x.view(np.float64), angle_series(), NEAR
        )
        trace = np.asarray(n + (self.dim - 1) * along - turning)
        return Moments(n, logs.view(np.complex128), trace, max(0.0, square))

    def outside(self, base: Points, points: Points, radius: float) -> NDArray[np.bool_]:
        least = float(np.cos(min(radius, np.pi / 2))) + 1e-12
        if (kernels := self._kernels(points)) is not None:
            x = np.ascontiguousarray(base)
            found = kernels.shape_below(points.view(np.float64), x.view(np.float64), least)
        else:
            found = np.abs(points @ np.conj(base)) < least
        found[found] = super().outside(base, points[found], radius)
        return np.asarray(found)

    def hessian(self, base: Points, points: Points) -> Array | None:
        """Σ φ₁ + (1 − φ₁)·nnᵀ − (φ₁ − φ₂)·jjᵀ, j = i·n: two Gram matrices of the aligned records as real vectors.

        In single precision, where they take half the time: :meth:`gradient_error` allows for it.
        """
        k, kernels = self.landmarks, self._kernels(points)
        along, gram, turned = 0.0, np.zeros((2 * k, 2 * k)), np.zeros((2 * k, 2 * k))
        # the weights as factors of the rows, so that a product of a matrix with itself takes half the time
        single = np.empty((2, min(SINGLE, len(points)), 2 * k), dtype=np.float32)
        x = np.ascontiguousarray(base)
        for start in range(0, len(points), SINGLE):
            z = points[start : start + SINGLE]
            rows = single[:, : len(z)]
            if kernels is not None:
                along += kernels.shape_rows(z.view(np.float64), x.view(np.float64), angle_series(), NEAR, *rows)
            else:
                along += _turned_rows(z, x, rows)
            gram += rows[0].T @ rows[0]
            turned += rows[1].T @ rows[1]
        gram -= _quarter_turn(_quarter_turn(turned).T).T
        basis = np.ascontiguousarray(self.tangent_basis(base)).view(np.float64)
        return np.asarray(basis @ gram @ basis.T + along * np.eye(self.dim))

    def gradient_error(self, length: ArrayLike, second_moment: float, reach: ArrayLike, slope: float) -> Array:
        """As on the sphere of curvature 4, plus what single precision does to the Hessian: the sum of SINGLE products, each of
        two rounded numbers, is off by at most SINGLE + 6 roundings, relative to the sum of the squares of the rows, which are
        horizontal: (1 − φ₁) + θ·tan θ a record, which is at most the second moment times its value at the reach over the
        reach squared."""
        u, S = np.asarray(length, dtype=np.float64), np.maximum(reach, 1e-150)
        excess = (cot_defect(S) + S * np.tan(np.minimum(S, 1.5))) / S**2
        rounding = (SINGLE + 6) * 2.0**-24 * second_moment * excess * u
        moment = self.second_moment_at(second_moment + 2 * slope * u, u)
        return np.asarray(gradient_error(4.0, u, moment, S, slope) + rounding)

    def hessian_trace(self, base: Points, points: Points) -> Array:
        s = self.distance(base, points)
        return self.dim - cot_defect(2 * s) - (self.dim - 2) * cot_defect(s)

    # -- volume ----------------------------------------------------------------------------------------------------
    def log_volume_density(self, base: Points, vectors: Points) -> Array:
        """(2m − 1)·log(sin t/t) + log cos t, m = k − 2."""
        t = _length(self._complex(vectors))
        return (self.dim - 2) * log_sinc(t) + log_sinc(2 * t)

    def log_radial_bounds(self, radius: ArrayLike) -> tuple[Array, Array]:
        """Both equal log(sin^(2m−1)ρ·cos ρ), the same in every direction."""
        t = np.asarray(radius, dtype=np.float64)
        with np.errstate(divide="ignore"):
            value = (self.dim - 1) * np.log(np.sin(t)) + np.log(np.maximum(np.cos(t), 0.0))
        return value, value

    def radial_breaks(self) -> tuple[float, ...]:
        return (float(np.arctan(np.sqrt(self.dim - 1))),)

    # -- calibration -------------------------------------------------------------------------------------------------
    def hessian_bounds(self, distance: ArrayLike) -> tuple[Array, Array]:
        """2s·cot 2s once, s·cot s d − 2 times, and 1."""
        lower = 1 - cot_defect(2 * np.asarray(distance, dtype=np.float64))
        return lower, np.ones_like(lower)

    def mean_hessian_bounds(self, second_moment: ArrayLike, reach: ArrayLike) -> tuple[Array, Array]:
        """As on the sphere of curvature 4: 1 − 2s·cot 2s is s² times a rising function."""
        reach = np.maximum(reach, 1e-150)  # all records in one place
        lower = 1 - np.minimum(1.0, np.asarray(second_moment) / reach**2) * cot_defect(2 * reach)
        return lower, np.ones_like(lower)

    def log_spread(self, r: float, R: float) -> float:
        return unit_log_spread(2 * r, 2 * R) / 2

    def divergence_bound(self, r: float, R: float) -> float:
        """Result 3 on CP^m, with n towards yᵢ, j = i·n, P = 1 − nnᵀ − jjᵀ, φ₁ = t·cot t, φ₂ = 2t·cot 2t, and
        (φ₁ − φ₂)·cot t = t:

        Σ_e⟨(∇ₑH)w, Ke⟩ = (χ₁−ψ₁)⟨Pw, Kn⟩ + (χ₂−ψ₂)⟨j,w⟩⟨j, Kn⟩ − ⟨n,w⟩[ψ₁·tr PK + ψ₂⟨j, Kj⟩] − t⟨iPw, Kj⟩.
        """
        S, d = r + R, self.dim
        lam = 1 - float(cot_defect(2 * S))
        trace = float(cot_defect(2 * S) + (d - 2) * cot_defect(S))
        along = ((d - 2) * psi_max(S) + 2 * psi_max(2 * S)) / lam
        across = 0.5 * (1 / lam - 1) * float(4 * chi(2 * S) - 4 * S + S)
        return trace / lam + self.log_spread(r, R) / lam * float(np.hypot(along, across))

    def local_divergence_bound(self, r: float, u: Array, R: float) -> Array:
        """Result 3b on CP^m: ψ₁ = t/3 − (χ(t) − 2t/3) and ψ₂ − ψ₁ = t − (2χ(2t) − χ(t) − 2t), and the terms linear in t
        sum to multiples of ⟨g, w⟩.  The rest is bounded entry by entry in K − 1, which lies between 0 and 1/λ − 1."""
        S = np.minimum(2 * r + u, r + R)
        second_moment = self.second_moment_at(r * r, u)
        lam = self.mean_hessian_bounds(second_moment, S)[0]
        d = self.dim
        trace = cot_defect(2 * S) + (d - 2) * cot_defect(S)
        share = np.minimum(1.0, second_moment / S**2)
        trace_k = np.minimum((d - 1) / lam, d - 1 + share * trace / lam)  # ≥ tr K − 1
        linear = trace_k * (chi(S) - 2 * S / 3 + u / 3) + (2 * chi(2 * S) - chi(S) - 2 * S) + u
        # |(ψ₂−ψ₁)αⱼ − ψ₁αₙ| for 0 ≤ αⱼ, αₙ ≤ 1/λ − 1: the two terms add up where ψ₂ < ψ₁, near the edge of convexity;
        # 2ψ₁ − ψ₂ is convex and starts negative, so where it is positive it rises: its largest value is at S
        diagonal = np.maximum(np.maximum(psi_max(S), _gap_max(S)), 2 * psi(S) - 2 * psi(2 * S))
        rest = diagonal + 2 * chi(2 * S) - 2 * S + S / 2
        w = local_log_spread(2 * r, 2 * u) / 2 / lam
        return np.asarray(trace / lam + w * (linear + (1 / lam - 1) * rest))

    def mean_sensitivity(self, r: float) -> float:
        return float(np.tan(2 * r))

    @property
    def mean_radius_limit(self) -> float:
        return np.pi / 4

    def rounding_error(self, center: Points, reach: float) -> float:
        """As on the sphere, with inner products of 2k terms; turning a record to another adds 1/cos, which the sphere of
        curvature 4 covers."""
        return (32 + 8 * float(np.sqrt(2 * self.landmarks))) * 2.0**-53 * self.largest_term(reach)

    def largest_term(self, reach: float) -> float:
        return angle_condition(2 * reach)


def _gap_max(S: ArrayLike) -> Array:
    """Upper bound on the maximum over [0, S] of the concave function ψ₂ − ψ₁ = 2ψ(2t) − ψ(t), whose slope at 0 is 1."""
    grid = np.linspace(0.0, np.pi / 4, 4097)
    best = np.maximum.accumulate(2 * psi(2 * grid) - psi(grid))
    step = grid[1]
    return np.asarray(np.interp(np.minimum(np.asarray(S) + step, np.pi / 4), grid, best) + step)


def _turns(c: Points) -> tuple[Points, Array, Array]:
    """From ⟨x, y⟩: the rotation that aligns y to x, cos θ and θ/sin θ."""
    size = np.abs(c)
    turn = np.conj(c)
    turn /= np.maximum(size, 1e-300)
    return turn, size, angle_over_sine(size)


def _quarter_turn(rows: Array) -> Array:
    """i·z for rows of real and imaginary parts in turn."""
    turned = np.empty_like(rows)
    turned[:, ::2], turned[:, 1::2] = -rows[:, 1::2], rows[:, ::2]
    return turned


def _turned_rows(z: Points, x: Points, rows: NDArray[np.float32]) -> float:
    """As shape_rows of the compiled kernels."""
    turn, size, factor = _turns(z @ np.conj(x))
    phi, sine2 = factor * size, np.maximum((1 - size) * (1 + size), 1e-12)
    across = z * turn[:, None] - size[:, None] * x
    for row, weight in zip(
        rows, (np.maximum(1 - phi, 0.0) / sine2, factor * factor / phi), strict=True
    ):  # θ·tan θ/sin²θ
        row[:] = (across * np.sqrt(weight)[:, None]).view(np.float64)
    return float(phi.sum())


def _length(z: Points) -> Array:
    """‖z‖ of complex vectors, as real ones of twice the length: quicker than NumPy's norm."""
    real = np.ascontiguousarray(z).view(np.float64)
    return np.asarray(np.sqrt(np.vecdot(real, real)))


def _unit(z: Points) -> Points:
    return np.asarray(z / _length(z))


def _householder(mirror: Points, vectors: Points) -> Points:
    return np.asarray(vectors - 2 * (vectors @ np.conj(mirror))[..., None] * mirror)
