"""Files that hold several things by name: which of them are the records."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import Fix
from .arrays import arrange, landmarks, layout_named, needs
from .base import AmbiguousError, Choice, Contents, Dataset, FileError, Labels, Named, Wanted, listed, shown
from .columns import read_table
from .curves import Curved
from .table import Table


def pick(contents: Contents, space: Wanted, choice: Choice, records_last: bool = False) -> Dataset:
    """Return the records among all that a file holds.

    What the layout or the names of columns show to be records is preferred to what only has a fitting number of columns;
    what is still undecided is refused, with all that it could be.  Arrays as long as there are records, and the columns of
    a table of that length, are labels.
    """
    items = {name: item.array if isinstance(item, Named) else item for name, item in contents.items()}
    asked = _asked(items, choice)
    possible: dict[str, Dataset | FileError] = {}
    for name, item in asked.items():
        try:
            possible[name] = _one(name, item, space, choice, records_last)
        except AmbiguousError as error:
            possible[name] = AmbiguousError(f"{shown(name)}: ", *error.parts) if name else error
        except FileError:
            if len(asked) == 1:
                raise
    name = _best(items, possible, space)
    records = possible[name]
    if isinstance(records, FileError):
        raise records
    named = contents[name]
    labels = _labels({key: item for key, item in items.items() if key != name}, len(records))
    if isinstance(named, Named) and len(named.names) == len(records):
        labels["ID"] = named.names
    return replace(records, labels={**labels, **records.labels})


def _labels(others: Contents, n: int) -> Labels:
    """Return the labels of n records from all that the file holds beside them."""
    arrays: Labels = {}
    columns: Labels = {}
    for name, one in others.items():
        if isinstance(one, Table) and len(one) == n:
            columns = {**one.labels([]), **columns}
        elif isinstance(one, np.ndarray) and one.size == n == max(one.shape, default=0) and one.dtype.kind in "biufSU":
            flat = one.reshape(n)
            arrays[name] = np.char.decode(flat, "utf-8", "replace") if one.dtype.kind == "S" else flat
    return columns | arrays


def _asked(items: Contents, choice: Choice) -> Contents:
    """Return what may be the records: the array that the user names, or all that are not labels."""
    if choice.array is not None:
        if choice.array not in items:
            raise FileError(f"there is no array {shown(choice.array)}; it holds {_contents(items)}")
        return {choice.array: items[choice.array]}
    if len(items) == 1 and "" in items:  # one axis makes a label, unless it stands alone
        return items
    arrays = {name: item for name, item in items.items() if isinstance(item, np.ndarray)}
    rows = {name for name, one in arrays.items() if one.ndim >= 2 - np.iscomplexobj(one) and one.dtype.kind in "biufc"}
    return {name: item for name, item in items.items() if name in rows or name not in arrays}


def _one(name: str, item: Any, space: Wanted, choice: Choice, records_last: bool) -> Dataset:
    """Return the records of one of several things in a file."""
    if isinstance(item, FileError):
        raise item if space is None or space.kind != "vectors" else FileError(*item.parts)
    if isinstance(item, Table):
        records = read_table(replace(item, choice=choice), space)
        return replace(records, source=f"{records.source} (table {shown(name)})") if name else records
    if choice.columns:
        what = "arrays" if isinstance(item, np.ndarray) else "landmarks alone"
        raise FileError(f"columns are chosen in a table, and this file holds {what}; choose no columns")
    if isinstance(item, Dataset | Curved):
        return landmarks(item.records(choice) if isinstance(item, Curved) else item, space)
    reading = arrange(item, space, records_last)
    source = f"the array {shown(name) + ' ' if name else ''}{item.shape}, in the order {reading.layout}"
    source += layout_named(space, reading.points.shape[1:])
    return Dataset(reading.points, reading.kind, source=source, sure=item.ndim + np.iscomplexobj(item) > 2)


def _best(items: Contents, possible: dict[str, Dataset | FileError], space: Wanted) -> str:
    """Return the name of the one thing that is most likely the records; a FileError if there is none, or more than one."""
    if not possible:
        raise FileError(
            f"no array could be the records (it holds {_contents(items)}); {needs(space)}, and structures and cells are not "
            "read: save one array, in MATLAB outlines = cat(3, cells{:}), where every specimen has as many points"
        )
    ranks = {name: _rank(items[name], one) for name, one in possible.items()}
    best = [name for name in possible if ranks[name] == min(ranks.values())]
    if len(best) == 1:
        return best[0]
    several = f"more than one array could be the records (it holds {_contents(items)}); say which, as "
    raise FileError(several, Fix("array", best[0]))


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
