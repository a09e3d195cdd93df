"""Positive definite diagonal matrices: one variance for each channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array, Points
from .base import Space, not_finite
from .flat import Flat
from .spd import SPD, fewer_channels

MOST = 700.0  # size of a logarithm whose exponential is an ordinary number


@dataclass(frozen=True)
class DiagonalSPD(Flat):
    """Variances of ``size`` channels, compared by their ratios: ρ(a, b) = ‖log a − log b‖.

    That is the affine-invariant metric, and the log-Euclidean one, on diagonal matrices, which are flat in either (Pennec and
    others 2006).  A point is a vector of positive numbers; of a (k, k) matrix the diagonal alone is used.  The dimension is k,
    not k(k+1)/2, so that many channels need far fewer records than their whole covariance matrix does.

    >>> space = DiagonalSPD(size=2)
    >>> a, b = space.validate([[1.0, 1.0], [np.e, 1.0]])
    >>> space.distance(a, b).item(), space.dim
    (1.0, 2)
    """

    size: int
    name: ClassVar[str] = "diagonal-spd"
    metric: ClassVar[str] = "affine-invariant, on diagonal matrices: Euclidean, between logarithms of variances"
    size_option: ClassVar[str | None] = "size"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "dim", self.size)

    @property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        return {"vectors": (self.size,), "matrices": (self.size, self.size)}

    def widest(self, low: float | None = None, high: float | None = None) -> tuple[Points, float]:
        center, radius = SPD(self.size).widest(low, high)
        return self.validate(np.diagonal(center)[None])[0], radius

    def corrections(self, points: Array) -> list[str]:
        return ["only the diagonal of each matrix is used"] if np.ndim(points) == 3 else []

    def smaller(self) -> dict[str, list[Space]]:
        return fewer_channels(self)

    def look(self, points: Array) -> tuple[Points, dict[int, str]]:
        reasons = not_finite(points)
        found = (np.diagonal(points, axis1=1, axis2=2) if points.ndim == 3 else points).copy()
        found[list(reasons)] = 1.0
        for row in np.flatnonzero((found <= 0).any(axis=1)):
            at = int(np.argmin(found[row]))
            wrong = f"has a variance of {found[row, at]:.3g} in channel {at + 1}: variances are above 0"
            reasons[int(row)] = f"{wrong}; leave out a channel that is silent"
        found[list(reasons)] = 1.0
        return found, reasons

    def to_flat(self, points: Points) -> Array:
        return np.asarray(np.log(points))

    def from_flat(self, vectors: Array) -> Points:
        return np.asarray(np.exp(np.clip(vectors, -MOST, MOST)))
