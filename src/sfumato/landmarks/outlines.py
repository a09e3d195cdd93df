"""Closed outlines after a release: smooth them, which costs no privacy, and test whether they cross themselves."""

from fractions import Fraction
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, as_numbers


def smoothing_matrix(landmarks: int, bandwidth: float) -> Array:
    """Return first-order local linear regression on a circle of equally spaced parameters, as a matrix on the landmarks.

    Row i fits a + b·(t − tᵢ) by least squares with Gaussian weights of the given bandwidth, t measured in fractions of the
    outline and around it, and keeps a.
    """
    t = np.arange(landmarks) / landmarks
    gap = (t[None] - t[:, None] + 0.5) % 1 - 0.5
    weight = np.exp(-0.5 * (gap / bandwidth) ** 2)
    s0, s1, s2 = (np.sum(weight * gap**p, axis=1, keepdims=True) for p in (0, 1, 2))
    return np.asarray(weight * (s2 - s1 * gap) / (s0 * s2 - s1 * s1))


def smooth_outline(outline: ArrayLike, bandwidth: float | None = None) -> Array:
    """Smooth a closed outline (or several) by local linear regression along it.

    Outlines are landmarks, (k, 2) or (..., k, 2); the bandwidth is a fraction of the outline, one and a half landmark
    spacings unless given.  Smoothing a released shape is post-processing: it costs no privacy, provided that the bandwidth
    does not come from the data (see :func:`outline_bandwidth`).

    >>> angle = 2 * np.pi * np.arange(40) / 40
    >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> rough = circle + np.random.default_rng(0).normal(0, 0.05, circle.shape)
    >>> bool(np.linalg.norm(smooth_outline(rough) - circle) < np.linalg.norm(rough - circle))
    True
    """
    points = _outlines(outline)
    landmarks = points.shape[-2]
    width = 1.5 / landmarks if bandwidth is None else float(bandwidth)
    if not (np.isfinite(width) and width > 0):
        raise ValueError(f"the bandwidth must be a positive fraction of the outline, not {bandwidth}")
    return np.asarray(smoothing_matrix(landmarks, max(width, 0.2 / landmarks)) @ points)


def outline_bandwidth(reference: ArrayLike, error: float) -> float:
    """Return a bandwidth for :func:`smooth_outline`, from public numbers only.

    It minimises the expected squared error if the true outline looks like the public reference and the noise is spread
    evenly over the landmarks.  For a smoothing matrix S and a reference c of size one with k landmarks, that error is
    ‖(S − 1)c‖² (what smoothing removes from the reference) plus error²·‖S‖²/k (what it leaves of the noise).  Of the
    bandwidths within 5% of the smallest expected error the widest is taken: it leaves the fewest crossings.  ``error`` is the
    size of the noise for an outline of size one, such as ``release.error(0.5)``.

    >>> from sfumato.studies.synthetic import corpus_callosum_template
    >>> round(50 * outline_bandwidth(corpus_callosum_template(50), error=0.07), 1)    # in landmark spacings
    1.1
    """
    c = _outlines(reference)
    if c.ndim != 2 or not isinstance(error, Real) or not 0 < float(error) < np.inf:
        raise ValueError(
            f"expected one reference outline of shape (k, 2) and a positive error, got shape {c.shape} and {error!r}"
        )
    c = c - c.mean(axis=0)
    size = np.linalg.norm(c)
    if not 0 < size < np.inf:
        raise ValueError("the reference outline is a single point, or too large to be measured")
    c = c / size
    k = len(c)
    widths = np.geomspace(0.2, 8.0, 120) / k

    def expected(width: float) -> float:
        matrix = smoothing_matrix(k, width)
        return float(np.sum((matrix @ c - c) ** 2) + float(error) ** 2 * np.sum(matrix**2) / k)

    errors = np.sqrt([expected(width) for width in widths])
    return float(widths[errors <= 1.05 * errors.min()].max())


def crosses_itself(outlines: ArrayLike) -> Array:
    """Return whether each closed outline, (k, 2) or (..., k, 2), meets itself other than at its corners.  The answer is exact.

    Signs of triangle areas are computed in floating point where rounding cannot change them, and in rational arithmetic
    elsewhere.

    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> bow_tie = [[0, 0], [1, 1], [1, 0], [0, 1]]
    >>> crosses_itself([square, bow_tie]).tolist()
    [False, True]
    """
    points = _outlines(outlines)
    k = points.shape[-2]
    flat = points.reshape(-1, k, 2)
    first, second = np.triu_indices(k, 2)
    apart = (second + 1) % k != first  # neighbouring sides share a corner
    first = first[apart]
    second = second[apart]
    a, b, c, d = (flat[:, index % k] for index in (first, first + 1, second, second + 1))
    sides = [_orientation(a, b, c), _orientation(a, b, d), _orientation(c, d, a), _orientation(c, d, b)]
    meets = (sides[0] * sides[1] <= 0) & (sides[2] * sides[3] <= 0)
    flat_pair = (sides[0] == 0) & (sides[1] == 0)  # on one line they meet only if their boxes overlap
    overlap = np.all((np.minimum(a, b) <= np.maximum(c, d)) & (np.minimum(c, d) <= np.maximum(a, b)), axis=-1)
    return np.asarray((meets & (~flat_pair | overlap)).any(axis=1).reshape(points.shape[:-2]))


def _outlines(values: ArrayLike) -> Array:
    """Return outlines as float64; raise a ValueError if they are not outlines."""
    points = as_numbers(values)
    if points.ndim < 2 or points.shape[-1] != 2 or points.shape[-2] < 3 or np.iscomplexobj(points):
        raise ValueError(f"an outline is a real array of shape (k, 2) with three or more landmarks, not {points.shape}")
    points = np.asarray(points, dtype=np.float64)
    if not np.isfinite(points).all():
        raise ValueError("an outline holds NaN or an infinite number")
    return points


def _orientation(a: Array, b: Array, c: Array) -> Array:
    """Return the sign of the area of the triangle a, b, c: exact."""
    left = (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1])
    right = (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])
    area = left - right
    sign = np.sign(area)
    for index in zip(*np.nonzero(np.abs(area) <= 4e-16 * (np.abs(left) + np.abs(right))), strict=True):
        (ax, ay), (bx, by), (cx, cy) = ([Fraction(float(v)) for v in p[index]] for p in (a, b, c))
        exact = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        sign[index] = (exact > 0) - (exact < 0)
    return np.asarray(sign)
