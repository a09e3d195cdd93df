"""A manifold of the user's own: two functions between its points and the p numbers of a chart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidPointError
from .base import Array, Points, as_numbers, not_finite, whole_number
from .embedding import Embedding
from .euclidean import Euclidean

CENTRED = 1e-6  # how far the coordinates of the chart's own centre may be from 0


@dataclass(frozen=True, init=False, repr=False)
class Chart(Euclidean):
    """R^p, seen through ``log`` and ``exp``: the space of any points for which these two functions can be written.

    A record stands for its coordinates log(y), so the distance of two points is that of their coordinates, and all regions,
    errors and means are those of R^p: the released value is exp of a private mean of coordinates.  What the points are, and
    how well the functions invert each other, does not enter the proof; only that ``log`` takes each record by itself, and
    that both functions are public: written without a look at the data (proofs, Result 5).

    Parameters
    ----------
    log : callable
        ``log(point)`` gives the ``dim`` coordinates of one point, an array; coordinates 0 are those of the chart's centre.
        A record for which it fails, or gives no finite numbers, counts as the centre of the region in a release.
    exp : callable
        ``exp(coordinates)`` gives the point, an array of real numbers that always has the same shape.  Noise can lead
        anywhere, so it should take any coordinates.
    dim : int
        The number p of coordinates.
    batched : bool
        Whether both functions take and give batches, (n, …).  Each row must then be computed as if it were alone.

    Raises
    ------
    ValueError
        If ``exp`` does not give a point at coordinates 0, or ``log`` does not lead back from there.

    Examples
    --------
    >>> def log(point):  # colours: positive numbers, compared by their ratios
    ...     return np.log(point)
    >>> space = Chart(log, np.exp, dim=3)
    >>> space, space.present(space.origin()).tolist()
    (Chart(log=log, exp=exp, dim=3), [1.0, 1.0, 1.0])
    >>> from sfumato import Ball, frechet_mean
    >>> region = Ball(space, center=[1.0, 1.0, 1.0], radius=2.0)
    >>> frechet_mean(space, [[1.0, 2.0, 1.0], [4.0, 2.0, 1.0]]).point.round(6).tolist()
    [2.0, 2.0, 1.0]
    """

    to_coordinates: Callable[[Any], Any]
    to_point: Callable[[Any], Any]
    batched: bool
    center: Array = field(compare=False)
    name: ClassVar[str] = "chart"
    metric: ClassVar[str] = "Euclidean, between coordinates in the user's own chart"

    def __init__(
        self, log: Callable[[Any], Any], exp: Callable[[Any], Any], dim: int, *, batched: bool = False
    ) -> None:
        for word, given in (("log", log), ("exp", exp)):
            if not callable(given):
                raise TypeError(f"Chart: {word} must be a function, not {given!r}")
        p = whole_number("Chart", "dim", dim, 1)
        for name, value in {"dim": p, "to_coordinates": log, "to_point": exp, "batched": bool(batched)}.items():
            object.__setattr__(self, name, value)
        center = exp(np.zeros((1, p)))[0] if batched else exp(np.zeros(p))
        center = np.array(as_numbers(center))
        if np.iscomplexobj(center) or not center.ndim or not np.isfinite(center).all():
            raise ValueError(f"{self}: exp must give an array of finite real numbers; at coordinates 0 it gave {center}")
        object.__setattr__(self, "center", center.astype(np.float64))
        object.__setattr__(self, "kind", "vectors" if center.ndim == 1 else "arrays")
        there = np.asarray(log(self.center[None].copy())[0] if batched else log(self.center.copy()), dtype=np.float64)
        if there.shape != (p,):
            raise ValueError(f"{self}: log must give {p} numbers, not an array of shape {there.shape}")
        if not np.abs(there).max() <= CENTRED:
            raise ValueError(f"{self}: log(exp(0)) must be 0, the coordinates of the chart's centre, not {there}")

    def __repr__(self) -> str:
        return f"Chart({', '.join(f'{name}={value}' for name, value in self.parameters().items())})"

    def parameters(self) -> dict[str, Any]:
        """The names of the two functions, which a record cannot hold, and the dimension."""
        functions = {"log": self.to_coordinates, "exp": self.to_point}
        names = {word: str(getattr(f, "__name__", type(f).__name__)) for word, f in functions.items()}
        return {**names, "dim": self.dim}

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        array = as_numbers(points)
        if np.iscomplexobj(array):
            raise ValueError(f"{self}: complex numbers where real ones are due")
        if array.shape[1:] != self.center.shape or not array.ndim:
            raise ValueError(f"{self}: points have shape {array.shape}, expected (n, *{self.center.shape})")
        array = array.astype(np.float64)  # a copy: what the function does to its argument is nobody's concern
        if reasons := not_finite(array):
            array[list(reasons)] = self.center
        return self._coordinates_of(array), reasons

    def validate(self, points: ArrayLike) -> Points:
        """Coordinates.  Here, where points are public or nothing is to be private, a point without any is an error."""
        found = super().validate(points)
        if lost := {int(row): "has no coordinates: log fails for it" for row in np.flatnonzero(np.isnan(found[:, 0]))}:
            raise InvalidPointError(lost)
        return found

    def present(self, points: Points) -> Array:
        """exp of coordinates, (…, p)."""
        rows = np.array(points, dtype=np.float64).reshape(-1, self.dim)
        shape = np.shape(points)[:-1] + self.center.shape
        found = self.to_point(rows) if self.batched else [self.to_point(row) for row in rows]
        array = np.asarray(found, dtype=np.float64)
        if array.shape[1:] != self.center.shape and len(rows):
            raise ValueError(f"{self}: exp gave points of shape {array.shape[1:]}, and {self.center.shape} at 0")
        return array.reshape(shape)

    def embedding(self) -> Embedding | None:
        return None

    def _coordinates_of(self, points: Array) -> Array:
        """(n, p), NaN in the row of a point that has none, whatever the others are."""
        found = np.full((len(points), self.dim), np.nan)
        failed = np.zeros(len(points), dtype=bool)
        with np.errstate(all="ignore"):
            if self.batched and len(points):
                try:
                    found[:] = self.to_coordinates(points.copy())
                except Exception:  # for all at once: the same again, in the same places, without those at fault
                    failed = np.array([self._fails(point) for point in points])
                    found[:] = self.to_coordinates(np.where(failed[(...,) + (None,) * self.center.ndim], self.center, points))
            else:
                for row, point in enumerate(points):
                    failed[row] = self._fails(point, found[row])
        found[failed | ~np.isfinite(found).all(axis=1)] = np.nan
        return found

    def _fails(self, point: Array, into: Array | None = None) -> bool:
        """Whether log fails for one point, in whatever way: nothing may fail because of one record."""
        try:
            found = np.asarray(self.to_coordinates(point[None].copy())[0] if self.batched else self.to_coordinates(point))
            (np.empty(self.dim) if into is None else into)[:] = found.reshape(self.dim)
        except Exception:
            return True
        return False
