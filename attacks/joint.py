"""``python -m attacks --only joint``: attacks on releases in several parts that are charged as one.

Each output is all of them together.

Data lie on a line.  An audit wants outputs with as many numbers as a record has: records come with numbers beside the first
that are not used, or tell the public group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from attacks.checks import Case, Found, Settings, by_verdict
from sfumato.audit import Pair, audit
from sfumato.findings.classes import DIRECTIONS, Design, _medians
from sfumato.findings.classes import _plan as _contrasts
from sfumato.findings.groups import plan_group
from sfumato.findings.regression import Line
from sfumato.findings.scalar import scalar_plan
from sfumato.laws.privacy import PureDP
from sfumato.mechanisms import choose
from sfumato.mechanisms.find import Find, Finder
from sfumato.mechanisms.moments import SecondMoment, WishartMoment
from sfumato.mechanisms.stages import Composition
from sfumato.numerics.arrays import Array
from sfumato.records import Records
from sfumato.regions import Ball, Ellipsoid
from sfumato.release.terms import SIZE, SIZE_VARIANCE, VARIANCE
from sfumato.spaces import LINE, Euclidean

PRIOR = Ball(LINE, [0.0], 1.0)
REACH = 2.0  # beyond which a record counts as being there, for variances
SHARE = 0.5  # of ε for the spread, where both parts lose as much
WRONG = 8000  # draws from each data set of what is wrong
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
    draws: int = 40_000  # from each data set, at full strength: some take milliseconds each

    @property
    def region(self) -> Ellipsoid:
        return Ellipsoid(Euclidean(dim=self.numbers), np.zeros(self.numbers), [1.0])

    def __call__(self, data: Array, size: int, rng: np.random.Generator) -> Array:
        return self.made(data, size, rng, self.wrong, self.epsilon)


def _finder(prior: Ball, n: int, center: PureDP | None, radius: Fraction, coverage: float | None) -> Few:
    found = Finder.of(prior, n, center, radius, coverage)
    return Few(found.prior, found.first, found.width, found.target)


def radius(data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float) -> Array:
    """A radius alone; wrong: the noise of the counts is halved."""
    finder = _finder(PRIOR, len(data), None, Fraction(epsilon), 0.5)
    finder = replace(finder, width=finder.width / 2) if wrong else finder
    records = Records(LINE, data[:, :1])
    return np.array([[np.log(finder.find(records, rng)[1])] for _ in range(size)])


def region_then_mean(data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float) -> Array:
    """Centre, radius and the mean in their ball; wrong: counts without noise."""
    stage = Find.of(PRIOR, len(data), PureDP(epsilon))
    first = stage.finder.first
    assert first is not None
    width = Fraction(1, 10**9) if wrong else stage.finder.width
    kept = Kept(stage.finder.prior, first, width, stage.finder.target)
    stage, records, found = replace(stage, finder=kept), Records(LINE, data[:, :1]), []
    for _ in range(size):
        drawn = stage.run(records, rng).draw(records, rng)
        found.append([*kept.last, drawn.raw[0]])
    return np.array(found)


class Kept(Few):
    """A search that remembers what it released."""

    last: tuple[float, float]

    def find(self, records: Records, rng: np.random.Generator) -> tuple[Array, float]:
        center, size = super().find(records, rng)
        object.__setattr__(self, "last", (float(center[0]), float(np.log(size))))
        return center, size


def _spread(plan: Composition, records: Records, size: int, rng: np.random.Generator, wrong: bool) -> Array:
    """w̃ and m̃ of one group; wrong: the second moment has a quarter of its noise."""
    means = plan.chart.draws(records, size, rng)
    assert plan.spread is not None
    spread = replace(plan.spread, width=plan.width / 4) if wrong else plan.spread
    return np.append(means, [[spread.second_moment(plan.chart.chart, records, rng)] for _ in range(size)], axis=1)


def mean_with_spread(data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float) -> Array:
    plan = choose(PRIOR, len(data), epsilon, "tangent", inference=SHARE)
    assert isinstance(plan, Composition)
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


def variance_with_spread(data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float) -> Array:
    """The variance about a public mean, held to a reach of 2; wrong: the noise is that of ten times as many records."""
    count = 10 * len(data) if wrong else len(data)
    plan = scalar_plan(count, (0.0, REACH**2), VARIANCE, PureDP(epsilon), SHARE)
    assert isinstance(plan, Composition)
    return _spread(plan, Records(LINE, np.minimum(np.abs(data[:, :1]), REACH) ** 2), size, rng, False)


def mean_and_variance_of_sizes(data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float) -> Array:
    """The mean of sizes between 0 and 1, then their variance about it; wrong: the noise of ten times as many records."""
    half, records, count = PureDP(epsilon / 2), Records(LINE, data[:, :1]), 10 * len(data) if wrong else len(data)
    means = scalar_plan(count, (0.0, 1.0), SIZE, half, 0).draws(records, size, rng)
    found = []
    for mean in np.clip(means[:, 0], 0.0, 1.0):
        far = max(mean, 1 - mean)
        squares = Records(LINE, np.minimum(np.abs(data[:, :1] - mean), far) ** 2)
        found.append(scalar_plan(count, (0.0, far**2), SIZE_VARIANCE, half, 0).draws(squares, 1, rng)[0])
    return np.concatenate([means, found], axis=1)


def components(
    kind: type[SecondMoment], data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float
) -> Array:
    """The second moment in two directions; wrong: each of its numbers has noise of its own, with all of ε."""
    chart = Ball(Euclidean(dim=2), [0.0, 0.0], 1.0).as_chart()
    plan = kind.of(2, PureDP(epsilon)).plan(len(data))
    moment = plan.products(chart, data[:, :2])
    if wrong:
        return np.asarray(moment.mean(axis=0) + rng.laplace(0.0, 1 / (len(data) * epsilon), (size, 3)))
    return plan.draws(Records(plan.space, moment), size, rng)


def class_means(data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float) -> Array:
    """Directions, middle and size of two classes.  Units have records of both, the first two numbers; or of the public class
    that the second number names.  Wrong: the medians have no noise to speak of."""
    chart, alone = PRIOR.as_chart(), bool(np.isin(data[:, 1], [5.0, 6.0]).all())
    if alone:
        design = Design.make(chart, data[:, :1], (data[:, 1] == 6.0).astype(np.intp), "one record", chart.admit)
    else:
        units, kinds = np.repeat(np.arange(len(data)), 2), np.tile([0, 1], len(data))
        design = Design.make(chart, data[:, :2].reshape(-1, 1), kinds, units, chart.admit)
    plan = _contrasts(design, 1, PureDP(epsilon), True)
    raw = plan.draws(Records(plan.space, design.rows), size, rng)
    found = [_medians(design, chart.axes, one, 100.0 if wrong else (1 - DIRECTIONS) * epsilon, rng) for one in raw]
    return np.concatenate([raw, [[*middle, np.log(length)] for middle, length in found]], axis=1)


def regression(data: Array, size: int, rng: np.random.Generator, wrong: bool, epsilon: float) -> Array:
    """All that a regression on the second number releases; wrong: numbers beside the halves have a fiftieth of their noise."""
    line = Line("z", (-1.0, 1.0), False, False, PRIOR.as_chart(), PureDP(epsilon), None, len(data))
    if wrong:
        line.split[0].update({name: 50 * part for name, part in line.split[0].items()})
    found = [line.run(data[:, :1], data[:, 1], "one record", "", rng) for _ in range(size)]
    return np.array([[*one.halves.raw, one.mean, one.upper, one.product, one.second_moment] for one in found])


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
            "counts without noise", draws=10_000,
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
        Joint(
            "variance with spread", 2, variance_with_spread,
            _pair("one record from the centre to the edge", 2, [], [0.0], [REACH]), "noise for ten times as many",
        ),
        Joint(
            "mean and variance of sizes", 2, mean_and_variance_of_sizes,
            _pair("one of two across", 2, [[0.0]], [0.0], [1.0]), "noise for ten times as many",
        ),
        Joint(
            "components", 3, partial(components, SecondMoment),
            _pair("one record turned by a right angle", 3, [], [1.0, 0.0], [0.0, 1.0]), "noise for each number, not for all",
        ),
        Joint(
            "components, by two Wishart matrices", 3, partial(components, WishartMoment),
            _pair("one record turned by a right angle", 3, [], [1.0, 0.0], [0.0, 1.0]), "noise for each number, not for all",
        ),
        Joint(
            "regression", 6, regression,
            _pair("one of two across, and its number too", 6, [[0.0, 0.0]], [-1.0, -1.0], [1.0, 1.0]),
            "numbers with a fiftieth of their noise",
        ),
        Joint(
            "means of classes, units with both", 3, class_means,
            _pair("one of three across, in both classes", 3, [[0.2, -0.2], [-0.2, 0.2]], [0.9, 0.1], [-0.9, -0.1]),
            "medians without noise",
        ),
        Joint(
            "means of classes, units with one", 3, class_means,
            _pair("one of four across", 3, [[0.1, 5.0], [-0.1, 6.0], [0.1, 6.0]], [0.9, 5.0], [-0.9, 5.0]),
            "medians without noise",
        ),
    ]  # fmt: skip


def tried(case: Joint, draws: int, seed: int) -> Found:
    verdict = audit(case, case.epsilon, case.pair, region=case.region, draws=draws, seed=seed, name=case.name)
    return by_verdict(verdict, proven_alone=True)


def cases(settings: Settings) -> list[Case]:
    """Each as it is, and with its mistake."""
    found = []
    for case in joint():
        draws = case.draws // 5 if settings.quick else case.draws
        found.append(Case(case.name, partial(tried, case, draws, settings.seed)))
        name, wrong = f"{case.name}, {case.mistake}", replace(case, wrong=True)
        found.append(Case(name, partial(tried, wrong, WRONG, settings.seed), True))
    return found
