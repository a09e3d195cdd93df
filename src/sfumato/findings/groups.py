"""Groups: a private mean of each, the difference of two with its region, and tests of equal means (Results 6 and 15)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import combinations
from operator import or_
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import Refusal, printable
from ..files import Dataset, as_data
from ..files.labels import UNKNOWN, group_name
from ..files.people import take_unit
from ..laws.calibration.population import LEAST, check_level, omnibus, sum_quantile, sum_tail
from ..laws.privacy import Privacy, as_privacy
from ..mechanisms.base import PERSON
from ..mechanisms.inference import SHARE, Spread, check_share
from ..mechanisms.paying import Budget, paying
from ..mechanisms.stages import Composition
from ..mechanisms.tangent import TangentKNorm
from ..numerics.arrays import Array, Points, as_numbers
from ..records import Records
from ..records.units import by_unit, number_units
from ..regions import Region, Settled
from ..regions.units import reduce_to_units
from ..release import Guarantee, Release
from ..release.document import Document
from ..release.population import chart_variance, noises, released_coordinates
from ..release.terms import Neighbours
from ..shown import Shown

PRIVATE_LABELS = (
    "the group of every person must be public: a replacement then stays in its group, and the price is that of one group. "
    "Where the group itself is private (a diagnosis, say), no such comparison is made: compare groups that everybody may know"
)


def p_in_words(p_value: float) -> str:
    """Return a p-value in words; all above 0.15 are reported alike, and so are all below 0.001.

    >>> p_in_words(0.0231), p_in_words(0.4)
    ('p = 0.023', 'p above 0.15')
    """
    if p_value < 0.001:
        return "p below 0.001"
    return f"p above {1 - LEAST:.2g}" if p_value > 1 - LEAST else f"p = {p_value:.2g}"


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for being several (Holm 1979): the k-th smallest of m times m + 1 − k, or one before it.

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p_values)
    rising = np.maximum.accumulate(np.sort(p_values) * np.arange(len(order), 0, -1))
    return [*map(float, np.minimum(1.0, rising)[np.argsort(order)])]


@dataclass(frozen=True)
class Difference:
    """What the releases of two groups say of the difference of their population means, or slopes, in the common chart, in whose
    norm the public region has size 1."""

    first: str
    second: str
    level: float
    length: float  # ‖w̃₁ − w̃₂‖: how far the released means are apart
    chart_radius: float  # within which of it that of the population means lies, at this level for all tests at once
    p_value: float  # the probability of released means at least so far apart if the populations have the same mean
    adjusted: float  # that, corrected for being one of several tests (Holm)
    tests: int  # how many these are
    what: str = "means"

    @property
    def differs(self) -> bool:
        """Whether equal means are rejected at 1 − level, for all tests together."""
        return self.adjusted <= 1 - self.level

    @property
    def words(self) -> str:
        """The verdict, in a sentence."""
        verdict = "differ" if self.differs else "may be the same, as far as these releases tell"
        several = f" corrected for {self.tests} tests," if self.tests > 1 else ""
        found = f"{p_in_words(self.adjusted)},{several} at the level of {1 - self.level:.2g}"
        return printable(f"The {self.what} of {self.first} and {self.second} {verdict} ({found}).")


@dataclass(frozen=True, eq=False, kw_only=True)
class Grouped(Document, Shown):
    """Releases of groups in one chart, which were charged as one, and tests of all pairs of them."""

    epsilon: float  # what all of them cost together: as much as one, as each person is in one group
    groups: Mapping[str, Any]  # the release of each group, by its label

    @property
    def guarantee(self) -> Guarantee:
        """What is promised of all groups together."""
        return next(iter(self.groups.values())).guarantee  # type: ignore[no-any-return]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of groups that are tested."""
        return [*combinations(self.groups, 2)]

    @cached_property
    def differences(self) -> list[Difference]:
        """All pairs that are tested, at the level of 0.95 for all together, the smallest p-value first."""
        return self._family(0.95)

    def difference(self, first: str | None = None, second: str | None = None, level: float = 0.95) -> Difference:
        """Return how two groups differ, the first two unless named.  Levels below 0.85 are not shown to cover, and refused.

        Equal means are rejected beyond the quantile of ‖N₁ + N₂ + √(V₁/n₁ + V₂/n₂)·Z·e₁‖ (proofs, Result 6), equal slopes by
        the errors of both, for slopes as long as either region allows (Result 14); p-values are corrected for all ``pairs``
        (Holm), any other two groups being a test by itself.
        """
        check_level(level)
        one, two = (name or other for name, other in zip((first, second), self.pairs[0], strict=True))
        for name in (one, two):
            if name not in self.groups:
                raise ValueError(f"there is no group {name!r}; the groups are {', '.join(self.groups)}")
        for found in self.differences if level == 0.95 else self._family(level):
            if {found.first, found.second} == {one, two}:
                return replace(found, first=one, second=two)
        return self._alone(one, two, level)

    def _family(self, level: float) -> list[Difference]:
        """Return the pairs that can be tested; all others count as if the test had found nothing."""
        found = [self._alone(*pair, level, len(self.pairs)) for pair in self.pairs if self._testable(pair)]
        found.sort(key=lambda one: one.p_value)
        corrected = holm([one.p_value for one in found] + [1.0] * (len(self.pairs) - len(found)))
        return [replace(one, adjusted=p) for one, p in zip(found, corrected, strict=False)]

    def _testable(self, pair: tuple[str, str]) -> bool:
        return True

    def _alone(self, one: str, two: str, level: float, tests: int = 1) -> Difference:
        """Return how two groups differ, where this is one of so many tests."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(Grouped):
    """Private means of groups in one chart, which were charged as one."""

    groups: Mapping[str, Release]
    cells: Mapping[str, list[str]] = field(default_factory=dict)  # of two factors: both labels of each group

    newer: ClassVar[Mapping[str, Any]] = {"cells": {}}
    format: ClassVar[str] = "sfumato comparison 1"
    noun: ClassVar[str] = "comparison"
    shown_by: ClassVar[str] = "compared"

    def _alone(self, one: str, two: str, level: float, tests: int = 1) -> Difference:
        w, sigmas, variances, cells = self.numbers((one, two), level)
        apart = float(np.linalg.norm(w[0] - w[1]))
        law = (w.shape[1], sigmas.tolist(), float(variances.sum()), noises(self.groups[one]))
        radius = sum_quantile(1 - (1 - level) / tests, *law) + float(cells.sum())
        tail = sum_tail(max(0.0, apart - float(cells.sum())), *law)
        return Difference(one, two, level, apart, radius, tail, tail, tests)

    def numbers(self, names: Iterable[str], level: float = 0.95) -> tuple[Array, Array, Array, Array]:
        """Return w̃, σ, V/n and half the diagonal of a cell of the lattice, of each of these groups."""
        some = [self.groups[name] for name in names]
        w = np.stack([released_coordinates(release) for release in some])
        variances = [chart_variance(release, level) / release.n for release in some]
        cells = [release.lattice_spacing / 2 * np.sqrt(w.shape[1]) for release in some]
        return w, np.array([release.calibration.sigma for release in some]), np.array(variances), np.array(cells)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of groups that are tested: all, or of two factors those within the same level of the second."""
        within = {name: self.cells[name][1] if self.cells else "" for name in self.groups}
        return [pair for pair in super().pairs if within[pair[0]] == within[pair[1]]]

    @cached_property
    def omnibus(self) -> float:
        """The p-value of equal means of all groups (proofs, Result 15)."""
        return omnibus(*self.numbers(self.groups), noises(next(iter(self.groups.values()))))


def compare_groups(
    points: ArrayLike | Dataset,
    labels: ArrayLike | str,
    region: Region,
    epsilon: float | None = None,
    *,
    within: ArrayLike | str | None = None,
    public_labels: bool = True,
    inference: float = SHARE,
    unit: str | ArrayLike | None = None,
    unit_name: str = PERSON,
    invalid: str = "raise",
    budget: Budget | None = None,
    force: bool = False,
    allow_useless: bool = False,
    privacy: Privacy | None = None,
) -> Comparison:
    """Release a private mean of each group, their differences with regions, and tests of equal means.

    The groups of all people, and so the sizes of the groups, must be public: replacing one person's record then changes one
    group's release, and all releases together cost ε, not the sum.

    ``labels`` are the public group of each record, or the name of a label of the Dataset, such as "sex"; with
    ``public_labels=False`` the comparison is refused.  With a second label, ``within``, such as "site", each combination that
    occurs is a group, as "f in A", and the pairs within each site are tested.  One chart of the region, which is public
    knowledge about where the records of all groups lie, serves all of them.  ``inference`` is the share of ε for the spread of
    each group, which regions and tests need.  All else is as in :func:`sfumato.private_mean`; a unit must be in one group.

    >>> from sfumato import Ball, Euclidean
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["f", "m"], 400)
    >>> points = rng.normal(size=(800, 2)) * 0.2 + np.where(labels == "f", 0.3, -0.3)[:, None]
    >>> found = compare_groups(points, labels, Ball(Euclidean(dim=2), [0.0, 0.0], radius=1.0), epsilon=1.0)
    >>> [*found.groups], found.difference().differs, found.epsilon
    (['f', 'm'], True, 1.0)
    >>> found = compare_groups(points, labels, Ball(Euclidean(dim=2), [0.0, 0.0], 1.0), 1.0, within=np.arange(800) % 2)
    >>> found.pairs, found.omnibus < 0.05
    ([('f in 0', 'm in 0'), ('f in 1', 'm in 1')], True)
    """
    if not public_labels:
        raise Refusal(PRIVATE_LABELS)
    promise = as_privacy(epsilon, privacy, "compare_groups").check(force)
    inference = check_share(inference)
    points = as_data(points, region.space)
    points, names, cells = _labelled(points, labels, within)
    parts, words = by_group(points, names, np.zeros(len(names)), region, unit, unit_name, invalid)
    sizes = {name: len(own) for name, (own, _) in parts.items()}
    chart = region.settle(min(sizes.values()), promise.aside(inference)[1])
    plans = {name: plan_group(chart, n, promise, inference, allow_useless, region) for name, n in sizes.items()}
    first = next(iter(plans.values())).record.of(points).document()
    about = {"statistic": "means of groups in one chart", "groups": sizes, "unit": words, "n": sum(sizes.values())}
    groups = {}
    facts = reduce(or_, (plan.facts for plan in plans.values()))
    with paying(budget, facts, {**first, **about}) as payment:
        for name, plan in plans.items():
            records = Records(region.space, parts[name][0])
            release = plan.release_of(records, words, data=points)
            groups[name] = replace(release, guarantee=replace(release.guarantee, neighbours=Neighbours.GROUPS))
        return payment.note(Comparison(epsilon=facts.epsilon, groups=groups, cells=cells))


def _labelled(points: Any, labels: Any, within: Any) -> tuple[Any, NDArray[np.str_], dict[str, list[str]]]:
    """Return the points without the labels of groups, which say nothing of whose record it is; the group of each record; and of
    two factors both labels of each group."""
    columns = []
    for column in (labels,) if within is None else (labels, within):
        points, values = take_label(points, column)
        columns.append(group_names(np.asarray(values), len(as_numbers(points))).tolist())
    rows = [*zip(*columns, strict=True)]
    cells = {" in ".join(row): [*row] for row in sorted({*rows})}
    if len(cells) < len({*rows}) or (within is not None and len({row[1] for row in rows}) == len(cells)):
        raise ValueError("two combinations of labels are written alike, or none have the second in common")
    return points, np.array([" in ".join(row) for row in rows]), {} if within is None else cells


def by_group(
    points: Any,
    groups: NDArray[np.str_],
    numbers: Array,
    region: Region,
    unit: Any,
    unit_name: str,
    invalid: str,
    fewest: int = 2,
) -> tuple[dict[str, tuple[Points, Array]], str]:
    """Return a point and a number for each unit of each group, in the order of the labels, its mean; and the unit in words."""
    points, unit = take_unit(points, unit)
    array = as_numbers(points)
    admit = partial(region.admit, invalid=invalid)
    rows = {name: groups == name for name in np.unique(groups).tolist()}
    if isinstance(unit, str):
        array = admit(array)
        parts = {name: (array[own], numbers[own]) for name, own in rows.items()}
    else:
        people = number_units(unit, len(array))
        if sum(len(set(people[own].tolist())) for own in rows.values()) > len(set(people.tolist())):
            raise Refusal(
                "a unit has records in two groups, so that replacing it would change both: compare groups of different people, "
                "or release each group by itself, at its own price. Nothing was spent"
            )
        parts = {}
        for name, own in rows.items():
            means = by_unit(numbers[own], people[own], lambda each: np.asarray(np.mean(each)))
            parts[name] = (reduce_to_units(region, array[own], people[own], admit), np.array(means))
    for name, (own, _) in parts.items():
        if len(own) < fewest:
            where = f"the group {name!r} has" if name else "there is" if len(own) == 1 else "there are"
            raise ValueError(f"{where} {len(own)} unit{'s' * (len(own) != 1)}, and {fewest} are needed, of each group")
    return parts, unit if isinstance(unit, str) else unit_name


def take_label(points: Any, column: Any) -> tuple[Any, Any]:
    """Return the points without the label of this name, which says nothing of whose record it is, and that label; anything
    else than a name is the column itself."""
    if not isinstance(column, str):
        return points, column
    known = dict(points.labels) if isinstance(points, Dataset) else {}
    if column not in known:
        raise ValueError(f"there is no label {column!r} beside the points; there are: {', '.join(known) or 'none'}")
    label = known.pop(column)
    return replace(points, labels=known), label


def group_names(labels: NDArray[Any], n: int) -> NDArray[np.str_]:
    """Return the name of the group of each of n records, or raise a ValueError: there must be two groups or more."""
    if labels.shape != (n,):
        raise ValueError(f"{n} records need as many labels of groups, not an array of shape {labels.shape}")
    try:
        groups = np.array([group_name(label) for label in labels.tolist()], dtype=np.str_)
    except ValueError as error:
        raise ValueError(f"a record has a label of a group {error}") from None
    if (unknown := np.flatnonzero(np.isin(groups, UNKNOWN))).size:
        words = f"{unknown.size} of {groups.size} records have no group, the first being record {unknown[0]}"
        raise ValueError(f"{words}: label or remove them")
    if not groups.size:
        raise ValueError("no records")
    if len(set(groups.tolist())) < 2:
        raise ValueError(f"a comparison needs two groups or more; all labels are {str(groups[0])!r}")
    return groups


def plan_group(
    chart: Settled, n: int, privacy: Privacy, inference: float, allow: bool, known: Region | None = None
) -> Composition:
    """Return the plan of one group of n in the chart of all, which ``known`` settled."""
    share = check_share(inference)

    def planned(region: Region, count: int, privacy: Privacy) -> Composition:
        mean = TangentKNorm(region, privacy.aside(share)[1], known=known).plan(count)
        return Composition(region, count, privacy, mean, spread=Spread.of(privacy, share))

    plan = planned(chart, n, privacy)
    plan.check_useful(planned, allow)
    return plan
