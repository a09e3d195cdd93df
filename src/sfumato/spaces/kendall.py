"""Landmarks in space up to rotations: Kendall's shapes, which have no size, and sizes-and-shapes, which keep it (Kendall 1984;
Le 1991; Dryden and Mardia 2016, chapters 3 to 5).

A canonical point is a (k, m) array, centred, and of norm one where it has no size.  At such an X a vector V is horizontal if
it is centred, XᵀV is symmetric (it does not turn X), and ⟨X, V⟩ = 0 where there is no size.  Y is turned to X by Y·R with
R = V·D·Uᵀ from XᵀY = U·S·Vᵀ and D = diag(1, …, 1, ±1) such that det R = 1 (Kabsch 1976; Umeyama 1991).  It is the only nearest
way to lay Y if σ_{m−1} ± σ_m > 0; otherwise it is one of several, the same at all times for the same record.
"""

import math
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import Array, Points
from ..numerics.curvature import angle_over_sine
from .arcs import Arcs
from .base import Kind, Space, blame, not_finite, whole_number
from .shapes import COINCIDENT, PlanarShapes, about_mean, centred, middle
from .sphere import EXACT, norm_error

THIN = 1e-6  # least width of a centre across its longest axis, of its size: else it hardly says how to turn a record
TIE = 1e-6  # entries of a normal vector that differ by less, of the largest, may be equal but for rounding
CLEAR = 0.02  # least product of sums of two singular values, from which on a rotation is found without them
NEWTON = 12  # steps, of which half are enough
SMALLEST = 1e-100  # sizes whose squares are still numbers
LARGEST = 1e100


class Landmarks(Space):
    """Landmarks in the plane or in space, centred and up to rotation, with or without their size."""

    landmarks: int
    reflections: bool
    unit: ClassVar[bool]  # whether points have size one
    kind: ClassVar[Kind] = "landmarks"
    size_option: ClassVar[str | None] = "landmarks"

    def _make(self, landmarks: int, dim: int, reflections: bool) -> None:
        """Set the fields for k landmarks in R^m: of dimension m(k − 1), less m(m − 1)/2 for rotations, less one for size."""
        name = type(self).__name__
        m = whole_number(name, "dim", dim, 2)
        if m > 3:
            raise ValueError(f"{name}: dim is 2 or 3, the number of coordinates of a landmark, not {m}")
        k = whole_number(name, "landmarks", landmarks, m + 1)
        if not isinstance(reflections, bool):
            raise ValueError(f"{name}: reflections must be True or False, not {reflections!r}")
        size = m * (k - 1) - m * (m - 1) // 2 - self.unit
        vars(self).update(landmarks=k, landmark_dim=m, reflections=reflections, dim=size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and other.parameters() == self.parameters()

    def __hash__(self) -> int:
        return hash(repr(self))

    def origin(self) -> Points:
        """Return landmarks along the rim of a saddle; in the plane, a regular polygon; of size one."""
        turn = 2 * np.pi * np.arange(self.landmarks) / self.landmarks
        along = np.stack([np.cos(turn), np.sin(turn), np.cos(2 * turn)][: self.landmark_dim], axis=1)
        return np.asarray(along / np.linalg.norm(along))

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        array = self._real_batch(points)
        if self.unit and self._canonical(array, np.abs(array).max(axis=(1, 2), initial=0.0)).all():
            return array, {}
        reasons = not_finite(array, landmarks=True)
        made, largest, size = centred(array)
        what = "shape" if self.unit else "size"
        blame(reasons, size <= COINCIDENT, lambda _: f"has no {what}: all its {self.landmarks} landmarks coincide")
        if self.unit:
            made = about_mean(made / np.where(size > 0, size, 1.0)[:, None, None])  # again: it may have been far from 0
            made /= np.where(size > 0, np.linalg.norm(made, axis=(-2, -1)), 1.0)[:, None, None]
        else:
            far = ~((largest < LARGEST) & (np.minimum(largest, LARGEST) * size > SMALLEST))
            words = f"only sizes between {SMALLEST:g} and {LARGEST:g} can be computed with; measure in another unit"
            blame(reasons, far, lambda row: f"has coordinates of {largest[row]:.3g}: {words}")
            made = about_mean(made) * np.where(largest < 1e-300, 1.0, largest)[:, None, None]
        made = np.where(self._canonical(array, largest)[:, None, None], array, made)
        made[list(reasons)] = self.origin()
        return made, reasons

    def _canonical(self, array: Array, largest: Array) -> NDArray[np.bool_]:
        """Return which points are canonical, but for rounding: they stay as they are."""
        with np.errstate(over="ignore", invalid="ignore"):
            known = np.asarray(np.abs(middle(array)).max(axis=1) <= EXACT * largest)
            if self.unit:
                off = np.abs(np.linalg.norm(array, axis=(-2, -1)) ** 2 - 1)
                known &= off <= norm_error(self.landmarks * array.shape[2])
        return known

    def align(self, base: Points, points: Points) -> Points:
        """Return points turned (where reflections are allowed, turned over too) to lie closest to ``base``."""
        u, _, vt = np.linalg.svd(base.mT @ points)
        if not self.reflections:
            u[..., -1] *= np.sign(np.linalg.det(u @ vt))[..., None]
        return np.asarray(points @ (u @ vt).mT)

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        w, t, kept = self._mirrors(base)
        flat = np.zeros((*coordinates.shape[:-1], len(w)))
        flat[..., kept] = coordinates
        flat -= flat @ w @ t.T @ w.T
        return flat.reshape(*coordinates.shape[:-1], *self.point_shape)

    def coordinates(self, base: Points, vectors: Points) -> Array:
        w, t, kept = self._mirrors(base)
        flat = vectors.reshape(*vectors.shape[:-2], -1)
        return np.asarray((flat - flat @ w @ t @ w.T)[..., kept])

    def _mirrors(self, base: Points) -> tuple[Array, Array, NDArray[np.intp]]:
        return _mirrors(self.point_shape, self.unit, np.asarray(base, dtype=np.float64).tobytes())


class Shapes3D(Landmarks, Arcs):
    """Shapes of k ≥ 4 landmarks in space: up to translation, scale and rotation.

    The distance is the angle on the sphere of configurations of size one, after the best rotation (Kendall's ρ); log and
    exp follow great circles that turn nothing.  A shape and its mirror image are one with ``reflections``, else two.

    >>> space = Shapes3D(landmarks=4)
    >>> corner = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    >>> turned = 5 * corner[:, [1, 2, 0]] + 2
    >>> a, b, mirrored = space.validate([corner, turned, -corner])
    >>> float(space.distance(a, b)) < 1e-15, round(float(space.distance(a, mirrored)), 4)
    (True, 0.4174)
    >>> space.dim, round(float(Shapes3D(4, reflections=True).distance(a, mirrored)), 12)
    (5, 0.0)
    """

    name: ClassVar[str] = "shapes3d"
    metric: ClassVar[str] = "Riemannian shape distance (Kendall)"
    usual_radius: ClassVar[str] = "; 0.1 to 0.2 is usual for shapes"
    unit: ClassVar[bool] = True
    small: ClassVar[dict[str, Any]] = {"landmarks": 4}
    landmark_dim: ClassVar[int | None] = 3

    def __init__(self, landmarks: int, reflections: bool = False) -> None:
        self._make(landmarks, 3, reflections)

    def parameters(self) -> dict[str, Any]:
        return {"landmarks": self.landmarks} | ({"reflections": True} if self.reflections else {})

    def _logs(self, base: Points, points: Points, adaptive: bool) -> Points:
        """Return θ/sin θ·(Y·R − X·cos θ) with R = ((κ + ‖B‖²)·B + c·A − B·BᵀB)/(κ·c − det B), B = YᵀX, A its cofactors,
        κ = ½(c² − ‖B‖²) and c = cos θ the largest root of (c² − ‖B‖²)² = 8c·det B + 4‖A‖², to which Newton's steps come
        down from 1 (Markley 1993): where a rotation is clearly the best, no singular value decomposition is needed."""
        if not adaptive or self._loops() is None:
            return self.log(base, points)
        b = points.mT @ base
        a = np.cross(b[:, [1, 2, 0]], b[:, [2, 0, 1]])
        det, size, rest = (np.einsum("nij,nij->n", one, two) for one, two in ((b[:, :1], a[:, :1]), (b, b), (a, a)))
        c = np.ones(len(b))
        step = c
        for _ in range(NEWTON):
            half = (c * c - size) / 2
            step = (half * half - 2 * c * det - rest) / np.maximum(2 * (half * c - det), 1e-12)
            c = c - step
        half = (c * c - size) / 2
        over = half * c - det
        if not (over > CLEAR).all() or np.abs(step).max() > 1e-13:
            return self.log(base, points)
        f = angle_over_sine(np.minimum(c, 1.0))
        plain, other, cube = (each[:, None, None] for each in (f * (half + size) / over, f * c / over, f / over))
        return np.asarray(points @ (plain * b + other * a - cube * (b @ (b.mT @ b))) - (f * c)[:, None, None] * base)

    def _loops(self) -> tuple[int | None, float | None] | None:
        return None if self.reflections or self.point_shape[1] != 3 else (None, CLEAR)


class SizeAndShape(Landmarks):
    """Sizes-and-shapes of k landmarks in the plane or in space: up to translation and rotation, in the unit of the records.

    The distance is ‖X − Y·R‖ after the best rotation R, log is Y·R − X, and exp is X + V.  ``dim`` is 2 for landmarks in the
    plane, 3 for those in space.

    >>> space = SizeAndShape(landmarks=3, dim=2)
    >>> small, large = space.validate([[[0, 0], [3, 0], [0, 4]], [[0, 2], [-6, 2], [0, -6]]])
    >>> np.allclose(space.distance(small, large), np.linalg.norm(small)), space.dim
    (True, 3)
    """

    name: ClassVar[str] = "size-and-shape"
    metric: ClassVar[str] = "Procrustes distance between configurations, scale kept"
    unit: ClassVar[bool] = False
    small: ClassVar[dict[str, Any]] = {"landmarks": 3, "dim": 2}
    by_name: ClassVar[bool] = True

    def __init__(self, landmarks: int, dim: int) -> None:
        self._make(landmarks, dim, False)

    def parameters(self) -> dict[str, Any]:
        return {"landmarks": self.landmarks, "dim": self.landmark_dim}

    def exp(self, base: Points, vectors: Points) -> Points:
        return base + vectors

    def log(self, base: Points, points: Points) -> Points:
        return self.align(base, points) - base

    def distance(self, a: Points, b: Points) -> Array:
        return np.asarray(np.linalg.norm(self.align(a, b) - a, axis=(-2, -1)))

    def rounding_error(self, center: Points, reach: float) -> float:
        """Return the bound in parts of the size, as it has a unit."""
        return 256 * 2.0**-53 * math.sqrt(self.dim) * (float(np.linalg.norm(center, axis=(-2, -1))) + reach)


def Shapes(landmarks: int, dim: int) -> PlanarShapes | Shapes3D:
    """Return the space of shapes of landmarks in the plane (``dim=2``) or in space (``dim=3``).

    >>> Shapes(50, dim=2), Shapes(24, dim=3)
    (PlanarShapes(landmarks=50), Shapes3D(landmarks=24))
    """
    if dim not in (2, 3):
        raise ValueError(f"Shapes: dim is 2 or 3, the number of coordinates of a landmark, not {dim!r}")
    return PlanarShapes(landmarks) if dim == 2 else Shapes3D(landmarks)


@lru_cache(maxsize=64)
def _mirrors(shape: tuple[int, int], unit: bool, base: bytes) -> tuple[Array, Array, NDArray[np.intp]]:
    """Return the tangent frame at a point: Q = I − W·T·Wᵀ, a product of Householder's reflections that takes the normal vectors
    (shifts, the point itself where there is no size, turns) to unit vectors; and the others, whose images are the frame.  Each
    takes its normal vector to the first of its largest entries, up to TIE, so that rounding, which differs between processors,
    changes nothing where a centre is symmetric and entries are equal or nought."""
    k, m = shape
    x = np.frombuffer(base).reshape(shape)
    x = x / np.linalg.norm(x)
    turns = []
    for i, j in zip(*np.triu_indices(m, 1), strict=True):
        turned = np.zeros(shape)
        turned[:, i] = x[:, j]
        turned[:, j] = -x[:, i]
        turns.append(turned)
    shifts = [np.tile(axis, (k, 1)) / np.sqrt(k) for axis in np.eye(m)]
    w = np.empty((k * m, 0))
    t = np.empty((0, 0))
    pivots = list[int]()
    for normal in [*shifts, x, *turns] if unit else [*shifts, *turns]:
        rest = normal.ravel() - normal.ravel() @ w @ t @ w.T
        rest[pivots] = 0.0
        if not (length := np.linalg.norm(rest)) > THIN:
            wrong = "landmarks that lie on one line cannot be a centre: they do not say how to turn records about it"
            raise ValueError(f"{wrong}; give a public specimen that has a width")
        rest /= length
        p = int(np.argmax(np.abs(rest) >= (1 - TIE) * np.abs(rest).max()))
        rest[p] += np.copysign(1.0, rest[p])
        rest /= np.linalg.norm(rest)
        t = np.block([[t, -2 * (t @ (w.T @ rest))[:, None]], [np.zeros((1, len(pivots))), np.full((1, 1), 2.0)]])
        w = np.column_stack([w, rest])
        pivots = [*pivots, p]
    return w, t, np.delete(np.arange(k * m), pivots)
