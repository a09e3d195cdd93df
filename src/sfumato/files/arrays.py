"""Arrays: which axis counts the records, and what a record is."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import Fix
from ..numerics.arrays import Array
from ..spaces.base import Kind, Space
from .base import AmbiguousError, Dataset, FileError, Wanted


class Order(Enum):
    """Which axis of an array counts the records."""

    FIRST = "usual everywhere"
    LAST = "usual in R and MATLAB"
    OTHER = "read where nothing usual fits"


class Layout(NamedTuple):
    """An array of three axes: n records of k landmarks with so many coordinates, or of k rows and k columns (``dim`` is 0)."""

    words: str
    kind: Kind
    axes: tuple[int, ...]  # those of records, rows and columns
    dim: int
    order: Order


_ORDERS = {"kdn": Order.LAST, "ndk": Order.OTHER, "nkd": Order.FIRST, "dkn": Order.LAST, "dnk": Order.OTHER}
_LAYOUTS = (
    *(
        Layout(f"({', '.join(axes)})".replace("d", str(dim)), "landmarks", tuple(map(axes.index, "nkd")), dim, order)
        for dim in (2, 3)
        for axes, order in _ORDERS.items()
    ),
    Layout("(k, k, n)", "matrices", (2, 0, 1), 0, Order.LAST),
    Layout("(n, k, k)", "matrices", (0, 1, 2), 0, Order.FIRST),
)
_ALONE = "one record"
_COORDINATES = {2: "x1, y1, x2, y2, …", 3: "x1, y1, z1, x2, y2, z2, …"}
QUATERNIONS = "unit quaternions"  # the layout of a space that takes them beside other things
IN_WORDS = {2: "in the plane", 3: "in three dimensions"}


class Reading(NamedTuple):
    """One way to read an array."""

    kind: Kind
    layout: str
    points: Array
    order: Order = Order.OTHER


def arrange(array: NDArray[Any], space: Wanted = None, records_last: bool = False) -> Reading:
    """Return points, batch first, and their kind, from an array in any of the usual layouts.

    ``records_last`` says that the array comes from R or MATLAB, where the last axis often counts the records: there both
    ends are considered, elsewhere the last axis only if the first does not fit.  Two readings are refused, unless the
    space leaves one, or leaves two of the same kind, of which the habit of R and MATLAB decides.
    """
    if array.dtype.kind not in "biufc":
        raise FileError(f"holds values of type {array.dtype}, not numbers")
    if array.size == 0:
        raise FileError(f"holds no records: the array has shape {array.shape}")
    readings = _usual(array, space, records_last)
    if not readings:
        words = f"the {'complex' if np.iscomplexobj(array) else 'real'} array {array.shape}"
        if space is not None:
            raise FileError(f"{words} does not hold points of the space; {needs(space)}")
        raise FileError(f"{words} is neither landmarks (n, k, 2) or (n, k, 3), matrices (n, k, k) nor vectors (n, m)")
    counted = isinstance(space, Space)
    square = counted and not records_last and array.ndim == 3 and readings[0].kind == "landmarks"
    if len(readings) > 1 and (square or not counted):
        raise _two_readings(array, readings, square)
    return readings[0]


def _usual(array: NDArray[Any], space: Wanted, records_last: bool) -> list[Reading]:
    """Return the readings that fit the space: those in usual layouts, or all if there are none."""
    readings = [r for r in _flat(array, space) + _readings(array) if fits(r.kind, r.points.shape[1:], space)]
    usual = (Order.FIRST, Order.LAST) if records_last else (Order.FIRST,)
    readings = [reading for reading in readings if reading.order in usual] or readings
    if space is None and any(reading.kind == "matrices" for reading in readings):
        return [r for r in readings if r.kind == "matrices" or r.points.shape[2] == 2]  # (n, 3, 3) stays matrices
    return readings


def landmarks(data: Dataset, space: Wanted) -> Dataset:
    """Return landmarks from a layout that holds nothing else, checked against the space."""
    k, dim = data.points.shape[1:]
    if k < 3:
        raise FileError(f"{k} landmarks per specimen; a shape needs at least 3")
    if not fits("landmarks", (k, dim), space):
        raise FileError(f"holds {k} landmarks {IN_WORDS[dim]} per specimen; {needs(space)}")
    return replace(data, source=data.source or f"{k} landmarks")


def widths(space: Space) -> set[int]:
    """Return numbers of columns that make a point: half a symmetric matrix is enough."""
    shapes = space.layouts.values()
    return {math.prod(shape) for shape in shapes} | (set(_halves(space)) if _symmetric(space) else set())


def layout_named(space: Wanted, shape: tuple[int, ...]) -> str:
    """Return what a space that takes several layouts calls this one, for a message."""
    layouts = _layouts(space, shape)
    names = [name for name, own in layouts.items() if own == shape] if len(layouts) > 1 else []
    if not names:
        return ""
    return f", as {names[0]}" + (", scalar first (w, x, y, z)" if names[0] == QUATERNIONS else "")


def takes_quaternions(space: Wanted) -> bool:
    """Tell whether points of the space may be written as quaternions."""
    return QUATERNIONS in _layouts(space, (4,))


def _layouts(space: Wanted, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Return the layouts of the space, or of that of a family whose points have this shape."""
    sized = _shaped(space, shape)
    return {} if sized is None else sized.layouts


def _shaped(space: Wanted, shape: tuple[int, ...]) -> Space | None:
    """Return the space, or that of a family whose points have this shape, if there is one."""
    if space is None or isinstance(space, Space):
        return space
    try:
        return space.shaped(shape)
    except (ValueError, TypeError):  # no such size, or one that needs more than a shape
        return None


def fits(kind: Kind, shape: tuple[int, ...], space: Wanted) -> bool:
    """Tell whether records of this kind and shape can be points of a space."""
    if space is None:
        return True
    if not isinstance(space, Space):
        dim = space.of.landmark_dim if space.kind == "landmarks" else None
        if kind == space.kind:
            return not isinstance(dim, int) or shape[1] == dim
        sized = _shaped(space, shape) if space.kind != "landmarks" else None
        return sized is not None and fits(kind, shape, sized)
    shapes = [*space.layouts.values()]
    kinds = {space.kind} | ({_kind(own) for own in shapes} if len(shapes) > 1 else set())
    return kind in kinds and shape in shapes


def _kind(shape: tuple[int, ...]) -> Kind:
    if len(shape) == 1:
        return "vectors"
    return "matrices" if len(shape) == 2 and shape[0] == shape[1] else "arrays"


def _symmetric(space: Space) -> bool:
    return space.kind == "matrices" and len(space.layouts) == 1


def _halves(space: Space) -> dict[int, int]:
    """Return how many numbers the upper triangle has, and whether it begins on the diagonal (0) or beside it (1)."""
    k = next(iter(space.layouts.values()))[0]
    beside = {} if space.fixed_diagonal is None else {k * (k - 1) // 2: 1}
    return {k * (k + 1) // 2: 0, **beside}


def _readings(array: NDArray[Any]) -> list[Reading]:
    """Return readings with nothing flattened, the one with the records last first."""
    if np.iscomplexobj(array):
        ways = [("(k, n)", array.T, Order.LAST), ("(n, k)", array, Order.FIRST)] if array.ndim == 2 else []
        return [Reading("landmarks", layout, _pairs(z), order) for layout, z, order in ways if z.shape[1] >= 3]
    if array.ndim == 2:
        return [Reading("vectors", "(n, m)", array, Order.FIRST)]
    if array.ndim != 3:
        return []
    readings = []
    for layout in _LAYOUTS:
        rows, columns = (array.shape[axis] for axis in layout.axes[1:])
        if rows == columns if layout.kind == "matrices" else rows >= 3 and columns == layout.dim:
            readings.append(Reading(layout.kind, layout.words, array.transpose(layout.axes), layout.order))
    return readings


def _flat(array: NDArray[Any], space: Wanted) -> list[Reading]:
    """Return the readings that need a space: one point alone, points flattened into rows, and points of any other shape."""
    if space is None:
        return []
    if not isinstance(space, Space):
        return _of_family(array, space.kind)
    if np.iscomplexobj(array):
        return [Reading(space.kind, _ALONE, _pairs(array)[None], Order.FIRST)] if array.ndim == 1 else []
    return next(filter(None, (way(array, space, [*space.layouts.values()]) for way in (_alone, _stacks, _rows))), [])


def _of_family(array: NDArray[Any], kind: Kind) -> list[Reading]:
    """Return the readings where only the kind of the points is known."""
    if kind == "arrays":
        return [Reading(kind, "(n, …)", array, Order.FIRST)]
    if kind == "landmarks" and array.ndim == 2 and array.shape[1] in (2, 3) and len(array) >= 3:
        return [Reading(kind, "one specimen", array[None])]
    if kind == "matrices" and array.ndim == 2 and len(array) > 1 and np.array_equal(array, array.T):
        return [Reading(kind, _ALONE, array[None], Order.FIRST)]
    return []


def _alone(array: NDArray[Any], space: Space, shapes: list[tuple[int, ...]]) -> list[Reading]:
    """Return the reading of single numbers, or of one point."""
    if array.ndim == 1 and () in shapes and (1,) in shapes:
        return [Reading(space.kind, "(n)", array[:, None])]
    if array.shape not in shapes or (array.shape != shapes[0] and array.shape[1:] in shapes):
        return []
    kind = space.kind if array.shape == shapes[0] else _kind(array.shape)
    return [Reading(kind, _ALONE, array[None], Order.FIRST)]


def _stacks(array: NDArray[Any], space: Space, shapes: list[tuple[int, ...]]) -> list[Reading]:
    """Return the readings of arrays one after another, the one with the records last first."""
    if space.kind != "arrays" or array.ndim < 2:
        return []
    ways = [("(…, n)", np.moveaxis(array, -1, 0), Order.LAST), ("(n, …)", array, Order.FIRST)]
    return [Reading(space.kind, *way) for way in ways if way[1].shape[1:] in shapes]


def _rows(array: NDArray[Any], space: Space, shapes: list[tuple[int, ...]]) -> list[Reading]:
    """Return the reading of points whose numbers stand in one row each."""
    kind = space.kind
    if array.ndim != 2:
        return []
    for shape in shapes:
        if len(shape) > 1 and array.shape[1] == math.prod(shape):
            order = "of the matrix one after another" if kind == "matrices" else "of the numbers one after another"
            words = _COORDINATES[shape[-1]] if kind == "landmarks" else order
            return [Reading(kind, f"rows {words}", array.reshape(-1, *shape))]
    first = _halves(space).get(array.shape[1]) if _symmetric(space) else None
    if first is None:
        return []
    i, j = np.triu_indices(shapes[0][0], first)
    matrices = np.full((len(array), *shapes[0]), space.fixed_diagonal or 0.0)
    matrices[:, i, j] = array
    matrices[:, j, i] = array
    return [Reading(kind, f"rows of the upper triangle{' without its diagonal' if first else ''}", matrices)]


def _pairs(z: NDArray[Any]) -> Array:
    return np.stack([z.real, z.imag], axis=-1)


def needs(space: Wanted) -> str:
    """Return what a space asks of a file, for a message."""
    if space is None:
        return "landmarks, matrices or vectors are needed"
    if not isinstance(space, Space):
        dim = space.of.landmark_dim
        where = f" {IN_WORDS[dim]}" if space.kind == "landmarks" and dim in IN_WORDS else ""
        return f"{space.of.__name__} needs {space.kind}{where}"
    layouts = space.layouts if len(space.layouts) > 1 else {space.kind: next(iter(space.layouts.values()))}
    return f"{space} needs {' or '.join(f'{name} of shape {shape}' for name, shape in layouts.items())}"


def _two_readings(array: NDArray[Any], readings: list[Reading], square: bool) -> AmbiguousError:
    ways = " or ".join(
        f"{len(r.points)} records, {r.kind} {r.points.shape[1:]}, in the order {r.layout}" for r in readings
    )
    start = f"the array {array.shape} can be read as {ways}; "
    if len({(reading.kind, reading.points.shape[2:] == (2,)) for reading in readings}) > 1:
        return AmbiguousError(f"{start}give the space")
    if square:
        return AmbiguousError(f"{start}save it with the records first")
    marks = readings[0].kind == "landmarks"
    parts: list[str | Fix] = [f"{start}say how many {'landmarks' if marks else 'rows'} a record has"]
    for size in sorted({reading.points.shape[1] for reading in readings}):
        parts += [", " if len(parts) == 1 else " or ", Fix("landmarks" if marks else "size", size)]
    return AmbiguousError(*parts)
