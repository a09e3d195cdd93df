"""The Euclidean Laplace in the ambient space, with or without a projection back: what the paper compares with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincinv

from ..calibration.rounding import SELECTION, UNIT, crossing, mean_error, relative_error
from ..calibration.scale import Scale, check_request
from ..frechet import solve
from ..radial import check_probability
from ..records import Records
from ..sampling import add_exactly, lattice_spacing
from ..spaces import SPD, Euclidean, Sphere
from ..spaces.base import Array, Points
from .base import Losses, Mechanism, check_size


@dataclass(frozen=True, eq=False)
class AmbientLaplace(Mechanism):
    """Density ∝ exp(−‖y − m‖/σ) in the ambient R^D: a uniform direction and a Gamma(D, 1) radius times σ.

    m is the arithmetic mean of the clipped points in the ambient space: R^(d+1) for spheres, vech (the upper triangle) for
    SPD matrices.  Privacy: ε-DP with σ = diameter/(n·ε), the diameter of the ball's image: 2·sin(√κ·r)/√κ on spheres, at
    most 2·λ_max(centre)·(e^r − 1) on SPD matrices.  ``project=True`` maps back: by scaling onto the sphere; by raising
    eigenvalues to λ_min(centre)·e^(−r), below which no mean of the ball falls.

    "as run": the paper adds the same noise to the Fréchet mean, with 2r for the diameter on spheres; that is not proven.

    >>> from sfumato import Ball
    >>> ambient = AmbientLaplace(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=np.pi / 6), epsilon=1.0)
    >>> round(ambient.scale(100), 6)
    0.01
    """

    project: bool = False
    name: ClassVar[str] = "ambient-laplace"
    statistic: ClassVar[str] = "arithmetic mean in the ambient space"
    sampler: ClassVar[str] = "exact: uniform direction, Gamma radius"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.space, Euclidean | Sphere | SPD):
            raise ValueError(f"AmbientLaplace is not defined on {self.space}; use PointwiseLaplace for landmarks")

    def options(self) -> dict[str, Any]:
        return {"project": self.project}

    @property
    def distance(self) -> str:  # type: ignore[override]
        if isinstance(self.space, SPD):
            return "Euclidean norm of the upper triangle (vech) of the difference from the arithmetic mean"
        scaled = " scaled to the sphere" if self.project and isinstance(self.space, Sphere) else ""
        return f"Euclidean distance from the arithmetic mean{scaled}"

    @property
    def ambient_dim(self) -> int:
        return self.space.dim + isinstance(self.space, Sphere)

    def diameter(self) -> float:
        """Diameter of the image of the ball in the ambient space (an upper bound on SPD matrices)."""
        space, r = self.space, self.ball.radius
        if isinstance(space, Sphere):
            q = np.sqrt(space.curvature)
            return float(2 * np.sin(min(q * r, np.pi / 2)) / q)
        if isinstance(space, SPD):
            return float(2 * np.linalg.eigvalsh(self.ball.center)[-1] * np.expm1(min(r, 300.0)))
        return 2 * r

    def _calibrate(self, n: int, epsilon: float) -> Scale:
        check_request(n, epsilon)
        if self.calibration == "as run" and isinstance(self.space, Sphere):
            delta, formula = (
                2 * self.ball.radius / n,
                "Δ/ε, Δ = 2r/n, added to the Fréchet mean (the paper's run; not proven)",
            )
        else:
            delta, formula = self.diameter() / n, "Δ/ε, Δ = diameter of the ball's image / n"
        return Scale(delta / epsilon, formula, {"delta": delta})

    def error_quantile(self, n: int, p: float) -> float:
        return self._after_projection(self._noise_quantile(n, p))

    def _noise_quantile(self, n: int, p: float) -> float:
        check_probability(p)
        return self.scale(n) * float(gammaincinv(self.ambient_dim, p))

    def release_error(self, n: int, p: float) -> float:
        noise = self._noise_quantile(n, p)
        return self._after_projection(noise + np.sqrt(self.ambient_dim) / 2 * lattice_spacing(self.scale(n)))

    def _after_projection(self, noise: float) -> float:
        space = self.space
        if not self.project or isinstance(space, Euclidean):
            return noise
        if isinstance(
            space, SPD
        ):  # the projection does not stretch the Frobenius norm, which is at most √2 that of vech
            return float(np.sqrt(2) * noise)
        assert isinstance(space, Sphere)
        # the mean lies at least cos(√κ·r)/√κ from the origin, so scaling turns it by at most arcsin(noise/that)
        length = np.cos(np.sqrt(space.curvature) * self.ball.radius) / np.sqrt(space.curvature)
        turn = np.arcsin(noise / length) if noise < length else np.pi
        return float(2 * np.sin(turn / 2) / np.sqrt(space.curvature))

    def is_on_manifold(self, value: Array) -> bool:
        if self.project or isinstance(self.space, Euclidean):
            return True
        return isinstance(self.space, SPD) and bool(np.linalg.eigvalsh(value)[0] > 0)

    # -- coordinates in the ambient space -------------------------------------------------------------------------------
    def _embed(self, points: Points) -> Array:
        if isinstance(self.space, SPD):
            rows, columns = np.triu_indices(self.space.size)
            return np.asarray(points[..., rows, columns])
        return np.asarray(points)

    def _present(self, y: Array) -> Array:
        space = self.space
        if isinstance(space, SPD):
            rows, columns = np.triu_indices(space.size)
            matrix = np.zeros((*y.shape[:-1], space.size, space.size))
            matrix[..., rows, columns] = matrix[..., columns, rows] = y
            if not self.project:
                return matrix
            eigenvalues, vectors = np.linalg.eigh(matrix)
            floor = float(np.linalg.eigvalsh(self.ball.center)[0] * np.exp(-self.ball.radius))
            raised = (vectors * np.maximum(eigenvalues, floor)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
            return np.asarray((raised + np.swapaxes(raised, -1, -2)) / 2)
        if isinstance(space, Sphere) and self.project:
            length = np.linalg.norm(y, axis=-1, keepdims=True)
            y = np.where(length > 0, y, self.ball.center)  # the origin has no direction: take the public one
            return np.asarray(y / (np.linalg.norm(y, axis=-1, keepdims=True) * np.sqrt(space.curvature)))
        return y

    def _statistic(self, records: Records) -> Array:
        if self.calibration == "as run":
            return self._embed(solve(records).point)
        return records.mean(self._embed)

    def _noise(self, size: int, sigma: float, rng: np.random.Generator) -> Array:
        direction = rng.standard_normal((size, self.ambient_dim))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return np.asarray(sigma * rng.standard_gamma(self.ambient_dim, size)[:, None] * direction)

    def sample(self, points: ArrayLike, size: int, rng: np.random.Generator) -> Array:
        check_size(size)
        records = Records(self.space, self.ball.clip(points))
        return self._present(self._statistic(records) + self._noise(size, self.scale(records.n), rng))

    def _draw(self, records: Records, scale: Scale, rng: np.random.Generator) -> Array:
        noise = self._noise(1, scale.sigma, rng)[0]
        return self._present(add_exactly(self._statistic(records), noise, lattice_spacing(scale.sigma)))

    def losses(self, n: int) -> Losses:
        """δ: the noise, of mean length D·σ, has the relative error of its direction and sixteen roundings of its length.
        ε: the mean is a sum in pairs, of entries no larger than the centre's plus the diameter."""
        dim, sigma = self.ambient_dim, self.scale(n)
        noise_error = (relative_error(dim) + 16 * UNIT) * (dim + 1) * sigma
        largest = float(np.abs(self._embed(self.ball.center)).max()) + self.diameter()
        epsilon = float(2 * mean_error(n) * np.sqrt(dim) * largest / sigma)
        return Losses(self._both(n, crossing(dim, lattice_spacing(sigma), noise_error) + SELECTION, epsilon), epsilon)
