"""Which axis of an array counts the records, and what a record is."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import AmbiguousError as AmbiguousError
from ..spaces import SPD, PlanarShapes, Space
from ..spaces.base import Array
from .files import FileError, Kind, Labels, Records, Wanted, allowed

WIDEST = 1 << 30  # bytes of all labels of a file; NumPy gives every text the room of the longest
MOST_AXES = 32  # of an array in a file; NumPy itself has 64
_MAIN = ("landmarks", "points", "matrices", "coords", "coordinates", "tensors", "covariances", "shapes", "x", "data")


_USUAL = {"(n, k, 2)", "(n, k, k)", "(n, m)", "(n, k)"}
_USUAL_LAST = {"(k, 2, n)", "(2, k, n)", "(k, k, n)", "(k, n)"}  # in R and MATLAB


class Reading(NamedTuple):
    """One way to read an array."""

    kind: Kind
    layout: str
    points: Array


def arrange(array: NDArray[Any], space: Wanted = None, records_last: bool = False) -> Reading:
    """Points, batch first, and their kind, from an array in any of the usual layouts.

    ``records_last`` says that the array comes from R or MATLAB, where the last axis often counts the records: there both
    ends are considered, elsewhere the last axis only if the first does not do.  Two readings are a refusal, unless the
    space leaves one, or leaves two of the same kind, of which the habit of R and MATLAB decides.

    >>> geomorph = np.zeros((12, 2, 40))
    >>> arrange(geomorph, records_last=True).points.shape
    (40, 12, 2)
    """
    if array.dtype.kind not in "biufc":
        raise FileError(f"holds values of type {array.dtype}, not numbers")
    if array.size == 0:
        raise FileError(f"holds no records: the array has shape {array.shape}")
    readings = [r for r in _readings(array) + _flat(array, space) if _fits(r, space)]
    if not readings:
        raise FileError(_no_reading(array, space))
    usual = _USUAL | _USUAL_LAST if records_last else _USUAL
    readings = [reading for reading in readings if reading.layout in usual] or readings
    counted = space is not None and not isinstance(space, type)
    square = counted and not records_last and array.ndim == 3 and readings[0].kind == "landmarks"
    if len(readings) > 1 and (square or not counted):
        ways = " or ".join(
            f"{len(r.points)} records, {r.kind} {r.points.shape[1:]}, in the order {r.layout}" for r in readings
        )
        counts = sorted({reading.points.shape[1] for reading in readings})
        remedy = "give the space"
        if len({reading.kind for reading in readings}) == 1:
            what, option = ("landmarks", "--landmarks") if readings[0].kind == "landmarks" else ("rows", "--size")
            remedy = f"say how many {what} a record has, {option} {' or '.join(map(str, counts))}"
            remedy = "save it with the records first" if square else remedy
        raise AmbiguousError(f"the array {array.shape} can be read as {ways}; {remedy}")
    return readings[0]


def landmarks(points: Array, labels: Labels, space: Wanted, source: str = "", **more: Any) -> Records:
    """Landmarks from a format that holds nothing else, checked against the space.

    >>> landmarks(np.zeros((4, 5, 2)), {}, None).kind
    'landmarks'
    """
    if points.shape[1] < 3:
        raise FileError(f"{points.shape[1]} landmarks per specimen; a shape needs at least 3")
    if space is not None and not _fits(Reading("landmarks", "", points), space):
        raise FileError(f"holds {points.shape[1]} landmarks in the plane per specimen; {needs(space)}")
    return Records(points, "landmarks", labels, source or f"{points.shape[1]} landmarks", **more)


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


def kind_of(space: Space | type[Space]) -> Kind:
    """What the points of a space are called in a :class:`~sfumato.data.Dataset`.

    >>> kind_of(PlanarShapes(landmarks=5)), kind_of(PlanarShapes)
    ('landmarks', 'landmarks')
    """
    made = space if isinstance(space, type) else type(space)
    return "landmarks" if issubclass(made, PlanarShapes) else "matrices" if issubclass(made, SPD) else "vectors"


def _readings(array: NDArray[Any]) -> list[Reading]:
    """Readings with nothing flattened, the one with the records last first."""
    if np.iscomplexobj(array):
        ways = [("(k, n)", array.T), ("(n, k)", array)] if array.ndim == 2 else []
        pairs = [(layout, np.stack([z.real, z.imag], axis=-1)) for layout, z in ways]
        return [Reading("landmarks", layout, points) for layout, points in pairs if points.shape[1] >= 3]
    if array.ndim == 2:
        return [Reading("vectors", "(n, m)", array)]
    if array.ndim != 3:
        return []
    # the axis of two coordinates may stand anywhere; of two axes that are left, one counts the records
    orders = {
        1: [("(k, 2, n)", (2, 0, 1)), ("(n, 2, k)", (0, 2, 1))],
        2: [("(n, k, 2)", (0, 1, 2))],
        0: [("(2, k, n)", (2, 1, 0)), ("(2, n, k)", (1, 2, 0))],
    }
    found = [
        Reading("landmarks", layout, array.transpose(axes))
        for place in orders
        if array.shape[place] == 2
        for layout, axes in orders[place]
    ]
    found += [Reading("matrices", "(k, k, n)", np.moveaxis(array, -1, 0))] if array.shape[0] == array.shape[1] else []
    found += [Reading("matrices", "(n, k, k)", array)] if array.shape[1] == array.shape[2] else []
    return [reading for reading in found if reading.kind == "matrices" or reading.points.shape[1] >= 3]


def _flat(array: NDArray[Any], space: Wanted) -> list[Reading]:
    """Readings that only a space can tell: one point alone, and points flattened into rows."""
    if space is None or isinstance(space, type):
        alone = space is not None and kind_of(space) == "landmarks" and array.ndim == 2 and array.shape[1] == 2
        return [Reading("landmarks", "one specimen", array[None])] if alone and len(array) >= 3 else []
    kind, shape, readings = kind_of(space), shape_of(space), []
    if np.iscomplexobj(array):
        if array.ndim == 1:
            readings.append(Reading(kind, "one record", np.stack([array.real, array.imag], axis=-1)[None]))
        return readings
    if array.shape == shape:
        readings.append(Reading(kind, "one record", array[None]))
    if array.ndim == 2 and len(shape) == 2:
        rows, size = array.shape
        if size == shape[0] * shape[1]:
            readings.append(Reading(kind, f"rows {_order(kind)}", array.reshape(rows, *shape)))
        elif kind == "matrices" and size == shape[0] * (shape[0] + 1) // 2:
            i, j = np.triu_indices(shape[0])
            matrices = np.empty((rows, *shape))
            matrices[:, i, j] = matrices[:, j, i] = array
            readings.append(Reading(kind, "rows of the upper triangle", matrices))
    return readings


def _order(kind: Kind) -> str:
    return "x1, y1, x2, y2, …" if kind == "landmarks" else "of the matrix one after another"


def _fits(reading: Reading, space: Wanted) -> bool:
    if space is None or isinstance(space, type):
        return space is None or reading.kind == kind_of(space)
    return reading.kind == kind_of(space) and reading.points.shape[1:] == shape_of(space)


def needs(space: Space | type[Space]) -> str:
    """What a space asks of a file.

    >>> needs(SPD), needs(SPD(size=3))
    ('SPD needs matrices', 'SPD(size=3) needs matrices of shape (3, 3)')
    """
    if isinstance(space, type):
        return f"{space.__name__} needs {kind_of(space)}"
    return f"{space} needs {kind_of(space)} of shape {shape_of(space)}"


def _no_reading(array: NDArray[Any], space: Wanted) -> str:
    if array.ndim == 3 and 3 in array.shape[1:] and (space is None or kind_of(space) == "landmarks"):
        return f"the array {array.shape} looks like landmarks in three dimensions; sfumato reads planar ones, (n, k, 2)"
    held = f"{'complex' if np.iscomplexobj(array) else 'real'} array {array.shape}"
    if space is not None:
        return f"the {held} does not hold points of the space; {needs(space)}"
    return f"the {held} is neither landmarks (n, k, 2), matrices (n, k, k) nor vectors (n, m)"
