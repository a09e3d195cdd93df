"""Units of privacy: the records of one person are worked on together, and by themselves."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidPointError
from ..files.labels import people
from ..numerics.arrays import Array, as_numbers


def number_units(labels: ArrayLike, count: int) -> NDArray[np.intp]:
    """Return the number, from 0, of the unit of each of so many records, in the order of their labels."""
    names = people(labels)
    if names.shape != (count,):
        given = f"{len(names)} labels" if names.ndim == 1 else f"an array of labels of shape {names.shape}"
        raise ValueError(f"there are {count} records but {given}: give one for each record")
    return np.asarray(np.unique(names, return_inverse=True)[1])


def by_unit(points: ArrayLike, unit_of: NDArray[np.intp], reduce: Callable[[Array], Array]) -> list[Array]:
    """Return what a function makes of the records of each unit, by its number.

    Each unit's records are an array of their own, so that no result depends on how many records other units have (proofs,
    Units).  A record that is not a point is named by its row among all.
    """
    array = as_numbers(points)
    order = np.argsort(unit_of, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(unit_of[order])) + 1) if len(order) else []
    results: list[Array] = []
    reasons: dict[int, str] = {}
    for rows in groups:
        try:
            results.append(reduce(array[rows]))
        except InvalidPointError as error:
            reasons.update({int(rows[i]): reason for i, reason in error.reasons.items()})
    if reasons:
        raise InvalidPointError(reasons)
    return results
