"""JSON: nested lists of numbers, named arrays, rows of named values, points of GeoJSON, and sfumato's own files."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from .base import AmbiguousError, Contents, FileError, Format
from .labels import column, numbers, strings
from .table import Table

DEEPEST = 8  # lists and objects within each other
OWN = {"sfumato rele": ("value",), "sfumato regi": ("arguments", "center"), "sfumato stud": ("region", "center")}


def read_json(text: str) -> Contents:
    """Return an array as nested lists; or several by name, of which one holds the records; or a list of rows."""
    document = parsed(text)
    form = str(document.get("format", "")) if isinstance(document, dict) else ""
    for key in OWN.get(form[:12], ()):  # where our own formats have a point
        document = document.get(key) if isinstance(document, dict) else None
    return dict(_collect("", document, 0))


def parsed(text: str, hint: str = "") -> Any:
    """Return what a text of JSON holds."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise FileError(f"line {error.lineno}: not JSON: {error.msg}{hint}") from None
    except (RecursionError, ValueError) as error:  # brackets without end, numbers without end
        raise FileError(f"not JSON that can be read: {error}") from None


JSON = Format("JSON", read_json, looks=lambda words: words.lstrip()[:1] in ("[", "{"))


def _collect(name: str, item: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield what could be records, with its path in the document."""
    if isinstance(item, dict):
        item = _rows(item)
    if isinstance(item, dict) and depth < DEEPEST:
        for key, value in item.items():
            yield from _collect(f"{name}${key}" if name else str(key), value, depth + 1)
    elif isinstance(item, list) and item:
        records = _table(item) if all(isinstance(one, dict) for one in item) else _array(item)
        if records is not None:
            yield name, records


def _rows(item: dict[str, Any]) -> dict[str, Any] | list[Any]:
    """Return the rows of GeoJSON's features, or of lists of one length; any other object as it is."""
    if isinstance(item.get("features"), list):
        return [_feature(one) for one in item["features"]]
    lists = [value for value in item.values() if isinstance(value, list)]
    single = not any(isinstance(one, dict | list) for value in lists for one in value)
    if 1 < len(lists) == len(item) and len(set(map(len, lists))) == 1 and lists[0] and single:
        return [dict(zip(item, row, strict=True)) for row in zip(*lists, strict=True)]
    return item


def _feature(feature: Any) -> dict[str, Any]:
    """Return a point of GeoJSON, whose coordinates are longitude, latitude and perhaps a height."""
    geometry = feature.get("geometry") if isinstance(feature, dict) else None
    if isinstance(geometry, dict) and geometry.get("type") != "Point":
        raise FileError(f"GeoJSON of kind {str(geometry.get('type'))[:40]!r}; sfumato reads points")
    try:
        lon, lat = (float(number) for number in geometry["coordinates"][:2])  # type: ignore[index]
    except (KeyError, TypeError, ValueError, OverflowError):
        raise FileError("a GeoJSON feature without a point's longitude and latitude") from None
    return {**(feature.get("properties") or {}), "lat": lat, "lon": lon}


def _table(rows: list[dict[str, Any]]) -> Table:
    """Return rows of named values; what is nested is left out."""
    values = {name: [row.get(name) for row in rows] for name in dict.fromkeys(key for row in rows for key in row)}
    nested = {name for name, some in values.items() if any(isinstance(value, dict | list) for value in some)}
    return Table({name: column(name, some) for name, some in values.items() if name not in nested})


def _array(item: list[Any]) -> Any:
    """Return nested lists of numbers as an array, of texts as labels; None for other things."""
    if all(isinstance(one, str) for one in item):
        return strings("of texts", item)
    array = np.array(item, dtype=object)
    cells = array.ravel().tolist()
    flat = numbers(cells)
    if flat is not None:
        return flat.reshape(array.shape)
    if not all(isinstance(cell, list) for cell in cells):
        return None
    lengths = [len(cell) for cell in cells]
    words = f"lists of different lengths, {min(lengths)} to {max(lengths)}"
    return AmbiguousError(f"{words}; every record needs as many numbers")
