"""Landmarks as text: TPS (Rohlf's tpsDig), NTS (NTSYS) and Morphologika.

ktch reads TPS too, but asks for the ending .tps and an ID in every record, and knows no outlines and no missing landmarks;
real files lack the former and have the latter, and errors here name the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..spaces.base import Array
from .files import FileError, Labels, Records, Wanted, shown
from .layout import arrange, check_width, landmarks, strings, text_columns, texts

TPS = re.compile(r"^[ \t]*LM3?[ \t]*=", re.IGNORECASE | re.MULTILINE)
MORPHOLOGIKA = re.compile(r"^[ \t]*\[(individuals|landmarks|dimensions|rawpoints)\]", re.IGNORECASE | re.MULTILINE)

# Patterns here meet hostile text: in none can two neighbouring parts match the same characters, so none takes long to fail.
_NTS = re.compile(r"[1-9][ \t]+[0-9]+[A-Z]?[ \t]+[0-9]+[A-Z]?[ \t]+[01]\b.*\bDIM", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)
_MISSING = {"na", "nan", "n/a", "null", "?"}
_KEYWORD = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")


class _Line(NamedTuple):
    number: int
    text: str


def number(token: str) -> float:
    """A number as people write it; NaN for a missing one.  Unlike ``float``, no underscores.

    >>> number("-1.5e3"), number("NA")
    (-1500.0, nan)
    """
    if _NUMBER.fullmatch(token):
        return float(token)
    if token.lower() in _MISSING:
        return np.nan
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", token):
        raise ValueError(f"{shown(token)} has a decimal comma; write {token.replace(',', '.')}")
    raise ValueError(f"{shown(token)} is not a number")


def is_nts(text: str) -> bool:
    """Whether the first line that is no comment is the header of an NTS file of landmarks.

    >>> is_nts('"a comment\\n1 2L 6 0 DIM=2\\n')
    True
    """
    first = next((line.text for line in _lines(text) if not line.text.startswith('"')), "")
    return _NTS.match(first) is not None


def _lines(text: str) -> list[_Line]:
    """The lines that are not blank, with their numbers."""
    numbered = enumerate(re.split(r"\r\n|\r|\n", text), start=1)
    return [_Line(i, line.strip()) for i, line in numbered if line.strip()]


def _count(text: str, line: int, what: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise FileError(f"line {line}: {what}={shown(text)} is not a count")
    return int(text)


def _numbers(tokens: list[str], line: int) -> list[float]:
    try:
        return [number(token) for token in tokens]
    except ValueError as error:
        raise FileError(f"line {line}: {error}") from None


def _point(line: _Line) -> list[float]:
    tokens = line.text.split()
    if len(tokens) == 3:
        raise FileError(f"line {line.number}: three coordinates, {shown(line.text)}; sfumato reads planar landmarks")
    if len(tokens) != 2:
        raise FileError(f"line {line.number}: expected two coordinates, found {shown(line.text)}")
    return _numbers(tokens, line.number)


# -- TPS ---------------------------------------------------------------------------------------------------------------
@dataclass
class _Specimen:
    line: int
    points: list[list[float]]
    labels: dict[str, str] = field(default_factory=dict)
    curves: list[tuple[str, int, int]] = field(default_factory=list)  # keyword, its line, blocks still to come
    sizes: list[int] = field(default_factory=list)  # points of the landmarks and of each curve


def read_tps(text: str, space: Wanted = None) -> Records:
    """TPS: records that begin with LM=; points of CURVES and OUTLINES follow the landmarks; SCALE is kept as a label.

    >>> read_tps("LM=1\\n0 0\\nCURVES=1\\nPOINTS=2\\n1 0\\n0 1\\nSCALE=0.5\\n").labels
    {'SCALE': array([0.5])}
    """
    lines, specimens, i = _lines(text), list[_Specimen](), 0
    while i < len(lines):
        line = lines[i]
        key, sign, value = (part.strip() for part in line.text.partition("="))
        if not sign or not _KEYWORD.fullmatch(key):
            what = "expected KEYWORD=value" if specimens else "expected LM="
            raise FileError(f"line {line.number}: {what}, found {shown(line.text)}; is a count too small?")
        key = key.upper()
        i += 1
        if key == "LM3":
            raise FileError(
                f"line {line.number}: LM3= are landmarks in three dimensions; sfumato reads planar ones, LM="
            )
        if key == "LM":
            points = _block(lines, i, _count(value, line.number, key))
            if specimens:
                _close(specimens[-1])
            specimens.append(_Specimen(line.number, points, sizes=[len(points)]))
            i += len(points)
        elif not specimens:
            raise FileError(f"line {line.number}: {shown(line.text)} comes before the first LM=")
        elif key in ("CURVES", "OUTLINES"):
            _close(specimens[-1])
            specimens[-1].curves.append((key, line.number, _count(value, line.number, key)))
        elif key == "POINTS":
            points = _block(lines, i, _count(value, line.number, key))
            _curve(specimens[-1], points, line)
            i += len(points)
        else:
            _label(specimens[-1], key, value, line)
    if not specimens:
        raise FileError("no LM= line; a TPS record begins with one")
    _close(specimens[-1])
    own, *curves = specimens[0].sizes
    source = f"the landmarks of LM={own}" + (f", then {sum(curves)} points of curves and outlines" if curves else "")
    lines_of = tuple(specimen.line for specimen in specimens)
    return landmarks(_stack(specimens), _tps_labels(specimens), space, source, lines=lines_of)


def _block(lines: list[_Line], start: int, count: int) -> list[list[float]]:
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
        points.append(_point(line))
    return points


def _curve(specimen: _Specimen, points: list[list[float]], line: _Line) -> None:
    if not specimen.curves or specimen.curves[-1][2] == 0:
        raise FileError(f"line {line.number}: a POINTS= that no CURVES= or OUTLINES= announces")
    key, start, left = specimen.curves[-1]
    specimen.curves[-1] = (key, start, left - 1)
    specimen.points += points
    specimen.sizes.append(len(points))


def _close(specimen: _Specimen) -> None:
    for key, line, left in specimen.curves:
        if left:
            raise FileError(f"line {line}: {key}= announces {left} more POINTS= than follow; is the file cut?")


def _label(specimen: _Specimen, key: str, value: str, line: _Line) -> None:
    if key == "SCALE":
        try:
            number(value)
        except ValueError as error:
            raise FileError(f"line {line.number}: SCALE {error}") from None
    if key in ("SCALE", "ID") and key in specimen.labels:
        raise FileError(
            f"line {line.number}: a second {key}= in the record of line {specimen.line}; is an LM= missing?"
        )
    specimen.labels[key] = f"{specimen.labels[key]}; {value}" if key in specimen.labels else value


def _stack(specimens: list[_Specimen]) -> Array:
    first = specimens[0]
    for record, specimen in enumerate(specimens):
        if not specimen.points:
            raise FileError(f"record {record} (line {specimen.line}): has no points")
        if len(specimen.points) != len(first.points):
            raise FileError(
                f"record {record} (line {specimen.line}): {len(specimen.points)} points, but record 0 (line {first.line}) "
                f"has {len(first.points)}; every specimen needs the same landmarks"
            )
        if specimen.sizes != first.sizes:
            raise FileError(
                f"record {record} (line {specimen.line}): landmarks and curves of {specimen.sizes} points, but record 0 "
                f"(line {first.line}) has {first.sizes}; every specimen needs the same"
            )
    return np.array([specimen.points for specimen in specimens], dtype=np.float64)


def _tps_labels(specimens: list[_Specimen]) -> Labels:
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


# -- NTS ---------------------------------------------------------------------------------------------------------------
_HEADER = re.compile(
    r"(?P<type>[0-9]+)\s+(?P<n>[0-9]{1,18})(?P<rows>[LBE]?)\s+(?P<p>[0-9]{1,18})(?P<columns>[LBE]?)\s+(?P<missing>[01])"
    r"(\s+(?P<code>[^\sD]\S*))?(\s+DIM\s*=\s*(?P<dim>[0-9]+))?",
    re.IGNORECASE,
)


def read_nts(text: str, space: Wanted = None) -> Records:
    """NTS: comments that begin with a quotation mark, a header such as ``1 127L 36 1 -999 DIM=2``, labels, numbers.

    A row is a specimen; two columns alone are the landmarks of one specimen.  L says that row labels stand before the
    numbers, B and E that they stand at the beginning and end of the rows.

    >>> read_nts("1 2B 6 0 DIM=2\\na 0 0 1 0 0 1\\nb 0 0 2 0 0 1\\n").labels["ID"].tolist()
    ['a', 'b']
    """
    lines = [line for line in _lines(text) if not line.text.startswith('"')]
    if not lines:
        raise FileError("holds comments only")
    header = _HEADER.fullmatch(lines[0].text)
    where = f"line {lines[0].number}"
    if not header:
        raise FileError(f"{where}: {shown(lines[0].text)} is not an NTS header such as '1 127L 36 0 DIM=2'")
    if header["type"] != "1":
        raise FileError(f"{where}: matrix type {header['type']}; sfumato reads type 1, a table of specimens")
    if header["dim"] not in (None, "2"):
        raise FileError(f"{where}: DIM={header['dim']}; sfumato reads planar landmarks, DIM=2")
    if header["missing"] == "1" and header["code"] is None:
        raise FileError(f"{where}: missing values are announced, but not the number that stands for them")
    if header["missing"] == "0" and header["code"] is not None:
        raise FileError(f"{where}: {shown(header['code'])} after 0, which says that no values are missing")
    n, p = int(header["n"]), int(header["p"])
    rows, columns = header["rows"].upper(), header["columns"].upper()
    tokens = [(token, line.number) for line in lines[1:] for token in line.text.split()]
    expected = n * p + (n if rows else 0) + (p if columns else 0)
    if len(tokens) != expected or expected == 0:
        raise FileError(f"{where}: the header announces {expected} numbers and labels, the file holds {len(tokens)}")
    stream = iter(tokens)
    names = [token for token, _ in _take(stream, n)] if rows == "L" else []
    _take(stream, p if columns else 0)
    table = np.empty((n, p))
    for i in range(n):
        if rows == "B":
            names.append(next(stream)[0])
        row = _take(stream, p)
        table[i] = [_numbers([token], line)[0] for token, line in row]
        if rows == "E":
            names.append(next(stream)[0])
    if header["missing"] == "1":
        table[table == _numbers([header["code"]], lines[0].number)[0]] = np.nan
    if p == 2 and header["dim"] is not None:
        return landmarks(table[None], {}, space)
    labels: Labels = {"ID": strings("ID", names)} if names else {}
    if header["dim"] is None:
        kind, layout, points = arrange(table, space)
        return Records(points, kind, labels, f"the table {table.shape}, {layout}")
    if p % 2:
        raise FileError(f"{where}: {p} columns, an odd number, cannot be landmarks with DIM=2")
    return landmarks(table.reshape(n, p // 2, 2), labels, space)


def _take(stream: Iterator[tuple[str, int]], count: int) -> list[tuple[str, int]]:
    return [next(stream) for _ in range(count)]


# -- Morphologika --------------------------------------------------------------------------------------------------------
def read_morphologika(text: str, space: Wanted = None) -> Records:
    """Morphologika: sections [individuals], [landmarks], [dimensions], [names], [labels], [labelvalues], [rawpoints].

    >>> read_morphologika(
    ...     "[individuals]\\n1\\n[landmarks]\\n3\\n[dimensions]\\n2\\n[names]\\na\\n[rawpoints]\\n'1\\n0 0\\n1 0\\n0 1\\n"
    ... ).points.shape
    (1, 3, 2)
    """
    sections: dict[str, list[_Line]] = {}
    current = None
    for line in _lines(text):
        if line.text.startswith("["):
            current = line.text[1:].removesuffix("]").strip().lower()
            if not line.text.endswith("]") or current in sections:
                raise FileError(f"line {line.number}: the heading {shown(line.text)} is cut or repeated")
            sections[current] = []
        elif current is None:
            raise FileError(f"line {line.number}: {shown(line.text)} comes before the first [section]")
        else:
            sections[current].append(line)
    n, k, dimensions = (_declared(sections, name) for name in ("individuals", "landmarks", "dimensions"))
    if dimensions != 2:
        raise FileError(f"[dimensions] is {dimensions}; sfumato reads planar landmarks, 2")
    points, marks = _raw_points(sections.get("rawpoints", []), n, k)
    labels: Labels = {}
    if sections.get("names"):
        labels["ID"] = strings("ID", [line.text for line in _exactly(sections, "names", n)])
    elif marks:
        labels["ID"] = strings("ID", marks)
    if sections.get("labelvalues"):
        labels |= _label_values(sections, n)
    return landmarks(points, labels, space)


def _declared(sections: dict[str, list[_Line]], name: str) -> int:
    lines = sections.get(name, [])
    if len(lines) != 1:
        raise FileError(f"the section [{name}] must hold one number, not {len(lines)} lines; is the file cut?")
    return _count(lines[0].text, lines[0].number, f"[{name}] ")


def _exactly(sections: dict[str, list[_Line]], name: str, n: int) -> list[_Line]:
    if len(sections[name]) != n:
        raise FileError(f"[{name}] holds {len(sections[name])} lines, but [individuals] says {n}")
    return sections[name]


def _raw_points(lines: list[_Line], n: int, k: int) -> tuple[Array, list[str]]:
    """The points, and what stands after the apostrophe before each specimen, where the file has that."""
    rows = [_Line(line.number, line.text.replace(",", " ")) for line in lines if not line.text.startswith("'")]
    marks = [line.text[1:].strip() for line in lines if line.text.startswith("'")]
    if len(rows) != n * k or n * k == 0:
        raise FileError(f"[rawpoints] holds {len(rows)} points, but {n} individuals of {k} landmarks are {n * k}")
    if len(marks) > n:
        raise FileError(f"[rawpoints] holds {len(marks)} specimens, but [individuals] says {n}; is the file cut?")
    if marks:
        for i, line in enumerate(lines):
            if line.text.startswith("'") != (i % (k + 1) == 0):
                raise FileError(
                    f"line {line.number}: {shown(line.text)}; expected a 'specimen line, then {k} points, each time"
                )
    return np.array([_point(row) for row in rows]).reshape(n, k, 2), marks


def _label_values(sections: dict[str, list[_Line]], n: int) -> Labels:
    names = [name for line in sections.get("labels", []) for name in line.text.split()]
    rows = _exactly(sections, "labelvalues", n)
    values = [line.text.split() for line in rows]
    for line, row in zip(rows, values, strict=True):
        if len(row) != len(names):
            raise FileError(f"line {line.number}: {len(row)} label values for the {len(names)} labels of [labels]")
    columns = {name: [row[i] for row in values] for i, name in enumerate(names)}
    check_width(columns)
    return {name: texts(name, column) for name, column in columns.items()}
