"""Reading a file of records, whatever its format, and writing one released value.

A file is judged by its content before its name, is read once, and comes out whole or not at all: a cut, damaged or
swollen file raises a :class:`FileError`.  No path that a file mentions is ever followed.
"""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import FileError as FileError
from ..release.atomic import write_atomically
from ..spaces.base import Array, Space, as_numbers

Kind = Literal["landmarks", "matrices", "vectors"]
Labels = dict[str, NDArray[Any]]

LARGEST = 4 << 30  # bytes that a compressed file may unpack to


Wanted = Space | type[Space] | None  # a space, or its class alone where the file tells the size


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """The records of one file.

    ``points`` is float64, batch first: landmarks (n, k, 2), matrices (n, k, k), directions or vectors (n, m).  ``labels``
    holds what else the file says of each record (ID, subject, scale), strings or numbers, each of length n.  ``source`` says
    in words which array or columns became the points; ``degrees`` are the names of latitude and longitude, where the points
    came as such.  NumPy takes a data set for its points, and so does everything that asks for points.
    """

    points: Array
    kind: Kind
    format: str
    labels: Labels
    path: Path
    source: str = ""
    names: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    degrees: tuple[str, str] | None = None

    def __len__(self) -> int:
        return len(self.points)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.points, dtype=dtype) if copy else np.asarray(self.points, dtype=dtype)

    def __repr__(self) -> str:
        """No record of it: what is printed is seen by others."""
        shape = " x ".join(map(str, self.points.shape[1:]))
        beside = f"; beside them: {', '.join(self.labels)}" if self.labels else ""
        said = f"{len(self)} records, {self.kind} of {shape}, from {self.source or self.format}"
        return f"<Dataset {self.path.name}: {said}{beside}>"

    def where(self, row: int) -> str:
        """A record in the file's own words, for the curator: its line and ID, and which of its numbers are not there."""
        found = [f"line {self.lines[row]}"] if self.lines else []
        keys = [key for key in self.labels if key.lower() in ("file", "id", "specimen")]
        found += [f"{key} {shown(str(self.labels[key][row]))}" for key in keys]
        bad = np.flatnonzero(~np.isfinite(self.points[row]).ravel())
        if len(bad) and self.names:
            names = (
                dict.fromkeys(self.names[i] for i in bad) if len(self.names) == self.points[row].size else self.names
            )
            listed = list(names)
            found.append(f"see column {', '.join(listed[:4])}" + (", …" if len(listed) > 4 else ""))
        return f"record {row}" + (f" ({'; '.join(found)})" if found else "")


class Records(NamedTuple):
    """What a reader of one format hands back."""

    points: Array
    kind: Kind
    labels: Labels
    source: str = ""
    names: tuple[str, ...] = ()  # of the columns: of each number of a point, or of all together
    lines: tuple[int, ...] = ()  # of a text, where the records begin
    degrees: tuple[str, str] | None = None
    sure: bool = True  # whether the layout or the names say what the records are, not only how many numbers there are


class Choice(NamedTuple):
    """What the user says of a file beside the space."""

    columns: tuple[str, ...] = ()
    array: str | None = None
    missing: tuple[float, ...] | None = None  # None: not said

    def filled(self, values: Array) -> Array:
        """NaN in place of the codes for missing values."""
        return np.where(np.isin(values, self.missing), np.nan, values) if self.missing else values


UNSAID = Choice()


def read(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    space: Wanted = None,
    *,
    columns: str | Sequence[str] | None = None,
    array: str | None = None,
    missing: float | Sequence[float] | Literal["none"] | None = None,
) -> Dataset:
    """The records of a file: TPS, NTS, Morphologika, CSV or TSV, Parquet, JSON, NPY, NPZ, MATLAB or R.

    Several files, or a folder of them, are read one after another, each with one record or more; the label "file" says
    which a record came from.

    ``space`` says what the records are, where the file does not: a space such as ``Sphere(2)``, or its class alone,
    ``Sphere``.  ``columns`` of a table, or ``array`` by its name in a file that holds several, says where the points are;
    ``columns="lat=theta, lon=phi"`` gives columns the names that are meant.  What could be read in two ways is refused
    until one of these settles it, and ``source`` of the result says what was taken.

    - Landmarks: arrays (n, k, 2), R's (k, 2, n), MATLAB's (2, k, n), complex (n, k), flat (n, 2k) in the order x1, y1, x2,
      y2; lists of matrices; tables with a row for each specimen (x1, y1, …; 1.X, 1.Y, …; nose_x, nose_y, …) or for each
      landmark (specimen, landmark, x, y).  Curves and outlines of a TPS file follow its landmarks.  SCALE is a label:
      shapes have no scale.
    - Matrices: arrays (n, k, k), (k, k, n) from R and MATLAB, flat (n, k·k) or (n, k(k+1)/2).  Columns named by their
      indices (Dxx, Dxy, …; c1_2, …) go where the names say, so FSL's order (Dxx, Dxy, Dxz, Dyy, Dyz, Dzz) and DIPY's
      (Dxx, Dxy, Dyy, Dxz, Dyz, Dzz) are both right.  Without such names the order is FSL's, the rows of the upper triangle.
    - Directions: columns lat and lon, in degrees, become unit vectors; columns x, y, z are taken as they are.
    - Missing values come as NaN, so that the check of the space names the record.  A number that many programs write for a
      missing value (−999, 9999, …) and that stands apart from all others is refused until ``missing`` says that it is one
      (``missing=-999``) or that there are none (``missing="none"``).

    The last line of a text needs no end.  TPS and CSV files do not say how many records they hold: a cut between two
    records, or within the very last number, cannot be noticed in them, so know the number that you expect.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "triangles.txt")
    ...     _ = file.write_text("LM=3\\n0 0\\n1 0\\n0 1\\nID=a\\n" "LM=3\\n0 0\\n2 0\\n0 1\\nID=b\\n")
    ...     data = read(file)
    >>> data
    <Dataset triangles.txt: 2 records, landmarks of 3 x 2, from the landmarks of LM=3; beside them: ID>
    >>> data.format, data.kind, data.points.shape, data.labels["ID"].tolist()
    ('TPS', 'landmarks', (2, 3, 2), ['a', 'b'])
    """
    from .missing import codes, suspects

    names = [columns] if isinstance(columns, str) else columns or []
    choice = Choice(tuple(part.strip() for name in names for part in name.split(",")), array, codes(missing))
    if not isinstance(path, str | os.PathLike):
        data = _together([_read(Path(one), space, choice) for one in path])
    elif Path(path).is_dir():
        data = replace(_together([_read(one, space, choice) for one in files_of(Path(path))]), path=Path(path))
    else:
        data = _read(Path(path), space, choice)
    if choice.missing is None and (found := suspects(data)):
        more = f" (and {len(found) - 1} more like it)" if len(found) > 1 else ""
        raise FileError(f"{data.path}: {_sentence(found[0] + more)}")
    return data


def _read(path: Path, space: Wanted, choice: Choice) -> Dataset:
    if path.exists() and not path.is_file():
        raise FileError(f"{path}: not a regular file; give a file of records, or a folder of such files")
    content = path.read_bytes()
    try:
        format, reader = _recognise(content, path.suffix.lower())
        with np.errstate(all="ignore"):  # numbers beyond float64 become infinite, and the check of the space names them
            found = reader(content, space, choice)
            points = choice.filled(np.ascontiguousarray(found.points, dtype=np.float64))
    except FileError as error:
        raise FileError(f"{path}: {_sentence(str(error))}") from None
    return Dataset(points, found.kind, format, found.labels, path, *found[3:7])


def files_of(folder: Path) -> list[Path]:
    """The files of a folder, number 2 before number 10; they must be of one ending.

    >>> files_of(Path(__file__).parent / "none")
    Traceback (most recent call last):
    sfumato.data.files.FileError: ...none: an empty folder; give a file of records, or a folder of such files
    """
    files = [path for path in folder.glob("*") if path.is_file() and not path.name.startswith(".")]
    endings = Counter(path.suffix.lower() for path in files)
    if not files:
        raise FileError(f"{folder}: an empty folder; give a file of records, or a folder of such files")
    if len(endings) > 1:
        held = ", ".join(f"{count} {ending or 'without ending'}" for ending, count in endings.most_common(6))
        raise FileError(f"{folder}: a folder of several kinds of files ({held}); give the files, as {folder}/*.tps")
    return sorted(files, key=lambda path: [int(s) if s.isdecimal() else s for s in re.split("([0-9]+)", path.name)])


def _together(parts: list[Dataset]) -> Dataset:
    """The records of several files."""
    if not parts:
        raise FileError("no file was given")
    first = parts[0]
    for part in parts:
        if part.kind != first.kind or part.points.shape[1:] != first.points.shape[1:] or part.degrees != first.degrees:
            raise FileError(
                f"{part.path}: holds {part.kind} of shape {part.points.shape[1:]} from {part.source}, but {first.path} "
                f"{first.kind} of shape {first.points.shape[1:]} from {first.source}; all files must hold the same"
            )
    common = [name for name in first.labels if all(name in part.labels for part in parts)]
    labels: Labels = {name: np.concatenate([part.labels[name] for part in parts]) for name in common}
    labels["file"] = np.repeat([part.path.name for part in parts], [len(part) for part in parts])
    source = first.source if len(parts) == 1 else f"{first.source}, of each of {len(parts)} files"
    points = np.concatenate([part.points for part in parts])
    return replace(first, points=points, labels=labels, source=source, lines=())


def write_points(path: str | os.PathLike[str], points: ArrayLike, kind: Kind) -> None:
    """Write one released value to a .tps, .csv or .npy file: whole, or not at all.

    Numbers are written so that they read back to the last bit.  :func:`read` gives the value back as a data set of one
    record; a .npy file holds the bare array, whose kind only a space tells.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_points(Path(folder, "mean.csv"), [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], "landmarks")
    ...     print(Path(folder, "mean.csv").read_text())
    x1,y1,x2,y2,x3,y3
    0.0,0.0,1.0,0.0,0.0,1.0
    """
    path, value = Path(path), as_numbers(points)
    if np.iscomplexobj(value):
        raise ValueError(f"{path}: complex numbers; give landmarks as (k, 2)")
    value = np.asarray(value, dtype=np.float64)
    fits = {"landmarks": value.ndim == 2 and value.shape[1] == 2, "vectors": value.ndim == 1}
    fits["matrices"] = value.ndim == 2 and value.shape[0] == value.shape[1]
    if not isinstance(kind, str) or kind not in fits:
        raise ValueError(f"kind must be 'landmarks', 'matrices' or 'vectors', not {kind!r}")
    if not fits[kind] or value.size == 0:
        raise ValueError(f"{path}: an array of shape {value.shape} is not one value of kind {kind!r}")
    if not np.isfinite(value).all():
        raise ValueError(f"{path}: the value holds NaN or an infinite number")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        buffer = io.BytesIO()
        np.save(buffer, value, allow_pickle=False)
        write_atomically(path, buffer.getvalue())
    elif suffix == ".csv":
        numbers = ",".join(map(repr, value.ravel().tolist()))
        write_atomically(path, f"{','.join(_column_names(value, kind))}\n{numbers}\n".encode())
    elif suffix == ".tps":
        if kind != "landmarks":
            raise ValueError(f"{path}: a TPS file holds landmarks, not {kind}; write a .csv or .npy file")
        rows = "".join(f"{x!r} {y!r}\n" for x, y in value.tolist())
        write_atomically(path, f"LM={len(value)}\n{rows}ID=0\n".encode())
    else:
        raise ValueError(f"{path}: cannot write {suffix or 'a file without an ending'}; choose .tps, .csv or .npy")


def allowed(compressed: int) -> int:
    """Bytes that so many compressed bytes may unpack to: real data shrink a hundredfold at most.

    >>> allowed(1000)
    67208864
    """
    return min(LARGEST, 100 * compressed + (64 << 20))


def package(name: str, purpose: str) -> Any:
    """A package that only some formats need, imported when one is met.

    >>> package("json", "reading JSON").dumps(1)
    '1'
    """
    try:
        return import_module(name)
    except ImportError:
        raise FileError(f"{purpose} needs the package {name.split('.')[0]}: pip install {name.split('.')[0]}") from None


# -- telling formats apart ---------------------------------------------------------------------------------------------
Reader = Callable[[bytes, Wanted, Choice], Records]

_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\x00", b"MM\x00*")
_MAGIC = [
    (b"\x93NUMPY", "NPY"),
    (b"PK\x03\x04", "NPZ"),
    (b"PK\x05\x06", "NPZ"),
    (b"PAR1", "Parquet"),
    (b"MATLAB 5.0 MAT-file", "MATLAB"),
    (b"MATLAB 7.3 MAT-file", "MATLAB 7.3"),
    (b"\x1f\x8b", "R"),
    (b"BZh", "R"),
    (b"\xfd7zXZ\x00", "R"),
    (b"RDX2\n", "R"),
    (b"RDX3\n", "R"),
    (b"RDA2\n", "R"),
    (b"RDA3\n", "R"),
    (b"X\n\x00\x00", "R"),
    (b"A\n2\n", "R"),
    (b"A\n3\n", "R"),
]

_OTHERS = [
    (b"\x89HDF", "an HDF5 file that MATLAB did not write; save the array as .npy"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet or document, which is not read; save the sheet as CSV and give that"),
    (b"%PDF", "a PDF, which holds no records to read; give the table as CSV"),
    *((magic, "a picture, not records; give the landmarks that were found on it") for magic in _PICTURES),
]


def _recognise(content: bytes, suffix: str) -> tuple[str, Reader]:
    """The format by its first bytes, else by its words, else by its name."""
    from .arrays import read_npy, read_npz
    from .json_files import read_json
    from .landmarks_text import MORPHOLOGIKA, TPS, is_nts, read_morphologika, read_nts, read_tps
    from .matlab import read_mat, read_mat73
    from .r_files import read_r
    from .tables import delimiter, read_csv, read_parquet

    binary: dict[str, Reader] = {
        "NPY": read_npy,
        "NPZ": read_npz,
        "Parquet": read_parquet,
        "MATLAB": read_mat,
        "MATLAB 7.3": read_mat73,
        "R": read_r,
    }
    for magic, format in _MAGIC:
        if content.startswith(magic):
            return format, binary[format]
    if not content.strip():
        raise FileError("the file is empty")
    for magic, what in _OTHERS:
        if content.startswith(magic):
            raise FileError(f"{what}")
    words = decode(content[: 1 << 16])
    if TPS.search(words) or suffix == ".tps":
        return "TPS", _of_text(_landmarks_only(read_tps))
    if MORPHOLOGIKA.search(words):
        return "Morphologika", _of_text(_landmarks_only(read_morphologika))
    if words.lstrip()[:1] in ("[", "{"):
        return "JSON", _of_text(read_json)
    if is_nts(words) or suffix in (".nts", ".dta"):
        return "NTS", _of_text(_landmarks_only(read_nts))
    return ("TSV" if delimiter(words) == "\t" else "CSV"), _of_text(read_csv)


def _of_text(reader: Callable[[str, Wanted, Choice], Records]) -> Reader:
    def of_bytes(content: bytes, space: Wanted, choice: Choice) -> Records:
        return reader(decode(content).rstrip(" \t\x1a"), space, choice)  # DOS ended files with a Ctrl-Z

    return of_bytes


def _landmarks_only(reader: Callable[[str, Wanted], Records]) -> Callable[[str, Wanted, Choice], Records]:
    def of_text(text: str, space: Wanted, choice: Choice) -> Records:
        if choice.columns or choice.array is not None:
            raise FileError("a file of landmarks alone, without columns or arrays to choose from")
        return reader(text, space)

    return of_text


def decode(content: bytes) -> str:
    """Text in UTF-8, in UTF-16 with a mark, or else in the code page of Western Windows, where IDs have accents.

    >>> decode("Größe".encode("cp1252"))
    'Größe'
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content[: len(content) // 2 * 2].decode("utf-16", errors="replace")
    if b"\x00" in content or content[:1] in (b"\x93", b"\x89"):
        raise FileError(
            "not a file that sfumato reads, or its beginning is damaged; "
            "it reads TPS, NTS, Morphologika, CSV, TSV, JSON, Parquet, NPY, NPZ, MATLAB (not version 4) and R files"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def shown(text: str) -> str:
    """A piece of a file for a message: quoted, and not a page long.

    >>> shown("x" * 99)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'"
    """
    return repr(text if len(text) <= 40 else text[:40] + "…")


def _sentence(text: str) -> str:
    """A message that any terminal can show: pieces of a damaged file may hold anything, and there may be many."""
    return "".join(c if c.isprintable() else " " for c in text if c.isprintable() or c.isspace())[:600]


# -- writing -------------------------------------------------------------------------------------------------------------
def _column_names(value: Array, kind: Kind) -> list[str]:
    if kind == "landmarks":
        return [f"{axis}{i}" for i in range(1, len(value) + 1) for axis in "xy"]
    if kind == "matrices":
        return [f"m{i}_{j}" for i in range(1, len(value) + 1) for j in range(1, len(value) + 1)]
    return [f"v{i}" for i in range(1, len(value) + 1)]
