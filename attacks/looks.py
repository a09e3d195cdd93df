"""Attacks on a look and the release after it, together: whether it fell back is public, and so is what it then released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import laplace

from sfumato.audit import Pair
from sfumato.audit.exact import far
from sfumato.laws.privacy import PureDP
from sfumato.mechanisms.stages import Looked
from sfumato.numerics.arrays import Array
from sfumato.records import Records
from sfumato.regions import Ball, Ellipsoid, Look
from sfumato.spaces import Euclidean

DIM = 10  # where looks begin


class Certain(Looked):
    """A broken one: the look is not noisy."""

    def falls_back(self, lost: list[Fraction], rng: np.random.Generator) -> bool:
        return float(sum(x * x for x in lost)) * self.look.ball.radius**2 > self.limit**2


@dataclass(frozen=True)
class LookedAt:
    """A look before a chart with one axis in R^10, to be audited in R^11: each output is whether it fell back, then its value;
    the first number of a record is not used."""

    epsilon: float
    kind: type[Looked] = Looked
    look = Look(
        Ellipsoid(Euclidean(dim=DIM), np.zeros(DIM), [0.3], source="an axis"),
        Ball(Euclidean(dim=DIM), np.zeros(DIM), 1.0),
    )
    region = Ellipsoid(Euclidean(dim=DIM + 1), np.zeros(DIM + 1), [0.3], np.eye(DIM + 1)[1:2])

    def stage(self, n: int) -> Looked:
        return self.kind.of(self.look, n, PureDP(self.epsilon))

    def __call__(self, data: Array, size: int, rng: np.random.Generator) -> Array:
        stage, records = self.stage(len(data)), Records(self.look.chart.space, data[:, 1:])
        lost = stage.means(records)[2]
        output = np.array([[float(stage.falls_back(lost, rng))] + [0.0] * DIM for _ in range(size)])
        for way, made in enumerate((stage.chart, stage.ball)):
            rows = np.flatnonzero(output[:, 0] == way)
            if len(rows):
                output[rows, 1:] = made.draws(records, len(rows), rng)
        return output


def look_loss(stage: Looked, first: ArrayLike, second: ArrayLike) -> float:
    """Return the largest loss of a look, by a Laplace variable, and the release after it, in the chart or the ball.

    It is a formula in any dimension."""
    chart = stage.look.chart
    data = [Records(chart.space, chart.admit(points)) for points in (first, second)]
    means = [stage.means(records) for records in data]
    room = [(stage.limit - stage.look.ball.radius * far(lost, [Fraction(0)] * len(lost))) for *_, lost in means]
    losses = []
    for kept, after, side in ((True, stage.chart, 0), (False, stage.ball, 1)):
        one, other = (laplace.logcdf(x if kept else -x, scale=stage.width) for x in room)
        losses.append(abs(one - other) + far(means[0][side], means[1][side]) / after.scale.sigma)
    return float(max(losses))


def pairs(sizes: Sequence[int] = (1, 2, 10)) -> list[Pair]:
    """k of the others where the chart loses a whole radius of them, the rest at the centre; one record crosses both the chart
    and what it loses: the look and the release move the same way."""
    lost = np.eye(DIM + 1)[2]
    crossing = 0.3 * np.eye(DIM + 1)[1] + np.sqrt(1 - 0.3**2) * lost
    found = []
    for n in sizes:
        for k in sorted({0, (n - 1) // 2, n - 1}):
            others = np.repeat([lost, 0 * lost], [k, n - 1 - k], axis=0)
            sides = (np.append(others, [end], axis=0) for end in (crossing, -crossing))
            found.append(Pair(f"n = {n}: {k} lost to the chart, others at the centre, one record across", *sides))
    return found
