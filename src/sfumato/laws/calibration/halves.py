"""How far a regression by two noisy halves may be off (Result 14)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import chndtr, gammaincinv, ndtri

from ...numerics.arrays import Array

BITS = 16  # 2^16 made-up errors are behind a quantile
TAIL = 1 << 15  # and the first of them behind a probability, each with one of its own
SURE = 1e6  # times its variance in one direction: beyond that square of its mean a length is that mean


@lru_cache(maxsize=8)
def _draws(p: int, which: int) -> tuple[Array, Array, Array, Array]:
    """Return what the first or second of two errors in R^p is made of, evenly spread by Sobol's numbers and a fixed seed, so
    public: χ² with p − 1 degrees of freedom, two with p + 1, two normal and three Laplace variables."""
    from scipy.stats.qmc import Sobol

    u = np.clip(Sobol(16, seed=0).random_base2(BITS).T[8 * which :], 2.0**-40, 1 - 2.0**-40)
    rest = 2 * gammaincinv((p - 1) / 2, u[7]) if p > 1 else np.zeros(1 << BITS)
    laplaces = np.sign(0.5 - u[:3]) * np.log(1 - np.abs(2 * u[:3] - 1))
    return rest, 2 * gammaincinv((p + 1) / 2, u[3:5]), ndtri(u[5:7]), laplaces


class Error(NamedTuple):
    """An error N₁ + N₂ + (Σcⱼ·Lⱼ + √v·Z)·e₁ in R^p: Nᵢ of density ∝ e^(−‖x‖/sᵢ), Lⱼ Laplace variables and Z a normal one, all
    independent, and ``cell`` at most in any direction.  Nᵢ is sᵢ·χ_{p+1} times a standard normal vector."""

    p: int
    scales: tuple[float, float]
    laplaces: Sequence[float]
    variance: float
    cell: float = 0.0

    def parts(self, which: int = 0) -> tuple[Array, Array, float]:
        """Return draws of what is added along e₁, and of the variance of N₁ + N₂ in each direction; and the cell."""
        _, squares, normals, laplaces = _draws(self.p, which)
        shift = np.sqrt(self.variance) * normals[1] + np.asarray(self.laplaces) @ laplaces[: len(self.laplaces)]
        return shift, np.square(self.scales) @ squares, self.cell


def _added(errors: Sequence[Error], first: int | None = None) -> tuple[Array, Array, float]:
    shifts, squares, cells = zip(*(error.parts(i) for i, error in enumerate(errors)), strict=True)
    return np.sum(shifts, axis=0)[:first], np.sum(squares, axis=0)[:first], sum(cells)


def lengths(*errors: Error) -> Array:
    """Return draws of the most that an error in R^p, or the sum of two, is long; the directions e₁ are the same.

    >>> error = Error(4, (0.01, 0.02), (0.01,), 1e-4)
    >>> round(float(np.mean(lengths(error, error) ** 2)) / (2 * (4 * 5 * 5e-4 + 2 * 1e-4 + 1e-4)), 1)
    1.0
    """
    shift, square, cells = _added(errors)
    rest, _, normals, _ = _draws(errors[0].p, 0)
    return np.asarray(np.sqrt(np.square(shift + np.sqrt(square) * normals[0]) + square * rest) + cells)


def tail(length: float, *errors: Error, directions: int | None = None) -> float:
    """Return the probability of an error, or the sum of two, as long as this; or of its part in some directions, e₁ among them.

    It is the mean over draws of that for given shift m and variance s, of which length²/s is a χ² variable with the
    noncentrality m²/s: right to some 1% at 0.05 and 5% at 0.001, and never below 2^−16.
    """
    shift, square, cells = _added(errors, TAIL)
    far = max(0.0, length - cells)
    center = np.square(shift) / square
    given = 1 - chndtr(far**2 / square, directions or errors[0].p, np.minimum(center, SURE))
    return max(float(np.mean(np.where(center < SURE, given, np.abs(shift) >= far))), 2.0**-BITS)
