"""The Fréchet mean of clipped records, found whatever they are (Result 2b)."""

from contextlib import suppress

import numpy as np

from ..laws.bounds import bounds_of
from ..laws.calibration.mean import MeanBounds
from ..means.frechet import Solution, solve
from ..records import Records, one_thread
from .ball import Ball

STEADY = 10  # a release makes at least so many passes
CHEAP = 1 << 16  # over data of at most so many numbers


def mean_in_ball(ball: Ball, records: Records, bounds: MeanBounds, tolerance: float) -> Solution:
    """Return the Fréchet mean of clipped records: a point of the ball where the gradient is at most ``tolerance``, which is
    at least that of the bounds.  In the ball only points near the mean have so small a gradient (proofs, Result 2b).

    A quick search comes first.  Its answer counts only if it lies in the ball with such a gradient; otherwise steps that are
    proven to lead to the mean are taken.  If even these fail, which only rounding beyond the stated bounds could cause, the
    answer is the point with the smallest gradient among them.  A least number of passes is always made, so that the running
    time does not reveal that records coincide.
    """
    space = ball.space
    least = STEADY if records.n * ball.center.size <= CHEAP else 3
    with suppress(ArithmeticError, np.linalg.LinAlgError):  # the quick search may leave the ball
        quick = solve(records, tolerance=tolerance, least=least)
        inside = bool(space.distance(ball.center, quick.point) <= ball.radius)
        if inside and quick.gradient_norm <= tolerance:
            return quick
    return _certain(ball, records, bounds, tolerance)


def _certain(ball: Ball, records: Records, bounds: MeanBounds, tolerance: float) -> Solution:
    """Return where Karcher steps from the centre lead, each as long as possible without leaving the ball."""
    space = ball.space
    x = ball.center
    first = 1.0 if bounds_of(space).curvature[1] > 0 else bounds.step
    best: Solution | None = None
    with one_thread():
        for iteration in range(bounds.passes):
            here = records.moments(x, tolerance / 10)
            norm = float(space.norm(x, here.logs)) + here.error
            if best is None or norm < best.gradient_norm:
                best = Solution(x, norm, iteration, tolerance, here)
            if norm <= tolerance:
                break
            step = first
            candidate = space.exp(x, step * here.logs)
            while step > bounds.step and not space.distance(ball.center, candidate) <= ball.radius:
                step = max(bounds.step, step / 2)
                candidate = space.exp(x, step * here.logs)
            x = candidate
    assert best is not None
    return best
