"""Compositions: shares of a whole, compared by their square roots or by their ratios."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import helmert

from ..numerics.arrays import Array, Points
from .base import Space, blame, not_finite, whole_number
from .euclidean import Flat
from .exact import Exact
from .sphere import Sphere

LEAST = float(np.finfo(np.float64).tiny)  # a share that is smaller is written as this, as its logarithm must exist


@dataclass(frozen=True, init=False, repr=False)
class Simplex(Sphere):
    """Compositions: ``parts`` shares that are not negative, and sum to 1.

    With the square-root metric a composition p is the point 2·(√p₁, …, √p_D) of a sphere of radius 2: distances are those of
    Fisher and Rao, 2·arccos Σ√(pⱼqⱼ), of curvature ¼, and shares may be 0.  All mechanisms are those of the sphere; what noise
    takes out of its positive part is written by squares, (y/2)², which lie no farther from any composition.  With
    ``metric="aitchison"`` compositions are compared by the ratios of their parts (:class:`~sfumato.spaces.simplex.Aitchison`).

    Rows may be percentages or counts: each is divided by its sum (Rao 1945; Bhattacharyya 1946; Aitchison 1982).

    >>> space = Simplex(parts=3)
    >>> even, one = space.validate([[20.0, 20.0, 20.0], [1.0, 0.0, 0.0]])
    >>> round(float(space.distance(even, one)), 6), space.present(even).round(6).tolist()
    (1.910633, [0.333333, 0.333333, 0.333333])
    >>> Simplex(parts=3, metric="aitchison")
    Aitchison(parts=3)
    """

    name: ClassVar[str] = "simplex"
    metric: ClassVar[str] = "Fisher and Rao's: geodesic distance between square roots on a sphere of radius 2"
    size_option: ClassVar[str | None] = "parts"
    least_size: ClassVar[int] = 2
    usual_size: ClassVar[int | None] = None
    small: ClassVar[dict[str, Any]] = {"parts": 3}
    by_name: ClassVar[bool] = True
    directions: ClassVar[bool] = False
    exact_map: ClassVar[Exact | None] = Sphere.exact_map

    def __new__(cls, parts: int = 0, metric: str = "square-root") -> Any:
        if metric not in ("square-root", "aitchison"):
            raise ValueError(f"Simplex: metric must be 'square-root' or 'aitchison', not {metric!r}")
        return Aitchison(parts) if metric == "aitchison" else super().__new__(cls)

    def __init__(self, parts: int, metric: str = "square-root") -> None:
        vars(self).update(dim=whole_number("Simplex", "parts", parts, 2) - 1, curvature=0.25)

    @property
    def parts(self) -> int:
        return self.dim + 1

    __repr__ = Space.__repr__

    def parameters(self) -> dict[str, Any]:
        return {"parts": self.parts}

    def origin(self) -> Points:
        return np.full(self.parts, 2 / np.sqrt(self.parts))

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        shares, reasons = closed(self._real_batch(points))
        roots = np.sqrt(shares)
        return 2 * roots / np.linalg.norm(roots, axis=1, keepdims=True), reasons

    def present(self, points: Points) -> Array:
        """Return squares, that sum to 1."""
        squares = np.square(points)
        return np.asarray(squares / squares.sum(axis=-1, keepdims=True))

    def corrections(self, points: Array) -> list[str]:
        return not_one(points)

    embedding = Space.embedding  # shares lie in none


@dataclass(frozen=True)
class Aitchison(Flat):
    """Compositions of ``parts`` positive shares, compared by the logarithms of their ratios (Aitchison 1982).

    distance² = Σ(ln(pⱼ/g(p)) − ln(qⱼ/g(q)))², g the geometric mean: isometric coordinates (ilr; Egozcue and others 2003), here
    Helmert's contrasts, lay them out flat; all mechanisms are those of R^(D−1).  A share of 0 has no logarithm and is refused.

    >>> space = Simplex(parts=2, metric="aitchison")
    >>> a, b = space.validate([[1.0, 1.0], [4.0, 1.0]])
    >>> round(float(space.distance(a, b)), 6)  # ln 4/√2
    0.980258
    """

    parts: int
    name: ClassVar[str] = "aitchison"
    metric: ClassVar[str] = "Aitchison's: Euclidean distance between centred logarithms of the parts"
    size_option: ClassVar[str | None] = "parts"
    least_size: ClassVar[int] = 2
    small: ClassVar[dict[str, Any]] = {"parts": 3}

    def _dimension(self) -> int:
        return self.parts - 1

    @property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        return {"parts": (self.parts,)}

    def look(self, points: Array) -> tuple[Points, dict[int, str]]:
        shares, reasons = closed(points)
        words = (
            "has a part that is 0 beside the others: part {}; ratios need positive parts: put a small public value, such as "
            "the detection limit, in place of zeros, or use Simplex with its square-root metric"
        )
        blame(reasons, (shares <= 0).any(axis=1), lambda row: words.format(np.argmax(shares[row] <= 0) + 1))
        shares[list(reasons)] = 1.0
        return shares, reasons

    def to_flat(self, points: Points) -> Array:
        logs = np.log(points)
        return np.asarray((logs - logs.mean(axis=1, keepdims=True)) @ helmert(self.parts).T)

    def from_flat(self, vectors: Array) -> Points:
        logs = vectors @ helmert(self.parts)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(np.maximum(weights / weights.sum(axis=1, keepdims=True), LEAST))

    def corrections(self, points: Array) -> list[str]:
        return not_one(points)


def closed(array: Array) -> tuple[Array, dict[int, str]]:
    """Return rows over their sums, and why a row cannot be that."""
    reasons = not_finite(array)
    first = np.argmax(array < 0, axis=1)
    words = "has a negative part: part {} is {:g}; shares are 0 or more"
    nothing = "has no part above 0: a whole of nothing has no shares; leave the record out"
    blame(reasons, (array < 0).any(axis=1), lambda row: words.format(first[row] + 1, array[row, first[row]]))
    blame(reasons, ~(array != 0).any(axis=1), lambda _: nothing)
    shares = array.copy()
    shares[list(reasons)] = 1.0
    shares /= shares.max(axis=1, keepdims=True)
    return shares / shares.sum(axis=1, keepdims=True), reasons


def not_one(points: Array) -> list[str]:
    """Return what is said of rows that are not shares yet."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = points.sum(axis=1)
        others = sums[np.isfinite(sums) & (np.abs(sums - 1) > 1e-6)]
    if not len(others):
        return []
    low = f"{others.min():.6g}"
    high = f"{others.max():.6g}"
    span = low if low == high else f"{low} up to {high}"
    return [f"{len(others)} of {len(points)} records do not sum to 1, but to {span}; each is divided by its sum"]
