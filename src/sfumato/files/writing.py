"""Writing one released value."""

import io
import os
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from ..atomic import write_atomically
from ..numerics.arrays import Array, as_numbers
from ..spaces.base import Kind


def write_points(path: str | os.PathLike[str], points: ArrayLike, kind: Kind) -> None:
    """Write one released value to a .tps, .csv or .npy file: whole, or not at all.

    The ending of the path says the format.  The numbers of the value are written so that they read back to the last bit; it
    is refused if it is not one of its kind, or holds NaN or infinite numbers.  A .npy file holds the bare array, so that its
    kind is known only with a space.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_points(Path(folder, "mean.csv"), [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], "landmarks")
    ...     print(Path(folder, "mean.csv").read_text())
    x1,y1,x2,y2,x3,y3
    0.0,0.0,1.0,0.0,0.0,1.0
    """
    path = Path(path)
    value = as_numbers(points)
    if np.iscomplexobj(value):
        raise ValueError(f"{path}: complex numbers; give landmarks as (k, 2) or (k, 3)")
    value = np.asarray(value, dtype=np.float64)
    if not isinstance(kind, str) or kind not in get_args(Kind):
        raise ValueError(f"kind must be 'landmarks', 'matrices', 'vectors' or 'arrays', not {kind!r}")
    if not _fits(value, kind) or value.size == 0:
        raise ValueError(f"{path}: an array of shape {value.shape} is not one value of kind {kind!r}")
    if not np.isfinite(value).all():
        raise ValueError(f"{path}: the value holds NaN or an infinite number")
    write_atomically(path, _content(path, value, kind))


def _fits(value: Array, kind: Kind) -> bool:
    if kind == "landmarks":
        return value.ndim == 2 and value.shape[1] in (2, 3)
    if kind == "matrices":
        return value.ndim == 2 and value.shape[0] == value.shape[1]
    return value.ndim == 1 or kind == "arrays"


def _content(path: Path, value: Array, kind: Kind) -> bytes:
    suffix = path.suffix.lower()
    if suffix == ".npy":
        buffer = io.BytesIO()
        np.save(buffer, value, allow_pickle=False)
        return buffer.getvalue()
    if suffix == ".csv":
        return f"{','.join(_names(value, kind))}\n{','.join(map(repr, value.ravel().tolist()))}\n".encode()
    if suffix != ".tps":
        raise ValueError(f"{path}: cannot write {suffix or 'a file without an ending'}; choose .tps, .csv or .npy")
    if kind != "landmarks":
        raise ValueError(f"{path}: a TPS file holds landmarks, not {kind}; write a .csv or .npy file")
    rows = "".join(" ".join(map(repr, row)) + "\n" for row in value.tolist())
    return f"{'LM3' if value.shape[1] == 3 else 'LM'}={len(value)}\n{rows}ID=0\n".encode()


def _names(value: Array, kind: Kind) -> list[str]:
    """Return the names of the columns: x1, y1, …; x1, y1, z1, …; m1_1, m1_2, …; v1, v2, …"""
    if kind == "landmarks":
        return [f"{axis}{i}" for i in range(1, len(value) + 1) for axis in "xyz"[: value.shape[1]]]
    return [("v" if value.ndim == 1 else "m") + "_".join(str(i + 1) for i in at) for at in np.ndindex(value.shape)]
