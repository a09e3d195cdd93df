"""Spaces that one map, known to everybody, lays out flat: Euclidean space in disguise."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points
from .euclidean import Euclidean
from .exact import Exact


@dataclass(frozen=True)
class Flat(Euclidean):
    """A space with a one-to-one map φ to R^dim and the metric that it brings back from there: ρ(a, b) = ‖φ(a) − φ(b)‖.

    Canonical points are the images φ(y).  Distance, logarithm, exponential and mean are then those of R^d, with all its bounds,
    so every mechanism is proven.  A subclass is a frozen dataclass that sets ``dim`` in ``__post_init__`` and gives
    :attr:`layouts`, :meth:`look`, :meth:`to_flat` and :meth:`from_flat`; it changes nothing of the geometry.
    """

    dim: int = field(init=False, repr=False, compare=False)
    size_option: ClassVar[str | None] = None
    by_name: ClassVar[bool] = True

    @abstractmethod
    def look(self, points: Array) -> tuple[Points, dict[int, str]]:
        """Return points, for rows in one of the :attr:`layouts`, and for each row that is not a point the reason; in its place
        stands any point."""

    @abstractmethod
    def to_flat(self, points: Points) -> Array:
        """Return φ of points, (n, dim); each row from its own record alone."""

    @abstractmethod
    def from_flat(self, vectors: Array) -> Points:
        """Return the points that have these images, (n, dim): a point for any of them, as noise can lead anywhere."""

    def embedding(self) -> None:
        return None

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        found, reasons = self.look(self._real_batch(points))
        return self.to_flat(found), reasons

    def present(self, points: Points) -> Array:
        """Return the points whose images these are, (…, dim)."""
        rows = np.array(points, dtype=np.float64)
        found = self.from_flat(rows.reshape(-1, self.dim))
        return found.reshape(rows.shape[:-1] + found.shape[1:])

    def _takes(self, shape: tuple[int, ...]) -> bool:
        return shape in self.layouts.values()

    @property
    def exact(self) -> Exact | None:
        """That of Euclidean space, for subclasses too: none of them changes the geometry."""
        return Euclidean.exact_map
