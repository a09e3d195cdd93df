"""Releases in two parts that are charged as one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numerics.arrays import Array
from ..records import Records
from ..release.record import Record, Release
from .paying import Budget, paying
from .plan import Drawn, Plan
from .tangent import TangentPlan


@dataclass(frozen=True, eq=False)
class ComposedPlan(Plan):
    """What a first part gives out decides how the second is made; so ε adds up.  ``chart`` is the plan of the second part as
    far as it is known before, and the numbers are its own."""

    chart: TangentPlan

    @abstractmethod
    def parts(self, records: Records, rng: np.random.Generator) -> tuple[TangentPlan, Drawn]:
        """Both parts: the plan of the second as the first decided it, and its draw."""

    @abstractmethod
    def noted(self, plan: TangentPlan, done: bool) -> Record:
        """The record of the second part with the whole ε, and what was spent on the first; ``done`` once it is made."""

    def _whole(self, plan: TangentPlan, spent: str, **chart: Any) -> Record:
        """The record of a plan with the whole ε, words on what was spent, and parts of its chart changed."""
        found = plan.record
        words = f"{found.calibration.formula}, {spent}"
        calibration = replace(found.calibration, epsilon=self.problem.privacy.epsilon, formula=words)
        assert found.chart is not None
        return replace(found, calibration=calibration, chart=replace(found.chart, **chart))

    def error_quantile(self, p: float) -> float:
        return self.chart.error_quantile(p)

    def release_error(self, p: float) -> float:
        return self.chart.release_error(p)

    @property
    def likely_error(self) -> float:
        return self.chart.likely_error

    @property
    def to_beat(self) -> float:
        return self.chart.to_beat

    @property
    def remedies(self) -> list[str]:
        return self.chart.remedies

    @property
    def record(self) -> Record:
        return self.noted(self.chart, done=False)

    def draw(self, records: Records, rng: np.random.Generator) -> Drawn:
        return self.parts(records, rng)[1]

    def sample(self, records: Records, size: int, rng: np.random.Generator) -> Array:
        return np.stack([self.draw(records, rng).raw for _ in range(size)])

    def release(
        self, records: Records, unit: str, budget: Budget | None = None, degrees: tuple[str, str] | None = None
    ) -> Release:
        public = {**self.record.document(), "unit": unit}
        with paying(budget, self.problem.privacy.epsilon, public) as payment:
            plan, drawn = self.parts(records, payment.rng)
            record = self.completed(self.noted(plan, done=True), plan, drawn, records, payment.rng)
            return payment.note(self.finish(record, drawn, unit, degrees))

    def completed(
        self, record: Record, plan: TangentPlan, drawn: Drawn, records: Records, rng: np.random.Generator
    ) -> Record:
        """The record with what else is released."""
        return record
