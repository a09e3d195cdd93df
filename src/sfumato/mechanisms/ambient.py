"""The Euclidean Laplace in the ambient space, with or without a projection back: what the paper compares with."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaincinv

from ..errors import Refusal
from ..laws.calibration.rounding import SELECTION, UNIT, crossing, mean_error, relative_error
from ..laws.calibration.scale import Scale
from ..laws.radial import check_probability
from ..laws.sampling import add_exactly
from ..means.frechet import solve
from ..numerics.arrays import Array
from ..records import Records
from ..release.terms import Named
from ..spaces.embedding import Embedding
from .base import Mechanism, radial_noise
from .plan import Drawn, Losses


@dataclass(frozen=True)
class AmbientLaplace(Mechanism):
    """Density ∝ exp(−‖y − m‖/σ) in the ambient R^D: a uniform direction and a Gamma(D, 1) radius times σ.

    m is the arithmetic mean of the clipped points in the ambient space: R^(d+1) for spheres, vech (the upper triangle) for
    SPD matrices.  Privacy: ε-DP with σ = diameter/(n·ε), the diameter of the ball's image: 2·sin(√κ·r)/√κ on spheres, at
    most 2·λ_max(centre)·(e^r − 1) on SPD matrices.  ``project=True`` maps back: by scaling onto the sphere; by raising
    eigenvalues to λ_min(centre)·e^(−r), below which no mean of the ball falls.

    "as run": the paper adds the same noise to the Fréchet mean, with 2r for the diameter on spheres; that is not proven.

    >>> from sfumato import Ball, Sphere
    >>> ambient = AmbientLaplace(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=np.pi / 6), epsilon=1.0)
    >>> round(ambient.at(100).scale.sigma, 6)
    0.01
    """

    project: bool = False

    name: ClassVar[str] = "ambient-laplace"
    comparable: ClassVar[bool] = False
    sampler: ClassVar[str] = "exact: uniform direction, Gamma radius"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.embedding  # raises where there is none

    @cached_property
    def embedding(self) -> Embedding:
        """The ambient R^D."""
        embedding = self.space.embedding()
        if embedding is None:
            raise Refusal(f"AmbientLaplace is not defined on {self.space}; use PointwiseLaplace for landmarks")
        return embedding

    @property
    def statistic(self) -> Named:
        return Named("arithmetic mean in the ambient space", self.embedding.distance_words(self.project))

    @property
    def diameter(self) -> float:
        """Of the ball's image, or a bound on it: a record moves the mean by that over n; what the paper's run took instead."""
        find = self.embedding.run_diameter if self.calibration == "as run" else self.embedding.diameter
        return find(self.ball.center, self.ball.radius)

    def mean(self, records: Records) -> Array:
        """Return the mean of records in R^D; the paper's run takes the Fréchet mean in its place."""
        if self.calibration == "as run":
            return self.embedding.embed(solve(records).point)
        return records.mean(self.embedding.embed)

    def present(self, y: Array) -> Array:
        """Return vectors of R^D as points are written; on the manifold with ``project``."""
        if self.project:
            return self.embedding.project(y, self.ball.center, self.ball.radius)
        return self.embedding.unembed(y)

    @property
    def options(self) -> dict[str, Any]:
        return {"project": self.project}

    def noise(self, n: int, epsilon: float) -> Scale:
        delta = self.diameter / n
        formula = "Δ/ε, Δ = diameter of the ball's image / n"
        if self.calibration == "as run" and delta == 2 * self.ball.radius / n:
            formula = "Δ/ε, Δ = 2r/n, added to the Fréchet mean (the paper's run; not proven)"
        return Scale(delta / epsilon, formula, {"delta": delta})

    @cached_property
    def dim(self) -> int:
        """The dimension D of the ambient space."""
        return self.embedding.dim

    def error_quantile(self, p: float, lattice: float = 0.0) -> float:
        """Return the quantile of the noise, made longer by what the lattice adds, and then projected."""
        check_probability(p)
        noise = self.scale.sigma * float(gammaincinv(self.dim, p)) + lattice
        projected = self.embedding.after_projection
        return projected(noise, self.ball.center, self.ball.radius) if self.project else noise

    def release_error(self, p: float) -> float:
        return self.error_quantile(p, np.sqrt(self.dim) / 2 * self.spacing)

    def is_on_manifold(self, value: Array) -> bool:
        return self.project or self.embedding.on_manifold(value)

    def draws(self, records: Records, size: int, rng: np.random.Generator) -> Array:
        return self.present(self.mean(records) + radial_noise(self.dim, self.scale.sigma, size, rng))

    def draw(self, records: Records, rng: np.random.Generator) -> Drawn:
        noise = radial_noise(self.dim, self.scale.sigma, 1, rng)[0]
        value = self.present(add_exactly(self.mean(records), noise, self.spacing))
        return Drawn(value, value)

    @cached_property
    def losses(self) -> Losses:
        """δ: the noise, of mean length D·σ, has the relative error of its direction and sixteen roundings of its length.
        ε: the mean is a sum in pairs, of entries no larger than the centre's plus the diameter."""
        dim = self.dim
        sigma = self.scale.sigma
        noise_error = (relative_error(dim) + 16 * UNIT) * (dim + 1) * sigma
        largest = float(np.abs(self.embedding.embed(self.ball.center)).max()) + self.diameter
        epsilon = float(2 * mean_error(self.n) * np.sqrt(dim) * largest / sigma)
        return Losses(self.both(crossing(dim, self.spacing, noise_error) + SELECTION, epsilon), epsilon)
