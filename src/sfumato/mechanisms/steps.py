"""A chart in two steps: a first release places the second chart (Result 5, re-centring)."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..errors import Fix
from ..records import Records
from ..regions import Region, Settled
from ..regions.ellipsoid import shorten
from ..release.terms import Purpose
from .plan import Losses
from .stages import Outcome, Stage
from .tangent import TangentKNorm, check_movable

FIRST = 0.25  # of ε, for the first step


@dataclass(frozen=True, eq=False)
class FirstStep(Stage):
    """The region of the second step is that of the first, moved to what the first gave out.

    It pays where the public centre is far from the mean, so that many records are clipped, and is of no use elsewhere.
    """

    region: Settled
    first: TangentKNorm
    chart: TangentKNorm  # of the second step, whose centre is not known yet

    @classmethod
    def of(cls, region: Region, n: int, epsilon: float) -> Self:
        """Return the stage, with the plans of both steps."""
        settled = region.settle(n, (1 - FIRST) * epsilon)
        first, second = (TangentKNorm(settled, s * epsilon, known=region).plan(n) for s in (FIRST, 1 - FIRST))
        check_movable(first, settled.moved, "use ", Fix("steps", 1))
        return cls(settled, first, second)

    @property
    def shares(self) -> dict[Purpose, float]:
        return {Purpose.FIRST: FIRST}

    @property
    def words(self) -> str:
        return f"{FIRST:g} of it was spent on a first release, which is the centre"

    @property
    def losses(self) -> Losses:
        return self.first.losses

    def described(self, plan: TangentKNorm, done: bool) -> dict[str, Any]:
        return {"source": f"{plan.chart.source}, moved to a first release"}

    def run(self, records: Records, rng: np.random.Generator) -> Outcome:
        place = shorten(self.first.lattice_point(self.first.mean(records), rng))  # a point of the region
        region = self.region
        with suppress(Exception):  # a user's space may have no chart there; then the second stays, as the first decided
            region = region.moved(self.first.chart.point(place))
        return Outcome(self.chart.within(region))
