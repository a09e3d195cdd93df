"""Parquet and tables of Arrow."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..spaces.base import Space
from .apart import read_apart
from .base import Contents, Dataset, FileError, Format, Wanted, allowed, damaged, package, placed
from .columns import read_table
from .labels import WIDEST, strings
from .table import Table


def read_parquet(content: bytes) -> Contents:
    """Return the table of a Parquet file, with a column for each coordinate."""
    package("pyarrow", "reading Parquet")
    return {"": Table(read_apart("parquet:parquet_columns", content))}


def parquet_columns(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the columns of a Parquet file; in a process of its own, as their unpacked size is not known before."""
    import pyarrow as arrow
    import pyarrow.compute
    import pyarrow.parquet as parquet

    with damaged("the Parquet file is damaged or cut"):
        file = parquet.ParquetFile(arrow.BufferReader(content))
        meta = file.metadata
        limit = allowed(len(content))
        groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
        size = max(sum(group.total_byte_size for group in groups), 8 * meta.num_rows * meta.num_columns)
        if size > limit:
            raise FileError(f"would unpack to {size} bytes, over the limit of {limit}")
        if sum(group.num_rows for group in groups) != meta.num_rows:
            raise FileError(f"says {meta.num_rows} rows, but its groups hold another number; the file is damaged")
        # texts stay as references to their dictionary until their length is known
        words = [field.name for field in file.schema_arrow if _is_text(arrow, field.type)]
        table = parquet.ParquetFile(arrow.BufferReader(content), read_dictionary=words).read()
        return _columns(table)


PARQUET = Format("Parquet", read_parquet, magic=(b"PAR1",))


def read_head(batch: Any, space: Wanted) -> tuple[Dataset, list[str]]:
    """Return the records of the first rows of an Arrow table, and the columns that hold them in all rows."""
    columns = _columns(batch)
    records = read_table(Table(columns), space)
    if len(records) != batch.num_rows:
        raise FileError("has a row for each landmark; to be read in parts a table needs a row for each record")
    return records, [name for name in columns if (name or "row") not in records.labels]


def read_first(path: Path, space: Wanted = None) -> Dataset:
    """Return the first records of a Parquet file, to learn from them what the file holds."""
    parquet = package("pyarrow.parquet", "reading Parquet")
    with placed(path), damaged("the Parquet file is damaged or cut"):
        with parquet.ParquetFile(path) as file:
            head = next((batch for batch in file.iter_batches(batch_size=1000) if batch.num_rows), None)
        if head is None:
            raise FileError("holds no records")
        return replace(read_head(head, space)[0], format="Parquet", path=path)


def read_batch(batch: Any, space: Space) -> Array:
    """Return the points of some rows of an Arrow table, reduced to the columns that hold them."""
    return read_table(Table(_columns(batch), chosen=True, settled=True), space).points


def _columns(table: Any) -> dict[str, NDArray[Any]]:
    arrow = package("pyarrow", "reading Arrow tables")
    return {name: _column(arrow, name, table.column(name)) for name in table.schema.names}


def _column(arrow: Any, name: str, column: Any) -> NDArray[Any]:
    kind = column.type
    if arrow.types.is_nested(kind):
        raise FileError(f"column {name!r} holds {kind}; write one column for each coordinate")
    if arrow.types.is_dictionary(kind):
        column = _spelt_out(arrow, name, column)
        kind = column.type
    if arrow.types.is_integer(kind) or arrow.types.is_boolean(kind) or arrow.types.is_floating(kind):
        array = np.asarray(column.to_numpy(zero_copy_only=False))
        return array if array.dtype.kind in "biu" else array.astype(np.float64)  # what is missing comes as NaN
    return strings(name, ["" if value is None else str(value) for value in column.to_pylist()])


def _is_text(arrow: Any, kind: Any) -> bool:
    t = arrow.types
    return bool(t.is_string(kind) or t.is_binary(kind) or t.is_large_string(kind) or t.is_large_binary(kind))


def _spelt_out(arrow: Any, name: str, column: Any) -> Any:
    """Return a column with its values in place of references: a few bytes can refer to one long text many times."""
    longest = 0
    for chunk in column.chunks if _is_text(arrow, column.type.value_type) else []:
        lengths = arrow.compute.binary_length(chunk.dictionary)
        longest = max(longest, arrow.compute.max(lengths).as_py() or 0)
    if 4 * longest * len(column) > WIDEST:
        raise FileError(f"column {name!r} holds a text of {longest} characters; leave the column out")
    return arrow.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], type=column.type.value_type)
