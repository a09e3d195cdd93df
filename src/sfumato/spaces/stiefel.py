"""Frames: p orthonormal vectors of R^n, where the vectors themselves matter and not only what they span."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points
from ..numerics.curvature import angle_over_sine
from .base import blame, not_finite, put_right
from .grassmann import Frames, not_orthonormal

DRIFT = 0.01  # how far the products of the columns may be from 0 and 1; each frame is put right
STEPS = 30  # of the logarithm's iteration, for every record: it then stands still up to a distance of 2.5
OPPOSITE = 1e-5  # by how much a frame is turned that is opposite to the base, where no one way is the shortest
STILL = 4e-15  # size of the last block at which the iteration stands still
LEAST = 0.1  # a step is divided by no less than this


@dataclass(frozen=True)
class Stiefel(Frames):
    """Frames of p < n orthonormal vectors in R^n, n×p matrices with XᵀX = 1, with the canonical metric tr Uᵀ(1 − ½XXᵀ)V.

    The logarithm has no closed form.  It is found by Zimmermann's iteration, for each record by itself and in the same number
    of steps for all.  Up to a distance of 2.5 it converged for all frames that were tried (shortest geodesics are the only ones
    up to about 2.8).  For a record farther away the last step stands, whatever it is: its direction may be a rough one
    (Edelman, Arias and Smith 1998; Zimmermann 2017; Zimmermann and Hüper 2022).

    >>> space = Stiefel(n=3, p=2)
    >>> a, b = space.validate([[[1, 0], [0, 1], [0, 0]], [[0.8, -0.6], [0.6, 0.8], [0, 0]]])
    >>> round(float(space.distance(a, b)), 6), space.log(a, b).round(6).tolist()
    (0.643501, [[0.0, -0.643501], [0.643501, 0.0], [0.0, 0.0]])
    """

    name: ClassVar[str] = "stiefel"
    small: ClassVar[dict[str, Any]] = {"n": 3, "p": 2}
    threaded: ClassVar[int] = 10**4
    metric: ClassVar[str] = "canonical, of frames as a quotient of rotations"

    def _dimension(self) -> int:
        return self.n * self.p - self.p * (self.p + 1) // 2

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        frames = self._real_batch(points).copy()
        reasons = not_finite(frames)
        off = not_orthonormal(frames)
        words = (
            f"is not a frame of {self.p} orthonormal columns: products of its columns are off by {{:.3g}}; make them "
            "orthonormal first (QR), or use Grassmann if only what they span matters"
        )
        blame(reasons, ~(off <= DRIFT), lambda row: words.format(off[row]))
        frames[list(reasons)] = self.origin()
        u, _, vt = np.linalg.svd(frames, full_matrices=False)
        return np.asarray(u @ vt), reasons

    def corrections(self, points: Array) -> list[str]:
        words = "records are not quite orthonormal; each is replaced by the nearest frame that is"
        return put_right(not_orthonormal(points), DRIFT, words)

    def exp(self, base: Points, vectors: Points) -> Points:
        """Return X·M + Q·N, with A = XᵀV, Q·R = V − XA, and (M, N) the first p columns of the exponential of ((A, −Rᵀ), (R, 0))
        (Edelman, Arias and Smith 1998)."""
        vectors = np.asarray(vectors)
        a = base.mT @ vectors
        across, r = self._across(base, vectors)
        turn = np.block([[(a - a.mT) / 2, -r.mT], [r, np.zeros((*r.shape[:-1], r.shape[-2]))]])
        moved = skew_exp(turn)[..., : self.p]
        u, _, vt = np.linalg.svd(base @ moved[..., : self.p, :] + across @ moved[..., self.p :, :], full_matrices=False)
        return np.asarray(u @ vt)

    def log(self, base: Points, points: Points) -> Points:
        """Return X·A + Q·B with ((A, −Bᵀ), (B, 0)) = log of an orthogonal matrix whose first columns are XᵀY and Qᵀ(Y − XXᵀY);
        the others are turned, step by step, until the last block of the logarithm is 0 (Zimmermann 2017; the step is that of
        Zimmermann and Hüper 2022)."""
        return self._logs(base, points, False)

    def _logs(self, base: Points, points: Points, adaptive: bool) -> Points:
        """Return logarithms; if ``adaptive``, steps end when all records stand still."""
        points = np.asarray(points)
        p = self.p
        m = base.mT @ points
        across, r = self._across(base, points)
        v = completed(np.concatenate([m, r], axis=-2))
        logs = rotation_log(v)
        for _ in range(STEPS if v.shape[-1] > p + 1 else 0):  # a last block of one number is 0 already
            b = logs[..., p:, :p]
            c = logs[..., p:, p:]
            if adaptive and np.abs(c).max() < STILL:
                break
            v = np.concatenate([v[..., :p], v[..., p:] @ skew_exp(_turn(b, c))], axis=-1)
            logs = rotation_log(v)
        return np.asarray(base @ logs[..., :p, :p] + across @ logs[..., p:, :p])

    def _across(self, base: Points, matrices: Array) -> tuple[Array, Array]:
        """Return Q and R with Q·R = (1 − XXᵀ)·(n×p matrices), Q of min(p, n − p) orthonormal columns across the frames X."""
        pairs = base.ndim > 2  # of frames and matrices: a complement for each
        side = np.linalg.qr(base, mode="complete")[0][..., self.p :] if pairs else self.complement(base)
        rest = side.mT @ matrices
        if 2 * self.p >= self.n:
            return np.broadcast_to(side, (*rest.shape[:-2], *side.shape[-2:])), rest
        q, r = np.linalg.qr(rest)
        return side @ q, r

    def inner(self, base: Points, u: Points, v: Points) -> Array:
        along = np.sum((base.mT @ u) * (base.mT @ v), axis=(-2, -1))
        return np.asarray(np.sum(u * v, axis=(-2, -1)) - along / 2)

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        rows, columns = np.triu_indices(self.p, 1)
        a = np.zeros((*coordinates.shape[:-1], self.p, self.p))
        a[..., rows, columns] = coordinates[..., : len(rows)]
        across = coordinates[..., len(rows) :].reshape(*coordinates.shape[:-1], self.n - self.p, self.p)
        return np.asarray(base @ (a - a.mT) + self.complement(base) @ across)

    def coordinates(self, base: Points, vectors: Points) -> Array:
        rows, columns = np.triu_indices(self.p, 1)
        along = base.T @ vectors
        across = self.complement(base).T @ vectors
        flat = across.reshape(*across.shape[:-2], (self.n - self.p) * self.p)
        return np.concatenate([(along - along.mT)[..., rows, columns] / 2, flat], axis=-1)

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """Return the frame nearest to the mean matrix."""
        w = np.ones(len(points)) if weights is None else weights
        u, _, vt = np.linalg.svd(np.tensordot(w, points, 1), full_matrices=False)
        return np.asarray(u @ vt)


def skew_exp(matrices: Array) -> Array:
    """Return exponentials of skew-symmetric matrices K: cos t + K·(sin t)/t, even functions of the root t of −K²."""
    size = np.maximum(np.abs(matrices).max(axis=(-2, -1), keepdims=True), np.finfo(np.float64).tiny)
    squares, vectors = np.linalg.eigh(matrices / size @ (matrices / size).mT)  # noise can be of any size
    t = size[..., 0] * np.sqrt(np.maximum(squares, 0.0))
    even = (vectors * np.cos(t)[..., None, :]) @ vectors.mT
    return np.asarray(even + matrices @ (vectors * np.sinc(t / np.pi)[..., None, :]) @ vectors.mT)


def rotation_log(matrices: Array) -> Array:
    """Return principal logarithms of rotations V: ½(V − Vᵀ)·(θ/sin θ), a function of cos θ = ½(V + Vᵀ); of angles below π.

    >>> rotation_log(np.array([[0.0, -1.0], [1.0, 0.0]])).round(6).tolist()
    [[0.0, -1.570796], [1.570796, 0.0]]
    """
    cosines, vectors = np.linalg.eigh((matrices + matrices.mT) / 2)
    stretch = (vectors * angle_over_sine(np.maximum(cosines, -1 + 1e-15))[..., None, :]) @ vectors.mT
    found = (matrices - matrices.mT) / 2 @ stretch
    return np.asarray((found - found.mT) / 2)


def completed(columns: Array) -> Array:
    """Return rotations that begin with these orthonormal columns and end as near to 1 as can be; one with half a turn in it,
    which has several logarithms, is turned a little, always in the same way."""
    p = columns.shape[-1]
    rest = np.linalg.qr(columns, mode="complete")[0][..., p:]
    u, _, vt = np.linalg.svd(rest[..., p:, :])
    rest = rest @ (u @ vt).mT
    mirrored = rest - 2 * (rest @ u[..., :, -1:]) @ u[..., :, -1:].mT  # the least aligned direction, turned round
    flip = np.linalg.det(np.concatenate([columns, rest], axis=-1)) < 0
    found = np.concatenate([columns, np.where(flip[..., None, None], mirrored, rest)], axis=-1)
    size = found.shape[-1]
    some = np.triu(np.sin(1.0 + np.arange(size * size)).reshape(size, size), 1)
    opposite = np.linalg.eigvalsh((found + found.mT) / 2)[..., 0] < -1 + OPPOSITE**2
    return np.asarray(np.where(opposite[..., None, None], found @ skew_exp(OPPOSITE * (some - some.T)), found))


def _turn(b: Array, c: Array) -> Array:
    """Return Γ with SΓ + ΓS = C, S = BBᵀ/12 − ½."""
    values, vectors = np.linalg.eigh(b @ b.mT / 12 - np.eye(c.shape[-1]) / 2)
    sums = np.minimum(values[..., :, None] + values[..., None, :], -LEAST)
    found = vectors @ ((vectors.mT @ c @ vectors) / sums) @ vectors.mT
    return np.asarray((found - found.mT) / 2)
