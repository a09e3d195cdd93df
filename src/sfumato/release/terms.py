"""What a record says, as values: readers decide by these, never by a sentence.

Files of earlier versions say some of it in sentences alone.  Those are understood here and nowhere else.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import Enum, StrEnum
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .record import BallOf, ChartOf


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
    COVARIATES = "data sets in which one unit's value differs; covariates are public, and the same"
    GROUPED_COVARIATES = "data sets in which one unit's value differs; groups and covariates are public, and the same"
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


class After(StrEnum):
    """What is done to a draw with public numbers alone."""

    SHRUNK = "shrunk"  # moved towards the public centre (proofs, Result 10)
    PROJECTED = "projected"  # moved to the nearest point of the region


# What a record says of landmarks that were prepared, by name: points on each curve, "estimated", how many public specimens that
# and sliding went by, "bending" or "distance", the landmarks before, on and after, and pairs of left and right ones.
PREPARED = {"curves": int, "missing": str, "reference": int, "slid": str, "sliders": list, "symmetric": list}
PLACES = {"curves": "resampled curves", "symmetric": "averaged left and right"}  # what makes landmarks other places
PLACES |= dict.fromkeys(("slid", "sliders"), "slid landmarks")


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


@dataclass(frozen=True)
class ScalarStatistic(Named):
    """The mean of one number for each unit, in words: ``each`` are the numbers, ``mean`` is what is released of them."""

    _: KW_ONLY
    each: str
    mean: str
    squares_distances: bool = False  # from a released mean

    def within(self, ball: "BallOf") -> Scalar:
        """Return what a record says of it: the ball of the numbers has the public limits."""
        (middle,) = ball.center
        high = middle + ball.radius
        return Scalar(self.each, self.mean, middle - ball.radius, high, sqrt(high) if self.squares_distances else None)


COMBINED = "combined"  # the mechanism of one mean from several releases
SITES = "sites"  # that of one release whose noise several sites drew in parts
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


def in_order(done: Iterable[After], region: str) -> str:
    """Return in words what was done to a draw.

    >>> in_order([After.SHRUNK, After.PROJECTED], "public ball")
    'moved towards the public centre (James and Stein), then projected onto the public ball'
    """
    words = {
        After.SHRUNK: "moved towards the public centre (James and Stein)",
        After.PROJECTED: f"projected onto the {region}",
    }
    return ", then ".join(words[step] for step in done)


# -- what earlier versions wrote -----------------------------------------------------------------------------------------
# Statistics whose name alone says what their number is about: their words stand in no file.
BY_NAME = {statistic.name: statistic for statistic in (VARIANCE, SIZE, SIZE_VARIANCE)}
SPENT = re.compile(
    r"(?<![\d.])(\d+(?:\.\d+)?(?:e[-+]?\d+)?) (?:of it was spent )?"
    r"on (the look|a first release|its centre|its radius|the spread)"
)
FOUND = re.compile(r"(?:centre and )?radius found privately")
PURPOSES = {
    "the look": Purpose.LOOK,
    "a first release": Purpose.FIRST,
    "its centre": Purpose.CENTER,
    "its radius": Purpose.RADIUS,
    "the spread": Purpose.SPREAD,
}


def found_in_chart(chart: "ChartOf | None") -> str:
    """Return how a ball was found privately, as far as the source of its chart says so."""
    return chart.source if chart is not None and FOUND.match(chart.source) else ""


def shares_in(formula: str) -> dict[str, float]:
    """Return the shares of ε that a formula says were spent on something else than the value.

    >>> shares_in("2/(n·ε), ε here 0.9 of the whole: 0.1 of it was spent on the look")
    {<Purpose.LOOK: 'look'>: 0.1}
    >>> shares_in("ε here 1 of the whole: 1e-05 of it was spent on the spread of the records")
    {<Purpose.SPREAD: 'spread'>: 1e-05}
    """
    shares = {PURPOSES[words]: float(share) for share, words in SPENT.findall(formula)}
    rest = 1 - shares.get(Purpose.SPREAD, 0.0)  # of which all others are shares
    return {what: share if what is Purpose.SPREAD else rest * share for what, share in shares.items()}


SYMBOL = re.compile(r"A\(r,[rR]\)|[23]k|[^\W\d]+")


def symbols_in(formula: str) -> set[str]:
    """Return the symbols of a formula, with those of its explanation.

    >>> sorted(symbols_in("Δ/ε, Δ = 2r(2 − h(2r))/n"))
    ['h', 'n', 'r', 'Δ', 'ε']
    """
    return set(SYMBOL.findall(formula))


def filled(formula: str, values: Mapping[str, str]) -> str | None:
    """Return a formula, without its explanation, with these values for its symbols; None where one has no value.

    >>> filled("2·Δ/ε, Δ = 2r/n (the paper's SPD run)", {"Δ": "0.1", "ε": "2"}), filled("Δ/ε", {"ε": "2"})
    ('2·0.1/2', None)
    """
    expression = re.split(r", | \(| in ", formula)[0]
    if not symbols_in(expression) <= values.keys():
        return None
    return SYMBOL.sub(lambda symbol: values[symbol[0]], expression)


def is_lowered(formula: str) -> bool:
    """Return whether a formula holds at a smaller ε than was asked for: all that double precision can carry."""
    return ", at ε = " in formula
