"""Positive definite matrices with other metrics than the affine-invariant one: two that are flat, and optimal transport's."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import Array, Points
from .base import Kind, blame, not_finite
from .euclidean import Flat
from .spd import METRICS, SPD, Matrices, _inverse, _matrix_log, _positive, _rebuild, _symmetric, from_triangle, triangle

MOST = 700.0  # size of a logarithm whose exponential is an ordinary number
LARGEST = 300.0  # logarithm of the largest eigenvalue that noise can lead to; no double overflows
FLOOR = 64 * np.finfo(float).eps  # times the size: what is added to a diagonal where a matrix is nearly singular
TINY = 1e-290  # a level that is above that of any subnormal number, also times FLOOR
WIDE = 1e4  # condition number from which on eigenvalues are taken from the Cholesky factor
NEAR = 0.5  # largest relative change of a matrix for which differences are taken before roots


@dataclass(frozen=True)
class FlatMatrices(Flat, Matrices):
    """Matrices of one size that are laid out flat; positive definite ones unless a subclass says."""

    size: int
    size_option: ClassVar[str | None] = "size"

    def look(self, points: Array) -> tuple[Points, dict[int, str]]:
        return SPD(self.size).diagnose(points)


@dataclass(frozen=True)
class DiagonalSPD(FlatMatrices):
    """Variances of ``size`` channels, compared by their ratios: ρ(a, b) = ‖log a − log b‖.

    That is the affine-invariant metric, and the log-Euclidean one, on diagonal matrices, which are flat in either (Pennec and
    others 2006).  A point is a vector of positive numbers; of a (k, k) matrix the diagonal alone is used.  The dimension is k,
    not k(k+1)/2, so that many channels need far fewer records than their whole covariance matrix does.

    >>> space = DiagonalSPD(size=2)
    >>> a, b = space.validate([[1.0, 1.0], [np.e, 1.0]])
    >>> space.distance(a, b).item(), space.dim
    (1.0, 2)
    """

    name: ClassVar[str] = "diagonal-spd"
    metric: ClassVar[str] = "affine-invariant, on diagonal matrices: Euclidean, between logarithms of variances"
    kind: ClassVar[Kind] = "vectors"

    smaller = FlatMatrices.fewer_channels

    def _dimension(self) -> int:
        return self.size

    @property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        return {"vectors": (self.size,), "matrices": (self.size, self.size)}

    def widest(self, low: float | None = None, high: float | None = None) -> tuple[Points, float]:
        center, radius = SPD(self.size).widest(low, high)
        return self.validate(center[None])[0], radius

    def corrections(self, points: Array) -> list[str]:
        return ["only the diagonal of each matrix is used"] if np.ndim(points) == 3 else []

    def look(self, points: Array) -> tuple[Points, dict[int, str]]:
        reasons = not_finite(points)
        found = (np.diagonal(points, axis1=1, axis2=2) if points.ndim == 3 else points).copy()
        found[list(reasons)] = 1.0
        words = "has a variance of {:.3g} in channel {}: variances are above 0; leave out a channel that is silent"
        at = np.argmin(found, axis=1)
        blame(reasons, (found <= 0).any(axis=1), lambda row: words.format(found[row, at[row]], at[row] + 1))
        found[list(reasons)] = 1.0
        return found, reasons

    def to_flat(self, points: Points) -> Array:
        return np.asarray(np.log(points))

    def from_flat(self, vectors: Array) -> Points:
        return np.asarray(np.exp(np.clip(vectors, -MOST, MOST)))


@dataclass(frozen=True)
class LogEuclidean(FlatMatrices):
    """Positive definite matrices by their logarithms: ρ(A, B) = ‖Log A − Log B‖, the Frobenius norm (Arsigny and others 2007).

    The mean is Exp of the mean of Log.  No rotation of the channels changes a distance, nor does one factor for all of them; a
    factor of each channel's own does.  Coordinates are the diagonal of Log A, then its upper triangle times √2.

    >>> space = SPD(size=2, metric="log-euclidean")
    >>> a, b = space.validate([np.eye(2), np.diag([np.e, 1.0])])
    >>> space, round(space.distance(a, b).item(), 12)
    (LogEuclidean(size=2), 1.0)
    """

    name: ClassVar[str] = "log-euclidean"
    metric: ClassVar[str] = "log-Euclidean"

    widest = DiagonalSPD.widest  # distances from a multiple of I are the same

    def to_flat(self, points: Points) -> Array:
        return triangle(_log(points))

    def from_flat(self, vectors: Array) -> Points:
        eigenvalues, turn = np.linalg.eigh(from_triangle(np.clip(vectors, -1e100, 1e100), self.size))
        return _definite(_rebuild(turn, np.exp(np.clip(eigenvalues, -LARGEST, LARGEST))))


@dataclass(frozen=True)
class LogCholesky(FlatMatrices):
    """Positive definite matrices by their Cholesky factors, A = LLᵀ with the diagonal of L by its logarithm (Lin 2019).

    ρ(A, B)² = Σ_{i>j} (L_ij − K_ij)² + Σ_i (log L_ii − log K_ii)², B = KKᵀ.  It is the quickest to compute and has no swelling,
    but depends on the order of the channels and their units.  Coordinates are log L_ii, then the entries of L below the
    diagonal, row by row.

    >>> space = SPD(size=2, metric="log-cholesky")
    >>> a, b = space.validate([np.eye(2), np.diag([np.e**2, 1.0])])
    >>> space, round(space.distance(a, b).item(), 12)
    (LogCholesky(size=2), 1.0)
    """

    name: ClassVar[str] = "log-cholesky"
    metric: ClassVar[str] = "log-Cholesky"

    def to_flat(self, points: Points) -> Array:
        factor = _factor(points)
        rows, columns = np.tril_indices(self.size, -1)
        return np.concatenate([np.log(np.diagonal(factor, axis1=1, axis2=2)), factor[:, rows, columns]], axis=1)

    def from_flat(self, vectors: Array) -> Points:
        k = self.size
        largest = np.exp(LARGEST / 2)
        factor = np.zeros((len(vectors), k, k))
        factor[:, *np.tril_indices(k, -1)] = np.clip(vectors[:, k:], -largest, largest)
        factor[:, np.arange(k), np.arange(k)] = np.exp(np.clip(vectors[:, :k], -LARGEST / 2, LARGEST / 2))
        return _definite(factor @ factor.mT)


@dataclass(frozen=True)
class BuresWasserstein(Matrices):
    """Positive definite matrices as covariances of centred Gaussians, by the cost of moving one onto the other.

    ρ(S, T)² = tr S + tr T − 2·tr (S^½TS^½)^½ = min ‖F − GU‖² over orthogonal U, S = FFᵀ, T = GGᵀ (Bhatia, Jain and Lim 2019;
    Malagò, Montrucchio and Pistone 2018).  With D = GU − F for the best U, log_S T = DFᵀ + FDᵀ = (TS)^½ + (ST)^½ − 2S, and
    exp_S V = (F + LF)(F + LF)ᵀ = (1 + L)S(1 + L), SL + LS = V.  The metric is ½·tr(LV).

    Distances are in units of standard deviations.  Geodesics end at singular matrices: where 1 + L is not positive definite,
    exp goes on by its formula, and a matrix that it leaves singular gets 1e-14 or so of its diagonal and of S's added.

    >>> space = SPD(size=2, metric="bures-wasserstein")
    >>> space, round(space.distance(np.eye(2), np.diag([4.0, 1.0])).item(), 12)
    (BuresWasserstein(size=2), 1.0)
    """

    size: int
    name: ClassVar[str] = "bures-wasserstein"
    metric: ClassVar[str] = "Bures–Wasserstein"
    by_name: ClassVar[bool] = True

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        return SPD(self.size).diagnose(points)

    def exp(self, base: Points, vectors: Points) -> Points:
        eigenvalues, turn = np.linalg.eigh(base)
        sums = eigenvalues[..., :, None] + eigenvalues[..., None, :]
        step = turn @ (turn.mT @ vectors @ turn / sums) @ turn.mT
        moved = step @ base
        found = base + _symmetric(moved + moved.mT) + _symmetric(moved @ step)
        return _definite(found, np.trace(base, axis1=-2, axis2=-1) / self.size)

    def log(self, base: Points, points: Points) -> Points:
        factor, step = self._step(base, points)
        half = step @ factor.mT
        return np.asarray(half + half.mT)

    def distance(self, a: Points, b: Points) -> Array:
        return np.asarray(np.linalg.norm(self._step(a, b)[1], axis=(-2, -1)))

    def _step(self, base: Points, points: Points) -> tuple[Points, Points]:
        """Return F, and D = GU − F for the orthogonal U that makes it shortest, G a factor of the points."""
        base, points = np.broadcast_arrays(base, points)
        shape = base.shape
        k = self.size
        base = base.reshape(-1, k, k)
        points = points.reshape(-1, k, k)
        f = _factor(base)
        g = _factor(points)
        left, _, right = np.linalg.svd(g.mT @ f)
        step = g @ (left @ right) - f
        # close by, X = (FᵀTF)^½ − FᵀF from its equation (FᵀTF)^½·X + X·FᵀF = Fᵀ(T − S)F, and D = F⁻ᵀX: no difference of roots
        diagonal = np.diagonal(f, axis1=1, axis2=2)
        inverse = _inverse(f)
        with np.errstate(over="ignore", invalid="ignore"):
            change = np.linalg.norm(inverse @ (points - base) @ inverse.mT, axis=(1, 2))
        near = (change < NEAR) & (diagonal.max(axis=1) < np.sqrt(WIDE) * diagonal.min(axis=1))
        if near.any():
            f_ = f[near]
            difference = (points - base)[near]
            square, p = np.linalg.eigh(_symmetric(f_.mT @ points[near] @ f_))
            own, q = np.linalg.eigh(_symmetric(f_.mT @ f_))
            sums = np.sqrt(_positive(square))[:, :, None] + own[:, None, :]
            x = p @ (p.mT @ (f_.mT @ difference @ f_) @ q / sums) @ q.mT
            step[near] = inverse[near].mT @ x
        return f.reshape(shape), step.reshape(shape)

    def inner(self, base: Points, u: Points, v: Points) -> Array:
        return np.asarray(np.sum(self._white(base, u) * self._white(base, v), axis=(-2, -1)))

    def _white(self, base: Points, vectors: Points, power: float = -0.5) -> Points:
        """Return tangent vectors by (2·(S⊗1 + 1⊗S))^power, whatever eigenvectors S has: the metric is then Frobenius's norm."""
        eigenvalues, turn = np.linalg.eigh(base)
        weights = (2 * (eigenvalues[..., :, None] + eigenvalues[..., None, :])) ** power
        return _symmetric(turn @ (turn.mT @ vectors @ turn * weights) @ turn.mT)

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        return self._white(base, from_triangle(coordinates, self.size), 0.5)

    def coordinates(self, base: Points, vectors: Points) -> Array:
        return triangle(self._white(base, vectors))

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """Return the square of the mean of square roots."""
        eigenvalues, turn = np.linalg.eigh(points)
        root = np.average(_rebuild(turn, np.sqrt(_positive(eigenvalues))), axis=0, weights=weights)
        return _definite(root @ root)


def _factor(matrices: Points) -> Points:
    """Return Cholesky factors; where rounding forbids one, as of a matrix only just definite, that of a matrix beside it."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return np.linalg.cholesky(_raised(matrices, _not_definite(matrices), TINY))


def _not_definite(matrices: Points) -> NDArray[np.bool_]:
    """Return which symmetric matrices Cholesky's algorithm rejects, found by halving, as it rejects all at once."""
    found = np.ones(len(matrices), dtype=bool)
    try:
        np.linalg.cholesky(matrices)
        found[:] = False
    except np.linalg.LinAlgError:
        if (middle := len(matrices) // 2) > 0:
            found[:middle] = _not_definite(matrices[:middle])
            found[middle:] = _not_definite(matrices[middle:])
    return found


def _raised(matrices: Points, which: Any, level: Array | float = 0.0) -> Points:
    """Return matrices with a little added to some diagonals: of their own, and of a level."""
    k = matrices.shape[-1]
    found = matrices.copy()
    index = np.arange(k)
    own = np.abs(np.diagonal(matrices, axis1=-2, axis2=-1)) + np.broadcast_to(level, len(matrices))[:, None]
    found[:, index, index] += np.where(which[:, None], k * FLOOR * own, 0.0)
    return found


def _definite(matrices: Points, level: Array | float = 0.0) -> Points:
    """Return symmetric matrices, raised where they are not clearly definite: a point, whatever noise has led to."""
    k = matrices.shape[-1]
    rows = _symmetric(matrices).reshape(-1, k, k)
    diagonal = np.diagonal(rows, axis1=1, axis2=2)
    found = ~((diagonal > 0) & np.isfinite(diagonal)).all(axis=1)
    with np.errstate(all="ignore"):
        scale = 1 / np.sqrt(np.where(found[:, None], 1.0, diagonal))
        scaled = np.where(found[:, None, None], np.eye(k), rows) * scale[:, :, None] * scale[:, None, :]
    found |= _not_definite(scaled - 8 * k * np.finfo(float).eps * np.eye(k))
    if found.any():
        rows = _raised(rows, found, np.broadcast_to(level, matrices.shape[:-2]).reshape(-1))
    return rows.reshape(matrices.shape)


def _log(matrices: Points) -> Points:
    """Return matrix logarithms; of a wide spectrum by singular values of Cholesky factors, which keep twice as many digits."""
    # Log(2^e·A) = e·log 2·I + Log A: with such a power of matrices that are extreme, nothing overflows
    powers = np.frexp(np.diagonal(matrices, axis1=1, axis2=2))[1]
    middle = powers.mean(axis=1).astype(np.intc)
    power = np.maximum(np.where(np.abs(middle) > 500, middle, 0), powers.max(axis=1) - 1000)[:, None, None]
    matrices = np.ldexp(matrices, -power)
    eigenvalues, turn = np.linalg.eigh(matrices)
    wide = ~(eigenvalues[:, 0] * WIDE > eigenvalues[:, -1])
    logarithms = np.log(_positive(eigenvalues))
    if wide.any():
        turn[wide], roots, _ = np.linalg.svd(_factor(matrices[wide]))
        logarithms[wide] = 2 * np.log(np.maximum(roots, 1e-100 * roots[:, :1]))
    found = _rebuild(turn, logarithms)
    two = matrices.shape[-1] == 2
    found = np.where(wide[:, None, None], found, _matrix_log(matrices)) if two else _symmetric(found)
    return np.asarray(found + power * np.log(2) * np.eye(matrices.shape[-1]))


METRICS.update({kind.name: kind for kind in (LogEuclidean, LogCholesky, BuresWasserstein)})
