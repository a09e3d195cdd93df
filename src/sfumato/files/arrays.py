"""Arrays: which axis counts the records, and what a record is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..spaces.base import Array, Kind, Space
from ..spaces.family import Family
from .base import AmbiguousError, FileError, Found, Labels, Wanted

_LAYOUTS: dict[str, tuple[Kind, tuple[int, int, int]]] = {  # the axes in the order records, rows, columns
    "(k, 2, n)": ("landmarks", (2, 0, 1)),
    "(n, 2, k)": ("landmarks", (0, 2, 1)),
    "(n, k, 2)": ("landmarks", (0, 1, 2)),
    "(2, k, n)": ("landmarks", (2, 1, 0)),
    "(2, n, k)": ("landmarks", (1, 2, 0)),
    "(k, k, n)": ("matrices", (2, 0, 1)),
    "(n, k, k)": ("matrices", (0, 1, 2)),
}
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
    ends are considered, elsewhere the last axis only if the first does not fit.  Two readings are refused, unless the
    space leaves one, or leaves two of the same kind, of which the habit of R and MATLAB decides.
    """
    if array.dtype.kind not in "biufc":
        raise FileError(f"holds values of type {array.dtype}, not numbers")
    if array.size == 0:
        raise FileError(f"holds no records: the array has shape {array.shape}")
    readings = [r for r in _readings(array) + _flat(array, space) if _fits(r, space)]
    if not readings:
        raise FileError(_no_reading(array, space))
    if isinstance(space, Space):  # the way in which points are presented before others in which they may come
        readings = [reading for reading in readings if reading.points.shape[1:] == shape_of(space)] or readings
    usual = _USUAL | _USUAL_LAST if records_last else _USUAL
    readings = [reading for reading in readings if reading.layout in usual] or readings
    counted = isinstance(space, Space)
    square = counted and not records_last and array.ndim == 3 and readings[0].kind == "landmarks"
    if len(readings) > 1 and (square or not counted):
        raise _two_readings(array, readings, square)
    return readings[0]


def landmarks(points: Array, labels: Labels, space: Wanted, source: str = "", **more: Any) -> Found:
    """Landmarks from a format that holds nothing else, checked against the space."""
    if points.shape[1] < 3:
        raise FileError(f"{points.shape[1]} landmarks per specimen; a shape needs at least 3")
    if space is not None and not _fits(Reading("landmarks", "", points), space):
        raise FileError(f"holds {points.shape[1]} landmarks in the plane per specimen; {needs(space)}")
    return Found(points, "landmarks", labels, source or f"{points.shape[1]} landmarks", **more)


def shape_of(space: Space) -> tuple[int, ...]:
    """The shape of one point as users type it."""
    return space.present(space.origin()).shape


def widths(space: Space) -> set[int]:
    """Numbers of columns that make a point in any of its layouts: half a symmetric matrix is enough."""
    shape = shape_of(space)
    whole = {int(np.prod(each)) for each in space.layouts.values()}
    return whole | ({shape[0] * (shape[0] + 1) // 2} if space.kind == "matrices" else set())


def _readings(array: NDArray[Any]) -> list[Reading]:
    """Readings with nothing flattened, the one with the records last first."""
    if np.iscomplexobj(array):
        ways = [("(k, n)", array.T), ("(n, k)", array)] if array.ndim == 2 else []
        return [Reading("landmarks", layout, _pairs(z)) for layout, z in ways if z.shape[1] >= 3]
    if array.ndim == 2:
        return [Reading("vectors", "(n, m)", array)]
    ways3 = _LAYOUTS.items() if array.ndim == 3 else ()
    found = [Reading(kind, layout, array.transpose(axes)) for layout, (kind, axes) in ways3]
    return [reading for reading in found if _possible(reading.kind, *reading.points.shape[1:])]


def _possible(kind: Kind, rows: int, columns: int) -> bool:
    return rows == columns if kind == "matrices" else columns == 2 and rows >= 3


def _flat(array: NDArray[Any], space: Wanted) -> list[Reading]:
    """Readings that need a space: one point alone, points flattened into rows, and points of any other shape."""
    if space is None:
        return []
    if not isinstance(space, Space):
        alone = space.kind == "landmarks" and array.ndim == 2 and array.shape[1] == 2 and len(array) >= 3
        one = [Reading("landmarks", "one specimen", array[None])] if alone else []
        return one + ([Reading("arrays", "(n, …)", array)] if space.kind == "arrays" else [])
    kind, shape = space.kind, shape_of(space)
    if np.iscomplexobj(array):
        return [Reading(kind, "one record", _pairs(array)[None])] if array.ndim == 1 else []
    if array.shape in space.layouts.values():
        return [Reading(kind, "one record", array[None])]
    if kind == "arrays" and array.shape[1:] == shape:
        return [Reading(kind, "(n, …)", array)]
    if array.ndim != 2 or array.shape[1] not in widths(space) or len(shape) == 1:
        return []
    if array.shape[1] == np.prod(shape):
        order = "x1, y1, x2, y2, …" if kind == "landmarks" else "of the matrix one after another"
        return [Reading(kind, f"rows {order}", array.reshape(-1, *shape))]
    i, j = np.triu_indices(shape[0])
    if array.shape[1] != len(i):
        return []
    matrices = np.empty((len(array), *shape))
    matrices[:, i, j] = matrices[:, j, i] = array
    return [Reading(kind, "rows of the upper triangle", matrices)]


def _pairs(z: NDArray[Any]) -> Array:
    return np.stack([z.real, z.imag], axis=-1)


def _fits(reading: Reading, space: Wanted) -> bool:
    if space is None:
        return True
    if not isinstance(space, Space):
        return reading.kind == space.kind
    shape = reading.points.shape[1:]
    return shape in space.layouts.values() and (reading.kind == space.kind or shape != shape_of(space))


def needs(space: Space | Family) -> str:
    """What a space asks of a file, for a message."""
    if not isinstance(space, Space):
        return f"{space.of.__name__} needs {space.kind}"
    if len(space.layouts) > 1:
        return f"{space} needs {' or '.join(f'{name} {shape}' for name, shape in space.layouts.items())}"
    return f"{space} needs {space.kind} of shape {shape_of(space)}"


def _no_reading(array: NDArray[Any], space: Wanted) -> str:
    if array.ndim == 3 and 3 in array.shape[1:] and (space is None or space.kind == "landmarks"):
        return f"the array {array.shape} looks like landmarks in three dimensions; sfumato reads planar ones, (n, k, 2)"
    held = f"{'complex' if np.iscomplexobj(array) else 'real'} array {array.shape}"
    if space is not None:
        return f"the {held} does not hold points of the space; {needs(space)}"
    return f"the {held} is neither landmarks (n, k, 2), matrices (n, k, k) nor vectors (n, m)"


def _two_readings(array: NDArray[Any], readings: list[Reading], square: bool) -> AmbiguousError:
    ways = " or ".join(
        f"{len(r.points)} records, {r.kind} {r.points.shape[1:]}, in the order {r.layout}" for r in readings
    )
    counts = " or ".join(map(str, sorted({reading.points.shape[1] for reading in readings})))
    what, option = ("landmarks", "--landmarks") if readings[0].kind == "landmarks" else ("rows", "--size")
    remedy = f"say how many {what} a record has, {option} {counts}"
    if len({reading.kind for reading in readings}) > 1:
        remedy = "give the space"
    elif square:
        remedy = "save it with the records first"
    return AmbiguousError(f"the array {array.shape} can be read as {ways}; {remedy}")
