"""To and from other packages: spaces of geomstats, measurements of OpenDP.  Neither is needed to import this."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .spaces import SPD, Euclidean, PlanarShapes, Space, Sphere
from .spaces.base import Array

if TYPE_CHECKING:
    from opendp.mod import Measurement

    from .mechanisms import Mechanism

# by the names of the class and of its metric: a space is a set with a metric, and another metric has another mean
_GEOMSTATS: dict[tuple[str, str], Callable[[Any], Space]] = {
    ("Euclidean", "CanonicalEuclideanMetric"): lambda space: Euclidean(dim=space.dim),
    ("Hypersphere", "HypersphereMetric"): lambda space: Sphere(dim=space.dim),
    ("SPDMatrices", "SPDAffineMetric"): lambda space: SPD(size=space.n),
    ("PreShapeSpace", "KendallShapeMetric"): lambda space: PlanarShapes(landmarks=space.k_landmarks),
}


def from_geomstats(space: Any) -> Space:
    """The sfumato space of a geomstats one; its points are then the same arrays in both packages.

    Takes ``Euclidean``, ``Hypersphere``, ``SPDMatrices`` with the affine-invariant metric, and Kendall's planar shapes:
    the quotient of a ``PreShapeSpace`` of ambient dimension 2.  Spaces are known by the names of their classes.

    >>> from geomstats.geometry.hypersphere import Hypersphere
    >>> from_geomstats(Hypersphere(2))
    Sphere(dim=2, curvature=1.0)
    """
    kind = type(space).__name__
    metric = type(space.metric).__name__ if hasattr(space, "metric") else "no metric"
    if kind == "Hypersphere" and space.intrinsic:
        raise ValueError("from_geomstats: points of this Hypersphere are angles; make it with intrinsic=False")
    if kind == "PreShapeSpace" and metric == "PreShapeMetric":
        raise ValueError(
            "from_geomstats: this PreShapeSpace tells rotated copies of a shape apart; call its "
            "equip_with_group_action('rotations') and equip_with_quotient(), and give its quotient"
        )
    if kind == "PreShapeSpace" and space.ambient_dim != 2:
        raise ValueError(f"from_geomstats: shapes must lie in the plane, these have ambient_dim={space.ambient_dim}")
    if (kind, metric) not in _GEOMSTATS:
        known = ", ".join(f"{space} with {metric}" for space, metric in _GEOMSTATS)
        raise ValueError(f"from_geomstats: there is no sfumato space for {kind} with {metric}; known: {known}")
    return _GEOMSTATS[kind, metric](space)


def as_opendp(mechanism: Mechanism, *, size: int | None = None) -> Measurement:
    """The mechanism as an OpenDP measurement, to be composed and accounted for there.

    Data are arrays of records; the result is the released value.  The input metric is OpenDP's Hamming distance, the number
    of rows in which two data sets of one size differ; d_in rows cost d_in·ε of max-divergence (group privacy).  Change-one
    distance also ignores the order of rows, which floating point does not quite.  ``size``, the public number of records,
    narrows the domain to it; without it, data sets of different sizes are at no finite distance and nothing is said of them.

    The map is that of the ideal sampler: what rounding adds (``numerical_delta`` and ``numerical_epsilon`` of a release) has
    no place in it.  OpenDP cannot check a measurement of others, so you have to tell it that you trust this one:

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
    space, epsilon = mechanism.space, float(mechanism.epsilon)

    def is_member(points: ArrayLike) -> bool:
        try:
            canonical, reasons = space.diagnose(points)
        except (TypeError, ValueError):
            return False
        return not reasons and len(canonical) > 0 and size in (None, len(canonical))

    def release(points: ArrayLike) -> Array:
        n = len(np.asarray(points))
        if size not in (None, n):
            raise ValueError(f"as_opendp: {n} records where the public size is {size}")
        return mechanism.release(points).value

    def privacy_map(rows: int) -> float:
        """rows·ε, rounded up."""
        product = rows * epsilon
        return product if Fraction(product) >= rows * Fraction(epsilon) else math.nextafter(product, math.inf)

    domain = dp.user_domain(f"{'n' if size is None else size} records of {space}", is_member)
    return dp.m.make_user_measurement(domain, dp.hamming_distance(), dp.max_divergence(), release, privacy_map)
