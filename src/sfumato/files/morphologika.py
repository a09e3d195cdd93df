"""Morphologika: landmarks as text, in sections."""

import re

import numpy as np

from ..numerics.arrays import Array
from .base import Contents, Dataset, FileError, Format, Labels, shown
from .labels import strings, text_columns, texts
from .lines import Line, coordinates, count, lines_of

_SECTION = re.compile(r"^[ \t]*\[(individuals|landmarks|dimensions|rawpoints)\]", re.IGNORECASE | re.MULTILINE)
Sections = dict[str, list[Line]]


def read_morphologika(text: str) -> Contents:
    """Return the landmarks of the sections [individuals], [landmarks], [dimensions], [names], [labels], [rawpoints], …."""
    sections = _sections(text)
    n, k, dimensions = (_declared(sections, name) for name in ("individuals", "landmarks", "dimensions"))
    if dimensions not in (2, 3):
        raise FileError(f"[dimensions] is {dimensions}; landmarks have 2 or 3")
    points, names = _raw_points(sections.get("rawpoints", []), n, k, dimensions)
    if sections.get("names"):
        names = [line.text for line in _exactly(sections, "names", n)]
    labels: Labels = {"ID": strings("ID", names)} if names else {}
    if sections.get("labelvalues"):
        labels |= _label_values(sections, n)
    return {"": Dataset(points, "landmarks", labels=labels)}


MORPHOLOGIKA = Format("Morphologika", read_morphologika, looks=_SECTION.search)


def _sections(text: str) -> Sections:
    sections: Sections = {}
    for line in lines_of(text):
        if line.text.startswith("["):
            heading = line.text[1:].removesuffix("]").strip().lower()
            if not line.text.endswith("]") or heading in sections:
                raise FileError(f"line {line.number}: the heading {shown(line.text)} is cut or repeated")
            current: list[Line] = []
            sections[heading] = current
        elif not sections:
            raise FileError(f"line {line.number}: {shown(line.text)} comes before the first [section]")
        else:
            current.append(line)
    return sections


def _declared(sections: Sections, name: str) -> int:
    lines = sections.get(name, [])
    if len(lines) != 1:
        raise FileError(f"the section [{name}] must hold one number, not {len(lines)} lines; is the file cut?")
    return count(lines[0].text, lines[0].number, f"[{name}] ")


def _exactly(sections: Sections, name: str, n: int) -> list[Line]:
    if len(sections[name]) != n:
        raise FileError(f"[{name}] holds {len(sections[name])} lines, but [individuals] says {n}")
    return sections[name]


def _raw_points(lines: list[Line], n: int, k: int, dim: int) -> tuple[Array, list[str]]:
    """Return the points, and what stands after the apostrophe before each specimen, where the file has that."""
    rows = [Line(line.number, line.text.replace(",", " ")) for line in lines if not line.text.startswith("'")]
    marks = [line.text[1:].strip() for line in lines if line.text.startswith("'")]
    if len(rows) != n * k or n * k == 0:
        raise FileError(f"[rawpoints] holds {len(rows)} points, but {n} individuals of {k} landmarks are {n * k}")
    if len(marks) > n:
        raise FileError(f"[rawpoints] holds {len(marks)} specimens, but [individuals] says {n}; is the file cut?")
    for i, line in enumerate(lines if marks else []):
        if line.text.startswith("'") != (i % (k + 1) == 0):
            raise FileError(f"line {line.number}: {shown(line.text)}; expected a 'specimen line, then {k} points")
    return np.array([coordinates(row, dim) for row in rows]).reshape(n, k, dim), marks


def _label_values(sections: Sections, n: int) -> Labels:
    names = [name for line in sections.get("labels", []) for name in line.text.split()]
    rows = _exactly(sections, "labelvalues", n)
    values = [line.text.split() for line in rows]
    for line, row in zip(rows, values, strict=True):
        if len(row) != len(names):
            raise FileError(f"line {line.number}: {len(row)} label values for the {len(names)} labels of [labels]")
    columns = {name: [row[i] for row in values] for i, name in enumerate(names)}
    text_columns(columns)  # refuses what would fill the memory
    return {name: texts(name, column) for name, column in columns.items()}
