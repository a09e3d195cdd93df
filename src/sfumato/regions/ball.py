"""The ball that the data are publicly known to lie in."""

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import CACHE, Array, Points
from ..spaces.base import Space
from .base import INSIDE, Region, Settled, admit
from .ellipsoid import Ellipsoid, public_point


@dataclass(frozen=True, eq=False)
class Ball(Settled):
    """All points within ``radius`` of ``center``.

    Both are public: choose them before you see the data, and never compute them from the data.

    Parameters
    ----------
    space : Space
        The space that the records are points of.
    center : array_like
        One point of the space, such as a published template.
    radius : float
        The largest distance from the centre.  Records farther away are clipped, and the noise grows with it.

    Examples
    --------
    >>> from sfumato import Sphere
    >>> ball = Ball(Sphere(dim=2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> clipped = ball.clip([[1.0, 0.0, 0.0]])
    >>> round(float(ball.space.distance(ball.center, clipped)[0]), 6)
    0.5
    """

    space: Space
    center: Points = field(repr=False)
    radius: float

    is_ball: ClassVar[bool] = True
    called = "public ball"

    def __init__(self, space: Space, center: ArrayLike, radius: float) -> None:
        point = public_point(space, center, "centre of the ball")
        if not (isinstance(radius, Real) and 1e-100 < float(radius) < 1e100):
            limits = "a positive number, between 1e-100 and 1e100"
            raise ValueError(f"the radius of the ball must be {limits}, not {radius!r}")
        vars(self).update(space=space, center=point, radius=float(radius))

    @cached_property
    def _key(self) -> tuple[object, ...]:
        return self.space, self.center.tobytes(), self.radius

    def clip(self, points: ArrayLike, invalid: str = "raise") -> Points:
        """Return points in the space's own representation, those outside the ball moved along the geodesic towards the
        centre, onto the boundary.

        A record that is not a point of the space raises an InvalidPointError that names its row; with ``invalid="center"`` the
        public centre takes its place.
        """
        canonical = admit(self.space, self.center, points, invalid)
        clipped = self.space.drawn_in(self.center, canonical, INSIDE * self.radius)
        if clipped is None:
            rows = np.flatnonzero(self.outside(canonical))
            clipped = canonical.copy() if len(rows) else canonical
        else:
            lost = np.flatnonzero(np.isnan(clipped.reshape(len(clipped), -1)[:, 0]))
            if not len(lost):
                return clipped
            clipped[lost] = canonical[lost]
            rows = lost[self.outside(canonical[lost])]
        # Row i is moved in place i mod ``size`` of a batch of ``size`` points, the others being the centre: the last bits of a
        # product may depend on a row's place and on the number of rows, and must not depend on other records.
        size = max(1, min(len(canonical), CACHE // 8 // self.center.size))
        turns = _turns(rows % size)
        for turn in range(int(turns.max(initial=0)) + 1):  # one batch even if no row lies outside, for the running time
            some = rows[turns == turn]
            batch = np.repeat(self.center[None], size, axis=0)
            batch[some % size] = canonical[some]
            moved = self._onto_boundary(batch)
            if len(some):  # else the records themselves may be read-only
                clipped[some] = moved[some % size]
        return clipped

    def _onto_boundary(self, points: Points) -> Points:
        """Return the points on the geodesics to the centre at most ``radius`` away; the centre for those too far to tell."""
        with np.errstate(over="ignore", invalid="ignore"):
            shrink = INSIDE * self.radius / np.maximum(self.distances(points), INSIDE * self.radius)
            vectors = self.space.log(self.center, points) * shrink.reshape(-1, *(1,) * self.center.ndim)
        lost = ~np.isfinite(vectors).all(axis=tuple(range(1, vectors.ndim))) | ~np.isfinite(shrink)
        vectors[lost] = 0.0
        return self.space.exp(self.center, vectors)

    def admit(self, points: ArrayLike, invalid: str = "raise") -> Points:
        return self.clip(points, invalid)

    def outside(self, points: Points) -> NDArray[np.bool_]:
        """Return which canonical points lie outside, those whose distance overflows among them."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.space.outside(self.center, points, INSIDE * self.radius)

    def distances(self, points: Points) -> Array:
        """Return distances from the centre to points in the space's own representation."""
        return self.space.distance(self.center, points)

    def as_chart(self) -> Ellipsoid:
        """Return the ball as a chart with d equal axes.

        >>> from sfumato import Euclidean
        >>> Ball(Euclidean(dim=2), [1.0, 1.0], radius=0.5).as_chart().axes.tolist()
        [0.5, 0.5]
        """
        axes = np.full(self.space.dim, self.radius)
        source = self.found or "a ball given by hand"
        return Ellipsoid(self.space, self.space.present(self.center), axes, source=source, spread=self.radius)

    def unclipped(self) -> Ellipsoid:
        return self.as_chart()  # which clips records itself

    def moved(self, center: Points) -> "Ball":
        return Ball(self.space, self.space.present(center), self.radius)

    def parameters(self) -> dict[str, Any]:
        return {"center": self.space.present(self.center).tolist(), "radius": self.radius}


@dataclass(frozen=True, eq=False)
class FoundBall(Ball):
    """A ball whose centre and radius, or radius alone, were released: a region like any other, that remembers its price.

    ``epsilon`` was spent to find it, and adds to the ε of every release that uses it; ``source`` says how it was found, in
    words, and is written into the records of releases by chart.

    >>> from sfumato import Euclidean
    >>> FoundBall(Euclidean(dim=1), [0.0], 2.0, epsilon=0.3, source="found privately")
    FoundBall(space=Euclidean(dim=1), radius=2.0, epsilon=0.3)
    """

    epsilon: float
    source: str = field(repr=False)

    called = "ball that was found privately"

    def __init__(self, space: Space, center: ArrayLike, radius: float, epsilon: float, source: str) -> None:
        super().__init__(space, center, radius)
        vars(self).update(epsilon=float(epsilon), source=source)

    @cached_property
    def _key(self) -> tuple[object, ...]:
        return *super()._key, self.epsilon, self.source

    @property
    def found(self) -> str:
        return self.source

    @property
    def sha256(self) -> str:
        """The SHA-256 of all that was released, which stands beside its charge in a ledger."""
        center = self.space.present(self.center).tolist()
        document = [repr(self.space), center, self.radius, self.epsilon, self.source]
        return hashlib.sha256(json.dumps(document, ensure_ascii=False).encode()).hexdigest()


def _turns(places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how often each number stood before.

    >>> _turns(np.array([4, 7, 4, 4])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(places, kind="stable")
    _, first, counts = np.unique(places[order], return_index=True, return_counts=True)
    turns = np.empty_like(places)
    turns[order] = np.arange(len(places)) - np.repeat(first, counts)
    return turns


def check_ball(region: Any, what: str, instead: str = "") -> Ball:
    """Return the ball, or raise a TypeError that names the argument, and what to use instead if it is another region."""
    if not isinstance(region, Ball):
        more = instead if isinstance(region, Region) else ""
        raise TypeError(f"{what} is a sfumato.Ball, not {region!r}{more}")
    return region


def widest_ball(space: Space, low: float | None = None, high: float | None = None) -> Ball:
    """Return a ball that surely holds the records, where nothing is known of them but this: a prior for
    ``private_mean(prior=…)``.

    For spheres it is the whole sphere, and no numbers are given.  ``low`` and ``high`` are public numbers between which all
    coordinates of a vector lie, or all eigenvalues of a covariance matrix (choose them from the units and the sensor): then the
    ball for matrices of size k is that about √(low·high)·I, of radius √k·½·ln(high/low).  It holds them all, as the distance of
    P from c·I is the root of the sum of ln²(λᵢ/c).

    >>> from sfumato import SPD, Sphere
    >>> widest_ball(Sphere(dim=2)).radius == np.pi
    True
    >>> ball = widest_ball(SPD(size=3), 1e-3, 1e3)
    >>> round(ball.radius, 2), bool(ball.distances([np.diag([1e-3, 1e3, 5.0])])[0] < ball.radius)
    (11.96, True)
    """
    if (low is None) != (high is None):
        raise ValueError("give both numbers, the smaller first, or none")
    if low is not None and high is not None:
        numbers = isinstance(low, Real) and isinstance(high, Real)
        if not numbers or not -np.inf < low < high < np.inf:
            raise ValueError(f"the numbers must be finite, the smaller first, not {low!r} and {high!r}")
    center, radius = space.widest(low, high)
    return Ball(space, space.present(center), radius)
