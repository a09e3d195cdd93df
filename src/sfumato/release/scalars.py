"""Statistics that are one number: what each is the mean of, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .record import Release

VARIANCE = "mean squared distance from a released mean (Fréchet variance)"
SIZE = "mean centroid size"
SIZE_VARIANCE = "variance of centroid sizes"


@dataclass(frozen=True)
class Scalar:
    """One number for each unit, between public limits, and its mean."""

    each: str  # the numbers
    mean: str  # what is released of them
    low: float
    high: float

    @property
    def held(self) -> str:
        """What was done to the numbers first."""
        least = "" if self.low == 0 else f"at least {self.low:.6g} and "
        return f"{self.each} were first held to {least}at most {self.high:.6g}, which is public"


WORDS = {
    VARIANCE: ("squared distances from the released mean", "the mean squared distance from the released mean"),
    SIZE: ("centroid sizes", "the mean centroid size"),
    SIZE_VARIANCE: (
        "squared differences of centroid sizes from their released mean",
        "the variance of centroid sizes",
    ),
}


def scalar_of(release: Release) -> Scalar | None:
    """What a release of one number is about; None for all others."""
    if release.statistic not in WORDS:
        return None
    (middle,), half = release.ball.center, release.ball.radius
    return Scalar(*WORDS[release.statistic], middle - half, middle + half)
