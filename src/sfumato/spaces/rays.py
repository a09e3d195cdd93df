"""Unit vectors of C^m up to a factor of size one: the complex projective space CP^(m−1) with holomorphic curvature 4."""

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import MANY, Array, Points, add_each, as_numbers, compiled, in_pairs, loaded, runs
from ..numerics.curvature import NEAR, angle_condition, angle_over_sine, angle_series, t_cot_t
from .arcs import Rows
from .base import Moments


class Rays(Rows):
    """The geometry that planar shapes and open curves share.  Canonical points are complex vectors of norm one, and every
    method is blind to a rotation e^{iφ} of all numbers of a point.  What the numbers are, a subclass says."""

    centred: ClassVar[bool] = False  # whether the numbers of a point sum to zero
    turning: ClassVar[bool] = True

    def _unit(self, points: ArrayLike) -> Points:
        """Return canonical points, of complex vectors of any size too; real numbers are points as users write them."""
        array = np.asarray(points)
        if array.dtype.kind == "c":
            middle = np.add.reduce(array, axis=-1, keepdims=True) / array.shape[-1] if self.centred else 0.0
            return self._point(array - middle)
        return self.validate(array.reshape(-1, *array.shape[-2:])).reshape(*array.shape[:-2], -1)

    def _complex(self, points: ArrayLike, count: int) -> Points:
        """Return landmarks, (n, count, 2) or complex (n, count), as complex numbers."""
        array = as_numbers(points)
        flat = np.iscomplexobj(array)
        if array.shape[1:] != ((count,) if flat else (count, 2)):
            raise ValueError(f"{self}: points have shape {array.shape}, expected (n, {count}, 2)")
        if flat:
            return array.astype(np.complex128, copy=False)
        return np.ascontiguousarray(array, dtype=np.float64).view(np.complex128)[..., 0]

    def _canonical_unit(self, points: Points) -> Points:
        return points

    def align(self, base: Points, points: Points) -> Points:
        """Return preshapes turned so that ⟨base, y⟩ is real and not negative: the closest rotation."""
        x = self._unit(base)
        y = self._unit(self._facing(base, points))
        c = self._dot(x, y)
        size = np.abs(c)
        return np.asarray(y * np.where(size > 0, np.conj(c) / np.where(size > 0, size, 1.0), 1.0))

    def _aligned(self, base: Points, points: Points) -> Points:
        return self.align(base, points)

    def _cosine(self, products: Points) -> Array:
        return np.abs(products)

    def _turn(self, products: Points, factor: Array) -> Points:
        turn = np.conj(products)
        turn *= factor / np.maximum(np.abs(products), 1e-300)
        return turn

    def inner(self, base: Points, u: Points, v: Points) -> Array:
        return np.asarray(np.sum(np.conj(u) * v, axis=-1).real)

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        half = coordinates[..., : self.dim // 2] + 1j * coordinates[..., self.dim // 2 :]
        vectors = householder(self._mirror(base), _padded(half))
        return householder(_middle(self.point_shape[0]), _padded(vectors)) if self.centred else vectors

    def coordinates(self, base: Points, vectors: Points) -> Array:
        half = householder(self._mirror(base), self._inside(vectors))[..., 1:]
        return np.concatenate([half.real, half.imag], axis=-1)

    def log_map(self, base: Points, rows: Array | None = None) -> Callable[[Points], Array]:
        """Return the records turned to the base, stretched by θ/sin θ, and reflected twice, as the basis is made: all of it is
        blind to the part along the base.  Then one product with the rows, unless these are a multiple of one."""
        x = np.ascontiguousarray(base)
        scale = 1.0 if rows is None else float(rows[0, 0])
        product = None if rows is None or np.array_equal(rows, scale * np.eye(self.dim)) else rows.T
        frame = (*self._frame(base), scale if product is None else 1.0)

        def of(points: Points) -> Array:
            points = self._facing(base, points)
            if (kernels := self._kernels(points, "row_kernels")) is not None:
                made = np.empty((len(points), self.dim))
                kernels.shape_chart(points.view(np.float64), *frame, angle_series(), NEAR, made)
                return made if product is None else made @ product
            basis = np.ascontiguousarray(self.tangent_basis(base)).view(np.float64)
            columns = np.ascontiguousarray((basis if rows is None else rows @ basis).T)
            products = points @ np.conj(x)
            turn = self._turn(products, angle_over_sine(np.abs(products)))
            return np.asarray((points * turn[:, None]).view(np.float64) @ columns)

        return of

    def _frame(self, base: Points) -> tuple[Array, tuple[float, float]]:
        """Return the base and the two reflections m and m′ that make its basis, and 2⟨m′, m⟩; m is none where points are not
        centred."""
        mirror = self._mirror(base)
        middle = _middle(self.point_shape[0]) if self.centred else np.zeros_like(mirror)
        mirror = _padded(mirror) if self.centred else mirror
        cross = complex(2 * np.vdot(mirror, middle))
        return np.stack([base, middle, mirror]).view(np.float64), (cross.real, cross.imag)

    def _inside(self, vectors: Points) -> Points:
        """Return centred vectors without the number that a reflection makes zero; others as they are."""
        return householder(_middle(self.point_shape[0]), vectors)[..., 1:] if self.centred else vectors

    def _mirror(self, base: Points) -> Points:
        """Return the reflection that takes a point to a multiple of e₀ of size one."""
        mirror = np.array(self._inside(self._unit(base)))
        mirror[0] += mirror[0] / abs(mirror[0]) if mirror[0] != 0 else 1.0
        return self._point(mirror)

    def mean_log(self, bases: Points, points: Points, weights: Array | None = None) -> Points:
        if weights is not None or (kernels := self._kernels(points)) is None:
            return super().mean_log(bases, points, weights)
        x = np.ascontiguousarray(bases)
        sums = kernels.shape_logs(points.view(np.float64), x.view(np.float64), angle_series(), NEAR).view(np.complex128)
        return np.asarray((sums - self._dot(x, sums) * x) / len(points))

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """Return a point towards the full Procrustes mean, the leading eigenvector of Σ wᵢ zᵢzᵢ* (Kent 1994), by two steps of
        the power iteration; the solver takes over where they are not enough."""
        if weights is None:  # some records will do: the start is off by their spread over the root of their number
            points = points[:: max(1, len(points) // 64)]
        x = points[0 if weights is None else int(np.argmax(weights))]
        for _ in range(2):
            c = np.conj(points @ np.conj(x))
            x = self._point((c if weights is None else c * weights) @ points)
        return np.asarray(x)

    def moments(
        self, base: Points, points: Points, weights: Array | None = None, accuracy: float = 0.0, adaptive: bool = False
    ) -> Moments:
        return super().moments(base, self._facing(base, points), weights, accuracy, adaptive)

    def _compiled_moments(self, base: Points, points: Points, adaptive: bool) -> Moments | None:
        if (kernels := self._kernels(points, adaptive=adaptive)) is None:
            return None
        x = np.ascontiguousarray(base)
        toward, *sums = kernels.shape_moments(points.view(np.float64), x.view(np.float64), angle_series(), NEAR)
        return self._gathered(base, toward.view(np.complex128), float(len(points)), *sums)

    @staticmethod
    def _kernels(points: Points, name: str = "kernels", adaptive: bool = False) -> ModuleType | None:
        """Return the compiled loops of that file, for points that are many."""
        many = points.size >= MANY // 2 or (adaptive and loaded(name))
        return compiled(name) if many and points.flags.c_contiguous else None

    def hessian(self, base: Points, points: Points) -> Array | None:
        """Return Σ φ₁ + (1 − φ₁)·nnᵀ − (φ₁ − φ₂)·jjᵀ, j = i·n: two Gram matrices of the aligned records as real vectors."""
        k = self.point_shape[0]
        kernels = self._kernels(points)
        x = np.ascontiguousarray(base)

        def of_run(part: slice) -> tuple[float, Array]:
            z = points[part]
            # the weights as factors of the rows, so that a product of a matrix with itself takes half the time
            rows = np.empty((2, len(z), 2 * k))
            if kernels is not None:
                along = kernels.shape_rows(z.view(np.float64), x.view(np.float64), angle_series(), NEAR, *rows)
            else:
                along = self._turned_rows(z, x, rows)
            return along, rows[0].T @ rows[0] - rows[1].T @ rows[1]

        along, gram = in_pairs(add_each, map(of_run, runs(len(points), 2 * k)))
        basis = np.ascontiguousarray(self.tangent_basis(base)).view(np.float64)
        return np.asarray(basis @ gram @ basis.T + along * np.eye(self.dim))

    def _turned_rows(self, z: Points, x: Points, rows: Array) -> float:
        """Do as shape_rows of the compiled kernels."""
        products = z @ np.conj(x)
        size = np.abs(products)
        factor = angle_over_sine(size)
        phi = factor * size
        across = z * self._turn(products, np.ones(len(z)))[:, None] - size[:, None] * x
        one = np.sqrt(np.maximum(1 - phi, 0.0) / np.maximum((1 - size) * (1 + size), 1e-12))
        rows[0] = (across * one[:, None]).view(np.float64)
        rows[1] = (1j * across * (factor / np.sqrt(phi))[:, None]).view(np.float64)  # θ·tan θ/sin²θ
        return float(phi.sum())

    def hessian_trace(self, base: Points, points: Points) -> Array:
        s = self.distance(base, points)
        return 1 + t_cot_t(2 * s) + (self.dim - 2) * t_cot_t(s)

    def largest_term(self, reach: float) -> float:
        """Return that of the sphere of curvature 4: turning a record to another adds 1/cos to the condition."""
        return angle_condition(2 * reach)


def _padded(z: Points) -> Points:
    return np.concatenate([np.zeros((*z.shape[:-1], 1)), z], axis=-1)


@lru_cache(maxsize=8)
def _middle(k: int) -> Points:
    """Return the reflection that takes (1,…,1)/√k to −e₀, and so centred vectors to those without a first number."""
    middle = np.full(k, 1 / np.sqrt(k), dtype=np.complex128)
    middle[0] += 1.0
    return np.asarray(middle / np.linalg.norm(middle))


def householder(mirror: Points, vectors: Points) -> Points:
    return np.asarray(vectors - 2 * (vectors @ np.conj(mirror))[..., None] * mirror)
