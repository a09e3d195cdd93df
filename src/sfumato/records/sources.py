"""Data that stay on disk, read in parts of bounded size: arrays of NumPy, HDF5 and Zarr, tables of Arrow, Parquet files."""

import mmap
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, Fix, Refusal, SfumatoError
from ..numerics.arrays import Array
from ..spaces.base import Space
from .on_dask import dask_parts

MEMORY = 1 << 28  # bytes, unless another number is given
COPIES = 6  # of a chunk of records that may be in memory while it is worked on
MOST_ROWS = 1 << 18  # a larger chunk is no faster


@contextmanager
def errors_in_words() -> Iterator[None]:
    """Make a FileError of what other packages raise while they read; only before the charge, as it may reveal records."""
    try:
        yield
    except Exception as error:
        if isinstance(error, SfumatoError) or type(error) in (ValueError, TypeError):
            raise
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise FileError(f"the data could not be read ({words}). Nothing was charged") from None


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of an array on disk: iterating over it reads them."""

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
class Batches:
    """Rows of an Arrow table, a Parquet file, a dataset or a fragment of one: iterating reads some of them at a time."""

    source: Any
    schema: Any
    columns: list[str]
    space: Space
    rows: int

    def __iter__(self) -> Iterator[Array]:
        from ..files.parquet import read_batch

        for batch in _batches(self.source, self.schema, self.columns, self.rows):
            if batch.num_rows:
                yield read_batch(batch, self.space)


Part = Rows | Batches


def chunk_rows(space: Space, memory: int, workers: int) -> int:
    """Return how many records are read at once, so that all chunks at work and their copies stay within ``memory`` bytes."""
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers must be a whole number of at least 1, not {workers!r}")
    each = COPIES * workers * int(space.origin().nbytes)
    if isinstance(memory, bool) or not isinstance(memory, int | np.integer) or memory < each:
        raise ValueError(
            f"memory must be a whole number of bytes, at least {each}: one record of {space} and its working copies for "
            f"each of {workers} workers; not {memory!r}"
        )
    return min(MOST_ROWS, int(memory) // each)


def parts_of(points: Any, space: Space, rows: int, memory: int = MEMORY) -> list[Any] | None:
    """Return the parts of data that are not in memory; None for data that are."""
    package = type(points).__module__.split(".")[0]
    if isinstance(points, np.memmap) or (package in ("h5py", "zarr") and hasattr(points, "shape")):
        if COPIES * points.size * points.dtype.itemsize <= memory:
            return None
        stored = (getattr(points, "chunks", None) or (1,))[0]
        step = rows - rows % stored if stored <= rows else rows  # whole chunks of the file, if they are not too large
        n = points.shape[0]
        return [Rows(points, slice(a, min(a + step, n))) for a in range(0, n, step)]
    if package == "pyarrow":
        return table_parts(points, space, rows)
    if package == "dask":
        return dask_parts(points)
    if isinstance(points, list | tuple) and points and all(type(one).__module__ == "dask.delayed" for one in points):
        return list(points)
    return None


def table_parts(source: Any, space: Space, rows: int) -> list[Any]:
    """Return the parts of a table, a Parquet file or a dataset of Arrow: row groups together until they make a chunk."""
    from ..files.parquet import read_head

    schema = getattr(source, "schema_arrow", source.schema)
    with errors_in_words():
        batches = _batches(source, source.schema, schema.names, rows)
        head = next((batch for batch in batches if batch.num_rows), None)
    if head is None:
        return []
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


def _row_groups(fragment: Any, rows: int) -> Iterator[tuple[Any, int]]:
    """Yield row groups of a fragment that together make a chunk, and how many rows to read at once: even parts of a group."""
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
    """Return record batches of at most so many rows, read no further ahead than one."""
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


def delayed_parts(source: Any, space: Space, rows: int) -> list[Any]:
    """Return the parts of a dataset as delayed partitions, to be read by the workers of Dask."""
    from dask.delayed import delayed

    return [delayed(part, traverse=False) for part in table_parts(source, space, rows)]


def _forget(some: Any) -> None:
    """Give back the pages of a piece of a mapped file: they would count as memory in use for as long as the file is open."""
    file = some._mmap
    if file is None or some.mode == "c" or not hasattr(mmap, "MADV_DONTNEED") or not some.flags.c_contiguous:
        return
    first = some.ctypes.data - np.frombuffer(file, dtype=np.uint8).ctypes.data
    page = first // mmap.PAGESIZE * mmap.PAGESIZE
    file.madvise(mmap.MADV_DONTNEED, page, first + some.nbytes - page)


# -- Parquet files: whether they are read in parts, how much at once, and by whom ------------------------------------------
def memory_bytes(text: str) -> int:
    """Return a number of bytes that a person typed.

    >>> [memory_bytes(text) for text in ("256MiB", "1GB", "500000")]
    [268435456, 1000000000, 500000]
    """
    typed = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    if typed is None:
        raise Refusal(Fix("memory", ...), f" must be a number of bytes such as 256MiB or 1GB, not {text!r}")
    return int(float(typed[1]) * (1024 if typed[3] else 1000) ** " kmgt".index(typed[2] or " "))


def in_parts(files: list[Path], memory: int, units: bool, scheduler: str | None, chosen: bool) -> bool:
    """Return whether the files are read in parts, as large or several Parquet files are; refuse what cannot be read so.

    That is so where ``units`` are to be told apart, or where it is ``chosen`` what of a file is read.
    """
    several = len(files) > 1 and any(map(_is_parquet, files))
    if scheduler is None and not several and (units or not _is_large(files[0], memory)):
        return False
    other = next((file for file in files if not _is_parquet(file)), None)
    if other is not None:
        words = f"{other}: is not a Parquet file; files beside a Parquet file, or for "
        raise FileError(words, Fix("scheduler", ...), ", must all be Parquet")
    if units:
        words = " goes with a file that is read at once: first reduce the records of each person to one, then give "
        raise Refusal(Fix("unit_column", ...), words, Fix("unit", ...))
    if chosen:
        names = (Fix("columns", ...), ", ", Fix("array", ...), ", ", Fix("missing", ...), " and ", Fix("curves", ...))
        raise Refusal(*names, " go with one file that is read at once: raise ", Fix("memory", ...))
    return True


def open_parts(
    stack: ExitStack, files: list[Path], space: Space, memory: int, workers: int, scheduler: str | None
) -> Any:
    """Return Parquet files as a dataset, or as delayed parts for the workers of a scheduler."""
    from pyarrow.dataset import dataset

    whole = dataset([str(file.resolve() if scheduler else file) for file in files], format="parquet")
    if scheduler is None:
        return whole
    try:
        from distributed import Client
    except ImportError:
        words = " needs the packages dask and distributed: pip install 'dask[array]' distributed"
        raise Refusal(Fix("scheduler", ...), words) from None
    stack.enter_context(Client(scheduler, set_as_default=True, timeout="10s"))
    return delayed_parts(whole, space, chunk_rows(space, memory, workers))


def _is_parquet(file: Path) -> bool:
    if file.exists() and not file.is_file():  # a folder; or a pipe, which would be waited for
        return False
    with file.open("rb") as opened:
        return opened.read(4) == b"PAR1"


def _is_large(file: Path, memory: int) -> bool:
    """Return whether a file is Parquet and would take more memory than allowed."""
    if not _is_parquet(file):
        return False
    from pyarrow.parquet import read_metadata

    table = read_metadata(file)
    return bool(8 * table.num_rows * table.num_columns > memory)
