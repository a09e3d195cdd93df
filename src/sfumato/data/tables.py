"""Tables: CSV and TSV, Parquet, and R's data frames.  The names of the columns say what they hold."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spaces import SPD, Sphere
from ..spaces.base import Array, Space
from .apart import read_apart
from .files import UNSAID, Choice, Dataset, FileError, Labels, Records, Wanted, allowed, package, shown
from .landmarks_text import number
from .layout import (
    WIDEST,
    AmbiguousError,
    arrange,
    kind_of,
    landmarks,
    needs,
    per_record,
    shape_of,
    strings,
    text_columns,
    texts,
)

_LANDMARK = [
    re.compile(r"(?P<axis>[xyz])[._ -]?(?P<name>[0-9]+)"),  # x1, y1; X.1
    re.compile(r"(lm|landmark|point|pt|p)?[._ -]?(?P<name>[0-9]+)[._ -]?(?P<axis>[xyz])"),  # 1.X, lm1_x
    re.compile(r"(?P<name>.+)[._ -](?P<axis>[xyz])"),  # nose_x
]
_TENSOR = re.compile(r"d?[._ -]?(?P<row>[xyz])(?P<column>[xyz])")  # Dxx, Dxy
_ENTRY = re.compile(r"[a-z]*[._ -]?(?P<row>[0-9]+)[._ -](?P<column>[0-9]+)")  # m1_2
_SHORT_ENTRY = re.compile(r"[a-z]*[._ -]?(?P<row>[0-9])(?P<column>[0-9])")  # c12: only if the space says matrices
_SPECIMEN = re.compile(r"(specimen|individual|subject|record|sample|shape|name|id)s?([._ -]?(id|name|no|number))?")
_POINT = re.compile(r"(landmark|lm|point|coord|vertex)s?([._ -]?(id|name|no|number|index))?|index")
_IDENTIFIER = re.compile(rf"|unnamed: 0|row|rownames|index|{_SPECIMEN.pattern}|.*[._ -]id")
_PLAIN = re.compile(r"[0-9eE+. -]*")
_UNIT = r"([._ -]?[(\[]?(deg.*|dd|north|east|n|e|°)[)\]]?)?"  # of degrees
_LATITUDE = re.compile(rf"(?P<prefix>.*[._ -]|decimal|rec|)lat(itude)?{_UNIT}")
_LONGITUDE = re.compile(rf"(?P<prefix>.*[._ -]|decimal|rec|)(lon|lng|long)(gitude|itude)?{_UNIT}")
_ANGLES = {  # other names of angles: those that two fields use with another meaning are asked about
    "declination": "dec", "dec": "dec", "de": "dec", "inclination": "inc", "inc": "inc", "ra": "ra",
    "right ascension": "ra", "right_ascension": "ra",
    **dict.fromkeys(["theta", "phi", "az", "azimuth", "alt", "altitude", "el", "elevation", "colat", "colatitude", "trend",
                     "plunge", "strike", "dip", "lat_rad", "lon_rad", "latitude_rad", "longitude_rad"], "?"),
}  # fmt: skip
_PLANE = {("x", "y"), ("column 1", "column 2"), ("v1", "v2")}  # columns that may be all landmarks of one specimen
_HOURS = 24  # right ascensions up to this may be hours
_MAIN = (
    "landmarks",
    "points",
    "matrices",
    "coords",
    "coordinates",
    "tensors",
    "covariances",
    "shapes",
    "coo",
    "x",
    "data",
)


@dataclass(frozen=True)
class Table:
    """Columns by name, each numbers or texts; ``lines`` are the lines of a text that the rows came from."""

    columns: dict[str, NDArray[Any]]
    lines: list[int] = field(default_factory=list)
    decimal_comma: bool = False
    choice: Choice = UNSAID

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def where(self, row: int) -> str:
        return f"line {self.lines[row]}" if self.lines else f"record {row}"

    def numbers(self, name: str) -> Array:
        """A column as numbers, NaN where one is missing, or a FileError that names the first cell that is not one."""
        return self.choice.filled(self._numbers(name))

    def _numbers(self, name: str) -> Array:
        column = self.columns[name]
        if column.dtype.kind in "biuf":
            return column.astype(np.float64, copy=False)
        if not self.lines:  # Parquet and R know texts from numbers
            raise FileError(f"record 0: column {name!r}: the text {shown(str(column[0]))} is not a number")
        cells = column.tolist()
        if _PLAIN.fullmatch("".join(cells)):
            with suppress(ValueError):  # NumPy is quick but cannot say which cell is bad
                return np.array(cells, dtype=np.float64)
        values = np.empty(len(cells))
        for row, cell in enumerate(cells):
            text = cell.strip()
            try:
                values[row] = number(text.replace(",", ".") if self.decimal_comma else text) if text else np.nan
            except ValueError as error:
                raise FileError(f"{self.where(row)}: column {name!r}: {error}") from None
        return values

    def is_numeric(self, name: str) -> bool:
        try:
            return not np.isnan(self.numbers(name)).all()
        except FileError:
            return False

    def labels(self, used: list[str], rows: NDArray[np.intp] | None = None) -> Labels:
        """The columns that are not used; of a table in long form at the first rows of the specimens."""
        labels, taken = {}, set(used)
        for name, column in self.columns.items():
            if name not in taken:
                column = column if rows is None else column[rows]
                labels[name or "row"] = texts(name, column.tolist()) if self.lines else column
        return labels


# -- the formats -----------------------------------------------------------------------------------------------------------
def read_csv(text: str, space: Wanted = None, choice: Choice = UNSAID) -> Records:
    """Values separated by commas, semicolons, tabs or blanks; with semicolons or tabs, decimal commas are understood.

    >>> read_csv("id,x1,y1,x2,y2,x3,y3\\na,0,0,1,0,0,1\\nb,0,0,2,0,0,1\\n").points.shape
    (2, 3, 2)
    """
    mark = delimiter(text)
    rows, lines = _rows(text, mark)
    if not rows:
        raise FileError("holds no records")
    header = [name.strip() for name in rows[0]]
    if all(re.fullmatch(r"[+-]?[0-9.].*", name) and _is_number(name, mark) for name in header):
        header = [f"column {i}" for i in range(1, len(header) + 1)]
    else:
        rows, lines = rows[1:], lines[1:]
        if rows and len(rows[0]) == len(header) + 1:
            header = ["", *header]  # R's write.table names no column of row names
    if not rows:
        raise FileError("holds a header and no records")
    repeated = {name for name, count in Counter(header).items() if count > 1}
    if repeated:
        raise FileError(f"two columns are named {shown(min(repeated))}")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise FileError(f"line {line}: {len(row)} values in a table of {len(header)} columns")
    columns = text_columns({name: list(cells) for name, cells in zip(header, zip(*rows, strict=True), strict=True)})
    return read_table(Table(columns, lines, mark in ";\t", choice), space)


def read_parquet(content: bytes, space: Wanted = None, choice: Choice = UNSAID) -> Records:
    """Parquet, with a column for each coordinate.

    >>> import pyarrow.parquet
    >>> buffer = io.BytesIO()
    >>> pyarrow.parquet.write_table(pyarrow.table({"Dxx": [2.0], "Dxy": [0.5], "Dyy": [1.0], "site": ["a"]}), buffer)
    >>> read_parquet(buffer.getvalue()).points.tolist()
    [[[2.0, 0.5], [0.5, 1.0]]]
    """
    package("pyarrow", "reading Parquet")
    return read_table(Table(read_apart("tables:parquet_columns", content), choice=choice), space)


def parquet_columns(content: bytes) -> dict[str, NDArray[Any]]:
    """The columns of a Parquet file.  What its pages unpack to is known only when they are: so this runs apart.

    >>> parquet_columns(b"PAR1")
    Traceback (most recent call last):
    sfumato.data.files.FileError: the Parquet file is damaged or cut: ...
    """
    import pyarrow as arrow
    import pyarrow.compute
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(arrow.BufferReader(content))
        held, limit = file.metadata, allowed(len(content))
        groups = [held.row_group(i) for i in range(held.num_row_groups)]
        size = max(sum(group.total_byte_size for group in groups), 8 * held.num_rows * held.num_columns)
        if size > limit:
            raise FileError(f"would unpack to {size} bytes, over the limit of {limit}")
        if sum(group.num_rows for group in groups) != held.num_rows:
            raise FileError(f"says {held.num_rows} rows, but its groups hold another number; the file is damaged")
        # texts stay as references to their dictionary until their length is known
        words = [field.name for field in file.schema_arrow if _is_text(arrow, field.type)]
        table = parquet.ParquetFile(arrow.BufferReader(content), read_dictionary=words).read()
        return {name: _arrow_column(arrow, name, table.column(name)) for name in table.column_names}
    except (FileError, MemoryError):
        raise
    except Exception as error:  # arrow raises many kinds on damaged files
        raise FileError(f"the Parquet file is damaged or cut: {error}") from None


@dataclass(frozen=True)
class _Chosen(Table):
    """A part of a table of which all columns are coordinates, also one that holds nothing but NaN here."""

    settled: bool = False  # whether other rows have shown already what the columns mean

    def is_numeric(self, name: str) -> bool:
        return True


def read_head(batch: Any, space: Wanted = None) -> tuple[Records, list[str]]:
    """The records of the first rows of an Arrow table, and the columns that hold them: those of the other rows too.

    >>> import pyarrow
    >>> batch = pyarrow.record_batch({"id": [7, 8], "x": [1.0, 0.0], "y": [0.0, 1.0]})
    >>> read_head(batch, Sphere(dim=1))[1]
    ['x', 'y']
    """
    arrow = package("pyarrow", "reading Arrow tables")
    columns = {name: _arrow_column(arrow, name, batch.column(name)) for name in batch.schema.names}
    found = read_table(Table(columns), space)
    if len(found.points) != batch.num_rows:
        raise FileError("has a row for each landmark; to be read in parts a table needs a row for each record")
    return found, [name for name in columns if (name or "row") not in found.labels]


def read_first(path: Path, space: Wanted = None) -> Dataset:
    """The first records of a Parquet file, to learn from them what the file holds."""
    from .lazy import table_head

    parquet = package("pyarrow.parquet", "reading Parquet")
    try:
        with parquet.ParquetFile(path) as file:
            head = table_head(file, 1000)
        if head is None:
            raise FileError("holds no records")
        found = read_head(head, space)[0]
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    except Exception as error:  # arrow raises many kinds on damaged files
        raise FileError(f"{path}: the Parquet file is damaged or cut: {error}") from None
    return Dataset(found.points, found.kind, "Parquet", found.labels, path, *found[3:7])


def read_batch(batch: Any, space: Space) -> Array:
    """The points of some rows of an Arrow table, reduced to the columns that hold them.

    >>> import pyarrow
    >>> read_batch(pyarrow.record_batch({"x": [float("nan"), 0.0], "y": [0.0, 1.0]}), Sphere(dim=1)).tolist()
    [[nan, 0.0], [0.0, 1.0]]
    """
    arrow = package("pyarrow", "reading Arrow tables")
    columns = {name: _arrow_column(arrow, name, batch.column(name)) for name in batch.schema.names}
    return read_table(_Chosen(columns, settled=True), space).points


def delimiter(text: str) -> str:
    """What separates the values of the first line that is not a comment.

    >>> delimiter("x;y\\n1,5;2\\n")
    ';'
    """
    first = next((line for line in re.split(r"[\r\n]+", text) if line.strip() and not line.startswith("#")), "")
    for mark in "\t;,":
        if mark in first:
            return mark
    return " " if " " in first.strip() else ","


def _rows(text: str, mark: str) -> tuple[list[list[str]], list[int]]:
    """Rows with their lines.  Blank lines are passed over, except where one may be a missing value."""
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
                    raise FileError(
                        f"line {blank}: a blank line in a table of one column; write NA for a missing value"
                    )
                rows.append(cells)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise FileError(f"line {reader.line_num}: {error}") from None
    return rows, lines


def _is_number(text: str, mark: str) -> bool:
    try:
        number(text.replace(",", ".") if mark in ";\t" else text)
    except ValueError:
        return False
    return True


def _arrow_column(arrow: Any, name: str, column: Any) -> NDArray[Any]:
    kind = column.type
    if arrow.types.is_nested(kind):
        raise FileError(f"column {name!r} holds {kind}; write one column for each coordinate")
    if arrow.types.is_dictionary(kind):
        column = _spelt_out(arrow, name, column)
        kind = column.type
    if column.null_count == 0 and (arrow.types.is_integer(kind) or arrow.types.is_boolean(kind)):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if arrow.types.is_integer(kind) or arrow.types.is_floating(kind):  # what is missing comes as NaN
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    if arrow.types.is_boolean(kind):
        return np.array([np.nan if value is None else value for value in column.to_pylist()], dtype=np.float64)
    return strings(name, ["" if value is None else str(value) for value in column.to_pylist()])


def _is_text(arrow: Any, kind: Any) -> bool:
    t = arrow.types
    return bool(t.is_string(kind) or t.is_binary(kind) or t.is_large_string(kind) or t.is_large_binary(kind))


def _spelt_out(arrow: Any, name: str, column: Any) -> Any:
    """A column with its values in place of references to them: a few bytes can refer to one long text many times."""
    longest = 0
    for chunk in column.chunks if _is_text(arrow, column.type.value_type) else []:
        lengths = arrow.compute.binary_length(chunk.dictionary)
        longest = max(longest, arrow.compute.max(lengths).as_py() or 0)
    if 4 * longest * len(column) > WIDEST:
        raise FileError(f"column {name!r} holds a text of {longest} characters; leave the column out")
    return arrow.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], type=column.type.value_type)


# -- what the columns hold -------------------------------------------------------------------------------------------------
def read_table(table: Table, space: Wanted = None) -> Records:
    """Points by the names of the columns, or else by their number.

    >>> columns = {"lon": np.array([90.0, 10.0]), "lat": np.array([0.0, 90.0]), "mag": np.array([5.0, 6.0])}
    >>> read_table(Table(columns), Sphere(dim=2)).points.round(9).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if len(table) == 0:
        raise FileError("holds no records")
    if table.choice.columns:
        return _chosen(table, space)
    wanted = kind_of(space) if space is not None else None
    if wanted in (None, "landmarks"):
        found = _long(table, space) or _wide(table, space)
        if found:
            return found
    if wanted in (None, "matrices"):
        found = _entries(table, space)
        if found:
            return found
    if space in (None, Sphere) or (isinstance(space, Sphere) and space.dim == 2):
        found = _latitudes(table, space)
        if found:
            return found
    return _in_order(table, space)


def _chosen(table: Table, space: Wanted) -> Records:
    """The points from columns that the user names, each under its own name or, as in lat=theta, under another."""
    by_lower = {name.lower(): name for name in table.columns}
    taken: dict[str, str] = {}
    for word in table.choice.columns:
        meant, sign, name = (part.strip() for part in word.partition("="))
        if word in table.columns or word.lower() in by_lower or not sign:
            name, sign = word, ""
        held = name if name in table.columns else by_lower.get(name.lower())
        meant = meant if sign else held or name
        if held is None:
            raise FileError(f"there is no column {shown(name)}; it has {_listed(list(table.columns), 20)}")
        if held in taken.values() or meant in taken:
            raise FileError(f"the column {shown(name)} is given twice")
        taken[meant] = held
    part = _Chosen({meant: table.columns[held] for meant, held in taken.items()}, table.lines, table.decimal_comma)
    part = replace(part, choice=table.choice._replace(columns=()))
    found = read_table(part, space)
    beside = table.labels(list(taken.values())) if len(found.points) == len(table) else {}
    words = ", ".join(meant if meant == held else f"{held} as {meant}" for meant, held in taken.items())
    names = tuple(taken.get(name, name) for name in found.names)
    return found._replace(labels={**beside, **found.labels}, source=f"the columns {words}", names=names)


def pick(
    held: dict[str, Any], space: Wanted, choice: Choice, records_last: bool = False, ids: Labels | None = None
) -> Records:
    """The records of a file that holds several things by name: arrays, tables, and why others cannot be read.

    What the layout or the names of columns show to be records wins over what merely has a fitting number of columns, and a
    telling name over others; what is still undecided is refused, with all that it could be.  Arrays of the length of the
    records, and the columns of a table of that length, are labels.

    >>> pick({"X": np.zeros((5, 4, 2)), "y": np.zeros(5), "age": Table({"a": np.ones(5)})}, None, Choice()).labels["a"].sum()
    np.float64(5.0)
    """
    if choice.array is not None and choice.array not in held:
        raise FileError(f"there is no array {shown(choice.array)}; it holds {_contents(held)}")
    asked = {choice.array: held[choice.array]} if choice.array is not None else held
    if len(held) > 1 or "" not in held:  # one axis makes a label, unless nothing else is there or it is asked for
        asked = {name: item for name, item in asked.items() if choice.array is not None or not _is_label(item)}
    found: dict[str, Records | FileError] = {}
    for name, item in asked.items():
        try:
            found[name] = _one(name, item, space, choice, records_last)
        except AmbiguousError as error:
            found[name] = AmbiguousError(f"{shown(name)}: {error}" if name else str(error))
        except FileError:
            if len(asked) == 1:
                raise
    ranks = {name: _rank(held[name], one) for name, one in found.items()}
    best = [name for name in found if ranks[name] == min(ranks.values())]
    best = [name for name in best if name.rpartition("$")[2].lower() in _MAIN] if len(best) > 1 else best
    if not found:
        wanted = "landmarks, matrices or vectors are needed" if space is None else needs(space)
        raise FileError(
            f"no array could be the records (it holds {_contents(held)}); {wanted}, and structures and cells are not "
            "looked into"
        )
    if len(best) != 1:
        raise FileError(
            f"more than one array could be the records (it holds {_contents(held)}); say which, as "
            f"array={shown(next(iter(found)))} (--array)"
        )
    (name,) = best
    records = found[name]
    if isinstance(records, FileError):
        raise records
    n, arrays = len(records.points), {key: item for key, item in held.items() if isinstance(item, np.ndarray)}
    labels = per_record({key: item for key, item in arrays.items() if key != name}, n)
    for key, item in held.items():
        if isinstance(item, Table) and key != name and len(item) == n:
            labels |= {column: values for column, values in item.labels([]).items() if column not in labels}
    if ids is not None and len(ids.get(name, ())) == n:
        labels["ID"] = ids[name]
    return records._replace(labels={**labels, **records.labels})


def _one(name: str, item: Any, space: Wanted, choice: Choice, records_last: bool) -> Records:
    """The records of one of several things in a file."""
    if isinstance(item, FileError):
        raise item if space is None or kind_of(space) != "vectors" else FileError(str(item))
    if isinstance(item, Table):
        found = read_table(replace(item, choice=choice), space)
        return found._replace(source=f"{found.source} (table {shown(name)})") if name else found
    if choice.columns:
        raise FileError("columns are chosen in a table, and this file holds arrays; choose one with array= (--array)")
    kind, layout, points = arrange(item, space, records_last)
    source = f"the array {shown(name) + ' ' if name else ''}{item.shape}, in the order {layout}"
    return Records(points, kind, {}, source, sure=item.ndim + np.iscomplexobj(item) > 2)


def _is_label(item: Any) -> bool:
    return isinstance(item, np.ndarray) and (item.ndim < 2 - np.iscomplexobj(item) or item.dtype.kind not in "biufc")


def _rank(item: Any, found: Records | FileError) -> int:
    """0 for what is likely to be the records by its layout or names, 1 for what could be, 2 for one row or one column."""
    if isinstance(found, FileError) or found.sure:
        return 0
    return 2 if isinstance(item, np.ndarray) and min(item.shape) == 1 else 1


def _contents(held: dict[str, Any]) -> str:
    words = [
        f"{name} {item.shape} {item.dtype}"
        if isinstance(item, np.ndarray)
        else f"{name}, a table of {len(item)} rows"
        if isinstance(item, Table)
        else f"{name}: {item}"
        for name, item in held.items()
    ]
    return ", ".join(words[:12]) + (", …" if len(words) > 12 else "") or "nothing"


def _wide(table: Table, space: Wanted) -> Records | None:
    """One row a specimen, columns such as x1, y1."""
    for pattern in _LANDMARK:
        found: dict[str, dict[str, str]] = {}
        matches = [(name, match) for name in table.columns if (match := pattern.fullmatch(name.lower()))]
        for name, match in matches:
            found.setdefault(match["name"], {})[match["axis"]] = name
        # an x without a y may be any column, as an x in a table of regressors; three pairs are landmarks
        if sum({"x", "y"} <= set(axes) for axes in found.values()) >= 3:
            break
    else:
        return None
    if any("z" in axes for axes in found.values()):
        raise FileError("the columns hold landmarks in three dimensions; sfumato reads planar ones")
    if sum(map(len, found.values())) != len(matches):
        raise FileError("two columns hold the same coordinate, their names alike but for capitals or dots")
    for axes in found.values():
        if len(axes) != 2:
            (axis, name), *_ = axes.items()
            raise FileError(f"column {name!r} has no {'y' if axis == 'x' else 'x'} beside it")
    by_number = all(re.fullmatch(r"[0-9]{1,18}", name) for name in found)
    names = sorted(found, key=int) if by_number else list(found)
    used = [found[name][axis] for name in names for axis in "xy"]
    points = np.stack([table.numbers(name) for name in used], axis=1).reshape(len(table), len(names), 2)
    return landmarks(points, table.labels(used), space, **_told(table, used))


def _long(table: Table, space: Wanted) -> Records | None:
    """One row a landmark: columns specimen, landmark, x, y."""
    by_name = {name.lower(): name for name in table.columns}
    specimen = next((by_name[name] for name in by_name if name and _SPECIMEN.fullmatch(name)), None)
    point = next((by_name[name] for name in by_name if _POINT.fullmatch(name) and by_name[name] != specimen), None)
    if specimen is None or not {"x", "y"} <= set(by_name):
        return None
    names, first, group = np.unique(table.columns[specimen], return_index=True, return_inverse=True)
    if point is None and len(names) == len(table):
        return None  # one point each: vectors
    if "z" in by_name and not np.isnan(table.numbers(by_name["z"])).all():
        raise FileError(
            "the table holds landmarks in three dimensions; sfumato reads planar ones (vectors? give the space)"
        )
    order = np.argsort(first)  # specimens as they come
    rank = np.argsort(order)[group]
    counts = np.bincount(rank)
    if (counts != counts[0]).any():
        other = int(np.flatnonzero(counts != counts[0])[0])
        raise FileError(
            f"record {other} ({table.where(int(first[order[other]]))}): specimen {shown(str(names[order[other]]))} has "
            f"{counts[other]} landmarks, but specimen {shown(str(names[order[0]]))} has {counts[0]}"
        )
    place = np.zeros(len(table)) if point is None else _places(table, point)
    rows = np.lexsort((np.arange(len(table)), place, rank)).reshape(len(names), counts[0])
    if point is not None:
        _check_places(table, place[rows], rows, table.columns[point])
    used = [by_name["x"], by_name["y"], *([point] if point is not None else [])]
    points = np.stack([table.numbers(name)[rows] for name in used[:2]], axis=-1)
    constant = {name for name, column in table.columns.items() if (column[rows] == column[rows[:, :1]]).all()}
    labels = table.labels([*used, *(set(table.columns) - constant)], rows[:, 0])
    source = f"the columns {', '.join([specimen, *used])}, a row for each of {counts[0]} landmarks"
    lines = tuple(table.lines[row] for row in rows[:, 0]) if table.lines else ()
    return landmarks(points, labels, space, source, lines=lines)


def _told(table: Table, used: list[str]) -> dict[str, Any]:
    """Where the points of a table with a row for each came from."""
    return {"source": f"the columns {_listed(used, 12)}", "names": tuple(used), "lines": tuple(table.lines)}


def _places(table: Table, point: str) -> Array:
    """Where a landmark comes in its specimen: by number, or by name in the order of the file."""
    if table.is_numeric(point):
        return table.numbers(point)
    _, first, group = np.unique(table.columns[point], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group].astype(np.float64)


def _check_places(table: Table, places: Array, rows: NDArray[np.intp], names: NDArray[Any]) -> None:
    twice = np.argwhere(places[:, 1:] == places[:, :-1])
    if len(twice):
        i, j = twice[0]
        row = int(rows[i, j + 1])
        raise FileError(f"{table.where(row)}: a second landmark {shown(str(names[row]))} in one specimen (record {i})")
    odd = np.argwhere(places != places[0])
    if len(odd):
        i, j = odd[0]
        row = int(rows[i, j])
        raise FileError(
            f"{table.where(row)}: record {i} has landmark {shown(str(names[row]))} where the first specimen has "
            f"{shown(str(names[rows[0, j]]))}"
        )


def _entries(table: Table, space: Wanted) -> Records | None:
    """Columns named by the row and column of a matrix; half of a symmetric matrix is enough."""
    for pattern in [_TENSOR, _ENTRY, *([_SHORT_ENTRY] if space is not None else [])]:
        matches = {name: pattern.fullmatch(name.lower()) for name in table.columns}
        found = {(match["row"], match["column"]): name for name, match in matches.items() if match}
        indices = sorted({index for pair in found for index in pair}, key=lambda index: (len(index), index))
        complete = all((i, j) in found or (j, i) in found for i in indices for j in indices)
        if len(indices) >= 2 and complete:
            break
    else:
        return None
    used = [found.get((i, j), found.get((j, i), "")) for i in indices for j in indices]
    if len(set(used)) != len(found):
        return None  # two names for one entry
    columns = {name: table.numbers(name) for name in set(used)}
    matrices = np.stack([columns[name] for name in used], axis=1).reshape(len(table), len(indices), len(indices))
    if isinstance(space, Space) and shape_of(space) != matrices.shape[1:]:
        raise FileError(f"holds matrices {matrices.shape[1:]}; {space} needs {shape_of(space)}")
    return Records(matrices, "matrices", table.labels(used), **_told(table, used))


def _latitudes(table: Table, space: Wanted) -> Records | None:
    """Latitude and longitude in degrees, as vectors."""
    names = _angles(table, space)
    if names is None:
        return None
    values = [table.numbers(name) for name in names]
    for column, name, most in zip(values, names, (90, 360), strict=True):
        beyond = np.flatnonzero(np.abs(column) > most)
        if len(beyond):
            row = int(beyond[0])
            raise FileError(
                f"{table.where(row)}: column {name!r}: {column[row]:g} is beyond ±{most} degrees; are the two exchanged "
                f"(--columns lat=…,lon=…), or does it stand for a missing value (--missing {column[row]:g})?"
            )
    up, round_ = np.radians(values[0]), np.radians(values[1])
    units = np.stack([np.cos(up) * np.cos(round_), np.cos(up) * np.sin(round_), np.sin(up)], axis=1)
    length = 1 / np.sqrt(space.curvature) if isinstance(space, Sphere) else 1.0
    told = _told(table, list(names))
    told["source"] += ", in degrees"
    return Records(units * length, "vectors", table.labels(list(names)), **told, degrees=names)


def _angles(table: Table, space: Wanted) -> tuple[str, str] | None:
    """The columns of latitude and longitude; asks where angles have names that do not say which is which."""
    pairs: dict[str, dict[str, list[str]]] = {}
    for pattern, what in ((_LATITUDE, "lat"), (_LONGITUDE, "lon")):
        for name in table.columns:
            match = pattern.fullmatch(name.lower())
            if match and (space is not None or table.is_numeric(name)):
                pairs.setdefault(match["prefix"], {}).setdefault(what, []).append(name)
    whole = [
        (pair["lat"][0], pair["lon"][0])
        for pair in pairs.values()
        if set(map(len, pair.values())) == {1} and len(pair) == 2
    ]
    if len(whole) == 1:
        return whole[0]
    if space is None:
        return None
    others = {name: _ANGLES[name.lower()] for name in table.columns if name.lower() in _ANGLES}
    by_role = {role: name for name, role in others.items()}
    if sorted(others.values()) == ["dec", "inc"]:  # palaeomagnetic: down and clockwise from north
        return by_role["inc"], by_role["dec"]
    if sorted(others.values()) == ["dec", "ra"] and (
        getattr(table, "settled", False) or (np.abs(table.numbers(by_role["ra"])) > _HOURS).any()
    ):
        return by_role["dec"], by_role["ra"]
    angles = [name for pair in pairs.values() for some in pair.values() for name in some] + list(others)
    if len(angles) > 1 and not _components(table, 3):
        raise FileError(
            f"the columns {_listed(angles)} are angles, but which is the latitude and which the longitude, in degrees? "
            f"Say columns='lat={angles[0]}, lon={angles[1]}' (--columns) or the other way round, once they are such"
        )
    return None


def _in_order(table: Table, space: Wanted) -> Records:
    """Columns named as components, or else all numeric ones, without those named as identifiers unless the space needs them."""
    numeric = [name for name in table.columns if table.is_numeric(name)]
    plain = [name for name in numeric if not _IDENTIFIER.fullmatch(name.lower()) or isinstance(table, _Chosen)]
    widths = _widths(space) if isinstance(space, Space) else set()
    used = numeric if len(numeric) in widths and len(plain) not in widths else plain
    named = _components(table, shape_of(space)[0] if isinstance(space, Space) else None) if _wants_names(space) else []
    used = named or used
    if not used:
        raise FileError(f"holds no columns of numbers, only {_listed(list(table.columns))}")
    numbers = np.stack([table.numbers(name) for name in used], axis=1)
    try:
        kind, layout, points = arrange(numbers, space)
    except FileError:
        raise FileError(_misfit(table, used, space)) from None
    told = _told(table, used)
    told["source"] += f", {layout}" if kind != "vectors" else ""
    if len(points) != len(table):  # the rows can be those of a single point: then nothing is said of each record
        if layout == "one specimen" and tuple(map(str.lower, used)) not in _PLANE:
            raise FileError(_misfit(table, used, space))
        return Records(points, kind, {}, told["source"], sure=False)
    names = told["names"] if len(used) == points[0].size else ()
    return Records(points, kind, table.labels(used), **{**told, "names": names}, sure=bool(named))


def _wants_names(space: Wanted) -> bool:
    """Whether columns named x, y, z are meant before all others."""
    return space is Sphere or (isinstance(space, Space) and kind_of(space) == "vectors")


def _components(table: Table, size: int | None) -> list[str]:
    """Columns named as the components of a vector, among others that are not: x, y, z; x1, x2, …; v1, v2, …"""
    by_name = {name.lower(): name for name in table.columns}
    for letter in ("", "x", "v"):
        most = len(by_name) if size is None else size
        names = [f"{letter}{i}" for i in range(1, most + 1)] if letter else list("xyz"[:most])
        if size is None and letter:  # as many as there are
            names = list(takewhile(by_name.__contains__, names))
        if len(names) == (size or max(2, len(names))) and set(names) <= set(by_name):
            return [by_name[name] for name in names]
    return []


def _widths(space: Space) -> set[int]:
    """Numbers of columns that make a point."""
    size = int(np.prod(shape_of(space)))
    return {size, space.dim} if isinstance(space, SPD) else {size}


def _misfit(table: Table, used: list[str], space: Wanted) -> str:
    message = f"holds {len(used)} columns of numbers ({_listed(used)})"
    if isinstance(space, Space):
        message += f"; {space} needs {' or '.join(map(str, sorted(_widths(space))))}"
        if isinstance(space, Sphere) and space.dim == 2:
            message += ", or two named lat and lon, in degrees"
        message += f"; say which, as columns='{used[0]}, …' (--columns)" if len(used) > min(_widths(space)) else ""
    elif space is not None:
        what = {"landmarks": "landmarks a record has (--landmarks)", "matrices": "rows a matrix has (--size)"}.get(
            kind_of(space), ""
        )
        message += f"; if these are {kind_of(space)}, say how many {what}"
    for name in table.columns:
        column = table.columns[name]
        if name not in used and column.dtype.kind == "U" and _is_number(column[0].strip() or "-", ""):
            try:
                table.numbers(name)
            except FileError as error:
                return f"{message}; {error}"
    return message


def _listed(names: list[str], most: int = 6) -> str:
    listed = ", ".join(names[:most]) + (", …" if len(names) > most else "")
    return listed or "none"
