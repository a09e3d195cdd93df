"""R's files: .rds (``saveRDS``) and .RData (``save``), of arrays, data frames and named lists of them."""

import bz2
import lzma
import math
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Contents, FileError, Format, Named, allowed, damaged, package
from .curves import Curved, outlines
from .labels import strings
from .table import Table

_ONE_OBJECT = (b"X\n", b"A\n")
DEEPEST = 7  # lists within each other
OPEN = "Opn"  # Momocs's class of curves that have ends, and an empty part of its objects here
_WORKSPACE = (b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n")
_PACKED: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lambda: lzma.LZMADecompressor(memlimit=1 << 30),
}


def read_r(content: bytes) -> Contents:
    """Return arrays, as geomorph's (k, 2, n), lists of matrices, as Momocs's, and data frames, alone or in a list or workspace.

    What rdata has parsed is not converted by rdata: that would keep the last of two parts of one name and lose the other,
    unpack texts before their size is known, and fail at functions and models beside the data.
    """
    data = _unpack(content)
    parser = package("rdata", "reading R files").parser
    extension = ".rds" if data.startswith(_ONE_OBJECT) else ".rda"
    contents: Contents = {}
    with damaged("the R file is damaged, cut or of an unknown kind"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sequences = _bounded(parser.DEFAULT_ALTREP_MAP, allowed(len(content)))
        root = parser.parse_data(data, extension=extension, altrep_constructor_dict=sequences).object
        objects = dict(_pairs(root)) if extension == ".rda" else {"": root}
        for name, item in objects.items():
            _collect(name if len(objects) > 1 or item.info.type.name != "VEC" else "", _plain(item), contents)
    return contents


_MAGIC = (*_PACKED, *_WORKSPACE, b"X\n\x00\x00", b"A\n2\n", b"A\n3\n")
R = Format("R", read_r, magic=_MAGIC, curves=True, records_last=True)


def _collect(name: str, item: Any, contents: Contents, closed: bool = True) -> None:
    """Put what could be records into ``contents``, by its path: a$b for the part b of the list a."""
    if isinstance(item, Table | Named):
        contents[name] = item
    if not isinstance(item, dict | list):
        return
    closed = closed and OPEN not in item
    stacked = _stack(item, closed)
    if stacked is not None:
        contents[name] = stacked
        return
    for part, value in _parts(item).items():
        _collect(f"{name}${part}" if name else part, value, contents, closed)


def _parts(item: Any) -> dict[str, Any]:
    """Return the parts of a list by their names or numbers; none of what is no list."""
    numbered = {f"part {i}": part for i, part in enumerate(item, start=1)} if isinstance(item, list) else {}
    return item if isinstance(item, dict) else numbered


def _stack(item: Any, closed: bool) -> Named | Curved | None:
    """Return a list of matrices or data frames, or of lists of these, as records; None if it is no such list.  What the lists
    in a list are called becomes the label "group"."""
    parts = _parts(item)
    inner = [_parts(part) for part in parts.values()]
    owners = [*parts.values()] if inner and all(inner) else [item]
    found = [_matrix(part) for own in owners for part in _parts(own).values()]
    named = [name for own in owners if isinstance(own, dict) for name in own]
    matrices = [array for array in found if array is not None]
    if not matrices or len(matrices) < len(found):
        return None
    groups = np.repeat(strings("of names", [*parts]), [*map(len, inner)]) if owners[0] is not item else None
    return _records(matrices, named if len(named) == len(found) else [], groups, closed)


def _records(matrices: list[NDArray[Any]], names: list[str], groups: Any, closed: bool) -> Named | Curved | None:
    """Return matrices of two columns, if one has three rows, as outlines; others, if they can be, as an array, records last."""
    shapes = {array.shape for array in matrices}
    plain = np.stack(matrices, axis=-1) if len(shapes) == 1 else None
    if all(columns == 2 for _, columns in shapes) and max(shapes)[0] > 2:
        labels = {} if groups is None else {"group": groups}
        source = f"a list of {len(matrices)} {'outlines' if closed else 'curves'}"
        return outlines(matrices, names, source, closed, labels=labels, plain=plain)
    alone = len(matrices) < 2 and matrices[0].shape[1] != 2
    return None if plain is None or alone or groups is not None else Named(plain, strings("of names", names))


def _matrix(item: Any) -> NDArray[Any] | None:
    """Return the numbers of a matrix, or of a data frame of two columns of numbers or of x, y and z; None for others."""
    if isinstance(item, Table):
        columns = {name: column for name, column in item.columns.items() if column.dtype.kind in "biuf"}
        solid = [name.lower() for name in columns] == ["x", "y", "z"]
        return np.stack([*columns.values()], axis=1) if len(columns) == 2 or solid else None
    plain = isinstance(item, Named) and item.array.ndim == 2 and item.array.dtype.kind in "biuf"
    return item.array if plain else None


def _unpack(content: bytes) -> bytes:
    """Return the serialised bytes, after gzip, bzip2 or xz, at most as many as are allowed."""
    make = next((make for magic, make in _PACKED.items() if content.startswith(magic)), None)
    if make is not None:
        unpacker = make()
        limit = allowed(len(content))
        with damaged("the compressed file is damaged"):
            content = unpacker.decompress(content, limit + 1)
        if len(content) > limit:
            raise FileError(f"would unpack to more than the limit of {limit} bytes")
        if not unpacker.eof or unpacker.unused_data:
            raise FileError("the compressed file is cut, or followed by something else")
    if not content.startswith(_ONE_OBJECT + _WORKSPACE):
        raise FileError("a compressed file that R did not write; unpack it first")
    return content


def _bounded(constructors: Any, room: int) -> dict[bytes, Any]:
    """Return rdata's constructors, bounded: R writes 1:n as three numbers, and all together may not take more than the room."""
    left = room // 8

    def bounded(make: Any, state: Any) -> Any:
        nonlocal left
        if isinstance(state.value, np.ndarray):
            length = float(state.value[0])
            if not 0 <= length <= left:
                raise FileError(f"a sequence of {length:.0f} numbers, over the limit of {room} bytes")
            left -= int(length)
        return make(state)

    return {name: partial(bounded, make) for name, make in constructors.items()}


# -- R's objects -----------------------------------------------------------------------------------------------------------
def _plain(item: Any, depth: int = 0) -> Table | Named | dict[str, Any] | list[Any] | None:
    """Return an object of R: a data frame, an array, a list with names or without; None for anything else."""
    attributes = dict(_pairs(item.attributes))
    if item.info.type.name == "S4":  # as old versions of Momocs saved
        return {name: _plain(slot, depth + 1) for name, slot in attributes.items() if depth <= DEEPEST}
    if item.info.type.name != "VEC":
        return _array(item, attributes)
    if depth > DEEPEST:
        return None
    parts = [_plain(part, depth + 1) for part in item.value]
    names = _strings(attributes.get("names"))
    if not names:
        return parts
    if len(set(names)) < len(names) or "" in names:  # by number then
        names = [f"{name or 'part'} {i}" for i, name in enumerate(names, start=1)]
    named = dict(zip(names, parts, strict=True))
    kinds = _strings(attributes.get("class"))
    named |= {OPEN: None} if OPEN in kinds else {}
    return _frame(named) if "data.frame" in kinds else named


def _frame(named: dict[str, Any]) -> Table:
    """Return the table of a data frame, without columns that are neither numbers nor texts."""
    arrays = {name: part.array for name, part in named.items() if isinstance(part, Named)}
    columns = {name: array for name, array in arrays.items() if array.ndim == 1 and array.dtype.kind in "biufU"}
    if len({len(column) for column in columns.values()}) > 1:
        raise FileError("the columns of the data frame differ in length; the file is damaged")
    return Table(columns)


def _array(item: Any, attributes: dict[str, Any]) -> Named | None:
    """Return a numeric array in its dimensions, or a vector of texts; None for anything else."""
    kind = item.info.type.name
    values = item.value
    if kind not in ("STR", "REAL", "INT", "CPLX", "LGL"):
        return None
    if isinstance(values, np.ma.MaskedArray):  # integers with NA
        values = np.where(values.mask, np.nan, values.data)
    if kind == "STR":
        values = strings("of texts", _strings(item))
    elif "levels" in attributes:  # a factor
        names = ["NA", *_strings(attributes["levels"])]
        codes = np.where(np.isnan(values), 0, values).astype(int)
        if codes.size and not 0 <= codes.min() <= codes.max() < len(names):
            raise FileError("a factor with a code beyond its levels; the file is damaged")
        values = strings("of a factor", [names[code] for code in codes])
    if "dim" in attributes and "levels" not in attributes:
        shape = tuple(int(size) for size in attributes["dim"].value)
        if math.prod(shape) != values.size or min(shape, default=0) < 0:
            raise FileError(f"an array of dimensions {shape} holds {values.size} values; the file is damaged or cut")
        values = values.reshape(shape, order="F")
    last = attributes["dimnames"].value[-1] if "dimnames" in attributes else None
    return Named(np.asarray(values), strings("of dimnames", _strings(last)))


def _pairs(item: Any) -> Iterator[tuple[str, Any]]:
    """Return the tags and values of a pairlist: attributes, and the variables of a workspace."""
    while item is not None and item.info.type.name == "LIST":
        symbol = item.tag.referenced_object or item.tag
        yield symbol.value.value.decode("utf-8", "replace"), item.value[0]
        item = item.value[1]


def _strings(item: Any) -> list[str]:
    """Return the texts of a vector, in the encoding that R marked each with; none for anything else."""
    if item is None or item.info.type.name != "STR":
        return []
    decode = package("rdata", "reading R files").conversion.convert_char
    words = ["NA" if text.value is None else decode(text, default_encoding="utf-8") for text in item.value]
    return [word.decode("utf-8", "replace") if isinstance(word, bytes) else word for word in words]
