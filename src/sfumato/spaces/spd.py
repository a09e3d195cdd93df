"""Symmetric positive definite matrices with the affine-invariant metric tr(p⁻¹u p⁻¹v): covariances, diffusion tensors.

Everything is computed in the frame of a Cholesky factor p = LLᵀ, where p is the identity: congruence by L⁻¹ is an
isometry, and unlike a square root it keeps the small rows of a badly scaled matrix small.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dtrtri

from ..numerics.arrays import MANY, RUN, Array, Points, blocks, compiled, in_pairs, loaded, runs, uniform_weights
from ..numerics.curvature import coth_excess, log_rules
from .base import Kind, Moments, Space, blame, not_finite
from .embedding import Embedding, TriangleEmbedding
from .exact import WIDEST, Exact, matrices

ASYMMETRY = 1e-5  # relative to the largest entry; single-precision pipelines leave a tenth of that
TURNED = 32  # rows up to which eigenvectors by turns of two axes are quicker than LAPACK's
ROUGH = 1e-14  # accuracy of logarithms from which on the series of compiled loops will do for few records
METRICS: dict[str, type[Space]] = {}  # others than the affine-invariant one, by name: spd_metrics.py


class Matrices(Space):
    """Square matrices of one number of channels, with the dimension of symmetric ones."""

    size: int
    kind: ClassVar[Kind] = "matrices"
    size_option: ClassVar[str | None] = "size"

    def origin(self) -> Points:
        return np.eye(self.size)

    def _dimension(self) -> int:
        return self.size * (self.size + 1) // 2

    def smaller(self) -> dict[str, list[Space]]:
        from .correlation import Correlation
        from .spd_metrics import DiagonalSPD

        if self.size == 1:
            return {}
        parts: dict[str, list[Space]] = {"the variance of each channel alone": [DiagonalSPD(self.size)]}
        return parts | {"the correlations alone": [Correlation(self.size)]} | self.fewer_channels()

    def fewer_channels(self) -> dict[str, list[Space]]:
        """Return spaces of the same kind of half as many channels, a quarter, and so on."""
        kind: Any = type(self)
        fewer = [kind(self.size >> i) for i in range(1, self.size.bit_length() - 1)]
        return {"fewer channels, or groups of them": fewer} if fewer else {}


@dataclass(frozen=True, init=False)
class SPD(Matrices):
    """Covariance matrices, symmetric and positive definite, of one size.

    ``metric`` says what distance means: "affine" (invariant: no change of units or mixing of channels changes it) unless given,
    "log-euclidean", "log-cholesky" or "bures-wasserstein", with which the space is one of another class.

    >>> space = SPD(size=2)
    >>> round(float(space.distance(np.eye(2), np.diag([np.e, 1.0]))), 12)
    1.0
    >>> SPD(2, metric="log-euclidean")
    LogEuclidean(size=2)
    """

    size: int
    name: ClassVar[str] = "spd"
    metric: ClassVar[str] = "affine-invariant"
    exact_map: ClassVar[Exact | None] = Exact(matrices, WIDEST / 2**0.5)

    def __new__(cls, size: int | None = None, metric: str = "affine") -> Any:
        if metric != "affine" and metric not in METRICS:
            raise ValueError(f"{cls.__name__}: no metric is called {metric!r}; there are affine, {', '.join(METRICS)}")
        return super().__new__(cls) if metric == "affine" else METRICS[metric](size)  # type: ignore[call-arg]

    def __init__(self, size: int, metric: str = "affine") -> None:
        object.__setattr__(self, "size", size)
        self.__post_init__()

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        array = self._real_batch(points)
        faults = self._faults(array)
        if not faults.any():
            return array, {}
        rows = np.flatnonzero(faults)
        array = array.copy()
        array[rows], found = self._look(array[rows])
        return array, {int(rows[row]): reason for row, reason in found.items()}

    def _faults(self, array: Array) -> NDArray[np.bool_]:
        """Return which matrices need a closer look: of many, all but those that are exactly symmetric and, in units of the
        median variances of the first, clearly positive definite; of few, all or none."""
        if self.size == 1 or array.size < MANY or compiled("spd_kernels") is None:
            return np.full(len(array), not _clearly_positive(array))
        variances = np.diagonal(array[:99], axis1=1, axis2=2)
        typical = np.median(np.where((variances > 0) & (variances < np.inf), variances, 1.0), axis=0)
        no_rule = np.array([1e5]), np.zeros(1, dtype=np.int64), np.zeros((1, 2, 0))
        return np.asarray(_kernel_sums(array, None, np.diag(1 / np.sqrt(typical)), no_rule)[1])

    def _look(self, array: Array) -> tuple[Array, dict[int, str]]:
        """Return symmetric matrices, and for each row that is not one, or is not positive definite, the reason."""
        array = array.copy()
        reasons = not_finite(array)
        array[list(reasons)] = np.eye(self.size)
        largest = np.abs(array).max(axis=(1, 2))
        skew = np.abs(array - array.mT).max(axis=(1, 2))
        words = (
            "is not symmetric: entries differ from their mirror images by up to {:.3g}, the largest entry being {:.3g}; "
            "average the matrix with its transpose if that is what you mean"
        )
        blame(reasons, skew > ASYMMETRY * largest, lambda row: words.format(skew[row], largest[row]))
        array = np.where(array == array.mT, array, _symmetric(array))  # subnormal numbers have no halves
        # definiteness is judged after scaling the diagonal to one: units must not matter, nor how they differ by row
        diagonal = np.diagonal(array, axis1=1, axis2=2)
        scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        correlation = array / scale[:, :, None] / scale[:, None, :]
        smallest = np.linalg.eigvalsh(correlation)[:, 0]
        bad = (diagonal <= 0).any(axis=1) | (smallest <= 4 * self.size * np.finfo(float).eps)
        blame(reasons, bad, lambda row: _not_positive(diagonal[row], float(np.linalg.eigvalsh(array[row])[0])))
        array[list(reasons)] = np.eye(self.size)
        return array, reasons

    def exp(self, base: Points, vectors: Points) -> Points:
        """Return L·Exp(L⁻¹vL⁻ᵀ)·Lᵀ, as base + L·(Exp − 1)·Lᵀ so that short steps keep their digits (Pennec and others 2006)."""
        factor, inverse = _factors(base)
        eigenvalues, vectors_ = np.linalg.eigh(_symmetric(inverse @ vectors @ inverse.mT))
        small = np.abs(eigenvalues).max(axis=-1, keepdims=True) < 0.5
        change = np.where(small, np.expm1(np.where(small, eigenvalues, 0.0)), np.exp(np.where(small, 0.0, eigenvalues)))
        side = factor @ vectors_
        moved = (side * change[..., None, :]) @ side.mT
        return _symmetric(np.where(small[..., None], base, 0.0) + moved)

    def log(self, base: Points, points: Points) -> Points:
        """Return L·Log(L⁻¹yL⁻ᵀ)·Lᵀ."""
        factor, inverse = _factors(base)
        return _symmetric(factor @ self._whitened_log(base, inverse, points) @ factor.mT)

    def distance(self, a: Points, b: Points) -> Array:
        """Return ‖Log(L⁻¹bL⁻ᵀ)‖, a = LLᵀ (Frobenius norm)."""
        whitened = self._whitened_log(a, _factors(a)[1], b)
        return np.asarray(np.linalg.norm(whitened, axis=(-2, -1)))

    def _whitened_log(self, base: Points, inverse: Points, points: Points) -> Points:
        # Log(1 + E) with E from the difference, which is exact for close points; the plain form for distant ones
        points, level = _in_range(base, points)
        difference = _symmetric(inverse @ (points - base) @ inverse.mT)
        eigenvalues, vectors = np.linalg.eigh(difference)
        near = (np.abs(eigenvalues).max(axis=-1) < 0.5) & (level == 0)
        if near.all():
            return _rebuild(vectors, np.log1p(eigenvalues))
        close = _rebuild(vectors, np.log1p(np.where(near[..., None], eigenvalues, 0.0)))
        distant = _matrix_log(_symmetric(inverse @ points @ inverse.mT)) + level[..., None, None] * np.eye(self.size)
        return np.where(near[..., None, None], close, distant)

    def inner(self, base: Points, u: Points, v: Points) -> Array:
        inverse = _factors(base)[1]
        first = inverse @ u @ inverse.mT
        return np.asarray(np.sum(first * (first if v is u else inverse @ v @ inverse.mT), axis=(-2, -1)))

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        """Return tangent vectors from the diagonal, then the upper triangle over √2, in the frame of the Cholesky factor."""
        factor = _factors(base)[0]
        return _symmetric(factor @ from_triangle(coordinates, self.size) @ factor.T)

    def coordinates(self, base: Points, vectors: Points) -> Array:
        inverse = _factors(base)[1]
        return triangle(_symmetric(inverse @ vectors @ inverse.T))

    def _chart(self, base: Points) -> Callable[[Points], Array]:
        inverse = _factors(base)[1]

        def of(points: Points) -> Array:
            made = self._by_turns(base, points, np.eye(self.size), np.inf)
            if made is None:
                return triangle(self._whitened_log(base, inverse, points))
            lost = np.isnan(made[:, 0, 0])
            if lost.any():
                made[lost] = self._whitened_log(base, inverse, points[lost])
            return triangle(made)

        return of

    def drawn_in(self, base: Points, points: Points, radius: float) -> Points | None:
        return self._by_turns(base, points, _factors(base)[0], radius)

    def _by_turns(self, base: Points, points: Points, outer: Array, radius: float) -> Array | None:
        """Return what compiled loops make of the logarithms of many small matrices, with NaN for those they cannot do."""
        kernels = compiled("spd_kernels") if 1 < self.size <= TURNED and points.size >= MANY else None
        if kernels is None:
            return None
        n = len(points)
        size = self.size**2
        made = np.empty((n, size))
        bad = np.zeros(n, dtype=bool)
        room = np.empty((4 * size + 2 * self.size + 2, kernels.LANES))
        # one kind of array, so that the loop is compiled once
        parts = np.array(base).reshape(size), np.array(_factors(base)[1], order="C"), np.array(outer, order="C")
        rows = np.ascontiguousarray(points).reshape(n, size)
        kernels.matrix_logs(rows, *parts, float(radius), 4 + self.size.bit_length(), room, made, bad)
        made[bad] = np.nan
        return made.reshape(points.shape)

    def square_sums(self, bases: Points, points: Points) -> Array:
        if self.size == 1 or points.size < MANY:
            return super().square_sums(bases, points)
        return np.array([self.moments(x, points).square for x in bases])

    def widest(self, low: float | None = None, high: float | None = None) -> tuple[Points, float]:
        """Return all matrices whose eigenvalues lie between two numbers: about √(low·high)·I within √k·½·ln(high/low)."""
        if low is None or high is None or not low > 0:
            raise ValueError(f"{self}: give two positive numbers between which all eigenvalues (variances) surely lie")
        return np.sqrt(low) * np.sqrt(high) * np.eye(self.size), float(np.sqrt(self.size) * np.log(high / low) / 2)

    def embedding(self) -> Embedding | None:
        return TriangleEmbedding(self.dim, self.size)

    def mean_log(self, bases: Points, points: Points, weights: Array | None = None) -> Points:
        """Return the means of few records at many bases all at once."""
        if self.size > 1 and points.size >= MANY:
            return super().mean_log(bases, points, weights)
        w = uniform_weights(len(points), weights)
        k = self.size
        factors, inverses = _factors(bases)
        total = np.zeros(bases.shape)
        for some in blocks(len(bases), 4 * len(points) * k * k):
            inverse = inverses[some][:, None]
            total[some] = in_pairs(
                operator.add,
                (
                    np.einsum("n,mnij->mij", w[part], _matrix_log(_symmetric(inverse @ points[part] @ inverse.mT)))
                    for part in runs(len(points), 4 * k * k * (some.stop - some.start))
                ),
            )
        return _symmetric(factors @ total @ factors.mT)

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """Return the mean of matrices over their largest variances, times the geometric mean of those: none counts for more."""
        some = points if weights is not None else points[:: max(1, len(points) // RUN)]
        w = uniform_weights(len(some), weights)
        largest = np.diagonal(some, axis1=1, axis2=2).max(axis=1)
        mean = _symmetric(np.tensordot(w / np.maximum(largest, 1e-300), some, 1) * np.exp(w @ np.log(largest)))
        return mean if np.linalg.eigvalsh(mean)[0] > 0 else some[0]

    def moments(
        self, base: Points, points: Points, weights: Array | None = None, accuracy: float = 0.0, adaptive: bool = False
    ) -> Moments:
        factor, inverse = _factors(base)
        many = points.size >= MANY or (adaptive and accuracy > ROUGH and loaded("spd_kernels"))
        fast = many and self.size > 1 and compiled("spd_kernels") is not None
        found = self._fast_sums(points, inverse, weights, accuracy) if fast else self._sums(points, inverse, weights)
        logs = _symmetric(factor @ found.logs @ factor.T)
        return Moments(found.weight, logs, found.hessian, found.square, found.error)

    def newton(self, base: Points, moments: Moments) -> Points:
        """Return Newton's step: along the identity the Hessian is 1 whatever the data; others share the rest of its trace."""
        if moments.hessian.ndim or self.size == 1:
            return super().newton(base, moments)
        inverse = _factors(base)[1]
        level = float(np.vdot(inverse @ moments.logs, inverse)) / self.size * base
        return np.asarray(level + (moments.logs - level) * ((self.dim - 1) / (float(moments.hessian) - 1)))

    def _sums(self, points: Points, inverse: Array, weights: Array | None) -> Moments:
        """Return the moments with whitened logarithms, by eigendecomposition."""
        k = self.size

        def of_run(part: slice) -> Moments:
            w = np.ones(len(points[part])) if weights is None else weights[part]
            eigenvalues, vectors = np.linalg.eigh(_symmetric(inverse @ points[part] @ inverse.T))
            logarithms = np.log(_positive(eigenvalues))
            columns = np.ascontiguousarray(np.swapaxes(vectors, 0, 1)).reshape(k, -1)
            logs = (columns * (w[:, None] * logarithms).ravel()) @ columns.T  # Σ w·U·diag(·)·Uᵀ as one product
            trace = np.asarray(w @ (self.dim + np.sum(coth_excess(half_gaps(logarithms)), axis=-1)))
            return Moments(float(w.sum()), logs, trace, float(w @ np.sum(logarithms**2, axis=1)))

        # k columns a record: a run of them is that much shorter
        return in_pairs(operator.add, map(of_run, blocks(len(points), k, RUN)))

    def _fast_sums(self, points: Points, inverse: Array, weights: Array | None, accuracy: float) -> Moments:
        """Return the same by compiled loops, without eigenvectors."""
        k = self.size
        accuracy = max(accuracy, 2e-15 * np.sqrt(k))  # which rounding takes
        rules = log_rules(10.0 ** np.floor(np.log10(accuracy / np.sqrt(k))))
        found, wide = _kernel_sums(points, weights, inverse, rules)
        logs = np.empty((k, k))
        (rows, columns) = _lower(k)
        (square, trace_square, weight) = found[-3:]
        logs[rows, columns] = logs[columns, rows] = found[:-3]
        # Σ over pairs of (half-gap)² = (k‖l‖² − tr²)/4, and t·coth t − 1 is nearly t²/3
        pairs = (k * square - trace_square) / 4
        trace = np.asarray(weight * self.dim + pairs / 3 / (1 + pairs / max(1e-300, weight * k * (k - 1) / 2) / 15))
        fast = Moments(float(weight), logs, trace, float(square), accuracy)
        if not wide.any():
            return fast
        # a few are summed the slow way; all of them would take longer, a timing side channel
        return fast + self._sums(points[wide], inverse, None if weights is None else weights[wide])

    @property
    def series_moments(self) -> bool:
        return self.size > 1

    def outside(self, base: Points, points: Points, radius: float) -> NDArray[np.bool_]:
        found = ~(self._squared_distances(base, points) <= (radius * (1 - 1e-6)) ** 2)
        found[found] = super().outside(base, points[found], radius)
        return found

    def _squared_distances(self, base: Points, points: Points) -> Array:
        """Return them from eigenvalues alone; distances below 1e-8 are lost in rounding."""
        inverse = _factors(base)[1]
        square = np.empty(len(points))
        for part in blocks(len(points), 4 * self.size**2):
            y, level = _in_range(base, points[part])
            white = _symmetric(inverse @ y @ inverse.T)
            if self.size == 2:
                square[part] = np.sum((_matrix_log(white) + level[:, None, None] * np.eye(2)) ** 2, axis=(1, 2))
            else:
                square[part] = np.sum((np.log(_positive(np.linalg.eigvalsh(white))) + level[:, None]) ** 2, axis=1)
        return square

    def hessian(self, base: Points, points: Points) -> Array | None:
        """Return Σ 1 + Q·diag(φ̃ − 1)·Qᵀ, Q the coordinates of U·E_pq·Uᵀ, p < q, U the eigenvectors of the whitened record."""
        inverse = _factors(base)[1]
        (rows, columns) = _upper(self.size)

        def of_run(part: slice) -> Array:
            eigenvalues, u = np.linalg.eigh(_symmetric(inverse @ points[part] @ inverse.T))
            excess = coth_excess(half_gaps(np.log(_positive(eigenvalues))))
            turned = np.moveaxis(u[:, :, None, rows] * u[:, None, :, columns], 3, 1) / np.sqrt(2)
            flat = triangle(turned + turned.mT).reshape(-1, self.dim)
            return np.asarray((flat.T * excess.ravel()) @ flat)

        excess = in_pairs(operator.add, map(of_run, runs(len(points), 4 * self.dim**2)))
        return len(points) * np.eye(self.dim) + excess

    def hessian_trace(self, base: Points, points: Points) -> Array:
        inverse = _factors(base)[1]
        eigenvalues = np.log(_positive(np.linalg.eigvalsh(_symmetric(inverse @ points @ inverse.mT))))
        return np.asarray(self.dim + np.sum(coth_excess(half_gaps(eigenvalues)), axis=-1))

    def rounding_error(self, center: Points, reach: float) -> float:
        """Return a bound: whitening by L⁻¹ multiplies errors by ‖|L⁻¹|·|L|‖², which no units change, and the logarithm by the
        condition number, which is at most exp(√2·reach)."""
        factor, inverse = _factors(center)
        skew = float(np.linalg.norm(np.abs(inverse) @ np.abs(factor), 2)) ** 2
        return 8 * float(np.sqrt(self.size)) * 2.0**-53 * skew * float(np.exp(min(600.0, np.sqrt(2) * reach)))


def _not_positive(diagonal: Array, smallest: float) -> str:
    """Return why a matrix is not a covariance matrix, and what helps."""
    words = f"is not positive definite to working precision: its smallest eigenvalue is {smallest:.3g}"
    channel = int(np.argmin(diagonal))
    if diagonal[channel] <= 0:
        return f"{words}, and the variance in row {channel + 1} is {diagonal[channel]:.3g}; leave out a silent channel"
    return (
        f"{words}, as of channels that say the same (after an average reference too), or of fewer time points than channels; "
        "leave out channels, or shrink every matrix by a share fixed beforehand, as 0.9·C + 0.1·(the diagonal of C)"
    )


def _kernel_sums(points: Points, weights: Array | None, inverse: Array, rules: Any) -> Any:
    """Return the sums of compiled loops, which read addresses: numbers have to be side by side, and weights come in eights."""
    kernels: Any = compiled("spd_kernels")
    w = np.zeros(-(-len(points) // kernels.LANES) * kernels.LANES)
    w[: len(points)] = 1.0 if weights is None else weights
    points = np.ascontiguousarray(points, dtype=np.float64)
    k = points.shape[-1]
    sums = np.zeros(k * (k + 1) // 2 + 3), np.zeros(len(points), dtype=bool)
    kernels.matrix_moments(points, w, np.array(inverse, order="C"), rules, kernels.room(k), *sums)
    return sums


_upper = lru_cache(maxsize=64)(partial(np.triu_indices, k=1))  # rows and columns of the entries above the diagonal
_lower = lru_cache(maxsize=64)(np.tril_indices)


def triangle(matrices: Array) -> Array:
    """Return the diagonal, then the upper triangle times √2: an isometry from the Frobenius norm."""
    rows, columns = _upper(matrices.shape[-1])
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    return np.concatenate([diagonal, np.sqrt(2) * matrices[..., rows, columns]], axis=-1)


def from_triangle(coordinates: Array, size: int) -> Array:
    """Return the symmetric matrices that have this diagonal and upper triangle: the inverse of :func:`triangle`."""
    rows, columns = _upper(size)
    matrix = np.zeros((*coordinates.shape[:-1], size, size))
    matrix[..., np.arange(size), np.arange(size)] = coordinates[..., :size]
    matrix[..., rows, columns] = matrix[..., columns, rows] = coordinates[..., size:] / np.sqrt(2)
    return matrix


def _symmetric(matrices: Points) -> Points:
    return matrices / 2 + matrices.mT / 2  # halved before they are added: no overflow


def _in_range(base: Points, matrices: Points) -> tuple[Points, Array]:
    """Return matrices over e^level, the levels being 0 except where products with the inverse of the base could overflow."""
    ratio = np.log2(np.abs(matrices).max(axis=(-2, -1))) - np.log2(np.abs(base).max(axis=(-2, -1)))
    power = np.where(np.abs(ratio) > 256, np.clip(np.rint(ratio), -1000, 1000), 0.0)
    return (np.ldexp(matrices, -power.astype(int)[..., None, None]) if power.any() else matrices), power * np.log(2)


def _clearly_positive(array: Array) -> bool:
    """Return whether all matrices are exactly symmetric and, over their variances, positive definite with room to spare."""
    variances = np.diagonal(array, axis1=1, axis2=2)
    if not (array == array.mT).all() or not ((variances > 0) & (variances < np.inf)).all():
        return False
    scale = np.sqrt(variances)
    try:
        np.linalg.cholesky(array / scale[:, :, None] / scale[:, None, :] - 1e-5 * np.eye(array.shape[-1]))
    except np.linalg.LinAlgError:
        return False
    return True


def _factors(base: Points) -> tuple[Array, Array]:
    """Return Cholesky's factor L of matrices, and its inverse: those of one matrix are asked for again and again."""
    base = np.asarray(base, dtype=np.float64)
    if base.ndim == 2:
        return _factors_of_one(base.tobytes(), len(base))
    factor = np.asarray(np.linalg.cholesky(base))
    return factor, _inverse(factor)


@lru_cache(maxsize=8)
def _factors_of_one(base: bytes, size: int) -> tuple[Array, Array]:
    factor = np.asarray(np.linalg.cholesky(np.frombuffer(base).reshape(size, size)))
    return factor, _inverse(factor)


def _inverse(factor: Points) -> Array:
    """Return L⁻¹ by substitution.  LAPACK's inverse exchanges rows, which mixes those of very different units."""
    if factor.ndim == 2:
        return np.asarray(dtrtri(factor, lower=1)[0])
    inverse = np.zeros(factor.shape)
    for i in range(factor.shape[-1]):
        inverse[..., i, i] = 1.0
        inverse[..., i, :i] = -(factor[..., None, i, :i] @ inverse[..., :i, :i])[..., 0, :]
        inverse[..., i, : i + 1] /= factor[..., i, i, None]
    return inverse


def half_gaps(eigenvalues: Array) -> Array:
    """Return half of how far apart two eigenvalues of a matrix are, for each pair."""
    rows, columns = _upper(eigenvalues.shape[-1])
    return np.abs(eigenvalues[..., rows] - eigenvalues[..., columns]) / 2


def whiten(factor: Points, matrices: Points) -> Points:
    """Return L⁻¹·m·L⁻ᵀ."""
    inverse = _inverse(factor)
    return _symmetric(inverse @ matrices @ inverse.mT)


def _rebuild(vectors: Points, eigenvalues: Array) -> Points:
    return (vectors * eigenvalues[..., None, :]) @ vectors.mT


def _positive(eigenvalues: Array) -> Array:
    """Return positive eigenvalues: rounding can push one that is 1e16 times below the largest under zero; hold it there."""
    return np.maximum(eigenvalues, eigenvalues[..., -1:] * 1e-20)


def _matrix_log(matrices: Points) -> Points:
    """Return Log of positive definite matrices; closed form for 2×2, where Log W = ½log det·1 + artanh(δ/μ)/δ·(W − μ·1)."""
    if matrices.shape[-1] != 2:
        eigenvalues, vectors = np.linalg.eigh(matrices)
        return _rebuild(vectors, np.log(_positive(eigenvalues)))
    a = matrices[..., 0, 0]
    b = matrices[..., 0, 1]
    c = matrices[..., 1, 1]
    mean = (a + c) / 2
    half = (a - c) / 2
    gap = np.hypot(half, b)
    ratio = np.minimum(gap / mean, 1 - 1e-16)
    alpha = np.log(mean) + 0.5 * np.log1p(-ratio * ratio)
    beta = np.where(ratio < 1e-8, 1.0, np.arctanh(ratio) / np.where(ratio < 1e-8, 1.0, ratio)) / mean
    result = np.empty(matrices.shape)
    result[..., 0, 0] = alpha + beta * half
    result[..., 1, 1] = alpha - beta * half
    result[..., 0, 1] = result[..., 1, 0] = beta * b
    return result
