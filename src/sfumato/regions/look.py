"""A look, paid for with a share of ε, at whether a public sample fits the records; if not, the ball is used instead."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ..laws.privacy import Privacy, as_privacy
from ..numerics.arrays import Array, Points
from .ball import Ball
from .ellipsoid import Ellipsoid, shorten, tangent_blocks

SHARE = 0.1  # of ε, for the look
WORST = 1.2  # how many times the ball's error a wrong public sample may cost
MOST_SHARE = 1 - 1 / WORST  # of ε: with more the rest could not keep within WORST
BLIND = 0.7  # a limit above this much of the radius would never be passed: no loss is longer than the radius
DULL = 0.3  # and one below this much of the ball's error would be passed by chance


class NoLook(Enum):
    """Why a chart from a public sample is used without a look."""

    SAME = "the public sample is said to be from the population of the records"
    NEEDLESS = "the noise in the ball exceeds its radius so far that no chart can be much worse"
    BLIND = "the noise of a look would hide what it looks for"


@dataclass(frozen=True)
class Look:
    """A chart, the ball to fall back to, and the look that decides between them.

    Privacy: record i loses lossᵢ = clip_R(clip_R(tᵢ) − W⁺wᵢ) if the chart is used instead of the ball, t the tangent
    coordinates and R the ball's radius.  It depends on that record alone and is no longer than R, so b = ‖mean loss‖ moves by
    at most 2R/n when one record is replaced, and b + Laplace(2R/(n·share·ε)) is share·ε-DP.  Whether it is above a public
    limit is post-processing; then one release with the rest of ε is made, by the chart or by the ball.  Together they are
    ε-DP, by composition: the second may depend on what the first gave out.
    """

    chart: Ellipsoid
    ball: Ball
    share: float = SHARE

    def __post_init__(self) -> None:
        if not 0 < self.share < MOST_SHARE:
            raise ValueError(f"a look takes between 0 and a sixth of epsilon, not {self.share!r} of it")
        same = np.allclose(self.chart.center, self.ball.center, 1e-9, 1e-9)  # as they were presented and read again
        if self.chart.space != self.ball.space or not same:
            raise ValueError("a look compares a chart and a ball of the same space and centre")

    def lost(self, points: Points) -> Array:
        """Return what each canonical record loses: (n, d), rows no longer than the radius of the ball."""
        return self.ball.radius * np.concatenate([rows[:, -self.chart.space.dim :] for rows in self.row_blocks(points)])

    def row_blocks(self, points: Points) -> Iterator[Array]:
        """Yield, beside each other for each canonical record, each no longer than 1: its place in the chart, in the ball,
        and what the chart loses of it, in radii of the ball.  So many at a time as stay in the processor's cache."""
        for tangents in tangent_blocks(self.chart.space, self.chart.center, points):
            kept = self.chart.of_tangents(tangents)
            in_ball = shorten(tangents / self.ball.radius, in_place=True)
            lost = shorten(in_ball - self.chart.tangent(kept) / self.ball.radius, in_place=True)
            yield np.concatenate([kept, in_ball, lost], axis=1)

    def scale(self, n: int, privacy: float | Privacy) -> float:
        """Return the scale of the Laplace noise that is added to ‖mean loss‖: 2R/(n·share·ε)."""
        return 2 * self.ball.radius / (n * float(as_privacy(privacy).aside(self.share)[0]))

    def limit(self, n: int, privacy: float | Privacy) -> float:
        """Return the loss above which the ball is used, from public numbers: where noise² + loss² of the chart exceeds
        noise² of the ball; or less, if the noise of the look is so wide that a chart worse than WORST times the ball would
        be kept too often."""
        whole = as_privacy(privacy)
        rest = whole.aside(self.share)[1]
        d = self.ball.space.dim
        left = rest.noise(d).epsilon
        ball = rms_noise(self.ball.as_chart().axes, n, left)
        chart = rms_noise(self.chart.axes, n, rest.noise(len(self.chart.axes)).epsilon)
        width = self.scale(n, whole) / ball
        room = WORST * left / whole.noise(d).epsilon - 1
        careful = min(1.0, 1 + width - width * math.log(max(1.0, width / (2 * room))))
        return min(careful * math.sqrt(max(0.0, ball**2 - chart**2)), BLIND * self.ball.radius)


def rms_noise(axes: Array, n: int, epsilon: float) -> float:
    """Return the root mean square length of the noise of a chart, (2/nε)·√((p + 1)·Σaⱼ²).

    >>> round(rms_noise(np.ones(3), n=100, epsilon=1.0), 6)  # a ball: (2r/nε)·√(d(d + 1))
    0.069282
    """
    return float(2 / (n * epsilon) * np.sqrt((len(axes) + 1) * np.sum(axes**2)))
