"""Axes: directions without a sense, the sphere with opposite points taken for one (real projective space)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points
from .arcs import Rows
from .base import Moments
from .exact import Exact, by_arcs
from .sphere import Sphere, degrees_of

EITHER = Exact(partial(by_arcs, either=True))


class UpToSign(Rows):
    """Unit vectors of R^(d+1) up to their sign, with a distance that is the angle between two lines over ``q``: the sphere of
    curvature q², divided by ±1.

    Formulas are the sphere's, for the one of ±y that is nearer to the base; where both are equally far, the one that is stored.
    A tangent vector at x is orthogonal to x and has its Riemannian length.
    """

    by_name: ClassVar[bool] = True

    @cached_property
    def cover(self) -> Sphere:
        """The unit sphere, two points of which are one point here."""
        return Sphere(self.dim)

    def canonical_sign(self, units: Array) -> Array:
        """Return the one of ±x whose first number that is not zero is positive."""
        first = np.take_along_axis(units, np.argmax(units != 0, axis=-1)[..., None], axis=-1)
        return np.asarray(np.where(first < 0, -units, units))

    def align(self, base: Points, points: Points) -> Points:
        """Return the one of ±y that is nearer to the base."""
        cosine = np.sum(np.asarray(base) * points, axis=-1, keepdims=True)
        return np.asarray(np.where(cosine < 0, -points, points))

    def _cosine(self, products: Points) -> Array:
        return np.abs(products)

    def _turn(self, products: Points, factor: Array) -> Points:
        return np.where(products < 0, -factor, factor)

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        return self.cover.from_coordinates(base, coordinates)

    def coordinates(self, base: Points, vectors: Points) -> Array:
        return self.cover.coordinates(base, vectors)

    def log_map(self, base: Points, rows: Array | None = None) -> Callable[[Points], Array]:
        lifted = self.cover.log_map(base, rows)
        return lambda points: np.asarray(lifted(self.align(base, points)) / self.q)

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """Return the axis along which the records spread most: the first eigenvector of Σ yyᵀ."""
        scatter = points.T @ points if weights is None else (points.T * weights) @ points
        return np.asarray(np.linalg.eigh(scatter)[1][:, -1])

    def moments(
        self, base: Points, points: Points, weights: Array | None = None, accuracy: float = 0.0, adaptive: bool = False
    ) -> Moments:
        found = self.cover.moments(base, self.align(base, points), weights, accuracy, adaptive)
        return Moments(found.weight, found.logs / self.q, found.hessian, found.square / self.q**2, found.error)

    def descend(self, base: Points, points: Points, tolerance: float, most: int) -> tuple[Points, int, Moments | None]:
        x, taken, sums = self.cover.descend(base, self.align(base, points), tolerance, most)
        return x, taken, None if sums is None else self.moments(x, points, None, 0.0, adaptive=True)

    def hessian(self, base: Points, points: Points) -> Array | None:
        return self.cover.hessian(base, self.align(base, points))


@dataclass(frozen=True)
class Axes(UpToSign):
    """Undirected directions in R^(d+1), such as bedding poles, fibres, or axes of symmetry: v and −v are the same axis.

    The distance of two axes is the angle between them, at most π/2 (real projective space RP^d of curvature 1).

    >>> space = Axes(dim=2)
    >>> up, tilted = space.validate([[0.0, 0.0, 1.0], [0.6, 0.0, -0.8]])
    >>> round(float(space.distance(up, tilted)), 6), space.log(up, tilted).round(6).tolist()
    (0.643501, [-0.643501, 0.0, 0.0])
    """

    dim: int
    name: ClassVar[str] = "axes"
    metric: ClassVar[str] = "angle between axes"
    size_option: ClassVar[str | None] = "dim"
    usual_size: ClassVar[int | None] = 2
    exact_map: ClassVar[Exact | None] = EITHER

    def origin(self) -> Points:
        return np.append(np.zeros(self.dim), 1.0)

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        fix = "if it is an axis, divide it by its length"
        units, reasons = self.cover.normalised(self._real_batch(points), fix)
        return self.canonical_sign(units), reasons

    def corrections(self, points: Array) -> list[str]:
        return self.cover.corrections(points)

    def canonical_sign(self, units: Array) -> Array:
        """Return the one of ±x whose largest number is positive."""
        largest = np.take_along_axis(units, np.argmax(np.abs(units), axis=-1)[..., None], axis=-1)
        return np.asarray(np.where(largest < 0, -units, units))

    def present(self, points: Points) -> Array:
        return self.canonical_sign(np.asarray(points, dtype=np.float64))

    @property
    def from_degrees(self) -> Callable[[Array, Array], Array] | None:
        return self.cover.from_degrees

    def to_degrees(self, points: Array) -> Array | None:
        """Return those of the end that points up, or lies level."""
        up = np.where(np.asarray(points)[..., -1:] < 0, -np.asarray(points), points)
        return degrees_of(up) if self.dim == 2 else None
