"""Neighbouring data sets that are likely to be the worst for a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..bounds import bounds_of
from ..frechet import solve
from ..records import Records
from ..regions.ball import Ball
from ..spaces.base import Array, Points

Counts = NDArray[np.int64]

SIZES = (2, 5, 10, 50)  # records with which a mechanism is attacked: in small data sets each weighs much,
LONG = (10, 100, 1000)  # and where a solver goes wrong, it does so by more records' weight in large ones
OUTSIDE = 3.0  # a record outside the ball lies this many radii from its centre, where the space is that large


@dataclass(frozen=True, eq=False)
class Pair:
    """Two data sets that differ in one record, and where that record and the others lie, in words."""

    name: str
    first: Array
    second: Array

    def __post_init__(self) -> None:
        if np.shape(self.first) != np.shape(self.second) or len(self.first) < 1:
            raise ValueError("neighbouring data sets have the same number of records, at least one")
        differ = np.flatnonzero((np.asarray(self.first) != self.second).reshape(len(self.first), -1).any(axis=1))
        if len(differ) > 1:
            raise ValueError(f"neighbouring data sets differ in one record, but these differ in {len(differ)}")

    def __len__(self) -> int:
        return len(self.first)

    @property
    def moved(self) -> int:
        """The row in which they differ; the last if they do not."""
        differ = (np.asarray(self.first) != self.second).reshape(len(self.first), -1).any(axis=1)
        return int(np.argmax(differ)) if differ.any() else len(self.first) - 1


@dataclass(frozen=True, eq=False)
class Walk:
    """Data sets of n records at K points, ``counts`` (m, K) of them at each, every data set a neighbour of the next."""

    kind: str
    name: str
    points: Points
    counts: Counts

    def data(self, ball: Ball, which: int) -> Array:
        return ball.space.present(repeated(self.points, self.counts[which]))

    def pair(self, ball: Ball, which: int) -> Pair:
        there = f"{self.name}, {self.counts[which, -1]} there and one on its way"
        return Pair(there, self.data(ball, which), self.data(ball, which + 1))


def repeated(points: Points, counts: Counts) -> Points:
    """So many rows of each point.

    >>> repeated(np.array([[1.0], [2.0]]), np.array([2, 1])).tolist()
    [[1.0], [1.0], [2.0]]
    """
    return np.repeat(points, counts, axis=0)


def walks(ball: Ball, n: int) -> list[Walk]:
    """Every k of n records at the far end of a diameter, the others at its near end, or at the centre, or a third of them
    aside: a solver that goes astray, or stops too early, does so somewhere on the way.

    >>> from sfumato import Sphere
    >>> [walk.name for walk in walks(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), 10)][0]
    'n = 10: k at the far end, the others at the near end, axis 1'
    """
    space, p0, found = ball.space, ball.center, []
    aside, k, less = n // 3 if space.dim > 1 else 0, np.arange(n + 1), np.arange(n - n // 3 + 1)
    for axis in range(min(2, space.dim)):
        u, v = np.eye(space.dim)[[axis, axis - 1]]
        east, west, side = space.exp(p0, space.from_coordinates(p0, ball.radius * np.stack([u, -u, v])))
        kinds = {
            "the others at the near end": ([east, west], [n - k, k]),
            "the others at the centre": ([p0, west], [n - k, k]),
        }
        if aside:
            counts = [np.full(len(less), aside), n - aside - less, less]
            kinds["a third aside, the others at the near end"] = ([side, east, west], counts)
        for kind, (points, counts) in kinds.items():
            words = f"k at the far end, {kind}"
            found.append(Walk(words, f"n = {n}: {words}, axis {axis + 1}", np.stack(points), np.stack(counts, axis=1)))
    return found


def neighbours(ball: Ball, sizes: int | Sequence[int] = SIZES) -> list[Pair]:
    """Pairs that stress a mechanism: one record crosses the ball, comes in from its boundary or lies beyond it, while the
    others sit at the centre, in a cluster at the boundary, at both ends of a diameter, or are spread.

    Two diameters are tried, as the curvature may depend on the plane.  Data at both ends of one, with a record that moves
    across, move the Fréchet mean the most where the curvature is positive (theory, Result 2).

    >>> from sfumato import Sphere
    >>> pairs = neighbours(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), 10)
    >>> len(pairs), pairs[0].name
    (18, 'n = 10: others at the centre, one record across the ball, axis 1')
    """
    pairs = []
    for n in [sizes] if isinstance(sizes, int) else sizes:
        if n < 1:
            raise ValueError(f"a data set has at least one record, not {n}")
        for axis in range(min(2, ball.space.dim)):
            pairs += _along(ball, n, axis)
    return pairs


def _along(ball: Ball, n: int, axis: int) -> list[Pair]:
    space, r, p0 = ball.space, ball.radius, ball.center
    u = np.eye(space.dim)[axis]

    def at(vector: Array) -> Points:
        return space.exp(p0, space.from_coordinates(p0, np.asarray(vector, dtype=np.float64)))

    centre, east, west = at(0 * u), at(r * u), at(-r * u)
    far = min(OUTSIDE * r, 0.9 * bounds_of(space).injectivity_radius)
    ends = np.stack([east, west])[np.arange(n - 1) % 2]
    inside = np.stack([at(0.9 * r * u)] * n)[1:]
    cluster, middle = np.stack([east] * n)[1:], np.stack([centre] * n)[1:]
    rng = np.random.default_rng(n)
    lengths = (r * rng.random(n - 1)).reshape(-1, *(1,) * len(space.point_shape))
    spread = space.exp(p0, lengths * space.random_directions(p0, n - 1, rng))
    across = f"axis {axis + 1}"
    rows = [
        (f"others at the centre, one record across the ball, {across}", middle, east, west),
        (f"others at the boundary, one record across the ball, {across}", cluster, east, west),
        (f"others just inside the boundary, one record across the ball, {across}", inside, east, west),
        (f"others at both ends, one record across the ball, {across}", ends, east, west),
        (f"others spread, one record across the ball, {across}", spread, east, west),
        (f"others at the centre, one record from there to the boundary, {across}", middle, centre, east),
        (f"others at the centre, one record beyond the ball, {across}", middle, at(far * u), at(-far * u)),
    ]
    if space.dim > 1:
        # the direction in which the mean moves most
        others = [w for i, w in enumerate(np.eye(space.dim)[:6]) if i != axis]
        v = max(others, key=lambda w: _move(ball, ends, at(r * w), at(-r * w)))
        rows += [
            (f"others at both ends, one record across another diameter, {across}", ends, at(r * v), at(-r * v)),
            (f"others at the boundary, one record across another diameter, {across}", cluster, at(r * v), at(-r * v)),
        ]
    show = space.present
    return [
        Pair(f"n = {n}: {name}", show(np.append(rest, [a], axis=0)), show(np.append(rest, [b], axis=0)))
        for name, rest, a, b in rows
    ]


def _move(ball: Ball, rest: Points, a: Points, b: Points) -> float:
    first, second = (solve(Records(ball.space, np.append(rest, [end], axis=0))).point for end in (a, b))
    return float(ball.space.distance(first, second))
