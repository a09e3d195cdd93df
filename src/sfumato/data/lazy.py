"""Records that stay where they are: arrays and tables read in chunks, and partitions held by the workers of Dask.

What a mechanism asks is a sum over records.  Each part of the data is summed where it is read, and the sums are added up
in the order of the parts, so neither threads, nor workers, nor a task that had to be run again can change the answer.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..records import SAMPLE, Records, add_moments, one_thread
from ..spaces.base import MANY, Array, InvalidPointError, Moments, Points, Space, in_pairs

T = TypeVar("T")
Progress = Callable[[int, int, int], None]  # the pass, parts done, parts in all

MEMORY = 1 << 28  # bytes, unless told
COPIES = 6  # of a chunk of records that may be in memory while it is worked on
MOST_ROWS = 1 << 18  # a larger chunk is no faster
FEW = 3  # dimensions up to which a chunk too small for compiled kernels still tells its whole Hessian
MOST_LISTED = 10_000  # bad records whose reasons are kept


class Part:
    """Some of the records: iterating over it reads them, an array of bounded size at a time."""

    def __iter__(self) -> Iterator[Array]:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Rows(Part):
    """Rows of an array on disk."""

    array: Any
    rows: slice

    def __iter__(self) -> Iterator[Array]:
        some = self.array[self.rows]
        if not isinstance(some, np.memmap):
            yield np.asarray(some)
            return
        yield np.array(some)
        _forget(some)


@dataclass(frozen=True, eq=False)
class Batches(Part):
    """Rows of a table of Arrow: a table, a Parquet file, a dataset or a fragment of one."""

    source: Any
    schema: Any
    columns: list[str]
    space: Space
    rows: int

    def __iter__(self) -> Iterator[Array]:
        from .tables import read_batch

        for batch in _batches(self.source, self.schema, self.columns, self.rows):
            if batch.num_rows:
                yield read_batch(batch, self.space)


class LazyRecords(Records):
    """Parts of the data, read anew in every pass.

    ``prepare`` makes canonical points of what is read.  A first pass counts the records and finds those that are not
    points, unless they are to be replaced.  ``progress(pass, done, parts)`` is told of every part that is done.
    """

    def __init__(
        self,
        space: Space,
        parts: list[Any],
        prepare: Callable[[Any], Points],
        *,
        check: bool = True,
        workers: int = 1,
        memory: int = MEMORY,
        progress: Progress | None = None,
    ) -> None:
        self.space, self.parts, self.prepare, self.weights, self.workers = space, parts, prepare, None, workers
        self.memory, self.progress, self.passes = memory, progress, 0
        self.rows = chunk_rows(space, memory, workers)
        self.on_dask = bool(parts) and not isinstance(parts[0], Part)
        found = self._pass(_as_read, partial(_survey, space, check), _join)
        self.counts = [0 if one is None else one.value.n for one in found]
        survey = reduce(_join, (one.value for one in found if one is not None), _Survey(0, 0, {}))
        self.n = survey.n
        if survey.reasons:
            error = InvalidPointError(survey.reasons)
            error.args = (f"{error}; {survey.bad} in all",) if survey.bad > len(survey.reasons) else error.args
            raise error

    @property
    def points(self) -> Points:  # type: ignore[override]
        raise ValueError("this needs all records in memory at once, not data that are read in parts: give an array")

    def reduce(self, function: Callable[..., T], combine: Callable[[Any, Any], Any] | None = None) -> T:
        combine = _add if combine is None else combine
        found = [one for one in self._pass(self.prepare, function, combine) if one is not None]
        n = sum(one.n for one in found)
        if n != self.n:
            raise RuntimeError(
                f"the data changed while they were read: {self.n} records, then {n}; nothing was released"
            )
        return in_pairs(combine, (one.value for one in found))  # type: ignore[no-any-return]

    def start(self) -> Points:
        """From the first records, as many whatever the parts are."""
        most = min(SAMPLE, self.n, max(1, self.memory // (COPIES * self.space.origin().nbytes)))
        enough = int(np.searchsorted(np.cumsum(self.counts), most)) + 1
        job = partial(_start, self.space, self.prepare, self.rows, most)
        return self._run(job, [self.parts[:enough]], lambda done: None)[0]

    def moments(self, base: Points, accuracy: float = 0.0) -> Moments:
        total = self.reduce(partial(_moments, self.space, base, accuracy), add_moments)
        return total * (1 / total.weight)

    def _pass(self, prepare: Callable[[Any], Any], function: Callable[..., T], combine: Any) -> list[_Sum | None]:
        self.passes += 1
        number, count, progress = self.passes, len(self.parts), self.progress
        return self._run(
            partial(_total, self.rows, prepare, function, combine),
            self.parts,
            lambda done: progress(number, done, count) if progress is not None else None,
        )

    def _run(self, job: Callable[[Any], T], parts: list[Any], tick: Callable[[int], None]) -> list[T]:
        """The job for each part, in the order of the parts."""
        if self.on_dask:
            return _on_dask(job, parts, tick)
        if self.workers == 1:
            with one_thread():
                return _counted(map(job, parts), tick)
        with one_thread(), ThreadPoolExecutor(self.workers) as pool:
            return _counted(pool.map(job, parts), tick)


def stream(
    space: Space,
    points: Any,
    prepare: Callable[[Any], Points],
    *,
    check: bool = True,
    workers: int = 1,
    memory: int = MEMORY,
    progress: Progress | None = None,
) -> LazyRecords | None:
    """Records of data that are not in memory; None for data that are, or that fit well.

    Known are ``numpy.memmap``, HDF5 and Zarr arrays; Arrow tables, datasets and Parquet files; Dask arrays, bags and lists
    of delayed partitions.

    >>> from sfumato import Euclidean
    >>> space, delayed = Euclidean(dim=1), __import__("dask").delayed
    >>> records = stream(space, [delayed(np.array)([[1.0], [2.0]]), delayed(np.array)([[6.0]])], space.validate)
    >>> records.n, records.mean_log(np.zeros((1, 1))).tolist()
    (3, [[3.0]])
    """
    if type(points) is np.ndarray:
        return None
    rows = chunk_rows(space, memory, workers)
    parts = parts_of(points, space, rows, memory)
    if parts is None:
        return None
    return LazyRecords(space, parts, prepare, check=check, workers=workers, memory=memory, progress=progress)


def is_lazy(space: Space, points: Any, memory: int = MEMORY) -> bool:
    """Whether :func:`stream` would read the points in parts.

    >>> from sfumato import Euclidean
    >>> is_lazy(Euclidean(dim=1), [[1.0], [2.0]])
    False
    """
    return parts_of(points, space, chunk_rows(space, memory, 1), memory) is not None


def chunk_rows(space: Space, memory: int, workers: int) -> int:
    """How many records are read at once, so that all chunks at work and their copies stay within ``memory`` bytes.

    >>> from sfumato import SPD
    >>> chunk_rows(SPD(size=50), 1 << 28, workers=2)
    1118
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers must be a whole number of at least 1, not {workers!r}")
    each = COPIES * workers * int(space.origin().nbytes)
    if isinstance(memory, bool) or not isinstance(memory, int | np.integer) or memory < each:
        raise ValueError(
            f"memory must be a whole number of bytes, at least {each}: one record of {space} and its working copies for "
            f"each of {workers} workers; not {memory!r}"
        )
    return min(MOST_ROWS, int(memory) // each)


# -- what the parts are ----------------------------------------------------------------------------------------------------
def parts_of(points: Any, space: Space, rows: int, memory: int = MEMORY) -> list[Any] | None:
    """The parts of data that are not in memory; None for data that are.

    >>> from sfumato import Euclidean
    >>> parts_of(np.zeros((5, 1)), Euclidean(dim=1), rows=2) is None
    True
    """
    package = type(points).__module__.split(".")[0]
    if isinstance(points, np.memmap) or (package in ("h5py", "zarr") and hasattr(points, "shape")):
        return None if COPIES * points.size * points.dtype.itemsize <= memory else _array_parts(points, rows)
    if package == "pyarrow":
        return table_parts(points, space, rows)
    if package == "dask":
        return _dask_parts(points)
    if isinstance(points, list | tuple) and points and all(type(one).__module__ == "dask.delayed" for one in points):
        return list(points)
    return None


def _array_parts(array: Any, rows: int) -> list[Any]:
    """Rows together, whole chunks of the file where they are not too large."""
    n, stored = array.shape[0], (getattr(array, "chunks", None) or (1,))[0]
    step = rows - rows % stored if stored <= rows else rows
    return [Rows(array, slice(a, min(a + step, n))) for a in range(0, n, step)]


def table_parts(source: Any, space: Space, rows: int) -> list[Any]:
    """The parts of a table, a Parquet file or a dataset of Arrow: row groups together until they make a chunk.

    >>> import pyarrow
    >>> from sfumato import Euclidean
    >>> parts = table_parts(pyarrow.table({"a": [1.0, 2.0, 3.0]}), Euclidean(dim=1), rows=2)
    >>> [array.tolist() for part in parts for array in part]
    [[[1.0], [2.0]], [[3.0]]]
    """
    from .tables import read_head

    head = table_head(source, rows)
    if head is None:
        return []
    schema = getattr(source, "schema_arrow", source.schema)
    part = Batches(source, schema, read_head(head, space)[1], space, rows)
    if hasattr(source, "slice"):
        return [replace(part, source=source.slice(a, rows)) for a in range(0, source.num_rows, rows)]
    if not hasattr(source, "get_fragments"):
        return [part]
    try:
        fragments = list(source.get_fragments())
    except ValueError:  # of a dataset with a filter
        return [part]
    groups = (group for fragment in fragments for group in _row_groups(fragment, rows))
    return [replace(part, source=some, rows=even) for some, even in groups]


def delayed_parts(source: Any, space: Space, rows: int) -> list[Any]:
    """The parts of a dataset as delayed partitions, to be read by the workers of Dask.

    >>> import pyarrow
    >>> from sfumato import Euclidean
    >>> [part] = delayed_parts(pyarrow.table({"a": [1.0, 2.0]}), Euclidean(dim=1), rows=2)
    >>> [array.tolist() for array in part.compute()]
    [[[1.0], [2.0]]]
    """
    from dask.delayed import delayed

    return [delayed(part, traverse=False) for part in table_parts(source, space, rows)]


def table_head(source: Any, rows: int) -> Any:
    """The first rows, or None if there are none."""
    names = getattr(source, "schema_arrow", source.schema).names
    return next((batch for batch in _batches(source, source.schema, names, rows) if batch.num_rows), None)


def _row_groups(fragment: Any, rows: int) -> Iterator[tuple[Any, int]]:
    """Row groups of a fragment that together make a chunk, and how many rows to read at once: even parts of a group."""
    if not hasattr(fragment, "row_groups"):
        yield fragment, rows
        return
    together: list[Any] = []
    for group in fragment.row_groups:
        together.append(group)
        if sum(one.num_rows for one in together) >= rows or group.id == fragment.row_groups[-1].id:
            largest = max(1, max(one.num_rows for one in together))
            yield fragment.subset(row_group_ids=[one.id for one in together]), -(-largest // -(-largest // rows))
            together = []


def _batches(source: Any, schema: Any, columns: list[str], rows: int) -> Iterable[Any]:
    """Record batches of at most so many rows, read no further ahead than one."""
    if hasattr(source, "iter_batches"):  # a Parquet file
        return source.iter_batches(batch_size=rows, columns=columns, use_threads=False)  # type: ignore[no-any-return]
    if hasattr(source, "slice"):  # a table or a record batch
        chosen = source.select(columns)
        if not hasattr(chosen, "to_batches"):
            return (chosen.slice(a, rows) for a in range(0, chosen.num_rows, rows))
        return chosen.to_batches(max_chunksize=rows)  # type: ignore[no-any-return]
    from pyarrow.dataset import ParquetFragmentScanOptions

    options: dict[str, Any] = {"batch_size": rows, "use_threads": False, "batch_readahead": 0, "fragment_readahead": 0}
    if "arquet" in type(getattr(source, "format", None)).__name__:
        options["fragment_scan_options"] = ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True, buffer_size=1 << 20
        )
    if not hasattr(source, "get_fragments"):  # a fragment has the names and types of its own file
        options["schema"] = schema
    return source.to_batches(columns=columns, **options)  # type: ignore[no-any-return]


def _dask_parts(collection: Any) -> list[Any]:
    if hasattr(collection, "rechunk"):
        if any(len(sizes) > 1 for sizes in collection.chunks[1:]):
            collection = collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))
        return list(collection.to_delayed().ravel())
    if (
        hasattr(collection, "to_delayed")
        and hasattr(collection, "map_partitions")
        and not hasattr(collection, "columns")
    ):
        return list(collection.to_delayed())
    if type(collection).__module__ == "dask.delayed":
        return [collection]
    raise TypeError(
        f"records as {type(collection).__name__} are not understood; give a dask.array, a dask.bag of records or a list of "
        "dask.delayed arrays (of a data frame: frame.to_dask_array())"
    )


def _forget(some: Any) -> None:
    """Give back the pages of a piece of a mapped file: they would count as memory in use for as long as the file is open."""
    file = some._mmap
    if file is None or some.mode == "c" or not hasattr(mmap, "MADV_DONTNEED") or not some.flags.c_contiguous:
        return
    first = some.ctypes.data - np.frombuffer(file, dtype=np.uint8).ctypes.data
    page = first // mmap.PAGESIZE * mmap.PAGESIZE
    file.madvise(mmap.MADV_DONTNEED, page, first + some.nbytes - page)


# -- jobs: what is done with one part, wherever it is ----------------------------------------------------------------------
class _Sum(NamedTuple):
    value: Any
    n: int


class _Survey(NamedTuple):
    n: int
    bad: int
    reasons: dict[int, str]


def _pieces(part: Any, rows: int) -> Iterator[Any]:
    """What a part holds, at most so many records at a time."""
    if isinstance(part, Part):
        found: Iterator[Any] = iter(part)
    elif hasattr(part, "shape"):
        found = (part[a : a + rows] for a in range(0, len(part), rows))
    else:
        records = iter(part)
        found = iter(lambda: list(islice(records, rows)), [])
    return (one for one in found if len(one))


def _total(rows: int, prepare: Any, function: Any, combine: Any, part: Any) -> _Sum | None:
    """The function summed over the chunks of a part; None for a part without records."""
    n = 0

    def of_piece(piece: Any) -> Any:
        nonlocal n
        n += len(piece)
        return function(prepare(piece), None)

    pieces = iter(_pieces(part, rows))
    if (first := next(pieces, None)) is None:
        return None
    return _Sum(in_pairs(combine, map(of_piece, chain([first], pieces))), n)


def _start(space: Space, prepare: Any, rows: int, most: int, parts: list[Any]) -> Points:
    few, held = [], 0
    for piece in chain.from_iterable(_pieces(part, min(rows, most)) for part in parts):
        few.append(prepare(piece[: most - held]))
        held += len(few[-1])
        if held >= most:
            break
    return space.mean_start(np.concatenate(few))


def _moments(space: Space, base: Points, accuracy: float, points: Points, _: None) -> Moments:
    """Also of few points the whole Hessian, where the many others tell it: a trace would be all that is left of both."""
    found = space.moments(base, points, None, accuracy)
    if found.hessian.ndim == 0 and space.dim <= FEW and points.size < MANY:
        hessian = space.hessian(base, points)
        return found if hessian is None else replace(found, hessian=hessian)
    return found


def _survey(space: Space, check: bool, raw: Any, _: None) -> _Survey:
    if not check:
        return _Survey(len(raw), 0, {})
    canonical, reasons = space.diagnose(raw)
    return _Survey(len(canonical), len(reasons), dict(islice(sorted(reasons.items()), MOST_LISTED)))


def _join(a: _Survey, b: _Survey) -> _Survey:
    later = ((a.n + row, reason) for row, reason in b.reasons.items())
    return _Survey(a.n + b.n, a.bad + b.bad, dict(islice(chain(a.reasons.items(), later), MOST_LISTED)))


def _as_read(raw: Any) -> Any:
    return raw


def _add(a: Any, b: Any) -> Any:
    return a + b


def _counted(results: Iterable[T], tick: Callable[[int], None]) -> list[T]:
    found = []
    for result in results:
        found.append(result)
        tick(len(found))
    return found


# -- Dask ------------------------------------------------------------------------------------------------------------------
def _alone(job: Callable[[Any], T], parts: list[Any]) -> list[T]:
    with one_thread():
        return [job(part) for part in parts]


def _together(client: Any, parts: list[Any]) -> list[list[int]]:
    """Which partitions go in one task: those that one worker holds in memory, a task for each of its threads, as a task costs
    the scheduler as much time as a worker takes for a million records.  Others, which would all be loaded at once, alone."""
    from distributed import Future

    states = [client.futures.get(getattr(part, "key", None)) for part in parts]
    if not all(state is not None and state.status == "finished" for state in states):
        return [[i] for i in range(len(parts))]
    holders = client.who_has([Future(part.key, client) for part in parts])
    groups: dict[str, list[int]] = {}
    for i, part in enumerate(parts):
        groups.setdefault(min(holders[part.key], default=""), []).append(i)
    threads = client.nthreads()
    return [held[j :: threads.get(worker, 1)] for worker, held in groups.items() for j in range(threads.get(worker, 1))]


def _on_dask(job: Callable[[Any], T], parts: list[Any], tick: Callable[[int], None]) -> list[T]:
    """A task for each partition or for some that are held together, on whatever scheduler is set; only sums come back.

    Tasks have no effects and are named by what they compute: one that is lost with its worker is run again elsewhere.
    """
    from dask.base import compute, get_scheduler
    from dask.callbacks import Callback
    from dask.delayed import delayed

    task = delayed(partial(_alone, job), pure=True)
    client: Any = getattr(get_scheduler(collections=[task(parts[:1])]), "__self__", None)
    if hasattr(client, "scheduler_info"):  # a client of distributed
        from distributed import as_completed

        groups = [group for group in _together(client, parts) if group]
        futures = client.compute([task([parts[i] for i in group]) for group in groups])
        sizes, done = {future.key: len(group) for future, group in zip(futures, groups, strict=True)}, 0
        for future in as_completed(futures):
            done += sizes[future.key]
            tick(done)
        sums = dict(zip(chain(*groups), chain(*client.gather(futures)), strict=True))
        return [sums[i] for i in range(len(parts))]
    tasks = [task([part]) for part in parts]
    ended = 0

    def count(key: Any, *_: object) -> None:
        nonlocal ended
        if key in names:
            ended += 1
            tick(ended)

    names = {task.key for task in tasks}
    with Callback(posttask=count):
        return [only for (only,) in compute(*tasks)]
