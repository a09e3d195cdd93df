"""Groups: a private mean of each, the difference of two with its region, and a test of equal means (Result 6)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from ..laws.calibration.population import LEAST, check_level, sum_quantile, sum_tail
from ..laws.privacy import Privacy, as_privacy
from ..mechanisms.base import PERSON
from ..mechanisms.inference import SHARE, Spread, check_share
from ..mechanisms.paying import Budget, paying
from ..mechanisms.stages import Composition
from ..mechanisms.tangent import TangentKNorm
from ..numerics.arrays import Array, as_numbers
from ..records import Records
from ..records.units import number_units
from ..regions import Region, Settled
from ..regions.units import reduce_to_units
from ..release import Release
from ..release.document import Document
from ..release.population import chart_variance, released_coordinates
from ..release.terms import Neighbours
from ..shown import Shown

PRIVATE_LABELS = (
    "the group of every person must be public: a replacement then stays in its group, and the price is that of one group. "
    "Where the group itself is private (a diagnosis, say), no such comparison is made: compare groups that everybody may know"
)


@dataclass(frozen=True)
class Difference:
    """What the releases of two groups say of the difference of their population means, in the common chart, in whose norm the
    public region has size 1."""

    first: str
    second: str
    level: float
    length: float  # ‖w̃₁ − w̃₂‖: how far the released means are apart
    chart_radius: float  # within which of the released difference that of the population means lies, at this level
    p_value: float  # the probability of released means at least so far apart if the populations have the same mean

    @property
    def differs(self) -> bool:
        """Whether equal means are rejected at 1 − level."""
        return self.length > self.chart_radius

    @property
    def p(self) -> str:
        """The p-value in words; all above 0.15 are reported alike, and so are all below 0.001."""
        if self.p_value < 0.001:
            return "p below 0.001"
        if self.p_value > 1 - LEAST:
            return f"p above {1 - LEAST:.2g}"
        return f"p = {self.p_value:.2g}"

    @property
    def words(self) -> str:
        """The verdict, in a sentence."""
        verdict = "differ" if self.differs else "may be the same, as far as these releases tell"
        both = printable(f"{self.first} and {self.second}")
        return f"The means of {both} {verdict} ({self.p}, at the level of {1 - self.level:.2g})."


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(Document, Shown):
    """Private means of groups in one chart, which were charged as one."""

    epsilon: float  # what all of them cost together: as much as one, as each person is in one group
    groups: Mapping[str, Release]  # the release of each group, by its label

    format: ClassVar[str] = "sfumato comparison 1"
    noun: ClassVar[str] = "comparison"
    shown_by: ClassVar[str] = "compared"

    def difference(self, first: str | None = None, second: str | None = None, level: float = 0.95) -> Difference:
        """Return how two groups differ, the first two unless named.  Levels below 0.85 are not shown to cover, and refused.

        Equal means are rejected beyond the quantile of ‖N₁ + N₂ + √(V₁/n₁ + V₂/n₂)·Z·e₁‖ (proofs, Result 6).
        """
        check_level(level)
        names = [*self.groups]
        one = first or names[0]
        two = second or names[1]
        for name in (one, two):
            if name not in self.groups:
                raise ValueError(f"there is no group {name!r}; the groups are {', '.join(names)}")
        both = (self.groups[one], self.groups[two])
        apart = float(np.linalg.norm(self._w[one] - self._w[two]))
        p = len(self._w[one])
        sigmas = [release.calibration.sigma for release in both]
        variance = sum(chart_variance(release, level) / release.n for release in both)
        cells = float(sum(release.lattice_spacing for release in both) / 2 * np.sqrt(p))
        radius = sum_quantile(level, p, sigmas, variance) + cells
        tail = sum_tail(max(0.0, apart - cells), p, sigmas, variance)
        return Difference(one, two, level, apart, radius, tail)

    @property
    def privacy(self) -> Privacy:
        """What is promised of all groups together."""
        return next(iter(self.groups.values())).guarantee.privacy

    @cached_property
    def _w(self) -> dict[str, Array]:
        return {name: released_coordinates(release) for name, release in self.groups.items()}

    @property
    def differences(self) -> list[Difference]:
        """All pairs, at the level of 0.95 each."""
        return [self.difference(*pair) for pair in combinations(self.groups, 2)]


def compare_groups(
    points: ArrayLike | Dataset,
    labels: ArrayLike | str,
    region: Region,
    epsilon: float | None = None,
    *,
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
    ``public_labels=False`` the comparison is refused.  One chart of the region, which is public knowledge about where the
    records of all groups lie, serves all of them.  ``inference`` is the share of ε for the spread of each group, which regions
    and tests need.  All else is as in :func:`sfumato.private_mean`; a unit must be in one group.

    >>> from sfumato import Ball, Euclidean
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["f", "m"], 400)
    >>> points = rng.normal(size=(800, 2)) * 0.2 + np.where(labels == "f", 0.3, -0.3)[:, None]
    >>> found = compare_groups(points, labels, Ball(Euclidean(dim=2), [0.0, 0.0], radius=1.0), epsilon=1.0)
    >>> [*found.groups], found.difference().differs, found.epsilon
    (['f', 'm'], True, 1.0)
    """
    if not public_labels:
        raise Refusal(PRIVATE_LABELS)
    promise = as_privacy(epsilon, privacy, "compare_groups").check(force)
    inference = check_share(inference)
    points = as_data(points, region.space)
    parts, words = _by_group(points, labels, region, unit, unit_name, invalid)
    sizes = {name: records.n for name, records in parts.items()}
    chart = region.settle(min(sizes.values()), promise.aside(inference)[1])
    plans = {name: plan_group(chart, n, promise, inference, allow_useless, region) for name, n in sizes.items()}
    first = next(iter(plans.values())).record.document()
    about = {"statistic": "means of groups in one chart", "groups": sizes, "unit": words, "n": sum(sizes.values())}
    groups = {}
    facts = reduce(or_, (plan.facts for plan in plans.values()))
    with paying(budget, facts, {**first, **about}) as payment:
        for name, plan in plans.items():
            release = plan.release_of(parts[name], words, degrees=getattr(points, "degrees", None))
            groups[name] = replace(release, guarantee=replace(release.guarantee, neighbours=Neighbours.GROUPS))
        return payment.note(Comparison(epsilon=facts.epsilon, groups=groups))


def _by_group(
    points: Any, labels: Any, region: Region, unit: Any, unit_name: str, invalid: str
) -> tuple[dict[str, Records], str]:
    """Return the records of each group, one for each unit, in the order of the labels; and the unit in words."""
    if isinstance(labels, str):  # a label that says nothing of whose record it is
        known = dict(points.labels) if isinstance(points, Dataset) else {}
        if labels not in known:
            raise ValueError(f"there is no label {labels!r} beside the points; there are: {', '.join(known) or 'none'}")
        labels = known.pop(labels)
        points = replace(points, labels=known)
    points, unit = take_unit(points, unit)
    array = as_numbers(points)
    groups = _group_names(np.asarray(labels), len(array))
    admit = partial(region.admit, invalid=invalid)
    if isinstance(unit, str):
        array = admit(array)
        parts = {name: array[groups == name] for name in np.unique(groups).tolist()}
    else:
        people = number_units(unit, len(array))
        rows = {name: groups == name for name in np.unique(groups).tolist()}
        if sum(len(set(people[own].tolist())) for own in rows.values()) > len(set(people.tolist())):
            raise Refusal(
                "a unit has records in two groups, so that replacing it would change both: compare groups of different people, "
                "or release each group by itself, at its own price. Nothing was spent"
            )
        parts = {name: reduce_to_units(region, array[own], people[own], admit) for name, own in rows.items()}
    for name, own in parts.items():
        if len(own) < 2:
            raise ValueError(f"the group {name!r} has {len(own)} unit, and a comparison needs two of each group")
    words = unit if isinstance(unit, str) else unit_name
    return {name: Records(region.space, own) for name, own in parts.items()}, words


def _group_names(labels: NDArray[Any], n: int) -> NDArray[np.str_]:
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
