"""Tables: data frames of pandas and polars, and data sets of xarray.  None of these packages is imported."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from .base import Contents
from .labels import column
from .table import Table


def is_frame(source: Any) -> bool:
    """Tell whether this is a table with named columns, or several named arrays."""
    named = {"pandas": "columns", "polars": "columns", "xarray": "data_vars"}.get(home_of(source))
    return named is not None and hasattr(type(source), named)  # asking the source itself may compute it


def home_of(source: Any) -> str:
    """Return the package that an object comes from."""
    return type(source).__module__.partition(".")[0]


def read_frame(frame: Any) -> Contents:
    """Return what a frame holds, its columns as those of a CSV file.  A lazy frame is computed here, and may fail here."""
    try:
        if hasattr(type(frame), "data_vars"):
            return {str(name): np.asarray(array) for name, array in frame.variables.items()}
        if hasattr(type(frame), "collect"):
            frame = frame.collect()
        columns = {str(name): frame[name] for name in frame.columns}
    except Exception as error:
        raise FileError(f"could not be computed ({type(error).__name__}: {error})") from None
    return {"": Table({name: _column(name, series) for name, series in columns.items()})}


def _column(name: str, series: Any) -> NDArray[Any]:
    """Return a column as numbers or texts; what a package calls missing is NaN or empty."""
    values = series.to_numpy()
    if values.dtype.kind in "biuf":
        return np.asarray(values)
    cells = series.to_list()
    missing = (
        value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value) for value in cells
    )
    return column(name, [None if gone else value for gone, value in zip(missing, cells, strict=True)])
