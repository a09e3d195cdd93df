"""Records: points of a space that functions are summed over, however they are stored."""

import operator
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from ..numerics.arrays import BLOCK, RUN, Array, Points, add_each, blocks, in_pairs
from ..spaces.base import Moments, Space

T = TypeVar("T")
SAMPLE = 1 << 18  # records that the solver's first guess is made from
PART = RUN * RUN  # records that are summed at once: as many runs as a run has records


class Records:
    """Canonical points in memory, with weights or without.

    Everything that a mechanism asks of the data is a sum over records, so it is all one method, :meth:`reduce`; data
    elsewhere (``lazy.py``) come as a subclass with another one.
    """

    adaptive = False  # as :meth:`Space.moments` takes it

    def __init__(self, space: Space, points: Points, weights: Array | None = None, workers: int = 1) -> None:
        self.space = space
        self.points = points
        self.weights = weights
        self.workers = workers
        self.n = len(points)
        self.passes = 0

    def reduce(self, function: Callable[..., T], combine: Callable[[Any, Any], Any] = operator.add) -> T:
        """Return ``function(points, weights)`` of all records: of parts of them, combined in a fixed order."""
        self.passes += 1
        workers = self.workers if self.points.size > self.space.threaded else 1
        count = max(-(-self.n // PART), 4 * workers if workers > 1 else 1)
        if count == 1:
            return function(self.points, self.weights)
        edges = np.linspace(0, self.n, min(self.n, count) + 1).astype(int)
        weights = repeat(None) if self.weights is None else np.split(self.weights, edges[1:-1])
        parts = (np.split(self.points, edges[1:-1]), weights)
        if workers == 1:
            return in_pairs(combine, map(function, *parts))
        with ThreadPoolExecutor(workers) as pool:
            return in_pairs(combine, pool.map(function, *parts))

    def start(self) -> Points:
        """Return a point near the mean, from some of the records."""
        some = slice(None, None, max(1, self.n // SAMPLE))
        weights = None if self.weights is None or not self.weights[some].any() else self.weights[some]
        return self.space.mean_start(self.points[some], weights)

    def moments(self, base: Points, accuracy: float = 0.0) -> Moments:
        """Return the mean logarithm, mean Hessian and mean square at a point."""
        return mean_of(self.reduce(partial(self._moments, self.space, base, (accuracy, self.adaptive)), add_moments))

    @staticmethod
    def _moments(space: Space, base: Points, how: tuple[float, bool], points: Points, weights: Array | None) -> Moments:
        return space.moments(base, points, weights, *how)

    def mean_log(self, bases: Points) -> Points:
        """Return the mean of log at each base."""
        total, weight = self.reduce(partial(_log_sums, self.space, bases), add_each)
        return np.asarray(total / weight)

    def hessian(self, base: Points) -> Array | None:
        """Return the mean Hessian in the coordinates at a point, None where the space does not offer it; without weights."""
        total = self.reduce(partial(_hessian, self.space, base), _add_known)
        return None if total is None else total / self.n

    def mean(self, function: Callable[[Points], Array]) -> Array:
        """Return the mean over records of a function's rows; without weights."""
        return self.reduce(partial(_row_sums, function)) / self.n


def _log_sums(space: Space, bases: Points, points: Points, weights: Array | None) -> tuple[Points, float]:
    weight = float(len(points) if weights is None else weights.sum())
    if weight == 0:
        return np.zeros(bases.shape, dtype=bases.dtype), 0.0
    return weight * space.mean_log(bases, points, weights), weight


def _hessian(space: Space, base: Points, points: Points, _: Array | None) -> Array | None:
    return space.hessian(base, points)


def _row_sums(function: Callable[[Points], Array], points: Points, _: Array | None) -> Array:
    # along the fast axis NumPy adds in pairs, so that errors grow with the logarithm of n
    return np.asarray(np.ascontiguousarray(np.moveaxis(function(points), 0, -1)).sum(axis=-1))


def mean_of(total: Moments) -> Moments:
    """Return sums over records divided by the sum of their weights."""
    share = 1 / total.weight
    return Moments(1.0, total.logs * share, total.hessian * share, total.square * share, total.error)


def add_moments(a: Moments, b: Moments) -> Moments:
    """Return the sum, with the Hessian's trace where one of the two knows no more than that."""
    if a.hessian.ndim != b.hessian.ndim:
        a, b = (replace(one, hessian=np.asarray(np.trace(np.atleast_2d(one.hessian)))) for one in (a, b))
    return a + b


def _add_known(a: Array | None, b: Array | None) -> Array | None:
    return None if a is None or b is None else a + b


@lru_cache(maxsize=1)
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread: with more, loops over small products get slower, a hundred times on a busy machine."""
    libraries = _libraries()
    if all(one.num_threads == 1 for one in libraries.lib_controllers):  # asking is quick, setting is not
        return nullcontext()
    return libraries.limit(limits=1)  # type: ignore[no-any-return]


class Mapped(Records):
    """Points that a function makes of the records of another space, each by itself."""

    def __init__(self, records: Records, space: Space, function: Callable[[Points], Points]) -> None:
        self.records = records
        self.space = space
        self.function = function
        self.n = records.n

    def reduce(self, function: Callable[..., T], combine: Callable[[Any, Any], Any] = operator.add) -> T:
        row = int(np.prod(self.space.point_shape))
        return self.records.reduce(partial(_mapped, self.function, function, combine, row), combine)


def _mapped(
    first: Callable[[Points], Points],
    function: Callable[..., T],
    combine: Callable[[Any, Any], Any],
    row: int,
    points: Points,
    weights: Array | None,
) -> T:
    """Return the combined results of blocks of records, each as large as memory allows."""
    parts = blocks(len(points), row, BLOCK) or [slice(0, 0)]
    results = (function(first(points[part]), None if weights is None else weights[part]) for part in parts)
    return in_pairs(combine, results)
