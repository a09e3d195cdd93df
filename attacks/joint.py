"""Attacks on releases in several parts that are charged as one: each output is all of them together.

Data lie on a line.  An audit wants outputs with as many numbers as a record has: records come with numbers beside the first
that are not used, or tell the public group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sfumato.audit import Pair
from sfumato.findings.groups import plan_group
from sfumato.mechanisms import Problem, choose
from sfumato.mechanisms.find import Finder, FindPlan
from sfumato.mechanisms.inference import InferencePlan
from sfumato.privacy import PureDP
from sfumato.records import Records
from sfumato.regions import Ball, Ellipsoid
from sfumato.spaces import LINE, Euclidean
from sfumato.spaces.base import Array

PRIOR = Ball(LINE, [0.0], 1.0)
SHARE = 0.5  # of ε for the spread, where both parts lose as much
FEW = 6  # candidates for the radius: as the search stops at the first that is large enough, few are quick


class Few(Finder):
    """The search, with fewer candidates."""

    @property
    def grid(self) -> Array:
        return np.asarray(super().grid[-1] * 0.5 ** np.arange(FEW - 1, -1, -1.0), dtype=np.float64)


@dataclass(frozen=True)
class Joint:
    """A release in parts by its name; ``wrong`` makes it wrong on purpose."""

    name: str
    numbers: int  # in one output
    made: Callable[[Array, int, np.random.Generator, bool, float], Array]
    pair: Pair
    mistake: str
    epsilon: float = 1.0
    wrong: bool = False

    @property
    def region(self) -> Ellipsoid:
        return Ellipsoid(Euclidean(dim=self.numbers), np.zeros(self.numbers), [1.0])

    def __call__(self, data: Array, size: int, rng: np.random.Generator) -> Array:
        return self.made(data, size, rng, self.wrong, self.epsilon)


def _finder(prior: Ball, n: int, center: float, radius: Fraction, coverage: float | None) -> Few:
    found = Finder.of(prior, n, center, radius, coverage)
    return Few(found.prior, found.first, found.width, found.target)


def radius(data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float) -> Array:
    """A radius alone; wrong: the noise of the counts is halved."""
    finder = _finder(PRIOR, len(data), 0.0, Fraction(epsilon), 0.5)
    finder = replace(finder, width=finder.width / 2) if wrong else finder
    records = Records(LINE, data[:, :1])
    return np.array([[np.log(finder.find(records, rng)[1])] for _ in range(size)])


def region_then_mean(data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float) -> Array:
    """Centre, radius and the mean in their ball; wrong: counts without noise."""
    plan = FindPlan.of(Problem(PRIOR, len(data), PureDP(epsilon)))
    first = plan.finder.first
    assert first is not None
    width = Fraction(1, 10**9) if wrong else plan.finder.width
    kept = Kept(plan.finder.prior, first, width, plan.finder.target)
    plan, records, found = replace(plan, finder=kept), Records(LINE, data[:, :1]), []
    for _ in range(size):
        drawn = plan.draw(records, rng)
        found.append([*kept.last, drawn.raw[0]])
    return np.array(found)


class Kept(Few):
    """A search that remembers what it released."""

    last: tuple[float, float]

    def find(self, records: Records, rng: np.random.Generator) -> tuple[Array, float]:
        center, size = super().find(records, rng)
        object.__setattr__(self, "last", (float(center[0]), float(np.log(size))))
        return center, size


def _spread(plan: InferencePlan, records: Records, size: int, rng: np.random.Generator, wrong: bool) -> Array:
    """w̃ and m̃ of one group; wrong: the second moment has a quarter of its noise."""
    means = plan.chart.sample(records, size, rng)
    if wrong:
        plan.__dict__["width"] = plan.width / 4  # where a cached property keeps what it found
    return np.append(means, [[plan.second_moment(plan.chart.chart, records, rng)] for _ in range(size)], axis=1)


def mean_with_spread(data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float) -> Array:
    plan = choose(Problem(PRIOR, len(data), PureDP(epsilon)), "tangent", inference=SHARE)
    assert isinstance(plan, InferencePlan)
    return _spread(plan, Records(LINE, data[:, :1]), size, rng, wrong)


def groups_together(data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float) -> Array:
    """w̃ and m̃ of both groups, told apart by the second number of a record; wrong: the noise is that of the total n."""
    found = []
    for label in (0.0, 1.0):
        own = data[data[:, 1] == label, :1]
        count = len(data) if wrong else len(own)
        plan = plan_group(PRIOR, count, PureDP(epsilon), 0.1, True)
        found.append(_spread(plan, Records(LINE, own), size, rng, False))
    return np.concatenate(found, axis=1)


def _pair(name: str, numbers: int, others: list[list[float]], first: list[float], second: list[float]) -> Pair:
    rows = [np.array([row + [0.0] * (numbers - len(row)) for row in [*others, end]]) for end in (first, second)]
    return Pair(name, *rows)


def joint() -> list[Joint]:
    """Every release in parts, at the pair of data sets that tells the most of it."""
    crowd = [[0.01]] * 23 + [[0.99]] * 6  # one more is far: the count that the search compares with its target changes
    return [
        Joint(
            "radius", 1, radius, _pair("one record, from the centre to the last candidate but one", 1, [], [0.0], [0.49]),
            "counts with half their noise", 2.0,
        ),
        Joint(
            "region, then mean", 3, region_then_mean, _pair("six of 30 far, or seven", 3, crowd, [0.01], [0.99]),
            "counts without noise",
        ),
        Joint(
            "mean with spread", 2, mean_with_spread, _pair("one of two from the centre to the edge", 2, [[0.0]], [0.0], [1.0]),
            "second moment with a quarter of its noise",
        ),
        Joint(
            "both groups", 4, groups_together,
            _pair("one across its group", 4, [[0.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [-1.0, 0.0], [1.0, 0.0]),
            "noise for the total n",
        ),
    ]  # fmt: skip
