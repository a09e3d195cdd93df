"""Columns that may say whose record it is, and the unit of privacy in words."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import Fix, Refusal
from .base import Dataset
from .labels import spelled

RECORD = "one record"
LEVELS = 10  # a column of at least so many values,
EACH = 10  # with a median of at most so many records each, may name people
WHOSE = frozenset((
    "subject", "subj", "sub", "participant", "patient", "pt", "person", "proband", "individual", "donor", "owner", "volunteer",
    "respondent", "user", "student", "pupil", "child", "mother", "family", "household", "twin", "case", "who", "file", "id",
    "ids", "pid", "sid", "uid", "ptid", "rid", "specimen", "animal", "monkey", "mouse", "rat", "bird",
))  # fmt: skip


def take_unit(points: Any, unit: str | ArrayLike | None) -> tuple[Any, str | ArrayLike]:
    """Return the points themselves and their unit, in words or as labels; refuse words that would promise too much."""
    metadata: Any = getattr(points, "metadata", None)
    if isinstance(points, Dataset):
        columns: Iterable[str] = points.labels
        repeated = repeated_labels(points.labels)
        points = points.points
    elif metadata is not None and hasattr(metadata, "columns"):  # epochs of MNE
        columns = [str(name) for name in metadata.columns]
        repeated = repeated_labels({str(name): np.asarray(metadata[name]) for name in metadata.columns})
    else:  # a table of Arrow has columns too, and is not read yet
        columns = getattr(getattr(points, "schema", None), "names", ())
        repeated = named_labels(columns)
    if unit is None or isinstance(unit, str):
        check_words(unit, columns, repeated)
    return points, RECORD if unit is None else unit


def check_words(unit: str | None, columns: Iterable[str], repeated: Mapping[str, str]) -> None:
    """Raise a Refusal if a unit in words would claim a grouping that was never made: the words are, or look like, the name of
    a column; or none were given, and columns that may identify people are ``repeated`` (as a phrase says)."""
    if unit is not None:
        _check_unit(unit, columns, repeated)
    elif repeated:
        first = next(iter(repeated))
        counts = " and ".join(f"the column {name!r} has {count}" for name, count in repeated.items())
        words = f"{counts}: if it says whose record it is, protecting one record does not protect a person"
        together = (Fix("unit_column", first), f" for all records of one {first} together, or ")
        raise Refusal(f"{words}. Say what to protect: ", *together, Fix("unit", RECORD), " for each record by itself")


def _check_unit(unit: str, columns: Iterable[str], repeated: Mapping[str, str]) -> None:
    """Raise a Refusal if a unit in words is empty, claims a column that repeats, or is the name of a column."""
    words = " ".join(unit.split())
    bare = re.sub(r"^(one|an?|each|every|per) ", "", words, flags=re.I).casefold()
    if not words:
        raise ValueError(f"the unit is empty: say what one record stands for, such as '{RECORD}' or 'one person'")
    column = next((name for name in columns if words.casefold() == name.casefold()), None)
    spoken = {name: " ".join(word for word in _words_of(name) if word not in ("id", "ids")) for name in repeated}
    claimed = next((name for name in repeated if bare in (name.casefold(), spoken[name])), None)
    if column is None and claimed is not None:
        many = f"the unit is {unit!r}, but the column {claimed!r} has {repeated[claimed]}"
        raise Refusal(f"{many}: to count each {claimed} once, give ", Fix("unit_column", claimed))
    if column is not None or _looks_like_a_column(words):
        what = f"unit {unit!r} {'looks like' if column is None else 'is'} the name of a column"
        groups = f"{what}, but a unit in words groups nothing. To count each value once, give "
        raise Refusal(groups, Fix("unit_column", words), f"; if every record stands for itself, say '{RECORD}'")


def repeated_labels(labels: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Return the columns that may identify people and repeat, each with a phrase that says how often: their name is like
    subject, or they have many values with few records each.  Factors with few levels and measurements do not count."""
    phrases = {}
    for name, column in labels.items():
        counts: Counter[Any] = Counter()
        for value, count in Counter(column.tolist()).items():
            counts[spelled(value)] += count
        measured = column.dtype.kind == "f" and bool((column % 1 != 0).any())
        many = len(counts) >= LEVELS and np.median([*counts.values()]) <= EACH and not measured
        if len(counts) < len(column) and (many or says_whose(name)):
            values = "1 value" if len(counts) == 1 else f"{len(counts)} values"
            phrases[name] = f"{values} for {len(column)} records"
    return phrases


def named_labels(columns: Iterable[str]) -> dict[str, str]:
    """Return the same for data that are read in parts, of which only the names of the columns are known."""
    words = "values that may repeat (data read in parts are not searched for that)"
    return dict.fromkeys(filter(says_whose, columns), words)


def says_whose(name: str) -> bool:
    """Tell whether a column's name, such as subjectID, says that it identifies people, animals or specimens."""
    return not WHOSE.isdisjoint(_words_of(name))


def _words_of(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def _looks_like_a_column(words: str) -> bool:
    """Tell whether a text is a single word that nobody would say aloud: subject_id, subjectID, ID, PTID, sub.1."""
    if " " in words:
        return False
    odd = re.search(r"[_\d.:$\[\]]|[a-z][A-Z]", words) or (words.isupper() and len(words) > 1)
    return bool(odd) or not {"id", "ids", "label", "labels", "index", "key"}.isdisjoint(_words_of(words))
