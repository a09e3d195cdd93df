"""TPS (Rohlf's tpsDig): landmarks as text.

ktch reads TPS too, but asks for the ending .tps and an ID in every record, and knows no outlines and no missing landmarks;
real files lack the former and have the latter, and errors here name the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from .base import Contents, FileError, Format, Labels, shown
from .curves import Curved, Specimen
from .labels import text_columns
from .lines import Line, coordinates, count, is_number, lines_of, number

_START = re.compile(r"^[ \t]*LM3?[ \t]*=", re.IGNORECASE | re.MULTILINE)
_KEYWORD = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")


@dataclass
class _Specimen:
    line: int
    points: list[list[float]]
    curves: list[list[list[float]]] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    announced: tuple[str, int, int] = ("", 0, 0)  # CURVES or OUTLINES, its line, and how many POINTS= are still to come

    def announce(self, key: str = "", line: int = 0, blocks: int = 0) -> None:
        """Curves or outlines that follow, or none: those announced before must be complete."""
        before, start, left = self.announced
        if left:
            raise FileError(f"line {start}: {before}= announces {left} more POINTS= than follow; is the file cut?")
        self.announced = key, line, blocks

    def add_curve(self, points: list[list[float]], line: int) -> None:
        key, start, left = self.announced
        if left == 0:
            raise FileError(f"line {line}: a POINTS= that no CURVES= or OUTLINES= announces")
        self.announced = key, start, left - 1
        self.curves.append(points)

    def add_label(self, key: str, value: str, line: int) -> None:
        if key == "SCALE" and not is_number(value, decimal_comma=False):
            raise FileError(f"line {line}: SCALE {shown(value)} is not a number")
        if key in ("SCALE", "ID") and key in self.labels:
            raise FileError(f"line {line}: a second {key}= in the record of line {self.line}; is an LM= missing?")
        self.labels[key] = f"{self.labels[key]}; {value}" if key in self.labels else value


def read_tps(text: str) -> Contents:
    """Records that begin with LM= or LM3=; the points of CURVES= and OUTLINES= follow the landmarks; SCALE= is kept as a label.

    LM= announces three coordinates too, in files of some programs: the first line of points tells.
    """
    lines, specimens, i, dim = lines_of(text), list[_Specimen](), 0, 0
    while i < len(lines):
        here, words = lines[i]
        key, sign, value = (part.strip() for part in words.partition("="))
        key, i = key.upper(), i + 1
        if not sign or not _KEYWORD.fullmatch(key):
            what = "expected KEYWORD=value" if specimens else "expected LM="
            raise FileError(f"line {here}: {what}, found {shown(words)}; is a count too small?")
        if key not in ("LM", "LM3") and not specimens:
            raise FileError(f"line {here}: {shown(words)} comes before the first LM=")
        number_of = count(value, here, key) if key in ("LM", "LM3", "POINTS", "CURVES", "OUTLINES") else 0
        if number_of and key in ("LM", "LM3", "POINTS"):
            dim = _dim(key, lines, i, dim)
        points = _block(lines, i, number_of, dim) if key in ("LM", "LM3", "POINTS") else []
        i += len(points)
        if key in ("LM", "LM3"):
            if specimens:
                specimens[-1].announce()
            specimens.append(_Specimen(here, points))
        elif key in ("CURVES", "OUTLINES"):
            specimens[-1].announce(key, here, number_of)
        elif key == "POINTS":
            specimens[-1].add_curve(points, here)
        else:
            specimens[-1].add_label(key, value, here)
    if not specimens:
        raise FileError("no LM= line; a TPS record begins with one")
    specimens[-1].announce()
    source = f"the landmarks of LM{'3' * (dim == 3)}={len(specimens[0].points)}"
    begins = tuple(specimen.line for specimen in specimens)
    held = [Specimen(f"record {i} (line {one.line})", one.points, [*one.curves]) for i, one in enumerate(specimens)]
    return {"": Curved(held, dim or 2, _labels(specimens), source, begins)}


TPS = Format("TPS", read_tps, looks=_START.search, suffixes=(".tps",), curves=True)


def _dim(key: str, lines: list[Line], start: int, before: int) -> int:
    """How many coordinates the points have that begin at ``start``."""
    here = 3 if key == "LM3" or [len(line.text.split()) for line in lines[start : start + 1]] == [3] else 2
    if before == 2 and key == "LM3":
        raise FileError(f"line {lines[start - 1].number}: LM3= in a file of planar landmarks; keep the two apart")
    return before or here


def _block(lines: list[Line], start: int, number_of: int, dim: int) -> list[list[float]]:
    """The points that the line before ``start`` announces; its count is believed only as far as there are lines."""
    header, left = lines[start - 1], len(lines) - start
    if number_of > left:
        raise FileError(f"line {header.number}: {shown(header.text)}, but only {left} lines follow; is the file cut?")
    points: list[list[float]] = []
    for line in lines[start : start + number_of]:
        if "=" in line.text:
            many = f"{len(points)} points of the {number_of} that line {header.number} announces"
            raise FileError(f"line {line.number}: {shown(line.text)} after {many}")
        points.append(coordinates(line, dim))
    return points


def _labels(specimens: list[_Specimen]) -> Labels:
    keys = dict.fromkeys(key for specimen in specimens for key in specimen.labels)
    *others, last = specimens
    for key in keys:
        if others and key not in last.labels and all(key in specimen.labels for specimen in others):
            where = f"record {len(others)} (line {last.line})"
            raise FileError(f"{where}: the last record has no {key}= though all others have; is the file cut?")
    values = {key: [specimen.labels.get(key, "") for specimen in specimens] for key in keys}
    labels: Labels = text_columns(values)
    if "SCALE" in labels:
        labels["SCALE"] = np.array([number(value or "nan") for value in values["SCALE"]])
    return labels
