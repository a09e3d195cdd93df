"""The Fréchet mean: the point of least mean squared distance.  Not private."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .data.lazy import MEMORY, Progress, is_lazy, stream
from .records import Records, one_thread
from .spaces.base import Array, Moments, Points, Space, uniform_weights

MAX_ITERATIONS = 500
STEADY, CHEAP = 10, 1 << 16  # passes that a release makes at least, over data of at most so many numbers


class ConvergenceWarning(UserWarning):
    """The solver stopped before its tolerance."""


@dataclass(frozen=True)
class FrechetMean:
    """A mean, a bound on the length of the gradient of ½·(mean squared distance) that is left there, the steps it took, and
    how often the data were read."""

    point: Array
    gradient_norm: float
    iterations: int
    passes: int


@dataclass(frozen=True)
class Solution:
    """A canonical point, the gradient left there, the steps it took, the tolerance that was aimed at, and the moments of the
    records there."""

    point: Points
    gradient_norm: float
    iterations: int
    tolerance: float
    moments: Moments


def frechet_mean(
    space: Space,
    points: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    tolerance: float | None = None,
    workers: int = 1,
    memory: int = MEMORY,
    progress: Progress | None = None,
) -> FrechetMean:
    """The minimiser of F(x) = ½·Σ wᵢ·ρ(x, xᵢ)², by gradient steps scaled with the inverse mean Hessian (Karcher 1977).

    Stops when ‖∇F‖ ≤ ``tolerance``: 1e-12 times the root mean square distance to the data unless told, or where double
    precision ends.  Warns with a :class:`ConvergenceWarning` otherwise.  ``workers`` threads share each pass over the data.

    Points may also be a ``numpy.memmap``, an HDF5 or Zarr array, an Arrow table or dataset, or a Dask array, bag or list of
    delayed partitions.  They are then read in chunks, anew in each pass, so that about ``memory`` bytes of them are held at
    a time; ``progress(pass, done, parts)`` is called as the parts of a pass are done.

    >>> from sfumato import Sphere
    >>> mean = frechet_mean(Sphere(dim=2), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> mean.point.round(6).tolist(), mean.gradient_norm < 1e-12
    ([0.707107, 0.707107, 0.0], True)
    """
    if weights is not None and is_lazy(space, points, memory):
        raise ValueError("weights go with points in memory, not with data that are read in parts: give an array")
    records: Records | None = stream(space, points, space.validate, workers=workers, memory=memory, progress=progress)
    if records is None:
        canonical = space.validate(points)
        w = None if weights is None else uniform_weights(len(canonical), np.asarray(weights, dtype=np.float64))
        records = Records(space, canonical, w, workers)
    if records.n == 0:
        raise ValueError("the Fréchet mean of no points is not defined")
    found = solve(records, tolerance=tolerance)
    if found.gradient_norm > found.tolerance:
        warnings.warn(
            f"the Fréchet mean reached a gradient norm of {found.gradient_norm:.3g} in {found.iterations} steps, not "
            f"{found.tolerance:.3g}; the points may be spread too widely for a unique mean",
            ConvergenceWarning,
            stacklevel=2,
        )
    point = _polished(space, found) if tolerance is None else found.point
    return FrechetMean(space.present(point), found.gradient_norm, found.iterations, records.passes)


def _polished(space: Space, found: Solution) -> Points:
    """One step more, which needs no pass: means of the same records from different starts then agree to more digits than
    the tolerance asks for."""
    step = space.newton(found.point, found.moments)
    short = float(space.norm(found.point, step)) <= 4 * found.gradient_norm <= 4 * found.tolerance
    return space.retract(found.point, step) if short else found.point


def solve(records: Records, start: Points | None = None, tolerance: float | None = None) -> Solution:
    """The Fréchet mean of records.

    Newton's method, or gradient steps divided by the mean eigenvalue of the Hessian where the space tells no more, halved
    when the gradient does not shrink.  Logarithms are asked for no more accurately than the next step needs.
    """
    with one_thread():
        return _solve(records, start, tolerance)


def _solve(records: Records, start: Points | None, tolerance: float | None) -> Solution:
    space = records.space
    x = records.start() if start is None else start
    here = records.moments(x, accuracy=1e-7)
    norm = float(space.norm(x, here.logs))
    damping, iteration = 1.0, 0
    while True:
        spread = math.sqrt(max(0.0, here.square))
        floor = 4 * space.rounding_error(x, spread)
        goal = max(1e-12 * spread, 1e-2 * floor) if tolerance is None else max(tolerance, 1e-2 * floor)
        if norm + here.error <= goal:
            return Solution(x, norm + here.error, iteration, goal, here)
        if iteration == MAX_ITERATIONS or damping < 1e-6:
            return Solution(x, norm + here.error, iteration, goal, here)
        accuracy = max(goal / 10, 1e-5 * norm)
        if norm <= 2 * here.error and here.error > goal / 5:  # what is left may be the series' error: look again
            here = records.moments(x, goal / 10)
            norm = float(space.norm(x, here.logs))
            continue
        iteration += 1
        candidate = space.retract(x, damping * space.newton(x, here))
        there = records.moments(candidate, accuracy)
        there_norm = float(space.norm(candidate, there.logs))
        if there_norm < norm:
            x, here, norm, damping = candidate, there, there_norm, min(1.0, 2 * damping)
        elif norm <= floor:  # no progress at the end of double precision
            return Solution(x, norm + here.error, iteration, max(goal, norm + here.error), here)
        else:
            damping /= 2


def steady_solve(records: Records, tolerance: float | None = None) -> Solution:
    """What :func:`solve` finds, in a time that tells less of how many steps it took: records that coincide need no step, their
    neighbours some, and a clock would see it.  So a public least number of passes is made, where they are cheap."""
    space, before = records.space, records.passes
    found = solve(records, tolerance=tolerance)
    least = STEADY if records.n * int(np.prod(space.point_shape)) <= CHEAP else 3
    with one_thread():
        for _ in range(least - (records.passes - before)):
            same = space.retract(found.point, 0 * space.newton(found.point, found.moments))
            space.norm(same, records.moments(same).logs)
    return found
