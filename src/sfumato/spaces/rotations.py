"""Rotations of space, SO(3), with the metric in which a distance is the angle of a rotation."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points
from .axes import EITHER, UpToSign
from .base import Kind, blame, not_finite, put_right
from .exact import Exact
from .sphere import DRIFT

ROUNDED = 2 * DRIFT  # of a right angle or a length in a matrix: three decimals; each matrix is put right
LONGEST = 1e6  # of a rotation vector: beyond it the angle's last digits are gone


@dataclass(frozen=True)
class Rotations(UpToSign):
    """Rotations of three-dimensional space: orientations of bones, cameras, crystals.

    The distance of two rotations is the angle of the rotation between them, in radians, at most π: the bi-invariant metric.
    Inside, a rotation by θ about the unit vector u is the quaternion ±(cos θ/2, sin θ/2·u), a point of the unit sphere S³ up
    to its sign, at half the angle; so the curvature is ¼.  Points come as rotation matrices, as unit quaternions (scalar
    first, either sign) or as rotation vectors θ·u.

    >>> space = Rotations()
    >>> turns = space.validate([[0.0, 0.0, 0.5], [0.0, 0.0, 0.5 + 2 * np.pi], [0.0, 0.0, -0.1]])
    >>> space.distance(turns[0], turns).round(6).tolist()
    [0.0, 0.0, 0.6]
    >>> space.present(turns)[2, :2, :2].round(6).tolist()
    [[0.995004, 0.099833], [-0.099833, 0.995004]]
    """

    size: int = 3
    dim: int = field(default=3, init=False, repr=False)
    name: ClassVar[str] = "rotations"
    metric: ClassVar[str] = "angle of the rotation between two"
    kind: ClassVar[Kind] = "matrices"
    exact_map: ClassVar[Exact | None] = EITHER
    q = 0.5

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or self.size != 3:
            known = "only rotations of three-dimensional space are known, size=3"
            raise ValueError(f"Rotations: {known}, not {self.size!r}")
        object.__setattr__(self, "size", 3)

    def origin(self) -> Points:
        return np.array([1.0, 0.0, 0.0, 0.0])

    @property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        return {"rotation matrices": (3, 3), "unit quaternions": (4,), "rotation vectors": (3,)}

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        array = self._real_batch(points)
        if array.shape[1:] == (4,):
            fix = "if it is the quaternion of a rotation, divide it by its length"
            quaternions, reasons = self.cover.normalised(array, fix)
        else:
            quaternions, reasons = of_matrices(array) if array.ndim == 3 else of_vectors(array)
        quaternions = np.where(np.isin(np.arange(len(array)), list(reasons))[:, None], self.origin(), quaternions)
        return self.canonical_sign(quaternions), reasons

    def corrections(self, points: Array) -> list[str]:
        if points.shape[1:] == (3, 3):
            words = "rotation matrices are not quite orthonormal, by up to {most}; each is put right by itself"
            return put_right(_not_orthonormal(points), ROUNDED, words)
        lengths = np.linalg.norm(points, axis=1)
        if points.shape[1:] == (4,):
            words = "quaternions are not quite of length 1, by up to {most}; each is put right by itself"
            return put_right(np.abs(lengths - 1), DRIFT, words)
        turns = int((lengths > 2 * np.pi).sum())
        words = "rotation vectors are longer than a turn, 2π = 6.283; whole turns are left out; if they are in degrees,"
        return [f"{turns} of {len(points)} {words} multiply them by π/180 first"] if 2 * turns > len(points) else []

    def present(self, points: Points) -> Array:
        """Return the rotation matrices."""
        w, x, y, z = np.moveaxis(np.asarray(points, dtype=np.float64), -1, 0)
        rows = [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
        return np.moveaxis(np.array(rows), (0, 1), (-2, -1))

    def to_quaternions(self, points: ArrayLike) -> Array:
        """Return unit quaternions, scalar first and not negative, of rotations in any layout.

        >>> Rotations().to_quaternions([[0.0, 0.0, np.pi]]).round(6).tolist()
        [[0.0, 0.0, 0.0, 1.0]]
        """
        return np.asarray(self.validate(points))

    def to_vectors(self, points: ArrayLike) -> Array:
        """Return rotation vectors θ·u, 0 ≤ θ ≤ π, of rotations in any layout.

        >>> Rotations().to_vectors([[0.0, 0.0, 7.0]]).round(6).tolist()
        [[0.0, 0.0, 0.716815]]
        """
        return np.asarray(self.log(self.origin(), self.validate(points))[..., 1:])


def of_vectors(array: Array) -> tuple[Array, dict[int, str]]:
    """Return quaternions (cos θ/2, sin(θ/2)·u) of rotation vectors θ·u."""
    reasons = not_finite(array)
    with np.errstate(over="ignore", invalid="ignore"):
        angle = np.linalg.norm(array, axis=1)
    words = "is too long for a rotation vector: {:.3g} radians; take whole turns of 2π off, or use matrices"
    blame(reasons, ~(angle <= LONGEST), lambda row: words.format(angle[row]))
    known = array.copy()
    known[list(reasons)] = 0.0
    half = np.linalg.norm(known, axis=1, keepdims=True) / 2
    return np.concatenate([np.cos(half), np.sinc(half / np.pi) * known / 2], axis=1), reasons


def of_matrices(array: Array) -> tuple[Array, dict[int, str]]:
    """Return quaternions of rotation matrices, each made orthonormal first: the nearest rotation, by Newton's steps towards
    the orthogonal factor of the polar decomposition, whose error is squared and halved by each."""
    reasons = not_finite(array)
    with np.errstate(over="ignore", invalid="ignore"):
        off = _not_orthonormal(array)
        turned = np.sum(array[:, 0] * np.cross(array[:, 1], array[:, 2]), axis=1)
    words = (
        "is not a rotation matrix: its columns are not of length 1 and at right angles, by {:.3g}; if it was rounded, take "
        "the nearest rotation (the polar decomposition), if it was scaled, divide by the scale"
    )
    mirrored = "is a reflection, not a rotation: its determinant is −1; change the sign of one axis, or exchange two"
    blame(reasons, ~(off <= ROUNDED), lambda row: words.format(off[row]))
    blame(reasons, turned < 0, lambda _: mirrored)
    m = array.copy()
    m[list(reasons)] = np.eye(3)
    for _ in range(3):
        first, second, third = m.transpose(1, 0, 2)
        cofactors = np.stack([np.cross(second, third), np.cross(third, first), np.cross(first, second)], axis=1)
        m = (m + cofactors / np.sum(first * cofactors[:, 0], axis=1)[:, None, None]) / 2
    return _shepperd(m), reasons


def _shepperd(m: Array) -> Array:
    """Return quaternions from orthonormal matrices, by the largest of the four numbers (Shepperd 1978)."""
    (a, b, c), (d, e, f), (g, h, i) = m.transpose(1, 2, 0)
    doubles = np.array(  # 4·qqᵀ
        [
            [1 + a + e + i, h - f, c - g, d - b],
            [h - f, 1 + a - e - i, b + d, c + g],
            [c - g, b + d, 1 - a + e - i, f + h],
            [d - b, c + g, f + h, 1 - a - e + i],
        ]
    ).transpose(2, 0, 1)
    largest = np.argmax(np.einsum("nii->ni", doubles), axis=1)
    row = doubles[np.arange(len(m)), largest]
    return np.asarray(row / np.sqrt(np.sum(row * row, axis=1, keepdims=True)))


def _not_orthonormal(m: Array) -> Array:
    """Return how far the lengths of the columns are from 1, or the cosines of their angles from 0, whichever is more."""
    a, b, c = m.transpose(2, 0, 1)
    lengths = [np.abs(np.sqrt(np.sum(u * u, axis=1)) - 1) for u in (a, b, c)]
    angles = [np.abs(np.sum(u * v, axis=1)) for u, v in ((a, b), (b, c), (c, a))]
    return np.asarray(np.max([*lengths, *angles], axis=0))
