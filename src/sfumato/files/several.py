"""Files that hold several things by name: which of them are the records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..spaces.family import Family
from .arrays import arrange, landmarks, layout_named, needs
from .base import AmbiguousError, Choice, Contents, FileError, Found, Labels, Named, Rows, Wanted, listed, shown
from .columns import read_table
from .curves import Curved
from .labels import per_record
from .table import Table

# fmt: off
_MAIN = ("landmarks", "points", "matrices", "coords", "coordinates", "tensors", "covariances", "shapes", "coo", "x", "data")
# fmt: on


def pick(contents: Contents, space: Wanted, choice: Choice, records_last: bool = False) -> Found:
    """Return the records among all that a file holds.

    What the layout or the names of columns show to be records is preferred to what only has a fitting number of columns,
    and then a name such as "landmarks" to others; what is still undecided is refused, with all that it could be.  Arrays
    as long as there are records, and the columns of a table of that length, are labels.
    """
    held = {name: item.array if isinstance(item, Named) else item for name, item in contents.items()}
    asked = _asked(held, choice)
    found: dict[str, Found | FileError] = {}
    for name, item in asked.items():
        try:
            found[name] = _one(name, item, space, choice, records_last)
        except AmbiguousError as error:
            found[name] = AmbiguousError(f"{shown(name)}: {error}" if name else str(error))
        except FileError:
            if len(asked) == 1:
                raise
    name = _best(held, found, space)
    records = found[name]
    if isinstance(records, FileError):
        raise records
    labels = _labels(contents, held, name, len(records.points))
    return records._replace(labels={**labels, **records.labels})


def _labels(contents: Contents, held: Contents, name: str, n: int) -> Labels:
    """Return the labels of n records from all that the file holds beside them, and from the names that they have."""
    others = {key: item for key, item in held.items() if key != name}
    labels = per_record({key: item for key, item in others.items() if isinstance(item, np.ndarray)}, n)
    for item in others.values():
        if isinstance(item, Table) and len(item) == n:
            labels = {**item.labels([]), **labels}
    if isinstance(named := contents[name], Named) and len(named.names) == n:
        labels["ID"] = named.names
    return labels


def _asked(held: Contents, choice: Choice) -> Contents:
    """Return what may be the records: the array that the user names, or all that are not labels."""
    if choice.array is not None:
        if choice.array not in held:
            raise FileError(f"there is no array {shown(choice.array)}; it holds {_contents(held)}")
        return {choice.array: held[choice.array]}
    if len(held) == 1 and "" in held:  # one axis makes a label, unless it stands alone
        return held
    return {name: item for name, item in held.items() if not _is_label(item)}


def _one(name: str, item: Any, space: Wanted, choice: Choice, records_last: bool) -> Found:
    """Return the records of one of several things in a file."""
    if isinstance(item, FileError):
        raise item if space is None or space.kind != "vectors" else FileError(str(item))
    if isinstance(item, Found | Curved):
        if choice.columns:
            raise FileError("a file of landmarks alone, without columns to choose from")
        found = item.records(choice) if isinstance(item, Curved) else item
        return landmarks(found.points, found.labels, space, found.source, lines=found.lines, landmarks=found.landmarks)
    if isinstance(item, Table):
        found = read_table(replace(item, choice=choice), space)
        return found._replace(source=f"{found.source} (table {shown(name)})") if name else found
    question = item.question if isinstance(item, Rows) else ""
    if question and isinstance(space, Family) and space.kind == "landmarks":
        return _of_dim(item, space)
    return _of_array(name, item.array if isinstance(item, Rows) else item, space, choice, records_last, question)


def _of_array(name: str, item: Any, space: Wanted, choice: Choice, records_last: bool, question: str) -> Found:
    """Return the records of an array; its source ends with the ``question`` that the space would answer."""
    if choice.columns:
        raise FileError("columns are chosen in a table, and this file holds arrays; choose one with array= (--array)")
    kind, layout, points = arrange(item, space, records_last)
    source = f"the array {shown(name) + ' ' if name else ''}{item.shape}, in the order {layout}"
    source += layout_named(space, points.shape[1:]) + (f"; {question}" if question and space is None else "")
    return Found(points, kind, {}, source, sure=item.ndim + np.iscomplexobj(item) > 2)


def _of_dim(rows: Rows, space: Family) -> Found:
    """Read rows as landmarks of the dimension that the space has; ask where it may have either."""
    dim = space.of.landmark_dim
    if not isinstance(dim, int) or rows.array.shape[1] % dim:
        raise FileError(f"{rows.question}; or write DIM=2 or DIM=3 at the end of the header")
    return landmarks(rows.array.reshape(len(rows.array), -1, dim), {}, space)


def _best(held: Contents, found: dict[str, Found | FileError], space: Wanted) -> str:
    """Return the name of the one thing that is most likely the records; a FileError if there is none, or more than one."""
    if not found:
        raise FileError(
            f"no array could be the records (it holds {_contents(held)}); {needs(space)}, and structures and cells are not "
            "read: save one array, in MATLAB outlines = cat(3, cells{:}), where every specimen has as many points"
        )
    ranks = {name: _rank(held[name], one) for name, one in found.items()}
    best = [name for name in found if ranks[name] == min(ranks.values())]
    best = [name for name in best if name.rpartition("$")[2].lower() in _MAIN] if len(best) > 1 else best
    if len(best) != 1:
        raise FileError(
            f"more than one array could be the records (it holds {_contents(held)}); say which, as "
            f"array={shown(next(iter(found)))} (--array)"
        )
    return best[0]


def _is_label(item: Any) -> bool:
    return isinstance(item, np.ndarray) and (item.ndim < 2 - np.iscomplexobj(item) or item.dtype.kind not in "biufc")


def _rank(item: Any, found: Found | FileError) -> int:
    """0 for what is likely to be the records by its layout or names, 1 for what could be, 2 for one row or one column."""
    if isinstance(found, FileError) or found.sure:
        return 0
    return 2 if isinstance(item, np.ndarray) and min(item.shape) == 1 else 1


def _contents(held: Contents) -> str:
    def words(item: Any) -> str:
        if isinstance(item, Table | Found | Curved | Rows):
            return f", a table of {len(item)} rows" if isinstance(item, Table) else "landmarks"
        return f" {item.shape} {item.dtype}" if isinstance(item, np.ndarray) else f": {item}"

    return listed([f"{name}{words(item)}".lstrip(", ") for name, item in held.items()], 12) if held else "nothing"
