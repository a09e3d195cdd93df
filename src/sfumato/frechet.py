"""The Fréchet mean: the point of least mean squared distance.  Not private."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .spaces.base import Array, Points, Space, uniform_weights

MAX_ITERATIONS = 500
STEADY = 16  # steps whose work a release does, however few the solver needs


class ConvergenceWarning(UserWarning):
    """The solver stopped before its tolerance."""


@dataclass(frozen=True)
class FrechetMean:
    """A mean, the length of the gradient of ½·(mean squared distance) that is left there, and the steps it took."""

    point: Array
    gradient_norm: float
    iterations: int


def frechet_mean(space: Space, points: ArrayLike, weights: ArrayLike | None = None) -> FrechetMean:
    """The minimiser of F(x) = ½·Σ wᵢ·ρ(x, xᵢ)², by gradient steps scaled with the mean Hessian (Karcher 1977).

    Stops when ‖∇F‖ ≤ 1e-12 times the root mean square distance to the data, or where double precision ends; warns
    with a :class:`ConvergenceWarning` otherwise.

    >>> from sfumato import Sphere
    >>> mean = frechet_mean(Sphere(dim=2), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> mean.point.round(6).tolist(), mean.gradient_norm < 1e-12
    ([0.707107, 0.707107, 0.0], True)
    """
    canonical = space.validate(points)
    if len(canonical) == 0:
        raise ValueError("the Fréchet mean of no points is not defined")
    w = uniform_weights(len(canonical), None if weights is None else np.asarray(weights, dtype=np.float64))
    x, norm, iterations, tolerance = solve(space, canonical, w)
    if norm > tolerance:
        warnings.warn(
            f"the Fréchet mean reached a gradient norm of {norm:.3g} in {iterations} steps, not {tolerance:.3g}; "
            "the points may be spread too widely for a unique mean",
            ConvergenceWarning,
            stacklevel=2,
        )
    return FrechetMean(space.present(x), norm, iterations)


def solve(
    space: Space, points: Points, weights: Array, start: Points | None = None
) -> tuple[Points, float, int, float]:
    """The mean of canonical points: (point, gradient norm, iterations, tolerance it aimed at)."""
    x = space.mean_start(points, weights) if start is None else start
    gradient = space.mean_log(x[None], points, weights)[0]  # minus the gradient of F
    norm = float(space.norm(x, gradient))
    distances = space.distance(x, points)
    floor = 4 * space.rounding_error(x, float(distances.max()))
    damping = 1.0
    iteration = 0
    for iteration in range(1, MAX_ITERATIONS + 1):
        tolerance = max(1e-12 * float(np.sqrt(weights @ distances**2)), 1e-2 * floor)
        if norm <= tolerance:
            return x, norm, iteration - 1, tolerance
        step = damping * space.dim / float(weights @ space.hessian_trace(x, points))
        candidate = space.exp(x, step * gradient)
        next_gradient = space.mean_log(candidate[None], points, weights)[0]
        next_norm = float(space.norm(candidate, next_gradient))
        if next_norm < norm:
            damping = min(1.0, 2 * damping)
        elif norm <= floor:  # no progress at the end of double precision
            return x, norm, iteration, max(tolerance, norm)
        else:
            damping /= 2
            if damping < 1e-6:
                break
            continue
        x, gradient, norm = candidate, next_gradient, next_norm
        distances = space.distance(x, points)
    return x, norm, iteration, tolerance


def steady_solve(space: Space, points: Points, weights: Array) -> tuple[Points, float, int, float]:
    """What :func:`solve` finds, in a time that does not tell how many steps it took: the work of the others, up to STEADY, is
    done for nothing.  Data that coincide need no step, their neighbours some; a clock would see it."""
    found = solve(space, points, weights)
    x = found[0]
    for _ in range(STEADY - found[2]):
        space.hessian_trace(x, points)
        same = space.exp(x, 0 * x)
        space.norm(same, space.mean_log(same[None], points, weights)[0])
        space.distance(same, points)
    return found
