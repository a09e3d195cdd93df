"""Units of privacy: the records of one person become one point, so that the promise covers the person."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InvalidPointError
from .files import Dataset
from .files.labels import people, spelled
from .means.frechet import solve
from .numerics.arrays import Array, Points, as_numbers
from .records import Records
from .regions import Ball, Region
from .regions.ellipsoid import tangent_coordinates

RECORD = "one record"
LEVELS = 10  # a column of at least so many values,
EACH = 10  # with a median of at most so many records each, may name people
WHOSE = frozenset((
    "subject", "subj", "sub", "participant", "patient", "pt", "person", "proband", "individual", "donor", "owner", "volunteer",
    "respondent", "user", "student", "pupil", "child", "mother", "family", "household", "twin", "case", "who", "file", "id",
    "ids", "pid", "sid", "uid", "ptid", "rid", "specimen", "animal", "monkey", "mouse", "rat", "bird",
))  # fmt: skip


def reduce_to_units(
    region: Region, points: ArrayLike, unit_of: NDArray[np.intp], admit: Callable[[Array], Points] | None = None
) -> Points:
    """Return one canonical point for each unit, by its number: the mean of its records, in the region.

    A unit's records are checked, clipped and averaged by themselves: its point depends on them alone, to the bit, however
    many records other units have (proofs, Units).
    """
    admit = admit or region.admit
    array = as_numbers(points)
    order = np.argsort(unit_of, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(unit_of[order])) + 1) if len(order) else []
    reduce, reasons, means = _mean_in_ball if isinstance(region, Ball) else _mean_in_chart, {}, []
    for rows in groups:
        try:
            means.append(reduce(region, admit(array[rows])))
        except InvalidPointError as error:
            reasons.update({int(rows[i]): reason for i, reason in error.reasons.items()})
    if reasons:
        raise InvalidPointError(reasons)
    if not groups:
        return admit(array)
    if isinstance(region, Ball):
        return region.clip(region.space.present(np.stack(means)))
    with np.errstate(all="ignore"):  # a mean without a point has no place in a chart and counts as its centre
        return region.space.exp(region.center, region.space.from_coordinates(region.center, np.stack(means)))


def _mean_in_ball(ball: Region, own: Points) -> Points:
    """Return the Fréchet mean of one unit's clipped records."""
    return own[0] if len(own) == 1 else solve(Records(ball.space, own)).point


def _mean_in_chart(region: Region, own: Points) -> Array:
    """Return the mean of one unit's logarithms at the public centre, in which those that do not exist count as 0."""
    tangents = np.nan_to_num(tangent_coordinates(region.space, region.center, own), nan=0.0, posinf=0.0, neginf=0.0)
    return np.asarray(np.sum(tangents / len(own), axis=0))


def number_units(labels: ArrayLike, count: int) -> NDArray[np.intp]:
    """Return the number, from 0, of the unit of each of so many records, in the order of their labels."""
    names = people(labels)
    if names.ndim != 1:
        raise ValueError(
            f"there are {count} records but an array of labels of shape {names.shape}: give one for each record"
        )
    if len(names) != count:
        raise ValueError(f"there are {count} records but {len(names)} labels: give one for each record")
    return np.asarray(np.unique(names, return_inverse=True)[1])


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
    """Return the columns that may identify people and repeat, each with a phrase that says how often.

    Such a column has a name like subject, or many values with few records each; a factor with few levels does not count, nor
    does a measurement.
    """
    found = {}
    for name, column in labels.items():
        counts: Counter[Any] = Counter()
        for value, count in Counter(column.tolist()).items():
            counts[spelled(value)] += count
        measured = column.dtype.kind == "f" and bool((column % 1 != 0).any())
        many = len(counts) >= LEVELS and np.median([*counts.values()]) <= EACH and not measured
        if len(counts) < len(column) and (many or says_whose(name)):
            found[name] = f"{len(counts)} value{'s' * (len(counts) > 1)} for {len(column)} records"
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


def _looks_like_a_column(words: str) -> bool:
    """Whether a text is a single word that nobody would say aloud: subject_id, subjectID, ID, PTID, sub.1."""
    if " " in words:
        return False
    odd = re.search(r"[_\d.:$\[\]]|[a-z][A-Z]", words) or (words.isupper() and len(words) > 1)
    return bool(odd) or not {"id", "ids", "label", "labels", "index", "key"}.isdisjoint(_words_of(words))
