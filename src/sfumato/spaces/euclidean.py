"""R^d, where every bound is exact and the KNG is Awan and others' (2019), and spaces that one map lays out flat."""

import operator
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points, in_pairs, runs, uniform_weights
from .base import Space, not_finite
from .embedding import Embedding
from .exact import Exact, flat


@dataclass(frozen=True)
class Euclidean(Space):
    """Vectors of length ``dim``.

    >>> Euclidean(dim=2).distance(np.array([0.0, 0.0]), np.array([3.0, 4.0])).item()
    5.0
    """

    dim: int
    name: ClassVar[str] = "euclidean"
    metric: ClassVar[str] = "Euclidean"
    size_option: ClassVar[str | None] = "dim"
    exact_map: ClassVar[Exact | None] = Exact(flat)

    def origin(self) -> Points:
        return np.zeros(self.dim)

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        array = self._real_batch(points)
        return array, not_finite(array)

    def exp(self, base: Points, vectors: Points) -> Points:
        return base + vectors

    def log(self, base: Points, points: Points) -> Points:
        return points - base

    def distance(self, a: Points, b: Points) -> Array:
        return np.asarray(np.linalg.norm(np.asarray(b) - np.asarray(a), axis=-1))

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        return coordinates

    def coordinates(self, base: Points, vectors: Points) -> Array:
        return vectors

    def widest(self, low: float | None = None, high: float | None = None) -> tuple[Points, float]:
        """Return the ball about the cube of all vectors whose coordinates lie between two numbers."""
        if low is None or high is None:
            raise ValueError(f"{self}: give two numbers between which all coordinates surely lie")
        return np.full(self.dim, low / 2 + high / 2), float(np.sqrt(self.dim) * (high / 2 - low / 2))

    def embedding(self) -> Embedding | None:
        return Embedding(self.dim)

    def mean_log(self, bases: Points, points: Points, weights: Array | None = None) -> Points:
        # the mean of differences, not the difference of means: it keeps small spreads far from the origin
        origin = points[0]
        return np.asarray(self._mean_difference(points, origin, weights) + (origin - bases))

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        return np.asarray(points[0] + self._mean_difference(points, points[0], weights))

    @staticmethod
    def _mean_difference(points: Points, origin: Points, weights: Array | None) -> Points:
        w = uniform_weights(len(points), weights)
        parts = runs(len(points), points.shape[1])
        return np.asarray(in_pairs(operator.add, (w[part] @ (points[part] - origin) for part in parts)))

    def hessian(self, base: Points, points: Points) -> Array | None:
        return len(points) * np.eye(self.dim)

    def rounding_error(self, center: Points, reach: float) -> float:
        return 4 * 2.0**-53 * (float(np.linalg.norm(center)) + reach)


@dataclass(frozen=True)
class Flat(Euclidean):
    """A space with a one-to-one map φ to R^dim and the metric that it brings back from there: ρ(a, b) = ‖φ(a) − φ(b)‖.

    Canonical points are the images φ(y).  Distance, logarithm, exponential and mean are then those of R^d, with all its bounds,
    so every mechanism is proven.  A subclass is a frozen dataclass that gives :meth:`_dimension`, :attr:`layouts`,
    :meth:`look`, :meth:`to_flat` and :meth:`from_flat`; it changes nothing of the geometry.
    """

    dim: int = field(init=False, repr=False, compare=False)
    size_option: ClassVar[str | None] = None
    by_name: ClassVar[bool] = True

    @abstractmethod
    def look(self, points: Array) -> tuple[Points, dict[int, str]]:
        """Return points for rows in one of the :attr:`layouts`, and why some rows are none; any point stands in their place."""

    @abstractmethod
    def to_flat(self, points: Points) -> Array:
        """Return φ of points, (n, dim); each row from its own record alone."""

    @abstractmethod
    def from_flat(self, vectors: Array) -> Points:
        """Return the points that have these images, (n, dim): a point for any of them, as noise can lead anywhere."""

    embedding = Space.embedding  # which knows of none

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        found, reasons = self.look(self._real_batch(points))
        return self.to_flat(found), reasons

    def present(self, points: Points) -> Array:
        """Return the points whose images these are, (…, dim)."""
        rows = np.array(points, dtype=np.float64)
        found = self.from_flat(rows.reshape(-1, self.dim))
        return found.reshape(rows.shape[:-1] + found.shape[1:])

    @property
    def exact(self) -> Exact | None:
        """That of Euclidean space, for subclasses too: none of them changes the geometry."""
        return Euclidean.exact_map
