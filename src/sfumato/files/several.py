"""Files that hold several things by name: which of them are the records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Fix
from ..spaces.family import Family
from .arrays import arrange, landmarks, layout_named, needs
from .base import AmbiguousError, Choice, Contents, Dataset, FileError, Labels, Named, Wanted, listed, placed, shown
from .columns import read_table
from .curves import Curved
from .labels import per_record
from .table import Table

# fmt: off
_MAIN = ("landmarks", "points", "matrices", "coords", "coordinates", "tensors", "covariances", "shapes", "coo", "x", "data")
# fmt: on


def pick(contents: Contents, space: Wanted, choice: Choice, records_last: bool = False) -> Dataset:
    """Return the records among all that a file holds.

    What the layout or the names of columns show to be records is preferred to what only has a fitting number of columns,
    and then a name such as "landmarks" to others; what is still undecided is refused, with all that it could be.  Arrays
    as long as there are records, and the columns of a table of that length, are labels.
    """
    items = {name: item.array if isinstance(item, Named) else item for name, item in contents.items()}
    asked = _asked(items, choice)
    possible: dict[str, Dataset | FileError] = {}
    for name, item in asked.items():
        try:
            possible[name] = _one(name, item, space, choice, records_last)
        except AmbiguousError as error:
            possible[name] = placed(shown(name), error) if name else error
        except FileError:
            if len(asked) == 1:
                raise
    name = _best(items, possible, space)
    records = possible[name]
    if isinstance(records, FileError):
        raise records
    labels = _labels(contents, items, name, len(records))
    return replace(records, labels={**labels, **records.labels})


def _labels(contents: Contents, items: Contents, name: str, n: int) -> Labels:
    """Return the labels of n records from all that the file holds beside them, and from the names that they have."""
    others = {key: item for key, item in items.items() if key != name}
    labels = per_record({key: item for key, item in others.items() if isinstance(item, np.ndarray)}, n)
    for item in others.values():
        if isinstance(item, Table) and len(item) == n:
            labels = {**item.labels([]), **labels}
    named = contents[name]
    if isinstance(named, Named) and len(named.names) == n:
        labels["ID"] = named.names
    return labels


def _asked(items: Contents, choice: Choice) -> Contents:
    """Return what may be the records: the array that the user names, or all that are not labels."""
    if choice.array is not None:
        if choice.array not in items:
            raise FileError(f"there is no array {shown(choice.array)}; it holds {_contents(items)}")
        return {choice.array: items[choice.array]}
    if len(items) == 1 and "" in items:  # one axis makes a label, unless it stands alone
        return items
    asked = {}
    for name, item in items.items():
        other = not isinstance(item, np.ndarray)
        if other or (item.ndim >= 2 - np.iscomplexobj(item) and item.dtype.kind in "biufc"):
            asked[name] = item
    return asked


def _one(name: str, item: Any, space: Wanted, choice: Choice, records_last: bool) -> Dataset:
    """Return the records of one of several things in a file."""
    if isinstance(item, FileError):
        raise item if space is None or space.kind != "vectors" else FileError(*item.parts)
    if isinstance(item, Dataset | Curved):
        if choice.columns:
            raise FileError("a file of landmarks alone, without columns to choose from")
        records = item.records(choice) if isinstance(item, Curved) else item
        return landmarks(records, space) if records.kind == "landmarks" else _of_rows(records, space)
    if isinstance(item, Table):
        records = read_table(replace(item, choice=choice), space)
        return replace(records, source=f"{records.source} (table {shown(name)})") if name else records
    if choice.columns:
        raise FileError("columns are chosen in a table, and this file holds arrays; choose no columns")
    return _of_array(name, item, space, records_last)


def _of_array(name: str, array: NDArray[Any], space: Wanted, records_last: bool = False) -> Dataset:
    """Return the records of an array."""
    reading = arrange(array, space, records_last)
    source = f"the array {shown(name) + ' ' if name else ''}{array.shape}, in the order {reading.layout}"
    source += layout_named(space, reading.points.shape[1:])
    return Dataset(reading.points, reading.kind, source=source, sure=array.ndim + np.iscomplexobj(array) > 2)


def _of_rows(rows: Dataset, space: Wanted) -> Dataset:
    """Return rows as landmarks of the dimension that the space has; where it may have either, ask as their source does."""
    if isinstance(space, Family) and space.kind == "landmarks" and rows.source:
        dim = space.of.landmark_dim
        if not isinstance(dim, int) or rows.points.shape[1] % dim:
            raise FileError(f"{rows.source}; or write DIM=2 or DIM=3 at the end of the header")
        points = rows.points.reshape(len(rows), -1, dim)
        return landmarks(replace(rows, points=points, kind="landmarks", source=""), space)
    records = _of_array("", rows.points, space)
    question = f"; {rows.source}" if rows.source and space is None else ""
    labels = rows.labels if len(records) == len(rows) else {}  # the rows may be those of a single point
    return replace(records, source=records.source + question, labels=labels)


def _best(items: Contents, possible: dict[str, Dataset | FileError], space: Wanted) -> str:
    """Return the name of the one thing that is most likely the records; a FileError if there is none, or more than one."""
    if not possible:
        raise FileError(
            f"no array could be the records (it holds {_contents(items)}); {needs(space)}, and structures and cells are not "
            "read: save one array, in MATLAB outlines = cat(3, cells{:}), where every specimen has as many points"
        )
    ranks = {name: _rank(items[name], one) for name, one in possible.items()}
    best = [name for name in possible if ranks[name] == min(ranks.values())]
    best = [name for name in best if name.rpartition("$")[2].lower() in _MAIN] if len(best) > 1 else best
    if len(best) != 1:
        choose = Fix("array", next(iter(possible)))
        raise FileError(
            f"more than one array could be the records (it holds {_contents(items)}); say which, as ", choose
        )
    return best[0]


def _rank(item: Any, records: Dataset | FileError) -> int:
    """Return 0 for likely records by layout or names, 1 for what could be records, 2 for one row or one column."""
    if isinstance(records, FileError) or records.sure:
        return 0
    return 2 if isinstance(item, np.ndarray) and min(item.shape) == 1 else 1


def _contents(items: Contents) -> str:
    """Return what a file holds, for a message."""
    return listed([f"{name}{_item(item)}".lstrip(", ") for name, item in items.items()], 12) if items else "nothing"


def _item(item: Any) -> str:
    if isinstance(item, Table):
        return f", a table of {len(item)} rows"
    if isinstance(item, Dataset | Curved):
        return "landmarks"
    return f" {item.shape} {item.dtype}" if isinstance(item, np.ndarray) else f": {item}"
