"""Problem → Plan → Release: what is asked, every public number of its release, and the draw."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from .. import _version
from ..calibration.scale import Scale, check_records
from ..errors import PrecisionError
from ..privacy import PureDP
from ..records import Records, one_thread
from ..regions.ball import Ball
from ..release.record import (
    PROBABILITIES,
    BallOf,
    CalibrationOf,
    ErrorOf,
    Guarantee,
    MechanismOf,
    Record,
    Release,
    SpaceOf,
)
from ..sampling import GENERATOR, lattice_spacing, secure_generator
from ..spaces.base import Array, Space
from ..statistics import FRECHET_MEAN, Statistic

PREDICTED = 0.95  # the probability at which a record states its error
MOST_DELTA = 1e-6  # the largest numerical loss that a release is made with


@dataclass(frozen=True, eq=False)
class Problem:
    """What is asked, all of it public: the region, the number of records, the privacy, the statistic."""

    region: Ball
    n: int
    privacy: PureDP
    statistic: Statistic = field(default=FRECHET_MEAN)

    def __post_init__(self) -> None:
        check_records(self.n)

    @property
    def space(self) -> Space:
        return self.region.space


class Budget(Protocol):
    """What a release asks of a ledger."""

    def charge(self, epsilon: float, record: Mapping[str, Any], /) -> object:
        """Write the charge down for good, or raise: before the data are used for a draw.

        A budget that also has ``complete(entry, sha256)``, as a :class:`~sfumato.Ledger` does, is then told which release
        the charge paid for: with what ``charge`` gave back, and the release's own sum.
        """


@dataclass(frozen=True)
class Losses:
    """What computing a release adds to the promise; from public numbers only."""

    numerical_delta: float
    numerical_epsilon: float = 0.0
    clock_delta: float | None = 0.0


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

    sampler: ClassVar[str] = "exact rejection from a radial envelope, no Markov chain"

    @cached_property
    def n(self) -> int:
        return self.problem.n

    @cached_property
    def ball(self) -> Ball:
        return self.problem.region

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
    def likely_error(self) -> float:
        """What a release is off by with a probability of at most 5%: plans are compared by it."""
        return float(self.release_error(PREDICTED))

    @cached_property
    def error(self) -> ErrorOf | None:
        """The errors that a record states; None where nothing public is known of them."""
        quantiles = {
            f"{p:g}": self.likely_error if p == PREDICTED else float(self.release_error(p)) for p in PROBABILITIES
        }
        return ErrorOf(PREDICTED, self.likely_error, self.problem.statistic.distance, quantiles)

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
                f"{self.ball.radius:g}: {self._cure(losses)}"
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
    def draw(self, records: Records, rng: np.random.Generator) -> Array:
        """One draw on the lattice, of clipped records."""

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
        record, asked = self.record, self.problem.privacy.epsilon
        paid = None if budget is None else budget.charge(asked, {**record.document(), "unit": unit})
        with one_thread():
            value = self.draw(records, secure_generator())
        condition = self.problem.statistic.condition
        guarantee = Guarantee(
            epsilon=asked,
            unit=unit,
            private=not condition,
            condition=condition,
            numerical_delta=self.losses.numerical_delta,
            numerical_epsilon=self.losses.numerical_epsilon,
            clock_delta=self.losses.clock_delta,
        )
        release = record.released(value, guarantee, self.is_on_manifold(value))
        release = release if degrees is None else release.in_degrees(degrees)
        note_release(budget, paid, release)
        return release

    @property
    def record(self) -> Record:
        """Everything public about the release, known before it is made; with the time of now."""
        scale, ball = self.scale, self.ball
        region = float(scale.region) if np.isfinite(scale.region) else None
        numbers = {key: float(number) for key, number in scale.numbers.items()}
        asked = self.problem.privacy.epsilon
        return Record(
            statistic=self.problem.statistic.name,
            space=SpaceOf.of(self.space),
            ball=BallOf(self.space.present(ball.center).tolist(), ball.radius),
            n=self.n,
            mechanism=MechanismOf(self.name, dict(self.options)),
            calibration=CalibrationOf(self.calibration, asked, scale.formula, float(scale.sigma), region, numbers),
            sampler=self.sampler,
            lattice_spacing=self.spacing,
            generator=GENERATOR,
            predicted_error=self.error,
            version=_version.__version__,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def note_release(budget: Budget | None, paid: object, release: Release) -> None:
    """Tell a ledger which release its charge paid for; if that cannot be written, charge and release stand all the same."""
    if budget is None or not hasattr(budget, "complete"):
        return
    try:
        budget.complete(paid, release.sha256)
    except (RuntimeError, ValueError, OSError) as error:
        logging.getLogger("sfumato").warning(
            "the release is made and charged, but could not be noted beside its charge: %s", error
        )
