"""What is released: what every statistic says of itself, the two that need to say no more, and a user's own objective."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from ..errors import Refusal
from ..numerics.arrays import Array, Points
from ..records import one_thread
from ..regions.ball import Ball
from ..release.record import STATED
from ..release.terms import Named

TRIALS = 40
MANY = 10_000  # made-up neighbours at which a sensitivity is tried; fewer where there are more records than MANY


class Statistic(Protocol):
    """A statistic by its name, the distance in which its error is stated, and what its promise rests on and nobody checked."""

    @property
    def name(self) -> str: ...
    @property
    def distance(self) -> str: ...
    @property
    def condition(self) -> str: ...


# the point with the smallest mean squared distance to the records, on the manifold
FRECHET_MEAN = Named("Fréchet mean", "geodesic distance")
# exp_c of the mean of the records' logarithms at the public centre c, in the directions of the region and clipped to it: close
# to the Fréchet mean of the records so clipped, and a record states how close
CHART_MEAN = Named("mean in a chart about the public centre", "length in the tangent space at the public centre")


@dataclass(frozen=True)
class Objective:
    """A user's own objective for KNG: what to release is where its gradient vanishes.

    ``gradient(x, points)`` gives tangent vectors (m, …) at m points x; ``sensitivity(n)`` bounds its change when one of n
    records in the ball is replaced by another, at every x of the ball; ``start(points)`` is a point near the minimiser;
    ``envelope(radius, points)`` is a lower bound on the gradient's norm at that distance from the start, which never falls
    as the radius grows.  All take canonical points.

    The promise rests on ``sensitivity``, which no program can prove, and which must not come from the data.  So a release says
    "if the stated sensitivity holds: not checked" and is never called private.  One that made-up neighbours refute
    (:meth:`refute`) is refused before anything is charged.
    """

    gradient: Callable[[Points, Points], Points]
    sensitivity: Callable[[int], float]
    start: Callable[[Points], Points]
    envelope: Callable[[Array, Points], Array]
    statistic: str = "minimiser of a custom objective"

    distance: ClassVar[str] = "geodesic distance"
    condition: ClassVar[str] = STATED

    @property
    def name(self) -> str:
        return self.statistic

    def refute(self, ball: Ball, n: int) -> None:
        """Raise a Refusal if replacing one of n made-up records moves the gradient by more than is stated, or the envelope is
        none, at one of the pairs and points tried: the same for all data, as none are looked at.  Silence proves nothing.

        >>> from sfumato import Euclidean
        >>> space = Euclidean(dim=2)
        >>> mean = Objective(lambda x, p: x - p.mean(axis=0), lambda n: 1 / n, lambda p: p[0], lambda r, p: 0 * r)
        >>> mean.refute(Ball(space, [0.0, 0.0], radius=0.5), 20)  # a record moves the mean by at most 2r/n
        >>> mean.refute(Ball(space, [0.0, 0.0], radius=0.6), 20)
        Traceback (most recent call last):
        ...
        sfumato.errors.Refusal: the objective states a sensitivity of 0.05 for 20 records, but ... by 0.06; state a larger one
        """
        space = ball.space
        stated = float(self.sensitivity(n))
        most = 0.0
        for x, first, second in made_up_neighbours(ball, n):
            with one_thread():
                here = self.gradient(x, first)
                most = float(np.maximum(most, np.max(space.norm(x, here - self.gradient(x, second)))))  # NaN stays
                radius = np.atleast_1d(space.distance(self.start(first), x))
            order = np.argsort(radius)
            floor = np.asarray(self.envelope(radius[order], first), dtype=np.float64)
            if not (np.diff(floor) >= 0).all():
                raise Refusal("the envelope of an objective must not fall as the radius grows")
            if not (floor <= space.norm(x, here)[order] + 1e-9 * np.abs(floor)).all():
                raise Refusal("the envelope of an objective must not exceed the norm of its gradient, and did")
        if not most <= stated * (1 + 1e-9):
            raise Refusal(
                f"the objective states a sensitivity of {stated:g} for {n} records, but replacing one of {n} made-up records "
                f"moved its gradient by {most:g}; state a larger one"
            )


def made_up_neighbours(ball: Ball, n: int) -> Iterator[tuple[Points, Points, Points]]:
    """Yield points of the ball, and data sets of n records in it that differ in the first; always the same."""
    space = ball.space
    rng = np.random.default_rng(0)
    ones = (1,) * len(space.point_shape)

    def spread(count: int, low: float) -> Points:
        lengths = ball.radius * rng.uniform(low, 1.0, count).reshape(-1, *ones)
        return space.exp(ball.center, lengths * space.random_directions(ball.center, count, rng))

    for _ in range(TRIALS if n <= MANY else TRIALS // 5):
        end = ball.radius * space.random_directions(ball.center, 1, rng)
        pair = space.exp(ball.center, np.concatenate([end, -end]))
        if rng.random() < 0.25:  # another end, or one inside
            pair[1] = spread(1, 0.0)[0]
        others = (pair[:1], pair[1:], ball.center[None], pair, spread(3, 1.0), spread(1000, 0.0))[rng.integers(6)]
        rest = others[np.arange(n - 1) % len(others)]
        x = np.concatenate([ball.center[None], pair, spread(4, 1.0), spread(4, 0.0)])
        yield x, np.concatenate([pair[:1], rest]), np.concatenate([pair[1:], rest])
