"""A table: columns by name, of a file or of a data frame.  Of the packages of data frames none is imported."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..spaces.base import Kind
from .base import Choice, Contents, Dataset, FileError, Labels, listed, shown
from .labels import column as as_column
from .labels import texts
from .lines import number

_PLAIN = re.compile(r"[0-9eE+. -]*")


@dataclass(frozen=True)
class Table:
    """Columns by name, each numbers or texts; ``lines`` are the lines of a text file that the rows came from."""

    columns: dict[str, NDArray[Any]]
    lines: list[int] = field(default_factory=list)
    decimal_comma: bool = False
    choice: Choice = field(default_factory=Choice)
    chosen: bool = False  # whether all columns are coordinates, also one that holds nothing but NaN here
    settled: bool = False  # whether other rows have shown already what the columns mean

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def by_lower(self) -> dict[str, str]:
        """Return the names of the columns by their names in small letters."""
        return {name.lower(): name for name in self.columns}

    def where(self, row: int) -> str:
        """Return a row, for a message."""
        return f"line {self.lines[row]}" if self.lines else f"record {row}"

    def numbers(self, name: str) -> Array:
        """Return a column as numbers, NaN where one is missing, or a FileError that names the first cell that is not one."""
        column = self.columns[name]
        if column.dtype.kind in "biuf":
            return self.choice.filled(column.astype(np.float64, copy=False))
        if not self.lines:  # Parquet and R know texts from numbers
            raise FileError(f"record 0: column {name!r}: the text {shown(str(column[0]))} is not a number")
        return self.choice.filled(self._parsed(name, column.tolist()))

    def _parsed(self, name: str, cells: list[str]) -> Array:
        if _PLAIN.fullmatch("".join(cells)):
            with suppress(ValueError):  # NumPy is quick but cannot say which cell is bad
                return np.array(cells, dtype=np.float64)
        values = np.empty(len(cells))
        for row, cell in enumerate(cells):
            try:
                values[row] = number(cell.strip() or "NA", self.decimal_comma)
            except ValueError as error:
                raise FileError(f"{self.where(row)}: column {name!r}: {error}") from None
        return values

    def is_numeric(self, name: str) -> bool:
        """Tell whether a column holds numbers, not all of them missing."""
        try:
            return self.chosen or not np.isnan(self.numbers(name)).all()
        except FileError:
            return False

    def stacked(self, names: list[str]) -> Array:
        """Return columns of numbers side by side, (n, len(names))."""
        columns = {name: self.numbers(name) for name in dict.fromkeys(names)}
        return np.stack([columns[name] for name in names], axis=1)

    def records(self, points: Array, kind: Kind, used: list[str], note: str = "", **more: Any) -> Dataset:
        """Return the records of a table with a row for each; the columns that were not used are labels."""
        facts = {"source": f"the columns {listed(used, 12)}{note}", "names": tuple(used), "lines": tuple(self.lines)}
        return Dataset(points, kind, labels=self.labels(used), **(facts | more))

    def labels(self, used: list[str]) -> Labels:
        """Return the columns that are not used."""
        taken = set(used)
        others = {name: column for name, column in self.columns.items() if name not in taken}
        if self.lines:
            others = {name: texts(name, column.tolist()) for name, column in others.items()}
        return {name or "row": column for name, column in others.items()}

    def take(self, rows: NDArray[np.intp], without: Iterable[str]) -> Self:
        """Return some of the rows, without some of the columns."""
        left_out = set(without)
        columns = {name: column[rows] for name, column in self.columns.items() if name not in left_out}
        return replace(self, columns=columns, lines=[self.lines[row] for row in rows] if self.lines else [])


# -- data frames of pandas and polars, and data sets of xarray -------------------------------------------------------------
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
    missing = (cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell) for cell in cells)
    return as_column(name, [None if gone else cell for gone, cell in zip(missing, cells, strict=True)])
