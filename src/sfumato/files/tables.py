"""What the columns of a table hold: their names say it, or else their number."""

from __future__ import annotations

import re
from dataclasses import replace

from ..spaces.base import Space
from .base import FileError, Found, Wanted, listed, shown
from .columns import RULES, SPECIMEN, components, globe
from .layout import arrange, shape_of, widths
from .table import Table, is_number

_IDENTIFIER = re.compile(rf"|unnamed: 0|row|rownames|index|{SPECIMEN.pattern}|.*[._ -]id")
_PLANE = {("x", "y"), ("column 1", "column 2"), ("v1", "v2")}  # columns that may be all landmarks of one specimen


def read_table(table: Table, space: Wanted = None) -> Found:
    """Points by the names of the columns, or else by their number.

    >>> import numpy as np
    >>> columns = {"lon": np.array([90.0, 10.0]), "lat": np.array([0.0, 90.0]), "mag": np.array([5.0, 6.0])}
    >>> read_table(Table(columns)).points.round(9).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if len(table) == 0:
        raise FileError("holds no records")
    if table.choice.columns:
        return _chosen(table, space)
    rules = (rule for rule, kind in RULES.items() if space is None or space.kind == kind)
    return next(filter(None, (rule(table, space) for rule in rules)), None) or _in_order(table, space)


def _chosen(table: Table, space: Wanted) -> Found:
    """The points from columns that the user names, each under its own name or, as in lat=theta, under another."""
    by_lower = {name.lower(): name for name in table.columns}
    taken: dict[str, str] = {}
    for word in table.choice.columns:
        meant, sign, name = (part.strip() for part in word.partition("="))
        if word in table.columns or word.lower() in by_lower or not sign:
            name, sign = word, ""
        held = name if name in table.columns else by_lower.get(name.lower())
        meant = meant if sign else held or name
        if held is None:
            raise FileError(f"there is no column {shown(name)}; it has {listed(list(table.columns), 20)}")
        if held in taken.values() or meant in taken:
            raise FileError(f"the column {shown(name)} is given twice")
        taken[meant] = held
    columns = {meant: table.columns[held] for meant, held in taken.items()}
    found = read_table(replace(table, columns=columns, choice=table.choice._replace(columns=()), chosen=True), space)
    beside = table.labels(list(taken.values())) if len(found.points) == len(table) else {}
    words = ", ".join(meant if meant == held else f"{held} as {meant}" for meant, held in taken.items())
    names = tuple(taken.get(name, name) for name in found.names)
    return found._replace(labels={**beside, **found.labels}, source=f"the columns {words}", names=names)


def _in_order(table: Table, space: Wanted) -> Found:
    """Columns named as components, or else all numeric ones, without those named as identifiers unless the space needs them."""
    numeric = [name for name in table.columns if table.is_numeric(name)]
    plain = [name for name in numeric if not _IDENTIFIER.fullmatch(name.lower()) or table.chosen]
    fitting = widths(space) if isinstance(space, Space) else set()
    used = numeric if len(numeric) in fitting and len(plain) not in fitting else plain
    named = components(table, shape_of(space)[0] if isinstance(space, Space) else None) if _wants_names(space) else []
    used = named or used
    if not used:
        raise FileError(f"holds no columns of numbers, only {listed(list(table.columns))}")
    numbers = table.stacked(used)
    try:
        kind, layout, points = arrange(numbers, space)
    except FileError:
        raise FileError(_misfit(table, used, space)) from None
    told = table.told(used)
    told["source"] += f", {layout}" if kind != "vectors" else ""
    if len(points) != len(table):  # the rows can be those of a single point: then nothing is said of each record
        if layout == "one specimen" and tuple(map(str.lower, used)) not in _PLANE:
            raise FileError(_misfit(table, used, space))
        return Found(points, kind, {}, told["source"], sure=False)
    names = told["names"] if len(used) == points[0].size else ()
    return Found(points, kind, table.labels(used), **{**told, "names": names}, sure=bool(named))


def _wants_names(space: Wanted) -> bool:
    """Whether columns named x, y, z are meant before all others."""
    return space is not None and space.kind == "vectors" and globe(space) is not None


def _misfit(table: Table, used: list[str], space: Wanted) -> str:
    message = f"holds {len(used)} columns of numbers ({listed(used)})"
    if isinstance(space, Space):
        message += f"; {space} needs {' or '.join(map(str, sorted(widths(space))))}"
        if space.from_degrees is not None:
            message += ", or two named lat and lon, in degrees"
        message += f"; say which, as columns='{used[0]}, …' (--columns)" if len(used) > min(widths(space)) else ""
    elif space is not None:
        what = {"landmarks": "landmarks a record has (--landmarks)", "matrices": "rows a matrix has (--size)"}
        message += f"; if these are {space.kind}, say how many {what.get(space.kind, '')}"
    for name in table.columns:
        column = table.columns[name]
        if name not in used and column.dtype.kind == "U" and is_number(column[0].strip() or "-", True):
            try:
                table.numbers(name)
            except FileError as error:
                return f"{message}; {error}"
    return message
