"""Writing one released value, or synthetic specimens."""

import csv
import gzip
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from ..atomic import write_atomically
from ..numerics.arrays import Array, as_numbers
from ..spaces.base import Kind
from .base import Dataset, package

Said = dict[str, str]  # the labels of one value
Writer = Callable[[Array, list[Said], Kind], str | bytes]
SCHEMA = "https://raw.githubusercontent.com/slicer/slicer/master/Modules/Loadable/Markups/Resources/Schema/"
SCHEMA += "markups-schema-v1.0.3.json#"  # by which Slicer knows its files


def write_points(path: str | os.PathLike[str], points: ArrayLike | Dataset, kind: Kind | None = None) -> None:
    """Write one released value, or a data set with its labels, in the format that the ending says: whole, or not at all.

    Landmarks go to .tps, .nts, .txt (Morphologika) and, in three dimensions, .mrk.json (3D Slicer); all kinds to .csv, .npy and
    .rds (R; needs the package rdata).  Numbers read back to the last bit; a value that is not one of its kind, or holds NaN or
    infinite numbers, is refused.  A .npy or Slicer file holds one value, and cannot say that it is synthetic.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_points(Path(folder, "mean.csv"), [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], "landmarks")
    ...     print(Path(folder, "mean.csv").read_text())
    x1,y1,x2,y2,x3,y3
    0.0,0.0,1.0,0.0,0.0,1.0
    """
    path = Path(path)
    several = points if isinstance(points, Dataset) else None
    kind = kind if several is None else several.kind
    value = as_numbers(points)
    if np.iscomplexobj(value):
        raise ValueError(f"{path}: complex numbers; give landmarks as (k, 2) or (k, 3)")
    value = np.asarray(value, dtype=np.float64)
    if not isinstance(kind, str) or kind not in get_args(Kind):
        raise ValueError(f"kind must be 'landmarks', 'matrices', 'vectors' or 'arrays', not {kind!r}")
    values = value[None] if several is None else value
    if values.size == 0 or not _fits(values[0], kind):
        raise ValueError(f"{path}: an array of shape {value.shape} is not one value of kind {kind!r}")
    if not np.isfinite(value).all():
        raise ValueError(f"{path}: the value holds NaN or an infinite number")
    labels = {} if several is None else several.labels
    write = check_format(str(path), kind, values.shape[1:], ", ".join(labels) or "ID" * (len(values) > 1))
    said = [{name: str(column[i]) for name, column in labels.items()} for i in range(len(values))]
    write_atomically(path, write(values, said, kind))


def _fits(value: Array, kind: Kind) -> bool:
    if kind == "landmarks":
        return value.ndim == 2 and value.shape[1] in (2, 3)
    if kind == "matrices":
        return value.ndim == 2 and value.shape[0] == value.shape[1]
    return value.ndim == 1 or kind == "arrays"


def check_format(path: str, kind: Kind, shape: tuple[int, ...], labels: str = "") -> Writer:
    """Return what writes values of this kind and shape to a path, or raise an error that says which formats hold them."""
    end = next((end for end in WRITERS if path.lower().endswith(end)), "")
    if not end:
        raise ValueError(f"{path}: cannot write such an ending; choose {', '.join(WRITERS)}")
    if end in LANDMARKS and kind != "landmarks":
        raise ValueError(f"{path}: {LANDMARKS[end]} files hold landmarks, not {kind}; write .csv, .npy or .rds")
    if end == ".mrk.json" and shape[1] == 2:
        raise ValueError(f"{path}: 3D Slicer has landmarks in three dimensions; write .tps, .nts, .txt, .csv or .rds")
    if end in (".mrk.json", ".npy") and labels:
        raise ValueError(f"{path}: holds one value, with no place for labels ({labels}); write .csv or .rds")
    if end == ".rds":
        package("rdata", "writing R files")  # says now if it is missing
    return WRITERS[end]


def _npy(values: Array, said: list[Said], kind: Kind) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values[0], allow_pickle=False)
    return buffer.getvalue()


def _csv(values: Array, said: list[Said], kind: Kind) -> str:
    lines = [[*own.values(), *map(repr, value.ravel().tolist())] for own, value in zip(said, values, strict=True)]
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([[*said[0], *_names(values[0], kind)], *lines])
    return table.getvalue()


def _tps(values: Array, said: list[Said], kind: Kind) -> str:
    begin = f"{'LM3' if values.shape[2] == 3 else 'LM'}={values.shape[1]}\n"
    text = ""
    for own, value in zip(said, values, strict=True):
        text += begin + _rows(value) + f"ID={own.pop('ID', '0')}\n"
        text += "".join(f"COMMENT={name}: {words}\n" for name, words in own.items())
    return text


def _nts(values: Array, said: list[Said], kind: Kind) -> str:
    n, k, dim = values.shape
    names = [_word(";".join(own.values())) for own in said if own]
    return "\n".join([f"1 {n}{'L' if names else ''} {k * dim} 0 DIM={dim}", *names, _rows(values.reshape(n, -1))])


def _morphologika(values: Array, said: list[Said], kind: Kind) -> str:
    names = [_word(own.pop("ID", str(i))).lstrip("['") or "_" for i, own in enumerate(said, start=1)]
    counts = zip(("individuals", "landmarks", "dimensions"), values.shape, strict=True)
    lines = [*(f"[{name}]\n{count}" for name, count in counts), "[names]", *names]
    if said[0]:
        lines += ["[labels]", " ".join(map(_word, said[0])), "[labelvalues]"]
        lines += [" ".join(map(_word, own.values())) for own in said]
    points = [f"'{name}\n{_rows(value)}" for name, value in zip(names, values, strict=True)]
    return "\n".join([*lines, "[rawpoints]", "".join(points)])


def _markups(values: Array, said: list[Said], kind: Kind) -> str:
    points = enumerate(values[0].tolist(), start=1)
    marks = [{"id": str(i), "label": str(i), "position": at, "positionStatus": "defined"} for i, at in points]
    one = {"type": "Fiducial", "coordinateSystem": "LPS", "controlPoints": marks}
    return json.dumps({"@schema": SCHEMA, "markups": [one]}, indent=1)


def _rds(values: Array, said: list[Said], kind: Kind) -> bytes:
    """Return what saveRDS writes: an array; or a list of ``coords``, with the specimens last as in geomorph, and labels."""
    rdata = package("rdata", "writing R files")
    labels = {name: np.array([own[name] for own in said]) for name in said[0]}
    several = {"coords": np.moveaxis(values, 0, -1), **labels}
    made = rdata.conversion.convert_python_to_r_data(several if labels or len(values) > 1 else values[0])
    return gzip.compress(rdata.unparser.unparse_data(made), mtime=0)


LANDMARKS = {".tps": "TPS", ".nts": "NTS", ".txt": "Morphologika", ".mrk.json": "Slicer"}
WRITERS: dict[str, Writer] = dict(zip(LANDMARKS, (_tps, _nts, _morphologika, _markups), strict=True))
WRITERS |= {".csv": _csv, ".npy": _npy, ".rds": _rds}


def _rows(value: Array) -> str:
    return "".join(" ".join(map(repr, row)) + "\n" for row in value.tolist())


def _word(text: str) -> str:
    return "_".join(text.split()) or "_"


def _names(value: Array, kind: Kind) -> list[str]:
    """Return the names of the columns: x1, y1, …; x1, y1, z1, …; m1_1, m1_2, …; v1, v2, …"""
    if kind == "landmarks":
        return [f"{axis}{i}" for i in range(1, len(value) + 1) for axis in "xyz"[: value.shape[1]]]
    return [("v" if value.ndim == 1 else "m") + "_".join(str(i + 1) for i in at) for at in np.ndindex(value.shape)]
