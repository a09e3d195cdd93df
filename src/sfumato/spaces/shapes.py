"""Kendall's planar shape space: k labelled landmarks up to translation, scale and rotation, the complex projective
space CP^(k−2) with holomorphic curvature 4 (Kendall 1984; Dryden and Mardia 2016)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import Array, Points
from ..numerics.curvature import NEAR, angle_series
from .base import Kind, blame, not_finite
from .exact import Exact, rays
from .rays import Rays
from .sphere import EXACT, norm_error

COINCIDENT = 1e-12  # size over distance from the origin below which all landmarks are one point


@dataclass(frozen=True)
class PlanarShapes(Rays):
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
    name: ClassVar[str] = "shapes"
    metric: ClassVar[str] = "Riemannian shape distance (Kendall)"
    usual_radius: ClassVar[str] = "; 0.1 to 0.2 is usual for shapes"
    kind: ClassVar[Kind] = "landmarks"
    size_option: ClassVar[str | None] = "landmarks"
    least_size: ClassVar[int] = 3
    small: ClassVar[dict[str, Any]] = {"landmarks": 4}
    landmark_dim: ClassVar[int | None] = 2
    centred: ClassVar[bool] = True
    exact_map: ClassVar[Exact | None] = Exact(rays)

    def _dimension(self) -> int:
        return 2 * self.landmarks - 4

    def origin(self) -> Points:
        return np.asarray(np.exp(2j * np.pi * np.arange(self.landmarks) / self.landmarks) / np.sqrt(self.landmarks))

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        z = np.ascontiguousarray(self._complex(points, self.landmarks))
        made, odd = self._canonical(z)
        if not (rows := np.flatnonzero(odd)).size:
            return made, {}
        made[rows], found = self._look(z[rows])
        return made, {int(rows[row]): reason for row, reason in found.items()}

    def _canonical(self, z: Points) -> tuple[Points, NDArray[np.bool_]]:
        """Return canonical shapes, z itself if all are, else a copy; and which of them need a closer look, as their numbers are
        very large or small, or they have no shape."""
        exact = norm_error(2 * self.landmarks)
        k = self.landmarks
        if (kernels := self._kernels(z)) is not None:
            faults = kernels.shape_faults(z.view(np.float64), exact, (k * EXACT) ** 2)
            if not faults.any():
                return z, faults
            made = np.empty_like(z)
            return made, kernels.shape_canonical(z.view(np.float64), faults, made.view(np.float64))
        with np.errstate(all="ignore"):
            mean = z @ np.full(k, 1 / k, dtype=np.complex128)
            faults = ~((np.abs(self.norm(z, z) ** 2 - 1) <= exact) & (np.abs(mean) <= EXACT))
            if not faults.any():
                return z, faults
            made = z - mean[:, None]
            size2 = self.norm(made, made) ** 2
            shift2 = size2 + k * np.abs(mean) ** 2
            made.view(np.float64)[:] *= (1 / np.sqrt(size2))[:, None]
        made[~faults] = z[~faults]
        return made, faults & ~((size2 > 1e-200) & (shift2 < 1e200) & (size2 > 1e-20 * shift2))

    def square_sums(self, bases: Points, points: Points) -> Array:
        if (kernels := self._kernels(points, "row_kernels")) is None:
            return super().square_sums(bases, points)
        turns = (np.ascontiguousarray(z).view(np.float64) for z in (bases, 1j * bases))
        return np.asarray(kernels.square_sums(points.view(np.float64), *turns, angle_series(), NEAR))

    def drawn_in(self, base: Points, points: Points, radius: float) -> Points | None:
        if radius >= 1.5 or (kernels := self._kernels(points, "row_kernels")) is None:
            return super().drawn_in(base, points, radius)
        made = np.empty_like(points)
        x = np.ascontiguousarray(base).view(np.float64)
        kernels.draw_shapes_in(points.view(np.float64), x, math.cos(radius), math.sin(radius), made.view(np.float64))
        return made

    def _look(self, z: Points) -> tuple[Points, dict[int, str]]:
        """Return canonical shapes, and for each row that has none the reason; each row is rounded as if it were alone."""
        reasons = not_finite(z)
        made, _, size = centred(np.stack([z.real, z.imag], axis=-1))
        blame(reasons, size <= COINCIDENT, lambda _: f"has no shape: all its {self.landmarks} landmarks coincide")
        made[list(reasons)] = self.present(self.origin())
        size[list(reasons)] = 1.0
        return self._complex(made / size[:, None, None], self.landmarks), reasons

    def present(self, points: Points) -> Array:
        return np.stack([points.real, points.imag], axis=-1)


def centred(array: Array) -> tuple[Array, Array, Array]:
    """Return landmarks, (n, k, m), over their largest coordinate and about their mean, without overflow or underflow; that
    coordinate; and the size that is left.  What is not finite counts as 0."""
    array = np.where(np.isfinite(array), array, 0.0)
    largest = np.abs(array).max(axis=(1, 2), initial=0.0)
    made = about_mean(array / np.where(largest < 1e-300, 1.0, largest)[:, None, None])
    return made, largest, np.sqrt(np.add.reduce((made * made).reshape(len(made), made[0:1].size), axis=1))


def about_mean(array: Array) -> Array:
    return np.asarray(array - middle(array)[:, None])


def middle(array: Array) -> Array:
    """Return means of landmarks, added one after the other."""
    return np.asarray(np.einsum("nkm->nm", array) / array.shape[1])
