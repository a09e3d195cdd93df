"""NTS (NTSYS): a table of specimens as text."""

import re

import numpy as np

from .base import Contents, Dataset, FileError, Format, Labels, shown
from .labels import strings
from .lines import Line, lines_of, numbers_of

_HEADER = re.compile(
    r"(?P<type>[0-9]+)\s+(?P<n>[0-9]{1,18})(?P<rows>[LBE]?)\s+(?P<p>[0-9]{1,18})(?P<columns>[LBE]?)\s+(?P<missing>[01])"
    r"(\s+(?P<code>[^\sD]\S*))?(\s+DIM\s*=\s*(?P<dim>[0-9]+))?",
    re.IGNORECASE,
)
Token = tuple[str, int]  # and its line
_FIRST = re.compile(r"[1-9][ \t]+[0-9]+[A-Z]?[ \t]+[0-9]+[A-Z]?[ \t]+[01]\b.*\bDIM", re.IGNORECASE)


def read_nts(text: str) -> Contents:
    """Return the specimens of comments (lines that begin with "), a header (``1 127L 36 1 -999 DIM=2``), labels, numbers.

    A row is a specimen; as many columns as dimensions are the landmarks of one specimen.  L says that row labels stand
    before the numbers, B and E that they stand at the beginning and end of the rows.
    """
    lines = _without_comments(text)
    if not lines:
        raise FileError("holds comments only")
    header = _header(lines[0])
    where = f"line {lines[0].number}"
    n, p, dim = (int(header[name]) for name in ("n", "p", "dim"))
    rows = header["rows"].upper()
    column_names = p if header["columns"] else 0
    tokens = [(token, line.number) for line in lines[1:] for token in line.text.split()]
    expected = n * p + (n if rows else 0) + column_names
    if len(tokens) != expected or expected == 0:
        raise FileError(f"{where}: the header announces {expected} numbers and labels, the file holds {len(tokens)}")
    if p % dim:
        raise FileError(f"{where}: {p} columns cannot be landmarks with DIM={dim}: each has {dim}")
    names, body = _named(tokens, n, p, rows, column_names)
    table = np.array([numbers_of([token], line)[0] for token, line in body]).reshape(n, p)
    if header["missing"] == "1":
        table[table == numbers_of([header["code"]], lines[0].number)[0]] = np.nan
    if p == dim:
        return {"": Dataset(table[None], "landmarks")}
    labels: Labels = {"ID": strings("ID", names)} if names else {}
    return {"": Dataset(table.reshape(n, p // dim, dim), "landmarks", labels=labels)}


def _named(tokens: list[Token], n: int, p: int, rows: str, column_names: int) -> tuple[list[str], list[Token]]:
    """Return the names of the rows, which stand before all numbers, or at the beginning or end of each row; and the numbers."""
    if rows not in ("B", "E"):
        names = tokens[:n] if rows else []
        return [token for token, _ in names], tokens[len(names) + column_names :]
    at = 0 if rows == "B" else p
    body = tokens[column_names:]
    return [token for token, _ in body[at :: p + 1]], [token for i, token in enumerate(body) if i % (p + 1) != at]


def _without_comments(text: str) -> list[Line]:
    return [line for line in lines_of(text) if not line.text.startswith('"')]


def _header(line: Line) -> re.Match[str]:
    header = _HEADER.fullmatch(line.text)
    if not header:
        raise FileError(f"line {line.number}: {shown(line.text)} is not an NTS header such as '1 127L 36 0 DIM=2'")
    wrong = ""
    if header["type"] != "1":
        wrong = f"matrix type {header['type']}; sfumato reads type 1, a table of specimens"
    elif header["dim"] is None:
        wrong = "the header does not say how many coordinates a landmark has: write DIM=2 or DIM=3 at its end"
    elif header["dim"] not in ("2", "3"):
        wrong = f"DIM={shown(header['dim'])}; landmarks have DIM=2 or DIM=3"
    elif header["missing"] == "1" and header["code"] is None:
        wrong = "missing values are announced, but not the number that stands for them"
    elif header["missing"] == "0" and header["code"] is not None:
        wrong = f"{shown(header['code'])} after 0, which says that no values are missing"
    if wrong:
        raise FileError(f"line {line.number}: {wrong}")
    return header


NTS = Format(
    "NTS",
    read_nts,
    looks=lambda words: any(_FIRST.match(line.text) for line in _without_comments(words)[:1]),
    suffixes=(".nts", ".dta"),
)
