"""A space of one's own in one file: the hyperbolic plane.  Its bounds come from the file on constant curvature."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.bounds import constant_curvature
from sfumato.bounds import register as register_bounds
from sfumato.spaces import register
from sfumato.spaces.base import Space, not_finite


def product(a, b):
    """Minkowski's: −a₀b₀ + a₁b₁ + a₂b₂."""
    return a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2] - a[..., 0] * b[..., 0]


@dataclass(frozen=True)
class HyperbolicPlane(Space):
    """The hyperboloid x₀² = 1 + x₁² + x₂², x₀ > 0, of curvature −1."""

    dim: int = 2
    name: ClassVar[str] = "hyperbolic-plane"
    metric: ClassVar[str] = "hyperbolic distance"

    @property
    def point_shape(self):
        return (3,)

    def parameters(self):
        return {}

    def origin(self):
        return np.array([1.0, 0.0, 0.0])

    def diagnose(self, points):
        x = self._real_batch(points)
        reasons = not_finite(x)
        for row in np.flatnonzero(~(np.abs(product(x, x) + 1) <= 1e-6 * (1 + x[:, 0] ** 2))):
            reasons.setdefault(int(row), "is not on the hyperboloid")
        x = x.copy()
        x[list(reasons)] = self.origin()
        return self._lifted(x), reasons

    @staticmethod
    def _lifted(x):
        x[..., 0] = np.sqrt(1 + x[..., 1] ** 2 + x[..., 2] ** 2)
        return x

    def exp(self, base, vectors):
        t = self.norm(base, vectors)[..., None]
        return self._lifted(np.cosh(t) * base + np.sinh(t) / np.where(t > 0, t, 1.0) * vectors)

    def log(self, base, points):
        u = points + product(base, points)[..., None] * base
        length = np.sqrt(np.maximum(product(u, u), 0.0))[..., None]
        return self.distance(base, points)[..., None] * u / np.where(length > 0, length, 1.0)

    def distance(self, a, b):
        u = np.asarray(a) - np.asarray(b)
        return 2 * np.arcsinh(np.sqrt(np.maximum(product(u, u), 0.0)) / 2)

    def inner(self, base, u, v):
        return product(u, v)

    def _frame(self, base):
        """The boost from the origin to the base, applied to e₁ and e₂."""
        side, scale = base[1:], 1 / (1 + base[0])
        return np.column_stack([side, np.eye(2) + scale * np.outer(side, side)])

    def from_coordinates(self, base, coordinates):
        return coordinates @ self._frame(base)

    def coordinates(self, base, vectors):
        return vectors @ (self._frame(base) * [-1.0, 1.0, 1.0]).T


register(HyperbolicPlane)
register_bounds(HyperbolicPlane, lambda space: constant_curvature(space, -1.0))
