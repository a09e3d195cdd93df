"""Units of privacy: the records of one person become one point, so that the promise covers the person."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .files import Dataset
from .frechet import solve
from .records import Records
from .regions import Ball, Region
from .regions.ellipsoid import tangent_coordinates
from .spaces.base import Points

RECORD = "one record"
MANY = 10  # text with so many values, or with values such as S01, may identify people, whatever the column's name
WHOSE = frozenset((
    "subject", "subj", "sub", "participant", "patient", "pt", "person", "proband", "individual", "donor", "owner", "volunteer",
    "respondent", "user", "student", "pupil", "child", "mother", "family", "household", "twin", "case", "who", "file", "id",
    "ids", "pid", "sid", "uid", "ptid", "rid", "specimen", "animal", "monkey", "mouse", "rat", "bird",
))  # fmt: skip
UNKNOWN = ["", "NA", "N/A", "<NA>", "NaN", "nan", "None", "NULL"]  # what programs write for a missing label


def reduce_to_units(region: Region, points: Points, labels: ArrayLike) -> Points:
    """One point for each distinct label: the Fréchet mean of that unit's clipped records, which also lies in the ball.

    Spaces around a label, and different Unicode spellings of the same letters, make no difference.
    """
    unit_of = number_units(labels, len(points))
    order = np.argsort(unit_of, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(unit_of[order])) + 1) if len(order) else []
    if not groups:
        return points
    if not isinstance(region, Ball):
        return _in_the_chart(region, points, groups)
    means = [points[g[0]] if len(g) == 1 else solve(Records(region.space, points[g])).point for g in groups]
    return region.clip(region.space.present(np.stack(means)))


def number_units(labels: ArrayLike, count: int) -> NDArray[np.intp]:
    """The number, from 0, of the unit of each of so many records."""
    names = np.asarray(labels)
    if names.shape != (count,):
        raise ValueError(f"there are {count} records but {names.size} labels: give one for each record")
    if names.dtype.kind == "O":
        names = np.array(["" if name is None or name != name else str(name) for name in names], dtype=np.str_)
    if names.dtype.kind == "U":
        spellings, spelt = np.unique(names, return_inverse=True)
        names = np.array([unicodedata.normalize("NFKC", name).strip() for name in spellings.tolist()])[spelt]
        missing = np.flatnonzero(np.isin(names, UNKNOWN))
    else:
        missing = np.flatnonzero(names != names)
    if len(missing):
        first = f"the first being record {missing[0]}"
        raise ValueError(f"{len(missing)} of {len(names)} records have no unit, {first}: label or remove them")
    return np.asarray(np.unique(names, return_inverse=True)[1])


def _in_the_chart(region: Region, points: Points, groups: list[NDArray[np.intp]]) -> Points:
    """exp_c of the mean of each unit's logarithms at the public centre, of which those that do not exist count as 0."""
    space, center = region.space, region.center
    each = (
        tangent_coordinates(space, center, points[g]) for g in groups
    )  # whatever place other people's records leave them
    means = np.stack([np.nan_to_num(own, nan=0.0, posinf=0.0, neginf=0.0).mean(axis=0) for own in each])
    return space.exp(center, space.from_coordinates(center, means))


def take_unit(points: Any, unit: str | ArrayLike | None) -> tuple[Any, str | ArrayLike]:
    """The points themselves and their unit, in words or as labels.  Words that would promise too much raise an error."""
    if isinstance(points, Dataset):
        columns: Iterable[str] = points.labels
        repeated = repeated_labels(points.labels)
        points = points.points
    else:  # a table of Arrow has columns too, and is not read yet
        columns = getattr(getattr(points, "schema", None), "names", ())
        repeated = named_labels(columns)
    if unit is None or isinstance(unit, str):
        check_words(unit, columns, repeated)
    return points, RECORD if unit is None else unit


def check_words(unit: str | None, columns: Iterable[str], repeated: Mapping[str, str]) -> None:
    """Raise an error if a unit in words would claim a grouping that was never made.

    That is so if no unit was given and a column that may identify people repeats, and if the words are the name of a
    column, or look like one.  ``repeated`` maps such columns to a phrase that says how often they repeat.
    """
    if unit is None and repeated:
        first = next(iter(repeated))
        held = " and ".join(f"the column {name!r} has {count}" for name, count in repeated.items())
        raise ValueError(
            f"{held}: if it says whose record it is, protecting one record does not protect a person. Say what to protect: "
            f"--unit-column {first} (in Python unit=data.labels[{first!r}]) for all records of one {first} together, or "
            f"--unit '{RECORD}' (unit='{RECORD}') for each record by itself"
        )
    if unit is None:
        return
    words = " ".join(unit.split())
    bare = re.sub(r"^(one|an?|each|every|per) ", "", words, flags=re.I).casefold()
    if not words:
        raise ValueError(f"the unit is empty: say what one record stands for, such as '{RECORD}' or 'one person'")
    column = next((name for name in columns if words.casefold() == name.casefold()), None)
    claimed = next((name for name in repeated if bare in (name.casefold(), _without_id(name))), None)
    if column is None and claimed is not None:
        raise ValueError(
            f"the unit is {unit!r}, but the column {claimed!r} has {repeated[claimed]}: to count each {claimed} once, give "
            f"--unit-column {claimed} (in Python unit=data.labels[{claimed!r}])"
        )
    if column is not None or _looks_like_a_column(words):
        which = "is" if column is not None else "looks like"
        raise ValueError(
            f"unit {unit!r} {which} the name of a column, but a unit in words groups nothing. To count each value once, give "
            f"--unit-column {words} (in Python the labels themselves, one for each record, such as "
            f"unit=data.labels[{words!r}]); if every record stands for itself, say '{RECORD}'"
        )


def repeated_labels(labels: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """The columns that seem to identify people and hold some value more than once, with a phrase that says how often."""
    found = {}
    for name, column in labels.items():
        distinct = np.unique(column)
        if len(distinct) < len(column) and (says_whose(name) or _are_codes(distinct)):
            found[name] = f"{len(distinct)} value{'s' * (len(distinct) > 1)} for {len(column)} records"
    return found


def named_labels(columns: Iterable[str]) -> dict[str, str]:
    """The same for data that are read in parts, of which only the names of the columns are known."""
    words = "values that may repeat (data read in parts are not searched for that)"
    return dict.fromkeys(filter(says_whose, columns), words)


def says_whose(name: str) -> bool:
    """Whether a column's name, such as subjectID, says that it identifies people, animals or specimens."""
    return not WHOSE.isdisjoint(_words_of(name))


def _words_of(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def _without_id(name: str) -> str:
    return " ".join(word for word in _words_of(name) if word not in ("id", "ids"))


def _are_codes(distinct: NDArray[Any]) -> bool:
    """Whether the values of a column are text, and either many or codes such as S01, sub-3 and 007."""
    if distinct.dtype.kind != "U":
        return False
    return len(distinct) >= MANY or all(re.fullmatch(r"[A-Za-z]*[-_ .]?\d+", text) for text in distinct.tolist())


def _looks_like_a_column(words: str) -> bool:
    """Whether a text is a single word that nobody would say aloud: subject_id, subjectID, ID, PTID, sub.1."""
    if " " in words:
        return False
    odd = re.search(r"[_\d.:$\[\]]|[a-z][A-Z]", words) or (words.isupper() and len(words) > 1)
    return bool(odd) or not {"id", "ids", "label", "labels", "index", "key"}.isdisjoint(_words_of(words))
