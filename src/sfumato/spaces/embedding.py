"""Spaces that lie in a linear space, where means are sums: R^d itself, spheres, positive definite matrices."""

from dataclasses import dataclass

import numpy as np

from ..numerics.arrays import Array, Points


@dataclass(frozen=True)
class Embedding:
    """The ambient R^D of a space, here of R^d itself; the ball of a ``center`` and ``radius`` is one of the space.

    >>> Embedding(2).diameter(np.zeros(2), 1.5)
    3.0
    """

    dim: int  # D

    @property
    def reach(self) -> float:
        """The length of the longest vector that a point can be."""
        return np.inf

    def embed(self, points: Points) -> Array:
        """Return canonical points as vectors (…, D)."""
        return np.asarray(points)

    def unembed(self, y: Array) -> Array:
        """Return vectors as arrays of the form in which points are presented, wherever they lie."""
        return y

    def project(self, y: Array, center: Points, radius: float) -> Array:
        """Return the same, mapped to the manifold by what is known of the ball."""
        return self.unembed(y)

    def diameter(self, center: Points, radius: float) -> float:
        """Return the diameter of the image of the ball, or a bound on it."""
        return 2 * radius

    def run_diameter(self, center: Points, radius: float) -> float:
        """Return the diameter that the paper's run takes instead."""
        return self.diameter(center, radius)

    def after_projection(self, noise: float, center: Points, radius: float) -> float:
        """Return a bound on the distance from the mean, once projected, of a vector at distance ``noise`` from it."""
        return noise

    def on_manifold(self, value: Array) -> bool:
        """Return whether a presented value that was not projected is a point of the space."""
        return True

    def distance_words(self, projected: bool) -> str:
        """Return what the error is measured by."""
        return "Euclidean distance from the arithmetic mean"


@dataclass(frozen=True)
class RoundEmbedding(Embedding):
    """The sphere of curvature κ in R^(d+1): vectors of length 1/√κ.

    >>> round(RoundEmbedding(3, 1.0).diameter(np.array([0.0, 0.0, 1.0]), np.pi / 6), 12)
    1.0
    """

    curvature: float

    @property
    def reach(self) -> float:
        return float(1 / np.sqrt(self.curvature))

    def project(self, y: Array, center: Points, radius: float) -> Array:
        """Return y scaled to the sphere."""
        length = np.linalg.norm(y, axis=-1, keepdims=True)
        y = np.where(length > 0, y, center)  # the origin has no direction: take the public one
        return np.asarray(y / (np.linalg.norm(y, axis=-1, keepdims=True) * np.sqrt(self.curvature)))

    def diameter(self, center: Points, radius: float) -> float:
        """Return 2·sin(√κ·r)/√κ: a chord."""
        q = np.sqrt(self.curvature)
        return float(2 * np.sin(min(q * radius, np.pi / 2)) / q)

    def run_diameter(self, center: Points, radius: float) -> float:
        return 2 * radius

    def after_projection(self, noise: float, center: Points, radius: float) -> float:
        """Return a bound: the mean is at least a = cos(√κ·r)/√κ from the origin, so scaling turns it by arcsin(noise/a)."""
        length = np.cos(np.sqrt(self.curvature) * radius) / np.sqrt(self.curvature)
        turn = np.arcsin(noise / length) if noise < length else np.pi
        return float(2 * np.sin(turn / 2) / np.sqrt(self.curvature))

    def on_manifold(self, value: Array) -> bool:
        return False

    def distance_words(self, projected: bool) -> str:
        return super().distance_words(projected) + (" scaled to the sphere" if projected else "")


@dataclass(frozen=True)
class TriangleEmbedding(Embedding):
    """Positive definite matrices by their upper triangle (vech), k(k+1)/2 numbers.

    >>> TriangleEmbedding(3, 2).unembed(np.array([1.0, 2.0, 3.0])).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """

    size: int

    def embed(self, points: Points) -> Array:
        rows, columns = np.triu_indices(self.size)
        return np.asarray(points[..., rows, columns])

    def unembed(self, y: Array) -> Array:
        rows, columns = np.triu_indices(self.size)
        matrix = np.zeros((*y.shape[:-1], self.size, self.size))
        matrix[..., rows, columns] = matrix[..., columns, rows] = y
        return matrix

    def project(self, y: Array, center: Points, radius: float) -> Array:
        """Return eigenvalues raised to λ_min(centre)·e^(−r), below which no mean of the ball falls."""
        eigenvalues, vectors = np.linalg.eigh(self.unembed(y))
        floor = float(np.linalg.eigvalsh(center)[0] * np.exp(-radius))
        raised = (vectors * np.maximum(eigenvalues, floor)[..., None, :]) @ vectors.mT
        return np.asarray((raised + raised.mT) / 2)

    def diameter(self, center: Points, radius: float) -> float:
        """Return a bound, 2·λ_max(centre)·(e^r − 1)."""
        return float(2 * np.linalg.eigvalsh(center)[-1] * np.expm1(min(radius, 300.0)))

    def after_projection(self, noise: float, center: Points, radius: float) -> float:
        """Return a bound: the projection does not stretch the Frobenius norm, which is at most √2 times that of vech."""
        return float(np.sqrt(2) * noise)

    def on_manifold(self, value: Array) -> bool:
        return bool(np.linalg.eigvalsh(value)[0] > 0)

    def distance_words(self, projected: bool) -> str:
        return "Euclidean norm of the upper triangle (vech) of the difference from the arithmetic mean"
