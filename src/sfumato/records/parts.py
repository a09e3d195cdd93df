"""Parquet files that are read in parts: whether they are, how much at once, and by whom."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..spaces.base import Space
from .sources import chunk_rows, delayed_parts


def memory_bytes(text: str) -> int:
    """A number of bytes.

    >>> [memory_bytes(text) for text in ("256MiB", "1GB", "500000")]
    [268435456, 1000000000, 500000]
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    if found is None:
        raise ValueError(f"--memory must be a number of bytes such as 256MiB or 1GB, not {text!r}")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** " kmgt".index(found[2] or " "))


def in_parts(files: list[Path], memory: int, units: bool, scheduler: str | None, chosen: bool) -> bool:
    """Whether the files are read in parts, as large or several Parquet files are; a ValueError if that cannot be, as where
    ``units`` are to be told apart or columns are ``chosen``."""
    several = len(files) > 1 and any(map(_is_parquet, files))
    if scheduler is None and not several and (units or not _is_large(files[0], memory)):
        return False
    other = next((file for file in files if not _is_parquet(file)), None)
    if other is not None:
        raise ValueError(
            f"{other}: is not a Parquet file; files beside a Parquet file, or for --scheduler, must all be Parquet"
        )
    if units:
        raise ValueError(
            "--unit-column goes with a single file that is read at once: first reduce the records of each person to one, "
            "then say so with --unit"
        )
    if chosen:
        raise ValueError(
            "--columns, --array, --missing and --curves go with one file that is read at once: raise --memory"
        )
    return True


def open_parts(
    stack: ExitStack, files: list[Path], space: Space, memory: int, workers: int, scheduler: str | None
) -> Any:
    """Parquet files as a dataset, or as delayed parts for the workers of a scheduler."""
    from pyarrow.dataset import dataset

    found = dataset([str(file.resolve() if scheduler else file) for file in files], format="parquet")
    if scheduler is None:
        return found
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "--scheduler needs the packages dask and distributed: pip install 'dask[array]' distributed"
        ) from None
    stack.enter_context(Client(scheduler, set_as_default=True, timeout="10s"))
    return delayed_parts(found, space, chunk_rows(space, memory, workers))


def _is_parquet(file: Path) -> bool:
    if file.exists() and not file.is_file():  # a folder; or a pipe, which would be waited for
        return False
    with file.open("rb") as opened:
        return opened.read(4) == b"PAR1"


def _is_large(file: Path, memory: int) -> bool:
    """Whether a file is Parquet and would take more memory than allowed."""
    if not _is_parquet(file):
        return False
    from pyarrow.parquet import read_metadata

    held = read_metadata(file)
    return bool(8 * held.num_rows * held.num_columns > memory)
