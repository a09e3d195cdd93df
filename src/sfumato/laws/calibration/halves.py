"""How far a regression by two noisy halves may be off (Result 14)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...numerics.arrays import Array

DRAWS = 1 << 16  # of made-up errors behind a quantile


@lru_cache(maxsize=8)
def _draws(p: int, seed: int) -> tuple[Array, Array, Array, Array]:
    """Return what errors in R^p are made of, by a fixed seed, so public: χ² with p − 1 degrees of freedom, two with p + 1, two
    normal and three Laplace variables."""
    rng = np.random.default_rng([p, seed])
    rest = rng.chisquare(p - 1, DRAWS) if p > 1 else np.zeros(DRAWS)
    squares = rng.chisquare(p + 1, (2, DRAWS))
    return rest, squares, rng.standard_normal((2, DRAWS)), rng.laplace(size=(3, DRAWS))


class Error(NamedTuple):
    """An error N₁ + N₂ + (Σcⱼ·Lⱼ + √v·Z)·e₁ in R^p: Nᵢ of density ∝ e^(−‖x‖/sᵢ), Lⱼ Laplace variables and Z a normal one, all
    independent, and ``cell`` at most in any direction.  Nᵢ is sᵢ·χ_{p+1} times a standard normal vector."""

    p: int
    scales: tuple[float, float]
    laplaces: Sequence[float]
    variance: float
    cell: float = 0.0

    def parts(self, seed: int = 0) -> tuple[Array, Array]:
        """Return draws of the error along e₁, and of its variance in each other direction."""
        _, squares, normals, laplaces = _draws(self.p, seed)
        square = np.square(self.scales) @ squares
        along = np.sqrt(square) * normals[0] + np.sqrt(self.variance) * normals[1]
        return along + np.asarray(self.laplaces) @ laplaces[: len(self.laplaces)], square


def lengths(*errors: Error) -> Array:
    """Return draws of the most that the sum of errors in R^p is long, whose directions e₁ are the same.

    >>> error = Error(4, (0.01, 0.02), (0.01,), 1e-4)
    >>> round(float(np.mean(lengths(error, error) ** 2)) / (2 * (4 * 5 * 5e-4 + 2 * 1e-4 + 1e-4)), 1)
    1.0
    """
    along, square = (sum(part) for part in zip(*(error.parts(i) for i, error in enumerate(errors)), strict=True))
    cells = sum(error.cell for error in errors)
    return np.asarray(np.sqrt(np.square(along) + square * _draws(errors[0].p, 0)[0]) + cells)


def tail(draws: Array, length: float) -> float:
    """Return the probability of an error of this length or more, rounded up by one draw."""
    return float((np.count_nonzero(draws >= length) + 1) / (len(draws) + 1))
