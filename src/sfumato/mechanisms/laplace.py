"""The manifold Laplace mechanism (Reimherr, Bharath and Soto 2021)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..laws.calibration.error import laplace_error_law
from ..laws.calibration.rounding import stretch_at_cut_locus
from ..laws.calibration.scale import Scale, laplace_scale
from ..laws.radial import RadialLaw
from ..laws.sampling import Target
from ..numerics.arrays import Points
from ..records import Records
from ..regions.mean import mean_in_ball
from .manifold import ManifoldMechanism


@dataclass(frozen=True)
class ManifoldLaplace(ManifoldMechanism):
    """Density ∝ exp(−ρ(x, x̄)/σ) on the whole manifold, x̄ the Fréchet mean.

    Privacy: ε-DP with σ = Δ/ε, as the space is homogeneous and the normaliser does not depend on the data.  "certified" and
    "tight": Δ = 2·tan(√κ·r)/(√κ·n), or 2r/n without positive curvature (theory, Result 2).  "theorem" and "as run": the
    paper's Remark 1.

    >>> from sfumato import SPD, Ball
    >>> laplace = ManifoldLaplace(Ball(SPD(size=2), [[1.0, 0.0], [0.0, 1.0]], radius=1.5), epsilon=1.0)
    >>> round(laplace.at(100).scale.sigma, 6)
    0.03
    """

    name: ClassVar[str] = "laplace"
    paper: ClassVar[str] = (
        "M. Reimherr, K. Bharath and C. Soto (2021). Differential privacy over Riemannian manifolds. Advances in Neural "
        "Information Processing Systems 34."
    )
    auto: ClassVar[bool] = True
    acceptance = 1.0  # rejection depends only on the volume element, so running time reveals nothing

    def noise(self, n: int, epsilon: float) -> Scale:
        return laplace_scale(self.ball, n, epsilon, self.calibration)

    def center(self, records: Records) -> Points:
        """Return the Fréchet mean of clipped records, certainly to within what the scale allows for (proofs, Result 2b)."""
        return mean_in_ball(self.ball, records, self.mean, self.mean.tolerance).point

    def loss(self, distance: float) -> float:
        """Return the largest privacy loss between two data sets whose computed means are this far apart."""
        return distance / self.scale.sigma

    @cached_property
    def proposals(self) -> RadialLaw:
        """The distribution of proposals' lengths, the same for all data."""
        rate = 1 / self.scale.sigma
        return RadialLaw.from_slope(self.space, lambda u: 0 * u + rate, self.bounds.injectivity_radius)

    @cached_property
    def error_law(self) -> RadialLaw:
        return laplace_error_law(self.space, self.scale.sigma)

    def target(self, records: Records) -> Target:
        return Target(self.space, self.center(records), self.proposals)

    def energy_error(self, error: float) -> float:
        return 0.0  # the envelope is the density; what the mean is off by is part of Δ

    @property
    def stretched_length(self) -> float:
        r = self.ball.radius
        longest = self.lengths[-1]
        total = super().stretched_length
        if np.isinf(self.scale.region) and r + longest > self.far:
            # the cut locus may be a wall, beyond which draws come in at the opposite end: one face more (proofs, Result 8)
            faces = 1 + max(1.0, self.spacing / (self.bounds.injectivity_radius - self.far))
            total += faces * longest * stretch_at_cut_locus(self.space, self.error_law, r, self.far)
        return float(total)
