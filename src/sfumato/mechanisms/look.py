"""A chart from a public sample, after a look at whether the sample fits the records; if not, the ball (Result 5)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ..laws.calibration.rounding import UNIT
from ..numerics.arrays import Array
from ..records import Records
from ..regions import Look
from ..release.record import Record
from .composed import ComposedPlan
from .plan import Drawn, Losses, Problem
from .tangent import BITS, TangentKNorm, TangentPlan, whole_sums

Means = tuple[list[Fraction], list[Fraction], list[Fraction]]


@dataclass(frozen=True, eq=False)
class LookPlan(ComposedPlan):
    """Two plans with the rest of ε, by the chart and by the ball, and the look that decides between them.

    Its own numbers are those of the chart: what is expected if the sample fits.
    """

    look: Look
    ball_plan: TangentPlan

    @classmethod
    def of(cls, problem: Problem, look: Look) -> LookPlan:
        """The plans of a problem whose region is a sample's sketch."""
        rest = (1 - look.share) * problem.privacy.epsilon
        chart, ball = (TangentKNorm(region, rest).plan(problem.n) for region in (look.chart, look.ball))
        assert isinstance(chart, TangentPlan)
        assert isinstance(ball, TangentPlan)
        return cls(problem, chart.name, chart.calibration, {}, chart.epsilon, chart.scale, chart, look, ball)

    @property
    def limit(self) -> float:
        """The loss above which the ball is used."""
        return self.look.limit(self.n, self.problem.privacy.epsilon)

    @property
    def width(self) -> float:
        """Scale of the Laplace noise of the look."""
        return self.look.scale(self.n, self.problem.privacy.epsilon)

    @property
    def losses(self) -> Losses:
        """Those of a draw, and the chance that the noise of the look is as close to the limit as its rounding."""
        near = self.both(80 * UNIT, 0.0)
        return Losses(max(self.chart.losses.numerical_delta, self.ball_plan.losses.numerical_delta) + near)

    def noted(self, plan: TangentPlan, done: bool) -> Record:
        share = self.look.share
        look: dict[str, Any] = {"share": share, "limit": self.limit, "noise": self.width}
        if done:
            look["fell_back"] = plan is self.ball_plan
        spent = f"ε here {1 - share:g} of the whole: {share:g} of it was spent on the look"
        source = "the ball about the public sample" if plan is self.ball_plan else plan.chart.source
        return self._whole(plan, spent, look=look, source=source)

    # -- the release -------------------------------------------------------------------------------------------------------
    def parts(self, records: Records, rng: np.random.Generator) -> tuple[TangentPlan, Drawn]:
        return self.drawn(self.means(records), rng)

    def means(self, records: Records) -> Means:
        """In one pass over the records: in the chart, in the ball, and of what the chart loses."""
        sums = records.reduce(partial(whole_sums, self.look.row_blocks))
        means = [Fraction(int(total), records.n << BITS) for total in sums]
        p, d = len(self.look.chart.axes), self.space.dim
        return means[:p], means[p : p + d], means[p + d :]

    def falls_back(self, lost: list[Fraction], rng: np.random.Generator) -> bool:
        """The look: whether the loss and its noise are above the limit."""
        room = Fraction(self.limit) - Fraction(float(rng.laplace(scale=self.width)))
        return room < 0 or sum(x * x for x in lost) * Fraction(self.look.ball.radius) ** 2 > room * room

    def drawn(self, means: Means, rng: np.random.Generator) -> tuple[TangentPlan, Drawn]:
        """The look, and one draw by what it decided."""
        chart, ball, lost = means
        plan, mean = (self.ball_plan, ball) if self.falls_back(lost, rng) else (self.chart, chart)
        return plan, plan.about(mean, rng)

    def sample(self, records: Records, size: int, rng: np.random.Generator) -> Array:
        means = self.means(records)
        return np.stack([self.drawn(means, rng)[1].raw for _ in range(size)])
