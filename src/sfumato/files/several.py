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
    items = {name: _plain(item, choice) for name, item in contents.items()}
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
    n = len(records)
    beside = {key: item for key, item in items.items() if key.startswith(f"{name.rpartition('$')[0]}$")}
    labels = _labels(name, beside, n) or _labels(name, items, n)  # of the same list of R, or of others
    labels |= named.labels if isinstance(named, Curved) else {}
    if isinstance(named, Named) and len(named.names) == n:
        labels["ID"] = named.names
    return replace(records, labels={**labels, **records.labels})


def _plain(item: Any, choice: Choice) -> Any:
    """Return the array of named records, or of outlines of as many points that are not to be resampled."""
    if isinstance(item, Curved) and item.plain is not None and not isinstance(choice.curves, int):
        return item.plain
    return item.array if isinstance(item, Named) else item


def _labels(records: str, items: Contents, n: int) -> Labels:
    """Return the labels of n records of this name from what the file holds beside them."""
    arrays: Labels = {}
    columns: Labels = {}
    for name, one in items.items():
        if name == records:
            continue
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
    if isinstance(item, Curved) and space is not None and space.kind != "landmarks":
        raise FileError(f"holds outlines; {needs(space)}")
    if isinstance(item, Dataset | Curved):
        return landmarks(item.records(choice) if isinstance(item, Curved) else item, space)
    return _array(name, item, space, choice, records_last)


def _array(name: str, item: Any, space: Wanted, choice: Choice, records_last: bool) -> Dataset:
    """Return the records of an array, which has no curves: refuse to resample it where files of its format mark such."""
    reading = arrange(item, space, records_last)
    if records_last and reading.kind == "landmarks" and choice.curves not in ("keep", "drop", reading.points.shape[1]):
        words = f"the array {item.shape} marks no curves: if these are outlines, save a list of matrices; if not, leave out "
        raise AmbiguousError(words, Fix("curves", choice.curves))
    source = f"the array {shown(name) + ' ' if name else ''}{item.shape}, in the order {reading.layout}"
    source += layout_named(space, reading.points.shape[1:])
    return Dataset(reading.points, reading.kind, source=source, sure=item.ndim + np.iscomplexobj(item) > 2)


def _best(items: Contents, possible: dict[str, Dataset | FileError], space: Wanted) -> str:
    """Return the name of the one thing that is most likely the records; a FileError if there is none, or more than one."""
    if not possible:
        raise FileError(
            f"no array could be the records (it holds {_contents(items)}); {needs(space)}, and structures and cells are not "
            "read: save one array, in MATLAB outlines = cat(3, cells{:}), where every specimen has the same number of points"
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
    return listed([f"{name}{_item(item)}".lstrip(":, ") for name, item in items.items()], 12) if items else "nothing"


def _item(item: Any) -> str:
    if isinstance(item, Table):
        return f", a table of {len(item)} rows"
    if isinstance(item, Dataset | Curved):
        return ": landmarks"
    return f" {item.shape} {item.dtype}" if isinstance(item, np.ndarray) else f": {item}"
