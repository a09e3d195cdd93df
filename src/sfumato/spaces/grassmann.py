"""Subspaces: the p-dimensional ones of R^n, as principal component analysis finds them."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points
from ..numerics.curvature import angle_over_sine
from .base import Kind, Moments, Space, blame, not_finite, put_right, whole_number

SPAN = 1e-8  # the least singular value of columns of length 1 that are still taken for independent
PROJECTOR = 0.01  # how far the eigenvalues of a projector may be from 0 and 1, and its entries from symmetry
TIE = 1e-6  # rows whose lengths differ by less than this share count as equally long, and the first of them is taken
TURNED = 24  # vectors up to which compiled loops are quicker than LAPACK


def in_gauge(frames: Array) -> Array:
    """Return the frame X·Q, Q orthogonal, that depends on the subspace alone, for orthonormal X, (…, n, p).

    p of its rows, in their order, form a lower triangle with a positive diagonal: those with the largest pivots when the
    projector XXᵀ is divided into L·Lᵀ by Cholesky's method; each has the longest part that those before it do not explain.

    >>> turned = np.array([[0.6, 0.8], [0.8, -0.6], [0.0, 0.0]])
    >>> in_gauge(turned).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    rest = frames
    chosen = []
    for _ in range(frames.shape[-1]):
        lengths = np.sum(rest * rest, axis=-1)
        row = np.argmax(lengths >= (1 - TIE) * lengths.max(axis=-1, keepdims=True), axis=-1)[..., None, None]
        chosen.append(row)
        along = np.take_along_axis(rest, row, axis=-2)
        along = along / np.sqrt(np.sum(along * along, axis=-1, keepdims=True))
        rest = rest - np.sum(rest * along, axis=-1, keepdims=True) * along
    rows = np.sort(np.concatenate(chosen, axis=-2), axis=-2)
    q, r = np.linalg.qr(np.take_along_axis(frames, rows, axis=-2).mT)
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    found = np.asarray(frames @ (q * signs[..., None, :]))
    np.put_along_axis(found, rows, (r * signs[..., None]).mT, axis=-2)  # with zeros that are zeros
    return found + 0.0


def not_orthonormal(frames: Array) -> Array:
    """Return how far the products of the columns are from 0 and 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.abs(frames.mT @ frames - np.eye(frames.shape[-1])).max(axis=(1, 2)))


@dataclass(frozen=True)
class Frames(Space):
    """Points that are written as p columns of n numbers, for p < n."""

    n: int
    p: int
    kind: ClassVar[Kind] = "arrays"
    by_name: ClassVar[bool] = True
    size_option: ClassVar[str | None] = "n"
    least_size: ClassVar[int] = 2

    def __post_init__(self) -> None:
        name = type(self).__name__
        object.__setattr__(self, "p", whole_number(name, "p", self.p, 1))
        if self.p >= self.n:
            wrong = f"p must be less than n, the dimension of the space around: not {self.p} of {self.n}"
            raise ValueError(f"{name}: {wrong}")
        super().__post_init__()

    def origin(self) -> Points:
        return np.eye(self.n, self.p)

    def complement(self, base: Points) -> Array:
        return _complement(base.tobytes(), (self.n, self.p))


@lru_cache(maxsize=64)
def _complement(frame: bytes, shape: tuple[int, int]) -> Array:
    """Return an orthonormal frame, (n, n − p), of what is orthogonal to one subspace: a function of the subspace."""
    x = np.frombuffer(frame).reshape(shape)
    return in_gauge(np.linalg.qr(x, mode="complete")[0][:, shape[1] :])


@dataclass(frozen=True)
class Grassmann(Frames):
    """Subspaces of p dimensions in R^n, as principal components span, by their principal angles: distance² = Σθⱼ².

    A subspace is written as a frame, an n×p matrix of p vectors in its columns that span it (any basis will do); as a p×n
    matrix of p vectors in its rows, such as scikit-learn's ``PCA.components_``; or as the n×n projector on it.  A release is
    a frame of p orthonormal columns, which depends on the subspace alone: of two releases compare the subspaces, by their
    distance or their projectors, not the columns.

    geomstats' Grassmannian writes points as projectors and has a distance √2 times this one (Edelman, Arias and Smith 1998;
    Bendokat, Zimmermann and Absil 2024, A Grassmann manifold handbook).

    >>> space = Grassmann(n=3, p=1)
    >>> east, up = space.validate([[[2.0], [0.0], [0.0]], [[1.0], [0.0], [1.0]]])
    >>> round(float(space.distance(east, up)), 6)
    0.785398
    """

    name: ClassVar[str] = "grassmann"
    small: ClassVar[dict[str, Any]] = {"n": 4, "p": 2}
    metric: ClassVar[str] = "root of the sum of squared principal angles"

    def _dimension(self) -> int:
        return self.p * (self.n - self.p)

    @property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        return {
            "vectors in columns": (self.n, self.p),
            "vectors in rows": (self.p, self.n),
            "projectors": (self.n, self.n),
        }

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        array = self._real_batch(points)
        if array.shape[1:] == (self.n, self.n):
            return self._of_projectors(array.copy())
        frames = np.array(array.mT if array.shape[1:] == (self.p, self.n) else array, order="C")
        reasons = not_finite(frames)
        frames[list(reasons)] = self.origin()
        largest = np.abs(frames).max(axis=1, keepdims=True)
        units = frames / np.where(largest == 0, 1.0, largest)
        units /= np.where(largest == 0, 1.0, np.linalg.norm(units, axis=1, keepdims=True))
        thin = np.linalg.svd(units, compute_uv=False)[:, -1]
        wrong = f"spans fewer than {self.p} dimensions: its {self.p} vectors are not independent"
        blame(reasons, thin < SPAN, lambda _: f"{wrong}; give {self.p} vectors that are, or another p")
        units[list(reasons)] = self.origin()
        return in_gauge(np.linalg.qr(units)[0]), reasons

    def validate_and_start(self, points: ArrayLike) -> tuple[Points, Points | None, Moments | None]:
        """Return frames as they are if all are orthonormal: the mean depends on what they span alone."""
        array = self._real_batch(points)
        if array.shape[1:] == (self.n, self.p) and (not_orthonormal(array) <= 1e-14).all():
            return array, None, None
        return super().validate_and_start(array)

    def _of_projectors(self, array: Array) -> tuple[Points, dict[int, str]]:
        reasons = not_finite(array)
        array[list(reasons)] = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            crooked = ~(np.abs(array - array.mT).max(axis=(1, 2)) <= PROJECTOR)
        crooked |= np.abs(array).max(axis=(1, 2)) > 2
        array[crooked] = 0.0
        values, vectors = np.linalg.eigh((array + array.mT) / 2)
        wanted = (np.arange(self.n) >= self.n - self.p).astype(np.float64)
        off = np.abs(values - wanted).max(axis=1)
        words = f"is not the projector on a subspace of {self.p} dimensions: that is a symmetric matrix with {self.p} "
        words += f"eigenvalues 1 and {self.n - self.p} eigenvalues 0"
        blame(reasons, crooked | (off > PROJECTOR), lambda _: words)
        frames = vectors[:, :, self.n - self.p :].copy()
        frames[list(reasons)] = self.origin()
        return in_gauge(frames), reasons

    def present(self, points: Points) -> Array:
        """Return frames of orthonormal columns: p of their rows form a lower triangle with a positive diagonal."""
        return in_gauge(np.asarray(points, dtype=np.float64))

    def corrections(self, points: Array) -> list[str]:
        if points.shape[1:] == (self.n, self.n) or not len(points):
            return []
        frames = points.mT if points.shape[1:] == (self.p, self.n) else points
        words = "records are not orthonormal frames; each stands for what its vectors span"
        return put_right(not_orthonormal(frames), np.inf, words)

    def exp(self, base: Points, vectors: Points) -> Points:
        """Return X·W·cos(S)·Wᵀ + U·sin(S)·Wᵀ for the singular values V = U·S·Wᵀ (Edelman, Arias and Smith 1998)."""
        u, s, wt = np.linalg.svd(vectors, full_matrices=False)
        moved = (base @ wt.mT) * np.cos(s)[..., None, :] + u * np.sin(s)[..., None, :]
        return np.asarray(np.linalg.qr(moved @ wt)[0])

    def retract(self, base: Points, vectors: Points) -> Points:
        """Return (X + V)·L⁻ᵀ, LLᵀ = 1 + VᵀV: angles by their tangents."""
        factor = np.linalg.cholesky(np.eye(self.p) + vectors.mT @ vectors)
        return np.asarray((base + vectors) @ np.linalg.inv(factor).mT)

    def log(self, base: Points, points: Points) -> Points:
        """Return Σθⱼ·wⱼrⱼᵀ/‖wⱼ‖ with YᵀX = Q·C·Rᵀ, W = YQ − XRC and θⱼ = atan2(‖wⱼ‖, cⱼ); up to θ = π/2, where the singular
        vectors decide which of several shortest ways it is (Bendokat, Zimmermann and Absil 2024, with a two-sided formula
        for the angles)."""
        toward, angles, sines, rt = self._principal(base, points)
        stretch = np.where(sines > 0, angles, 1.0) / np.where(sines > 0, sines, 1.0)
        found = (toward * stretch[..., None, :]) @ rt
        return np.asarray(found - base @ (base.mT @ found))

    def _logs(self, base: Points, points: Points, adaptive: bool) -> Points:
        """Return θ/sin θ·(YQ − XM)·Mᵀ/cos θ, M = XᵀYQ, by the eigenvectors Q of (XᵀY)ᵀXᵀY, unless an angle is nearly π/2."""
        if not adaptive:
            return self.log(base, points)
        m = base.mT @ points
        q = np.linalg.eigh(m.mT @ m)[1]
        turned = m @ q
        cosines = np.linalg.norm(turned, axis=-2)
        if cosines.min() < 0.1:
            return self.log(base, points)
        u = (q * (angle_over_sine(np.minimum(cosines, 1.0)) / cosines)[..., None, :]) @ turned.mT
        found = points @ u - base @ (m @ u)
        return np.asarray(found - base @ (base.mT @ found))

    def _loops(self) -> tuple[int | None, float | None] | None:
        return (4 + self.p.bit_length(), None) if self.p <= TURNED else None

    def _principal(self, base: Points, points: Points) -> tuple[Array, Array, Array, Array]:
        """Return W, the principal angles, their sines and Rᵀ."""
        q, cosines, rt = np.linalg.svd(points.mT @ base)
        toward = points @ q - (base @ rt.mT) * cosines[..., None, :]
        toward = toward - base @ (base.mT @ toward)
        sines = np.linalg.norm(toward, axis=-2)
        return toward, np.arctan2(sines, cosines), sines, rt

    def distance(self, a: Points, b: Points) -> Array:
        return np.asarray(np.linalg.norm(self._principal(np.asarray(a), np.asarray(b))[1], axis=-1))

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        across = coordinates.reshape(*coordinates.shape[:-1], self.n - self.p, self.p)
        return np.asarray(self.complement(base) @ across)

    def coordinates(self, base: Points, vectors: Points) -> Array:
        across = self.complement(base).T @ vectors
        return np.asarray(across.reshape(*across.shape[:-2], self.dim))

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """Return the subspace nearest to the mean projector."""
        w = np.ones(len(points)) if weights is None else weights
        total = np.tensordot(w, points @ points.mT, 1)
        return np.asarray(np.linalg.eigh(total)[1][:, self.n - self.p :])
