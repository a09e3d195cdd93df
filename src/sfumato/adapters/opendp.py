"""Mechanisms as measurements of OpenDP, which is not needed to import this module."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..laws.noise import ROUND_UP
from ..laws.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from ..numerics.arrays import Array

if TYPE_CHECKING:
    from opendp.mod import Measurement

    from ..mechanisms import Mechanism


def as_opendp(mechanism: Mechanism, *, size: int | None = None) -> Measurement:
    """Return the mechanism as an OpenDP measurement, to be composed and accounted for there.

    The measurement takes an array of records and returns the released value.  Its input metric is OpenDP's Hamming distance:
    the number of rows in which two data sets of the same size differ.  It is not the change-one distance, which also ignores
    the order of rows, because floating-point sums depend slightly on the order.  The output measure is that of the kind of
    privacy: max-divergence (pure ε), zero-concentrated divergence (ρ), or approximate max-divergence ((ε, δ)).  For μ it is
    zero-concentrated too, with ρ = μ²/2: OpenDP takes no privacy profile from Python, and ρ adds up just as μ² does.  What d_in
    rows cost is :func:`group_loss`.  Only (ε, δ) has a place for the small δ of a release (``numerical_delta``).

    ``size`` is the public number of records: data sets of another size are then outside the domain.  Without it, nothing is
    promised about data sets of different sizes.  A mechanism of calibration ``"as run"``, which is not proven, is refused.
    OpenDP cannot check measurements that it did not make, so you have to declare that you trust this one, as below.

    >>> import numpy as np
    >>> import opendp.prelude as dp
    >>> from sfumato import KNG, SPD, ApproxDP, Ball, TangentKNorm
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> measurement = as_opendp(KNG(Ball(SPD(size=2), center=np.eye(2), radius=1.5), epsilon=0.5))
    >>> measurement(np.array([np.diag([1.0 + 0.01 * i, 1.0]) for i in range(100)])).shape
    (2, 2)
    >>> measurement.map(1), measurement.map(3)
    (0.5, 1.5)
    >>> as_opendp(TangentKNorm(Ball(SPD(size=2), np.eye(2), 1.5), ApproxDP(0.5, 1e-6))).map(1)
    (0.5, 1e-06)
    """
    try:
        import opendp.prelude as dp
    except ImportError:
        raise ImportError("as_opendp needs the package opendp: pip install opendp") from None
    if mechanism.calibration == "as run":
        raise ValueError("as_opendp: the privacy of calibration='as run' is not proven, so it has no privacy map")
    space = mechanism.space
    privacy = mechanism.privacy
    if isinstance(privacy, ApproxDP):
        measure = dp.approximate(dp.max_divergence())
    else:
        measure = dp.max_divergence() if isinstance(privacy, PureDP) else dp.zero_concentrated_divergence()

    def is_member(points: ArrayLike) -> bool:
        try:
            canonical, reasons = space.diagnose(points)
        except (TypeError, ValueError):
            return False
        return not reasons and len(canonical) > 0 and size in (None, len(canonical))

    def release(points: ArrayLike) -> Array:
        n = len(np.asarray(points))
        if size not in (None, n):
            raise ValueError(f"as_opendp: there are {n} records, but the public size is {size}")
        return mechanism.release(points).value

    domain = dp.user_domain(f"{'n' if size is None else size} records of {space}", is_member)
    return dp.m.make_user_measurement(domain, dp.hamming_distance(), measure, release, partial(group_loss, privacy))


def group_loss(privacy: Privacy, rows: int) -> float | tuple[float, float]:
    """Return what a promise about one row is about k ``rows``, rounded up: kε, k²ρ, k²μ²/2 as a ρ, or (kε, k·e^((k−1)ε)·δ).

    (Dwork and Roth 2014, section 2.3; Bun and Steinke 2016; ρ = μ²/2 by Dong, Roth and Su 2022.)

    >>> group_loss(ZCDP(0.125), 3), group_loss(GDP(1.0), 2), group_loss(ApproxDP(1.0, 1e-6), 2)
    (1.125, 2.0, (2.0, 5.43656366...e-06))
    """
    first = Fraction(privacy.numbers[0])
    if isinstance(privacy, ZCDP | GDP):
        return _up(rows**2 * (first if isinstance(privacy, ZCDP) else first**2 / 2))
    if not isinstance(privacy, ApproxDP):
        return _up(rows * first)
    grown = math.exp(min((rows - 1) * privacy.epsilon, 600.0)) * (ROUND_UP if rows > 1 else 1)
    return _up(rows * first), min(1.0, _up(rows * Fraction(grown) * Fraction(privacy.delta)))


def _up(exact: Fraction) -> float:
    """Return the least double that is not below a number."""
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)
