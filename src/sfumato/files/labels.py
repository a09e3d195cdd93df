"""Labels: what a file says of each record beside its point."""

import re
import unicodedata
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import Fix, Refusal
from ..numerics.arrays import Array
from .base import Dataset, FileError, Labels, allowed, placed

WIDEST = 1 << 30  # bytes of all labels of a file; NumPy gives every text the room of the longest
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
UNKNOWN = ("", "NA", "N/A", "<NA>", "NaN", "nan", "NaT", "None", "NULL")  # what programs write for a missing label
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.I)
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ].*")
EXACT = 2**53  # whole numbers below this are floats without rounding
ROUNDED = {"e": 2**11, "f": 2**24}  # and in half and single precision


def people(labels: ArrayLike) -> NDArray[np.str_]:
    """Return the labels of people in one normal form, which is the same however a label is typed or stored.

    Text is brought to NFKC, without invisible characters and needless spaces.  Text of digits, in any script, is the number;
    bytes are UTF-8, whole floats are whole numbers, midnight is the date.  What has no such form is refused.  Two people who
    share a normal form count as one unit, which errs on the side of privacy; upper and lower case differ.  A label that is
    missing, or is neither text, a number nor a date, raises a ValueError.

    >>> people(np.array(["A ", b"A", 1, 1.0, "01", "1.50", np.datetime64("2020-01-31")], dtype=object)).tolist()
    ['A', 'A', '1', '1', '1', '1.5', '2020-01-31']
    """
    masked = labels.mask if isinstance(labels, np.ma.MaskedArray) else False
    array = np.array(labels, dtype=object) if isinstance(labels, list | tuple) else np.asarray(labels)
    if array.dtype.kind == "M":
        array = np.datetime_as_string(array)
    if array.dtype.kind not in "biufSUTO":
        raise ValueError(f"labels must be text, whole numbers or dates, not {array.dtype.name}")
    most = ROUNDED.get(array.dtype.char, EXACT)
    known: dict[tuple[type, Any], str] = {}
    forms = []
    for row, value in enumerate(array.ravel().tolist()):
        try:
            key = type(value), str(value) if isinstance(value, np.datetime64) else value
            if key not in known:
                known[key] = person(value, most)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise ValueError(f"record {row} has the label {value!r}, {error}") from None
        forms.append(known[key])
    names = np.array(forms, dtype=np.str_).reshape(array.shape)
    missing = np.flatnonzero(np.isin(names, UNKNOWN) | masked)
    if len(missing):
        first = f"the first being record {missing[0]}"
        raise ValueError(f"{len(missing)} of {names.size} records have no unit, {first}: label or remove them")
    return names


def person(value: Any, most: int = EXACT) -> str:
    """Return the normal form of one label; whole floats are below ``most``, as larger ones were rounded."""
    if isinstance(value, bool | np.bool_):
        raise ValueError("which is yes or no and names nobody: give a name or a number")
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real | Decimal):
        return _number(value, most)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]")
    if not isinstance(value, str | bytes | date | UUID | np.datetime64) and str(value) not in UNKNOWN:
        raise ValueError(f"a {type(value).__name__}: give text, whole numbers or dates")
    text = tidy(value)
    if "\ufffd" in text:
        raise ValueError("in which a letter was lost: save labels as UTF-8")
    digits = "".join(_ascii(c) for c in text)
    if _NUMBER.fullmatch(digits):
        return _number(Decimal(digits), most)
    if _UUID.fullmatch(digits):
        return str(UUID(digits))
    return _date(text) if _MOMENT.fullmatch(text) else text


def _date(text: str) -> str:
    """Return a moment in UTC as ISO text, without the time where that is midnight; other text as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat().removesuffix("T00:00:00")


def spelled(value: Any) -> str:
    """Return the normal form of a label, or the text of what has none."""
    try:
        return person(value)
    except (ValueError, ArithmeticError):
        return str(value)


def _ascii(c: str) -> str:
    """Return a digit or a dash of any script as ASCII has it, other characters as they are."""
    dash = unicodedata.category(c) == "Pd" or c == "\u2212"
    return "-" if dash else str(unicodedata.decimal(c, c))


def _number(value: Any, most: int) -> str:
    """Return a number as text: whole ones without a point, others as short as they can be written."""
    if value != value:
        return "NaN"
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError("which is infinite and names nobody: give a name or a number")
        if value.adjusted() > 999:
            raise ValueError("a number of more than a thousand digits: give a name or a number")
        if value == value.to_integral_value():
            return str(int(value))
        value = float(value)
    if float(value).is_integer() and abs(value) < most:
        return str(int(value))
    if not abs(value) < most:
        raise ValueError("a number too large to differ from its neighbours: save labels as text or whole numbers")
    short = np.float32(value)  # a label may have been stored in single precision
    return format(Decimal(str(short) if float(short) == value else repr(float(value))), "f")


def tidy(value: Any) -> str:
    """Return the label of a person as text in NFKC, without invisible characters and needless spaces.

    >>> tidy("  Ann \\u200b B"), tidy(b"Ann B")
    ('Ann B', 'Ann B')
    """
    seen = (" " if c.isspace() else c for c in group_name(value))
    shown = "".join(c for c in seen if unicodedata.category(c)[0] != "C")
    return " ".join(unicodedata.normalize("NFKC", _UNSEEN.sub("", shown)).split())


def group_name(value: Any) -> str:
    """Return the label of a group as text in NFKC, without spaces around it; what cannot be written as UTF-8 is refused."""
    try:
        text = value.decode() if isinstance(value, bytes) else str(value)
        text.encode()
    except UnicodeError:
        raise ValueError("whose bytes are not UTF-8: save labels as text") from None
    return unicodedata.normalize("NFKC", text).strip()


def join(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """Return one column of several files; refuse numbers that single precision has rounded and another file has whole."""
    for column in columns:
        most = ROUNDED.get(column.dtype.char)
        if most and len({other.dtype for other in columns}) > 1 and bool((np.abs(column) >= most).any()):
            raise FileError("labels in single precision are too large to be exact: save them as whole numbers or text")
    return np.concatenate(columns)


def texts(name: str, values: list[str]) -> NDArray[Any]:
    """Return a column of labels from a text file: numbers if all are written as such, otherwise text ("007" is text)."""
    for pattern, kind in ((_WHOLE, np.int64), (_DECIMAL, np.float64)):
        if all(map(pattern.fullmatch, values)):
            return np.array(values, dtype=kind)
    return strings(name, values)


def strings(name: str, values: list[str]) -> NDArray[Any]:
    """Return a column of labels that is text even where all of it is digits, such as an ID."""
    return text_columns({name: values})[name]


def text_columns(columns: dict[str, list[str]]) -> Labels:
    """Return columns of text; refuse those that would fill the memory, as every text gets the room of the longest."""
    longest = {name: max(map(len, values), default=0) for name, values in columns.items()}
    room = min(WIDEST, allowed(sum(len(value) for values in columns.values() for value in values)))
    if sum(4 * longest[name] * len(values) for name, values in columns.items()) > room:
        widest = max(longest, key=lambda name: longest[name] * len(columns[name]))
        raise FileError(f"column {widest!r} holds a text of {longest[widest]} characters; leave the column out")
    return {name: np.array(values, dtype=np.str_) for name, values in columns.items()}


def column(name: str, values: list[Any]) -> NDArray[Any]:
    """Return a column of Python values: numbers where all are, else texts, empty for None."""
    array = numbers(values)
    return strings(name, ["" if value is None else str(value) for value in values]) if array is None else array


def numbers(values: list[Any]) -> Array | None:
    """Return Python numbers as an array, NaN for None; None if a value is not a number (True and False are not)."""
    if not all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        return None
    small = [np.inf if isinstance(value, int) and abs(value) >= 1 << 1023 else value for value in values]
    return np.array(small, dtype=np.float64)


def groups_of(data: Dataset, by: str, labels: str | Path | None = None) -> NDArray[Any]:
    """Return the column ``by``, one value for each record, from the data or from a table that shares a column with it."""
    if labels is not None:
        return with_table(data, labels, by).labels[by]
    if by not in data.labels:
        known = ", ".join(data.labels) or "none"
        words = f"{data.path}: there is no column {by!r}; columns beside the points: {known}. If it stands in a table "
        raise Refusal(words, "of its own, give ", Fix("labels", "FILE"))
    return data.labels[by]


def numbers_of(data: Dataset, name: str) -> Array:
    """Return a column as numbers, NaN for what is missing; a FileError names the record of any other value."""
    column = groups_of(data, name)
    found = np.full(len(column), np.nan)
    for row, text in enumerate(map(group_name, column.tolist())):
        try:
            found[row] = np.nan if text in UNKNOWN else float(text)
        except ValueError:
            raise FileError(f"{data.path}: {data.where(row)}: {name} is {text!r}, which is not a number") from None
    return found


def with_table(data: Dataset, file: str | Path, by: str) -> Dataset:
    """Return the data with all columns of a table as labels, ``by`` among them; a shared column, as ID, says whose they are."""
    from .registry import parse
    from .table import Table

    with placed(f"the table of labels {file}"):
        table = parse(Path(file))[1].get("")
        if not isinstance(table, Table):
            raise FileError("is not a table; save it as CSV")
        shared = [name for name in table.columns if name in data.labels and name != by]
        if by not in table.columns or not shared:
            lacking = f"column {by!r}" if by not in table.columns else "column in common with the records"
            own = ", ".join(data.labels) or "none"
            raise FileError(f"has no {lacking}; it has: {', '.join(table.columns)}; the records have: {own}")
        rows = _rows_by_key(table, shared[0], by)
        keys = people(data.labels[shared[0]]).tolist()
        for place, key in enumerate(keys):
            if key not in rows:
                raise FileError(f"has no line for {data.where(place)}: {shared[0]} {key!r}")
        chosen = table.take(np.array([rows[key] for key in keys]), data.labels)
        groups = [group_name(table.columns[by][rows[key]]) for key in keys]
    return replace(data, labels={**data.labels, **chosen.labels([]), by: np.array(groups, dtype=np.str_)})


def _rows_by_key(table: Any, key: str, by: str) -> dict[str, int]:
    """Return the row of each value of a column; refuse two rows of one value that differ."""
    rows: dict[str, int] = {}
    for row, value in enumerate(table.columns[key].tolist()):
        first = rows.setdefault(person(value), row)
        for name, column in table.columns.items() if first != row else ():
            if spelled(column[first]) != spelled(column[row]):
                what = "is in two groups" if name == by else f"has two values of {name!r} (leave that column out)"
                both = f"{column[first]} and {column[row]}"
                raise FileError(f"{table.where(row)}: {key} {person(value)!r} {what}, {both}")
    return rows
