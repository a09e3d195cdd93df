"""Tables as text: CSV, TSV, and what separates values by semicolons or blanks."""

import csv
import io
import re

from .base import Contents, FileError, Format, check_unique
from .labels import text_columns
from .lines import is_number
from .table import Table


def read_csv(text: str) -> Contents:
    """Return the table of values separated by commas, semicolons, tabs or blanks; the last three allow decimal commas."""
    mark = delimiter(text)
    rows, lines = rows_of(text, mark)
    if not rows:
        raise FileError("holds no records")
    header = [name.strip() for name in rows[0]]
    if all(re.fullmatch(r"[+-]?[0-9.].*", name) and is_number(name, mark in ";\t") for name in header):
        header = [f"column {i}" for i in range(1, len(header) + 1)]
    else:
        rows = rows[1:]
        lines = lines[1:]
        if rows and len(rows[0]) == len(header) + 1:
            header = ["", *header]  # R's write.table names no column of row names
    if not rows:
        raise FileError("holds a header and no records")
    check_unique(header, "columns")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise FileError(f"line {line}: {len(row)} values in a table of {len(header)} columns")
    columns = text_columns({name: list(cells) for name, cells in zip(header, zip(*rows, strict=True), strict=True)})
    return {"": Table(columns, lines, decimal_comma=mark in ";\t")}


def delimiter(text: str) -> str:
    """Return what separates the values of the first line that is not a comment."""
    first = next((line for line in re.split(r"[\r\n]+", text) if line.strip() and not line.startswith("#")), "")
    return next((mark for mark in "\t;," if mark in first), " " if " " in first.strip() else ",")


def rows_of(text: str, mark: str) -> tuple[list[list[str]], list[int]]:
    """Return rows with their lines, without comments before the first and without blank lines, which may not stand in a table
    of one column: there one may be a missing value."""
    rows: list[list[str]] = []
    lines: list[int] = []
    blank = 0
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True, skipinitialspace=True)
    try:
        for row in reader:
            cells = [cell for cell in row if cell] if mark == " " else row
            if len(cells) <= 1 and not "".join(cells).strip():
                blank = reader.line_num if rows else 0
            elif rows or not row[0].startswith("#"):
                if blank and len(cells) == 1:
                    raise FileError(f"line {blank}: a blank line in a table of one column; write NA if it is missing")
                rows.append(cells)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise FileError(f"line {reader.line_num}: {error}") from None
    return rows, lines


TSV = Format("TSV", read_csv, looks=lambda words: delimiter(words) == "\t", curves=True)
CSV = Format("CSV", read_csv, looks=lambda words: True, curves=True)  # whatever is left
