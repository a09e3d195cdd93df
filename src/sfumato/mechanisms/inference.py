"""A release by chart with the spread of the records beside it, for the region of the population's mean (Result 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from ..laws.sampling.discrete import CLOCK_DELTA, discrete_laplace
from ..numerics.arrays import Array, Points
from ..records import Records
from ..regions import Ellipsoid
from ..release.record import Record, SpreadOf
from ..release.terms import Purpose
from .composed import ComposedPlan
from .plan import Drawn, Losses, Problem
from .tangent import BITS, TangentPlan, whole_sums

SHARE = 0.1  # of ε, for the spread, where a command asks for it
LEAST_SHARE, MOST_SHARE = 1e-6, 0.5


def check_share(share: object) -> float:
    """A share of ε for the spread, or a ValueError: before anything is planned with what is left.

    >>> check_share(0.1)
    0.1
    """
    if not (isinstance(share, int | float) and LEAST_SHARE <= share <= MOST_SHARE):
        raise ValueError(f"inference must be a share of epsilon, from {LEAST_SHARE:g} to {MOST_SHARE:g}, not {share!r}")
    return float(share)


@dataclass(frozen=True, eq=False)
class InferencePlan(ComposedPlan):
    """The mean by another plan with the rest of ε, and the mean of ‖wᵢ‖² in its chart with Laplace noise on whole numbers,
    which is exact: one record moves the sum by at most one unit, so both together are ε-private (proofs, Result 6)."""

    base: TangentPlan | ComposedPlan
    share: float

    @classmethod
    def of(cls, problem: Problem, base: TangentPlan | ComposedPlan, share: float) -> InferencePlan:
        chart = base if isinstance(base, TangentPlan) else base.chart
        return cls(
            problem, chart.name, chart.calibration, chart.options, chart.epsilon, chart.scale, chart, base, share
        )

    @cached_property
    def width(self) -> Fraction:
        """Scale of the noise of the sum of ‖wᵢ‖²: 1/(what is left of ε)."""
        asked, rest = (Fraction(plan.problem.privacy.epsilon) for plan in (self, self.base))
        return 1 / (asked - rest)

    @property
    def losses(self) -> Losses:
        found = self.base.losses
        return replace(found, clock_delta=(found.clock_delta or 0.0) + CLOCK_DELTA)

    @property
    def likely_error(self) -> float:
        return self.base.likely_error

    @property
    def remedies(self) -> list[str]:
        return self.base.remedies

    @property
    def spending(self) -> dict[str, float]:
        rest = {what: (1 - self.share) * share for what, share in self.base.spending.items()}
        return {**rest, Purpose.SPREAD: self.share}

    @property
    def after(self) -> str:
        return self.base.after

    def noted(self, plan: TangentPlan, done: bool) -> Record:
        spread = SpreadOf(self.share, float(self.width / self.n))
        spent = f"ε here {1 - self.share:g} of the whole: {self.share:g} of it was spent on the spread of the records"
        if isinstance(self.base, TangentPlan):
            return replace(self._whole(plan, spent), spread=spread)
        found = self.base.noted(plan, done)
        words = f"{found.calibration.formula}; and {spent.replace('ε here', 'all of that is')}"
        calibration = replace(found.calibration, epsilon=self.problem.privacy.epsilon, formula=words)
        return replace(found, calibration=calibration, spread=spread)

    def parts(self, records: Records, rng: np.random.Generator) -> tuple[TangentPlan, Drawn]:
        if isinstance(self.base, TangentPlan):
            return self.base, self.base.draw(records, rng)
        return self.base.parts(records, rng)

    def second_moment(self, chart: Ellipsoid, records: Records, rng: np.random.Generator) -> float:
        """The mean of ‖wᵢ‖² and its noise."""
        (total,) = records.reduce(partial(whole_sums, partial(_squares, chart)))
        noisy = int(total) + discrete_laplace(self.width * 2**BITS, rng)
        return float(Fraction(noisy, records.n << BITS))

    def completed(
        self, record: Record, plan: TangentPlan, drawn: Drawn, records: Records, rng: np.random.Generator
    ) -> Record:
        assert record.spread is not None
        found = self.second_moment(plan.chart, records, rng)
        return replace(record, spread=replace(record.spread, second_moment=found))


def _squares(chart: Ellipsoid, points: Points) -> Iterator[Array]:
    """‖w‖² of each record, at most 1."""
    for w in chart.chart_blocks(points):
        yield np.minimum(np.sum(w * w, axis=1, keepdims=True), 1.0)
