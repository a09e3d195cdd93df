"""Labels: what a file says of each record beside its point."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spaces.base import Array
from .base import Dataset, FileError, Labels, allowed

WIDEST = 1 << 30  # bytes of all labels of a file; NumPy gives every text the room of the longest
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


def per_record(arrays: dict[str, NDArray[Any]], n: int) -> Labels:
    """The arrays that hold one value for each of n records."""
    labels = {}
    for name, array in arrays.items():
        if array.size == n == max(array.shape, default=0) and array.dtype.kind in "biufSU":
            flat = array.reshape(n)
            labels[name] = np.char.decode(flat, "utf-8", "replace") if array.dtype.kind == "S" else flat
    return labels


def texts(name: str, values: list[str]) -> NDArray[Any]:
    """A column of labels from a text file: numbers if all are written as such, otherwise text ("007" is text)."""
    for pattern, kind in ((_WHOLE, np.int64), (_DECIMAL, np.float64)):
        if all(map(pattern.fullmatch, values)):
            return np.array(values, dtype=kind)
    return strings(name, values)


def strings(name: str, values: list[str]) -> NDArray[Any]:
    """A column of labels that is text even where all of it is digits, such as an ID."""
    return text_columns({name: values})[name]


def text_columns(columns: dict[str, list[str]]) -> Labels:
    """Columns of text, unless they would fill the memory: an array gives every text the room of the longest of its column."""
    longest = {name: max(map(len, values), default=0) for name, values in columns.items()}
    room = min(WIDEST, allowed(sum(len(value) for values in columns.values() for value in values)))
    if sum(4 * longest[name] * len(values) for name, values in columns.items()) > room:
        widest = max(longest, key=lambda name: longest[name] * len(columns[name]))
        raise FileError(f"column {widest!r} holds a text of {longest[widest]} characters; leave the column out")
    return {name: np.array(values, dtype=np.str_) for name, values in columns.items()}


def column(name: str, values: list[Any]) -> NDArray[Any]:
    """A column of Python values: numbers where all are, else texts, empty for None."""
    found = numbers(values)
    return strings(name, ["" if value is None else str(value) for value in values]) if found is None else found


def numbers(values: list[Any]) -> Array | None:
    """Python numbers as an array, with NaN for None; None if one of the values is not a number (True and False are not)."""
    if not all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        return None
    small = [np.inf if isinstance(value, int) and abs(value) >= 1 << 1023 else value for value in values]
    return np.array(small, dtype=np.float64)


def groups_of(data: Dataset, by: str, file: str | Path | None = None) -> NDArray[Any]:
    """The column ``by``, one value for each record: of the data itself, or of a table that has a column in common with it, such
    as ID, by which its rows are told."""
    if file is None:
        if by not in data.labels:
            known = ", ".join(data.labels) or "none"
            raise ValueError(
                f"{data.path}: there is no column {by!r}; columns beside the points: {known}. If the groups stand in a table "
                "of their own, give --labels FILE.csv"
            )
        return data.labels[by]
    header, rows = _table(file)
    shared = [name for name in header if name in data.labels and name != by]
    if by not in header or not shared:
        missing = f"column {by!r}" if by not in header else "column in common with the records"
        own = ", ".join(data.labels) or "none"
        raise ValueError(f"--labels {file}: has no {missing}; it has: {', '.join(header)}; the records have: {own}")
    at, of = header.index(shared[0]), header.index(by)
    found: dict[str, str] = {}
    for line, row in enumerate(rows, start=2):
        name, group = row[at].strip(), row[of].strip()
        if found.setdefault(name, group) != group:
            raise ValueError(
                f"--labels {file}: line {line}: {shared[0]} {name!r} is in two groups, {found[name]} and {group}"
            )
    keys = [str(value).strip() for value in data.labels[shared[0]]]
    for place, key in enumerate(keys):
        if key not in found:
            raise ValueError(f"--labels {file}: has no line for {data.where(place)}: {shared[0]} {key!r}")
    return np.array([found[key] for key in keys], dtype=np.str_)


def _table(file: str | Path) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a small table of text."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"--labels {file}: is not a table of text; save it as CSV (UTF-8)") from None
    mark = max(",;\t", key=text.partition("\n")[0].count)
    lines = [row for row in csv.reader(text.splitlines(), delimiter=mark) if any(row)]
    if len(lines) < 2 or len({len(row) for row in lines}) > 1:
        raise ValueError(f"--labels {file}: must have a first line of names and as many entries in each line")
    return [name.strip() for name in lines[0]], lines[1:]
