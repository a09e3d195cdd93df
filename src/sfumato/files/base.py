"""What all readers share: what they are asked, what they return, how they refuse a file, and their limits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import AmbiguousError as AmbiguousError
from ..errors import FileError as FileError
from ..errors import printable
from ..numerics.arrays import Array
from ..spaces import usual_spaces
from ..spaces.base import Kind, Space
from ..spaces.family import Family

Labels = dict[str, NDArray[Any]]
Wanted = Space | Family | None  # a space, or its kind alone where the file tells the size

LARGEST = 4 << 30  # bytes that a compressed file may unpack to


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """The records of one file.  NumPy, and every function that takes points, takes a data set for its points.

    ``points`` are one record after another, as ``kind`` says: landmarks (n, k, 2) or (n, k, 3), matrices (n, k, k), vectors
    (n, m), or other arrays.  ``labels`` holds what else the file says of each record (ID, subject, scale), by name, strings
    or numbers.  ``source`` says in words which array or columns of the file ``path`` became the points.

    >>> data = Dataset(np.zeros((2, 5, 2)), "landmarks", "TPS", {"ID": np.array(["a", "b"])}, Path("wings.tps"))
    >>> len(data), data.where(1)
    (2, "record 1 (ID 'b')")
    >>> data.contents
    '2 records of 5 landmarks'
    """

    points: Array
    kind: Kind
    format: str = ""
    labels: Labels = field(default_factory=dict)
    path: Path = Path()
    source: str = ""
    names: tuple[str, ...] = ()  # of the columns of a table that the points came from
    lines: tuple[int, ...] = ()  # of a text file, on which the records begin
    degrees: tuple[str, str] | None = None  # the columns of latitude and longitude, if the points came as such
    landmarks: tuple[str, ...] = ()  # their names, in a file that has them
    quaternions: bool = False  # whether the names of the columns say so
    curves: int = 0  # that the file marks in each specimen, outlines among them
    sliders: tuple[tuple[int, ...], ...] = ()  # their points, from 1: one before, one between, one after
    prepared: dict[str, Any] = field(default_factory=dict)  # what was asked for before a release, as its record says it
    sure: bool = True  # whether the layout or the names say what the records are, not only how many numbers there are

    def __len__(self) -> int:
        return len(self.points)

    @property
    def contents(self) -> str:
        """Return how many records of what, in words."""
        if self.kind != "landmarks":
            return f"{len(self)} {self.kind} of {self._size}"
        k, dim = self.points.shape[1:]
        return f"{len(self)} records of {k} landmarks" + (" in 3 dimensions" if dim == 3 else "")

    @property
    def _size(self) -> str:
        return " x ".join(map(str, self.points.shape[1:]))

    @property
    def usual(self) -> list[type[Space]]:
        """List the spaces that the records may be points of where none is named, the most usual first."""
        return usual_spaces(self.kind, self.points.shape[1:], self.degrees is not None, self.quaternions)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.points, dtype=dtype) if copy else np.asarray(self.points, dtype=dtype)

    def __repr__(self) -> str:
        """Return a summary that shows no record, as others may see what is printed."""
        labels = f"; labels: {', '.join(self.labels)}" if self.labels else ""
        records = f"{len(self)} records, {self.kind} of {self._size}, from {self.source or self.format}"
        return printable(f"<Dataset {self.path.name}: {records}{labels}>")

    def _repr_html_(self) -> str:
        """Return the same for notebooks: no record is shown."""
        facts = {
            "File": f"{self.path.name} ({self.format})",
            "Records": str(len(self)),
            "Each": f"{self.kind} of {self._size}",
            "Points": f"from {self.source}" if self.source else "",
            "Labels": ", ".join(self.labels),
        }
        rows = (f"<tr><th>{name}</th><td>{escape(printable(fact))}</td></tr>" for name, fact in facts.items() if fact)
        return f"<table>{''.join(rows)}</table><p>For the curator's eyes; no record is shown.</p>"

    def where(self, row: int) -> str:
        """Return where a record stands in the file, for the curator: its line, its ID, which of its numbers are missing."""
        places = [f"line {self.lines[row]}"] if self.lines else []
        keys = [key for key in self.labels if key.lower() in ("file", "id", "specimen")]
        places += [f"{key} {shown(str(self.labels[key][row]))}" for key in keys]
        bad = np.flatnonzero(~np.isfinite(self.points[row]).ravel()).tolist()
        if bad and self.names:
            each = len(self.names) == self.points[row].size
            places.append(f"see column {listed(dict.fromkeys(self.names[i] for i in bad) if each else self.names, 4)}")
        elif bad and len(self.landmarks) == len(self.points[row]):
            names = dict.fromkeys(shown(self.landmarks[i // self.points.shape[2]]) for i in bad)
            places.append(f"see landmark {listed(names, 4)}")
        return f"record {row}" + (f" ({'; '.join(places)})" if places else "")


class Choice(NamedTuple):
    """What the user says of a file beside the space."""

    columns: tuple[str, ...] = ()
    array: str | None = None
    missing: tuple[float, ...] | None = None  # None: not said
    gaps: tuple[str, ...] = ()  # what else is said of missing landmarks: "estimate", "negative"
    curves: str | int = "keep"  # or "drop", or the number of points that each gets
    reference: Callable[[], Any] = lambda: None  # a public outline, which says where others start

    def filled(self, values: Array) -> Array:
        """Return the numbers with NaN in place of the codes for missing values."""
        return np.where(np.isin(values, self.missing), np.nan, values) if self.missing else values


class Named(NamedTuple):
    """An array whose records have names."""

    array: NDArray[Any]
    names: NDArray[Any]


# What a file holds, by name: an array, a Table, landmarks and curves (Curved), a Dataset of landmarks or of vectors that may be
# landmarks, or an error that says why it is not read.
Contents = dict[str, Any]


class Format(NamedTuple):
    """A format: its reader, of bytes that begin with ``magic``, or of a text whose first words ``looks`` recognises."""

    name: str
    read: Callable[[Any], Contents]
    magic: tuple[bytes, ...] = ()
    looks: Callable[[str], object] | None = None
    suffixes: tuple[str, ...] = ()  # that decide where the words do not
    curves: bool = False  # whether it can mark curves
    records_last: bool = False  # as in R and MATLAB, where the last axis of an array often counts the records


def allowed(compressed: int) -> int:
    """Return how many bytes so many compressed bytes may unpack to: real data shrink a hundredfold at most."""
    return min(LARGEST, 100 * compressed + (64 << 20))


def check_unique(names: list[str], what: str) -> None:
    """Refuse a file in which two things have the same name."""
    for one, other in pairwise(sorted(names)):
        if one == other:
            raise FileError(f"two {what} are named {shown(one)}")


@contextmanager
def placed(where: object) -> Iterator[None]:
    """Put the place where an error arises, a file or an array, before its words."""
    try:
        yield
    except FileError as error:
        raise type(error)(f"{where}: ", *error.parts) from None


def measured(value: float) -> int | float:
    """Return a number as people write it: whole ones without a point."""
    return int(value) if float(value).is_integer() and abs(value) < 1e15 else float(f"{value:.10g}")


def package(name: str, purpose: str) -> Any:
    """Return a package that only some formats need, imported when it is first needed."""
    try:
        return import_module(name)
    except ImportError:
        raise FileError(f"{purpose} needs the package {name.split('.')[0]}: pip install {name.split('.')[0]}") from None


@contextmanager
def damaged(what: str) -> Iterator[None]:
    """Turn whatever a library raises for a damaged file into a FileError."""
    try:
        yield
    except (FileError, MemoryError):
        raise
    except Exception as error:
        raise FileError(f"{what}: {str(error)[:200] or type(error).__name__}") from None


def shown(text: str) -> str:
    """Return a piece of a file for a message: quoted, and not a page long."""
    return repr(text if len(text) <= 40 else text[:40] + "…")


def listed(names: Any, most: int = 6) -> str:
    """Return some of the names, for a message."""
    return ", ".join([*names][:most]) + (", …" if len(names) > most else "") or "none"
