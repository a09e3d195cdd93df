"""Arrays: which axis counts the records, and what a record is."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import Fix
from ..numerics.arrays import Array
from ..spaces.base import Kind, Space
from ..spaces.family import Family
from .base import AmbiguousError, Dataset, FileError, Wanted

# What each axis counts: n records, k landmarks or rows, d coordinates, m numbers.  The habit of R and MATLAB comes first.
_LAYOUTS: tuple[tuple[Kind, str], ...] = (
    ("landmarks", "kdn"),
    ("landmarks", "nkd"),
    ("landmarks", "dkn"),
    ("matrices", "kkn"),
    ("matrices", "nkk"),
    ("vectors", "nm"),
)
_COMPLEX: tuple[tuple[Kind, str], ...] = (("landmarks", "knd"), ("landmarks", "nkd"))
_ALONE = "one record"
_COORDINATES = {2: "x1, y1, x2, y2, …", 3: "x1, y1, z1, x2, y2, z2, …"}
QUATERNIONS = "unit quaternions"  # the layout of a space that takes them beside other things
IN_WORDS = {2: "in the plane", 3: "in three dimensions"}


class Reading(NamedTuple):
    """One way to read an array; ``last`` says that its last axis counts the records."""

    kind: Kind
    layout: str
    points: Array
    last: bool = False


def arrange(array: NDArray[Any], space: Wanted = None, records_last: bool = False) -> Reading:
    """Return points, batch first, and their kind, from an array in any of the usual layouts.

    ``records_last`` says that the array comes from R or MATLAB, where the last axis often counts the records: there both
    ends are considered, elsewhere the last axis only if the first does not fit.  Two readings are refused, unless the
    array comes from R or MATLAB and the size of the space is known: then their habit decides.
    """
    if array.dtype.kind not in "biufc":
        raise FileError(f"holds values of type {array.dtype}, not numbers")
    if array.size == 0:
        raise FileError(f"holds no records: the array has shape {array.shape}")
    readings = _readings(array, space)
    if not records_last:
        readings = [r for r in readings if not r.last] or readings
    if space is None and any(reading.kind == "matrices" for reading in readings):  # (n, 3, 3) stays matrices
        readings = [reading for reading in readings if reading.kind == "matrices" or reading.points.shape[2] == 2]
    if not readings or _is_unclear(readings, isinstance(space, Space), records_last):
        raise _refusal(array, readings, space)
    return readings[0]


def _is_unclear(readings: list[Reading], counted: bool, records_last: bool) -> bool:
    """Tell whether an array could be read in another way too; ``counted`` says that the size of a record is known."""
    first = readings[0]
    if not counted:
        return len(readings) > 1 or (first.last and not records_last)
    square = len(readings) > 1 or len(first.points) == first.points.shape[1]
    return square and first.last and first.kind == "landmarks" and not records_last


def _readings(array: NDArray[Any], space: Wanted) -> list[Reading]:
    """Return the readings that fit the space, those in a layout of R and MATLAB first."""
    real = np.stack([array.real, array.imag], axis=-1) if np.iscomplexobj(array) else array
    readings = [_laid_out(real, kind, axes) for kind, axes in (_LAYOUTS if real is array else _COMPLEX)]
    if space is not None and (real is array or space.kind == "landmarks"):
        readings = [*_of_space(real, space), *readings]
    return [r for r in readings if r is not None and fits(r.kind, r.points.shape[1:], space)]


def _laid_out(array: NDArray[Any], kind: Kind, axes: str) -> Reading | None:
    """Return an array with the records first, if its axes can be these."""
    sizes = dict(zip(axes, array.shape, strict=False))
    if tuple(map(sizes.get, axes)) != array.shape:
        return None
    if kind == "landmarks" and (sizes["d"] not in (2, 3) or sizes["k"] < 3):
        return None
    order = np.argsort(["nkdm".index(axis) for axis in axes], kind="stable")
    words = ", ".join(axes).replace("d", str(sizes.get("d")))
    return Reading(kind, f"({words})", array.transpose(order), not axes.startswith("n"))


def _of_space(array: NDArray[Any], space: Space | Family) -> list[Reading]:
    """Return the readings that need a space: one point alone, points of any other shape, and points flattened into rows."""
    if isinstance(space, Family):
        return _of_family(array, space.kind)
    shapes = [*space.layouts.values()]
    shape = array.shape
    if len(shape) == 1 and () in shapes:
        return [Reading(space.kind, "(n)", array[:, None])]
    if shape in shapes and (shape == shapes[0] or shape[1:] not in shapes):
        return [Reading(space.kind if shape == shapes[0] else _kind(shape), _ALONE, array[None])]
    ways: list[Reading] = []
    if space.kind == "arrays" and len(shape) > 1:
        ways = [Reading("arrays", "(…, n)", np.moveaxis(array, -1, 0), True), Reading("arrays", "(n, …)", array)]
    return [way for way in ways if way.points.shape[1:] in shapes] or _rows(array, space)


def _of_family(array: NDArray[Any], kind: Kind) -> list[Reading]:
    """Return the readings where only the kind of the points is known."""
    if kind == "arrays":
        return [Reading(kind, "(n, …)", array)]
    if array.ndim != 2 or kind == "vectors":
        return []
    marks = kind == "landmarks" and array.shape[1] in (2, 3) and len(array) >= 3
    matrix = kind == "matrices" and len(array) > 1 and np.array_equal(array, array.T)
    return [Reading(kind, _ALONE, array[None])] if marks or matrix else []


def _rows(array: NDArray[Any], space: Space) -> list[Reading]:
    """Return the reading of points whose numbers stand in one row each."""
    if array.ndim != 2:
        return []
    shapes = [*space.layouts.values()]
    for shape in shapes:
        if len(shape) > 1 and array.shape[1] == math.prod(shape):
            what = "matrix" if space.kind == "matrices" else "numbers"
            words = _COORDINATES[shape[-1]] if space.kind == "landmarks" else f"of the {what} one after another"
            return [Reading(space.kind, f"rows {words}", array.reshape(-1, *shape))]
    first = _halves(space).get(array.shape[1])
    if first is None:
        return []
    i, j = np.triu_indices(shapes[0][0], first)
    matrices = np.full((len(array), *shapes[0]), space.fixed_diagonal or 0.0)
    matrices[:, i, j] = array
    matrices[:, j, i] = array
    return [Reading(space.kind, f"rows of the upper triangle{' without its diagonal' if first else ''}", matrices)]


def _halves(space: Space) -> dict[int, int]:
    """Return how many numbers the upper triangle has, and whether it begins on the diagonal (0) or beside it (1)."""
    if space.kind != "matrices" or len(space.layouts) > 1:
        return {}
    k = next(iter(space.layouts.values()))[0]
    beside = {} if space.fixed_diagonal is None else {k * (k - 1) // 2: 1}
    return {k * (k + 1) // 2: 0, **beside}


def widths(space: Space) -> set[int]:
    """Return numbers of columns that make a point: half a symmetric matrix is enough."""
    return {math.prod(shape) for shape in space.layouts.values()} | set(_halves(space))


def landmarks(data: Dataset, space: Wanted) -> Dataset:
    """Return landmarks from a layout that holds nothing else, checked against the space."""
    k, dim = data.points.shape[1:]
    if k < 3:
        raise FileError(f"{k} landmarks per specimen; a shape needs at least 3")
    if not fits("landmarks", (k, dim), space):
        other = (n for n in range(3, 9999) if isinstance(space, Space) and space.takes((n, dim)))
        want = next(other, 0) if len(data.sliders) == k - 2 else 0  # each is one curve
        if want:
            more = " or more" if next(other, 0) == want + 1 else ""
            raise AmbiguousError(f"{k} points on each, and {space} needs {want}{more}: ", Fix("curves", want))
        raise FileError(f"holds {k} landmarks {IN_WORDS[dim]} per specimen; {needs(space)}")
    return replace(data, source=data.source or f"{k} landmarks")


def layout_named(space: Wanted, shape: tuple[int, ...]) -> str:
    """Return what a space that takes several layouts calls this one, for a message."""
    layouts = layouts_of(space, shape)
    name = next((name for name, own in layouts.items() if own == shape), None)
    if name is None or len(layouts) == 1:
        return ""
    return f", as {name}" + (", scalar first (w, x, y, z)" if name == QUATERNIONS else "")


def layouts_of(space: Wanted, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Return the layouts of the space, or of that of a family whose points have this shape."""
    if isinstance(space, Family):
        try:
            space = space.shaped(shape)
        except (ValueError, TypeError):  # no such size, or one that needs more than a shape
            return {}
    return {} if space is None else space.layouts


def fits(kind: Kind, shape: tuple[int, ...], space: Wanted) -> bool:
    """Tell whether records of this kind and shape can be points of a space."""
    if space is None:
        return True
    if isinstance(space, Family) and "landmarks" in (kind, space.kind):
        dim = space.of.landmark_dim
        return kind == space.kind and (not isinstance(dim, int) or shape[1] == dim)
    if isinstance(space, Family) and kind == space.kind:
        return True
    layouts = layouts_of(space, shape)
    taken = space.takes(shape) if isinstance(space, Space) else shape in layouts.values()
    return taken and (kind == space.kind or (len(layouts) > 1 and kind == _kind(shape)))


def _kind(shape: tuple[int, ...]) -> Kind:
    if len(shape) == 1:
        return "vectors"
    return "matrices" if len(shape) == 2 and shape[0] == shape[1] else "arrays"


def needs(space: Wanted) -> str:
    """Return what a space asks of a file, for a message."""
    if space is None:
        return "landmarks, matrices or vectors are needed"
    if isinstance(space, Family):
        dim = space.of.landmark_dim
        where = f" {IN_WORDS[dim]}" if space.kind == "landmarks" and dim in IN_WORDS else ""
        return f"{space.of.__name__} needs {space.kind}{where}"
    layouts = space.layouts if len(space.layouts) > 1 else {space.kind: next(iter(space.layouts.values()))}
    return f"{space} needs {' or '.join(f'{name} of shape {shape}' for name, shape in layouts.items())}"


def _refusal(array: NDArray[Any], readings: list[Reading], space: Wanted) -> FileError:
    """Return an error that says how an array can be read, if at all, and what would help."""
    if not readings:
        words = f"the {'complex' if np.iscomplexobj(array) else 'real'} array {array.shape}"
        if space is not None:
            return FileError(f"{words} does not hold points of the space; {needs(space)}")
        return FileError(f"{words} is neither landmarks (n, k, 2) or (n, k, 3), matrices (n, k, k) nor vectors (n, m)")
    every = (f"{len(r.points)} records, {r.kind} {r.points.shape[1:]}, in the order {r.layout}" for r in readings)
    ways = " or ".join(every)
    start = f"the array {array.shape} can be read as {ways}; "
    if isinstance(space, Space):
        return AmbiguousError(f"{start}save it with the records first")
    if len({(reading.kind, reading.points.shape[2:] == (2,)) for reading in readings}) > 1:
        return AmbiguousError(f"{start}give the space")
    marks = readings[0].kind == "landmarks"
    parts: list[str | Fix] = [f"{start}say how many {'landmarks' if marks else 'rows'} a record has"]
    for size in sorted({reading.points.shape[1] for reading in readings}):
        parts += [", " if len(parts) == 1 else " or ", Fix("landmarks" if marks else "size", size)]
    return AmbiguousError(*parts, ", or save it with the records first")
