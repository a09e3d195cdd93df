"""Complex projective space CP^m with holomorphic curvature 4: planar shapes and open curves."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from ...numerics.arrays import Array, Points
from ...numerics.curvature import log_sinc
from ...spaces.base import Space
from .constant import PositiveCurvature, chi, cot_defect, psi, psi_max


class ProjectiveSpace(PositiveCurvature):
    """CP^m of dimension d = 2m, with curvature between 1 and 4 (4 for m = 1, a sphere of radius ½).

    Bounds that need only the largest curvature are those of the sphere of curvature 4.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space, 4.0)
        self.curvature = (1.0 if self.dim > 2 else 4.0, 4.0)

    def log_volume_density(self, base: Points, vectors: Points) -> Array:
        """Return (2m − 1)·log(sin t/t) + log cos t, m = k − 2."""
        t = self.space.norm(base, vectors)
        return (self.dim - 2) * log_sinc(t) + log_sinc(2 * t)

    def log_radial_bounds(self, radius: ArrayLike) -> tuple[Array, Array]:
        """Return two numbers that both equal log(sin^(2m−1)ρ·cos ρ), the same in every direction."""
        t = np.asarray(radius, dtype=np.float64)
        value = xlogy(self.dim - 1, np.sin(t)) + xlogy(1, np.maximum(np.cos(t), 0.0))
        return value, value

    def radial_breaks(self) -> tuple[float, ...]:
        return (float(np.arctan(np.sqrt(self.dim - 1))),)

    def _trace_defect(self, S: ArrayLike) -> Array:
        S = np.asarray(S)
        return cot_defect(2 * S) + (self.dim - 2) * cot_defect(S)

    def _turning(self, S: float, lam: float) -> tuple[float, float]:
        """Return a bound, with n towards yᵢ, j = i·n, P = 1 − nnᵀ − jjᵀ, φ₁ = t·cot t, φ₂ = 2t·cot 2t, and (φ₁ − φ₂)·cot t = t:

        Σ_e⟨(∇ₑH)w, Ke⟩ = (χ₁−ψ₁)⟨Pw, Kn⟩ + (χ₂−ψ₂)⟨j,w⟩⟨j, Kn⟩ − ⟨n,w⟩[ψ₁·tr PK + ψ₂⟨j, Kj⟩] − t⟨iPw, Kj⟩.
        """
        along = ((self.dim - 2) * psi_max(S) + 2 * psi_max(2 * S)) / lam
        return along, 0.5 * (1 / lam - 1) * float(4 * chi(2 * S) - 4 * S + S)

    def _local_turning(self, S: Array, u: Array, trace_k: Array) -> tuple[Array, Array]:
        """Return a bound, with ψ₁ = t/3 − (χ(t) − 2t/3) and ψ₂ − ψ₁ = t − (2χ(2t) − χ(t) − 2t); the rest by entries of K−1."""
        linear = trace_k * (chi(S) - 2 * S / 3 + u / 3) + (2 * chi(2 * S) - chi(S) - 2 * S) + u
        # |(ψ₂−ψ₁)αⱼ − ψ₁αₙ| for 0 ≤ αⱼ, αₙ ≤ 1/λ − 1: the two terms add up where ψ₂ < ψ₁, near the edge of convexity;
        # 2ψ₁ − ψ₂ is convex and starts negative, so where it is positive it rises: its largest value is at S
        diagonal = np.maximum(np.maximum(psi_max(S), _gap_max(S)), 2 * psi(S) - 2 * psi(2 * S))
        return linear, diagonal + 2 * chi(2 * S) - 2 * S + S / 2


def _gap_max(S: ArrayLike) -> Array:
    """Return a bound on the maximum over [0, S] of the concave function ψ₂ − ψ₁ = 2ψ(2t) − ψ(t), of slope 1 at 0."""
    grid = np.linspace(0.0, np.pi / 4, 4097)
    best = np.maximum.accumulate(2 * psi(2 * grid) - psi(grid))
    step = grid[1]
    return np.asarray(np.interp(np.minimum(np.asarray(S) + step, np.pi / 4), grid, best) + step)
