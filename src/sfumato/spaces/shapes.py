"""Kendall's planar shape space: k labelled landmarks up to translation, scale and rotation, the complex projective
space CP^(k−2) with holomorphic curvature 4 (Kendall 1984; Dryden and Mardia 2016)."""

from __future__ import annotations

from collections.abc import Callable
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
    t_cot_t,
)
from .base import (
    CACHE,
    MANY,
    Array,
    Kind,
    Moments,
    Points,
    Space,
    add_each,
    as_numbers,
    compiled,
    in_pairs,
    not_finite,
    runs,
    uniform_weights,
    whole_number,
)
from .sphere import EXACT, norm_error

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
    kind: ClassVar[Kind] = "landmarks"
    size_option: ClassVar[str | None] = "landmarks"
    landmark_dim: ClassVar[int | None] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "landmarks", whole_number("PlanarShapes", "landmarks", self.landmarks, 3))
        object.__setattr__(self, "dim", 2 * self.landmarks - 4)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.landmarks,)

    def parameters(self) -> dict[str, Any]:
        return {"landmarks": self.landmarks}

    def origin(self) -> Points:
        return _unit(np.exp(2j * np.pi * np.arange(self.landmarks) / self.landmarks))

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        z = np.ascontiguousarray(self._complex(points))
        if z.ndim != 2:
            raise ValueError(f"{self}: points have shape {np.shape(points)}, expected (n, {self.landmarks}, 2)")
        made, odd = self._canonical(z)
        if not (rows := np.flatnonzero(odd)).size:
            return made, {}
        made[rows], found = self._look(z[rows])
        return made, {int(rows[row]): reason for row, reason in found.items()}

    def _canonical(self, z: Points) -> tuple[Points, NDArray[np.bool_]]:
        """Canonical shapes: z itself if all are, else a copy; and which of them need a closer look, as their numbers are very
        large or small, or they are no shapes."""
        exact, k = norm_error(2 * self.landmarks), self.landmarks
        if (kernels := self._kernels(z)) is not None:
            faults = kernels.shape_faults(z.view(np.float64), exact, (k * EXACT) ** 2)
            if not faults.any():
                return z, faults
            made = np.empty_like(z)
            return made, kernels.shape_canonical(z.view(np.float64), faults, made.view(np.float64))
        with np.errstate(all="ignore"):
            mean = z @ np.full(k, 1 / k, dtype=np.complex128)
            faults = ~((np.abs(_length(z) ** 2 - 1) <= exact) & (np.abs(mean) <= EXACT))
            if not faults.any():
                return z, faults
            made = z - mean[:, None]
            size2 = _length(made) ** 2
            shift2 = size2 + k * np.abs(mean) ** 2
            made.view(np.float64)[:] *= (1 / np.sqrt(size2))[:, None]
        made[~faults] = z[~faults]
        return made, faults & ~((size2 > 1e-200) & (shift2 < 1e200) & (size2 > 1e-20 * shift2))

    def _look(self, z: Points) -> tuple[Points, dict[int, str]]:
        """Canonical shapes, and for each that is none the reason.  Each of its steps rounds a row in one way, whichever rows
        come along."""
        reasons, k = not_finite(z), self.landmarks
        xy = np.stack([z.real, z.imag], axis=1)
        xy = np.where(np.isfinite(xy), xy, 0.0)
        largest = np.abs(xy).max(axis=(1, 2), keepdims=True)
        xy /= np.where(largest < 1e-300, 1.0, largest)  # no overflow, no underflow
        xy -= np.add.reduce(xy, axis=2, keepdims=True) / k
        size = np.sqrt(np.add.reduce((xy * xy).reshape(len(xy), 2 * k), axis=1))
        for row in np.flatnonzero(size <= COINCIDENT):
            reasons.setdefault(int(row), f"has no shape: all its {k} landmarks coincide")
        xy[list(reasons)], size[list(reasons)] = self.present(self.origin()).T, 1.0
        return self._complex(np.swapaxes(xy / size[:, None, None], 1, 2)), reasons

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

    def log_map(self, base: Points, rows: Array | None = None) -> Callable[[Points], Array]:
        """One product of the records, turned to the base and stretched by θ/sin θ, with the basis: that is blind to the part of
        the logarithm along the base."""
        basis, x = np.ascontiguousarray(self.tangent_basis(base)).view(np.float64), np.ascontiguousarray(base)
        columns = (basis if rows is None else rows @ basis).T

        def of(points: Points) -> Array:
            if (kernels := self._kernels(points)) is not None:
                turned = np.empty((len(points), 2 * self.landmarks))
                kernels.shape_turned(points.view(np.float64), x.view(np.float64), angle_series(), NEAR, turned)
            else:
                turn, _, factor = _turns(points @ np.conj(x))
                turned = (points * (turn * factor)[:, None]).view(np.float64)
            return np.asarray(turned @ columns)

        return of

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
        """Σ φ₁ + (1 − φ₁)·nnᵀ − (φ₁ − φ₂)·jjᵀ, j = i·n: two Gram matrices of the aligned records as real vectors."""
        k, kernels, x = self.landmarks, self._kernels(points), np.ascontiguousarray(base)

        def of_run(part: slice) -> tuple[float, Array, Array]:
            z = points[part]
            # the weights as factors of the rows, so that a product of a matrix with itself takes half the time
            rows = np.empty((2, len(z), 2 * k))
            if kernels is not None:
                along = kernels.shape_rows(z.view(np.float64), x.view(np.float64), angle_series(), NEAR, *rows)
            else:
                along = _turned_rows(z, x, rows)
            return along, rows[0].T @ rows[0], rows[1].T @ rows[1]

        along, gram, turned = in_pairs(add_each, map(of_run, runs(len(points), 2 * k)))
        gram = gram - _quarter_turn(_quarter_turn(turned).T).T
        basis = np.ascontiguousarray(self.tangent_basis(base)).view(np.float64)
        return np.asarray(basis @ gram @ basis.T + along * np.eye(self.dim))

    def hessian_trace(self, base: Points, points: Points) -> Array:
        s = self.distance(base, points)
        return 1 + t_cot_t(2 * s) + (self.dim - 2) * t_cot_t(s)

    # -- rounding --------------------------------------------------------------------------------------------------

    def rounding_error(self, center: Points, reach: float) -> float:
        """As on the sphere, with inner products of 2k terms; turning a record to another adds 1/cos, which the sphere of
        curvature 4 covers."""
        return (32 + 8 * float(np.sqrt(2 * self.landmarks))) * 2.0**-53 * self.largest_term(reach)

    def largest_term(self, reach: float) -> float:
        return angle_condition(2 * reach)


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


def _turned_rows(z: Points, x: Points, rows: Array) -> float:
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
