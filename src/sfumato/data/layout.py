"""Which axis of an array counts the records, and what a record is."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..spaces import PlanarShapes, Space
from ..spaces.base import Array
from .files import FileError, Kind, Labels, Records, allowed

WIDEST = 1 << 30  # bytes of all labels of a file; NumPy gives every text the room of the longest
MOST_AXES = 32  # of an array in a file; NumPy itself has 64
_MAIN = ("landmarks", "points", "matrices", "coords", "coordinates", "tensors", "covariances", "shapes", "x", "data")


class _Reading(NamedTuple):
    kind: Kind
    layout: str
    points: Array


def arrange(array: NDArray[Any], space: Space | None = None, records_last: bool = False) -> tuple[Array, Kind]:
    """Points, batch first, and their kind, from an array in any of the usual layouts.

    ``records_last`` says that the array comes from R or MATLAB, where the last axis often counts the records: there both
    ends are considered, elsewhere the last axis only if the first does not do.  Two readings are a refusal, unless the
    space leaves one, or leaves two of the same kind, of which the habit of the language decides.

    >>> geomorph = np.zeros((12, 2, 40))
    >>> arrange(geomorph, records_last=True)[0].shape
    (40, 12, 2)
    """
    if array.dtype.kind not in "biufc":
        raise FileError(f"holds values of type {array.dtype}, not numbers")
    if array.size == 0:
        raise FileError(f"holds no records: the array has shape {array.shape}")
    first = _direct(array, "n first") + (_flat(array, space) if space is not None else [])
    last = _direct(np.moveaxis(array, -1, 0), "n last") if array.ndim + np.iscomplexobj(array) == 3 else []
    if space is not None:
        first, last = ([reading for reading in side if _fits(reading, space)] for side in (first, last))
    readings = last + first if records_last else first or last
    if not readings:
        raise FileError(_no_reading(array, space))
    if space is None and len(readings) > 1:
        ways = " or ".join(f"{r.kind} {r.points.shape} ({r.layout})" for r in readings)
        raise FileError(f"the array {array.shape} can be read as {ways}; give the space")
    return readings[0].points, readings[0].kind


def landmarks(points: Array, labels: Labels, space: Space | None) -> Records:
    """Landmarks from a format that holds nothing else, checked against the space.

    >>> landmarks(np.zeros((4, 5, 2)), {}, None).kind
    'landmarks'
    """
    if points.shape[1] < 3:
        raise FileError(f"{points.shape[1]} landmarks per specimen; a shape needs at least 3")
    if space is not None and not _fits(_Reading("landmarks", "", points), space):
        raise FileError(f"holds {points.shape[1]} landmarks in the plane per specimen; {_needs(space)}")
    return Records(points, "landmarks", labels)


def main_array(arrays: dict[str, NDArray[Any]]) -> str:
    """The name of the array that holds the records: one with a telling name, or the only one with two axes or more.

    >>> main_array({"X": np.zeros((5, 3)), "y": np.zeros(5), "extra": np.zeros((2, 2))})
    'X'
    """
    numeric = [name for name, array in arrays.items() if array.dtype.kind in "biufc" and array.ndim >= 2]
    if len(numeric) > 1:
        numeric = [name for name in numeric if name.lower() in _MAIN] or numeric
    if len(numeric) != 1:
        held = ", ".join(f"{name} {array.shape} {array.dtype}" for name, array in arrays.items()) or "nothing"
        raise FileError(
            f"{'more than one' if numeric else 'no'} array could be the records (it holds {held}); "
            "save one numeric array, or name it landmarks, points, matrices or coords"
        )
    return numeric[0]


def per_record(arrays: dict[str, NDArray[Any]], n: int) -> Labels:
    """The arrays that say one thing of each of n records.

    >>> per_record({"y": np.array([[1], [2]]), "wireframe": np.zeros((7, 2))}, 2)
    {'y': array([1, 2])}
    """
    labels = {}
    for name, array in arrays.items():
        if array.size == n == max(array.shape, default=0) and array.dtype.kind in "biufSU":
            flat = array.reshape(n)
            labels[name] = np.char.decode(flat, "utf-8", "replace") if array.dtype.kind == "S" else flat
    return labels


def texts(name: str, values: list[str]) -> NDArray[Any]:
    """A column of labels: whole numbers or numbers if all are written as such, otherwise text ("007" is text).

    >>> texts("age", ["7", "12"]).dtype.kind, texts("id", ["007", "12"]).dtype.kind
    ('i', 'U')
    """
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", value) for value in values):
        return np.array(values, dtype=np.int64)
    if all(re.fullmatch(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", value) for value in values):
        return np.array(values, dtype=np.float64)
    return strings(name, values)


def strings(name: str, values: list[str]) -> NDArray[Any]:
    """A column of labels that is text even where all of it is digits: an ID is a name.

    >>> strings("id", ["7", "12"]).tolist()
    ['7', '12']
    """
    check_width({name: values})
    return np.array(values, dtype=np.str_)


def text_columns(columns: dict[str, list[str]]) -> Labels:
    """Columns of text, if there is room for all of them together.

    >>> text_columns({"id": ["7", "12"]})["id"].tolist()
    ['7', '12']
    """
    check_width(columns)
    return {name: np.array(values, dtype=np.str_) for name, values in columns.items()}


def check_width(columns: dict[str, list[str]]) -> None:
    """Refuse texts that would fill the memory: an array gives every text the room of the longest of its column.

    >>> check_width({"id": ["7", "12"]})
    """
    longest = {name: max(map(len, values), default=0) for name, values in columns.items()}
    room = min(WIDEST, allowed(sum(len(value) for values in columns.values() for value in values)))
    if sum(4 * longest[name] * len(values) for name, values in columns.items()) > room:
        widest = max(longest, key=lambda name: longest[name] * len(columns[name]))
        raise FileError(f"column {widest!r} holds a text of {longest[widest]} characters; leave the column out")


def shape_of(space: Space) -> tuple[int, ...]:
    """The shape of one point as users type it.

    >>> shape_of(PlanarShapes(landmarks=5))
    (5, 2)
    """
    return space.present(space.origin()).shape


def kind_of(space: Space) -> Kind:
    """What the points of a space are called in a :class:`~sfumato.data.Dataset`.

    >>> kind_of(PlanarShapes(landmarks=5))
    'landmarks'
    """
    if isinstance(space, PlanarShapes):
        return "landmarks"
    return "matrices" if len(space.point_shape) == 2 else "vectors"


def _direct(array: NDArray[Any], layout: str) -> list[_Reading]:
    """Readings with the records along the first axis and nothing flattened."""
    if np.iscomplexobj(array):
        if array.ndim != 2 or array.shape[1] < 3:
            return []
        return [_Reading("landmarks", layout, np.stack([array.real, array.imag], axis=-1))]
    if array.ndim == 2:
        return [_Reading("vectors", layout, array)]
    readings = []
    if array.ndim == 3 and array.shape[2] == 2 and array.shape[1] >= 3:
        readings.append(_Reading("landmarks", layout, array))
    if array.ndim == 3 and array.shape[1] == array.shape[2]:
        readings.append(_Reading("matrices", layout, array))
    return readings


def _flat(array: NDArray[Any], space: Space) -> list[_Reading]:
    """Readings that only a space can tell: one point alone, and points flattened into rows."""
    kind, shape, readings = kind_of(space), shape_of(space), []
    if np.iscomplexobj(array):
        if array.ndim == 1:
            readings.append(_Reading(kind, "one", np.stack([array.real, array.imag], axis=-1)[None]))
        return readings
    if array.shape == shape:
        readings.append(_Reading(kind, "one", array[None]))
    if array.ndim == 2 and len(shape) == 2:
        rows, size = array.shape
        if size == shape[0] * shape[1]:
            readings.append(_Reading(kind, "flat", array.reshape(rows, *shape)))
        elif kind == "matrices" and size == shape[0] * (shape[0] + 1) // 2:
            i, j = np.triu_indices(shape[0])
            matrices = np.empty((rows, *shape))
            matrices[:, i, j] = matrices[:, j, i] = array
            readings.append(_Reading(kind, "upper triangle", matrices))
    return readings


def _fits(reading: _Reading, space: Space) -> bool:
    return reading.kind == kind_of(space) and reading.points.shape[1:] == shape_of(space)


def _needs(space: Space) -> str:
    return f"{space} needs {kind_of(space)} of shape {shape_of(space)}"


def _no_reading(array: NDArray[Any], space: Space | None) -> str:
    if array.ndim == 3 and 3 in array.shape[1:] and (space is None or kind_of(space) == "landmarks"):
        return f"the array {array.shape} looks like landmarks in three dimensions; sfumato reads planar ones, (n, k, 2)"
    held = f"{'complex' if np.iscomplexobj(array) else 'real'} array {array.shape}"
    if space is not None:
        return f"the {held} does not hold points of the space; {_needs(space)}"
    return f"the {held} is neither landmarks (n, k, 2), matrices (n, k, k) nor vectors (n, m)"
