"""Reading a file of records, whatever its format, and writing one released value.

A file is judged by its content before its name, is read once, and comes out whole or not at all: a cut, damaged or
swollen file raises a :class:`FileError`.  No path that a file mentions is ever followed.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..release import write_atomically
from ..spaces.base import Array, Space, as_numbers

Kind = Literal["landmarks", "matrices", "vectors"]
Labels = dict[str, NDArray[Any]]

LARGEST = 4 << 30  # bytes that a compressed file may unpack to


class FileError(ValueError):
    """A file that cannot be read whole.  Lines count from 1, records from 0 as in an array; for the curator's eyes only."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """The records of one file.

    ``points`` is float64, batch first: landmarks (n, k, 2), matrices (n, k, k), directions or vectors (n, m).  ``labels``
    holds what else the file says of each record (ID, subject, scale), strings or numbers, each of length n.
    """

    points: Array
    kind: Kind
    format: str
    labels: Labels
    path: Path

    def __len__(self) -> int:
        return len(self.points)


class Records(NamedTuple):
    """What a reader of one format hands back."""

    points: Array
    kind: Kind
    labels: Labels


def read(path: str | os.PathLike[str], space: Space | None = None) -> Dataset:
    """The records of a file: TPS, NTS, Morphologika, CSV or TSV, Parquet, NPY, NPZ, MATLAB or R.

    ``space`` says what the records are, where the file does not; a file that could be read in two ways is refused
    without it.

    - Landmarks: arrays (n, k, 2), R's (k, 2, n), complex (n, k), flat (n, 2k) in the order x1, y1, x2, y2; tables with a
      row for each specimen (x1, y1, …; 1.X, 1.Y, …; nose_x, nose_y, …) or for each landmark (specimen, landmark, x, y).
      Curves and outlines of a TPS file follow its landmarks.  SCALE is a label: shapes have no scale.
    - Matrices: arrays (n, k, k), (k, k, n) from R and MATLAB, flat (n, k·k) or (n, k(k+1)/2).  Columns named by their
      indices (Dxx, Dxy, …; c1_2, …) go where the names say, so FSL's order (Dxx, Dxy, Dxz, Dyy, Dyz, Dzz) and DIPY's
      (Dxx, Dxy, Dyy, Dxz, Dyz, Dzz) are both right.  Without such names the order is FSL's, the rows of the upper triangle.
    - Directions: columns lat and lon, in degrees, become vectors for a ``Sphere(2)``.
    - Missing values come as NaN, so that the check of the space names the record.

    A text whose last line has no end is refused as cut.  TPS and CSV files do not say how many records they hold: a cut
    between two records cannot be noticed in them, so know the number that you expect.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "triangles.txt")
    ...     _ = file.write_text("LM=3\\n0 0\\n1 0\\n0 1\\nID=a\\n" "LM=3\\n0 0\\n2 0\\n0 1\\nID=b\\n")
    ...     data = read(file)
    >>> data.format, data.kind, data.points.shape, data.labels["ID"].tolist()
    ('TPS', 'landmarks', (2, 3, 2), ['a', 'b'])
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise FileError(f"{path}: not a regular file; give one file of records")
    content = path.read_bytes()
    try:
        format, reader = _recognise(content, path.suffix.lower())
        with np.errstate(all="ignore"):  # numbers beyond float64 become infinite, and the check of the space names them
            points, kind, labels = reader(content, space)
            return Dataset(np.ascontiguousarray(points, dtype=np.float64), kind, format, labels, path)
    except FileError as error:
        raise FileError(f"{path}: {_sentence(str(error))}") from None


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
Reader = Callable[[bytes, Space | None], Records]

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


def _recognise(content: bytes, suffix: str) -> tuple[str, Reader]:
    """The format by its first bytes, else by its words, else by its name."""
    from .arrays import read_npy, read_npz
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
    if content.startswith(b"\x89HDF"):
        raise FileError("an HDF5 file that MATLAB did not write; save the array as .npy")
    words = decode(content[: 1 << 16])
    if TPS.search(words) or suffix == ".tps":
        return "TPS", _of_text(read_tps)
    if MORPHOLOGIKA.search(words):
        return "Morphologika", _of_text(read_morphologika)
    if is_nts(words) or suffix in (".nts", ".dta"):
        return "NTS", _of_text(read_nts)
    return ("TSV" if delimiter(words) == "\t" else "CSV"), _of_text(read_csv)


def _of_text(reader: Callable[[str, Space | None], Records]) -> Reader:
    def of_bytes(content: bytes, space: Space | None) -> Records:
        return reader(decode(content).rstrip(" \t\x1a"), space)  # DOS ended files with a Ctrl-Z

    return of_bytes


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
            "it reads TPS, NTS, Morphologika, CSV, TSV, Parquet, NPY, NPZ, MATLAB (not version 4) and R files"
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
