"""KNG for an objective of the user's own (the paper's Theorem 1)."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..errors import Refusal
from ..laws.calibration.rounding import LEVELS
from ..laws.calibration.scale import Scale
from ..laws.radial import RadialLaw, spread_edges
from ..laws.sampling import Target
from ..numerics.arrays import Array, Points
from ..records import Records
from .kng import KNG, span
from .manifold import ManifoldMechanism
from .statistics import Objective


@dataclass(frozen=True)
class OwnObjective(ManifoldMechanism):
    """What KNG is with an objective.  Nothing public is known of how its gradient grows: no error is stated."""

    objective: Objective = field(kw_only=True)

    name: ClassVar[str] = KNG.name
    paper: ClassVar[str] = KNG.paper
    error = None
    rough_acceptance = 0.05

    @property
    def statistic(self) -> Objective:
        return self.objective

    @property
    def options(self) -> dict[str, Any]:
        return {"objective": self.objective.statistic}

    def noise(self, n: int, epsilon: float) -> Scale:
        """Return σ = 2Δ/ε (Theorem 1), Δ the sensitivity that the objective states."""
        delta = float(self.objective.sensitivity(n))
        if not 0 < delta < np.inf:
            raise Refusal(f"the sensitivity of an objective is a positive number, not {delta!r} for {n} records")
        formula = "2·Δ/ε, Δ the stated sensitivity of the gradient (theorem 1)"
        return Scale(2 * delta / epsilon, formula, {"delta": delta}, self.ball.radius)

    def check_data(self, records: Records) -> None:
        len(records.points)  # it asks for them all: raises if they are not in memory
        self.objective.refute(self.ball, records.n)

    def target(self, records: Records) -> Target:
        space = self.space
        sigma = self.scale.sigma
        R = self.scale.region
        points = records.points
        base = self.objective.start(points)
        reach = span(space, self.ball.center, base, R)
        edges = spread_edges(space, reach, reach)
        floor = np.asarray(self.objective.envelope(edges[:-1], points), dtype=np.float64) / sigma
        floor = np.minimum.accumulate(floor[::-1])[::-1]  # one that falls after all is lowered: no refusal by the data
        # at each edge the envelope's value one cell before: a line between two such values stays below the envelope
        law = RadialLaw(space, edges, np.diff(np.concatenate([floor[:1], floor])) / np.diff(edges))

        def energy(x: Points) -> Array:
            return space.norm(x, self.objective.gradient(x, points)) / sigma

        return Target(space, base, law, energy, -float(floor[0]), self.ball.center, R, doubted=True)

    @property
    def error_law(self) -> RadialLaw:
        raise NotImplementedError("no law is known for a custom objective")

    def error_quantile(self, p: float) -> float:
        raise ValueError("no error can be predicted for a custom objective: nothing public is known of its growth")

    @property
    def lengths(self) -> list[float]:
        return [2 * self.scale.region] * len(LEVELS)
