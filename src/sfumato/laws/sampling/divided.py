"""Noise that several sites draw in parts: what enough of them add up to is one curator's (proofs, Result 13)."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...numerics.arrays import Array
from ..calibration.rounding import SELECTION, UNIT
from .lattice import lattice_spacing

GRID = 60  # sums, noise and dithers are whole numbers of units of 2^−GRID


@dataclass(frozen=True)
class Divided:
    """Noise of density ∝ e^(−‖x‖/scale) in R^size, of which each of several ``sites`` draws a part.

    A part is scale·√(2G)·g, G a Gamma((size + 1)/(2·trusted)) variable and g standard normal.  Its characteristic function is
    (1 + scale²‖t‖²)^(−(size+1)/(2·trusted)), so that any ``trusted`` parts add up to exactly that noise.
    """

    size: int
    scale: float
    trusted: int = 1
    sites: int = 1

    def draws(self, count: int, rng: np.random.Generator, parts: float = 1.0) -> Array:
        """Return sums of so many ``parts``, (count, size).  G is Gamma(1 + a)·e^(−E/a), a its shape and E an exponential
        variable (Stuart 1962), as for small shapes NumPy takes powers of few random bits.

        >>> parts = Divided(1, 1.0, trusted=4).draws(40_000, np.random.default_rng(0))
        >>> bool(abs(np.mean(np.abs(parts.reshape(-1, 4).sum(axis=1))) - 1) < 0.05)  # of a Laplace variable
        True
        """
        shape = parts * (self.size + 1) / (2 * self.trusted)
        radius = np.sqrt(2 * rng.standard_gamma(1 + shape, count))
        radius *= np.exp(-rng.standard_exponential(count) / (2 * shape))
        return np.asarray(self.scale * radius[:, None] * rng.standard_normal((count, self.size)))

    @cached_property
    def dither(self) -> int:
        """How many whole numbers a dither is one of: a power of two, at most a 32nd of the deviation of a part's coordinate."""
        return int(lattice_spacing(self.scale * math.sqrt((self.size + 1) / self.trusted) / 2) * 2**GRID)

    def part(self, rng: np.random.Generator) -> list[int]:
        """Return one part in whole numbers, with a uniform dither, whose mean is taken off the sum, for what rounding tells."""
        (noise,) = self.draws(1, rng).tolist()
        dithers = (int.from_bytes(rng.bytes(16), "little") % self.dither for _ in noise)
        return [round(x * 2**GRID) + dither for x, dither in zip(noise, dithers, strict=True)]

    @property
    def chance(self) -> float:
        """A bound on the total variation by which rounding moves the law of what the trusted sites add: by half a unit for each
        part and their sum, and by what a part, a its shape, is off by on average in double precision (Result 13)."""
        a = (self.size + 1) / (2 * self.trusted)
        off = UNIT * ((12 * a + 9 * math.sqrt(2 + 2 * a)) / (1 + 2 * a) + 24 * math.sqrt(2 * a)) * self.scale
        units = (self.trusted + 1) / 2 + self.trusted * off * 2**GRID
        return float(self.size * units / self.dither + self.trusted * SELECTION)
