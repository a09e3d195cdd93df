"""Units of privacy: many records of one person become one point, so that the promise covers the person."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .ball import Ball
from .frechet import solve
from .records import Records
from .spaces.base import Points


def reduce_to_units(ball: Ball, points: Points, labels: ArrayLike) -> Points:
    """One point for each distinct label: the Fréchet mean of that unit's clipped records, which lies in the ball too.

    >>> from sfumato import Euclidean
    >>> ball = Ball(Euclidean(dim=1), [0.0], 10.0)
    >>> reduce_to_units(ball, np.array([[1.0], [3.0], [5.0]]), ["ann", "ann", "bob"]).tolist()
    [[2.0], [5.0]]
    """
    names = np.asarray(labels)
    if names.shape != (len(points),):
        raise ValueError(f"there are {len(points)} records but {names.size} labels of units: each record needs one")
    missing = np.flatnonzero((names == "") if names.dtype.kind in "US" else names != names)
    if len(missing):
        raise ValueError(
            f"{len(missing)} records have no unit, the first being record {missing[0]}: label or remove them"
        )
    _, unit_of = np.unique(names, return_inverse=True)
    order = np.argsort(unit_of, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(unit_of[order])) + 1) if len(order) else []
    means = [points[g[0]] if len(g) == 1 else solve(Records(ball.space, points[g])).point for g in groups]
    return ball.clip(ball.space.present(np.stack(means))) if means else points
