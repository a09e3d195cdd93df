"""NTS (NTSYS): a table of specimens as text."""

from __future__ import annotations

import re

import numpy as np

from .base import UNSAID, Choice, FileError, Format, Found, Labels, Wanted, shown
from .labels import strings
from .layout import arrange, landmarks
from .lines import Line, lines_of, numbers

_HEADER = re.compile(
    r"(?P<type>[0-9]+)\s+(?P<n>[0-9]{1,18})(?P<rows>[LBE]?)\s+(?P<p>[0-9]{1,18})(?P<columns>[LBE]?)\s+(?P<missing>[01])"
    r"(\s+(?P<code>[^\sD]\S*))?(\s+DIM\s*=\s*(?P<dim>[0-9]+))?",
    re.IGNORECASE,
)


_FIRST = re.compile(r"[1-9][ \t]+[0-9]+[A-Z]?[ \t]+[0-9]+[A-Z]?[ \t]+[01]\b.*\bDIM", re.IGNORECASE)


def read_nts(text: str, space: Wanted = None, _: Choice = UNSAID) -> Found:
    """NTS: comments that begin with a quotation mark, a header such as ``1 127L 36 1 -999 DIM=2``, labels, numbers.

    A row is a specimen; two columns alone are the landmarks of one specimen.  L says that row labels stand before the
    numbers, B and E that they stand at the beginning and end of the rows.

    >>> read_nts("1 2B 6 0 DIM=2\\na 0 0 1 0 0 1\\nb 0 0 2 0 0 1\\n").labels["ID"].tolist()
    ['a', 'b']
    """
    lines = _without_comments(text)
    if not lines:
        raise FileError("holds comments only")
    header, where = _header(lines[0]), f"line {lines[0].number}"
    n, p = int(header["n"]), int(header["p"])
    rows, columns = header["rows"].upper(), header["columns"].upper()
    tokens = [(token, line.number) for line in lines[1:] for token in line.text.split()]
    expected = n * p + (n if rows else 0) + (p if columns else 0)
    if len(tokens) != expected or expected == 0:
        raise FileError(f"{where}: the header announces {expected} numbers and labels, the file holds {len(tokens)}")
    names = [token for token, _ in tokens[:n]] if rows == "L" else []
    body = tokens[len(names) + (p if columns else 0) :]
    if rows in ("B", "E"):
        at = 0 if rows == "B" else p
        names = [token for token, _ in body[at :: p + 1]]
        body = [token for i, token in enumerate(body) if i % (p + 1) != at]
    table = np.array([numbers([token], line)[0] for token, line in body]).reshape(n, p)
    if header["missing"] == "1":
        table[table == numbers([header["code"]], lines[0].number)[0]] = np.nan
    if p == 2 and header["dim"] is not None:
        return landmarks(table[None], {}, space)
    labels: Labels = {"ID": strings("ID", names)} if names else {}
    if header["dim"] is None:
        kind, layout, points = arrange(table, space)
        return Found(points, kind, labels, f"the table {table.shape}, {layout}")
    if p % 2:
        raise FileError(f"{where}: {p} columns, an odd number, cannot be landmarks with DIM=2")
    return landmarks(table.reshape(n, p // 2, 2), labels, space)


def _without_comments(text: str) -> list[Line]:
    return [line for line in lines_of(text) if not line.text.startswith('"')]


def _header(line: Line) -> re.Match[str]:
    header, where = _HEADER.fullmatch(line.text), f"line {line.number}"
    if not header:
        raise FileError(f"{where}: {shown(line.text)} is not an NTS header such as '1 127L 36 0 DIM=2'")
    if header["type"] != "1":
        raise FileError(f"{where}: matrix type {header['type']}; sfumato reads type 1, a table of specimens")
    if header["dim"] not in (None, "2"):
        raise FileError(f"{where}: DIM={header['dim']}; sfumato reads planar landmarks, DIM=2")
    if header["missing"] == "1" and header["code"] is None:
        raise FileError(f"{where}: missing values are announced, but not the number that stands for them")
    if header["missing"] == "0" and header["code"] is not None:
        raise FileError(f"{where}: {shown(header['code'])} after 0, which says that no values are missing")
    return header


def is_nts(text: str) -> bool:
    """Whether the first line that is no comment is the header of an NTS file of landmarks.

    >>> is_nts('"a comment\\n1 2L 6 0 DIM=2\\n')
    True
    """
    return any(_FIRST.match(line.text) for line in _without_comments(text)[:1])


NTS = Format("NTS", read_nts, looks=is_nts, suffixes=(".nts", ".dta"), choosable=False)
