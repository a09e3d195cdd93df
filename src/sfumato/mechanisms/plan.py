"""Problem → Plan → Release: what is asked, every public number of its release, and the draw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .. import _version
from ..errors import PrecisionError, Refusal
from ..laws.calibration.scale import Scale
from ..laws.privacy import PureDP
from ..laws.sampling import HANDED_IN, generator_name, lattice_spacing
from ..numerics.arrays import Array
from ..records import Records
from ..regions import Ball, Region, check_ball
from ..release.record import (
    PROBABILITIES,
    BallOf,
    CalibrationOf,
    ChartOf,
    ErrorOf,
    Guarantee,
    MechanismOf,
    Record,
    Release,
    SpaceOf,
)
from ..spaces.base import Space
from .paying import Budget, paying
from .statistics import FRECHET_MEAN, Statistic

PREDICTED = 0.95  # the probability at which a record states its error
MOST_DELTA = 1e-6  # the largest numerical loss that a release is made with


@dataclass(frozen=True, eq=False)
class Problem:
    """What is asked, all of it public: the region, the number of records, the privacy, the statistic."""

    region: Region
    n: int
    privacy: PureDP
    statistic: Statistic = field(default=FRECHET_MEAN)

    @property
    def space(self) -> Space:
        return self.region.space


@dataclass(frozen=True)
class Losses:
    """What computing a release adds to the promise; from public numbers only."""

    numerical_delta: float
    numerical_epsilon: float = 0.0
    clock_delta: float | None = 0.0


@dataclass(frozen=True, eq=False)
class Drawn:
    """A value and the lattice point that it was made from; for a chart, how far that may be from the Fréchet mean, and the
    lattice point's own coordinates."""

    value: Array
    raw: Array
    bias: float | None = None
    point: Array | None = None


@dataclass(frozen=True, eq=False)
class Plan(ABC):
    """Every public number of one release, each computed once; and the draw, the only place where data meet noise.

    ``epsilon`` is that of ideal draws with ``scale``; what rounding adds is within the ε that was asked.  ``options`` are the
    arguments of the mechanism beside region, ε and ``calibration``, for the record.
    """

    problem: Problem
    name: str
    calibration: str
    options: Mapping[str, Any]
    epsilon: float
    scale: Scale

    comparable: ClassVar[bool] = True  # whether its error and the radius of the region are in the same distance
    sampler: ClassVar[str] = "exact rejection from a radial envelope, no Markov chain"

    @cached_property
    def n(self) -> int:
        return self.problem.n

    @cached_property
    def ball(self) -> Ball:
        """The region, for the plans that take balls alone."""
        return check_ball(self.problem.region, "a region")

    @cached_property
    def space(self) -> Space:
        return self.problem.region.space

    # -- public numbers ------------------------------------------------------------------------------------------------
    @abstractmethod
    def error_quantile(self, p: float) -> float:
        """A distance that a draw exceeds with probability at most 1 − p, whatever the data."""

    @abstractmethod
    def release_error(self, p: float) -> float:
        """The same for a release: plus what the lattice can move a point."""

    @property
    @abstractmethod
    def losses(self) -> Losses:
        """What rounding and the clock would add to the promise."""

    @cached_property
    def spacing(self) -> float:
        """Spacing of the public lattice, or the largest where coordinates have their own."""
        return lattice_spacing(self.scale.sigma)

    @cached_property
    def stated_error(self) -> float:
        """What a release is off by with a probability of at most 5%."""
        return float(self.release_error(PREDICTED))

    @property
    def likely_error(self) -> float:
        """The same, to the Fréchet mean of the clipped records: plans are compared by it."""
        return self.stated_error

    @cached_property
    def error(self) -> ErrorOf | None:
        """The errors that a record states; None where nothing public is known of them."""
        quantiles = {
            f"{p:g}": self.stated_error if p == PREDICTED else float(self.release_error(p)) for p in PROBABILITIES
        }
        return ErrorOf(PREDICTED, self.stated_error, self.problem.statistic.distance, quantiles)

    def both(self, chance: float, numerical_epsilon: float) -> float:
        """The δ of a failure that has at most this chance for each of two data sets: 1 + e^ε times it, ε what draws as they
        are computed have."""
        return float((1 + np.exp(min(self.epsilon + numerical_epsilon, 600.0))) * chance)

    def fitting(self) -> float:
        """The same ε if what rounding adds to the scale fits beside it, else a smaller one to try."""
        losses, asked, lower = self.losses, self.problem.privacy.epsilon, self.epsilon
        if losses.numerical_epsilon > asked - self.epsilon:
            lower = asked - 2 * losses.numerical_epsilon
        if losses.numerical_delta > MOST_DELTA:  # it falls like e^ε
            lower = min(lower, self.epsilon - float(np.log(losses.numerical_delta / MOST_DELTA)) - 0.01)
        return self.epsilon if lower == self.epsilon else max(lower, self.epsilon / 2)

    def check(self) -> None:
        """A PrecisionError if a release cannot be made well: before any budget is spent."""
        losses = self.losses
        if (
            losses.numerical_delta > MOST_DELTA
            or self.epsilon + losses.numerical_epsilon > self.problem.privacy.epsilon
        ):
            raise PrecisionError(
                f"rounding in double precision would add {losses.numerical_epsilon:.1e} to epsilon and a failure probability "
                f"of {min(1.0, losses.numerical_delta):.1e} to a release by {self.name} on {self.space} with a radius of "
                f"{self.problem.region.radius:g}: {self._cure(losses)}"
            )

    def _cure(self, losses: Losses) -> str:
        """What is wrong where rounding loses too much, and how to fix it: tried with a tenth of the noise."""
        try:
            then = replace(self, scale=replace(self.scale, sigma=self.scale.sigma / 10)).losses
        except ValueError:  # nor can that be used
            then = losses
        if losses.numerical_delta > MOST_DELTA and 2 * then.numerical_delta < losses.numerical_delta:
            return (
                "the noise is so wide that draws would lie where doubles are too coarse. Use more records, a larger epsilon or "
                "a smaller radius"
            )
        if losses.numerical_delta <= MOST_DELTA and then.numerical_epsilon < 5 * losses.numerical_epsilon:
            return "epsilon is so small that rounding is a large share of it. Use a larger epsilon"
        return (
            "the noise is too small, or the coordinates too large, for doubles. Use a smaller epsilon, fewer records, or a "
            "radius or coordinates of more ordinary size"
        )

    # -- the release ---------------------------------------------------------------------------------------------------
    @abstractmethod
    def sample(self, records: Records, size: int, rng: np.random.Generator) -> Array:
        """Draws for study, of clipped records.  They are neither rounded nor made with a secure generator: not releases."""

    @abstractmethod
    def draw(self, records: Records, rng: np.random.Generator) -> Drawn:
        """One draw on the lattice, of clipped records; and what is made of it with public numbers alone."""

    @property
    def after(self) -> str:
        """What is done to a draw with public numbers alone."""
        return ""

    @property
    def spending(self) -> dict[str, float]:
        """What else shares of ε are spent on, by what it is."""
        return {}

    @property
    def described(self) -> ChartOf | None:
        """The chart that it is made in."""
        return None

    @property
    def to_beat(self) -> float:
        """The distance of the mean from the public centre that is known beforehand."""
        return self.problem.region.radius

    @property
    def useless(self) -> bool:
        """Whether the noise is as large as what is known beforehand."""
        return self.error is not None and self.comparable and not self.likely_error < self.problem.region.radius

    @property
    def remedies(self) -> list[str]:
        """What else than a larger ε and more records makes the noise smaller, where it is too large to be of use."""
        return []

    def check_useful(self, again: Callable[[Region, int, float], Plan], allow: bool = False) -> None:
        """A Refusal if the noise is as large as what is known beforehand, unless that is wanted.

        ``again(region, n, epsilon)`` plans the same for other numbers: those that would help are looked for among them, and
        smaller questions that can be answered with the same ones.
        """
        radius = self.problem.region.radius
        if allow or not self.useless:
            return

        def error(region: Region, n: int, epsilon: float) -> float:
            try:
                return again(region, n, epsilon).likely_error
            except Refusal:
                return np.inf

        def helps(n: int, epsilon: float) -> bool:
            return error(self.problem.region, n, epsilon) < radius

        n, epsilon, steps = self.n, self.problem.privacy.epsilon, 1.2 ** np.arange(1, 40)
        larger = next((x for x in (f"{epsilon * f:.2g}" for f in steps) if helps(n, float(x))), None)
        more = next((x for x in (_two_digits(n * f) for f in steps) if helps(x, epsilon)), None)
        ways = [*([f"an epsilon of {larger}"] if larger else []), *([f"{more} records"] if more else [])]
        for words, space, then in smaller_questions(self.problem.region, lambda region: error(region, n, epsilon)):
            ways.append(f"{words} ({space.typed}, with an error up to {then:.3g})")
        raise Refusal(
            f"this release would be useless: its error would be up to {self.likely_error:.3g} (with a probability of 95%), and "
            f"{radius:.3g}, the size of the public region, is known beforehand. What helps: "
            f"{', '.join([*ways, *self.remedies])}; or --even-if-useless (in Python allow_useless=True). Nothing was spent"
        )

    def is_on_manifold(self, value: Array) -> bool:
        """Whether a released value is a point of the space."""
        return True

    def check_data(self, records: Records) -> None:  # noqa: B027
        """Raise what these records cannot be released for, before anything is charged; most plans take any."""

    def release(
        self, records: Records, unit: str, budget: Budget | None = None, degrees: tuple[str, str] | None = None
    ) -> Release:
        """Charge, draw, and write down: the value with its guarantee and record."""
        self.check_data(records)
        record = self.record
        with paying(budget, self.problem.privacy.epsilon, {**record.document(), "unit": unit}) as payment:
            drawn = self.draw(records, payment.rng)
            return payment.note(self.finish(record, drawn, unit, degrees))

    def finish(self, record: Record, drawn: Drawn, unit: str, degrees: tuple[str, str] | None) -> Release:
        """Return the value with its guarantee and record."""
        condition = self.problem.statistic.condition
        guarantee = Guarantee(
            epsilon=self.problem.privacy.epsilon,
            unit=unit,
            private=not condition and record.generator != HANDED_IN,
            condition=condition,
            numerical_delta=self.losses.numerical_delta,
            numerical_epsilon=self.losses.numerical_epsilon,
            clock_delta=self.losses.clock_delta,
        )
        if drawn.point is not None and record.chart is not None:
            record = replace(record, chart=replace(record.chart, point=drawn.point.tolist()))
        raw = None if np.array_equal(drawn.value, drawn.raw) else drawn.raw
        release = record.released(drawn.value, guarantee, self.is_on_manifold(drawn.value), raw, drawn.bias)
        return release if degrees is None else release.in_degrees(degrees)

    @property
    def record(self) -> Record:
        """Everything public about the release, known before it is made; with the time of now."""
        scale, public = self.scale, self.problem.region
        region = float(scale.region) if np.isfinite(scale.region) else None
        numbers = {key: float(number) for key, number in scale.numbers.items()}
        asked = self.problem.privacy.epsilon
        return Record(
            statistic=self.problem.statistic.name,
            space=SpaceOf.of(self.space),
            ball=BallOf(self.space.present(public.center).tolist(), public.radius, public.found),
            n=self.n,
            mechanism=MechanismOf(self.name, dict(self.options)),
            calibration=CalibrationOf(self.calibration, asked, scale.formula, float(scale.sigma), region, numbers),
            sampler=self.sampler,
            lattice_spacing=self.spacing,
            generator=generator_name(),
            predicted_error=self.error,
            chart=self.described,
            after=self.after,
            version=_version.__version__,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def smaller_questions(region: Region, error: Callable[[Region], float]) -> list[tuple[str, Space, float]]:
    """Of each smaller question that a space knows the largest space in which the 95% error is below the size of the region, a
    ball of the same radius; and that error."""
    found = []
    for words, spaces in region.space.smaller().items():
        for space in spaces:
            then = error(Ball(space, space.present(space.origin()), region.radius))
            if then < region.radius:
                found.append((words, space, then))
                break
    return found


def _two_digits(number: float) -> int:
    """Rounded up to two digits, for a person to read."""
    unit = 10 ** max(0, int(np.log10(number)) - 1)
    return int(-(-number // unit) * unit)
