"""The noise scale σ of each mechanism, with every number behind it."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ...errors import RadiusError, Refusal
from ...spaces.base import Space
from ..bounds import bounds_of
from .certificate import certify
from .mean import PublicBall, mean_bounds, too_wide

Calibration = Literal["certified", "tight", "theorem", "as run"]
WIDEST = 0.95  # of the radius below which means are unique; closer to it a proven solver needs too many steps
CALIBRATIONS: tuple[str, ...] = get_args(Calibration)


@dataclass(frozen=True)
class Scale:
    """A scale σ, the formula it comes from, and the numbers in it."""

    sigma: float
    formula: str
    numbers: dict[str, float]
    region: float = np.inf  # the radius of the ball about the public centre to which the output is confined


def check_radius(space: Space, r: float, limit: float, mechanism: str, why: str) -> None:
    """Raise a RadiusError unless the radius is below the limit: what a curator may say instead, and then the reason."""
    if not r < limit:
        digits = 10 ** (1 - np.floor(np.log10(limit)))  # two digits, rounded down
        most = f"the radius may be at most {np.floor(limit * digits) / digits:g} here, not {r:g}{space.usual_radius}"
        error = RadiusError(most, f" ({mechanism} on {space} needs a radius below {limit:.6g}: {why})")
        error.limit = limit
        raise error


def check_records(n: int) -> None:
    """Raise a ValueError unless n is a number of records."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"a release needs at least one record, a whole number, not {n!r}")
    if n > 10**15:
        raise ValueError(f"{n} records are more than can be counted exactly; at most 10^15 are")


def assumption_1(space: Space, r: float, mechanism: str) -> None:
    """Raise a RadiusError unless r < ½·min(inj M, π/(2√κ)), where squared distances are convex (the paper's Assumption 1)."""
    limit = 0.5 * min(bounds_of(space).injectivity_radius, bounds_of(space).convexity_radius)
    why = "beyond that squared distances are no longer convex on the ball (Assumption 1)"
    check_radius(space, r, limit, mechanism, why)


def theorem_sensitivity(space: Space, r: float, n: int, at: float | None = None) -> float:
    """Return Δ of Theorem 2: 2r·(2 − h(2r))/n, h(s) = √κ·s·cot(√κ·s), 1 where κ ≤ 0.  ``at`` replaces 2r in h."""
    h = float(bounds_of(space).hessian_bounds(2 * r if at is None else at)[0])
    return 2 * r * (2 - h) / n


def kng_scale(space: Space, r: float, n: int, epsilon: float, calibration: Calibration) -> Scale:
    """Return σ of the K-norm gradient mechanism for the Fréchet mean of n records in a ball of radius r.

    >>> from sfumato import Sphere
    >>> [round(kng_scale(Sphere(dim=2), np.pi / 8, 500, 1.0, c).sigma * 500 / (np.pi / 4), 3)
    ...  for c in ("theorem", "tight", "certified")]
    [2.429, 2.053, 1.03]
    """
    assumption_1(space, r, "KNG")
    if calibration == "theorem":
        delta = theorem_sensitivity(space, r, n)
        return Scale(2 * delta / epsilon, "2·Δ/ε, Δ = 2r(2 − h(2r))/n (theorems 1 and 2)", {"delta": delta}, r)
    if calibration == "as run":
        delta = theorem_sensitivity(space, r, n, at=r)
        if bounds_of(space).curvature[1] <= 0:  # the paper's SPD run has the factor 2
            return Scale(2 * delta / epsilon, "2·Δ/ε, Δ = 2r/n (the paper's SPD run)", {"delta": delta}, r)
        return Scale(delta / epsilon, "Δ/ε, Δ = 2r(2 − h(r))/n (the paper's run; not proven)", {"delta": delta}, r)
    A = bounds_of(space).log_spread(r, r)
    if calibration == "certified" and bounds_of(space).is_flat:
        formula = "A/(n·ε), A = 2r (the space is flat: the normaliser does not depend on the data)"
        return Scale(A / (n * epsilon), formula, {"A": A})
    tight = 2 * A / (n * epsilon)
    if calibration == "certified":
        proof = certify(space, r, n * epsilon, below=tight)
        if proof is not None:
            numbers = {"A": proof.A, "B": proof.B, "flux": proof.flux, "tail": proof.tail, "R": proof.R}
            which = "result 3b" if proof.localised else "result 3"
            return Scale(proof.sigma, f"A(r,R)/(n·ε − B − flux − tail) ({which})", numbers, proof.R)
    return Scale(tight, "2·A(r,r)/(n·ε) (theorem 1 with result 1)", {"A": A, "R": r}, r)


def laplace_scale(ball: PublicBall, n: int, epsilon: float, calibration: Calibration, name: str = "Laplace") -> Scale:
    """Return σ of the manifold Laplace, or another distribution of its kind, centred at the Fréchet mean.

    "theorem" and "as run" are the paper's Remark 1, the others Result 2.  Twice the distance of a computed mean from the mean
    (Result 2b) is part of the sensitivity.
    """
    space = ball.space
    r = ball.radius
    if calibration in ("theorem", "as run"):
        assumption_1(space, r, f"the manifold {name} (Remark 1)")
        delta = theorem_sensitivity(space, r, n) / float(bounds_of(space).hessian_bounds(2 * r)[0])
        formula = "Δ/ε, Δ = 2r(2 − h(2r))/(n·h(2r)) (the paper's Remark 1)"
    else:
        why = "close to that or beyond it n points in a ball need not have a unique Fréchet mean that can be found"
        check_radius(space, r, WIDEST * bounds_of(space).mean_radius_limit, f"the manifold {name}", why)
        delta = bounds_of(space).mean_sensitivity(r) / n
        positive = bounds_of(space).curvature[1] > 0
        formula = f"Δ/ε, Δ = {'2·tan(√κ·r)/(√κ·n)' if positive else '2r/n'} (result 2)"
    slack = 2 * mean_bounds(ball, n).distance
    sigma = (delta + slack) / epsilon
    growth = bounds_of(space).radial_growth
    if sigma * growth >= 1 > delta * growth / epsilon:
        raise too_wide(space, r)
    if sigma * growth >= 1:
        raise Refusal(
            f"the {name} distribution on {space} does not exist at this scale: n·ε must exceed "
            f"{growth * delta * n:.4g}, and is {n * epsilon:.4g}; use more records, a larger ε or a smaller radius"
        )
    return Scale(sigma, formula + ", plus the solver's tolerance", {"delta": delta, "solver": slack})


def exponential_scale(space: Space, r: float, n: int, epsilon: float) -> Scale:
    """Return σ of the exponential mechanism exp(−F/σ) on B_r(p0): F(x) = ½·mean squared distance moves by at most 2r²/n."""
    assumption_1(space, r, "the exponential mechanism")
    delta = 2 * r * r / n
    return Scale(2 * delta / epsilon, "2·Δ/ε, Δ = 2r²/n (McSherry and Talwar 2007)", {"delta": delta}, r)
