"""Great circles: the geometry that spheres share with what is made of them by taking several points for one."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import CACHE, MANY, RUN, Array, Points, compiled, in_runs, loaded, uniform_weights
from ..numerics.curvature import NEAR, angle_condition, angle_over_sine, angle_series, t_cot_t
from .base import Moments, Space


class Arcs(Space):
    """Vectors or matrices of one length, real or complex, those that :meth:`align` lays onto each other being one point; the
    distance of two is the angle between them over ``q``, the root of the sphere's curvature."""

    q: float = 1.0
    shrunk: float = 1.0  # one over the length of canonical vectors

    def _unit(self, points: ArrayLike) -> Points:
        """Return points as vectors of length one."""
        return np.asarray(points) if self.shrunk == 1 else np.asarray(points) * self.shrunk

    def _canonical_unit(self, points: Points) -> Points:
        """Return canonical points as vectors of length one."""
        return self._unit(points)

    def _point(self, vectors: Points) -> Points:
        """Return the points in the directions of vectors."""
        length = self._length(vectors)
        return np.asarray(vectors / (length if self.shrunk == 1 else length * self.shrunk))

    def align(self, base: Points, points: Points) -> Points:
        return points

    def _aligned(self, base: Points, points: Points) -> Points:
        return self._unit(self.align(base, points))

    def _dot(self, x: Points, y: Points) -> Points:
        """Return ⟨x, y⟩, to be multiplied with points."""
        if len(self.point_shape) == 1:
            return np.asarray(np.vecdot(x, y))[..., None]
        return np.asarray(np.sum(x * y, axis=(-2, -1), keepdims=True))

    def _length(self, vectors: Points) -> Array:
        lengths = self.norm(vectors, vectors)[..., None]
        return lengths if len(self.point_shape) == 1 else lengths[..., None]

    def exp(self, base: Points, vectors: Points) -> Points:
        """Return cos(t)·x + sin(t)·v/t at unit curvature, t = ‖v‖ (do Carmo 1992)."""
        v = self.q * np.asarray(vectors)
        t = self._length(v)
        return self._point(np.cos(t) * self._unit(base) + np.sinc(t / np.pi) * v)

    def retract(self, base: Points, vectors: Points) -> Points:
        return self._point(self._canonical_unit(base) + self.q * vectors)

    def log(self, base: Points, points: Points) -> Points:
        """Return θ·u/‖u‖ with u = y − ⟨x,y⟩x and θ = atan2(‖u‖, ⟨x,y⟩) for the aligned y; u is from y ∓ x, exact near ±x."""
        x = self._unit(base)
        y = self._aligned(base, points)
        cosine = self._dot(x, y).real
        near = y - np.where(cosine >= 0, 1.0, -1.0) * x
        u = near - self._dot(x, near) * x
        sine = self._length(u)
        opposite = (sine == 0) & (cosine < 0)
        if np.any(opposite):  # every direction is shortest: take a fixed one
            u = np.where(opposite, _some_tangent(x), u)
        return np.asarray(np.arctan2(sine, cosine) * u / (np.where(sine > 0, sine, 1.0) * self.q))

    def distance(self, a: Points, b: Points) -> Array:
        """Return 2·atan2(‖x − y‖, ‖x + y‖) for the aligned y, accurate at both ends (Kahan)."""
        x = self._unit(a)
        y = self._aligned(a, b)
        return np.asarray(2 * np.arctan2(self.norm(x, x - y), self.norm(x, x + y)) / self.q)

    def norm(self, base: Points, vectors: Points) -> Array:
        real = np.asarray(vectors)
        if real.dtype.kind == "c":
            real = np.ascontiguousarray(real).view(np.float64)
        if len(self.point_shape) > 1:
            real = real.reshape(*real.shape[:-2], math.prod(real.shape[-2:]))
        return np.asarray(np.sqrt(np.vecdot(real, real)))


class Rows(Arcs):
    """The same where points are vectors: sums over many of them by products of matrices."""

    turning: ClassVar[bool] = False  # whether they are complex, and a rotation of all numbers leads to the same point

    def _cosine(self, products: Points) -> Array:
        """Return cos θ of the aligned points from products ⟨x, y⟩."""
        return products.real

    def _facing(self, base: Points, points: Points) -> Points:
        """Return points as they are compared with ``base``, up to what :meth:`align` finds in closed form."""
        return points

    def _turn(self, products: Points, factor: Array) -> Points:
        """Return what aligns points to x, times a factor."""
        return factor

    def mean_log(self, bases: Points, points: Points, weights: Array | None = None) -> Points:
        x = self._canonical_unit(bases)
        w = uniform_weights(len(points), weights)

        def of_run(part: slice) -> tuple[Points, Array]:
            y = self._canonical_unit(points[part])
            products = np.conj(x) @ y.T
            cosine = self._cosine(products)
            factor = angle_over_sine(cosine) * w[part]
            return self._turn(products, factor) @ y, np.sum(factor * cosine, axis=1)

        toward, along = in_runs(of_run, len(points), max(len(x), self.point_shape[0]), CACHE)
        mean = toward - along[:, None] * x
        return np.asarray((mean - self._dot(x, mean) * x) / self.q)

    def _compiled_moments(self, base: Points, points: Points, adaptive: bool) -> Moments | None:
        """Return moments by compiled loops, of points that are many; None where there are none."""
        return None

    def moments(
        self, base: Points, points: Points, weights: Array | None = None, accuracy: float = 0.0, adaptive: bool = False
    ) -> Moments:
        compiles = weights is None and (adaptive or points.size >= MANY // 2)
        if compiles and (moments := self._compiled_moments(base, points, adaptive)) is not None:
            return moments
        x = self._canonical_unit(base)

        def of_run(part: slice) -> tuple[Points, float, float, float, float]:
            y = self._canonical_unit(points[part])
            w = np.ones(len(y)) if weights is None else weights[part]
            products = y @ np.conj(x)
            cosine = self._cosine(products)
            factor = angle_over_sine(cosine)
            phi = factor * cosine
            theta2 = factor * factor * ((1 - cosine) * (1 + cosine))
            turning = float(w @ (theta2 / np.maximum(phi, 1e-3))) if self.turning else 0.0  # θ·tan θ = φ₁ − φ₂
            toward = self._turn(products, factor * w) @ y
            return toward, float(w.sum()), float(w @ phi), float(w @ theta2), turning

        small = len(points) <= RUN and points.size <= CACHE
        sums = of_run(slice(None)) if small else in_runs(of_run, len(points), points.shape[1], CACHE)
        return self._gathered(x, *sums)

    def descend(self, base: Points, points: Points, tolerance: float, most: int) -> tuple[Points, int, Moments | None]:
        kernels = compiled() if loaded() and points.size <= CACHE and points.flags.c_contiguous else None
        if self.q != 1 or type(self)._facing is not Rows._facing or kernels is None:
            return base, 0, None
        rows, x = (np.ascontiguousarray(each).view(np.float64) for each in (points, base))
        angles = (angle_series(), NEAR)
        end = (tolerance, most)
        x, taken, (toward, *sums) = kernels.descend(rows, x, np.ones(x.size), self.turning, self.dim, angles, end)
        x = x.view(base.dtype)
        return x, taken, self._gathered(x, toward.view(base.dtype), *sums)

    def _gathered(
        self, x: Points, toward: Points, weight: float, along: float, square: float, turning: float = 0.0
    ) -> Moments:
        """Return moments from sums of f·y, f = θ/sin θ, of f·cos θ, of θ², and of θ·tan θ where rotations are left out."""
        logs = toward - along * x
        trace = np.asarray(weight + (self.dim - 1) * along - turning)
        return Moments(weight, (logs - self._dot(x, logs) * x) / self.q, trace, max(0.0, square) / self.q**2)

    def outside(self, base: Points, points: Points, radius: float) -> NDArray[np.bool_]:
        """Return which points are outside, by cosines first; the distance decides for those that may be outside."""
        if self.q * radius >= 3.0:
            return super().outside(base, points, radius)
        products = self._canonical_unit(self._facing(base, points)) @ np.conj(self._canonical_unit(base))
        found = np.asarray(self._cosine(products) < np.cos(self.q * radius) + 1e-12)
        found[found] = ~(self.distance(base, points[found]) <= radius)
        return found

    def hessian_trace(self, base: Points, points: Points) -> Array:
        return 1 + (self.dim - 1) * t_cot_t(self.q * self.distance(base, points))

    def rounding_error(self, center: Points, reach: float) -> float:
        """Return some two dozen roundings of numbers of at most 1, inner products of as many terms as a point has real numbers,
        norms as far off as :func:`~sfumato.spaces.sphere.norm_error`; times what a logarithm makes of an error in a cosine."""
        terms = center.view(np.float64).size
        return (32 + 8 * math.sqrt(terms)) * 2.0**-53 * self.largest_term(reach)

    def largest_term(self, reach: float) -> float:
        return angle_condition(self.q * reach) / self.q  # at least f·‖y‖, f = θ/sin θ


def _some_tangent(x: Points) -> Points:
    """Return a vector orthogonal to each unit vector x, the same one every time, of length one."""
    axis = np.eye(x.shape[-1])[np.argmin(np.abs(x), axis=-1)]
    tangent = axis - np.sum(axis * x, axis=-1, keepdims=True) * x
    return np.asarray(tangent / np.linalg.norm(tangent, axis=-1, keepdims=True))
