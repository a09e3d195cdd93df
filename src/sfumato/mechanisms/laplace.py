"""The Laplace mechanism on manifolds (Reimherr, Bharath and Soto 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from ..calibration.error import laplace_error_quantile
from ..calibration.scale import Scale, laplace_scale, solver_tolerance
from ..frechet import steady_solve
from ..radial import RadialLaw
from ..records import Records
from ..sampling import Target
from ..spaces.base import Space
from .base import ManifoldMechanism


@dataclass(frozen=True, eq=False)
class ManifoldLaplace(ManifoldMechanism):
    """Density ∝ exp(−ρ(x, x̄)/σ) on the whole manifold, x̄ the Fréchet mean.

    Privacy: ε-DP with σ = Δ/ε, as the space is homogeneous and the normaliser does not depend on the data.  "certified" and
    "tight": Δ = 2·tan(√κ·r)/(√κ·n), or 2r/n without positive curvature (theory, Result 2).  "theorem" and "as run": the
    paper's Remark 1.

    >>> from sfumato import SPD, Ball
    >>> laplace = ManifoldLaplace(Ball(SPD(size=2), [[1.0, 0.0], [0.0, 1.0]], radius=1.5), epsilon=1.0)
    >>> round(laplace.scale(100), 6)
    0.03
    """

    name: ClassVar[str] = "laplace"

    def calibrate(self, n: int) -> Scale:
        return laplace_scale(self.space, self.ball.center, self.ball.radius, n, self.epsilon, self.calibration)

    def target(self, records: Records, scale: Scale) -> Target:
        found = steady_solve(records)
        tolerance = solver_tolerance(self.space, self.ball.center, self.ball.radius)
        if found.gradient_norm > tolerance:
            raise RuntimeError(
                f"the Fréchet mean was not found to the tolerance {tolerance:.2g} that the scale allows for; nothing was "
                "released. KNG does not need an exact mean."
            )
        return Target(self.space, found.point, _law(self.space, scale.sigma))

    def _energy_error(self, error: float) -> float:
        return 0.0  # the envelope is the density; what the mean is off by is part of Δ

    def error_quantile(self, n: int, p: float) -> float:
        return laplace_error_quantile(self.space, self.scale(n), p)

    def acceptance(self, n: int) -> float | None:
        """Proposals are turned down for the volume alone, which looks the same from every mean: the clock tells nothing."""
        return 1.0


@lru_cache(maxsize=64)
def _law(space: Space, sigma: float) -> RadialLaw:
    """The law of proposals' lengths, the same for all data."""
    return RadialLaw.from_slope(space, lambda u: 0 * u + 1 / sigma, space.injectivity_radius)
