"""What is public about the Fréchet mean of records in a ball, before any record is seen (proofs, Result 2b)."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from ...errors import PrecisionError, Refusal
from ...numerics.arrays import Points
from ...spaces.base import Space
from ..bounds import bounds_of
from .rounding import gradient_error


class PublicBall(Protocol):
    """What calibration needs to know of a ball."""

    @property
    def space(self) -> Space: ...
    @property
    def center(self) -> Points: ...
    @property
    def radius(self) -> float: ...
    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class MeanBounds:
    """How the mean of n records in B_r(p₀) is found for certain, and how far off a computed one can be."""

    step: float  # from any x of the ball x → exp_x(step·mean log) lowers F and, with positive curvature, stays in the ball
    hessian: float  # a lower bound λ on Hess F wherever in the ball ‖∇F‖ ≤ near: there the mean is within ‖∇F‖/λ
    near: float
    error: float  # of rounding in a computed gradient
    tolerance: float  # the gradient norm at which the solver stops
    passes: int  # steps after which it has stopped, whatever the data

    @property
    def distance(self) -> float:
        """The largest distance of a computed mean from the mean."""
        return (self.tolerance + self.error) / self.hessian


def too_wide(space: Space, r: float) -> PrecisionError:
    """Return the error for a radius at which rounding is too large."""
    return PrecisionError(f"{space} with a radius of {r:g} is too wide for double precision; choose a smaller radius")


@lru_cache(maxsize=64)
def mean_bounds(ball: PublicBall, n: int) -> MeanBounds:
    """Return what is known of the mean of n records in a ball.

    With curvature between 0 and κ, q = √κ and r < π/(2q): step cos(qr), λ = ½·cos(qr), near = ½·cot(qr)/q, and at most
    (qr)²/2 / ((step − step²/2)·(q·near)²) steps until ‖∇F‖ ≤ near, then log(near/tolerance)/(step·λ).  With no positive
    curvature: step 1/Λ with Λ ≥ Hess F within 3r of the records, λ = 1, and Λ·log(Λ²r²/tolerance²) steps at most.  Rounding at
    most doubles their number.

    >>> from sfumato import Ball, Sphere
    >>> bounds = mean_bounds(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=1.0), n=100)
    >>> round(bounds.step, 3), round(bounds.hessian, 3), bounds.passes < 2000, bounds.distance < 1e-10
    (0.54, 0.27, True, True)
    """
    space = ball.space
    center = ball.center
    r = ball.radius
    lowest, highest = bounds_of(space).curvature
    if lowest < 0 < highest:
        raise Refusal(f"nothing is proven of means on {space}, whose curvature is of both signs")
    if highest > 0:
        q = math.sqrt(highest)
        angle = q * r * (1 + 1e-9)  # a computed point can lie outside by a rounding
        step = math.cos(angle)
        near = 0.5 / math.tan(angle) * r / angle
        hessian = 0.5 * step
        error = gradient_error(space, center, 2 * r, n)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            steepest = float(bounds_of(space).hessian_bounds(3 * r)[1])
        step = 1 / steepest
        near = r / 100
        hessian = 1.0
        # on the way records are up to 3r away; where the gradient is below r/100 hardly more than 2r
        wide = gradient_error(space, center, 3 * r, n)
        if not 2 * wide * (1 + steepest) <= near:
            raise too_wide(space, r)
        error = gradient_error(space, center, 2.02 * r, n)
    tolerance = 1e-12 * r + 2 * error * (1 + 1 / step) / hessian
    if not tolerance + error <= near:
        raise too_wide(space, r)
    if highest > 0:
        far = 2 * (angle * math.tan(angle)) ** 2 / (step - step * step / 2)
        passes = far + math.log(near / tolerance) / (step * hessian)
    else:
        passes = 2 * (math.log(r) - math.log(tolerance) + math.log(steepest)) * steepest
    return MeanBounds(step, hessian, near, error, tolerance, 2 * math.ceil(passes) + 10)
