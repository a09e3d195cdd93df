"""What is public about the Fréchet mean of records in a ball, before any record is seen (proofs, Result 2b)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..spaces.base import Points, Space
from .rounding import gradient_error


@dataclass(frozen=True)
class MeanBounds:
    """How the mean of n records in B_r(p₀) is found for certain, and how far off a computed one can be.

    ``step``: from any x of the ball x → exp_x(step·mean log) stays in the ball and lowers F.  ``hessian``: a lower bound λ on
    Hess F wherever in the ball ‖∇F‖ ≤ ``near``; so a point with a gradient g below that lies within ‖g‖/λ of the mean.
    ``error``: rounding of a computed gradient.  ``tolerance``: the gradient norm at which the solver stops.  ``passes``: steps
    after which it has stopped, whatever the data.
    """

    step: float
    hessian: float
    near: float
    error: float
    tolerance: float
    passes: int

    @property
    def distance(self) -> float:
        """The farthest that a computed mean can be from the mean."""
        return (self.tolerance + self.error) / self.hessian


def mean_bounds(space: Space, center: Points, r: float, n: int) -> MeanBounds:
    """With curvature between 0 and κ, q = √κ and r < π/(2q): step cos(qr), λ = ½·cos(qr), near = ½·cot(qr)/q, and at most
    (qr)²/2 / ((step − step²/2)·(q·near)²) steps until ‖∇F‖ ≤ near, then log(near/tolerance)/(step·λ).  With no positive
    curvature: step 1/Λ with Λ ≥ Hess F within 3r of the records, λ = 1, and Λ·log(Λr²/tolerance²) steps.  Rounding at most
    doubles their number.

    >>> from sfumato import Sphere
    >>> bounds = mean_bounds(Sphere(dim=2), Sphere(dim=2).origin(), 1.0, n=100)
    >>> round(bounds.step, 3), round(bounds.hessian, 3), bounds.passes < 2000, bounds.distance < 1e-10
    (0.54, 0.27, True, True)
    """
    kappa = max(0.0, space.curvature_bounds[1])
    if kappa > 0:
        angle = math.sqrt(kappa) * r * (1 + 1e-9)  # a computed point can lie outside by a rounding
        step, near = math.cos(angle), 0.5 / math.tan(angle) / math.sqrt(kappa)
        hessian = 0.5 * step
    else:
        step, near, hessian = 1 / float(space.hessian_bounds(3 * r)[1]), math.inf, 1.0
    error = gradient_error(space, center, 2 * r, n)
    tolerance = 1e-12 * r + 2 * error * (1 + 1 / step) / hessian
    if kappa > 0:
        far = (math.sqrt(kappa) * r) ** 2 / 2 / ((step - step * step / 2) * kappa * near * near)
        passes = far + max(0.0, math.log(near / tolerance)) / (step * hessian)
    else:
        passes = max(0.0, math.log(r) * 2 - math.log(step) - 2 * math.log(tolerance)) / step
    return MeanBounds(step, hessian, near, error, tolerance, 2 * math.ceil(passes) + 10)
