"""What users type: a mechanism with its region and privacy; settled for n records, it has every public number of a release."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import _version
from ..errors import PrecisionError, Refusal
from ..files import Dataset, as_data
from ..files.people import take_unit
from ..laws.calibration.scale import CALIBRATIONS, Calibration, Scale, check_records
from ..laws.noise import Noise
from ..laws.privacy import ApproxDP, Privacy, PureDP
from ..laws.sampling import generator_name
from ..numerics.arrays import Array
from ..records import MEMORY, Progress, Records, chunk_rows, is_lazy, stream
from ..records.units import number_units
from ..regions import Ball, Region, check_ball, check_invalid, check_region
from ..regions.units import reduce_to_units
from ..release.record import BallOf, CalibrationOf, ChartOf, MechanismOf, Record, Release, SpaceOf
from .paying import Budget
from .plan import Losses, Plan

MOST_EPSILON = 60.0  # e^−60 is far below what a draw's probabilities can be told apart by
MOST_DELTA = 1e-6  # the largest numerical loss that a release is made with
RESERVE = 2.0**-22  # the share of ε that is set aside for rounding
ATTEMPTS = 40  # how often that share may be raised
PERSON = "one unit: all records with the same label"


@dataclass(frozen=True)
class Mechanism(Plan):
    """A way to release a statistic of points in a public region with ε-differential privacy, or another kind.

    ``epsilon`` is a number, or a promise of any kind, such as ``ApproxDP(1.0, 1e-6)``.
    ``calibration``: "certified" (the smallest proven scale), "tight" (theory, Results 1 and 2), "theorem" (the paper's
    theorems as printed) or "as run" (what the paper's experiments ran: for studies, refused by :meth:`release`).

    :meth:`at` settles it for n records: then it has ``n``, its ``scale``, and ``ideal``, the ε of ideal draws with that scale;
    what rounding adds is within ``allowed``, the ε that the promise leaves to this mechanism's noise.
    """

    region: Region
    epsilon: float | Privacy
    calibration: Calibration = field(default="certified")
    n: int = field(init=False, default=0, repr=False)
    ideal: float = field(init=False, compare=False, repr=False)
    scale: Scale = field(init=False, compare=False, repr=False)

    name: ClassVar[str]
    paper: ClassVar[str] = ""  # the work that proposed it
    sampler: ClassVar[str] = "exact rejection from a radial envelope, no Markov chain"
    # ε from which it may be best, in up to 3 dimensions and in more
    worth_from: ClassVar[tuple[float, float]] = (0.0, 0.0)
    auto: ClassVar[bool] = False  # whether it releases the Fréchet mean on the manifold, so that it may be chosen
    takes_charts: ClassVar[bool] = False  # whether it is defined for every region, and not for balls alone

    def __post_init__(self) -> None:
        if not self.privacy.pure > 0:  # which raises what is no promise
            raise ValueError("epsilon must be a positive number")
        check_region(self.region, f"the first argument of {type(self).__name__} is")
        if not self.takes_charts:
            _ = self.ball  # raises what is not a ball
        if self.calibration not in CALIBRATIONS:
            raise ValueError(f"calibration must be one of {', '.join(CALIBRATIONS)}, not {self.calibration!r}")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            words = f"no attribute {name!r}" if name not in ("scale", "ideal") else "no scale before at(n) settles it"
            raise AttributeError(f"{type(self).__name__} has {words}", name=name, obj=self)

    @cached_property
    def privacy(self) -> Privacy:
        """What is promised."""
        return self.epsilon if isinstance(self.epsilon, Privacy) else PureDP(self.epsilon)

    @property
    def parts(self) -> list[tuple[Noise, ...]]:
        return [(Noise(self.allowed),)]

    @cached_property
    def most_delta(self) -> float:
        """The largest δ that rounding may add."""
        return min(MOST_DELTA, self.privacy.delta) if isinstance(self.privacy, ApproxDP) else MOST_DELTA

    @cached_property
    def allowed(self) -> float:
        """The largest ε of the noise, rounding included, for which the promise is proven."""
        return self.privacy.pure

    @property
    def outer(self) -> float:
        return min(self.ideal, self.privacy.outer)

    @cached_property
    def ball(self) -> Ball:
        """The region, for the mechanisms that take balls alone."""
        return check_ball(self.region, f"the first argument of {type(self).__name__}", "; use TangentKNorm")

    # -- what a mechanism is -----------------------------------------------------------------------------------------------
    @abstractmethod
    def noise(self, n: int, epsilon: float) -> Scale:
        """Return the scale at which ideal draws are ε-private, with every number behind it; from public numbers only."""

    @abstractmethod
    def error_quantile(self, p: float) -> float:
        """Return a distance that a draw exceeds with probability at most 1 − p, whatever the data; a release is rounded too."""

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of this mechanism beside region, ε and calibration, for its record."""
        return {}

    @property
    def after(self) -> str:
        """What is done to a draw with public numbers alone."""
        return ""

    @property
    def described(self) -> ChartOf | None:
        """The chart that draws are made in."""
        return None

    # -- for n records -----------------------------------------------------------------------------------------------------
    def plan(self, n: int) -> Self:
        """Return this mechanism with every public number of a release of n records, or raise a Refusal.  Sees no data."""
        plan = self.at(n)
        plan.check()
        return plan

    def at(self, n: int) -> Self:
        """Return the same, also where rounding would take too much for a release: for studies, and to say why.

        Ideal draws are made a little more private than ε, so that what rounding adds is within ε: by a four-millionth, or more
        where doubles are coarse against the noise, as for very many records or a very large ε.
        """
        check_records(n)
        plan: Self = _fitted(self, n)
        return plan

    def settled(self, n: int, ideal: float, scale: Scale) -> Self:
        """Return this mechanism for n records with a scale that is known, as from a record."""
        plan = replace(self)
        vars(plan).update(n=n, ideal=ideal, scale=scale)
        return plan

    def both(self, chance: float, numerical_epsilon: float) -> float:
        """Return the δ of a failure that has at most this chance for each of two data sets: 1 + e^ε times it, ε what draws as
        they are computed have, or what was asked for if that is less."""
        return float((1 + np.exp(min(self.ideal + numerical_epsilon, self.privacy.outer, 600.0))) * chance)

    def fitting(self) -> float:
        """Return the same ε if what rounding adds to the scale fits beside it, else a smaller one to try."""
        losses = self.losses
        asked = self.allowed
        lower = self.ideal
        if losses.numerical_epsilon > asked - self.ideal:
            lower = asked - 2 * losses.numerical_epsilon
        if losses.numerical_delta > self.most_delta:  # it falls like e^ε
            lower = min(lower, self.ideal - float(np.log(losses.numerical_delta / self.most_delta)) - 0.01)
        return self.ideal if lower == self.ideal else max(lower, self.ideal / 2)

    def check(self) -> None:
        """Raise a PrecisionError if a release cannot be made well: before any budget is spent."""
        losses = self.losses
        if losses.numerical_delta > self.most_delta or self.ideal + losses.numerical_epsilon > self.allowed:
            raise PrecisionError(
                f"rounding in double precision would add {losses.numerical_epsilon:.1e} to epsilon and a failure probability "
                f"of {min(1.0, losses.numerical_delta):.1e} to a release by {self.name} on {self.space} with a radius of "
                f"{self.region.radius:g}: {self._cure(losses)}"
            )

    def _cure(self, losses: Losses) -> str:
        """Return what is wrong where rounding loses too much, and how to fix it: tried with a tenth of the noise."""
        narrow = replace(self.scale, sigma=self.scale.sigma / 10)
        try:
            then = self.settled(self.n, self.ideal, narrow).losses
        except ValueError:  # nor can that be used
            then = losses
        if losses.numerical_delta > MOST_DELTA and 2 * then.numerical_delta < losses.numerical_delta:
            wide = "the noise is so wide that draws would lie where doubles are too coarse. Use more records, "
            return f"{wide}a larger epsilon or a smaller radius"
        if losses.numerical_delta <= MOST_DELTA and then.numerical_epsilon < 5 * losses.numerical_epsilon:
            return "epsilon is so small that rounding is a large share of it. Use a larger epsilon"
        small = "the noise is too small, or the coordinates too large, for doubles. Use a smaller epsilon, "
        return f"{small}fewer records, or a radius or coordinates of more ordinary size"

    @property
    def record(self) -> Record:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(self._record.copied(), generator=generator_name(), time=now)

    @cached_property
    def _record(self) -> Record:
        """The record but for when it is made, and by which generator."""
        scale = self.scale
        reach = float(scale.region) if np.isfinite(scale.region) else None
        numbers = {key: float(number) for key, number in scale.numbers.items()}
        center = self.space.present(self.region.center).tolist()
        stated = (self.facts.epsilon, scale.formula, float(scale.sigma))
        return Record(
            statistic=self.statistic.name,
            space=SpaceOf.of(self.space),
            ball=BallOf(center, self.region.radius, self.region.found),
            n=self.n,
            mechanism=MechanismOf(self.name, self.options),
            calibration=CalibrationOf(self.calibration, *stated, reach, numbers),
            sampler=self.sampler,
            lattice_spacing=self.spacing,
            generator="",
            predicted_error=self.error,
            whole=self.whole,
            chart=self.described,
            after=self.after,
            version=_version.__version__,
            time="",
        )

    # -- data ----------------------------------------------------------------------------------------------------------------
    def sample(self, points: ArrayLike, size: int, rng: np.random.Generator) -> Array:
        """Return draws for study.  They are neither rounded nor made with a secure generator: not releases."""
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(f"the number of draws must be a whole number of at least 1, not {size!r}")
        records = Records(self.space, self.region.admit(points))
        return self.at(records.n).draws(records, size, rng)

    def release(self, points: ArrayLike | Dataset, *, force: bool = False, **options: Any) -> Release:
        """Return one private value: records are checked and clipped, a plan made, and one draw put on the lattice.

        The options are those of :func:`sfumato.private_mean`, such as ``unit``, ``budget`` and ``allow_useless``.
        """
        if self.calibration == "as run":
            words = "with calibration='as run' is the paper's experiment, whose privacy is not proven: it can be "
            raise Refusal(f"{type(self).__name__} {words}sampled for study, not released")
        privacy = self.privacy.check(force)
        return release_by(
            lambda r, n, e: replace(self, region=r, epsilon=e).plan(n), points, self.region, privacy, **options
        )


@lru_cache(maxsize=256)
def _fitted(mechanism: Any, n: int) -> Any:
    """Return the plan with the least noise whose rounding is within ε; the same public question is answered once."""
    asked = mechanism.allowed

    def planned(epsilon: float) -> Any:
        return mechanism.settled(n, epsilon, mechanism.noise(n, epsilon))

    if mechanism.calibration == "as run":
        return planned(asked)
    plan = planned(min(asked * (1 - RESERVE), MOST_EPSILON))
    for _ in range(ATTEMPTS):
        try:
            lower = plan.fitting()
            if lower == plan.ideal or plan.ideal < 1e-6 * asked:
                break
            plan = planned(lower)
        except ValueError:  # noise too wide for a release, or wider than exists: check() says what would help
            break
    if plan.ideal < 0.99 * asked:
        words = f"{plan.scale.formula}, at ε = {plan.ideal:.4g}: all that double precision can carry"
        plan = mechanism.settled(n, plan.ideal, replace(plan.scale, formula=words))
    return plan


def release_by(
    planned: Callable[[Region, int, Privacy], Plan],
    points: Any,
    region: Region,
    privacy: Privacy,
    *,
    budget: Budget | None = None,
    allow_useless: bool = False,
    **how: Any,
) -> Release:
    """Release what a plan for the region, the number of records and the promise gives; ``how`` is as of :func:`gather`."""
    points = as_data(points, region.space)
    records, unit = gather(region, points, **how)
    plan = planned(region, records.n, privacy)
    plan.check_useful(planned, allow_useless)
    return plan.release_of(records, unit, budget, points)


def gather(
    region: Region,
    points: Any,
    unit: str | ArrayLike | None = None,
    unit_name: str = PERSON,
    invalid: str = "raise",
    workers: int = 1,
    memory: int = MEMORY,
    progress: Progress | None = None,
) -> tuple[Records, str]:
    """Return clipped records, one for each unit, and the unit in words."""
    space = region.space
    check_invalid(invalid)  # before any data are read
    if workers != 1 or isinstance(workers, bool):
        chunk_rows(space, 1 << 62, workers)  # refuses what is not a number of workers
    points, unit = take_unit(points, unit)
    if not isinstance(unit, str) and is_lazy(space, points, memory):
        raise ValueError(
            "labels of units go with points in memory, not with data that are read in parts: first reduce the records of "
            "each person to one, then release with unit='one person' or the like"
        )
    admit = partial(region.admit, invalid=invalid)
    check = invalid == "raise"
    records = stream(space, points, admit, check=check, workers=workers, memory=memory, progress=progress)
    if records is not None:
        return records, str(unit)
    if isinstance(unit, str):
        return Records(space, admit(points), workers=workers), unit
    reduced = reduce_to_units(region, points, number_units(unit, len(points)), admit)
    return Records(space, reduced, workers=workers), unit_name


def radial_noise(dim: int, sigma: float, size: int, rng: np.random.Generator) -> Array:
    """Return draws of density ∝ exp(−‖x‖/σ) in R^dim: a uniform direction, and a Gamma(dim, 1) radius times σ."""
    direction = rng.standard_normal((size, dim))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return np.asarray(sigma * rng.standard_gamma(dim, size)[:, None] * direction)
