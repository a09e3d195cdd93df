"""Mechanisms as measurements of OpenDP, which is not needed to import this module."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array

if TYPE_CHECKING:
    from opendp.mod import Measurement

    from ..mechanisms import Mechanism


def as_opendp(mechanism: Mechanism, *, size: int | None = None) -> Measurement:
    """Return the mechanism as an OpenDP measurement, to be composed and accounted for there.

    The measurement takes an array of records and returns the released value.  Its input metric is OpenDP's Hamming distance:
    the number of rows in which two data sets of the same size differ.  It is not the change-one distance, which also ignores
    the order of rows, because floating-point sums depend slightly on the order.  The output measure is max-divergence:
    d_in rows cost d_in·ε (group privacy).  It has no place for the small δ of a release (``numerical_delta``).

    ``size`` is the public number of records: data sets of another size are then outside the domain.  Without it, nothing is
    promised about data sets of different sizes.  A mechanism of calibration ``"as run"``, which is not proven, is refused.
    OpenDP cannot check measurements that it did not make, so you have to declare that you trust this one, as below.

    >>> import numpy as np
    >>> import opendp.prelude as dp
    >>> from sfumato import KNG, SPD, Ball
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> measurement = as_opendp(KNG(Ball(SPD(size=2), center=np.eye(2), radius=1.5), epsilon=0.5))
    >>> measurement(np.array([np.diag([1.0 + 0.01 * i, 1.0]) for i in range(100)])).shape
    (2, 2)
    >>> measurement.map(1), measurement.map(3)
    (0.5, 1.5)
    """
    try:
        import opendp.prelude as dp
    except ImportError:
        raise ImportError("as_opendp needs the package opendp: pip install opendp") from None
    if mechanism.calibration == "as run":
        raise ValueError("as_opendp: the privacy of calibration='as run' is not proven, so it has no privacy map")
    space = mechanism.space
    epsilon = mechanism.privacy.pure

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

    def privacy_map(rows: int) -> float:
        """Return rows·ε, rounded up."""
        product = rows * epsilon
        return product if Fraction(product) >= rows * Fraction(epsilon) else math.nextafter(product, math.inf)

    domain = dp.user_domain(f"{'n' if size is None else size} records of {space}", is_member)
    return dp.m.make_user_measurement(domain, dp.hamming_distance(), dp.max_divergence(), release, privacy_map)
