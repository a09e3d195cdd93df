"""Closed outlines: as many points on each, before a release; smoothed, and tested for crossings, after it."""

from collections.abc import Iterable
from fractions import Fraction
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points, as_numbers

FINE = 256  # points of both outlines in a superposition, which is found in
ROUNDS = 3  # from the best start, between two points too
NEAR = 0.125  # part of an outline, to both sides of where that lays the reference's first point, in which the start is
TIE = 1e-9  # lengths that differ by less, of the longest, may be equal but for rounding


def resample_outlines(outlines: Iterable[ArrayLike], k: int, reference: ArrayLike | None = None) -> Array:
    """Return k points at even distances along each closed outline, (n, k, 2): from a defined start, in a defined direction.

    Each is an array (m, 2) with an m of its own; the first point may be repeated at the end.  Without a ``reference``
    they run anticlockwise (their area is positive) from the corner farthest from the centre of gravity of the line; of
    several as far, from the one with the largest x, then y.  With one, an outline (m, 2) that anyone may see, they run in its
    direction from the place nearest to its first point, after the superposition of both with the least sum of squares over
    all starts, rotations and sizes (Gower 1975).  Each outline is resampled by itself, whatever the others are.  One of
    fewer than three points, or with NaN, gives NaN; one whose points all coincide, a point.

    >>> square = [[0, 0], [2, 0], [2, 2], [0, 2]]
    >>> resample_outlines([square, [*square[::-1], square[3]]], 4).tolist() == [[[2, 2], [0, 2], [0, 0], [2, 0]]] * 2
    True
    >>> triangle = [[0, 0], [3, 0], [0, 4]]
    >>> resample_outlines([triangle], 4, reference=[[30, 0], [0, 40], [0, 0]])[0].round(6).tolist()
    [[3.0, 0.0], [1.2, 2.4], [0.0, 3.0], [0.0, 0.0]]
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 3:
        raise ValueError(f"an outline gets 3 points or more, not {k!r}")
    goal = None
    if reference is not None:
        if (one := _outlines(reference)).ndim != 2:
            raise ValueError(f"the reference is one outline, (m, 2), not an array of shape {one.shape}")
        goal = _even(_ring(one)[0], FINE)
    made = [_resampled(as_numbers(outline), int(k), goal, row) for row, outline in enumerate(outlines)]
    return np.stack(made) if made else np.empty((0, int(k), 2))


def _resampled(outline: Array, k: int, goal: Points | None, row: int) -> Array:
    """Return k points along one outline; ``goal`` are points at even distances along the reference."""
    if outline.ndim != 2 or outline.shape[1] != 2 or np.iscomplexobj(outline):
        raise ValueError(f"outline {row}: expected points (m, 2), not an array of shape {outline.shape}")
    if len(outline) < 3 or not np.isfinite(outline).all():
        return np.full((k, 2), np.nan)
    z, size = _ring(outline)
    start = 0.0
    if len(z) > 1:
        z = z[::-1] if _area(z) * (1.0 if goal is None else _area(goal)) < 0 else z
        steps = np.roll(z, -1) - z
        away = np.abs(z - np.sum(np.abs(steps) * (z + steps / 2)) / np.sum(np.abs(steps)))
        far = np.flatnonzero(away >= (1 - TIE) * away.max())
        z = np.roll(z, -far[np.lexsort((z[far].imag, z[far].real))[-1]])
        start = 0.0 if goal is None else _start(z, goal - goal.mean())
    even = _even(z, k, start) * size
    return np.stack([even.real, even.imag], axis=1)


def _ring(outline: Array) -> tuple[Points, float]:
    """Return an outline as complex numbers over a power of 2, without points that repeat the one before; and that power."""
    size = float(np.ldexp(1.0, int(np.frexp(np.abs(outline).max())[1]) - 1))  # so that no square overflows
    z = np.asarray(outline[:, 0] / size + 1j * (outline[:, 1] / size))
    kept = z != np.roll(z, 1)
    return z[kept] if kept.any() else z[:1], size


def _area(z: Points) -> float:
    """Return twice the area that a closed outline runs round anticlockwise."""
    return float(np.sum(((z - z[0]).conj() * (np.roll(z, -1) - z)).imag))


def _even(z: Points, k: int, start: float = 0.0) -> Points:
    """Return k points at even distances along a closed outline, from this part of its length."""
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.roll(z, -1) - z))])
    return np.asarray(np.interp(length[-1] * ((start + np.arange(k) / k) % 1.0), length, np.append(z, z[0])))


def _start(z: Points, goal: Points) -> float:
    """Return the part of its length at which an outline is nearest to the first point of a centred reference laid on it."""
    start = 0.0
    for _ in range(ROUNDS):
        even = _even(z, FINE, start)
        fit = np.abs(np.fft.ifft(np.fft.fft(even - even.mean()) * np.fft.fft(goal).conj()))  # for each start
        best = int(np.argmax(fit >= (1 - TIE) * fit.max()))
        before, at, after = fit[[best - 1, best, (best + 1) % FINE]]
        bend = min(before - 2 * at + after, -1e-300)
        start += (best + float(np.clip((before - after) / (2 * bend), -0.5, 0.5))) / FINE  # the top of a parabola
    even = _even(z, FINE, start)
    spread = even - even.mean()
    turn = np.sum(spread.conj() * goal)
    first = even.mean() + goal[0] * (np.sum(np.abs(spread) ** 2) / turn if turn else 0.0)
    steps = np.roll(z, -1) - z
    sizes = np.abs(steps)
    part = np.clip(((first - z) * steps.conj()).real / np.maximum(sizes**2, 1e-300), 0.0, 1.0)
    along = (np.cumsum(sizes) - sizes + part * sizes) / np.sum(sizes)
    far = np.where(np.abs((along - start + 0.5) % 1 - 0.5) <= NEAR, np.abs(z + part * steps - first), np.inf)
    return float(along[np.argmin(far)]) if np.isfinite(far).any() else start


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

    An outline is landmarks, (k, 2) or (..., k, 2); the bandwidth is a fraction of the outline, one and a half landmark
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
        raise ValueError(f"expected a reference outline, (k, 2), and a positive error, not {c.shape} and {error!r}")
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
