"""Records that stay where they are, read anew in every pass.

What a mechanism asks is a sum over records.  Each part of the data is summed where it is read, and the sums are added up
in the order of the parts, so neither threads, nor workers, nor a task that had to be run again can change the answer.
"""

import operator
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import InvalidPointError
from ..numerics.arrays import MANY, Array, Points, in_pairs
from ..spaces.base import Moments, Space
from .memory import SAMPLE, Records, one_thread
from .on_dask import check_workers, on_dask
from .sources import COPIES, MEMORY, Part, chunk_rows, errors_in_words, parts_of

T = TypeVar("T")
Progress = Callable[[int, int, int], None]  # the pass, parts done, parts in all

FEW = 3  # dimensions up to which a chunk too small for compiled kernels still tells its whole Hessian
LOST = "Nothing was released; what was charged stays charged"
MOST_LISTED = 10_000  # bad records whose reasons are kept


@dataclass(eq=False)
class LazyRecords(Records):
    """Parts of the data, read anew in every pass.

    ``prepare`` makes canonical points of what is read.  A first pass counts the records and finds those that are not
    points, unless they are to be replaced.  ``progress(pass, done, parts)`` is called after every part.
    """

    space: Space
    parts: list[Any]
    prepare: Callable[[Any], Points]
    workers: int
    memory: int
    check: bool = True
    progress: Progress | None = None
    weights = None
    passes = 0
    surveyed = False

    def __post_init__(self) -> None:
        self.rows = chunk_rows(self.space, self.memory, self.workers)
        self.on_dask = bool(self.parts) and not isinstance(self.parts[0], Part)
        if self.on_dask:
            check_workers(self.parts)
        with errors_in_words():
            sums = self._pass(None, partial(_survey, self.space, self.check), _join)
        self.surveyed = True
        self.counts = [0 if one is None else one.value.n for one in sums]
        survey = reduce(_join, (one.value for one in sums if one is not None), _Survey(0, 0, {}))
        self.n = survey.n
        if survey.reasons:
            error = InvalidPointError(survey.reasons)
            if survey.bad > len(survey.reasons):
                error.parts = (*error.parts, f"; {survey.bad} in all")
            raise error

    @property
    def points(self) -> Points:  # type: ignore[override]
        raise ValueError("this needs all records in memory at once, not data that are read in parts: give an array")

    def reduce(self, function: Callable[..., T], combine: Callable[[Any, Any], Any] = operator.add) -> T:
        sums = [one for one in self._pass(self.prepare, function, combine) if one is not None]
        if sum(one.n for one in sums) != self.n:
            raise RuntimeError(f"the data changed while they were read: there were {self.n} records. {LOST}")
        return in_pairs(combine, (one.value for one in sums))  # type: ignore[no-any-return]

    def start(self) -> Points:
        """Return a point near the mean of the first records, as many whatever the parts are."""
        most = min(SAMPLE, self.n, max(1, self.memory // (COPIES * self.space.origin().nbytes)))
        enough = int(np.searchsorted(np.cumsum(self.counts), most)) + 1
        job = partial(_start, self.space, self.prepare, self.rows, most)
        return self._run(job, [self.parts[:enough]], lambda done: None)[0]

    @staticmethod
    def _moments(space: Space, base: Points, how: tuple[float, bool], points: Points, weights: Array | None) -> Moments:
        """Return moments with the whole Hessian also of few points: added to others, a trace would leave a trace of both."""
        moments = space.moments(base, points, weights, *how)
        if moments.hessian.ndim == 0 and space.dim <= FEW and points.size < MANY:
            hessian = space.hessian(base, points)
            return moments if hessian is None else replace(moments, hessian=hessian)
        return moments

    def _pass(self, prepare: Any, function: Callable[..., T], combine: Any) -> "list[_Sum | None]":
        self.passes += 1

        def tick(done: int) -> None:
            if self.progress is not None:
                self.progress(self.passes, done, len(self.parts))

        return self._run(partial(_total, self.rows, prepare, function, combine), self.parts, tick)

    def _run(self, job: Callable[[Any], T], parts: list[Any], tick: Callable[[int], None]) -> list[T]:
        """Return what the job gives for each part, in the order of the parts.  After the first pass, and so after the charge,
        the words of errors that other packages raise as they read are withheld."""
        try:
            if self.on_dask:
                return on_dask(job, parts, tick)
            results = []
            with one_thread(), ThreadPoolExecutor(self.workers) as pool:
                for result in pool.map(job, parts) if self.workers > 1 else map(job, parts):
                    results.append(result)
                    tick(len(results))
            return results
        except Exception:
            if not self.surveyed:
                raise
        raise RuntimeError(f"the data could be read once, but not again: see whether they are still there. {LOST}")


def stream(
    space: Space, points: Any, prepare: Callable[[Any], Points], workers: int = 1, memory: int = MEMORY, **options: Any
) -> LazyRecords | None:
    """Return records of data that are not in memory, with options of :class:`LazyRecords`; None for data that are, or fit well.

    Known are ``numpy.memmap``, HDF5 and Zarr arrays; Arrow tables, datasets and Parquet files; Dask arrays, bags and lists
    of delayed partitions.
    """
    if type(points) is np.ndarray:
        return None
    parts = parts_of(points, space, chunk_rows(space, memory, workers), memory)
    return None if parts is None else LazyRecords(space, parts, prepare, workers, memory, **options)


def is_lazy(space: Space, points: Any, memory: int = MEMORY) -> bool:
    """Tell whether :func:`stream` would read the points in parts."""
    return parts_of(points, space, chunk_rows(space, memory, 1), memory) is not None


class _Sum(NamedTuple):
    value: Any
    n: int


class _Survey(NamedTuple):
    n: int
    bad: int
    reasons: dict[int, str]


def _pieces(part: Any, rows: int) -> Iterator[Any]:
    """Return what a part holds, at most so many records at a time."""
    pieces: Iterator[Any]
    if isinstance(part, Part):
        pieces = iter(part)
    elif hasattr(part, "shape"):
        pieces = (part[a : a + rows] for a in range(0, len(part), rows))
    else:
        records = iter(part)
        pieces = iter(lambda: list(islice(records, rows)), [])
    return (piece for piece in pieces if len(piece))


def _total(rows: int, prepare: Any, function: Any, combine: Any, part: Any) -> _Sum | None:
    """Return the function summed over the chunks of a part; None for a part without records."""

    def of_piece(piece: Any) -> _Sum:
        return _Sum(function(piece if prepare is None else prepare(piece), None), len(piece))

    def add(a: _Sum, b: _Sum) -> _Sum:
        return _Sum(combine(a.value, b.value), a.n + b.n)

    sums = map(of_piece, _pieces(part, rows))
    first = next(sums, None)
    return None if first is None else in_pairs(add, chain([first], sums))


def _start(space: Space, prepare: Any, rows: int, most: int, parts: list[Any]) -> Points:
    first: list[Points] = []
    left = most
    for piece in chain.from_iterable(_pieces(part, min(rows, most)) for part in parts):
        first.append(prepare(piece[:left]))
        left -= len(first[-1])
        if left <= 0:
            break
    return space.mean_start(np.concatenate(first))


def _survey(space: Space, check: bool, raw: Any, _: None) -> _Survey:
    if not check:
        return _Survey(len(raw), 0, {})
    canonical, reasons = space.diagnose(raw)
    return _Survey(len(canonical), len(reasons), dict(islice(sorted(reasons.items()), MOST_LISTED)))


def _join(a: _Survey, b: _Survey) -> _Survey:
    later = ((a.n + row, reason) for row, reason in b.reasons.items())
    return _Survey(a.n + b.n, a.bad + b.bad, dict(islice(chain(a.reasons.items(), later), MOST_LISTED)))
