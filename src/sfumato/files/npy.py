"""NumPy's files.  Nothing is ever unpickled, and a header is believed only if it accounts for every byte."""

import io
import math
import warnings
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Contents, FileError, Format, allowed, check_unique, damaged, placed, shown

MOST_AXES = 32  # of an array in a file; NumPy itself has 64


def read_npz(content: bytes) -> Contents:
    """Return an archive of arrays."""
    # zipfile lets errors of every compressor through
    with damaged("the archive is damaged or cut"), zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        size = sum(entry.file_size for entry in entries)
        limit = allowed(len(content))
        check_unique(names, "arrays")
        if set(names) & {"xl/workbook.xml", "xl/workbook.bin", "mimetype"}:
            raise FileError("a spreadsheet, which is not read; save the sheet as CSV and give that")
        if not any(name.endswith(".npy") for name in names):
            raise FileError("a zip archive without NumPy arrays; unpack it and give the file of records in it")
        if size > limit:
            raise FileError(f"the archive would unpack to {size} bytes, over the limit of {limit}; save it as .npy")
        if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
            raise FileError("the archive is packed in a way that NumPy does not use; save it again with NumPy")
        members = [entry for entry in entries if entry.filename.endswith(".npy")]
        # zipfile reads no more than the size that was checked, and then checks the sum
        contents = {entry.filename.removesuffix(".npy"): archive.read(entry) for entry in members}
    arrays: Contents = {}
    for name, member in contents.items():
        with placed(f"array {shown(name)}"):
            arrays[name] = _array(member)
    return arrays


NPY = Format("NPY", lambda content: {"": _array(content)}, magic=(b"\x93NUMPY",))
NPZ = Format("NPZ", read_npz, magic=(b"PK\x03\x04", b"PK\x05\x06"))


def _array(content: bytes) -> NDArray[Any]:
    """Return the array of an NPY file, after its header has been compared with its length."""
    file = io.BytesIO(content)
    with damaged("the NPY header is damaged, cut or of an unknown version"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # headers from Python 2
        npy: Any = np.lib.format  # whose types NumPy tells since 2.4
        header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(file)]
        shape, fortran, dtype = header(file)
    if dtype.hasobject or dtype.names or dtype.subdtype:
        raise FileError(f"holds Python objects or structures ({shown(str(dtype))}); save plain numbers")
    present = len(content) - file.tell()
    if len(shape) > MOST_AXES or any(isinstance(size, bool) for size in shape):
        raise FileError(f"the header says {len(shape)} axes, {shown(str(shape))}; records have two or three")
    if min(shape, default=1) < 0 or math.prod(shape) * dtype.itemsize != present:
        said = f"{shape} values of {dtype.itemsize} bytes"
        raise FileError(f"the header says {said}, but {present} bytes follow; is the file cut?")
    if present == 0:
        raise FileError(f"holds no records: the array has shape {shape}")
    array = np.frombuffer(content, dtype=dtype, offset=file.tell()).reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="))
