"""The spread of the records beside their mean, for the region of the population's mean (Result 6)."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, Self

import numpy as np

from ..laws.privacy import Privacy
from ..laws.sampling.discrete import CLOCK_DELTA, discrete_laplace
from ..numerics.arrays import Array, Points
from ..records import Records
from ..regions import Ellipsoid
from ..release.record import SpreadOf
from .plan import Losses
from .tangent import BITS, whole_sums

SHARE = 0.1  # of ε, for the spread, where a command asks for it
LEAST_SHARE = 1e-6
MOST_SHARE = 0.5


def check_share(share: object) -> float:
    """Return a share of ε for the spread, or raise a ValueError: before anything is planned with what is left.

    >>> check_share(0.1)
    0.1
    """
    if not (isinstance(share, int | float) and LEAST_SHARE <= share <= MOST_SHARE):
        raise ValueError(f"inference must be a share of epsilon, from {LEAST_SHARE:g} to {MOST_SHARE:g}, not {share!r}")
    return float(share)


@dataclass(frozen=True)
class Spread:
    """The mean of ‖wᵢ‖² in the chart of the mean, with Laplace noise on whole numbers, which is exact: one record moves the sum
    by at most one unit, so that it and the mean together are ε-private (proofs, Result 6).

    ``width`` is the scale of the noise of the sum of ‖wᵢ‖²: 1/(what is left of ε).
    """

    share: float
    width: Fraction

    losses: ClassVar = Losses(0.0, clock_delta=CLOCK_DELTA)  # which it adds to those of the plan of the mean

    @classmethod
    def of(cls, privacy: Privacy, share: float) -> Self:
        """Return the stage that a share of ε pays for."""
        return cls(share, 1 / privacy.aside(share)[0])

    @property
    def words(self) -> str:
        """What the share was spent on, in words."""
        return f"{self.share:g} of it was spent on the spread of the records"

    def described(self, n: int) -> SpreadOf:
        """Return what a record says of it before it is drawn."""
        return SpreadOf(self.share, float(self.width / n))

    def second_moment(self, chart: Ellipsoid, records: Records, rng: np.random.Generator) -> float:
        """Return the mean of ‖wᵢ‖² with its noise."""
        (total,) = records.reduce(partial(whole_sums, partial(_squares, chart)))
        return noisy_mean(int(total), records.n, self.width, rng)


def noisy_mean(total: int, n: int, width: Fraction, rng: np.random.Generator) -> float:
    """Return the mean of n numbers between 0 and 1 whose sum is so many units of 2^−BITS, with Laplace noise on whole numbers;
    ``width`` is the scale of the noise of the sum."""
    return float(Fraction(total + discrete_laplace(width * 2**BITS, rng), n << BITS))


def _squares(chart: Ellipsoid, points: Points) -> Iterator[Array]:
    """Yield ‖w‖² of each record, at most 1."""
    for w in chart.chart_blocks(points):
        yield np.minimum(np.sum(w * w, axis=1, keepdims=True), 1.0)
