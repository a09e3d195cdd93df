"""MATLAB's files: version 5 (``save``), read by SciPy, and version 7.3, which is HDF5 (``save -v7.3``), by h5py.

Both libraries can crash at a damaged file, and take all memory at a swollen one: they run apart, within limits.
"""

import io
import math
import struct
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .apart import Arrays, read_apart
from .base import Contents, FileError, Format, allowed, check_unique, damaged, package
from .labels import strings

_NUMERIC = {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
_MATRIX = 14  # kinds of elements of a version 5 file
_COMPRESSED = 15
_COMPLEX = [np.dtype([("real", real), ("imag", real)]) for real in ("<f8", "<f4", ">f8", ">f4")]
_FILTERS = {1, 2, 3}  # deflate, shuffle and sums: what HDF5 itself brings, so that no code is looked for elsewhere


def read_mat73(content: bytes) -> Contents:
    """Return the variables of a version 7.3 file, HDF5 with the axes reversed; data kept in other files are refused."""
    package("h5py", "reading MATLAB 7.3 files")
    return read_apart("matlab:hdf5_arrays", content)


MATLAB = Format("MATLAB", partial(read_apart, "matlab:mat_arrays"), magic=(b"MATLAB 5.0 MAT-file",), records_last=True)
MATLAB_73 = Format("MATLAB 7.3", read_mat73, magic=(b"MATLAB 7.3 MAT-file",), records_last=True)


# -- version 5 -------------------------------------------------------------------------------------------------------------
def _check_elements(content: bytes) -> None:
    """Refuse a file that is not made of whole variables: SciPy does not notice every cut."""
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    position = 128
    if order is None:
        raise FileError("the MATLAB header is damaged or cut")
    while position < len(content):
        if position + 8 > len(content):
            raise FileError(f"cut within the element at byte {position}")
        kind, size = struct.unpack_from(f"{order}II", content, position)
        if kind not in (_MATRIX, _COMPRESSED):
            raise FileError(f"the element at byte {position} is of kind {kind}, not a variable; the file is damaged")
        if position + 8 + size > len(content):
            raise FileError(f"the element at byte {position} says {size} bytes, more than follow; is the file cut?")
        position += 8 + size


def mat_arrays(content: bytes) -> Arrays:
    """Return the variables of a version 5 file that are numbers or texts: structures and sparse matrices are not read."""
    from scipy.io import loadmat, whosmat

    _check_elements(content)
    limit = allowed(len(content))
    with damaged("the MATLAB file is damaged or cut"):
        listed = whosmat(io.BytesIO(content))
        check_unique([name for name, _, _ in listed], "variables")
        if 8 * sum(math.prod(shape) for _, shape, _ in listed) > limit:
            raise FileError(f"would unpack to more than the limit of {limit} bytes")
        names = [name for name, _, kind in listed if kind in _NUMERIC or kind in ("char", "cell")]
        variables = loadmat(io.BytesIO(content), variable_names=names) if names else {}
        arrays = {name: _plain(variables[name]) for name in names}
    return {name: array for name, array in arrays.items() if array is not None}


def _plain(array: NDArray[Any]) -> NDArray[Any] | None:
    """Return numbers as they are, the rows of a matrix of letters, and cells that are each a line of text; else None."""
    if array.dtype.kind == "O":
        if not all(isinstance(cell, np.ndarray) and cell.dtype.kind == "U" and cell.size == 1 for cell in array.flat):
            return None
        array = strings("of cells", [str(cell.item()) for cell in array.ravel(order="F")])
    if array.size == 0:
        return None
    if array.dtype.kind == "U":
        return np.strings.rstrip(array) if array.ndim == 1 else None
    return array.astype(array.dtype.newbyteorder("="))


# -- version 7.3 -----------------------------------------------------------------------------------------------------------
def hdf5_arrays(content: bytes) -> Arrays:
    """Return the numeric variables of a version 7.3 file."""
    import h5py

    with damaged("the MATLAB 7.3 file is damaged or cut"), h5py.File(io.BytesIO(content), "r") as file:
        names = [name for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)]
        datasets = {name: file[name] for name in names if isinstance(file[name], h5py.Dataset)}
        arrays = {name: _dataset(dataset, allowed(len(content))) for name, dataset in datasets.items()}
    return {name: array for name, array in arrays.items() if array is not None}


def _dataset(dataset: Any, limit: int) -> NDArray[Any] | None:
    """Return a numeric variable; None for text, cells and structures."""
    if dataset.external or dataset.is_virtual:
        raise FileError(f"variable {dataset.name!r} keeps its data in other files, which are not read")
    matlab_class = dataset.attrs.get("MATLAB_class", b"double")
    named = matlab_class.decode() if isinstance(matlab_class, bytes) else str(matlab_class)
    plain = dataset.dtype.kind in "biuf" or dataset.dtype in _COMPLEX  # no texts: a few bytes can refer to many
    if named not in _NUMERIC or not plain or dataset.attrs.get("MATLAB_empty", 0):
        return None
    plan = dataset.id.get_create_plist()
    filters = {plan.get_filter(i)[0] for i in range(plan.get_nfilters())}
    if filters - _FILTERS:
        raise FileError(f"variable {dataset.name!r} is packed in a way that MATLAB does not use; save it again")
    if max(dataset.size, math.prod(dataset.chunks or ())) * dataset.dtype.itemsize > limit:
        raise FileError(f"variable {dataset.name!r} says {dataset.shape} values, over the limit of {limit} bytes")
    array = np.asarray(dataset[()])
    if array.dtype.names:
        array = array["real"] + 1j * array["imag"]
    return array.T
