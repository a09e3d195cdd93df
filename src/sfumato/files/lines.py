"""Lines of text, and the numbers in them."""

import re
from typing import NamedTuple

import numpy as np

from .base import FileError, shown

# Patterns here meet hostile text: in none can two neighbouring parts match the same characters, so none takes long to fail.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)
_MISSING = {"na", "nan", "n/a", "#n/a", "null", "?", ".", "-"}


class Line(NamedTuple):
    number: int
    text: str


def number(token: str, decimal_comma: bool = False) -> float:
    """Return a number as people write it; NaN for a missing one.  Unlike ``float``, no underscores."""
    if decimal_comma:
        token = token.replace(",", ".")
    if _NUMBER.fullmatch(token):
        return float(token)
    if token.lower() in _MISSING:
        return np.nan
    if re.fullmatch(r"[+-]?[0-9]{1,3}(,[0-9]{3})+", token):
        plain = token.replace(",", "")
        decimal = f", or {token.replace(',', '.')} if the comma is a decimal comma" if token.count(",") == 1 else ""
        raise ValueError(f"{shown(token)} holds a comma; write {plain} if it separates thousands{decimal}")
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", token):
        raise ValueError(f"{shown(token)} has a decimal comma; write {token.replace(',', '.')}")
    raise ValueError(f"{shown(token)} is not a number; write NA for what is missing")


def is_number(token: str, decimal_comma: bool) -> bool:
    """Tell whether a cell is a number, or stands for a missing one."""
    try:
        number(token, decimal_comma)
    except ValueError:
        return False
    return True


def lines_of(text: str, first: int = 1) -> list[Line]:
    """Return the lines that are not blank, with their numbers."""
    numbered = enumerate(re.split(r"\r\n|\r|\n", text), start=first)
    return [Line(i, line.strip()) for i, line in numbered if line.strip()]


def count(text: str, line: int, what: str) -> int:
    """Return how many points or records a line announces."""
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise FileError(f"line {line}: {what}={shown(text)} is not a count; write NA for what is missing")
    return int(text)


def numbers_of(tokens: list[str], line: int) -> list[float]:
    """Return the numbers of a line."""
    try:
        return [number(token) for token in tokens]
    except ValueError as error:
        raise FileError(f"line {line}: {error}") from None


def coordinates(line: Line, dim: int) -> list[float]:
    """Return the two or three coordinates of a line."""
    tokens = line.text.split()
    if len(tokens) != dim:
        many = "two" if dim == 2 else "three"
        raise FileError(f"line {line.number}: expected {many} coordinates, not {shown(line.text)}")
    return numbers_of(tokens, line.number)
