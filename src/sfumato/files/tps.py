"""TPS (Rohlf's tpsDig): landmarks as text.

ktch reads TPS too, but asks for the ending .tps and an ID in every record, and knows no outlines and no missing landmarks;
real files lack the former and have the latter, and errors here name the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..numerics.arrays import Array
from .base import Contents, FileError, Format, Labels, shown
from .curves import Curved, Specimen
from .labels import text_columns
from .lines import Line, coordinates, count, is_number, lines_of, number

_START = re.compile(r"^[ \t]*LM3?[ \t]*=", re.IGNORECASE | re.MULTILINE)
_HEADER = re.compile(r"^([^=\n]*)=(.*)$", re.MULTILINE)
_KEYWORD = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")
_LANDMARKS = ("LM", "LM3")
_CURVES = ("CURVES", "OUTLINES")
_PAIR = r"[0-9eE+.-]++[^\S\n]++[0-9eE+.-]++"
_ROWS = {  # lines of two or three plain numbers
    2: re.compile(rf"\s*+(?:{_PAIR}[^\S\n]*+\n\s*+)*+"),
    3: re.compile(rf"\s*+(?:{_PAIR}[^\S\n]++[0-9eE+.-]++[^\S\n]*+\n\s*+)*+"),
}


class _Part(NamedTuple):
    """A line KEYWORD=value, and the text between it and the next one."""

    header: Line
    key: str
    value: str
    body: str


@dataclass(kw_only=True)
class _Specimen(Specimen):
    """A specimen, and what its lines say of it."""

    line: int
    labels: dict[str, str] = field(default_factory=dict)
    announced: tuple[str, int, int] = ("", 0, 0)  # CURVES or OUTLINES, its line, and how many POINTS= are still to come

    def announce(self, key: str = "", line: int = 0, blocks: int = 0) -> None:
        """Expect curves or outlines, or none; refuse if those announced before are not complete."""
        before, start, left = self.announced
        if left:
            raise FileError(f"line {start}: {before}= announces {left} more POINTS= than follow; is the file cut?")
        self.announced = (key, line, blocks)

    def add_curve(self, points: Array, line: int) -> None:
        key, start, left = self.announced
        if left == 0:
            raise FileError(f"line {line}: a POINTS= that no CURVES= or OUTLINES= announces")
        self.announced = (key, start, left - 1)
        self.blocks.append(points)

    def add_label(self, key: str, value: str, line: int) -> None:
        if key == "SCALE" and not is_number(value, decimal_comma=False):
            raise FileError(f"line {line}: SCALE {shown(value)} is not a number")
        if key in ("SCALE", "ID") and key in self.labels:
            raise FileError(f"line {line}: a second {key}= in the record of line {self.line}; is an LM= missing?")
        self.labels[key] = f"{self.labels[key]}; {value}" if key in self.labels else value


def read_tps(text: str) -> Contents:
    """Return the records that begin with LM= or LM3=; the points of CURVES= and OUTLINES= follow the landmarks.

    SCALE= is a label.  LM= announces three coordinates too, in files of some programs: the first line of points tells.
    """
    specimens, dim = _specimens(text.replace("\r\n", "\n").replace("\r", "\n") + "\n")
    source = f"the landmarks of {'LM3' if dim == 3 else 'LM'}={len(specimens[0].blocks[0])}"
    return {"": Curved(specimens, dim or 2, _labels(specimens), source, tuple(one.line for one in specimens))}


TPS = Format("TPS", read_tps, looks=_START.search, suffixes=(".tps",), curves=True)


def _specimens(text: str) -> tuple[list[_Specimen], int]:
    """Return the specimens of a file, and how many coordinates their points have."""
    specimens: list[_Specimen] = []
    dim = 0
    for part in _parts(text):
        line = part.header.number
        key = part.key
        if key not in _LANDMARKS and not specimens:
            raise FileError(f"line {line}: {shown(part.header.text)} comes before the first LM=")
        rest = []
        if key in (*_LANDMARKS, "POINTS"):
            number_of = count(part.value, line, key)
            dim = _dim(part, dim) if number_of else dim
            points, rest = _block(part, number_of, dim)
        elif part.body.strip():
            rest = lines_of(part.body, line)
        if key in _LANDMARKS:
            if specimens:
                specimens[-1].announce()
            specimens.append(_Specimen(f"record {len(specimens)} (line {line})", [points], line=line))
        elif key in _CURVES:
            specimens[-1].announce(key, line, count(part.value, line, key))
        elif key == "POINTS":
            specimens[-1].add_curve(points, line)
        else:
            specimens[-1].add_label(key, part.value, line)
        if rest:
            raise _no_keyword(rest[0], "KEYWORD=value")
    if not specimens:
        raise FileError("no LM= line; a TPS record begins with one")
    specimens[-1].announce()
    return specimens, dim


def _parts(text: str) -> Iterator[_Part]:
    """Yield every line that has an equals sign, with the text up to the next such line."""
    headers = [*_HEADER.finditer(text)]
    begins = [header.start() for header in headers]
    for line in lines_of(text[: begins[0]] if begins else text):
        raise _no_keyword(line, "LM=")
    number = 1
    at = 0
    for header, stop in zip(headers, [*begins[1:], len(text)], strict=True):
        number += text.count("\n", at, header.start())
        at = header.start()
        line = Line(number, header[0].strip())
        if not _KEYWORD.fullmatch(header[1].strip()):
            raise _no_keyword(line, "KEYWORD=value" if at > begins[0] else "LM=")
        yield _Part(line, header[1].strip().upper(), header[2].strip(), text[header.end() : stop])


def _no_keyword(line: Line, expected: str) -> FileError:
    return FileError(f"line {line.number}: expected {expected}, found {shown(line.text)}; is a count too small?")


def _dim(part: _Part, before: int) -> int:
    """Return how many coordinates the points have."""
    if before == 2 and part.key == "LM3":
        raise FileError(f"line {part.header.number}: LM3= in a file of planar landmarks; keep the two apart")
    first = part.body.lstrip().partition("\n")[0]
    return before or (3 if part.key == "LM3" or len(first.split()) == 3 else 2)


def _block(part: _Part, number_of: int, dim: int) -> tuple[Array, list[Line]]:
    """Return the points that a header announces, and the lines that follow them before the next keyword."""
    tokens = part.body.split()
    if len(tokens) == number_of * dim and (not tokens or _ROWS[dim].fullmatch(part.body)):
        with suppress(ValueError):  # quick, but cannot say which line is bad
            return np.array(list(map(float, tokens))).reshape(number_of, dim), []
    header = part.header
    lines = lines_of(part.body, header.number)
    points = [coordinates(line, dim) for line in lines[:number_of]]
    if len(lines) < number_of:
        raise FileError(
            f"line {header.number}: {shown(header.text)}, but only {len(lines)} lines follow before the next keyword; is "
            "the file cut?"
        )
    return np.array(points), lines[number_of:]


def _labels(specimens: list[_Specimen]) -> Labels:
    """Return the labels of all specimens; refuse a last one that lacks what all others have."""
    keys = dict.fromkeys(key for specimen in specimens for key in specimen.labels)
    *others, last = specimens
    for key in keys:
        if others and key not in last.labels and all(key in specimen.labels for specimen in others):
            raise FileError(f"{last.where}: the last record has no {key}= though all others have; is the file cut?")
    values = {key: [specimen.labels.get(key, "") for specimen in specimens] for key in keys}
    labels: Labels = text_columns(values)
    if "SCALE" in labels:
        labels["SCALE"] = np.array([number(value or "nan") for value in values["SCALE"]])
    return labels
