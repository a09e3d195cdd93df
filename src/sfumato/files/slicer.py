"""Landmarks of 3D Slicer and SlicerMorph, one specimen a file: .fcsv, a table behind comments, and .mrk.json.

Both say whether x and y run to the left and the back (LPS) or to the right and the front (RAS, as files of Slicer before 4.11
have it): points come out in LPS.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .base import Contents, FileError, Format, shown
from .csv_text import rows_of
from .curves import Curved, Specimen
from .json_text import parsed
from .labels import numbers
from .lines import lines_of, numbers_of

_COLUMNS = ["id", "x", "y", "z", "ow", "ox", "oy", "oz", "vis", "sel", "lock", "label", "desc", "associatedNodeID"]
_STATUS = len(_COLUMNS)  # where Slicer 5 writes whether a point was placed, in a column that its header does not name
_PLACED = "2"
_SYSTEMS = {"0": -1.0, "ras": -1.0, "1": 1.0, "lps": 1.0}  # the sign that takes x and y to LPS
_FCSV = re.compile(r"^#[ \t]*(Markups fiducial file|columns[ \t]*=[ \t]*(id|label),)", re.IGNORECASE | re.MULTILINE)
_MARKUPS = re.compile(r'"markups"\s*:\s*\[')
_CURVES = ("Curve", "ClosedCurve")
_NOWHERE = np.full(3, np.nan)
_SAID = "in LPS coordinates (RAS is turned to them)"


def read_fcsv(text: str) -> Contents:
    """Return the landmarks of lines that follow comments, which name the coordinate system and the columns."""
    said = {"columns": ",".join(_COLUMNS), "coordinatesystem": "RAS"}
    for line in lines_of(text):
        if line.text.startswith("#"):
            key, _, value = line.text[1:].partition("=")
            said[key.strip().lower()] = value.strip()
    names = [name.strip() for name in said["columns"].split(",")]
    missing = [name for name in ("x", "y", "z", "label") if name not in names]
    if missing:
        raise FileError(f"the line '# columns =' names no column {missing[0]}; is the file damaged?")
    sign = _sign(said["coordinatesystem"])
    rows, lines = rows_of(text, ",")
    points = [_position(row, names, line, sign) for row, line in zip(rows, lines, strict=True)]
    return {"": _specimen([(point, row[names.index("label")]) for point, row in zip(points, rows, strict=True)])}


def _position(row: list[str], names: list[str], line: int, sign: float) -> list[float]:
    if len(row) < len(names):
        raise FileError(f"line {line}: {len(row)} values, but '# columns =' names {len(names)}; is the file cut?")
    x, y, z = numbers_of([row[names.index(axis)].strip() or "NA" for axis in "xyz"], line)
    placed = len(row) <= _STATUS or names != _COLUMNS or row[_STATUS].strip() in ("", _PLACED)
    return [sign * x, sign * y, z] if placed else _NOWHERE.tolist()


def read_markups(text: str) -> Contents:
    """Return the control points of all lists, one after another; the points of curves follow all others."""
    document = parsed(text, "; is the file cut?")
    lists = document.get("markups") if isinstance(document, dict) else None
    if not isinstance(lists, list) or not all(isinstance(one, dict) for one in lists):
        raise FileError("its 'markups' is not a list of markups; is the file damaged?")
    marks: list[tuple[list[float], str]] = []
    curves: list[list[tuple[list[float], str]]] = []
    for i, one in enumerate(lists, start=1):
        kind = one.get("type", "Fiducial")
        if kind not in ("Fiducial", *_CURVES):
            raise FileError(f"list {i} is of type {shown(str(kind))}; save lists of points and curves alone")
        own = _control_points(one, f"list {i}")
        if kind in _CURVES:
            curves.append(own)
        else:
            marks += own
    return {"": _specimen(marks, curves)}


def _control_points(markups: dict[str, Any], where: str) -> list[tuple[list[float], str]]:
    """Return the points of a list and their labels."""
    sign = _sign(str(markups.get("coordinateSystem", "LPS")))
    marks = markups.get("controlPoints")
    if not isinstance(marks, list) or not all(isinstance(one, dict) for one in marks):
        raise FileError(f"{where}: its 'controlPoints' is not a list of points; is the file damaged?")
    points = []
    for i, one in enumerate(marks, start=1):
        at = one.get("position")
        position = numbers(at) if isinstance(at, list) and len(at) == 3 else None
        if one.get("positionStatus", "defined") != "defined":
            position = _NOWHERE
        elif position is None:
            raise FileError(f"{where}, control point {i}: the position {shown(str(at))} is not three numbers")
        points.append(((position * (sign, sign, 1.0)).tolist(), str(one.get("label", ""))))
    return points


def _sign(system: str) -> float:
    if system.strip().lower() not in _SYSTEMS:
        raise FileError(f"the coordinate system {shown(system)} is not known; save the points in LPS or RAS")
    return _SYSTEMS[system.strip().lower()]


def _own_names(labels: list[str]) -> list[str]:
    """Return the names of landmarks; their numbers alone where all begin with the same name, that of the list.

    >>> _own_names(["skull7-1", "skull7-2"]), _own_names(["nasion", "bregma"]), _own_names(["L1", "R1"])
    (['1', '2'], ['nasion', 'bregma'], ['L1', 'R1'])
    """
    if not any(labels):
        return [str(i) for i in range(1, len(labels) + 1)]
    prefixes = {label.rstrip("0123456789") for label in labels}
    numbers = [label.removeprefix(min(prefixes)) for label in labels]
    return numbers if len(prefixes) == 1 and all(numbers) else labels


def _specimen(marks: list[tuple[list[float], str]], curves: Sequence[list[tuple[list[float], str]]] = ()) -> Curved:
    """Return the one specimen of a file."""
    if not marks and not curves:
        raise FileError("holds no control points")
    blocks = [marks, *curves]
    names = tuple(_own_names([label for block in blocks for _, label in block]))
    specimen = Specimen("the specimen", [[point for point, _ in block] for block in blocks])
    return Curved([specimen], 3, {}, f"{len(marks)} control points {_SAID}", names=names)


FCSV = Format("Slicer fiducials", read_fcsv, looks=_FCSV.search, suffixes=(".fcsv",))
MARKUPS = Format(
    "Slicer markups",
    read_markups,
    looks=lambda words: words.lstrip()[:1] == "{" and _MARKUPS.search(words),
    curves=True,
)
