"""MATLAB's files: version 5 (``save``) and version 7.3, which is HDF5 (``save -v7.3``)."""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .apart import read_apart
from .files import UNSAID, Choice, FileError, Records, Wanted, allowed, package
from .layout import MOST_AXES, strings
from .tables import pick

_NUMERIC = {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
_MATRIX, _COMPRESSED = 14, 15  # kinds of elements of a version 5 file
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_ENCODINGS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_COMPLEX = [np.dtype([("real", real), ("imag", real)]) for real in ("<f8", "<f4", ">f8", ">f4")]
_FILTERS = {1, 2, 3}  # deflate, shuffle and sums: what HDF5 itself brings, so that no code is looked for elsewhere
_CELL, _CHAR, _FIRST_NUMBER, _LAST_NUMBER = 1, 4, 6, 15  # classes of variables


def read_mat(content: bytes, space: Wanted = None, choice: Choice = UNSAID) -> Records:
    """Version 5: one numeric array of records; other variables of their length are labels.

    >>> from scipy.io import savemat
    >>> buffer = io.BytesIO()
    >>> savemat(buffer, {"landmarks": np.zeros((12, 2, 40))})
    >>> read_mat(buffer.getvalue()).points.shape
    (40, 12, 2)
    """
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise FileError("the MATLAB header is damaged or cut")
    arrays: dict[str, NDArray[Any]] = {}
    try:
        for element in _elements(content, order):
            name, array = _variable(element, order)
            if name in arrays:
                raise FileError(f"holds two variables named {name!r}")
            if array is not None:
                arrays[name] = array
    except (struct.error, UnicodeDecodeError) as error:
        raise FileError(f"the MATLAB file is damaged: {error}") from None
    return pick(arrays, space, choice, records_last=True)


def read_mat73(content: bytes, space: Wanted = None, choice: Choice = UNSAID) -> Records:
    """Version 7.3.  Links to other files, and data kept in other files, are refused.

    The axes are reversed against HDF5's, as MATLAB writes columns first.

    >>> import h5py
    >>> buffer = io.BytesIO()
    >>> with h5py.File(buffer, "w", userblock_size=512) as file:
    ...     file["landmarks"] = np.zeros((40, 2, 12))
    >>> read_mat73(buffer.getvalue()).points.shape
    (40, 12, 2)
    """
    package("h5py", "reading MATLAB 7.3 files")
    return pick(read_apart("matlab:hdf5_arrays", content), space, choice, records_last=True)


def hdf5_arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """The numeric variables of a version 7.3 file; h5py can crash at a damaged one, so this runs apart.

    >>> hdf5_arrays(b"")
    Traceback (most recent call last):
    sfumato.data.files.FileError: the MATLAB 7.3 file is damaged or cut: ...
    """
    import h5py

    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            names = [name for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)]
            found = {name: file[name] for name in names if isinstance(file[name], h5py.Dataset)}
            arrays = {name: _dataset(dataset, allowed(len(content))) for name, dataset in found.items()}
    except (FileError, MemoryError):
        raise
    except Exception as error:  # h5py raises many kinds on damaged files
        raise FileError(f"the MATLAB 7.3 file is damaged or cut: {error}") from None
    return {name: array for name, array in arrays.items() if array is not None}


# -- version 5 -------------------------------------------------------------------------------------------------------------
# scipy reads these files too, but a damaged one can end the process (scipy 1.17), and a swollen one takes all memory.
def _elements(content: bytes, order: str) -> Iterator[bytes]:
    """The variables, unpacked, each whole."""
    position, left = 128, allowed(len(content))
    while position < len(content):
        if position + 8 > len(content):
            raise FileError(f"cut within the element at byte {position}")
        kind, size = struct.unpack_from(f"{order}II", content, position)
        start, end = position + 8, position + 8 + size
        if kind not in (_MATRIX, _COMPRESSED):
            raise FileError(f"the element at byte {position} is of kind {kind}, not a variable; the file is damaged")
        if end > len(content):
            raise FileError(f"the element at byte {position} says {size} bytes, more than follow; is the file cut?")
        element = content[start:end]
        if kind == _COMPRESSED:
            unpacker = zlib.decompressobj()
            try:
                unpacked = unpacker.decompress(element, left + 8)
            except zlib.error as error:
                raise FileError(f"the element at byte {position} is damaged: {error}") from None
            if not unpacker.eof and len(unpacked) >= left:
                raise FileError(f"would unpack to more than the limit of {allowed(len(content))} bytes")
            if not unpacker.eof or struct.unpack_from(f"{order}II", unpacked) != (_MATRIX, len(unpacked) - 8):
                raise FileError(f"the element at byte {position} is damaged or cut")
            element = unpacked[8:]
        left, position = max(left - len(element), 0), end
        yield element


def _variable(element: bytes, order: str) -> tuple[str, NDArray[Any] | None]:
    """The name and values of a variable; None for structures, sparse matrices and what else is no plain array."""
    _, flags, position = _part(element, 0, order)
    (flag,) = struct.unpack_from(f"{order}I", flags)
    _, sizes, position = _part(element, position, order)
    shape = struct.unpack(f"{order}{len(sizes) // 4}i", sizes)
    if len(shape) > MOST_AXES:
        raise FileError(f"a variable says {len(shape)} axes; the file is damaged")
    _, name, position = _part(element, position, order)
    kind, count = flag & 0xFF, math.prod(shape)
    array: NDArray[Any] | None = None
    if min(shape, default=0) < 1:
        pass
    elif kind == _CELL and count <= len(element):
        array = _texts(element, position, order, count)
    elif kind == _CHAR:
        stored, letters, _ = _part(element, position, order)
        array = _lines(letters, _ENCODINGS.get(stored, "ascii"), order, shape, name)
    elif _FIRST_NUMBER <= kind <= _LAST_NUMBER:
        values, position = _numbers(element, position, order, shape, name)
        if flag & 0x800:
            values = values + 1j * _numbers(element, position, order, shape, name)[0]
        array = values
    return name.decode("latin-1"), array


def _part(element: bytes, position: int, order: str) -> tuple[int, bytes, int]:
    """A part of an element: its kind, its bytes, and where the next begins.  Four bytes or fewer share the tag's eight."""
    kind, size = struct.unpack_from(f"{order}II", element, position)
    start, after = position + 8, position + 8 + (size + 7) // 8 * 8
    if kind >> 16:
        kind, size, start, after = kind & 0xFFFF, kind >> 16, position + 4, position + 8
    if start + size > len(element):
        raise FileError("a variable says more bytes than it has; the file is damaged")
    return kind, element[start : start + size], after


def _numbers(
    element: bytes, position: int, order: str, shape: tuple[int, ...], name: bytes
) -> tuple[NDArray[Any], int]:
    stored, data, position = _part(element, position, order)
    dtype = np.dtype(order + _STORED.get(stored, "V0"))
    if dtype.itemsize * math.prod(shape) != len(data) or not data:
        raise FileError(f"variable {name.decode('latin-1')!r} says {shape} values, but {len(data)} bytes follow")
    values = np.frombuffer(data, dtype=dtype).reshape(shape, order="F")
    return values.astype(dtype.newbyteorder("=")), position


def _lines(letters: bytes, encoding: str, order: str, shape: tuple[int, ...], name: bytes) -> NDArray[Any]:
    """The rows of a matrix of letters."""
    if encoding in ("utf-16", "utf-32"):
        encoding += "-le" if order == "<" else "-be"
    text = letters.decode(encoding)
    if len(shape) != 2 or len(text) != math.prod(shape):
        raise FileError(f"the text {name.decode('latin-1')!r} says {shape} letters, but {len(text)} follow")
    return np.array([text[row :: shape[0]].rstrip() for row in range(shape[0])], dtype=np.str_)


def _texts(element: bytes, position: int, order: str, count: int) -> NDArray[Any] | None:
    """A cell array in which every cell is a line of text."""
    cells = []
    for _ in range(count):
        kind, cell, position = _part(element, position, order)
        class_of_cell = struct.unpack_from(f"{order}I", _part(cell, 0, order)[1])[0] & 0xFF if cell else 0
        array = _variable(cell, order)[1] if kind == _MATRIX and class_of_cell == _CHAR else None
        if array is None or array.size != 1:
            return None
        cells.append(str(array[0]))
    return strings("of cells", cells)


# -- version 7.3 -----------------------------------------------------------------------------------------------------------
def _dataset(dataset: Any, limit: int) -> NDArray[Any] | None:
    """A numeric variable; None for text, cells and structures."""
    if dataset.external or dataset.is_virtual:
        raise FileError(f"variable {dataset.name!r} keeps its data in other files, which are not read")
    matlab_class = dataset.attrs.get("MATLAB_class", b"double")
    if (matlab_class.decode() if isinstance(matlab_class, bytes) else str(matlab_class)) not in _NUMERIC:
        return None
    if dataset.attrs.get("MATLAB_empty", 0):
        return None
    if dataset.dtype.kind not in "biuf" and dataset.dtype not in _COMPLEX:
        return None  # also texts of any length, many of which can be one in the file
    plan = dataset.id.get_create_plist()
    filters = {plan.get_filter(i)[0] for i in range(plan.get_nfilters())}
    if filters - _FILTERS:
        raise FileError(
            f"variable {dataset.name!r} is packed in a way that MATLAB does not use (filters {sorted(filters)})"
        )
    if max(dataset.size, math.prod(dataset.chunks or ())) * dataset.dtype.itemsize > limit:
        raise FileError(f"variable {dataset.name!r} says {dataset.shape} values, over the limit of {limit} bytes")
    array = np.asarray(dataset[()])
    if array.dtype.names:
        array = array["real"] + 1j * array["imag"]
    return array.T
