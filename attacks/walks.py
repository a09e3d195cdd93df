"""Walks of data sets along which a solver of the mean may go wrong, and the step at which it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.audit.blackbox import Draw, admitted, sampler
from sfumato.audit.features import flat
from sfumato.audit.pairs import SIZES, Pair, neighbours
from sfumato.audit.verdict import Counts
from sfumato.mechanisms import Mechanism
from sfumato.numerics.arrays import Array, Points
from sfumato.regions.ball import Ball

LONG = (10, 100, 1000)  # records: where a solver goes wrong, it does so by more records' weight in large data sets


@dataclass(frozen=True, eq=False)
class Walk:
    """Data sets of n records at K points, ``counts`` (m, K) of them at each, every data set a neighbour of the next."""

    kind: str
    name: str
    points: Points
    counts: Counts

    def data(self, ball: Ball, which: int) -> Array:
        return ball.space.present(np.repeat(self.points, self.counts[which], axis=0))

    def pair(self, ball: Ball, which: int) -> Pair:
        there = f"{self.name}, {self.counts[which, -1]} there and one on its way"
        return Pair(there, self.data(ball, which), self.data(ball, which + 1))


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


def suspicious(
    mechanism: Mechanism | Draw, ball: Ball, sizes: Sequence[int] = SIZES, long: Sequence[int] = LONG
) -> list[Pair]:
    """Pairs to race: those of :func:`sfumato.audit.neighbours` with the given numbers of records, and from each walk of data
    sets with ``long`` of them, on which one record after another goes to the far end, the step at which outputs jump the
    farthest."""
    taken = admitted(mechanism, [*sizes, *long])
    steps = [walk for n in long if n in taken for walk in walks(ball, n)]
    return neighbours(ball, [n for n in sizes if n in taken]) + [
        walk.pair(ball, jump(sampler(mechanism), ball, walk)) for walk in steps
    ]


def jump(draw: Draw, ball: Ball, walk: Walk, size: int = 16) -> int:
    """The step of a walk at which outputs move the farthest: few draws tell, as all data sets get the same random numbers."""
    outputs = [
        flat(draw(walk.data(ball, k), size, np.random.default_rng(0)), ball.space) for k in range(len(walk.counts))
    ]
    return int(np.argmax([np.median(np.linalg.norm(b - a, axis=1)) for a, b in pairwise(outputs)]))
