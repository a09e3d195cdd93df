"""What a record says, as values: readers decide by these, never by a sentence.

Files of earlier versions say some of it in sentences alone.  Those are understood here and nowhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, StrEnum
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .record import ChartOf, Record


class Kind(Enum):
    """What a released value is."""

    MEAN = "the mean of the records, or of a vector made of each"
    SCALAR = "the mean of one number for each unit"
    OBJECTIVE = "where an objective of the user's own is least"


class Neighbours(StrEnum):
    """Which data sets a release keeps apart by at most ε, as records write it."""

    UNITS = "data sets of the same size that differ in one unit's value; the size is public"
    GROUPS = (
        "data sets in which one unit's value differs and its group is the same; the groups of all units and so the sizes of "
        "the groups are public"
    )
    CLASSES = (
        "data sets in which one unit's records differ; who has records of which class, and so how many units, is public"
    )


class Purpose(StrEnum):
    """What a part of ε is spent on beside the value itself."""

    LOOK = "look"  # whether a public sample fits the records
    FIRST = "first release"  # the centre of the second step
    CENTER = "centre"  # of a ball that is found privately
    RADIUS = "radius"  # of a ball that is found privately
    SPREAD = "spread"  # of the records, for the region of the population's mean

    @property
    def words(self) -> str:
        """What the part of ε is spent on, as in "10% on the look"."""
        return SPENT_ON[self]


SPENT_ON = {
    Purpose.LOOK: "the look",
    Purpose.FIRST: "a first release",
    Purpose.CENTER: "finding its centre",
    Purpose.RADIUS: "finding its radius",
    Purpose.SPREAD: "the spread of the records",
}


@dataclass(frozen=True)
class Named:
    """A statistic by its name, the distance in which its error is stated, and what its promise rests on and nobody checked."""

    name: str
    distance: str = "difference"
    condition: str = ""


@dataclass(frozen=True)
class Scalar:
    """One number for each unit, clipped to public limits, and what their mean is.

    ``reach`` is the distance from the released mean beyond which a record counts as being at that distance, for a
    statistic of distances; None for others.
    """

    each: str  # the numbers, in words
    mean: str  # what is released of them
    low: float
    high: float
    reach: float | None = None

    @property
    def held(self) -> str:
        """Return what was done to the numbers first, in words."""
        least = "" if self.low == 0 else f"at least {self.low:.6g} and "
        return f"{self.each} were first held to {least}at most {self.high:.6g}, which is public"


@dataclass(frozen=True)
class ScalarStatistic(Named):
    """The mean of one number for each unit, in words: ``each`` are the numbers, ``mean`` is what is released of them."""

    each: str = ""
    mean: str = ""
    squares_distances: bool = False  # from a released mean

    def between(self, low: float, high: float) -> Scalar:
        """Return what a record says of it, with its public limits."""
        return Scalar(self.each, self.mean, low, high, sqrt(high) if self.squares_distances else None)


VARIANCE = ScalarStatistic(
    "mean squared distance from a released mean (Fréchet variance)",
    each="squared distances from the released mean",
    mean="the mean squared distance from the released mean",
    squares_distances=True,
)
SIZE = ScalarStatistic("mean centroid size", each="centroid sizes", mean="the mean centroid size")
SIZE_VARIANCE = ScalarStatistic(
    "variance of centroid sizes",
    each="squared differences of centroid sizes from their released mean",
    mean="the variance of centroid sizes",
)

# -- what earlier versions wrote -----------------------------------------------------------------------------------------
BY_NAME = {statistic.name: statistic for statistic in (VARIANCE, SIZE, SIZE_VARIANCE)}  # their words stand in no file
SPENT = re.compile(r"([\d.]+) (?:of it was spent )?on (the look|a first release|its centre|its radius|the spread)")
PURPOSES = {
    "the look": Purpose.LOOK,
    "a first release": Purpose.FIRST,
    "its centre": Purpose.CENTER,
    "its radius": Purpose.RADIUS,
    "the spread": Purpose.SPREAD,
}


def named_scalar(record: Record) -> Scalar | None:
    """Return what a record is about whose name alone says that it is one number; None for all others."""
    statistic = BY_NAME.get(record.statistic)
    if statistic is None:
        return None
    (middle,) = record.ball.center
    return statistic.between(middle - record.ball.radius, middle + record.ball.radius)


def found_in_chart(chart: ChartOf | None) -> str:
    """Return how a ball was found privately, as far as the source of its chart says so."""
    return chart.source if chart is not None and "found privately" in chart.source else ""


def shares_in(formula: str) -> dict[str, float]:
    """Return the shares of ε that a formula says were spent on something else than the value.

    >>> shares_in("2/(n·ε), ε here 0.9 of the whole: 0.1 of it was spent on the look")
    {<Purpose.LOOK: 'look'>: 0.1}
    """
    shares = {PURPOSES[words]: float(share) for share, words in SPENT.findall(formula)}
    rest = 1 - shares.get(Purpose.SPREAD, 0.0)  # of which all others are shares
    return {what: share if what is Purpose.SPREAD else rest * share for what, share in shares.items()}


def is_lowered(formula: str) -> bool:
    """Return whether a formula holds at a smaller ε than was asked for: all that double precision can carry."""
    return ", at ε = " in formula
