"""Regression: a mean that changes with age, dose or size, by two noisy halves (Result 14)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from operator import or_
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from ..errors import Fix, Refusal, printable
from ..files import Dataset, as_data
from ..laws.calibration.halves import Error, lengths, tail
from ..laws.calibration.population import check_level, variance_bound
from ..laws.noise import Noise
from ..laws.privacy import Facts, Privacy, as_privacy
from ..laws.sampling.discrete import CLOCK_DELTA
from ..mechanisms.base import PERSON
from ..mechanisms.inference import noisy_mean
from ..mechanisms.paying import Budget, paying
from ..mechanisms.plan import Drawn
from ..mechanisms.tangent import TangentKNorm, whole_sums
from ..numerics.arrays import Array, Points, as_numbers
from ..records import Records
from ..regions import Ball, Ellipsoid, Region
from ..regions.ellipsoid import point_or_center
from ..release import Guarantee, Release
from ..release.document import Document
from ..release.record import SpaceOf
from ..release.terms import Named, Neighbours
from ..shown import Shown
from ..spaces import space_from
from .groups import Difference, Grouped, by_group, group_names, p_in_words, take_label

PARTS = {"mean": 5, "upper": 5, "product": 12, "spread": 6}  # hundredths of ε, for numbers beside the two halves
CHART = 0.2  # the part of ε that the chart is settled for, as the test pays for each direction
SOFT = 8  # the halves pass into each other over this part of the limits, to both sides of the middle
FEWEST = 32.0  # records, times the ε of their products with the covariate, from which a slope has a region
KNOWN = 3.8  # the same, times the spread of a public covariate over the width of the limits
USELESS = 0.5  # noise of the difference of the halves; no difference is longer than 1
LEVEL = 0.95
NARROWEST = 1e-100  # limits, so that slopes are numbers
LOG_SIZE = "log centroid size"  # a covariate that is shown as a size
FAR = 3000.0  # times the radius for a denominator that is known: beyond, the slope is said to be too noisy


# -- the noise -------------------------------------------------------------------------------------------------------------
class Halves(TangentKNorm):
    """The means of α·w and of (1 − α)·w, ‖w‖ ≤ 1 and 0 ≤ α ≤ 1, each with noise of its own.

    One record moves the two by lengths that add up to at most 2/n: ‖αw − α'w'‖ + ‖(1−α)w − (1−α')w'‖ ≤ ‖w‖ + ‖w'‖.  So
    σ = 2/(nε) is ε-private, and no kind of privacy is worse than if all of it went into one half (proofs, Result 14).
    """

    blocks = 2
    after = ""

    def about(self, mean: Any, rng: np.random.Generator) -> Drawn:
        w = self.lattice_point(mean, rng)
        return Drawn(w, w, None, w)


# -- what is released --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Reach:
    """Where the slope, or the mean at a value, lies with the stated confidence: {‖w − w̃‖ ≤ chart_radius} in the chart."""

    level: float
    w: Array = field(repr=False)
    chart_radius: float
    radius: float  # the longest semi-axis, as a length in the space


@dataclass(frozen=True, eq=False, kw_only=True)
class Regression(Document, Shown):
    """How a mean changes with a covariate z within public limits, from the means of two soft halves of the records.

    s = clip((z − c)/τ, −1, 1) says how far a record is in the upper half about a middle c, and 1/8 of the limits is τ.  With
    D = mean (s − s̄)·w and C = mean (s − s̄)·z the slope is D/C, which is that of the line where there is one.
    """

    covariate: str
    limits: list[float]
    public: bool  # whether the covariates are public: then all numbers of them are exact
    middle: float  # c
    mean: float  # of z
    upper: float  # the mean of s
    product: float | None  # the mean of s·(z − c); None: only a test was asked for
    second_moment: float  # the mean of ‖w‖²
    widths: Mapping[str, float]  # scales of the Laplace noise of these four
    baseline: list[float] | None  # the slope of the public sample in the chart, where its covariate is known
    baseline_error: float | None  # the root mean square error of that slope, as a length in the space
    guarantee: Guarantee  # what is promised of all of it together
    space: SpaceOf
    center: Array
    axes: Array
    basis: Array
    halves: Release  # the noisy means of the two halves in the chart

    format: ClassVar[str] = "sfumato regression 1"
    noun: ClassVar[str] = "regression"
    shown_by: ClassVar[str] = "regressed"

    @property
    def n(self) -> int:
        """How many units there were."""
        return self.halves.n

    @cached_property
    def total(self) -> Array:
        """The noisy mean of w, as it was drawn."""
        upper, lower = self.halves.raw.reshape(2, -1)
        return np.asarray(upper + lower)

    @cached_property
    def difference(self) -> Array:
        """The noisy D: the upper half less the lower one, each by its size."""
        upper, lower = self.halves.raw.reshape(2, -1)
        return np.asarray((1 - self.upper) * upper - (1 + self.upper) * lower)

    @property
    def denominator(self) -> float | None:
        """The noisy C: about the mean distance of covariates from their middle; None where only a test was asked for."""
        return None if self.product is None else self.product - self.upper * (self.mean - self.middle)

    @cached_property
    def p_value(self) -> float:
        """The probability of halves at least so different if the mean does not change with the covariate."""
        return tail(float(np.linalg.norm(self.difference)), self.chart_error(LEVEL, 0.0, 1.0, 0.0))

    @cached_property
    def p_along(self) -> float | None:
        """The same for a change in the direction in which the public sample changes; None where that is not known."""
        if self.baseline is None or not any(self.baseline):
            return None
        unit = np.array(self.baseline) / np.linalg.norm(self.baseline)
        return tail(abs(float(self.difference @ unit)), self.chart_error(LEVEL, 0.0, 1.0, 0.0), directions=1)

    @property
    def changes(self) -> bool:
        """Whether the test of no change rejects at the level of 5%."""
        return self.p_value <= 1 - LEVEL

    @property
    def words(self) -> str:
        """The verdict, in a sentence."""
        name = printable(self.covariate)
        verdict = f"changes with {name}" if self.changes else f"may not change with {name}, as far as is known"
        return f"The mean {verdict} ({p_in_words(self.p_value)})."

    @cached_property
    def chart_slope(self) -> Array | None:
        """The slope in the chart, per unit of the covariate; None where it was not asked for, or is too noisy to be known."""
        if self.denominator is None or not np.isfinite(self._radius):
            return None
        return np.asarray(self.difference / self.denominator)

    @property
    def slope(self) -> Array | None:
        """How the mean moves per unit of the covariate: a tangent vector at the public centre, in the space's coordinates
        there; None where it was not asked for, or is too noisy to be known."""
        return None if self.chart_slope is None else (self.chart_slope * self.axes) @ self.basis

    def at(self, value: float) -> Array:
        """Return the mean at a value of the covariate within the limits, as a point of the space in the public region."""
        space = self.space.required
        chart = Ellipsoid(space, self.center, self.axes, self.basis)
        return point_or_center(space, chart.center, chart.tangent(chart.nearest(self._w(value))))

    def region(self, level: float = LEVEL, at: float | None = None) -> Reach:
        """Return where the slope of the population lies, or its mean ``at`` a value, at a confidence ``level`` from 0.85.

        The slope b̃ is known to within the r for which C̃·r is the quantile of the error of D̃ − C̃·b for slopes b as long as
        ‖b̃‖ + r (Fieller); without such an r it is too noisy, and a ValueError is raised.
        """
        check_level(level)
        w = self._known() if at is None else self._w(at)
        radius = self._slope_radius(level)
        if at is not None:
            radius = self._quantile(level, 1.0, self.lever(at - self.mean), self.longest(level))
        return Reach(level, w, radius, radius * float(self.axes.max()))

    @property
    def values(self) -> tuple[float, float]:
        """A low and a high value of the covariate: twice its mean distance from the middle away, within the limits."""
        away = 2 * max(self.denominator or 0.0, 0.0)
        low, high = self.limits
        return max(low, min(self.mean - away, high)), min(high, max(self.mean + away, low))

    def _known(self) -> Array:
        """Return the slope in the chart; raise a ValueError where it was not asked for, or is too noisy."""
        if self.chart_slope is None:
            why = "was not asked for" if self.product is None else "is too noisy to be known"
            raise ValueError(f"the slope {why}: the test of no change is all that this release tells")
        return self.chart_slope

    def _w(self, value: float) -> Array:
        """Return the mean at a value in the chart, as it was drawn."""
        low, high = self.limits
        if not low <= value <= high:
            raise ValueError(f"{self.covariate} {value:g} is outside the public limits, {low:g} to {high:g}")
        self._known()
        return np.asarray(self.total + self.difference * self.lever(value - self.mean))

    def lever(self, away: float) -> float:
        """Return how many times D̃ the mean moves if the covariate does by so much."""
        return away / float(self.denominator or 1.0)

    def longest(self, level: float) -> float:
        """Return how long the slope may be."""
        return float(np.linalg.norm(self._known())) + self._slope_radius(level)

    def _slope_radius(self, level: float) -> float:
        """Return r of the slope's region, or raise a ValueError where there is none at this level."""
        radius = self._radius if level == LEVEL else self._solved(level)
        if not np.isfinite(radius):
            raise ValueError(f"at a level of {level:g} the slope is too noisy to be known")
        return radius

    def chart_error(self, level: float, mean: float, slope: float, length: float) -> Error:
        """Return the error of ``mean`` times the mean of w and ``slope`` times D̃ − C̃·b together, for slopes b of this length.

        With noise N of the halves, L of the other numbers and S of the sample it is (mean + slope·(1 − s̃))·N₁ +
        (mean − slope·(1 + s̃))·N₂ − slope·bₛ·Lₛ·(w̄ − (z̃ − c)·b) − slope·b_P·L_P·b + (slope·s̃ − mean)·b_z·L_z·b + S.
        """
        p = len(self.axes)
        sigma = self.halves.calibration.sigma
        upper = self.upper
        size = min(1.0, float(np.linalg.norm(self.total)))
        off = abs(self.mean - self.middle)
        laplaces = (
            abs(slope) * self.widths["upper"] * (size + off * length),
            abs(slope) * self.widths["product"] * length,
            abs(slope * upper - mean) * self.widths["mean"] * length,
        )
        # E‖w − Ew‖² as for a mean (Result 6), by the noise of both halves
        numbers = (2 * p, sigma, self.second_moment, self.widths["spread"], float(np.linalg.norm(self.total)))
        variance = variance_bound(level, self.n, self.guarantee.epsilon, *numbers)
        sampled = (abs(slope) * (1 + abs(upper)) + abs(mean)) ** 2 * variance / self.n
        scales = (sigma * abs(mean + slope * (1 - upper)), sigma * abs(mean - slope * (1 + upper)))
        cell = self.halves.lattice_spacing / 2 * float(np.sqrt(p)) / sigma * sum(scales)
        return Error(p, scales, laplaces, sampled, cell)

    def _quantile(self, level: float, mean: float, slope: float, length: float) -> float:
        return float(np.quantile(lengths(self.chart_error(level, mean, slope, length)), level))

    @cached_property
    def _radius(self) -> float:
        """r of the slope's region at 95%."""
        return self._solved(LEVEL)

    def _solved(self, level: float) -> float:
        """Return the r for which C̃·r is the quantile of the error for slopes as long as ‖b̃‖ + r; infinite without one."""
        spread = self.denominator
        if spread is None or not spread > 0:
            return np.inf
        length = float(np.linalg.norm(self.difference)) / spread

        def room(r: float) -> float:
            return spread * r - self._quantile(level, 0.0, 1.0, length + r)

        low = self._quantile(level, 0.0, 1.0, length) / spread  # the least, as the error grows with the slope
        high = low
        while room(high) < 0:
            high *= 1.7
            if high > FAR * low:
                return np.inf
        return float(brentq(room, low, high, xtol=1e-4 * low)) + 1e-4 * low if high > low else low

    def check(self) -> None:
        if self.halves.raw.size != 2 * len(self.axes) or len(self.basis) != len(self.axes):
            raise ValueError(f"{self.halves.raw.size} numbers are not two halves in {len(self.axes)} directions")
        if not (len(self.limits) == 2 and self.limits[0] < self.limits[1] and set(PARTS) == {*self.widths}):
            raise ValueError("the limits of the covariate, or the scales of the noise, are not what a regression has")


@dataclass(frozen=True, eq=False, kw_only=True)
class Regressions(Grouped):
    """A regression for each of several groups, in one chart, which were charged as one."""

    groups: Mapping[str, Regression]

    format: ClassVar[str] = "sfumato regressions 1"
    noun: ClassVar[str] = "regression of groups"
    shown_by: ClassVar[str] = "regressed"

    def _testable(self, pair: tuple[str, str]) -> bool:
        return all(self.groups[name].chart_slope is not None for name in pair)

    def _alone(self, one: str, two: str, level: float, tests: int = 1) -> Difference:
        both = [self.groups[name] for name in (one, two)]
        slopes = [each.region(level).w for each in both]
        apart = float(np.linalg.norm(slopes[0] - slopes[1]))
        longest = [each.longest(level) for each in both]

        def errors(*slopes: float) -> list[Error]:
            """Return those of both slopes, if they are of these lengths."""
            return [each.chart_error(level, 0.0, each.lever(1.0), b) for each, b in zip(both, slopes, strict=True)]

        radius = float(np.quantile(lengths(*errors(*longest)), 1 - (1 - level) / tests))
        p_value = tail(apart, *errors(*[min(longest)] * 2))  # if they are the same, both are as short
        return Difference(one, two, level, apart, radius, p_value, p_value, tests, "slopes")


# -- the release -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Line:
    """The plan of a regression of n units: a chart, the noise of the halves, and the ε of the numbers beside them."""

    covariate: str
    limits: tuple[float, float]
    public: bool
    test_only: bool
    chart: Ellipsoid
    privacy: Privacy
    baseline: tuple[Array, float] | None
    n: int

    @cached_property
    def split(self) -> tuple[dict[str, Fraction], Privacy]:
        """The ε of each number beside the halves, as exact fractions, so that they add up; and what is left for the halves."""
        names = ["spread"] if self.public else [name for name in PARTS if name != "product" or not self.test_only]
        parts = sum(PARTS[name] for name in names)
        spent, rest = self.privacy.aside(parts / 100)
        return {name: spent * Fraction(PARTS[name], parts) for name in names}, rest

    @cached_property
    def halves(self) -> Halves:
        """The plan of the two halves."""
        flat = space_from("euclidean", {"dim": 2 * len(self.chart.axes)})
        named = Named("means of two soft halves of the records, in one chart", "length in the chart")
        return Halves(Ball(flat, np.zeros(flat.dim), 1.0), self.split[1], statistic=named).plan(self.n)

    @cached_property
    def facts(self) -> Facts:
        """All that is proven of the release."""
        beside = (Noise(float(sum(self.split[0].values()))),)
        return Facts.of(self.privacy, [*self.halves.parts, beside], self.halves.chance)

    @property
    def noise_95(self) -> float:
        """What the noise alone makes of the difference of the halves, with a probability of 95%."""
        sigma = self.halves.scale.sigma
        return float(np.quantile(lengths(Error(len(self.chart.axes), (sigma, sigma), (), 0.0)), LEVEL))

    def check(self, spread: float | None, allow: bool) -> None:
        """Raise a Refusal where no change could be seen, or where a slope would mostly be too noisy; ``spread`` is C of public
        covariates, over the width of the limits."""
        if allow:
            return
        n = self.n
        anyway = ("; or ", Fix("allow_useless", True), ". Nothing was spent")
        if self.noise_95 >= USELESS:
            more = int(np.ceil(n * self.noise_95 / USELESS)) + 1
            raise Refusal(
                f"no change could be seen: the noise would move the difference of the two halves by {self.noise_95:.2g} of the "
                f"region's size (95%), and no difference is longer than 1. What helps: {more} records or as much more epsilon, "
                "or noise shaped by a public sample of such records (",
                Fix("public", "FILE"),
                ")",
                *anyway,
            )
        if "product" not in self.split[0]:
            return
        known = n * float(self.split[0]["product"])
        needed = FEWEST if spread is None else KNOWN / max(spread, 1e-3)
        if known < needed:
            raise Refusal(
                f"the slope would mostly be too noisy to be known. What helps: {int(np.ceil(n * needed / known))} records or "
                "as much more epsilon; narrower limits, if they are publicly known; only the test of no change, ",
                Fix("test_only", True),
                *anyway,
            )

    def run(
        self, points: Points, z: Array, words: str, neighbours: str, rng: np.random.Generator, data: object = None
    ) -> Regression:
        """Return the regression of one group by a point and a covariate z of each unit: here data meet noise."""
        low, high = self.limits
        width = high - low
        z = np.clip((z - low) / width, 0.0, 1.0)  # also what is rounded beyond the limits, as the mean of a unit may be
        mean = self._mean("mean", z, rng)
        middle, s = _soft(z, mean)
        alpha = (1 + s) / 2
        w = self.chart.chart(points)
        rows = np.hstack([alpha[:, None] * w, (1 - alpha)[:, None] * w])
        halves = self.halves.made(self.halves.record.of(data), Records(self.halves.space, rows), words, rng)
        halves = replace(halves, guarantee=replace(halves.guarantee, neighbours=neighbours))
        farthest = max(1 - middle, middle)
        product = None
        if self.public or "product" in self.split[0]:
            product = width * farthest * self._mean("product", np.clip(s * (z - middle) / farthest, 0.0, 1.0), rng)
        ranges = {"mean": width, "upper": 2.0, "product": width * farthest, "spread": 1.0}
        baseline = None if self.baseline is None else self.chart.basis @ self.baseline[0] / self.chart.axes
        clock = (self.halves.losses.clock_delta or 0.0) + len(self.split[0]) * CLOCK_DELTA
        more = {**vars(self.halves.losses), "clock_delta": clock, "private": halves.guarantee.private}
        return Regression(
            covariate=self.covariate,
            limits=[low, high],
            public=self.public,
            middle=low + width * middle,
            mean=float(np.clip(low + width * mean, low, high)),
            upper=float(np.clip(2 * self._mean("upper", alpha, rng) - 1, -1.0, 1.0)),
            product=product,
            second_moment=self._mean("spread", np.minimum(np.sum(w * w, axis=1), 1.0), rng),
            widths=dict.fromkeys(PARTS, 0.0)
            | {name: ranges[name] / (self.n * float(part)) for name, part in self.split[0].items()},
            baseline=None if baseline is None else baseline.tolist(),
            baseline_error=None if self.baseline is None else self.baseline[1],
            guarantee=Guarantee.of(self.facts, words, neighbours=neighbours, **more),
            space=SpaceOf.of(self.chart.space),
            center=self.chart.space.present(self.chart.center),
            axes=self.chart.axes,
            basis=self.chart.basis,
            halves=halves,
        )

    def _mean(self, name: str, numbers: Array, rng: np.random.Generator) -> float:
        """Return the mean of numbers between 0 and 1, with its noise; exactly, where they are public."""
        if name not in self.split[0]:
            return float(np.mean(numbers))
        (total,) = whole_sums(lambda column: [column], numbers[:, None], None)
        return noisy_mean(int(total), len(numbers), 1 / self.split[0][name], rng)


def private_regression(
    points: ArrayLike | Dataset,
    covariate: ArrayLike | str,
    region: Region,
    epsilon: float | None = None,
    *,
    limits: tuple[float, float] | None = None,
    covariate_is_public: bool = False,
    public_covariate: ArrayLike | None = None,
    by: ArrayLike | str | None = None,
    test_only: bool = False,
    name: str = "the covariate",
    unit: str | ArrayLike | None = None,
    unit_name: str = PERSON,
    invalid: str = "raise",
    budget: Budget | None = None,
    force: bool = False,
    allow_useless: bool = False,
    privacy: Privacy | None = None,
) -> Regression | Regressions:
    """Release how a mean changes with a number that is known of each record: its age, its dose, the logarithm of its size.

    Records are split softly at a middle that is found privately, and the noisy means of the two halves say whether the mean
    changes, how fast, and what it is at any value of the covariate; all of it costs ε (proofs, Result 14).

    ``covariate`` is a number for each record, or the name of a label of the Dataset.  It is private, and numbers outside the
    public ``limits`` are moved to them; with ``covariate_is_public`` it is known of everybody, protected for nobody, and the
    limits are its own unless given.  ``public_covariate`` is that of the public sample, in its order, NaN where unknown: the
    release is then compared with its slope.  ``by`` are public groups, as in :func:`sfumato.compare_groups`: each has a
    regression of its own, and all of them cost one ε.  With ``test_only`` the slope's part of ε goes into the test of no
    change.  All else is as in :func:`sfumato.private_mean`.

    >>> from sfumato import Ball, Euclidean
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 80, 2000)
    >>> points = rng.normal(0.0, 0.3, (2000, 2)) + 0.01 * (age - 50)[:, None] * [1.0, 0.0]
    >>> region = Ball(Euclidean(dim=2), [0.0, 0.0], radius=1.5)
    >>> found = private_regression(points, age, region, epsilon=2.0, limits=(15, 90), name="age")
    >>> found.changes, (found.slope.round(2) + 0).tolist(), found.at(70).shape
    (True, [0.01, 0.0], (2,))
    """
    promise = as_privacy(epsilon, privacy, "private_regression").check(force)
    label = covariate if isinstance(covariate, str) else name
    data, numbers = take_label(as_data(points, region.space), covariate)
    data, groups = take_label(data, by)
    numbers, within = _within(numbers, limits, covariate_is_public, label, invalid)
    n = len(as_numbers(data))
    if len(numbers) != n:
        raise ValueError(f"there are {n} records and {len(numbers)} covariates: give one for each record")
    labels = np.zeros(n, dtype="U1") if by is None else group_names(np.asarray(groups), n)
    samples, words = by_group(data, labels, numbers, region, unit, unit_name, invalid, fewest=3)
    sizes = {group: len(z) for group, (_, z) in samples.items()}
    chart = region.settle(min(sizes.values()), promise.split(CHART)[0]).as_chart()
    known = None if public_covariate is None else np.clip(as_numbers(public_covariate), *within)
    baseline = None if known is None else region.public_slope(known)
    spread = None
    if known is not None:
        part = (known[np.isfinite(known)] - within[0]) / (within[1] - within[0])
        _, s = _soft(part, float(part.mean()))
        spread = float(np.mean((s - s.mean()) * part))
    asked = (label, within, covariate_is_public, test_only, chart, promise, baseline)
    plans = {group: Line(*asked, n) for group, n in sizes.items()}
    for plan in plans.values():
        plan.check(spread, allow_useless)
    facts = reduce(or_, (plan.facts for plan in plans.values()))
    about: dict[str, Any] = {"n": sum(sizes.values()), **({} if by is None else {"groups": sizes})}
    about |= {"statistic": "mean that changes with a covariate", "covariate": label, "limits": [*within], "unit": words}
    first = next(iter(plans.values())).halves.record.of(data).document()
    kept = {(False, False): Neighbours.UNITS, (True, False): Neighbours.COVARIATES, (False, True): Neighbours.GROUPS}
    neighbours = kept.get((covariate_is_public, by is not None), Neighbours.GROUPED_COVARIATES)
    with paying(budget, facts, {**first, **about}) as payment:
        found = {one: plan.run(*samples[one], words, neighbours, payment.rng, data) for one, plan in plans.items()}
        return payment.note(found[""] if by is None else Regressions(epsilon=facts.epsilon, groups=found))


def _soft(z: Array, mean: float) -> tuple[float, Array]:
    """Return the middle c, the mean kept away from the limits, 0 and 1, and s: how far each covariate is in the upper half."""
    middle = float(np.clip(mean, 1 / SOFT, 1 - 1 / SOFT))
    return middle, np.clip(SOFT * (z - middle), -1.0, 1.0)


def _within(
    covariate: Any, limits: tuple[float, float] | None, public: bool, name: str, invalid: str
) -> tuple[Array, tuple[float, float]]:
    """Return the covariate moved to its limits, and these; what is no number counts as their middle if that is wished."""
    numbers = np.array(as_numbers(covariate), dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"{name} is one number for each record, not an array of shape {numbers.shape}")
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size and (public or invalid == "raise"):
        words = f"{bad.size} of {numbers.size} records have no {name}, the first being record {bad[0]}"
        middle = () if public else ("; as the middle of the limits: ", Fix("invalid", "center"))
        raise Refusal(f"{words}: give it or leave them out", *middle)
    if limits is None and public and numbers.size:
        limits = (float(numbers.min()), float(numbers.max()))
    if limits is None:
        raise ValueError(f"say between which public limits {name} lies, as limits=(20, 90), never from the records")
    low, high = map(float, limits)
    if not NARROWEST <= high - low <= 1 / NARROWEST:
        raise ValueError(f"the limits of {name} must be two numbers, the smaller first, not {limits!r}")
    numbers[bad] = low + (high - low) / 2
    return np.clip(numbers, low, high), (low, high)
