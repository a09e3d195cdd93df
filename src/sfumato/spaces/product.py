"""Products of spaces: a shape with its size, a direction with a scale, the covariance matrices of two groups of channels."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points, as_numbers
from .base import Space
from .euclidean import Euclidean
from .sphere import Sphere


@dataclass(frozen=True, init=False)
class Product(Space):
    """Points that are made of one point in each of several spaces: distance² = Σ (wⱼ·dⱼ)².

    The weight of a part multiplies its *distances*: 0.5 makes a distance of 1 there count as 0.5.  Choose weights so that
    parts in different units can be added, from public knowledge: they are as public as the radius.  The metric is Σ wⱼ²·gⱼ,
    so exponentials, logarithms and Fréchet means are those of the parts, one beside the other (do Carmo 1992).

    One point is written as a row of numbers: those of the first part as that space writes them (landmarks x1, y1, x2, y2, …;
    matrices row by row), then those of the second, and so on.  :meth:`join` makes such rows, :meth:`split` takes them apart.
    Releases are by chart: bounds of the parts are none of the product.  Weights are 1 unless given.

    >>> from sfumato import Euclidean, Sphere
    >>> space = Product(Sphere(dim=2), Euclidean(dim=1), weights=[1, 0.5])
    >>> rows = space.join([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], [2.0, 5.0])
    >>> rows.tolist()
    [[0.0, 0.0, 1.0, 2.0], [1.0, 0.0, 0.0, 5.0]]
    >>> round(float(space.distance(*space.validate(rows))), 6), round(float(np.hypot(np.pi / 2, 0.5 * 3)), 6)
    (2.171958, 2.171958)
    >>> space.typed
    'product(sphere(dim=2, curvature=1.0), euclidean(dim=1), weights=[1.0, 0.5])'
    """

    parts: tuple[Space, ...]
    weights: tuple[float, ...]
    dim: int = field(compare=False)
    name: ClassVar[str] = "product"
    metric: ClassVar[str] = "root of the sum of squared weighted distances in the parts"
    by_name: ClassVar[bool] = True

    def __init__(self, *parts: Space, weights: Sequence[float] | None = None) -> None:
        if len(parts) < 2 or not all(isinstance(part, Space) for part in parts):
            raise ValueError("Product: give two spaces or more, as in product(sphere(dim=2), euclidean(dim=1))")
        given = [1.0] * len(parts) if weights is None else weights
        if not isinstance(given, Iterable) or not all(isinstance(w, Real) and 0 < float(w) < np.inf for w in given):
            raise ValueError(f"Product: weights must be positive numbers, one for each space, not {weights!r}")
        if len(given) != len(parts):
            raise ValueError(f"Product: {len(given)} weights for {len(parts)} spaces; give one for each")
        vars(self).update(parts=parts, weights=tuple(map(float, given)), dim=sum(part.dim for part in parts))

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.parts))}, weights={list(self.weights)})"

    @classmethod
    def example(cls) -> Space:
        """Return the product of a small sphere and a line."""
        return cls(Sphere(dim=2), Euclidean(dim=1))

    def parameters(self) -> dict[str, Any]:
        from . import recorded_name

        parts = [{"name": recorded_name(part), "parameters": part.parameters()} for part in self.parts]
        return {"parts": parts, "weights": list(self.weights)}

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Space:
        from . import space_from

        parts = (space_from(part["name"], part["parameters"]) for part in parameters["parts"])
        return cls(*parts, weights=parameters["weights"])

    @property
    def typed(self) -> str:
        return f"{self.name}({', '.join(part.typed for part in self.parts)}, weights={list(self.weights)})"

    # -- parts of a point, and points of parts ---------------------------------------------------------------------------
    def origin(self) -> Points:
        return self._flat(part.origin() for part in self.parts)

    def _flat(self, points: Iterable[Points]) -> Points:
        """Return one row of real numbers from canonical points, or vectors, of each part."""
        rows = []
        for part, array in zip(self.parts, points, strict=True):
            lead = array.shape[: array.ndim - len(part.point_shape)]
            rows.append(np.ascontiguousarray(array).view(np.float64).reshape(*lead, -1))
        return np.concatenate(rows, axis=-1)

    def _parted(self, rows: Points) -> list[Points]:
        """Return canonical points, or vectors, of each part from rows of real numbers."""
        origins = [part.origin() for part in self.parts]
        cut = zip(origins, _cut(rows, [origin.nbytes // 8 for origin in origins]), strict=True)
        return [array.view(origin.dtype).reshape(*array.shape[:-1], *origin.shape) for origin, array in cut]

    def _each(self, function: str, *rows: Points) -> list[Any]:
        """Return what a method of each part makes of its share of the rows."""
        shares = zip(*map(self._parted, rows), strict=True)
        return [getattr(part, function)(*share) for part, share in zip(self.parts, shares, strict=True)]

    @property
    def _shapes(self) -> list[tuple[int, ...]]:
        """The shape of a point of each part as users write it."""
        return [part.present(part.origin()).shape for part in self.parts]

    def join(self, *parts: ArrayLike) -> Array:
        """Return rows of numbers, (n, m), from points of each part, in any way that part takes them.

        >>> from sfumato import Euclidean, PlanarShapes
        >>> space = Product(PlanarShapes(landmarks=3), Euclidean(dim=1))
        >>> space.join([[[0, 0], [1, 0], [0, 2]]], [7]).tolist()
        [[0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 7.0]]
        """
        if len(parts) != len(self.parts):
            raise ValueError(f"{self}: points of {len(self.parts)} parts are due, not of {len(parts)}")
        rows = []
        for space, shape, given in zip(self.parts, self._shapes, parts, strict=True):
            array = as_numbers(given)
            plain = not np.iscomplexobj(array) and (array.shape[1:] == shape or (array.ndim == 1 and shape == (1,)))
            points = array if plain else space.present(space.validate(array))  # another layout
            rows.append(np.asarray(points, dtype=np.float64).reshape(len(points), int(np.prod(shape))))
        if len(set(map(len, rows))) > 1:
            counts = ", ".join(str(len(row)) for row in rows)
            raise ValueError(f"{self}: the parts hold {counts} records; give as many of each")
        return np.concatenate(rows, axis=1)

    def split(self, points: ArrayLike) -> list[Array]:
        """Return the points of each part, as that space writes them, from rows of numbers, (n, m), or from one row.

        >>> from sfumato import Euclidean, SPD
        >>> [part.tolist() for part in Product(SPD(size=2), Euclidean(dim=1)).split([2.0, 0.0, 0.0, 3.0, 0.5])]
        [[[2.0, 0.0], [0.0, 3.0]], [0.5]]
        """
        rows = np.asarray(as_numbers(points), dtype=np.float64)
        columns = [int(np.prod(shape)) for shape in self._shapes]
        if rows.shape[-1:] != (sum(columns),):
            raise ValueError(f"{self}: points have shape {rows.shape}, expected (n, {sum(columns)})")
        cut = _cut(rows, columns)
        return [array.reshape(*array.shape[:-1], *shape) for array, shape in zip(cut, self._shapes, strict=True)]

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        array = self._real_batch(points)
        found = []
        reasons = dict[int, str]()
        for i, (part, given) in enumerate(zip(self.parts, self.split(array), strict=True), start=1):
            canonical, wrong = part.diagnose(given)
            found.append(canonical)
            for row, words in wrong.items():
                reasons.setdefault(row, f"in part {i}, {part.name}: {words}")
        return self._flat(found), reasons

    def present(self, points: Points) -> Array:
        shown = self._each("present", points)
        lead = np.shape(points)[:-1]
        return np.concatenate([np.reshape(array, (*lead, -1)) for array in shown], axis=-1)

    def corrections(self, points: Array) -> list[str]:
        shares = enumerate(zip(self.parts, self.split(points), strict=True), start=1)
        return [f"in part {i}, {part.name}: {words}" for i, (part, rows) in shares for words in part.corrections(rows)]

    def align(self, base: Points, points: Points) -> Points:
        return self._flat(self._each("align", base, points))

    # -- geometry --------------------------------------------------------------------------------------------------
    def exp(self, base: Points, vectors: Points) -> Points:
        return self._flat(self._each("exp", base, vectors))

    def retract(self, base: Points, vectors: Points) -> Points:
        return self._flat(self._each("retract", base, vectors))

    def log(self, base: Points, points: Points) -> Points:
        return self._flat(self._each("log", base, points))

    def distance(self, a: Points, b: Points) -> Array:
        """Return √Σ (wⱼ·dⱼ)²."""
        return self._length(self._each("distance", a, b))

    def norm(self, base: Points, vectors: Points) -> Array:
        return self._length(self._each("norm", base, vectors))

    def _length(self, lengths: Sequence[Any]) -> Array:
        return np.asarray(np.hypot.reduce([w * one for w, one in zip(self.weights, lengths, strict=True)]))

    def inner(self, base: Points, u: Points, v: Points) -> Array:
        """Return Σ wⱼ²·⟨u, v⟩ⱼ."""
        each = self._each("inner", base, u, v)
        return np.asarray(sum(w * w * one for w, one in zip(self.weights, each, strict=True)))

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        shares = _cut(coordinates, [part.dim for part in self.parts])
        each = zip(self.parts, self._parted(base), shares, self.weights, strict=True)
        return self._flat(part.from_coordinates(x, share / w) for part, x, share, w in each)

    def coordinates(self, base: Points, vectors: Points) -> Array:
        """Return those of the parts one after another, each times its weight."""
        each = self._each("coordinates", base, vectors)
        return np.concatenate([w * one for w, one in zip(self.weights, each, strict=True)], axis=-1)

    def _chart(self, base: Points) -> Callable[[Points], Array]:
        maps = [part.log_map(x) for part, x in zip(self.parts, self._parted(base), strict=True)]

        def of(points: Points) -> Array:
            each = zip(self.weights, maps, self._parted(points), strict=True)
            return np.concatenate([w * one(share) for w, one, share in each], axis=-1)

        return of

    # -- means and rounding --------------------------------------------------------------------------------------------
    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        each = zip(self.parts, self._parted(points), strict=True)
        return self._flat(part.mean_start(share, weights) for part, share in each)

    def hessian_trace(self, base: Points, points: Points) -> Array:
        return np.asarray(sum(self._each("hessian_trace", base, points)))

    def rounding_error(self, center: Points, reach: float) -> float:
        """Return the length of the bounds of the parts times their weights; points of a part lie within reach/wⱼ."""
        each = zip(self.parts, self._parted(center), self.weights, strict=True)
        return float(self._length([part.rounding_error(x, reach / w) for part, x, w in each]))

    def largest_term(self, reach: float) -> float:
        each = zip(self.parts, self.weights, strict=True)
        return float(self._length([part.largest_term(reach / w) for part, w in each]))


def _cut(rows: Array, columns: Sequence[int]) -> list[Array]:
    """Return columns of rows, so many at a time."""
    ends = np.cumsum([0, *columns])
    return [np.ascontiguousarray(rows[..., a:b]) for a, b in pairwise(ends)]
