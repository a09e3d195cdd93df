"""A chart in two steps: a first release places the second chart (Result 5, re-centring)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ..errors import Refusal
from ..records import Records
from ..regions.ellipsoid import shorten
from ..release.record import Record
from .composed import ComposedPlan
from .plan import Drawn, Losses, Problem
from .tangent import TangentKNorm, TangentPlan

FIRST = 0.25  # of ε, for the first step


@dataclass(frozen=True, eq=False)
class StepsPlan(ComposedPlan):
    """The region of the second step is that of the first, moved to what the first gave out; so ε adds up.

    It pays where the public centre is far from the mean, so that many records are clipped, and is of no use elsewhere.
    """

    first: TangentPlan

    @classmethod
    def of(cls, problem: Problem) -> StepsPlan:
        """The plans of both steps; the second's centre is not known yet."""
        region, n, epsilon = problem.region, problem.n, problem.privacy.epsilon
        settled = region.settle(n, (1 - FIRST) * epsilon)
        first, second = (TangentKNorm(settled, share * epsilon).plan(n) for share in (FIRST, 1 - FIRST))
        assert isinstance(first, TangentPlan)
        assert isinstance(second, TangentPlan)
        try:  # with a public point near the centre, so that nothing fails after the charge
            settled.moved(first.chart.point(np.full(len(first.chart.axes), 1e-3)))
        except Exception as error:
            raise Refusal(f"{problem.space} has no chart but the one about its centre: use steps=1 ({error})") from None
        return cls(problem, second.name, second.calibration, {}, second.epsilon, second.scale, second, first)

    @property
    def losses(self) -> Losses:
        return Losses(self.first.losses.numerical_delta + self.chart.losses.numerical_delta)

    def noted(self, plan: TangentPlan, done: bool) -> Record:
        spent = f"ε here {1 - FIRST:g} of the whole: {FIRST:g} of it was spent on a first release, which is the centre"
        return self._whole(plan, spent, source=f"{plan.chart.source}, moved to a first release")

    def parts(self, records: Records, rng: np.random.Generator) -> tuple[TangentPlan, Drawn]:
        place = shorten(self.first.lattice_point(self.first.mean(records), rng))  # a point of the region
        region = self.chart.region
        with suppress(Exception):  # a user's space may have no chart there; then the second stays, as the first decided
            region = region.moved(self.first.chart.point(place))
        plan = replace(self.chart, problem=replace(self.chart.problem, region=region))
        return plan, plan.draw(records, rng)
