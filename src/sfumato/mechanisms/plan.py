"""What a release needs: every public number, each computed once, and the draw, the only place where data meet noise."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..errors import Fix, Refusal
from ..laws.calibration.scale import Scale
from ..laws.noise import Noise
from ..laws.privacy import Facts, Privacy
from ..laws.sampling import HANDED_IN, lattice_spacing
from ..numerics.arrays import Array
from ..records import Records
from ..regions import Ball, Region
from ..release.record import PROBABILITIES, ErrorOf, Guarantee, Record, Release, WholeOf
from ..release.terms import Purpose
from ..spaces.base import Space
from .paying import Budget, paying
from .statistics import FRECHET_MEAN, Statistic

PREDICTED = 0.95  # the probability at which a record states its error
Remedy = tuple[str | Fix, ...]  # words and wishes, as an error takes them


@dataclass(frozen=True)
class Losses:
    """What computing a release adds to the promise; from public numbers only."""

    numerical_delta: float
    numerical_epsilon: float = 0.0
    clock_delta: float | None = 0.0


@dataclass(frozen=True, eq=False)
class Drawn:
    """A value and the lattice point that it was made from; for a chart, how far that may be from the Fréchet mean, the
    lattice point's own coordinates, and the whole error where these tell more of it."""

    value: Array
    raw: Array
    bias: float | None = None
    point: Array | None = None
    whole: WholeOf | None = None


class Plan(ABC):
    """The contract of what can be released: a mechanism that is settled for n records, or a composition of several stages.

    ``privacy`` is what was asked for, and ``facts`` are all that is proven and charged.
    """

    comparable: ClassVar[bool] = True  # whether its error and the radius of the region are in the same distance

    region: Region
    n: int

    if TYPE_CHECKING:

        @property
        def privacy(self) -> Privacy: ...
        @property
        def scale(self) -> Scale: ...

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the mechanism that releases the value."""

    @property
    def statistic(self) -> Statistic:
        """What is released."""
        return FRECHET_MEAN

    @cached_property
    def space(self) -> Space:
        """The space that the records are points of."""
        return self.region.space

    # -- privacy -------------------------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def parts(self) -> list[tuple[Noise, ...]]:
        """The noise of each part of the release, in the ways that parts before it may choose."""

    @property
    @abstractmethod
    def outer(self) -> float:
        """The ε with which what rounding adds is stated; the least of all draws."""

    @property
    def chance(self) -> float:
        """A bound on the probability that rounding moves a draw, whatever the data."""
        return self.losses.numerical_delta / (1 + float(np.exp(min(self.outer, 600.0))))

    @cached_property
    def facts(self) -> Facts:
        """All that is proven of the release."""
        return Facts.of(self.privacy, self.parts, self.chance)

    # -- public numbers ------------------------------------------------------------------------------------------------
    @abstractmethod
    def release_error(self, p: float) -> float:
        """Return a distance that a release exceeds with probability at most 1 − p, whatever the data."""

    @property
    @abstractmethod
    def losses(self) -> Losses:
        """What rounding and running times would add to the promise."""

    @property
    @abstractmethod
    def record(self) -> Record:
        """Everything public about the release, known before it is made; with the time of now."""

    @cached_property
    def spacing(self) -> float:
        """Spacing of the public lattice, or the largest where coordinates have their own."""
        return lattice_spacing(self.scale.sigma)

    @cached_property
    def noise_95(self) -> float:
        """What a release is off by with a probability of at most 5%."""
        return float(self.release_error(PREDICTED))

    def whole_error(self, p: float) -> float:
        """Return what the whole error of a release exceeds with probability 1 − p, as far as public knowledge tells."""
        return self.noise_95 if p == PREDICTED else self.release_error(p)

    @cached_property
    def error_95(self) -> float:
        """The whole error that is foreseen: with a probability of 95% a release is that near to the mean of its records."""
        return float(self.whole_error(PREDICTED))

    @property
    def compared_by(self) -> float:
        """What plans are compared by: the whole error at 95%, times what is left of it once the draw is shrunk."""
        return self.error_95

    @property
    def gain(self) -> float | None:
        """How many times nearer to the mean a release is expected to be than the public centre; None where nothing tells."""
        return None

    @property
    def fallback_95(self) -> float | None:
        """The whole error at 95% where a look says that the public sample does not fit; None without a look."""
        return None

    @cached_property
    def whole(self) -> WholeOf | None:
        """What a record states of the whole error; None where nothing public is known of it."""
        return None if self.error is None else WholeOf(self.error.quantiles)

    @cached_property
    def error(self) -> ErrorOf | None:
        """The errors that a record states; None where nothing public is known of them."""
        stated = self.noise_95
        quantiles = {f"{p:g}": stated if p == PREDICTED else float(self.release_error(p)) for p in PROBABILITIES}
        return ErrorOf(PREDICTED, stated, self.statistic.distance, quantiles)

    @property
    def spending(self) -> dict[Purpose, float]:
        """The shares of ε that are spent on other things than the value, by their purpose."""
        return {}

    @property
    def directions(self) -> int | None:
        """In how many directions a release learns anything, where it is made in a chart."""
        return None

    @property
    def is_far_from_the_mean(self) -> bool:
        """Whether nothing is proven of how far a release is from the Fréchet mean, on a space of which something is known."""
        return False

    @property
    def asked(self) -> Region:
        """The region that was asked for, before it was settled for n and ε."""
        return self.region

    @property
    def to_beat(self) -> float:
        """The distance of the mean from the public centre that is known beforehand."""
        return self.region.radius

    @property
    def useless(self) -> bool:
        """Whether a release is no nearer to the mean than the public centre; or its error no less than the size of the region,
        where nothing tells how near that centre is."""
        if self.gain is not None:
            return self.gain <= 1
        return self.error is not None and self.comparable and not self.error_95 < self.region.radius

    @property
    def remedies(self) -> list[Remedy]:
        """What else than a larger ε and more records makes the noise smaller, where it is too large to be of use."""
        return []

    def check_useful(self, again: Callable[[Region, int, Privacy], "Plan"], allow: bool = False) -> None:
        """Raise a Refusal if the noise is as large as what is known beforehand, unless that is wanted.

        ``again(region, n, privacy)`` plans the same for other numbers: those that would help are looked for among them, and
        smaller questions that can be answered with the same ones.
        """
        if allow or not self.useless:
            return
        known = f"{self.region.radius:.3g}, the size of the public region, is known beforehand"
        if self.gain is not None:
            known = f"the public centre alone is expected to be nearer to the mean, some {self.to_beat:.3g} from it"
        ways = self._helps(again) or [("other public knowledge",)]
        raise Refusal(
            f"this release would be useless: its error would be up to {self.error_95:.3g} (with a probability of 95%), and "
            f"{known}. What helps: ",
            *[part for way in ways for part in (", ", *way)][1:],
            "; or ",
            Fix("allow_useless", True),
            ". Nothing was spent",
        )

    def _helps(self, again: Callable[[Region, int, Privacy], "Plan"]) -> list[Remedy]:
        """Return what makes the release one of use."""

        def error(region: Region, n: int, privacy: Privacy) -> float:
            """Return the error of a release that is of use, else infinity."""
            try:
                plan = again(region, n, privacy)
            except Refusal:
                return np.inf
            return np.inf if plan.useless else plan.error_95

        steps = 1.2 ** np.arange(1, 40)
        larger = (self.privacy.sized(float(f"{self.privacy.numbers[0] * step:.2g}")) for step in steps)
        more = (_two_digits(self.n * step) for step in steps)
        enough = islice((one for one in larger if error(self.asked, self.n, one) < np.inf), 1)
        ways: list[Remedy] = [(one.size_words,) for one in enough]
        ways += [(f"{m} records",) for m in islice((m for m in more if error(self.asked, m, self.privacy) < np.inf), 1)]
        for words, space, then in smaller_questions(self.region, lambda ball: error(ball, self.n, self.privacy)):
            ways.append((f"{words} ({space.typed}, with an error up to {then:.3g})",))
        return ways + self.remedies

    # -- the release ---------------------------------------------------------------------------------------------------
    @abstractmethod
    def draw(self, records: Records, rng: np.random.Generator) -> Drawn:
        """Return one draw on the lattice, of admitted records; and what is made of it with public numbers alone."""

    def draws(self, records: Records, size: int, rng: np.random.Generator) -> Array:
        """Return draws for study, of admitted records.  They are not made with a secure generator, and need not be rounded."""
        return np.stack([self.draw(records, rng).raw for _ in range(size)])

    def run(self, record: Record, records: Records, rng: np.random.Generator) -> tuple[Record, Drawn]:
        """Return the record as it is once all is drawn, and the draw."""
        return record, self.draw(records, rng)

    def is_on_manifold(self, value: Array) -> bool:
        """Return whether a released value is a point of the space."""
        return True

    def check_data(self, records: Records) -> None:  # noqa: B027
        """Raise what these records cannot be released for, before anything is charged; most plans take any."""

    def release_of(self, records: Records, unit: str, budget: Budget | None = None, data: object = None) -> Release:
        """Charge, draw, and return the value of admitted records with its guarantee and record; ``data`` as they came."""
        self.check_data(records)
        record = self.record.of(data)
        with paying(budget, self.facts, {**record.document(), "unit": unit}) as payment:
            release = self.made(record, records, unit, payment.rng)
            degrees = getattr(data, "degrees", None)  # of data that came in degrees
            return payment.note(release if degrees is None else release.in_degrees(degrees))

    def made(self, record: Record, records: Records, unit: str, rng: np.random.Generator) -> Release:
        """Return one draw as a release, with what this generator gives; what it costs is charged already."""
        record, drawn = self.run(record, records, rng)
        condition = self.statistic.condition
        private = not condition and record.generator != HANDED_IN
        guarantee = Guarantee.of(self.facts, unit, private=private, condition=condition, **vars(self.losses))
        if drawn.point is not None and record.chart is not None:
            record = replace(record, chart=replace(record.chart, point=drawn.point.tolist()))
        if drawn.whole is not None:
            record = replace(record, whole=drawn.whole)
        raw = None if np.array_equal(drawn.value, drawn.raw) else drawn.raw
        on_manifold = self.is_on_manifold(drawn.value)
        return record.released(drawn.value, guarantee, on_manifold, unprojected=raw, bias=drawn.bias)


def smaller_questions(region: Region, error: Callable[[Region], float]) -> list[tuple[str, Space, float]]:
    """Return, for each smaller question that a space knows, the largest space in which the 95% error is below the size of the
    region, a ball of the same radius; and that error."""
    answers = []
    for words, spaces in region.space.smaller().items():
        for space in spaces:
            then = error(Ball(space, space.present(space.origin()), region.radius))
            if then < region.radius:
                answers.append((words, space, then))
                break
    return answers


def _two_digits(number: float) -> int:
    """Return the number rounded up to two digits, for a person to read."""
    unit = 10 ** max(0, int(np.log10(number)) - 1)
    return int(-(-number // unit) * unit)
