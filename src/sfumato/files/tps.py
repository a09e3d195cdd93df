"""TPS (Rohlf's tpsDig): landmarks as text.

ktch reads TPS too, but asks for the ending .tps and an ID in every record, and knows no outlines and no missing landmarks;
real files lack the former and have the latter, and errors here name the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from ..spaces.base import Array
from .base import UNSAID, Choice, FileError, Format, Found, Labels, Wanted, shown
from .labels import text_columns
from .layout import landmarks
from .lines import Line, count, lines_of, number, planar

_START = re.compile(r"^[ \t]*LM3?[ \t]*=", re.IGNORECASE | re.MULTILINE)
_KEYWORD = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")


@dataclass
class _Specimen:
    line: int
    points: list[list[float]]
    labels: dict[str, str] = field(default_factory=dict)
    curves: list[tuple[str, int, int]] = field(default_factory=list)  # keyword, its line, blocks still to come
    sizes: list[int] = field(default_factory=list)  # points of the landmarks and of each curve

    def add_curve(self, points: list[list[float]], line: Line) -> None:
        if not self.curves or self.curves[-1][2] == 0:
            raise FileError(f"line {line.number}: a POINTS= that no CURVES= or OUTLINES= announces")
        key, start, left = self.curves[-1]
        self.curves[-1] = (key, start, left - 1)
        self.points += points
        self.sizes.append(len(points))

    def add_label(self, key: str, value: str, line: Line) -> None:
        if key == "SCALE":
            try:
                number(value)
            except ValueError as error:
                raise FileError(f"line {line.number}: SCALE {error}") from None
        if key in ("SCALE", "ID") and key in self.labels:
            raise FileError(
                f"line {line.number}: a second {key}= in the record of line {self.line}; is an LM= missing?"
            )
        self.labels[key] = f"{self.labels[key]}; {value}" if key in self.labels else value

    def close(self) -> None:
        for key, line, left in self.curves:
            if left:
                raise FileError(f"line {line}: {key}= announces {left} more POINTS= than follow; is the file cut?")


def read_tps(text: str, space: Wanted = None, _: Choice = UNSAID) -> Found:
    """TPS: records that begin with LM=; points of CURVES and OUTLINES follow the landmarks; SCALE is kept as a label.

    >>> read_tps("LM=1\\n0 0\\nCURVES=1\\nPOINTS=2\\n1 0\\n0 1\\nSCALE=0.5\\n").labels
    {'SCALE': array([0.5])}
    """
    lines, specimens, i = lines_of(text), list[_Specimen](), 0
    while i < len(lines):
        line = lines[i]
        key, sign, value = (part.strip() for part in line.text.partition("="))
        key, i = key.upper(), i + 1
        if not sign or not _KEYWORD.fullmatch(key):
            what = "expected KEYWORD=value" if specimens else "expected LM="
            raise FileError(f"line {line.number}: {what}, found {shown(line.text)}; is a count too small?")
        if key == "LM3":
            raise FileError(
                f"line {line.number}: LM3= are landmarks in three dimensions; sfumato reads planar ones, LM="
            )
        if key != "LM" and not specimens:
            raise FileError(f"line {line.number}: {shown(line.text)} comes before the first LM=")
        if specimens and key in ("LM", "CURVES", "OUTLINES"):
            specimens[-1].close()
        points = _block(lines, i, count(value, line.number, key)) if key in ("LM", "POINTS") else []
        i += len(points)
        if key == "LM":
            specimens.append(_Specimen(line.number, points, sizes=[len(points)]))
        elif key in ("CURVES", "OUTLINES"):
            specimens[-1].curves.append((key, line.number, count(value, line.number, key)))
        elif key == "POINTS":
            specimens[-1].add_curve(points, line)
        else:
            specimens[-1].add_label(key, value, line)
    if not specimens:
        raise FileError("no LM= line; a TPS record begins with one")
    specimens[-1].close()
    own, *curves = specimens[0].sizes
    source = f"the landmarks of LM={own}" + (f", then {sum(curves)} points of curves and outlines" if curves else "")
    begins = tuple(specimen.line for specimen in specimens)
    return landmarks(_stack(specimens), _labels(specimens), space, source, lines=begins)


TPS = Format("TPS", read_tps, looks=_START.search, suffixes=(".tps",), choosable=False)


def _block(lines: list[Line], start: int, count: int) -> list[list[float]]:
    """The points that the line before ``start`` announces; its count is believed only as far as there are lines."""
    header, left = lines[start - 1], len(lines) - start
    if count > left:
        raise FileError(f"line {header.number}: {shown(header.text)}, but only {left} lines follow; is the file cut?")
    points: list[list[float]] = []
    for line in lines[start : start + count]:
        if "=" in line.text:
            raise FileError(
                f"line {line.number}: {shown(line.text)} after {len(points)} points of the {count} that line "
                f"{header.number} announces"
            )
        points.append(planar(line))
    return points


def _stack(specimens: list[_Specimen]) -> Array:
    first = specimens[0]
    for record, specimen in enumerate(specimens):
        where, other = f"record {record} (line {specimen.line})", f"but record 0 (line {first.line}) has"
        if not specimen.points:
            raise FileError(f"{where}: has no points")
        if len(specimen.points) != len(first.points):
            held = f"{len(specimen.points)} points, {other} {len(first.points)}"
            raise FileError(f"{where}: {held}; every specimen needs the same landmarks")
        if specimen.sizes != first.sizes:
            held = f"landmarks and curves of {specimen.sizes} points, {other} {first.sizes}"
            raise FileError(f"{where}: {held}; every specimen needs the same")
    return np.array([specimen.points for specimen in specimens], dtype=np.float64)


def _labels(specimens: list[_Specimen]) -> Labels:
    keys = dict.fromkeys(key for specimen in specimens for key in specimen.labels)
    *others, last = specimens
    for key in keys:
        if others and key not in last.labels and all(key in specimen.labels for specimen in others):
            raise FileError(
                f"record {len(others)} (line {last.line}): the last record has no {key}= though all others have; "
                "is the file cut?"
            )
    values = {key: [specimen.labels.get(key, "") for specimen in specimens] for key in keys}
    labels: Labels = text_columns(values)
    if "SCALE" in labels:
        labels["SCALE"] = np.array([number(value or "nan") for value in values["SCALE"]])
    return labels
