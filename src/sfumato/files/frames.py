"""Tables in memory: data frames of pandas and polars, and data sets of xarray.  None of these packages is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Choice, Dataset, Wanted
from .labels import column
from .several import pick
from .table import Table


def is_frame(source: Any) -> bool:
    """Whether this is a table with named columns, or several named arrays."""
    home = type(source).__module__.partition(".")[0]
    return (home in ("pandas", "polars") and hasattr(source, "columns")) or (
        home == "xarray" and hasattr(source, "data_vars")
    )


def read_frame(frame: Any, space: Wanted, choice: Choice) -> Dataset:
    """The records of a frame: its columns mean what those of a CSV file do."""
    held: dict[str, Any]
    if hasattr(frame, "data_vars"):
        held = {str(name): np.asarray(array) for name, array in frame.variables.items()}
    else:
        held = {"": Table({str(name): _column(str(name), frame[name]) for name in frame.columns})}
    return pick(held, space, choice).dataset(type(frame).__module__.partition(".")[0], Path(type(frame).__name__))


def _column(name: str, series: Any) -> NDArray[Any]:
    values = series.to_numpy()
    if values.dtype.kind in "biuf":
        return np.asarray(values)
    return column(name, [None if _is_missing(value) else value for value in series.to_list()])


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)
