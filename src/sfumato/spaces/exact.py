"""From the tangent space at one point to that at another, exactly: log_p(exp_x(v)) in coordinates.

A double holds sixteen digits of a point, but the noise of a release may only show in the last few of them.  So these maps
are computed in long arithmetic, to better than 1e-25, and only the rounding of v itself is left (proofs, Floating point).
A space names its map as ``exact_map``.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from ..numerics import fixed as long
from ..numerics.arrays import Array, Points
from ..numerics.fixed import ONE, Fixed, fixed, unit

HYPERBOLIC = 15.0  # reach: the last places are lost with e^(2D + reach), D up to 24 from the origin to the centre
WIDEST = 30.0  # log of the largest condition number for which logarithms of matrices are computed


class Exact(NamedTuple):
    """The map (space, base, coordinates, center) → coordinates at ``center``, for ends within ``reach`` of that."""

    coordinates: Callable[[Any, Points, Array, Points], list[Fraction]]
    reach: float = math.inf


def flat(space: Any, base: Points, coordinates: Array, center: Points) -> list[Fraction]:
    """Return the sums themselves."""
    terms = zip(base.tolist(), coordinates.tolist(), center.tolist(), strict=True)
    return [Fraction(b) + Fraction(c) - Fraction(p) for b, c, p in terms]


def by_arcs(space: Any, base: Points, coordinates: Array, center: Points, either: bool = False) -> list[Fraction]:
    """Return where points are by great circles, in the frames of Householder's reflections; ``either``: to the nearer of ±y."""
    q = space.q  # √curvature as the space rounds it
    x = unit(fixed(base))
    p = unit(fixed(center))
    moved = np.append(fixed(0.0), fixed(coordinates) * int(fixed(q).item()) >> long.BITS)
    end = long.arc_end(x, long.reflect(long.mirror_of(x), moved))
    if either and long.dot(p, end) < 0:
        end = -end
    v = long.arc_velocity(p, end)
    return [Fraction(c, ONE) / Fraction(q) for c in long.reflect(long.mirror_of(p), v)[1:]]


def hyperbolic(space: Any, base: Points, coordinates: Array, center: Points) -> list[Fraction]:
    """Return the boost to the base of what is drawn at the origin, then the boost from the centre back to it."""
    c = fixed(coordinates)
    t = long.norm(c)
    cosh, sinh = long.cos_sin(t, sign=1)
    drawn = np.append(cosh, sinh * c // max(t, 1))
    z = long.boost(-fixed(center[1:]), long.boost(fixed(base[1:]), drawn))[1:]
    size = long.norm(z)
    length = long.angle_of(size, isqrt(ONE * ONE + size * size), sign=1)
    return [Fraction(int(a), ONE) for a in length * z // max(size, 1)]


def rays(space: Any, base: Points, coordinates: Array, center: Points) -> list[Fraction]:
    """Return them by great circles of complex vectors, centred if points are, the end being turned to the centre."""
    x, mirror = _ray_frame(space, base)
    p, public_mirror = _public_ray_frame(space, center.tobytes())
    v = long.complex_reflect(mirror, long.pad(fixed(coordinates).reshape(2, -1)))
    if space.centred:
        v = long.complex_reflect(_middle(len(base)), long.pad(v))
    v = v - long.complex_times(long.complex_dot(x, v), x)  # horizontal to 1e-16 so far: the mirror has a double in it
    y = long.arc_end(x, v)
    turn = unit(long.complex_dot(p, y) * np.array([1, -1], dtype=object))
    v = long.arc_velocity(p, long.complex_times(turn, y))
    if space.centred:
        v = long.complex_reflect(_middle(len(base)), v)[:, 1:]
    return [Fraction(c, ONE) for c in long.complex_reflect(public_mirror, v)[:, 1:].ravel()]


def _ray_frame(space: Any, point: Points) -> tuple[Fixed, Fixed]:
    """Return a point projected to the manifold, and the reflection that the space uses there.  Its phase is taken from the
    space, in doubles: where it hardly matters, it consists of rounding errors only."""
    pair = np.stack([fixed(point.real), fixed(point.imag)])
    if space.centred:
        pair = pair - np.sum(pair, axis=1, keepdims=True) // len(point)
    x = unit(pair)
    mirror = long.complex_reflect(_middle(len(point)), x)[:, 1:].copy() if space.centred else x.copy()
    first = space._mirror(point)[0]
    mirror[:, 0] += unit(fixed(np.array([first.real, first.imag])))
    return x, unit(mirror)


@lru_cache(maxsize=16)
def _public_ray_frame(space: Any, center: bytes) -> tuple[Fixed, Fixed]:
    """Return the frame at the public centre, which many releases share."""
    return _ray_frame(space, np.frombuffer(center, dtype=np.complex128))


@lru_cache(maxsize=16)
def _middle(k: int) -> Fixed:
    """Return the reflection that takes centred vectors to those without a first number."""
    middle = np.stack([np.full(k, isqrt(ONE * ONE // k), dtype=object), np.zeros(k, dtype=object)])
    middle[0, 0] += ONE
    return unit(middle)


def matrices(space: Any, base: Points, coordinates: Array, center: Points) -> list[Fraction]:
    """Return Log(A·Exp(v)·Aᵀ), A = L⁻¹·F from the Cholesky factors of centre and base."""
    k = space.size
    rows, columns = np.triu_indices(k, 1)
    units = np.frexp(np.diagonal(center))[1] // 2  # rows and columns over powers of two, which changes no coordinate
    low, factor = (long.cholesky(fixed(np.ldexp(m, -units[:, None] - units))) for m in (center, base))
    half = isqrt(ONE * ONE // 2)
    c = fixed(coordinates)
    m = np.zeros((k, k), dtype=object)
    m[np.arange(k), np.arange(k)] = c[:k]
    m[rows, columns] = m[columns, rows] = c[k:] * half >> long.BITS
    side = long.solve(low, factor)
    log = long.matrix_log(((side @ long.matrix_exp(m) >> long.BITS) @ side.T) >> long.BITS)
    return [Fraction(c, ONE) for c in (*np.diagonal(log), *(log[rows, columns] * (2 * half) >> long.BITS))]
