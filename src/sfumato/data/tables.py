"""Tables: CSV and TSV, Parquet, and R's data frames.  The names of the columns say what they hold."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spaces import SPD, Sphere
from ..spaces.base import Array, Space
from .apart import read_apart
from .files import Dataset, FileError, Labels, Records, allowed, package, shown
from .landmarks_text import number
from .layout import WIDEST, arrange, kind_of, landmarks, shape_of, strings, text_columns, texts

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
_LATITUDE, _LONGITUDE = (
    re.compile(r"lat(itude)?([._ -]deg.*)?"),
    re.compile(r"(lon|lng|long)(gitude|itude)?([._ -]deg.*)?"),
)


@dataclass(frozen=True)
class Table:
    """Columns by name, each numbers or texts; ``lines`` are the lines of a text that the rows came from."""

    columns: dict[str, NDArray[Any]]
    lines: list[int] = field(default_factory=list)
    decimal_comma: bool = False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def where(self, row: int) -> str:
        return f"line {self.lines[row]}" if self.lines else f"record {row}"

    def numbers(self, name: str) -> Array:
        """A column as numbers, or a FileError that names the first cell that is not one."""
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
def read_csv(text: str, space: Space | None = None) -> Records:
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
    return read_table(Table(columns, lines, decimal_comma=mark in ";\t"), space)


def read_parquet(content: bytes, space: Space | None = None) -> Records:
    """Parquet, with a column for each coordinate.

    >>> import pyarrow.parquet
    >>> buffer = io.BytesIO()
    >>> pyarrow.parquet.write_table(pyarrow.table({"Dxx": [2.0], "Dxy": [0.5], "Dyy": [1.0], "site": ["a"]}), buffer)
    >>> read_parquet(buffer.getvalue()).points.tolist()
    [[[2.0, 0.5], [0.5, 1.0]]]
    """
    package("pyarrow", "reading Parquet")
    return read_table(Table(read_apart("tables:parquet_columns", content)), space)


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

    def is_numeric(self, name: str) -> bool:
        return True


def read_head(batch: Any, space: Space | None = None) -> tuple[Records, list[str]]:
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


def read_first(path: Path, space: Space | None = None) -> Dataset:
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
    return Dataset(found.points, found.kind, "Parquet", found.labels, path)


def read_batch(batch: Any, space: Space) -> Array:
    """The points of some rows of an Arrow table, reduced to the columns that hold them.

    >>> import pyarrow
    >>> read_batch(pyarrow.record_batch({"x": [float("nan"), 0.0], "y": [0.0, 1.0]}), Sphere(dim=1)).tolist()
    [[nan, 0.0], [0.0, 1.0]]
    """
    arrow = package("pyarrow", "reading Arrow tables")
    columns = {name: _arrow_column(arrow, name, batch.column(name)) for name in batch.schema.names}
    return read_table(_Chosen(columns), space).points


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
def read_table(table: Table, space: Space | None = None) -> Records:
    """The records of a table: by the names of the columns if they tell, otherwise all numeric columns in their order.

    >>> columns = {"lat": np.array([0.0, 90.0]), "lon": np.array([90.0, 0.0])}
    >>> read_table(Table(columns), Sphere(dim=2)).points.round(9).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if len(table) == 0:
        raise FileError("holds no records")
    wanted = kind_of(space) if space is not None else None
    if wanted in (None, "landmarks"):
        found = _long(table, space) or _wide(table, space)
        if found:
            return found
    if wanted in (None, "matrices"):
        found = _entries(table, space)
        if found:
            return found
    if isinstance(space, Sphere) and space.dim == 2:
        found = _latitudes(table, space)
        if found:
            return found
    return _in_order(table, space)


def _wide(table: Table, space: Space | None) -> Records | None:
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
    return landmarks(points, table.labels(used), space)


def _long(table: Table, space: Space | None) -> Records | None:
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
    return landmarks(points, labels, space)


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


def _entries(table: Table, space: Space | None) -> Records | None:
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
    if space is not None and shape_of(space) != matrices.shape[1:]:
        raise FileError(f"holds matrices {matrices.shape[1:]}; {space} needs {shape_of(space)}")
    return Records(matrices, "matrices", table.labels(used))


def _latitudes(table: Table, space: Sphere) -> Records | None:
    """Latitude and longitude in degrees, as vectors."""
    latitudes = [name for name in table.columns if _LATITUDE.fullmatch(name.lower())]
    longitudes = [name for name in table.columns if _LONGITUDE.fullmatch(name.lower())]
    if len(latitudes) != 1 or len(longitudes) != 1:
        return None
    latitude, longitude = table.numbers(latitudes[0]), table.numbers(longitudes[0])
    for values, name, most in ((latitude, latitudes[0], 90), (longitude, longitudes[0], 360)):
        beyond = np.flatnonzero(np.abs(values) > most)
        if len(beyond):
            row = int(beyond[0])
            raise FileError(f"{table.where(row)}: column {name!r}: {values[row]:g} is beyond ±{most} degrees")
    up, round_ = np.radians(latitude), np.radians(longitude)
    units = np.stack([np.cos(up) * np.cos(round_), np.cos(up) * np.sin(round_), np.sin(up)], axis=1)
    return Records(units / np.sqrt(space.curvature), "vectors", table.labels([latitudes[0], longitudes[0]]))


def _in_order(table: Table, space: Space | None) -> Records:
    """All numeric columns, without those named as identifiers unless the space needs them."""
    numeric = [name for name in table.columns if table.is_numeric(name)]
    plain = [name for name in numeric if not _IDENTIFIER.fullmatch(name.lower())]
    widths = _widths(space) if space is not None else set()
    used = numeric if len(numeric) in widths and len(plain) not in widths else plain
    if space is not None and kind_of(space) == "vectors" and len(used) not in widths:
        used = _components(table, shape_of(space)[0]) or used
    if not used:
        raise FileError(f"holds no columns of numbers, only {_listed(list(table.columns))}")
    try:
        points, kind = arrange(np.stack([table.numbers(name) for name in used], axis=1), space)
    except FileError:
        raise FileError(_misfit(table, used, space)) from None
    # the rows of a table can be those of a single point: then nothing is said of each record
    return Records(points, kind, table.labels(used) if len(points) == len(table) else {})


def _components(table: Table, size: int) -> list[str]:
    """Columns named as the components of a vector, among others that are not: x, y, z; x1, x2, …; v1, v2, …"""
    by_name = {name.lower(): name for name in table.columns}
    counts = range(1, size + 1)
    for names in (list("xyz"[:size]), [f"x{i}" for i in counts], [f"v{i}" for i in counts]):
        if len(names) == size and set(names) <= set(by_name):
            return [by_name[name] for name in names]
    return []


def _widths(space: Space) -> set[int]:
    """Numbers of columns that make a point."""
    size = int(np.prod(shape_of(space)))
    return {size, space.dim} if isinstance(space, SPD) else {size}


def _misfit(table: Table, used: list[str], space: Space | None) -> str:
    message = f"holds {len(used)} columns of numbers ({_listed(used)})"
    if space is not None:
        message += f"; {space} needs {' or '.join(map(str, sorted(_widths(space))))}"
        if isinstance(space, Sphere) and space.dim == 2 and len(used) == 2:
            message += ", or two named lat and lon, in degrees"
    for name in table.columns:
        column = table.columns[name]
        if name not in used and column.dtype.kind == "U" and _is_number(column[0].strip() or "-", ""):
            try:
                table.numbers(name)
            except FileError as error:
                return f"{message}; {error}"
    return message


def _listed(names: list[str]) -> str:
    listed = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    return listed or "none"
