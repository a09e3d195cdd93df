"""Columns whose names say that they are latitude and longitude, or the components of a vector."""

from __future__ import annotations

import re
from itertools import takewhile

import numpy as np

from ..spaces import GLOBE, Space
from .base import FileError, Found, Wanted, listed
from .table import Table

_UNIT = r"([._ -]?[(\[]?(deg.*|dd|north|east|n|e|°)[)\]]?)?"  # of degrees
_LATITUDE = re.compile(rf"(?P<prefix>.*[._ -]|decimal|rec|)lat(itude)?{_UNIT}")
_LONGITUDE = re.compile(rf"(?P<prefix>.*[._ -]|decimal|rec|)(lon|lng|long)(gitude|itude)?{_UNIT}")
_ANGLES = {  # other names of angles: those that two fields use with another meaning are asked about
    "declination": "dec", "dec": "dec", "de": "dec", "inclination": "inc", "inc": "inc", "ra": "ra",
    "right ascension": "ra", "right_ascension": "ra",
    **dict.fromkeys(["theta", "phi", "az", "azimuth", "alt", "altitude", "el", "elevation", "colat", "colatitude", "trend",
                     "plunge", "strike", "dip", "lat_rad", "lon_rad", "latitude_rad", "longitude_rad"], "?"),
}  # fmt: skip
_HOURS = 24  # right ascensions up to this may be hours


def latitudes(table: Table, space: Wanted) -> Found | None:
    """Latitude and longitude in degrees, as vectors."""
    place = globe(space)
    names = _angles(table, space) if place is not None and place.from_degrees is not None else None
    if place is None or place.from_degrees is None or names is None:
        return None
    values = [table.numbers(name) for name in names]
    for column, name, most in zip(values, names, (90, 360), strict=True):
        beyond = np.flatnonzero(np.abs(column) > most)
        if len(beyond):
            row = int(beyond[0])
            raise FileError(
                f"{table.where(row)}: column {name!r}: {column[row]:g} is beyond ±{most} degrees; are the two exchanged "
                f"(--columns lat=…,lon=…), or does it stand for a missing value (--missing {column[row]:g})?"
            )
    told = table.told(list(names))
    told["source"] += ", in degrees"
    return Found(place.from_degrees(*values), place.kind, table.labels(list(names)), **told, degrees=names)


def globe(space: Wanted) -> Space | None:
    """The space whose points may come as latitude and longitude: the one that is named, or is all that can be meant."""
    if isinstance(space, Space):
        return space
    return GLOBE if space is None or isinstance(GLOBE, space) else None


def _angles(table: Table, space: Wanted) -> tuple[str, str] | None:
    """The columns of latitude and longitude; asks where angles have names that do not say which is which."""
    pairs: dict[str, dict[str, list[str]]] = {}
    for pattern, what in ((_LATITUDE, "lat"), (_LONGITUDE, "lon")):
        for name in table.columns:
            match = pattern.fullmatch(name.lower())
            if match and (space is not None or table.is_numeric(name)):
                pairs.setdefault(match["prefix"], {}).setdefault(what, []).append(name)
    whole = [
        (pair["lat"][0], pair["lon"][0])
        for pair in pairs.values()
        if set(map(len, pair.values())) == {1} and len(pair) == 2
    ]
    if len(whole) == 1:
        return whole[0]
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
        raise FileError(
            f"the columns {listed(angles)} are angles, but which is the latitude and which the longitude, in degrees? "
            f"Say columns='lat={angles[0]}, lon={angles[1]}' (--columns) or the other way round, once they are such"
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
