"""TPS (Rohlf's tpsDig): landmarks as text.

ktch reads TPS too, but asks for the ending .tps and an ID in every record, and knows no outlines and no missing landmarks;
real files lack the former and have the latter, and errors here name the line.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..numerics.arrays import Array
from .base import Contents, FileError, Format, Labels, shown
from .curves import Curved, Points, Specimen
from .labels import text_columns
from .lines import Line, coordinates, count, is_number, lines_of, number

_START = re.compile(r"^[ \t]*LM3?[ \t]*=", re.IGNORECASE | re.MULTILINE)
_VALUE = re.compile(r"=(.*)")
_KEYWORD = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")
_LANDMARKS = ("LM", "LM3")
_CURVES = ("CURVES", "OUTLINES")
_PAIR = r"[0-9eE+.-]++[^\S\n]++[0-9eE+.-]++"
_ROWS = {  # lines of two or three plain numbers
    2: re.compile(rf"\s*+(?:{_PAIR}[^\S\n]*+\n\s*+)*+"),
    3: re.compile(rf"\s*+(?:{_PAIR}[^\S\n]++[0-9eE+.-]++[^\S\n]*+\n\s*+)*+"),
}


class _Part(NamedTuple):
    """A line KEYWORD=value, its number and its text, and what stands between it and the next one."""

    line: int
    text: str
    key: str
    value: str
    body: str


def read_tps(text: str) -> Contents:
    """Return the records that begin with LM= or LM3=; the points of CURVES= and OUTLINES= follow the landmarks.

    SCALE= is a label.  LM= announces three coordinates too, in files of some programs: the first line of points tells.
    """
    parts = [*_parts(text.replace("\r\n", "\n").replace("\r", "\n") + "\n")]
    begins = [i for i, part in enumerate(parts) if part.key in _LANDMARKS]
    if not begins:
        raise FileError("no LM= line; a TPS record begins with one")
    if begins[0] > 0:
        raise FileError(f"line {parts[0].line}: {shown(parts[0].text)} comes before the first LM=")
    dim = _dim(parts)
    specimens: list[Specimen] = []
    labels = []
    for begin, end in pairwise([*begins, len(parts)]):
        blocks, own = _specimen(parts[begin:end], dim)
        specimens.append(Specimen(f"record {len(specimens)} (line {parts[begin].line})", blocks))
        labels.append(own)
    source = f"the landmarks of {'LM3' if dim == 3 else 'LM'}={len(specimens[0].blocks[0])}"
    lines = tuple(parts[begin].line for begin in begins)
    closed = dim == 2 and all(part.key != "CURVES" for part in parts)
    return {"": Curved(specimens, dim, _labels(labels, specimens[-1].where), source, lines, closed=closed)}


TPS = Format("TPS", read_tps, looks=_START.search, suffixes=(".tps",), curves=True)


def _parts(text: str) -> Iterator[_Part]:
    """Yield every line that has an equals sign, with the text up to the next such line."""
    values = [*_VALUE.finditer(text)]
    begins = [text.rfind("\n", 0, value.start()) + 1 for value in values]
    for line in lines_of(text[: begins[0]] if begins else text):
        raise _no_keyword(line, "LM=")
    number = 1
    last = 0
    for value, begin, end in zip(values, begins, [*begins, len(text)][1:], strict=True):
        number += text.count("\n", last, begin)
        last = begin
        key = text[begin : value.start()].strip()
        line = Line(number, text[begin : value.end()].strip())
        if not _KEYWORD.fullmatch(key):
            raise _no_keyword(line, "KEYWORD=value" if begin > begins[0] else "LM=")
        yield _Part(*line, key.upper(), value[1].strip(), text[value.end() : end])


def _no_keyword(line: Line, expected: str) -> FileError:
    return FileError(f"line {line.number}: expected {expected}, found {shown(line.text)}; is a count too small?")


def _dim(parts: list[_Part]) -> int:
    """Return how many coordinates the points have."""
    blocks = [part for part in parts if part.key in (*_LANDMARKS, "POINTS") and part.value.strip("0")]
    first = blocks[0].body.lstrip().partition("\n")[0] if blocks else ""
    if len(first.split()) == 3 or (blocks and blocks[0].key == "LM3"):
        return 3
    for part in blocks:
        if part.key == "LM3":
            raise FileError(f"line {part.line}: LM3= in a file of planar landmarks; keep the two apart")
    return 2


def _specimen(parts: list[_Part], dim: int) -> tuple[list[Points], dict[str, str]]:
    """Return the landmarks of a specimen and each of its curves, and its labels."""
    first = parts[0]
    blocks: list[Points] = [_block(first, dim)]
    labels: dict[str, str] = {}
    announced = first
    due = 0
    for part in parts[1:]:
        _, _, key, value, _ = part
        where = f"line {part.line}"
        if key == "POINTS":
            if due == 0:
                raise FileError(f"{where}: a POINTS= that no CURVES= or OUTLINES= announces")
            due -= 1
            blocks.append(_block(part, dim))
            continue
        if key in _CURVES:
            _check_complete(announced, due)
            announced = part
            due = count(value, part.line, key)
        elif key == "SCALE" and not is_number(value, decimal_comma=False):
            raise FileError(f"{where}: SCALE {shown(value)} is not a number")
        elif key in ("SCALE", "ID") and key in labels:
            raise FileError(f"{where}: a second {key}= in the record of line {first.line}; is an LM= missing?")
        else:
            labels[key] = f"{labels[key]}; {value}" if key in labels else value
        for line in lines_of(part.body, part.line):
            raise _no_keyword(line, "KEYWORD=value")
    _check_complete(announced, due)
    return blocks, labels


def _check_complete(announced: _Part, due: int) -> None:
    if due:
        words = f"{announced.key}= announces {due} more POINTS= than follow; is the file cut?"
        raise FileError(f"line {announced.line}: {words}")


def _block(part: _Part, dim: int) -> Array:
    """Return the points that a header announces."""
    number_of = count(part.value, part.line, part.key)
    tokens = part.body.split()
    if len(tokens) == number_of * dim and (not tokens or _ROWS[dim].fullmatch(part.body)):
        with suppress(ValueError):  # quick, but cannot say which line is bad
            return np.array(list(map(float, tokens))).reshape(number_of, dim)
    lines = lines_of(part.body, part.line)
    rows = part.body[1:].rstrip().split("\n")
    if len(lines) < number_of == len(rows):  # a blank line between others stands for a missing landmark
        lines = [Line(part.line + i, row.strip() or " ".join(["NA"] * dim)) for i, row in enumerate(rows, start=1)]
    points = [coordinates(line, dim) for line in lines[:number_of]]
    if len(lines) < number_of:
        follow = f"only {len(lines)} lines follow before the next keyword; is the file cut?"
        raise FileError(f"line {part.line}: {shown(part.text)}, but {follow}")
    for line in lines[number_of:]:
        raise _no_keyword(line, "KEYWORD=value")
    return np.array(points)


def _labels(labels: list[dict[str, str]], where: str) -> Labels:
    """Return the labels of all specimens; refuse a last one that lacks what all others have."""
    keys = dict.fromkeys(key for own in labels for key in own)
    *others, last = labels
    for key in keys:
        if others and key not in last and all(key in own for own in others):
            raise FileError(f"{where}: the last record has no {key}= though all others have; is the file cut?")
    values = {key: [own.get(key, "") for own in labels] for key in keys}
    columns: Labels = text_columns(values)
    if "SCALE" in columns:
        columns["SCALE"] = np.array([number(value or "nan") for value in values["SCALE"]])
    return columns
