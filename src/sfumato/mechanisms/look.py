"""A look at whether a public sample fits the records, before the mean: by the sample's chart, or by the ball (Result 5)."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..laws.calibration.rounding import UNIT
from ..records import Records
from ..regions import Look, Region
from ..release.terms import Purpose
from .plan import Losses
from .stages import Outcome, Stage
from .tangent import TangentKNorm, whole_means


@dataclass(frozen=True, eq=False)
class Looked(Stage):
    """The look that decides between two plans with the rest of ε, by the chart and by the ball."""

    look: Look
    epsilon: float  # of the look and of what follows
    chart: TangentKNorm
    ball: TangentKNorm

    @classmethod
    def of(cls, look: Look, n: int, epsilon: float, known: Region | None = None) -> Self:
        """Return the stage, with the plans of both ways out; ``known`` is the sketch that settled them."""
        rest = (1 - look.share) * epsilon
        chart, ball = (TangentKNorm(region, rest, known=known).plan(n) for region in (look.chart, look.ball))
        return cls(look, epsilon, chart, ball)

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
        return self.look.limit(self.chart.n, self.epsilon)

    @property
    def width(self) -> float:
        """Scale of the Laplace noise of the look."""
        return self.look.scale(self.chart.n, self.epsilon)

    @property
    def losses(self) -> Losses:
        """What the ball loses beyond the chart, and the chance that the noise of the look is as close to the limit as its
        rounding."""
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

    def runs(self, records: Records, size: int, rng: np.random.Generator) -> Iterator[Outcome]:
        chart, ball, lost = self.means(records)
        for _ in range(size):
            yield Outcome(self.ball, ball) if self.falls_back(lost, rng) else Outcome(self.chart, chart)

    def run(self, records: Records, rng: np.random.Generator) -> Outcome:
        return next(self.runs(records, 1, rng))
