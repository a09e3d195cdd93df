"""What the columns of a table hold: their names say it (landmarks, entries of matrices, angles), or else their number."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spaces import GLOBE, Space
from ..spaces.base import Array
from .arrays import arrange, fits, landmarks, layout_named, needs, shapes_of, widths
from .base import FileError, Found, Wanted, listed, shown
from .lines import is_number
from .table import Table

_LANDMARK = [
    re.compile(r"(?P<axis>[xyz])[._ -]?(?P<name>[0-9]+)"),  # x1, y1; X.1
    re.compile(r"(lm|landmark|point|pt|p)?[._ -]?(?P<name>[0-9]+)[._ -]?(?P<axis>[xyz])"),  # 1.X, lm1_x
    re.compile(r"(?P<name>.+)[._ -](?P<axis>[xyz])"),  # nose_x
]
_TENSOR = re.compile(r"d?[._ -]?(?P<row>[xyz])(?P<column>[xyz])")  # Dxx, Dxy
_ENTRY = re.compile(
    r"(?P<what>[a-z]*)[._ -]?(?P<row>[0-9]+)[._ -]((?P=what)[._ -]?)?(?P<column>[0-9]+)"
)  # m1_2, roi1_roi2
_SHORT_ENTRY = re.compile(r"[a-z]*[._ -]?(?P<row>[0-9])(?P<column>[0-9])")  # c12: only if the space says matrices
_SPECIMEN = re.compile(r"(specimen|individual|subject|record|sample|shape|name|id)s?([._ -]?(id|name|no|number))?")
_POINT = re.compile(r"(landmark|lm|point|coord|vertex)s?([._ -]?(id|name|no|number|index))?|index")
_UNIT = r"([._ -]?[(\[]?(?P<unit>deg.*|dd|north|east|n|e|°|rad(ians?)?)[)\]]?)?"
_LATITUDE = re.compile(rf"(?P<prefix>.*[._ -]|decimal|rec|)lat(itude)?{_UNIT}")
_LONGITUDE = re.compile(rf"(?P<prefix>.*[._ -]|decimal|rec|)(lon|lng|long)(gitude|itude)?{_UNIT}")
_ANGLES = {  # other names of angles: those that two fields use with another meaning are asked about
    "declination": "dec", "dec": "dec", "de": "dec", "inclination": "inc", "inc": "inc", "ra": "ra",
    "right ascension": "ra", "right_ascension": "ra",
    **dict.fromkeys(["theta", "phi", "az", "azimuth", "alt", "altitude", "el", "elevation", "colat", "colatitude", "trend",
                     "plunge", "strike", "dip"], "?"),
}  # fmt: skip
_RISING = {"plunge", "el", "elevation", "alt", "altitude"}  # those of them that are like a latitude
_LENGTH = re.compile(r"(?<=^[xyz])[._ -]*[(\[]?(mm|cm|m|um|µm|μm|px|pixels?)[)\]]?$")  # X (mm)
_IDENTIFIER = re.compile(rf"|unnamed: 0|row|rownames|index|{_SPECIMEN.pattern}|.*[._ -]id")
_ALONE = ("x y z", "column 1 column 2 column 3", "v1 v2 v3")  # columns that may be all landmarks of one specimen
_QUATERNION = [  # qw, qx; Quat_W; orientation.w; or by other letters
    (re.compile(r"(?P<set>.*?)[._ -]?(?P<part>[wxyz])"), "wxyz"),
    (re.compile(r"(?P<set>q(uat(ernion)?)?)[._ -]?(?P<part>[0123])"), "0123"),
    (re.compile(r"(?P<set>q(uat(ernion)?)?)[._ -]?(?P<part>[rijk])"), "rijk"),
]
_EULER = re.compile(r"(euler|rot|rotation)?[._ -]?(roll|pitch|yaw|heading|alpha|beta|gamma|phi|theta|psi)|euler.*")
_HOURS = 24  # right ascensions up to this may be hours


def read_table(table: Table, space: Wanted = None) -> Found:
    """Points by the names of the columns, or else by their number."""
    if len(table) == 0:
        raise FileError("holds no records")
    if table.choice.columns:
        return _chosen(table, space)
    rules = (rule for rule, kind in RULES.items() if space is None or space.kind == kind or kind == "any")
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
    renamed = [taken[name] for name in found.degrees or () if taken.get(name, name) != name]
    if len(renamed) == 2 and not any(map(_unit, taken)):
        _ask_unit(table, *renamed)
    return found._replace(labels={**beside, **found.labels}, source=f"the columns {words}", names=names)


def _ask_unit(table: Table, lat: str, lon: str) -> None:
    """Refuse angles that the user named and whose numbers are as small as radians."""
    if not any((np.abs(table.numbers(name)) > 2 * np.pi).any() for name in (lat, lon)):
        raise FileError(
            f"no value of the columns {lat} and {lon} is above 2π: are they degrees or radians? Say "
            f"columns='lat_deg={lat}, lon_deg={lon}' or columns='lat_rad={lat}, lon_rad={lon}' (--columns)"
        )


def _in_order(table: Table, space: Wanted) -> Found:
    """Columns named as components, or else all numeric ones, without those named as identifiers unless the space needs them."""
    numeric = [name for name in table.columns if table.is_numeric(name)]
    plain = [name for name in numeric if not _IDENTIFIER.fullmatch(name.lower()) or table.chosen]
    fitting = widths(space) if isinstance(space, Space) else set()
    used = numeric if len(numeric) in fitting and len(plain) not in fitting else plain
    named: list[str] = []
    if space is not None and space.kind == "vectors" and globe(space) is not None:  # x, y, z before all others
        named = components(table, shapes_of(space)[0][0] if isinstance(space, Space) else None)
    used = named or used
    if not used:
        raise FileError(f"holds no columns of numbers, only {listed(list(table.columns))}")
    numbers = table.stacked(used)
    try:
        kind, layout, points = arrange(numbers, space)
    except FileError:
        raise FileError(_misfit(table, used, space)) from None
    told = table.told(used)
    told["source"] += (f", {layout}" if kind != "vectors" else "") + layout_named(space, points.shape[1:])
    if len(points) != len(table):  # the rows can be those of a single point: then nothing is said of each record
        if layout == "one specimen" and not any(whole.startswith(" ".join(used).lower()) for whole in _ALONE):
            raise FileError(_misfit(table, used, space))
        return Found(points, kind, {}, told["source"], sure=False)
    names = told["names"] if len(used) == points[0].size else ()
    return Found(points, kind, table.labels(used), **{**told, "names": names}, sure=bool(named))


def _misfit(table: Table, used: list[str], space: Wanted) -> str:
    message = f"holds {len(used)} columns of numbers ({listed(used)})"
    if isinstance(space, Space):
        message += f"; {space} needs {' or '.join(map(str, sorted(widths(space))))}"
        if space.from_degrees is not None:
            message += ", or two named lat and lon, in degrees"
        message += f"; say which, as columns='{used[0]}, …' (--columns)" if len(used) > min(widths(space)) else ""
        if space.kind == "landmarks" and len(used) in (2, 3):
            message += "; if each row is a landmark, add a column 'specimen' that says of which specimen"
    elif space is not None:
        what = {"landmarks": "landmarks a record has (--landmarks)", "matrices": "rows a matrix has (--size)"}
        message += f"; if these are {space.kind}, say how many {what.get(space.kind, '')}"
    for name in table.columns.keys() - set(used):
        column = table.columns[name]
        if column.dtype.kind == "U" and is_number(column[0].strip() or "-", True):
            try:
                table.numbers(name)
            except FileError as error:
                return f"{message}; {error}"
    return message


# -- columns whose names say what they are --------------------------------------------------------------------------------
def wide(table: Table, space: Wanted) -> Found | None:
    """One row a specimen, columns such as x1, y1."""
    for pattern in _LANDMARK:
        found: dict[str, dict[str, str]] = {}
        matches = [(name, match) for name in table.columns if (match := pattern.fullmatch(name.lower()))]
        for name, match in matches:
            found.setdefault(match["name"], {})[match["axis"]] = name
        # an x without a y may be any column, as an x in a table of regressors; three pairs are landmarks
        if sum({"x", "y"} <= set(axes) for axes in found.values()) >= 3:
            break
    else:
        return None
    if sum(map(len, found.values())) != len(matches):
        raise FileError("two columns hold the same coordinate, their names alike but for capitals or dots")
    every = "xyz" if any("z" in axes for axes in found.values()) else "xy"
    for axes in found.values():
        if len(axes) != len(every):
            lacking = next(axis for axis in every if axis not in axes)
            raise FileError(f"column {next(iter(axes.values()))!r} has no {lacking} beside it")
    by_number = all(re.fullmatch(r"[0-9]{1,18}", name) for name in found)
    names = sorted(found, key=int) if by_number else list(found)
    used = [found[name][axis] for name in names for axis in every]
    points = table.stacked(used).reshape(len(table), len(names), len(every))
    return landmarks(points, table.labels(used), space, **table.told(used), landmarks=tuple(names))


def long(table: Table, space: Wanted) -> Found | None:
    """One row a landmark: columns specimen, landmark, x, y and perhaps z."""
    by_name = {name.lower(): name for name in table.columns}
    by_name = {_LENGTH.sub("", name): own for name, own in by_name.items()} | by_name
    specimen = next((by_name[name] for name in by_name if name and _SPECIMEN.fullmatch(name)), None)
    point = next((by_name[name] for name in by_name if _POINT.fullmatch(name) and by_name[name] != specimen), None)
    if not {"x", "y"} <= set(by_name) or (specimen is None and (point is None or point.lower() == "index")):
        return None
    if specimen is None and (specimen := _divides(table, str(point), space is not None)) is None:
        return None
    names, first, rank = _ranks(table.columns[specimen] if specimen else np.zeros(len(table)))
    if point is None and len(names) == len(table):
        return None  # one point each: vectors
    axes = "xyz" if "z" in by_name and not np.isnan(table.numbers(by_name["z"])).all() else "xy"
    if point is None and axes == "xyz" and space is None:
        raise FileError(
            f"each {specimen} has several rows x, y, z, which may be landmarks or vectors: give the space, or a column "
            "'landmark'"
        )
    counts = np.bincount(rank)
    for other in np.flatnonzero(counts != counts[0]).tolist():
        has, needed = (f"specimen {shown(str(names[i]))} has {counts[i]}" for i in (other, 0))
        raise FileError(f"record {other} ({table.where(int(first[other]))}): {has} landmarks, but {needed}")
    place = np.zeros(len(table)) if point is None else _places(table, point)
    rows = np.lexsort((np.arange(len(table)), place, rank)).reshape(len(names), counts[0])
    if point is not None:
        _check_places(table, place[rows], rows, table.columns[point])
    used = [*(by_name[axis] for axis in axes), *([point] if point is not None else [])]
    points = np.stack([table.numbers(name)[rows] for name in used[: len(axes)]], axis=-1)
    constant = {name for name, column in table.columns.items() if (column[rows] == column[rows[:, :1]]).all()}
    labels = table.labels([*used, *(set(table.columns) - constant)], rows[:, 0])
    source = f"the columns {', '.join([*filter(None, [specimen]), *used])}, a row for each of {counts[0]} landmarks"
    lines = tuple(table.lines[row] for row in rows[:, 0]) if table.lines else ()
    own = tuple(map(str, table.columns[point][rows[0]].tolist())) if point is not None else ()
    return landmarks(points, labels, space, source, lines=lines, landmarks=own)


def _divides(table: Table, point: str, landmarks: bool) -> str | None:
    """Name of the column that groups rows into specimens, each landmark once per specimen; "" if no column is needed, where the
    rows are known to be landmarks."""
    places, most = _ranks(table.columns[point])[2], len(np.unique(table.columns[point]))
    if landmarks and most == len(table):
        return ""
    found = []
    for name in table.columns:
        names, _, rank = _ranks(table.columns[name])
        pairs = len(np.unique(rank * most + places))
        if name != point and pairs == len(table) and most > 2 and len(names) > 1 and len(names) * most == len(table):
            found.append(name)
    return found[0] if len(found) == 1 else None


def _places(table: Table, point: str) -> Array:
    """Where a landmark comes in its specimen: by number, or by name in the order of the file."""
    return table.numbers(point) if table.is_numeric(point) else _ranks(table.columns[point])[2].astype(np.float64)


def _ranks(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """The distinct values of a column as they come, the first row of each, and for each row which one it has."""
    values, first, group = np.unique(column, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return values[order], first[order], np.argsort(order)[group]


def _check_places(table: Table, places: Array, rows: NDArray[np.intp], names: NDArray[Any]) -> None:
    for i, j in np.argwhere(places[:, 1:] == places[:, :-1]):
        row = int(rows[i, j + 1])
        raise FileError(f"{table.where(row)}: a second landmark {shown(str(names[row]))} in one specimen (record {i})")
    for i, j in np.argwhere(places != places[0]):
        held, other = (shown(str(names[rows[k, j]])) for k in (i, 0))
        where = table.where(int(rows[i, j]))
        raise FileError(f"{where}: record {i} has landmark {held} where the first specimen has {other}")


def entries(table: Table, space: Wanted) -> Found | None:
    """Columns named by the row and column of a matrix; half of a symmetric matrix is enough, and a known diagonal is not
    needed."""
    diagonal = None if space is None else (space if isinstance(space, Space) else space.of).fixed_diagonal
    for pattern in [_TENSOR, _ENTRY, *([_SHORT_ENTRY] if space is not None else [])]:
        matches = {name: pattern.fullmatch(name.lower()) for name in table.columns}
        found = {(match["row"], match["column"]): name for name, match in matches.items() if match}
        indices = sorted({index for pair in found for index in pair}, key=lambda index: (len(index), index))
        bare = diagonal is not None and not any(
            (j, i) in found for i, j in found
        )  # each pair once, and none twice the same
        both = [(i, j) for i in indices for j in indices if i != j or not bare]
        complete = all((i, j) in found or (j, i) in found for i, j in both)
        if len(indices) >= 2 and complete:
            break
    else:
        return None
    used = [found.get((i, j), found.get((j, i), "")) for i, j in both]
    if len(set(used)) != len(found):
        return None  # two names for one entry
    matrices = np.full((len(table), len(indices), len(indices)), diagonal or 0.0)
    rows, columns = ([indices.index(pair[side]) for pair in both] for side in (0, 1))
    matrices[:, rows, columns] = table.stacked(used)
    if not fits("matrices", matrices.shape[1:], space):
        raise FileError(f"holds matrices {matrices.shape[1:]}; {needs(space)}")
    return Found(matrices, "matrices", table.labels(used), **table.told(used))


def quaternions(table: Table, space: Wanted) -> Found | None:
    """Columns named as the parts of a quaternion, in any order, as points (w, x, y, z); names that do not begin with q mean
    that only where the space takes quaternions beside other things, or is not known and all rows have length one."""
    named = layout_named(space, (4,))
    named = named if "quaternions" in named else ""
    whole: list[list[str]] = []
    for pattern, parts in _QUATERNION if named or space is None else ():
        found: dict[str, dict[str, str]] = {}
        for name in table.columns:
            if match := pattern.fullmatch(name.lower()):
                found.setdefault(match["set"], {})[match["part"]] = name
        sets = {of: [part[letter] for letter in parts] for of, part in found.items() if len(part) == 4}
        whole += [names for of, names in sets.items() if named or of.startswith("q") or _unit_length(table, names)]
    if len(whole) > 1:
        several = " or ".join(", ".join(names) for names in whole)
        raise FileError(f"holds several quaternions in a row: {several}; say which, as --columns {','.join(whole[0])}")
    angles = [name for name in table.columns if _EULER.fullmatch(name.lower())]
    if named and not whole and len(angles) == 3:
        raise FileError(
            f"the columns {', '.join(angles)} are named as Euler angles, about axes and in an order that only their maker "
            "knows: turn them into quaternions qw, qx, qy, qz first"
        )
    if not whole:
        return None
    told = table.told(whole[0])
    told["source"] += named or ", as quaternions, scalar first (w, x, y, z)"
    return Found(table.stacked(whole[0]), "vectors", table.labels(whole[0]), **told, quaternions=True)


def _unit_length(table: Table, names: list[str]) -> bool:
    """Tell whether the rows of some columns have length one, to the digits that people write."""
    if not all(map(table.is_numeric, names)):
        return False
    return bool((np.abs(np.linalg.norm(table.stacked(names), axis=1) - 1) < 1e-3).all())


def latitudes(table: Table, space: Wanted) -> Found | None:
    """Latitude and longitude in degrees, as vectors."""
    place = globe(space)
    if place is None or place.from_degrees is None or (names := _angles(table, space)) is None:
        return None
    values = [table.numbers(name) for name in names]
    if radians := any(_unit(name).startswith("rad") for name in names):
        values = [np.degrees(column) for column in values]
    for column, name, most in zip(values, names, (90, 360), strict=True):
        for row in np.flatnonzero(np.abs(column) > most).tolist():
            raise FileError(
                f"{table.where(row)}: column {name!r}: {column[row]:g} is beyond ±{most} degrees; are the two exchanged "
                f"(--columns lat=…,lon=…), or does it stand for a missing value (--missing {column[row]:g})?"
            )
    told = table.told(list(names))
    told["source"] += ", in radians" if radians else ", in degrees"
    degrees = ("lat", "lon") if radians else names
    return Found(place.from_degrees(*values), place.kind, table.labels(list(names)), **told, degrees=degrees)


def _unit(name: str) -> str:
    """Tell the unit that the name of a latitude or longitude ends with; empty if it has none."""
    match = _LATITUDE.fullmatch(name.lower()) or _LONGITUDE.fullmatch(name.lower())
    return (match["unit"] or "") if match else ""


def globe(space: Wanted) -> Space | None:
    """The space whose points may come as latitude and longitude: the one that is named, or is all that can be meant."""
    if isinstance(space, Space):
        return space
    usual = GLOBE if space is None else space.usual()
    return usual if usual is not None and usual.from_degrees is not None else None


def _angles(table: Table, space: Wanted) -> tuple[str, str] | None:
    """The columns of latitude and longitude; asks where angles have names that do not say which is which."""
    pairs: dict[str, dict[str, list[str]]] = {}
    for pattern, what in ((_LATITUDE, "lat"), (_LONGITUDE, "lon")):
        for name in table.columns:
            if match := pattern.fullmatch(name.lower()):
                pairs.setdefault(match["prefix"], {}).setdefault(what, []).append(name)
    whole = [pair for pair in pairs.values() if list(map(len, pair.values())) == [1, 1]]
    if len(whole) == 1:  # a text among the numbers of one is an error, to be told; two of texts are something else
        names = whole[0]["lat"][0], whole[0]["lon"][0]
        return names if space is not None or any(map(table.is_numeric, names)) else None
    if space is None:
        return None
    others = {name: _ANGLES[name.lower()] for name in table.columns if name.lower() in _ANGLES}
    by_role = {role: name for name, role in others.items()}
    if sorted(others.values()) == ["dec", "inc"]:  # palaeomagnetic: down and clockwise from north
        return by_role["inc"], by_role["dec"]
    if sorted(others.values()) == ["dec", "ra"] and (
        table.settled or (np.abs(table.numbers(by_role["ra"])) > _HOURS).any()
    ):
        return by_role["dec"], by_role["ra"]
    angles = [name for pair in pairs.values() for some in pair.values() for name in some] + list(others)
    if len(angles) > 1 and not components(table, 3):
        if "dip" in {name.lower() for name in angles}:
            raise FileError(
                f"the columns {listed(angles)} are those of planes: give the pole of each plane, in columns lat = 90 − dip and "
                "lon = strike − 90 (the dip being on the right of the strike), in degrees"
            )
        angles = sorted(angles, key=lambda name: name.lower() not in _RISING)
        raise FileError(
            f"the columns {listed(angles)} are angles, but which is the latitude and which the longitude, in degrees? "
            f"Say columns='lat={angles[0]}, lon={angles[1]}' (--columns), or the other way round"
        )
    return None


def components(table: Table, size: int | None) -> list[str]:
    """Columns named as the components of a vector, among others that are not: x, y, z; x1, x2, …; v1, v2, …"""
    by_name = {name.lower(): name for name in table.columns}
    for letter in ("", "x", "v"):
        most = len(by_name) if size is None else size
        names = [f"{letter}{i}" for i in range(1, most + 1)] if letter else list("xyz"[:most])
        if size is None and letter:  # as many as there are
            names = list(takewhile(by_name.__contains__, names))
        if len(names) == (size or max(2, len(names))) and set(names) <= set(by_name):
            return [by_name[name] for name in names]
    return []


# each gives points of that kind, or None where the names do not say so
RULES = {long: "landmarks", wide: "landmarks", quaternions: "any", entries: "matrices", latitudes: "vectors"}
