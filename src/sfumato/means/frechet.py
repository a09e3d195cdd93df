"""The Fréchet mean: the point with the smallest mean squared distance to the data.  Not private."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..files import as_data
from ..numerics.arrays import Array, Points, uniform_weights
from ..records import MEMORY, Progress, Records, is_lazy, one_thread, stream
from ..spaces.base import Moments, Space

MAX_ITERATIONS = 500
ENOUGH = 1e-8  # times the spread: warn if the final gradient is larger


class ConvergenceWarning(UserWarning):
    """The solver of the Fréchet mean stopped before it reached its tolerance."""


@dataclass(frozen=True)
class FrechetMean:
    """A Fréchet mean and how it was found.  Not private.

    Attributes
    ----------
    point : numpy.ndarray
        The mean.
    gradient_norm : float
        An upper bound on the norm of the gradient of ½·(mean squared distance) at the mean.
    iterations : int
        Number of steps of the solver.
    passes : int
        How often the data were read.

    Examples
    --------
    >>> from sfumato import Euclidean, frechet_mean
    >>> frechet_mean(Euclidean(dim=1), [[1.0], [3.0]]).point.tolist()
    [2.0]
    """

    point: Array
    gradient_norm: float
    iterations: int
    passes: int


@dataclass(frozen=True)
class Solution:
    """A mean in the space's own representation: its gradient norm, the number of steps, the tolerance, and the moments of
    the records there."""

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
    """The Fréchet mean of points: the minimiser of F(x) = ½·Σ wᵢ·ρ(x, xᵢ)².  Not private.

    It is found by gradient steps scaled with the inverse mean Hessian (Karcher 1977).

    Parameters
    ----------
    space : Space
        The space that the points lie in.
    points : array_like or data on disk
        Points, one in each row.  A ``numpy.memmap``, an HDF5 or Zarr array, an Arrow table or dataset, or a Dask array, bag
        or list of delayed partitions is read in chunks, once in each pass.
    weights : array_like, optional
        A non-negative weight for each point; equal weights by default.
    tolerance : float, optional
        Stop when ‖∇F‖ is at most this.  The default is 1e-12 times the root mean square distance to the data, or what
        double precision allows.
    workers : int
        Number of threads that share each pass over the data.
    memory : int
        About how many bytes of chunked data to hold at a time.
    progress : callable, optional
        Called as ``progress(pass, parts done, parts in all)``.

    Returns
    -------
    FrechetMean
        The mean, and how it was found.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not reached; without a ``tolerance``, if 1e-8 times the root mean square distance was not.

    Raises
    ------
    InvalidPointError
        If a record is not a point of the space.
    ValueError
        If there are no points, or the weights do not fit.

    Examples
    --------
    >>> from sfumato import Sphere
    >>> mean = frechet_mean(Sphere(dim=2), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> mean.point.round(6).tolist(), mean.gradient_norm < 1e-12
    ([0.707107, 0.707107, 0.0], True)
    """
    points = as_data(points, space)
    if weights is not None and is_lazy(space, points, memory):
        raise ValueError(
            "weights need points in memory, but these data are read in parts: load them into an array first"
        )
    records: Records | None = stream(space, points, space.validate, workers=workers, memory=memory, progress=progress)
    start = None
    if records is None:
        canonical, start = space.validate_and_start(points)
        w = None if weights is None else uniform_weights(len(canonical), np.asarray(weights, dtype=np.float64))
        records = Records(space, canonical, w, workers)
    if records.n == 0:
        raise ValueError("the Fréchet mean of no points is not defined")
    found = solve(records, start if weights is None else None, tolerance)
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
    """One more step, which needs no pass over the data.  Means of the same records from different starts then agree to more
    digits than the tolerance asks for."""
    if found.gradient_norm > found.tolerance:
        return found.point
    step = space.newton(found.point, found.moments)
    short = float(space.norm(found.point, step)) <= 4 * found.gradient_norm
    return space.retract(found.point, step) if short else found.point


def solve(records: Records, start: Points | None = None, tolerance: float | None = None, least: int = 0) -> Solution:
    """The Fréchet mean of records.

    Newton's method; if the space does not give the full Hessian, gradient steps divided by its mean eigenvalue, with what past
    steps told of the rest.  A step is halved when the gradient does not shrink.  Logarithms are computed only as accurately as
    the next step needs.  Every loop ends after a fixed number of passes, and not before ``least`` of them: steps of length zero
    follow the answer, which cost the same.  Where privacy depends on the answer use ``mean_in_ball``.
    """
    with one_thread():
        return _solve(records, start, tolerance, least)


def _solve(records: Records, start: Points | None, tolerance: float | None, least: int) -> Solution:
    space = records.space
    x = records.start() if start is None else start
    asked = 1e-5  # of logarithms; what is given may be all that double precision has
    here, norm = _moments(records, x, asked)
    if math.isinf(norm):
        return Solution(x, norm, 0, 0.0, here)
    damping, rate = 1.0, 1e-3
    past: list[tuple[Array, Array]] = []
    answer: Solution | None = None
    gradient: Array | None = None  # at x, in coordinates, where it is known
    for iteration in range(MAX_ITERATIONS + 1):
        spread = math.sqrt(max(0.0, here.square))
        floor = 4 * space.rounding_error(x, 0.0) if tolerance is None or damping < 0.25 else 0.0
        goal = max(1e-12 * spread, 1e-2 * floor) if tolerance is None else tolerance
        ended = damping < (0.25 if norm <= max(1e-9 * spread, floor) else 1e-4)  # no step lowers it, however short
        final = here.error <= goal or here.error > asked
        if answer is None and (norm + here.error <= goal or (ended and final) or iteration == MAX_ITERATIONS):
            if tolerance is None:  # double precision may not reach the tolerance that was asked for
                goal = max(goal, ENOUGH * spread, floor)
            answer = Solution(x, norm + here.error, iteration, goal, here)
        if answer is not None and iteration + 1 >= least:
            break
        step = (damping if answer is None else 0.0) * _step(space, x, here, past, gradient)
        candidate = space.retract(x, step)
        finer = max(goal / 4, 0.03 * rate * norm)
        there, there_norm = _moments(records, candidate, finer)
        slack = here.error if goal / 2 < here.error <= asked else 0.0  # all of the norm may be what a series left out
        if there_norm < norm + slack or answer is not None:
            slow = there_norm > max(goal, 1e-3 * norm)  # where a least number is made, all steps are to cost the same
            if here.hessian.ndim == 0 and damping == 1 and (slow or least):
                before = space.coordinates(x, here.logs) if gradient is None else gradient
                gradient = space.coordinates(candidate, there.logs)
                past = [*past[-4:], (space.coordinates(x, step), before - gradient)]
            else:
                gradient = None
            rate = min(0.1, there_norm / norm) if norm > 0 else 0.1
            x, here, norm, damping, asked = candidate, there, there_norm, min(1.0, 2 * damping), finer
        else:
            damping, past = damping / 2, []
    assert answer is not None
    return answer


def _moments(records: Records, x: Points, accuracy: float) -> tuple[Moments, float]:
    """What the records tell at a point, and the length of the gradient: infinite where rounding leaves no point."""
    try:
        found = records.moments(x, accuracy)
        return found, float(records.space.norm(x, found.logs))
    except (ArithmeticError, np.linalg.LinAlgError):
        return Moments(1.0, np.zeros_like(x), np.asarray(float(records.space.dim)), 0.0), math.inf


def _step(space: Space, x: Points, here: Moments, past: list[tuple[Array, Array]], gradient: Array | None) -> Points:
    """Newton's step; where no more than the trace of the Hessian is known, with what past steps told of it (Anderson 1965):
    their combination that comes closest to undoing the gradient, and Newton's step for the rest."""
    if not past:
        return space.newton(x, here)
    moves, drops = (np.transpose(each) for each in zip(*past, strict=True))
    gradient = space.coordinates(x, here.logs) if gradient is None else gradient
    share = np.linalg.lstsq(drops, gradient, rcond=1e-8)[0]
    rest = replace(here, logs=space.from_coordinates(x, gradient - drops @ share))
    return np.asarray(space.newton(x, rest) + space.from_coordinates(x, moves @ share))
