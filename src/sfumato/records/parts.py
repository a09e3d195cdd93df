"""Parquet files that are read in parts: whether they are, how much at once, and by whom."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import FileError, Fix, Refusal
from ..spaces.base import Space
from .sources import chunk_rows, delayed_parts


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
        words = (
            " goes with a single file that is read at once: first reduce the records of each person to one, then give "
        )
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
