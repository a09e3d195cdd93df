"""The Fréchet mean: the point with the smallest mean squared distance to the data.  Not private."""

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..files import as_data
from ..numerics.arrays import Array, Points, uniform_weights
from ..records import MEMORY, Progress, Records, is_lazy, one_thread, stream
from ..records.memory import mean_of
from ..spaces.base import Moments, Space

MAX_ITERATIONS = 500
ENOUGH = 1e-8  # times the spread: warn if the final gradient is larger


class ConvergenceWarning(UserWarning):
    """The solver of the Fréchet mean stopped before it reached its tolerance."""


@dataclass(frozen=True)
class FrechetMean:
    """A Fréchet mean and how it was found.  Not private.

    >>> from sfumato import Euclidean, frechet_mean
    >>> frechet_mean(Euclidean(dim=1), [[1.0], [3.0]]).point.tolist()
    [2.0]
    """

    point: Array
    gradient_norm: float  # an upper bound on that of ½·(mean squared distance) at the mean
    iterations: int
    passes: int  # how often the data were read


@dataclass(frozen=True)
class Solution:
    """A mean in the space's own representation, with the moments of the records there."""

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
    """Return the Fréchet mean of points: the minimiser of F(x) = ½·Σ wᵢ·ρ(x, xᵢ)².  Not private.

    It is found by gradient steps scaled with the inverse mean Hessian (Karcher 1977).

    Parameters
    ----------
    points : array_like or data on disk
        Points, one in each row.  A ``numpy.memmap``, an HDF5 or Zarr array, an Arrow table or dataset, or a Dask array, bag
        or list of delayed partitions is read in chunks, once in each pass.
    weights : array_like, optional
        A non-negative weight for each point; equal weights by default.
    tolerance : float, optional
        Stop when ‖∇F‖ is at most this.  The default is 1e-12 times the root mean square distance to the data, or what
        double precision allows.
    workers : int
        Number of threads that share each pass over the data, where these are many: a million numbers in most spaces.
    memory : int
        About how many bytes of chunked data to hold at a time.
    progress : callable, optional
        Called as ``progress(pass, parts done, parts in all)``.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not reached; without a ``tolerance``, if 1e-8 times the root mean square distance was not.

    >>> from sfumato import Sphere
    >>> mean = frechet_mean(Sphere(dim=2), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> mean.point.round(6).tolist(), mean.gradient_norm < 1e-12
    ([0.707107, 0.707107, 0.0], True)
    """
    points = as_data(points, space)
    tolerance = None if tolerance is None else float(tolerance)
    if weights is not None and is_lazy(space, points, memory):
        raise ValueError("weights need points in memory, and these are read in parts: load them into an array first")
    records: Records | None = stream(space, points, space.validate, workers=workers, memory=memory, progress=progress)
    start = known = None
    if records is None:
        canonical, start, known = space.validate_and_start(points)
        w = None if weights is None else uniform_weights(len(canonical), np.asarray(weights, dtype=np.float64))
        records = Records(space, canonical, w, workers)
        records.adaptive = True
    if records.n == 0:
        raise ValueError("the Fréchet mean of no points is not defined")
    if weights is not None:
        start = known = None
    solution = solve(records, start, tolerance, known=known)
    if solution.gradient_norm > solution.tolerance:
        warnings.warn(
            f"the Fréchet mean reached a gradient norm of {solution.gradient_norm:.3g} in {solution.iterations} steps, not "
            f"{solution.tolerance:.3g}; the points may be spread too widely for a unique mean",
            ConvergenceWarning,
            stacklevel=2,
        )
    point = _polished(space, solution) if tolerance is None else solution.point
    return FrechetMean(space.present(point), solution.gradient_norm, solution.iterations, records.passes)


def _polished(space: Space, solution: Solution) -> Points:
    """Return the point after one more step, with which means from different starts agree to more digits."""
    if solution.gradient_norm > solution.tolerance:
        return solution.point
    step = space.newton(solution.point, solution.moments)
    short = float(space.norm(solution.point, step)) <= 4 * solution.gradient_norm
    return space.retract(solution.point, step) if short else solution.point


def solve(
    records: Records,
    start: Points | None = None,
    tolerance: float | None = None,
    least: int = 0,
    known: Moments | None = None,
) -> Solution:
    """Return the Fréchet mean of records; sums over them at the start may be ``known``.

    Newton's method; if the space does not give the full Hessian, gradient steps divided by its mean eigenvalue, corrected by
    what past steps show of the rest.  A step is halved when the gradient does not shrink.  Logarithms are computed only as
    accurately as the next step needs.  Every loop ends after a fixed number of passes, and not before ``least`` of them: steps
    of length zero follow the answer, which cost the same.  Where privacy depends on the answer use ``mean_in_ball``.
    """
    with one_thread():
        return _solve(records, start, tolerance, least, known)


@dataclass
class _State:
    """Where the solver is, and what its next step is made from."""

    point: Points
    moments: Moments  # of the records, at the point
    gradient: Array | None  # −∇F there, in coordinates, where they are known
    norm: float  # of the gradient
    accuracy: float  # asked of the logarithms; kernels may return less
    damping: float = 1.0  # factor of the next step
    rate: float = 1e-3  # the norm over the one before
    past: tuple[tuple[Array, Array], ...] = ()  # steps and what they took off the gradient, in coordinates


def _solve(
    records: Records, start: Points | None, tolerance: float | None, least: int, known: Moments | None
) -> Solution:
    x, taken, moments = _begin(records, start, tolerance, known)
    accuracy = 1e-5
    state = _State(x, *_moments(records, x, accuracy, alike=least > 0, known=moments), accuracy)
    if math.isinf(state.norm):
        return Solution(x, state.norm, 0, 0.0, state.moments)
    answer: Solution | None = None
    for iteration in range(taken, MAX_ITERATIONS + 1):
        goal, spread, floor = _goal(records.space, state, tolerance)
        if answer is None and (iteration == MAX_ITERATIONS or _converged(state, goal, max(1e-9 * spread, floor))):
            if tolerance is None:  # double precision may not reach the goal
                goal = max(goal, ENOUGH * spread, floor)
            answer = Solution(state.point, state.norm + state.moments.error, iteration, goal, state.moments)
        if answer is not None and iteration + 1 >= least:
            break
        _advance(records, state, goal, answered=answer is not None, alike=least > 0)
    assert answer is not None
    return answer


def _begin(
    records: Records, start: Points | None, tolerance: float | None, known: Moments | None
) -> tuple[Points, int, Moments | None]:
    """Return a point to begin at, how many steps in compiled loops led there, and the mean moments there if they are known."""
    x = records.start() if start is None else start
    taken = 0
    if known is None and records.adaptive and records.weights is None:
        x, taken, known = records.space.descend(x, records.points, tolerance or 1e-9, MAX_ITERATIONS)
    if known is None:
        return x, 0, None
    records.passes += taken + 1
    return x, taken, mean_of(known)


def _goal(space: Space, state: _State, tolerance: float | None) -> tuple[float, float, float]:
    """Return the norm that is asked of the gradient, the spread of the records, and the norm that rounding may leave."""
    spread = math.sqrt(max(0.0, state.moments.square))
    floor = 0.0
    if tolerance is None or state.damping < 0.25:
        floor = 4 * space.rounding_error(state.point, 0.0)
    return (max(1e-12 * spread, 1e-2 * floor) if tolerance is None else tolerance), spread, floor


def _converged(state: _State, goal: float, close: float) -> bool:
    """Return whether the goal is reached, or no step lowers the norm, however short, and the logarithms are accurate."""
    error = state.moments.error
    stuck = state.damping < (0.25 if state.norm <= close else 1e-4)
    return state.norm + error <= goal or (stuck and (error <= goal or error > state.accuracy))


def _advance(records: Records, state: _State, goal: float, *, answered: bool, alike: bool) -> None:
    """Take a step if it lowers the norm of the gradient, otherwise halve the next one; ``alike``: all steps cost the same.

    Once there is an answer, steps have length zero.
    """
    space = records.space
    step = (0.0 if answered else state.damping) * _step(space, state, answered)
    candidate = space.retract(state.point, step)
    accuracy = max(goal / 4, 0.03 * state.rate * state.norm)
    moments, gradient, norm = _moments(records, candidate, accuracy, alike)
    here = state.moments
    slack = here.error if goal / 2 < here.error <= state.accuracy else 0.0  # the norm may be what a series left out
    if not (norm < state.norm + slack or answered):
        state.damping /= 2
        state.past = ()
        return
    slow = norm > max(goal, 1e-3 * state.norm)
    if here.hessian.ndim == 0 and state.damping == 1 and (slow or alike):
        before = _gradient(space, state)
        gradient = space.coordinates(candidate, moments.logs) if gradient is None else gradient
        state.past = (*state.past[-4:], (space.coordinates(state.point, step), before - gradient))
    state.rate = min(0.1, norm / state.norm) if state.norm > 0 else 0.1
    state.point = candidate
    state.moments = moments
    state.gradient = gradient
    state.norm = norm
    state.accuracy = accuracy
    state.damping = min(1.0, 2 * state.damping)


def _moments(
    records: Records, x: Points, accuracy: float, alike: bool, known: Moments | None = None
) -> tuple[Moments, Array | None, float]:
    """Return the moments of the records at a point, unless they are known, the negative gradient in coordinates, which steps
    that are ``alike`` ask for, and its norm: infinite where rounding leaves no point."""
    space = records.space
    try:
        moments = records.moments(x, accuracy) if known is None else known
        if not alike:
            return moments, None, float(space.norm(x, moments.logs))
        gradient = space.coordinates(x, moments.logs)
        return moments, gradient, float(np.linalg.norm(gradient))
    except (ArithmeticError, np.linalg.LinAlgError):
        return Moments(1.0, np.zeros_like(x), np.asarray(float(space.dim)), 0.0), np.zeros(space.dim), math.inf


def _gradient(space: Space, state: _State) -> Array:
    """Return the negative gradient in coordinates."""
    return space.coordinates(state.point, state.moments.logs) if state.gradient is None else state.gradient


def _step(space: Space, state: _State, answered: bool = False) -> Points:
    """Return Newton's step; where only the trace of the Hessian is known, corrected by past steps (Anderson 1965).

    The combination of past steps that comes closest to undoing the gradient is taken, and Newton's step for the rest.  Once
    there is an answer the past is replaced by public numbers: least squares are quicker on zeros, which records that coincide
    leave, and the running time would show it.
    """
    x = state.point
    if not state.past:
        return space.newton(x, state.moments)
    moves, drops = (np.transpose(each) for each in zip(*state.past, strict=True))
    gradient = _gradient(space, state)
    if answered:
        drops = 1.0 + np.eye(*drops.shape)
    share = np.linalg.lstsq(drops, gradient, rcond=1e-8)[0]
    rest, move = space.from_coordinates(x, np.stack([gradient - drops @ share, moves @ share]))
    return np.asarray(space.newton(x, replace(state.moments, logs=rest)) + move)
