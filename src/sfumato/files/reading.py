"""Reading a file of records, whatever its format.

A file is judged by its content before its name, is read once, and comes out whole or not at all: a cut, damaged or
swollen file raises a :class:`FileError`.  No path that a file mentions is ever followed.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Fix, printable
from ..spaces.base import Space
from ..spaces.family import Family
from .base import Choice, Contents, Dataset, FileError, Format, Labels, Wanted, shown
from .curves import wanted
from .labels import join
from .missing import codes, remedy, suspects, with_gaps
from .table import home_of, is_frame, read_frame

Parsed = dict[Path, tuple[Format, Contents]]  # what files hold, by their names
MOST = 600  # characters of the words of a message
LONGEST = 100  # characters of a value in it


class _Remembered(NamedTuple):
    """A path, and what its files hold, once they were read."""

    path: Any
    parsed: Parsed


def read(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Any,
    space: Space | type[Space] | Family | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    array: str | None = None,
    missing: float | str | Sequence[float | str] | None = None,
    curves: Literal["keep", "drop"] | int | None = None,
    reference: str | os.PathLike[str] | ArrayLike | None = None,
) -> Dataset:
    """Return the records of a file: TPS, NTS, Morphologika, Slicer, CHC, CSV or TSV, Parquet, JSON, NPY, NPZ, MATLAB or R.

    Parameters
    ----------
    path : path, sequence of paths, or data frame
        The file.  Several files, or a folder of them, are read one after another; the label "file" says which one a record
        came from.  A data frame of pandas or polars, or a data set of xarray, is read as a file of such columns would be.
    space : Space or its class, optional
        What the records are, where the file does not say: a space such as ``Sphere(2)``, or its class, ``Sphere``.
    columns : str or sequence of str, optional
        The columns of a table that hold the points.  ``columns="lat=theta, lon=phi"`` says what two columns mean.
    array : str, optional
        The array that holds the points, by its name in a file of several.
    missing : number, str or sequence of them, optional
        The numbers that stand for missing values, or "none" if there are none.  "estimate", alone or as "estimate, -999", has
        every missing landmark as NaN, for :func:`sfumato.estimate_missing`; "negative", also those with a negative coordinate.
    curves : {"keep", "drop"} or int, optional
        Whether points of curves and outlines follow the landmarks (default), are left out, or become so many along each.
    reference : array or path, optional
        An outline that anyone may see, or the file that has it first: where outlines that are resampled start, as
        :func:`sfumato.resample_outlines` says.

    Notes
    -----
    A file that is damaged or cut, or could be read in two ways, is refused with a FileError.  The page "Files" lists the
    layouts and the names of columns that are understood.  TPS and CSV files do not say how many records they hold: a cut
    between two records cannot be noticed in them, so know the number that you expect.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "triangles.txt")
    ...     _ = file.write_text("LM=3\\n0 0\\n1 0\\n0 1\\nID=a\\n" "LM=3\\n0 0\\n2 0\\n0 1\\nID=b\\n")
    ...     data = read(file)
    >>> data
    <Dataset triangles.txt: 2 records, landmarks of 3 x 2, from the landmarks of LM=3; labels: ID>
    """
    path, parsed = path if isinstance(path, _Remembered) else _Remembered(path, {})
    space = Family(space) if isinstance(space, type) else space
    names = [columns] if isinstance(columns, str) else columns or []
    chosen = tuple(part.strip() for name in names for part in name.split(","))
    start = cache(lambda: _first(reference, chosen, array, missing, curves))
    choice = Choice(chosen, array, *codes(missing), wanted(curves), start)
    if is_frame(path) or (isinstance(path, str | os.PathLike) and not Path(path).is_dir()):
        data = _read(path, space, choice, parsed)
    else:
        data = _together(path, space, choice, parsed)
    doubts = suspects(data) if choice.missing is None else []
    if doubts:
        words, value = doubts[0]
        more = f" (and {len(doubts) - 1} more like it)" if len(doubts) > 1 else ""
        raise FileError(printable(f"{data.path}: {words[:MOST]}"), *remedy(value, choice, data.kind), more)
    return data


def _first(source: Any, columns: Sequence[str], array: str | None, missing: Any, curves: Any) -> Any:
    """Return an outline, or the first of a file, which may not have the columns or the array of the records."""
    if not isinstance(source, str | os.PathLike):
        return source
    try:
        found = read(source, columns=columns, array=array, missing=missing, curves=curves).points
    except FileError:
        found = read(source, missing=missing, curves=curves).points
    return found if found.ndim == 2 else found[0]  # a release is one outline


def reader(path: Any) -> Callable[..., Dataset]:
    """Return :func:`read` for this path: a function of its other arguments that parses each file once, however often called."""
    return partial(read, _Remembered(path, {}))


def as_data(points: Any, space: Space) -> Any:
    """Return what :func:`read` makes of a data frame; anything else as it is."""
    return read(points, space) if is_frame(points) else points


def _read(source: Any, space: Wanted, choice: Choice, parsed: Parsed) -> Dataset:
    """Return the records of one file or frame."""
    from .registry import parse  # the formats, when a file is read
    from .several import pick

    frame = is_frame(source)
    path = Path(type(source).__name__ if frame else source)
    format = None
    try:
        with np.errstate(all="ignore"):  # numbers beyond float64 become infinite, and the check of the space names them
            if frame or path not in parsed:
                parsed[path] = (Format(home_of(source), read_frame), read_frame(source)) if frame else parse(path)
            format, contents = parsed[path]
            records = pick(contents, space, choice, format.records_last)
            points = choice.filled(np.ascontiguousarray(records.points, dtype=np.float64))
            points = with_gaps(points, choice) if choice.gaps and records.kind == "landmarks" else points
    except FileError as error:
        note: list[str | Fix] = []
        if choice.curves != "keep" and format is not None and not frame and not format.curves:
            note = [f" ({format.name} files mark no curves, so ", Fix("curves", choice.curves), " does nothing)"]
        raise FileError(printable(f"{path}: "), *_bounded(error.parts), *note) from None
    none = "; it marks no curves" if choice.curves != "keep" and not records.curves else ""
    return replace(records, points=points, format=format.name, path=path, source=records.source + none)


def _bounded(parts: Sequence[str | Fix]) -> Iterator[str | Fix]:
    """Yield the parts of a message as they can be printed, and not a page long together."""
    left = MOST
    for part in parts:
        if isinstance(part, Fix):
            yield part._replace(value=printable(part.value[:LONGEST])) if isinstance(part.value, str) else part
        else:
            yield (words := printable(part[:left])[:left])
            left -= len(words)


def _files_of(folder: Path) -> list[Path]:
    """Return the files of a folder, number 2 before number 10; all must have the same ending."""
    files = [path for path in folder.glob("*") if path.is_file() and not path.name.startswith(".")]
    endings = Counter(path.suffix.lower() for path in files)
    if not files:
        raise FileError(f"{folder}: an empty folder; give a file of records, or a folder of such files")
    if len(endings) > 1:
        kinds = ", ".join(f"{count} {ending or 'without ending'}" for ending, count in endings.most_common(6))
        raise FileError(f"{folder}: a folder of several kinds of files ({kinds}); give the files, as {folder}/*.tps")
    return sorted(files, key=lambda path: [int(s) if s.isdecimal() else s for s in re.split("([0-9]+)", path.name)])


def _together(path: Any, space: Wanted, choice: Choice, parsed: Parsed) -> Dataset:
    """Return the records of several files, or of a folder of them, as one data set."""
    folder = isinstance(path, str | os.PathLike)
    parts = [_read(one, space, choice, parsed) for one in (_files_of(Path(path)) if folder else path)]
    if not parts:
        raise FileError("no file was given")
    first = parts[0]
    for part in parts:
        _check_alike(part, first, choice, space)
    common = [name for name in first.labels if all(name in part.labels for part in parts)]
    labels: Labels = {name: join([part.labels[name] for part in parts]) for name in common}
    labels["file"] = np.repeat([part.path.name for part in parts], [len(part) for part in parts])
    source = first.source if len(parts) == 1 else f"{first.source}, of each of {len(parts)} files"
    points = np.concatenate([part.points for part in parts])
    path = Path(path) if folder else first.path
    return replace(first, path=path, points=points, labels=labels, source=source, lines=())


def _check_alike(part: Dataset, first: Dataset, choice: Choice, space: Wanted) -> None:
    """Refuse a file whose records are not of the kind, shape and landmarks of the first, or may be the points of an outline."""
    if space is None and part is not first and part.kind == "vectors" and part.points.shape[1] == 2:
        how = (Fix("space", "shapes"), ", and if each is an outline, resample it, as ", Fix("curves", 50))
        raise FileError(f"{part.path}: each file holds rows of two numbers; name the space, as ", *how)
    if part.kind != first.kind or part.points.shape[1:] != first.points.shape[1:] or part.degrees != first.degrees:
        remedy: list[str | Fix] = []
        if part.curves and first.curves and choice.curves == "keep":
            remedy = [", as ", Fix("curves", 20), " gives each curve, or ", Fix("curves", "drop")]
        elif part.kind == first.kind == "landmarks" and part.points.shape[2] == first.points.shape[2] == 2:
            remedy = ["; if they are outlines, resample each, as ", Fix("curves", 50)]
        raise FileError(
            f"{part.path}: holds {part.kind} of shape {part.points.shape[1:]} from {part.source}, but {first.path} "
            f"{first.kind} of shape {first.points.shape[1:]} from {first.source}; all files must hold the same",
            *remedy,
        )
    for own, other in zip(part.landmarks, first.landmarks, strict=False):
        if own != other:
            has = f"{part.path}: has landmark {shown(own)} where {first.path} has {shown(other)}; "
            raise FileError(f"{has}all files must hold the same landmarks in the same order, by the same names")
