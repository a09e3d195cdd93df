"""Releases in stages that are charged as one: what a stage gives out may decide the next, so their shares of ε add up."""

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import Fix
from ..laws.calibration.rounding import UNIT
from ..laws.calibration.scale import Scale
from ..laws.noise import Noise
from ..laws.privacy import Privacy
from ..records import Records
from ..regions import Look, Region, Settled
from ..regions.ellipsoid import shorten
from ..release.record import Record
from ..release.terms import Purpose
from .inference import Spread
from .plan import Drawn, Losses, Plan, Remedy
from .statistics import Statistic
from .tangent import TangentKNorm, check_movable, whole_means

FIRST = 0.25  # of ε, for the first of two steps


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a stage decided: the plan of the mean, and the mean in its chart where the stage computed it anyway."""

    plan: TangentKNorm
    mean: list[Fraction] | None = None

    def draw(self, records: Records, rng: np.random.Generator) -> Drawn:
        """Return one draw by this plan."""
        return self.plan.draw(records, rng) if self.mean is None else self.plan.about(self.mean, rng)


@dataclass(frozen=True, eq=False)
class Stage:
    """A part of ε that is spent before the mean is released, and decides how; this one spends nothing."""

    chart: TangentKNorm  # the plan of the mean, as far as it is known before

    finds_region: ClassVar[bool] = False  # whether the region of the mean is known only afterwards

    @property
    def shares(self) -> dict[Purpose, float]:
        """The shares of ε that it takes, by their purpose."""
        return {}

    @property
    def words(self) -> str:
        """What the shares were spent on, in words: the end of a formula."""
        return ""

    @property
    def parts(self) -> list[tuple[Noise, ...]]:
        """The noise of what it spends, then that of the mean in the ways that it chooses among."""
        return self.chart.parts

    @property
    def outer(self) -> float:
        """The ε with which what rounding adds is stated; the least of all draws."""
        return self.chart.outer

    @property
    def fallback_95(self) -> float | None:
        """The whole error at 95% of the other way out, where the stage decides between two; else None."""
        return None

    @property
    def losses(self) -> Losses:
        """What it adds to the losses of the plan of the mean."""
        return Losses(0.0)

    def run(self, records: Records, rng: np.random.Generator) -> Outcome:
        """Spend the share, and return how the mean is released."""
        return Outcome(self.chart)

    def described(self, plan: TangentKNorm, done: bool) -> dict[str, Any]:
        """Return what a record says of the chart of the mean; with what came out, if the stage is ``done``."""
        return {}


@dataclass(frozen=True, eq=False)
class Composition(Plan):
    """A stage, the mean by what it decided, and the spread of the records; one or both of the others may be missing.

    ``chart`` is the plan of the mean as far as it is known before, and the numbers are its own.
    """

    region: Region
    n: int
    privacy: Privacy
    chart: TangentKNorm
    first: Stage | None = None
    spread: Spread | None = None

    name: ClassVar[str] = TangentKNorm.name

    @cached_property
    def stage(self) -> Stage:
        """What comes before the mean."""
        return self.first or Stage(self.chart)

    @property
    def parts(self) -> list[tuple[Noise, ...]]:
        spread = [] if self.spread is None else [(Noise(float(1 / self.spread.width)),)]
        return self.stage.parts + spread

    @property
    def outer(self) -> float:
        return self.stage.outer

    @property
    def scale(self) -> Scale:
        return self.chart.scale

    @property
    def statistic(self) -> Statistic:
        return self.chart.statistic

    def release_error(self, p: float) -> float:
        return self.chart.release_error(p)

    @property
    def directions(self) -> int:
        return self.chart.directions

    def whole_error(self, p: float) -> float:
        """Return the error of the chart.  Where a region is yet to be found, of the noise if the records filled the prior: it
        is in proportion in what is found, and how far a mean in its chart is from the Fréchet mean is known once it is."""
        return self.release_error(p) if self.stage.finds_region else self.chart.whole_error(p)

    @property
    def gain(self) -> float | None:
        return None if self.stage.finds_region else self.chart.gain

    @property
    def fallback_95(self) -> float | None:
        return self.stage.fallback_95

    @property
    def asked(self) -> Region:
        return self.chart.known if self.first is None and self.chart.known is not None else self.region

    @property
    def to_beat(self) -> float:
        return self.chart.to_beat

    @property
    def remedies(self) -> list[Remedy]:
        return [] if self.stage.finds_region else self.chart.remedies

    @cached_property
    def losses(self) -> Losses:
        """The losses of all parts together."""
        parts = [self.chart.losses, self.stage.losses, *([] if self.spread is None else [self.spread.losses])]
        delta = sum(part.numerical_delta for part in parts)
        return Losses(delta, clock_delta=sum(part.clock_delta or 0.0 for part in parts))

    @property
    def spending(self) -> dict[Purpose, float]:
        spread = 0.0 if self.spread is None else self.spread.share
        shares = {what: (1 - spread) * share for what, share in self.stage.shares.items()}
        return {**shares, Purpose.SPREAD: spread} if spread else shares

    @property
    def width(self) -> Fraction:
        """Scale of the noise of the sum of squared lengths; 0 where the spread is not released."""
        return Fraction(0) if self.spread is None else self.spread.width

    # -- the release -------------------------------------------------------------------------------------------------------
    @property
    def record(self) -> Record:
        return self._noted(self.chart, done=False)

    def _noted(self, plan: TangentKNorm, done: bool) -> Record:
        """Return the record of the mean with the whole ε, and what else ε was spent on."""
        record = plan.record
        formula = record.calibration.formula
        chart = record.chart
        spread = None
        symbol = self.privacy.symbols[0]
        if self.first is not None and chart is not None:
            left = 1 - sum(self.first.shares.values())
            formula += f", {symbol} here {left:g} of the whole: {self.first.words}"
            chart = replace(chart, **self.first.described(plan, done))
        if self.spread is not None:
            before = f", {symbol} here" if self.first is None else "; and all of that is"
            formula += f"{before} {1 - self.spread.share:g} of the whole: {self.spread.words}"
            spread = self.spread.described(self.n)
        calibration = replace(record.calibration, epsilon=self.facts.epsilon, formula=formula)
        spent = {what.value: share for what, share in self.spending.items()}
        return replace(record, calibration=calibration, chart=chart, spread=spread, spent=spent)

    def mean(self, records: Records, rng: np.random.Generator) -> tuple[TangentKNorm, Drawn]:
        """Return the plan of the mean as the first stage decided it, and its draw."""
        outcome = self.stage.run(records, rng)
        return outcome.plan, outcome.draw(records, rng)

    def draw(self, records: Records, rng: np.random.Generator) -> Drawn:
        return self.mean(records, rng)[1]

    def run(self, record: Record, records: Records, rng: np.random.Generator) -> tuple[Record, Drawn]:
        plan, drawn = self.mean(records, rng)
        record = self._noted(plan, done=True).of(record)
        if self.spread is not None and record.spread is not None:
            moment = self.spread.second_moment(plan.chart, records, rng)
            record = replace(record, spread=replace(record.spread, second_moment=moment))
        return record, drawn


@dataclass(frozen=True, eq=False)
class FirstStep(Stage):
    """The region of the second step is that of the first, moved to what the first gave out (Result 5, re-centring).

    It pays where the public centre is far from the mean, so that many records are clipped, and is of no use elsewhere.
    """

    region: Settled
    first: TangentKNorm  # and ``chart`` is the second step, whose centre is not known yet

    shares: ClassVar = {Purpose.FIRST: FIRST}
    words = f"{FIRST:g} of it was spent on a first release, which is the centre"

    @classmethod
    def of(cls, region: Region, n: int, privacy: Privacy) -> Self:
        """Return the stage, with the plans of both steps."""
        both = privacy.split(FIRST)
        settled = region.settle(n, both[1])
        first, second = (TangentKNorm(settled, one, known=region).plan(n) for one in both)
        check_movable(first, settled.moved, "use ", Fix("steps", 1))
        return cls(second, settled, first)

    @property
    def parts(self) -> list[tuple[Noise, ...]]:
        return self.first.parts + self.chart.parts

    @property
    def outer(self) -> float:
        return min(self.first.outer, self.chart.outer)

    @property
    def losses(self) -> Losses:
        return self.first.losses

    def described(self, plan: TangentKNorm, done: bool) -> dict[str, Any]:
        return {"source": f"{plan.chart.source}, moved to a first release"}

    def run(self, records: Records, rng: np.random.Generator) -> Outcome:
        place = shorten(self.first.lattice_point(self.first.mean(records), rng))  # a point of the region
        region = self.region
        with suppress(Exception):  # a user's space may have no chart there; then the second stays, as the first decided
            region = region.moved(self.first.chart.point(place))
        return Outcome(self.chart.within(region))


@dataclass(frozen=True, eq=False)
class Looked(Stage):
    """The look at whether a public sample fits the records, which decides between two plans with the rest of ε: by the
    sample's chart, and by the ball (Result 5)."""

    look: Look
    privacy: Privacy  # of the look and of what follows
    ball: TangentKNorm

    @classmethod
    def of(cls, look: Look, n: int, privacy: Privacy, known: Region | None = None) -> Self:
        """Return the stage, with the plans of both ways out; ``known`` is the sketch that settled them."""
        rest = privacy.aside(look.share)[1]
        chart, ball = (TangentKNorm(region, rest, known=known).plan(n) for region in (look.chart, look.ball))
        return cls(chart, look, privacy, ball)

    @property
    def parts(self) -> list[tuple[Noise, ...]]:
        look = Noise(float(self.privacy.aside(self.look.share)[0]))
        return [(look,), (*self.chart.parts[0], *self.ball.parts[0])]

    @property
    def outer(self) -> float:
        return min(self.chart.outer, self.ball.outer)

    @property
    def fallback_95(self) -> float:
        return self.ball.error_95

    @property
    def shares(self) -> dict[Purpose, float]:
        return {Purpose.LOOK: self.look.share}

    @property
    def words(self) -> str:
        return f"{self.look.share:g} of it was spent on the look"

    @cached_property
    def limit(self) -> float:
        """The loss above which the ball is used."""
        return self.look.limit(self.chart.n, self.privacy)

    @property
    def width(self) -> float:
        """Scale of the Laplace noise of the look."""
        return self.look.scale(self.chart.n, self.privacy)

    @property
    def losses(self) -> Losses:
        """What the ball loses beyond the chart, and the chance that rounding takes the look across its limit."""
        more = max(0.0, self.ball.losses.numerical_delta - self.chart.losses.numerical_delta)
        return Losses(more + self.chart.both(80 * UNIT, 0.0))

    def described(self, plan: TangentKNorm, done: bool) -> dict[str, Any]:
        look: dict[str, Any] = {"share": self.look.share, "limit": self.limit, "noise": self.width}
        if done:
            look["fell_back"] = plan is self.ball
        source = "the ball about the public sample" if plan is self.ball else plan.chart.source
        return {"look": look, "source": source}

    def means(self, records: Records) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
        """Return, from one pass over the records, the means in the chart, in the ball, and of what the chart loses."""
        means = whole_means(records, self.look.row_blocks)
        p = len(self.look.chart.axes)
        d = self.look.chart.space.dim
        return means[:p], means[p : p + d], means[p + d :]

    def falls_back(self, lost: list[Fraction], rng: np.random.Generator) -> bool:
        """Return whether the loss and its noise are above the limit: the look."""
        room = Fraction(self.limit) - Fraction(float(rng.laplace(scale=self.width)))
        return room < 0 or sum(x * x for x in lost) * Fraction(self.look.ball.radius) ** 2 > room * room

    def run(self, records: Records, rng: np.random.Generator) -> Outcome:
        chart, ball, lost = self.means(records)
        return Outcome(self.ball, ball) if self.falls_back(lost, rng) else Outcome(self.chart, chart)
