"""R's files: .rds (``saveRDS``) and .RData (``save``), of arrays, data frames and named lists of them."""

from __future__ import annotations

import bz2
import lzma
import math
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spaces.base import Space
from .files import FileError, Labels, Records, allowed, package, shown
from .layout import arrange, main_array, per_record, strings
from .tables import Table, read_table

_ONE_OBJECT = (b"X\n", b"A\n")
_WORKSPACE = (b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n")


def read_r(content: bytes, space: Space | None = None) -> Records:
    """An array, as geomorph's (k, 2, n); a data frame, read as a table; or one such in a list or a workspace.

    The third dimnames of an array become the label ID.

    >>> import rdata
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rdata.write_rds(folder + "/a.rds", np.zeros((12, 2, 40)))
    ...     content = Path(folder, "a.rds").read_bytes()
    >>> read_r(content).points.shape
    (40, 12, 2)
    """
    frame, arrays, ids = _plain(_unpack(content), allowed(len(content)))
    if frame is not None:
        return read_table(frame, space)
    name = main_array(arrays)
    points, kind = arrange(arrays.pop(name), space, records_last=True)
    labels: Labels = per_record(arrays, len(points))
    if len(ids.get(name, ())) == len(points):
        labels["ID"] = ids[name]
    return Records(points, kind, labels)


def _plain(data: bytes, room: int) -> tuple[Table | None, dict[str, NDArray[Any]], Labels]:
    """What R wrote, in NumPy's terms: the one data frame, else the arrays, and the names along the last axis of each."""
    parser = package("rdata", "reading R files").parser
    extension = ".rds" if data.startswith(_ONE_OBJECT) else ".rda"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sequences = _bounded(parser.DEFAULT_ALTREP_MAP, room)
            root = parser.parse_data(data, extension=extension, altrep_constructor_dict=sequences).object
        objects = dict(_pairs(root)) if extension == ".rda" else {"": root}
        if len(objects) == 1 and not any(map(_is_frame, objects.values())):
            (only,) = objects.values()
            objects = _elements(only) if _is_list(only) else objects  # a list of arrays, such as geomorph's gpagen
        frames = [_frame(item) for item in objects.values() if _is_frame(item)]
        if len(frames) == 1:
            return frames[0], {}, {}
        arrays = {name: array for name, item in objects.items() if (array := _array(item)) is not None}
        return None, arrays, {name: _last_names(objects[name]) for name in arrays}
    except FileError:
        raise
    except Exception as error:  # rdata checks little, and a damaged file fails anywhere
        raise FileError(f"the R file is damaged, cut or of an unknown kind: {shown(repr(error))}") from None


def _unpack(content: bytes) -> bytes:
    """The serialised bytes, after gzip, bzip2 or xz, at most as many as are allowed."""
    unpacker: Any = None
    if content.startswith(b"\x1f\x8b"):
        unpacker = zlib.decompressobj(wbits=31)
    elif content.startswith(b"BZh"):
        unpacker = bz2.BZ2Decompressor()
    elif content.startswith(b"\xfd7zXZ\x00"):
        unpacker = lzma.LZMADecompressor(memlimit=1 << 30)
    if unpacker is not None:
        limit = allowed(len(content))
        try:
            data: bytes = unpacker.decompress(content, limit + 1)
        except (zlib.error, OSError, EOFError, lzma.LZMAError, MemoryError) as error:
            raise FileError(f"the compressed file is damaged: {error}") from None
        if len(data) > limit:
            raise FileError(f"would unpack to more than the limit of {limit} bytes")
        if not unpacker.eof or unpacker.unused_data:
            raise FileError("the compressed file is cut, or followed by something else")
        content = data
    if not content.startswith(_ONE_OBJECT + _WORKSPACE):
        raise FileError("a compressed file that R did not write; unpack it first")
    return content


def _bounded(constructors: Any, room: int) -> dict[bytes, Any]:
    """rdata's constructors; R writes 1:n as three numbers, and all such sequences together may not take more than the room."""
    left = room // 8

    def bounded(make: Any) -> Any:
        def construct(state: Any) -> Any:
            nonlocal left
            if isinstance(state.value, np.ndarray):
                length = float(state.value[0])
                if not 0 <= length <= left:
                    raise FileError(f"a sequence of {length:.0f} numbers, over the limit of {room} bytes")
                left -= int(length)
            return make(state)

        return construct

    return {name: bounded(make) for name, make in constructors.items()}


# -- R's objects -----------------------------------------------------------------------------------------------------------
def _type(item: Any) -> str:
    return str(item.info.type.name)


def _pairs(item: Any) -> Iterator[tuple[str, Any]]:
    """The tags and values of a pairlist: attributes, and the variables of a workspace."""
    while item is not None and _type(item) == "LIST":
        symbol = item.tag.referenced_object or item.tag
        yield symbol.value.value.decode("utf-8", "replace"), item.value[0]
        item = item.value[1]


def _attributes(item: Any) -> dict[str, Any]:
    return dict(_pairs(item.attributes))


def _is_list(item: Any) -> bool:
    return _type(item) == "VEC" and "names" in _attributes(item)


def _is_frame(item: Any) -> bool:
    return _is_list(item) and "data.frame" in _strings(_attributes(item).get("class"))


def _elements(item: Any) -> dict[str, Any]:
    return dict(zip(_strings(_attributes(item)["names"]), item.value, strict=True))


def _strings(item: Any) -> list[str]:
    if item is None or _type(item) != "STR":
        return []
    return ["NA" if text.value is None else text.value.decode("utf-8", "replace") for text in item.value]


def _frame(item: Any) -> Table:
    arrays = {name: _array(column) for name, column in _elements(item).items()}
    columns = {name: a for name, a in arrays.items() if a is not None and a.ndim == 1 and a.dtype.kind in "biufU"}
    if len({len(column) for column in columns.values()}) > 1:
        raise FileError("the columns of the data frame differ in length; the file is damaged")
    return Table(columns)


def _array(item: Any) -> NDArray[Any] | None:
    """A numeric array in its dimensions, or a vector of texts; None for anything else."""
    attributes = _attributes(item)
    values: Any
    if _type(item) == "STR":
        values = strings("of texts", _strings(item))
    elif _type(item) in ("REAL", "INT", "CPLX", "LGL"):
        values = item.value
        if isinstance(values, np.ma.MaskedArray):  # integers with NA
            values = np.where(values.mask, np.nan, values.data)
        if "levels" in attributes:
            return _factor(values, _strings(attributes["levels"]))
    else:
        return None
    if "dim" not in attributes:
        return np.asarray(values)
    shape = tuple(int(size) for size in attributes["dim"].value)
    if math.prod(shape) != values.size or min(shape, default=0) < 0:
        raise FileError(f"an array of dimensions {shape} holds {values.size} values; the file is damaged or cut")
    return np.asarray(values.reshape(shape, order="F"))


def _factor(codes: NDArray[Any], levels: list[str]) -> NDArray[Any]:
    whole = np.where(np.isnan(codes), 0, codes).astype(int)
    if whole.size and not 0 <= whole.min() <= whole.max() <= len(levels):
        raise FileError("a factor with a code beyond its levels; the file is damaged")
    names = ["NA", *levels]
    return strings("of a factor", [names[code] for code in whole])


def _last_names(item: Any) -> NDArray[Any]:
    held = _attributes(item).get("dimnames")
    return strings("of dimnames", _strings(held.value[-1]) if held is not None else [])
