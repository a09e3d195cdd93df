"""A manifold of the user's own: two functions between its points and the p numbers of a chart."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidPointError
from ..numerics.arrays import Array, Points, as_numbers
from .base import Space, not_finite, whole_number
from .euclidean import Euclidean

CENTRED = 1e-6  # how far the coordinates of the chart's own centre may be from 0
_START = np.random.RandomState(0).get_state()
_ONE_AT_A_TIME = RLock()


@dataclass(frozen=True, init=False, repr=False)
class Chart(Euclidean):
    """R^p, seen through ``log`` and ``exp``: the space of any points for which these two functions can be written.

    A record stands for its coordinates log(y): distances, regions, errors and means are those of the coordinates, and the
    value of a release is exp of their private mean.  What the points are, and how well the functions invert each other, does
    not enter the proof; only that ``log`` takes each record by itself, and that both functions are public: written without a
    look at the data (proofs, Result 5).

    Parameters
    ----------
    log : callable
        ``log(point)`` gives the ``dim`` coordinates of one point; they are 0 at the chart's centre.  A record for which it
        fails, or gives no finite numbers, counts as the centre of the region in a release.
    exp : callable
        ``exp(coordinates)`` gives the point, an array of one shape.  Noise can lead anywhere: it should take any coordinates.
    dim : int
        The number p of coordinates.
    batched : bool
        Whether both functions take and give batches, (n, …).  Each row must then be computed as if it were alone.

    >>> from sfumato import Ball, private_mean
    >>> space = Chart(np.log, np.exp, dim=3)  # positive numbers, compared by their ratios
    >>> region = Ball(space, center=[1.0, 1.0, 1.0], radius=2.0)
    >>> release = private_mean(np.full((500, 3), 2.0), region, epsilon=8.0)
    >>> space, release.value.round().tolist()
    (Chart(log=log, exp=exp, dim=3), [2.0, 2.0, 2.0])
    """

    to_coordinates: Callable[[Any], Any]
    to_point: Callable[[Any], Any]
    batched: bool
    center: Array = field(compare=False)
    name: ClassVar[str] = "chart"
    metric: ClassVar[str] = "Euclidean, between coordinates in the user's own chart"
    __repr__ = Space.__repr__

    def __init__(self, log: Callable[..., Any], exp: Callable[..., Any], dim: int, *, batched: bool = False) -> None:
        if not (callable(log) and callable(exp)):
            raise TypeError(f"Chart: log and exp must be functions, not {log!r} and {exp!r}")
        p = whole_number("Chart", "dim", dim, 1)
        vars(self).update(dim=p, to_coordinates=log, to_point=exp, batched=bool(batched))
        center = as_numbers(exp(np.zeros((1, p)))[0] if batched else exp(np.zeros(p)))
        if np.iscomplexobj(center) or not center.ndim or not np.isfinite(center).all():
            raise ValueError(f"{self}: exp must give an array of finite real numbers; at coordinates 0 it is {center}")
        kind = "vectors" if center.ndim == 1 else "arrays"
        vars(self).update(center=np.array(center, dtype=np.float64), kind=kind)
        there = np.asarray(log(self.center[None].copy())[0] if batched else log(self.center.copy()), dtype=np.float64)
        if there.shape != (p,) or not np.abs(there).max() <= CENTRED:
            raise ValueError(f"{self}: log(exp(0)) must be {p} numbers 0, the coordinates of the centre, not {there}")

    def parameters(self) -> dict[str, Any]:
        """Return the dimension, and the names of the two functions, which a record cannot hold."""
        log, exp = (getattr(f, "__name__", type(f).__name__) for f in (self.to_coordinates, self.to_point))
        return {"log": log, "exp": exp, "dim": self.dim}

    embedding = Space.embedding  # which knows of none

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        array = self._real_batch(points).copy()
        if reasons := not_finite(array):
            array[list(reasons)] = self.center
        return self._coordinates_of(array), reasons

    @property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        return {self.kind: self.center.shape}

    def validate(self, points: ArrayLike) -> Points:
        """Return coordinates.  Here, where points are public or nothing is to be private, a point without any is an error."""
        found = super().validate(points)
        if lost := {int(row): "has no coordinates: log fails for it" for row in np.flatnonzero(np.isnan(found[:, 0]))}:
            raise InvalidPointError(lost)
        return found

    def present(self, points: Points) -> Array:
        """Return exp of coordinates, (…, p)."""
        rows = np.array(points, dtype=np.float64).reshape(-1, self.dim)
        if not len(rows):
            return np.empty(np.shape(points)[:-1] + self.center.shape)
        with same_start():
            found = np.asarray(self.to_point(rows) if self.batched else [self.to_point(row) for row in rows])
        if found.shape != (len(rows), *self.center.shape):
            raise ValueError(f"{self}: exp gave points of shape {found.shape[1:]}, and {self.center.shape} at 0")
        return found.astype(np.float64).reshape(np.shape(points)[:-1] + self.center.shape)

    def _coordinates_of(self, points: Array) -> Array:
        """Return coordinates, (n, p), NaN in the row of a point that has none, whatever the others are."""
        log = self.to_coordinates
        shape = (len(points), self.dim)
        if not self.batched or not len(points):
            found = one_by_one(log, points, shape=shape[1:])
        else:
            try:
                with same_start():
                    found = np.array(log(points.copy()), dtype=np.float64).reshape(shape)
            except Exception:  # for all at once: the same again, in the same places, without those at fault
                failed = np.isnan(one_by_one(lambda y: log(y[None])[0], points, shape=shape[1:])).any(axis=1)
                points[failed] = self.center
                with same_start():
                    found = np.array(log(points), dtype=np.float64).reshape(shape)
                found[failed] = np.nan
        found[~np.isfinite(found).all(axis=1)] = np.nan
        return found


@contextmanager
def same_start() -> Iterator[None]:
    """Set NumPy's global generator to a fixed place, and then back: SciPy's logm and others draw from it, and what they make
    of one record would depend, in the last digits, on the records before it."""
    with _ONE_AT_A_TIME, np.errstate(all="ignore"):
        before = np.random.get_state()  # noqa: NPY002
        np.random.set_state(_START)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002


def one_by_one(function: Callable[..., Any], *rows: Array, shape: tuple[int, ...]) -> Array:
    """Return a function of one record, or of a pair, for each of them by itself: NaN where it fails, in whatever way.

    >>> import math
    >>> one_by_one(math.sqrt, np.array([4.0, -1.0, 9.0]), shape=()).tolist()
    [2.0, nan, 3.0]
    """
    found = np.full((len(rows[0]), *shape), np.nan)
    for row, given in enumerate(zip(*rows, strict=True)):
        try:
            with same_start():
                found[row] = np.reshape(function(*(np.array(x) for x in given)), shape)
        except Exception:  # nothing may fail because of one record
            found[row] = np.nan
    return found
