"""Labels: what a file says of each record beside its point."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spaces.base import Array
from .base import FileError, Labels, allowed

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
