"""Angles: the circle, and the flat torus of several of them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points
from .base import Space, not_finite

TURN = 2 * np.pi


@dataclass(frozen=True)
class Torus(Space):
    """``dim`` angles in radians, each taken modulo 2π: distance² = Σδⱼ², δⱼ in [−π, π] the j-th difference.

    Dihedral angles of proteins, phases, times of the day or of the year.  An angle may be written with any number of whole
    turns; a release has angles in [−π, π).  The torus is flat, so that a chart shows a ball of radius below π/2 as it is, and
    the chart's mean is the Fréchet mean.

    >>> space = Torus(dim=2)
    >>> a, b = space.validate([[3.1, 0.0], [-3.1, 6.5]])
    >>> space.log(a, b).round(6).tolist()
    [0.083185, 0.216815]
    """

    dim: int
    name: ClassVar[str] = "torus"
    metric: ClassVar[str] = "root of the sum of squared differences of angles"
    size_option: ClassVar[str | None] = "dim"
    by_name: ClassVar[bool] = True

    @property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        return {"angles": (1,), "angle": ()} if self.dim == 1 else {"angles": (self.dim,)}

    def origin(self) -> Points:
        return np.zeros(self.dim)

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        given = self._real_batch(points)
        array = given.reshape(len(given), self.dim).copy()
        reasons = not_finite(array)
        array[list(reasons)] = 0.0
        return wrapped(array), reasons

    def corrections(self, points: Array) -> list[str]:
        beyond = int(np.sum(np.any(np.abs(points.reshape(len(points), -1)) > TURN, axis=1)))
        if not beyond:
            return []
        words = "records have angles of more than a turn, 2π = 6.283; whole turns are left out"
        degrees = "; if these are degrees, multiply them by π/180 first" if 2 * beyond > len(points) else ""
        return [f"{beyond} of {len(points)} {words}{degrees}"]

    def exp(self, base: Points, vectors: Points) -> Points:
        return wrapped(np.asarray(base + vectors))

    def log(self, base: Points, points: Points) -> Points:
        """Return differences by the shorter way; opposite angles, where both are as short, by the one to −π."""
        return wrapped(np.asarray(points) - np.asarray(base))

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        return coordinates

    def coordinates(self, base: Points, vectors: Points) -> Array:
        return vectors

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """Return the directions of the mean vectors."""
        w = np.ones(len(points)) if weights is None else weights
        return wrapped(np.arctan2(w @ np.sin(points), w @ np.cos(points)))


def Circle() -> Torus:
    """Return the circle: one angle in radians.

    >>> Circle(), float(Circle().distance(np.array([0.1]), np.array([6.2]))) < 0.2
    (Torus(dim=1), True)
    """
    return Torus(dim=1)


def wrapped(angles: Array) -> Array:
    """Return the same angles in [−π, π); one that is there already is not touched.

    >>> wrapped(np.array([0.1, np.pi, -4.0, 1e250])).round(6).tolist()[:3]
    [0.1, -3.141593, 2.283185]
    """
    turned = np.remainder(angles + np.pi, TURN) - np.pi
    found = np.where((angles >= -np.pi) & (angles < np.pi), angles, turned)
    return np.asarray(np.where(found >= np.pi, -np.pi, found))
