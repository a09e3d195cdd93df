"""What the columns of a table hold: their names say it (landmarks, entries of matrices, angles), or else their number."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import Fix
from ..spaces import GLOBE, Space
from ..spaces.family import Family
from .arrays import QUATERNIONS, arrange, fits, landmarks, layout_named, layouts_of, needs, widths
from .base import AmbiguousError, Dataset, FileError, Wanted, listed, measured, shown
from .curves import outlines
from .labels import spelled
from .lines import is_number
from .table import Table

Matches = list[dict[str, dict[str, list[str]]]]  # for each pattern: the columns by its groups "set" and "part"

# fmt: off
_LANDMARK = (
    r"(?P<part>[xyz])[._ -]?(?P<set>[0-9]+)",  # x1, y1; X.1
    r"(lm|landmark|point|pt|p)?[._ -]?(?P<set>[0-9]+)[._ -]?(?P<part>[xyz])",  # 1.X, lm1_x
    r"(?P<set>.+)[._ -](?P<part>[xyz])",  # nose_x
)
_ENTRY = (
    r"d?[._ -]?(?P<set>[xyz])(?P<part>[xyz])",  # Dxx, Dxy
    r"(?P<what>[a-z]*)[._ -]?(?P<set>[0-9]+)[._ -]((?P=what)[._ -]?)?(?P<part>[0-9]+)",  # m1_2, roi1_roi2
    r"[a-z]*[._ -]?(?P<set>[0-9])(?P<part>[0-9])",  # c12: only if the space says matrices
)
_QUATERNION = (
    r"(?P<set>.*?)[._ -]?(?P<part>[wxyz])",  # qw, qx; Quat_W; orientation.w
    r"(?P<set>q(uat(ernion)?)?)[._ -]?(?P<part>[0123])",
    r"(?P<set>q(uat(ernion)?)?)[._ -]?(?P<part>[rijk])",
)
_PARTS = ("wxyz", "0123", "rijk")  # of a quaternion, in the order of its numbers
_SPECIMEN = r"(specimen|individual|subject|record|sample|shape|name|id)s?([._ -]?(id|name|no|number))?"
_POINT = r"(landmark|lm|point|coord|vertex)s?([._ -]?(id|name|no|number|index))?|index"
_UNIT = r"([._ -]?[(\[]?(?P<unit>deg.*|dd|north|east|n|e|°|rad(ians?)?)[)\]]?)?"
_ANGLE = (rf"(?P<set>.*[._ -]|decimal|rec|)lat(itude)?{_UNIT}",
          rf"(?P<set>.*[._ -]|decimal|rec|)(lon|lng)(g|gitude|itude)?{_UNIT}")
_ANGLES = {  # other names of angles: those that two fields use with another meaning are asked about
    "declination": "dec", "dec": "dec", "de": "dec", "inclination": "inc", "inc": "inc", "ra": "ra",
    "right ascension": "ra", "right_ascension": "ra",
    **dict.fromkeys(["theta", "phi", "az", "azimuth", "alt", "altitude", "el", "elevation", "colat", "colatitude", "trend",
                     "plunge", "strike", "dip"], "?"),
}
# fmt: on
_RISING = {"plunge", "el", "elevation", "alt", "altitude"}  # those of them that are like a latitude
_LENGTH = re.compile(r"(?<=^[xyz])[._ -]*[(\[]?(mm|cm|m|um|µm|μm|px|pixels?)[)\]]?$")  # X (mm)
_IDENTIFIER = re.compile(rf"|unnamed: 0|row|rownames|index|{_SPECIMEN}|.*[._ -]id")
_ALONE = ("x y z", "column 1 column 2 column 3", "v1 v2 v3")  # columns that may be all landmarks of one specimen
_EULER = re.compile(r"(euler|rot|rotation)?[._ -]?(roll|pitch|yaw|heading|alpha|beta|gamma|phi|theta|psi)|euler.*")
_HOURS = 24  # right ascensions up to this may be hours


class Rule(NamedTuple):
    """Columns whose names match the patterns hold points of a kind; ``build`` returns None where they do not."""

    patterns: tuple[str, ...]
    kind: str
    build: Callable[[Table, Wanted, Matches], Dataset | None]


def read_table(table: Table, space: Wanted = None) -> Dataset:
    """Return the points of a table, by the names of its columns or else by their number."""
    if len(table) == 0:
        raise FileError("holds no records")
    if table.choice.columns:
        return _chosen(table, space)
    for rule in RULES:
        if space is None or rule.kind in (space.kind, "any"):
            records = rule.build(table, space, [_matched(table, pattern) for pattern in rule.patterns])
            if records is not None:
                return records
    return _in_order(table, space)


def _matched(table: Table, pattern: str) -> dict[str, dict[str, list[str]]]:
    """Return the columns whose names match a pattern, by its groups "set" and "part" where it has them."""
    columns: dict[str, dict[str, list[str]]] = {}
    for name in table.columns:
        match = re.fullmatch(pattern, name.lower())
        if match:
            groups = match.groupdict()
            columns.setdefault(groups.get("set", ""), {}).setdefault(groups.get("part", ""), []).append(name)
    return columns


# -- columns that the user names --------------------------------------------------------------------------------------------
def _chosen(table: Table, space: Wanted) -> Dataset:
    """Return the points from the columns that the user names."""
    taken = _taken(table)
    columns = {meaning: table.columns[name] for meaning, name in taken.items()}
    records = read_table(replace(table, columns=columns, choice=table.choice._replace(columns=()), chosen=True), space)
    labels = {} if len(records) != len(table) else table.labels(list(taken.values()))
    renamed = [taken[meaning] for meaning in records.degrees or () if taken.get(meaning, meaning) != meaning]
    small = not any((np.abs(table.numbers(name)) > 2 * np.pi).any() for name in renamed)
    if len(renamed) == 2 and small and not any(map(_unit, taken)):  # as small as radians
        lat, lon = renamed
        degrees, radians = (Fix("columns", f"lat_{unit}={lat}, lon_{unit}={lon}") for unit in ("deg", "rad"))
        question = f"no value of the columns {lat} and {lon} is above 2π: are they degrees or radians? Say "
        raise FileError(question, degrees, " or ", radians)
    words = ", ".join(name if meaning == name else f"{name} as {meaning}" for meaning, name in taken.items())
    names = tuple(taken.get(meaning, meaning) for meaning in records.names)
    return replace(records, labels=labels | records.labels, source=f"the columns {words}", names=names)


def _taken(table: Table) -> dict[str, str]:
    """Return the columns that the user names, by what each is to be read as: {"lat": "theta"} for lat=theta."""
    by_name = table.by_lower | {name: name for name in table.columns}
    taken: dict[str, str] = {}
    for word in table.choice.columns:
        meaning, sign, name = (part.strip() for part in word.partition("="))
        if not sign or word in by_name or word.lower() in by_name:
            name = word
            meaning = by_name.get(word) or by_name.get(word.lower(), word)
        column = by_name.get(name) or by_name.get(name.lower())
        if column is None:
            raise FileError(f"there is no column {shown(name)}; it has {listed(list(table.columns), 20)}")
        if column in taken.values() or meaning in taken:
            raise FileError(f"the column {shown(name)} is given twice")
        taken[meaning] = column
    return taken


# -- columns of which only the number is known -------------------------------------------------------------------------------
def _in_order(table: Table, space: Wanted) -> Dataset:
    """Return the points from columns named as components, or else from all columns of numbers."""
    named: list[str] = []
    if space is not None and space.kind == "vectors" and globe(space) is not None:  # x, y, z before all others
        named = components(table, next(iter(space.layouts.values()))[0] if isinstance(space, Space) else None)
    used = named or _numeric(table, space)
    if not used:
        raise FileError(f"holds no columns of numbers, only {listed(list(table.columns))}")
    numbers = table.stacked(used)
    try:
        reading = arrange(numbers, space)
    except FileError:
        raise _misfit(table, used, space) from None
    points = reading.points
    note = ("" if reading.kind == "vectors" else f", {reading.layout}") + layout_named(space, points.shape[1:])
    if len(points) == len(table):
        names = tuple(used) if len(used) == points[0].size else ()
        return table.records(points, reading.kind, used, note, sure=bool(named), names=names)
    # the rows are those of a single point, and nothing is said of each record
    plain = any(whole.startswith(" ".join(used).lower()) for whole in _ALONE)
    if reading.kind == "landmarks" and not isinstance(space, Space) and not plain:
        raise _misfit(table, used, space)
    return Dataset(points, reading.kind, source=f"the columns {listed(used, 12)}{note}", sure=False)


def _numeric(table: Table, space: Wanted) -> list[str]:
    """Return the columns of numbers, without those named as identifiers unless the space needs them."""
    numeric = [name for name in table.columns if table.is_numeric(name)]
    plain = [name for name in numeric if not _IDENTIFIER.fullmatch(name.lower()) or table.chosen]
    fitting = widths(space) if isinstance(space, Space) else set()
    return numeric if len(numeric) in fitting and len(plain) not in fitting else plain


def _misfit(table: Table, used: list[str], space: Wanted) -> FileError:
    """Return an error that says why the columns of numbers are not points of the space, and what would help."""
    count = len(used)
    parts: list[str | Fix] = [f"holds {count} columns of numbers ({listed(used)})"]
    if isinstance(space, Space):
        parts.append(f"; {space} needs {' or '.join(map(str, sorted(widths(space))))}")
        if space.from_degrees is not None:
            parts.append(", or two named lat and lon, in degrees")
        if count > min(widths(space)):
            parts += ["; say which, as ", Fix("columns", f"{used[0]}, …")]
        if space.kind == "landmarks" and count in (2, 3):
            parts.append("; if each row is a landmark, add a column 'specimen' that says of which specimen")
    elif space is not None:
        parts += _sizes(count, space)
    taken = set(used)
    for name, column in table.columns.items():
        if name not in taken and column.dtype.kind == "U" and is_number(column[0].strip() or "-", True):
            try:
                table.numbers(name)
            except FileError as error:
                return FileError(*parts, "; ", *error.parts)
    return FileError(*parts)


def _sizes(columns: int, space: Family) -> list[str | Fix]:
    """Return a question for the size of the space, with the one that so many columns of numbers would have."""
    question = f"; if these are {space.kind}, say how many "
    if space.kind == "landmarks":
        dim = space.of.landmark_dim or 2
        return [f"{question}landmarks a record has, as ", Fix("landmarks", max(3, columns // dim))]
    if space.kind == "matrices":
        size = next((k for k in range(2, columns) if columns in (k * k, k * (k + 1) // 2)), 3)
        return [f"{question}rows a matrix has, as ", Fix("size", size)]
    return [f"; give the size of the space, as {space.of.__name__}(…)"]


# -- landmarks --------------------------------------------------------------------------------------------------------------
def wide(table: Table, space: Wanted, matches: Matches) -> Dataset | None:
    """Return landmarks from one row a specimen, columns such as x1, y1; None without three pairs of such names."""
    # an x without a y may be any column, as an x in a table of regressors; three pairs are landmarks
    enough = [columns for columns in matches if sum({"x", "y"} <= axes.keys() for axes in columns.values()) >= 3]
    if not enough:
        return None
    columns = enough[0]
    every = _axes(columns)
    by_number = all(re.fullmatch(r"[0-9]{1,18}", name) for name in columns)
    names = sorted(columns, key=int) if by_number else list(columns)
    used = [columns[name][axis][0] for name in names for axis in every]
    points = table.stacked(used).reshape(len(table), len(names), len(every))
    return landmarks(table.records(points, "landmarks", used, landmarks=tuple(names)), space)


def _axes(columns: dict[str, dict[str, list[str]]]) -> str:
    """Return the axes that every landmark has, "xy" or "xyz"; refuse one that a landmark lacks or has twice."""
    if any(len(names) > 1 for axes in columns.values() for names in axes.values()):
        raise FileError("two columns hold the same coordinate, their names alike but for capitals or dots")
    every = "xyz" if any("z" in axes for axes in columns.values()) else "xy"
    for axes in columns.values():
        lacking = [axis for axis in every if axis not in axes]
        if lacking:
            raise FileError(f"column {next(iter(axes.values()))[0]!r} has no {lacking[0]} beside it")
    return every


def traced(table: Table, space: Wanted, matches: Matches) -> Dataset | None:
    """Return the outline of a file of x and y alone, a row for each point; None unless it is to be resampled."""
    used = _numeric(table, space) if isinstance(table.choice.curves, int) else []
    if len(used) != 2 or not any(whole.startswith(" ".join(used).lower()) for whole in _ALONE):
        return None
    made = outlines([table.stacked(used)], (), f"the columns {', '.join(used)} of one outline")
    return landmarks(made.records(table.choice), space)


def long(table: Table, space: Wanted, matches: Matches) -> Dataset | None:
    """Return landmarks from one row a landmark: columns specimen, landmark, x, y and perhaps z; None without such names."""
    by_name = {_LENGTH.sub("", lower): name for lower, name in table.by_lower.items()} | table.by_lower
    specimen, point = (next(iter(columns.get("", {}).get("", [])), None) for columns in matches)
    if not {"x", "y"} <= by_name.keys() or not _is_long(table, space, specimen, point):
        return None
    solid = "z" in by_name and not np.isnan(table.numbers(by_name["z"])).all()
    used = [by_name[axis] for axis in ("xyz" if solid else "xy")]
    if point is None and len(used) == 3 and space is None:
        several = f"each {specimen} has several rows x, y, z, which may be landmarks or vectors"
        raise FileError(f"{several}: give the space, or a column 'landmark'")
    rows = _rows_by_specimen(table, table.columns.get(specimen or "", np.zeros(len(table))), point)
    points = table.stacked(used)[rows]
    marks: list[Any] = []
    if point is not None:
        marks = table.columns[point][rows[0]].tolist()
        used.append(point)
    note = f", a row for each of {rows.shape[1]} landmarks" + (f" of a {specimen}" if specimen else "")
    first = table.take(rows[:, 0], _varying(table, rows, used))
    return landmarks(first.records(points, "landmarks", used, note, names=(), landmarks=tuple(map(str, marks))), space)


def _is_long(table: Table, space: Wanted, specimen: str | None, point: str | None) -> bool:
    """Tell whether a table has a row for each landmark; refuse one that does not say of which specimen each is."""
    if specimen is not None:  # one row each: vectors
        return point is not None or len(np.unique(table.columns[specimen])) < len(table)
    if point is None or point.lower() == "index":
        return False
    if len(np.unique(table.columns[point])) < len(table):
        raise FileError(
            f"several rows have the same {point}, but no column is named specimen: say which tells the specimens apart, as ",
            Fix("columns", f"specimen=…, {point}, x, y"),
        )
    return space is not None  # all landmarks of a single specimen


def _varying(table: Table, rows: NDArray[np.intp], used: list[str]) -> Iterator[str]:
    """Yield the columns that are not the same in all rows of a specimen; refuse one that is the same in most specimens, a
    label with a mistake in it: without it, nobody would be asked whose records they are."""
    for name, column in table.columns.items():
        forms = np.array([spelled(value) for value in column.tolist()])[rows]
        same = (forms == forms[:, :1]).all(axis=1)
        if name not in used and 0.5 <= same.mean() < 1:
            record = int(np.argmin(same))
            where = table.where(int(rows[record][np.argmax(forms[record] != forms[record, 0])]))
            differs = f"{where}: column {shown(name)} differs within one specimen (record {record})"
            raise FileError(f"{differs}: make it the same in all rows of the specimen, or leave the column out")
        if not same.all():
            yield name


def _ranks(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct values of a column as they come, the first row of each, and for each row which one it has."""
    values, first, group = np.unique(column, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return values[order], first[order], np.argsort(order)[group]


def _rows_by_specimen(table: Table, groups: NDArray[Any], point: str | None) -> NDArray[np.intp]:
    """Return the rows of each specimen, (n, k), in the order of its landmarks: by number, or by name as the file has it."""
    names, first, rank = _ranks(groups)
    counts = np.bincount(rank)
    for other in np.flatnonzero(counts != counts[0]).tolist():
        has, needed = (f"specimen {shown(str(names[i]))} has {counts[i]}" for i in (other, 0))
        where = f"record {other} ({table.where(int(first[other]))})"
        raise FileError(f"{where}: {has} landmarks, but {needed}; write a row with NA for one that is missing")
    if point is None:
        return np.argsort(rank, kind="stable").reshape(len(names), counts[0])
    places: NDArray[Any] = table.numbers(point) if table.is_numeric(point) else _ranks(table.columns[point])[2]
    rows: NDArray[np.intp] = np.lexsort((np.arange(len(table)), places, rank)).reshape(len(names), counts[0])
    places = places[rows]
    marks = table.columns[point][rows]
    for i, j in np.argwhere(places[:, 1:] == places[:, :-1]):
        where = table.where(int(rows[i, j + 1]))
        raise FileError(f"{where}: a second landmark {shown(str(marks[i, j + 1]))} in one specimen (record {i})")
    for i, j in np.argwhere(places != places[0]):
        own, other = (shown(str(marks[k, j])) for k in (i, 0))
        where = table.where(int(rows[i, j]))
        raise FileError(f"{where}: record {i} has landmark {own} where the first specimen has {other}")
    return rows


# -- matrices and rotations --------------------------------------------------------------------------------------------------
def entries(table: Table, space: Wanted, matches: Matches) -> Dataset | None:
    """Return matrices from columns named by row and column; half of a symmetric matrix is enough, without a known diagonal."""
    diagonal = None if space is None else (space if isinstance(space, Space) else space.of).fixed_diagonal
    whole = (_whole(columns, diagonal is not None) for columns in matches[: 2 if space is None else 3])
    columns = next(filter(None, whole), {})
    used = list(columns.values())
    if not used or "" in used:
        return None
    rows, places = np.array(list(columns)).T
    matrices = np.full((len(table), max(rows) + 1, max(rows) + 1), diagonal or 0.0)
    matrices[:, rows, places] = table.stacked(used)
    if not fits("matrices", matrices.shape[1:], space):
        raise FileError(f"holds matrices {matrices.shape[1:]}; {needs(space)}")
    return table.records(matrices, "matrices", used)


def _whole(columns: dict[str, dict[str, list[str]]], known: bool) -> dict[tuple[int, int], str]:
    """Return the column of every entry, on the diagonal too unless that is ``known`` and no entry is given on both sides;
    nothing if an entry has no column, empty names if one has two."""
    named = {(row, place): names[-1] for row, own in columns.items() for place, names in own.items()}
    indices = sorted({index for pair in named for index in pair}, key=lambda index: (len(index), index))
    bare = known and not any((j, i) in named for i, j in named)
    both = [(i, j) for i in indices for j in indices if i != j or not bare]
    used = {(indices.index(i), indices.index(j)): named.get((i, j), named.get((j, i), "")) for i, j in both}
    names = set(used.values())
    if len(indices) < 2 or "" in names:
        return {}
    return used if len(names) == len(named) else dict.fromkeys(used, "")


def quaternions(table: Table, space: Wanted, matches: Matches) -> Dataset | None:
    """Return points (w, x, y, z) from columns named as the parts of a quaternion, in any order.  Names that do not begin with
    q mean that only where the space takes quaternions; where it is not known and most rows have length one, it is asked for."""
    takes = QUATERNIONS in layouts_of(space, (4,))
    if space is not None and not takes:
        return None
    whole: list[list[str]] = []
    for columns, parts in zip(matches, _PARTS, strict=True):
        sets = {of: [own[part][-1] for part in parts] for of, own in columns.items() if len(own) == 4}
        whole += [names for of, names in sets.items() if takes or _is_quaternion(table, of, names)]
    if len(whole) > 1:
        several = " or ".join(", ".join(names) for names in whole)
        choice = Fix("columns", ", ".join(whole[0]))
        raise FileError(f"holds several quaternions in a row: {several}; say which, as ", choice)
    if not whole:
        _refuse_euler(table, space)
        return None
    note = layout_named(space, (4,)) or ", as quaternions, scalar first (w, x, y, z)"
    return table.records(table.stacked(whole[0]), "vectors", whole[0], note, quaternions=True)


def _refuse_euler(table: Table, space: Wanted) -> None:
    """Refuse three columns named as Euler angles, where the space takes quaternions."""
    angles = [name for name in table.columns if _EULER.fullmatch(name.lower())]
    if space is not None and len(angles) == 3:
        words = "are named as Euler angles, about axes and in an order that only their maker knows: turn them into"
        raise FileError(f"the columns {', '.join(angles)} {words} quaternions qw, qx, qy, qz first")


def _is_quaternion(table: Table, of: str, names: list[str]) -> bool:
    """Tell whether columns begin with q; refuse others that may be quaternions, as most rows have length one."""
    if of.startswith("q") or not all(map(table.is_numeric, names)):
        return of.startswith("q")
    if np.mean(np.abs(np.linalg.norm(table.stacked(names), axis=1) - 1) < 1e-3) >= 0.5:
        question = f"the columns {', '.join(names)} may be quaternions or vectors: name the space, as "
        raise AmbiguousError(question, Fix("space", "rotations"), " or ", Fix("space", "euclidean"))
    return False


# -- directions ---------------------------------------------------------------------------------------------------------------
def latitudes(table: Table, space: Wanted, matches: Matches) -> Dataset | None:
    """Return vectors from latitude and longitude in degrees."""
    place = globe(space)
    if place is None or place.from_degrees is None:
        return None
    names = _angles(table, space, matches)
    if names is None:
        return None
    radians = any(_unit(name).startswith("rad") for name in names)
    values = [np.degrees(table.numbers(name)) if radians else table.numbers(name) for name in names]
    for column, name, most in zip(values, names, (90, 360), strict=True):
        for row in np.flatnonzero(np.abs(column) > most).tolist():
            wrong = f"{table.where(row)}: column {name!r}: {column[row]:g} is beyond ±{most} degrees"
            turned = Fix("columns", f"lat={names[1]}, lon={names[0]}")
            code = ("), or does it stand for a missing value (", Fix("missing", measured(column[row])), ")?")
            raise FileError(f"{wrong}; are the two exchanged (", turned, *code)
    note = ", in radians" if radians else ", in degrees"
    degrees = ("lat", "lon") if radians else names
    return table.records(place.from_degrees(*values), place.kind, list(names), note, degrees=degrees)


def _unit(name: str) -> str:
    """Tell the unit that the name of a latitude or longitude ends with; empty if it has none."""
    match = re.fullmatch(_ANGLE[0], name.lower()) or re.fullmatch(_ANGLE[1], name.lower())
    return (match["unit"] or "") if match else ""


def globe(space: Wanted) -> Space | None:
    """Return the space whose points may come as latitude and longitude: the one named, or all that can be meant."""
    if isinstance(space, Space):
        return space
    usual = GLOBE if space is None else space.usual()
    return usual if usual is not None and usual.from_degrees is not None else None


def _angles(table: Table, space: Wanted, matches: Matches) -> tuple[str, str] | None:
    """Return the columns of latitude and longitude; ask where angles have names that do not say which is which."""
    lats, lons = ({prefix: own[""] for prefix, own in columns.items()} for columns in matches)
    whole = [(lat[0], lons[prefix][0]) for prefix, lat in lats.items() if len(lat) == len(lons.get(prefix, ())) == 1]
    # a text among the numbers of one is an error; two columns of texts are something else
    if len(whole) == 1 and (space is not None or any(map(table.is_numeric, whole[0]))):
        return whole[0]
    if space is None:
        return None
    known = {name for some in (lats, lons) for names in some.values() for name in names}
    return _other_angles(table, [name for name in table.columns if name in known or name.lower() in _ANGLES])


def _other_angles(table: Table, angles: list[str]) -> tuple[str, str] | None:
    """Return the columns of two angles that a field names in its own way; ask about others."""
    by_role = {_ANGLES[name.lower()]: name for name in angles if name.lower() in _ANGLES}
    roles = sorted(_ANGLES.get(name.lower(), "") for name in angles)
    if roles == ["dec", "inc"]:  # palaeomagnetic: down and clockwise from north
        return by_role["inc"], by_role["dec"]
    if roles == ["dec", "ra"] and (table.settled or (np.abs(table.numbers(by_role["ra"])) > _HOURS).any()):
        return by_role["dec"], by_role["ra"]
    if len(angles) < 2 or components(table, 3):
        return None
    if "dip" in {name.lower() for name in angles}:
        raise FileError(
            f"the columns {listed(angles)} are those of planes: give the pole of each plane, in columns lat = 90 − dip and "
            "lon = strike − 90 (the dip being on the right of the strike), in degrees"
        )
    angles = sorted(angles, key=lambda name: name.lower() not in _RISING)
    asked = f"the columns {listed(angles)} are angles, but which is the latitude and which the longitude? Say "
    raise FileError(asked, Fix("columns", f"lat={angles[0]}, lon={angles[1]}"), " (in degrees), or the other way round")


def components(table: Table, size: int | None) -> list[str]:
    """Return the columns named as the components of a vector, among others that are not: x, y, z; x1, x2, …; v1, v2, …"""
    by_name = table.by_lower
    most = len(by_name) if size is None else size
    for letter, least in (("", 3), ("x", 2), ("v", 2)):
        names = [f"{letter}{i}" for i in range(1, most + 1)] if letter else list("xyz"[:most])
        present = [by_name[name] for name in takewhile(by_name.__contains__, names)]
        if len(present) >= (size or least):
            return present
    return []


RULES = (
    Rule((), "landmarks", traced),
    Rule((_SPECIMEN, _POINT), "landmarks", long),
    Rule(_LANDMARK, "landmarks", wide),
    Rule(_QUATERNION, "any", quaternions),
    Rule(_ENTRY, "matrices", entries),
    Rule(_ANGLE, "vectors", latitudes),
)
