"""What users type: a mechanism with its region and ε.  It makes plans; everything else a plan does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Refusal
from ..files import Dataset, as_data
from ..files.people import take_unit
from ..laws.calibration.scale import CALIBRATIONS, Calibration, Scale, check_records
from ..laws.privacy import PureDP
from ..numerics.arrays import Array
from ..records import MEMORY, Progress, Records, chunk_rows, is_lazy, stream
from ..records.units import number_units
from ..regions import Ball, Region, check_ball, check_invalid, check_region
from ..regions.units import reduce_to_units
from ..release.record import Release
from ..spaces.base import Space
from .paying import Budget
from .plan import Plan, Problem
from .statistics import FRECHET_MEAN, Statistic

MOST_EPSILON = 60.0  # e^−60 is far below what a draw's chances can be told apart by
RESERVE, ATTEMPTS = 2.0**-22, 40  # the share of ε that is set aside for rounding, and how often it may be raised
PERSON = "one unit: all records with the same label"


@dataclass(frozen=True)
class Mechanism(ABC):
    """A way to release a statistic of points in a public ball with ε-differential privacy.

    ``calibration``: "certified" (the smallest proven scale), "tight" (theory, Results 1 and 2), "theorem" (the paper's
    theorems as printed) or "as run" (what the paper's experiments ran: for studies, refused by :meth:`release`).
    """

    region: Region
    epsilon: float
    calibration: Calibration = field(default="certified")

    name: ClassVar[str]
    worth_from: ClassVar[tuple[float, float]] = (
        0.0,
        0.0,
    )  # the ε from which it can be best, in three dimensions and in more
    takes_charts: ClassVar[bool] = False  # whether it is defined for every region, and not for balls alone

    def __post_init__(self) -> None:
        _ = self.privacy  # raises what ε cannot be
        check_region(self.region, f"the first argument of {type(self).__name__}")
        if not self.takes_charts:
            _ = self.ball  # raises what is not a ball
        if self.calibration not in CALIBRATIONS:
            raise ValueError(f"calibration must be one of {', '.join(CALIBRATIONS)}, not {self.calibration!r}")

    @property
    def space(self) -> Space:
        return self.region.space

    @property
    def ball(self) -> Ball:
        """The region, for the mechanisms that take balls alone."""
        return check_ball(self.region, f"the first argument of {type(self).__name__}", "; use TangentKNorm")

    @property
    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def statistic(self) -> Statistic:
        return FRECHET_MEAN

    def options(self) -> dict[str, Any]:
        """Arguments of this mechanism beside ball, epsilon and calibration, for its record."""
        return {}

    # -- what a mechanism is -----------------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def kind(self) -> type[Plan]:
        """The plans that it makes."""

    @abstractmethod
    def noise(self, n: int, epsilon: float) -> Scale:
        """The scale at which ideal draws are ε-private, with every number behind it; from public numbers only."""

    # -- plans -------------------------------------------------------------------------------------------------------------
    def plan(self, n: int) -> Plan:
        """Every public number of a release of n records, or a Refusal that says what would help.  Sees no data."""
        found = self.at(n)
        found.check()
        return found

    def at(self, n: int) -> Plan:
        """The same, also where rounding would take too much for a release: for studies, and to say why.

        Ideal draws are made a little more private than ε, so that what rounding adds is within ε: by a four-millionth, or more
        where doubles are coarse against the noise, as for very many records or a very large ε.
        """
        check_records(n)
        return _fitted(self, n)

    def with_scale(self, n: int, epsilon: float, scale: Scale) -> Plan:
        """A plan with a scale that is known, as from a record."""
        problem = Problem(self.region, n, self.privacy, self.statistic)
        return self.kind(problem, self.name, self.calibration, self.options(), epsilon, scale)

    def calibrate(self, n: int) -> Scale:
        """The noise scale for n records with every number behind it; from public numbers only."""
        return self.at(n).scale

    def scale(self, n: int) -> float:
        """The noise scale σ for n records."""
        return self.at(n).scale.sigma

    def error_quantile(self, n: int, p: float) -> float:
        """A distance that a draw exceeds with probability at most 1 − p, whatever the data; public numbers only."""
        return self.at(n).error_quantile(p)

    # -- data ----------------------------------------------------------------------------------------------------------------
    def sample(self, points: ArrayLike, size: int, rng: np.random.Generator) -> Array:
        """Draws for study.  They are neither rounded nor made with a secure generator: not releases."""
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(f"the number of draws must be a whole number of at least 1, not {size!r}")
        records = Records(self.space, self.region.admit(points))
        return self.at(records.n).sample(records, size, rng)

    def release(
        self,
        points: ArrayLike | Dataset,
        *,
        unit: str | ArrayLike | None = None,
        unit_name: str = PERSON,
        invalid: str = "raise",
        budget: Budget | None = None,
        force: bool = False,
        allow_useless: bool = False,
        workers: int = 1,
        memory: int = MEMORY,
        progress: Progress | None = None,
    ) -> Release:
        """One private value: records are checked and clipped, a plan made, and one draw put on the lattice.

        The arguments are those of :func:`sfumato.private_mean`.
        """
        if self.calibration == "as run":
            raise Refusal(
                f"{type(self).__name__} with calibration='as run' is the paper's experiment, whose privacy is not proven: "
                "it can be sampled for study, not released"
            )
        self.privacy.check(force)
        points = as_data(points, self.space)
        records, words = gather(self.region, points, unit, unit_name, invalid, workers, memory, progress)
        plan = self.plan(records.n)
        plan.check_useful(lambda r, n, epsilon: replace(self, region=r, epsilon=epsilon).at(n), allow_useless)
        return plan.release(records, words, budget, getattr(points, "degrees", None))


@lru_cache(maxsize=256)
def _fitted(mechanism: Mechanism, n: int) -> Plan:
    """The plan with the least noise whose rounding is within ε; the same public question is answered once."""
    asked = mechanism.privacy.epsilon

    def planned(epsilon: float) -> Plan:
        return mechanism.with_scale(n, epsilon, mechanism.noise(n, epsilon))

    if mechanism.calibration == "as run":
        return planned(asked)
    plan = planned(min(asked * (1 - RESERVE), MOST_EPSILON))
    for _ in range(ATTEMPTS):
        try:
            lower = plan.fitting()
            if lower == plan.epsilon or plan.epsilon < 1e-6 * asked:
                break
            plan = planned(lower)
        except ValueError:  # noise too wide for a release, or wider than exists: check() says what would help
            break
    if plan.epsilon < 0.99 * asked:
        words = f"{plan.scale.formula}, at ε = {plan.epsilon:.4g}: all that double precision can carry"
        plan = replace(plan, scale=replace(plan.scale, formula=words))
    return plan


def gather(
    region: Region,
    points: Any,
    unit: str | ArrayLike | None,
    unit_name: str,
    invalid: str,
    workers: int,
    memory: int = MEMORY,
    progress: Progress | None = None,
) -> tuple[Records, str]:
    """Clipped records, one for each unit, and the unit in words."""
    space = region.space
    check_invalid(invalid)  # before any data are read
    chunk_rows(space, 1 << 62, workers)  # refuses what is no number of workers
    points, unit = take_unit(points, unit)
    if not isinstance(unit, str) and is_lazy(space, points, memory):
        raise ValueError(
            "labels of units go with points in memory, not with data that are read in parts: first reduce the records of "
            "each person to one, then release with unit='one person' or the like"
        )
    admit, check = partial(region.admit, invalid=invalid), invalid == "raise"
    records = stream(space, points, admit, check=check, workers=workers, memory=memory, progress=progress)
    if records is not None:
        return records, str(unit)
    if isinstance(unit, str):
        return Records(space, admit(points), workers=workers), unit
    reduced = reduce_to_units(region, points, number_units(unit, len(points)), admit)
    return Records(space, reduced, workers=workers), unit_name
