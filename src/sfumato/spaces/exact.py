"""From the tangent space at one point to that at another, exactly: log_p(exp_x(v)) in coordinates.

A double holds sixteen digits of a point, but the noise of a release may only show in the last few of them.  So these maps
are computed in long arithmetic, to better than 1e-25, and only the rounding of v itself is left (proofs, Floating point).
"""

from __future__ import annotations

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
from .axes import Axes, UpToSign
from .base import Space
from .curves import ElasticCurves
from .euclidean import Euclidean
from .flat import Flat
from .hyperbolic import Hyperbolic
from .rotations import Rotations
from .shapes import PlanarShapes
from .simplex import Simplex
from .spd import SPD
from .sphere import Sphere

HYPERBOLIC = 15.0  # reach: the last places are lost with e^(2D + reach), D up to 24 from the origin to the centre
WIDEST = 30.0  # log of the largest condition number for which logarithms of matrices are computed


class Exact(NamedTuple):
    """The map (space, base, coordinates, center) → coordinates at ``center``, for ends within ``reach`` of that."""

    coordinates: Callable[[Any, Points, Array, Points], list[Fraction]]
    reach: float = math.inf


def flat(space: Euclidean, base: Points, coordinates: Array, center: Points) -> list[Fraction]:
    """The sums themselves."""
    terms = zip(base.tolist(), coordinates.tolist(), center.tolist(), strict=True)
    return [Fraction(b) + Fraction(c) - Fraction(p) for b, c, p in terms]


def sphere(space: Sphere, base: Points, coordinates: Array, center: Points) -> list[Fraction]:
    """By great circles, in the frames of Householder's reflections."""
    return _by_arcs(space._q, base, coordinates, center, False)  # √curvature as the space rounds it


def up_to_sign(space: UpToSign, base: Points, coordinates: Array, center: Points) -> list[Fraction]:
    """The same, the end being given the sign that is nearer to the centre."""
    return _by_arcs(space.scale, base, coordinates, center, True)


def _by_arcs(q: float, base: Points, coordinates: Array, center: Points, either: bool) -> list[Fraction]:
    x, p = unit(fixed(base)), unit(fixed(center))
    moved = np.append(fixed(0.0), fixed(coordinates) * int(fixed(q).item()) >> long.BITS)
    end = long.arc_end(x, long.reflect(long.mirror_of(x), moved))
    v = long.arc_velocity(p, -end if either and long.dot(p, end) < 0 else end)
    return [Fraction(c, ONE) / Fraction(q) for c in long.reflect(long.mirror_of(p), v)[1:]]


def hyperbolic(space: Hyperbolic, base: Points, coordinates: Array, center: Points) -> list[Fraction]:
    """The boost to the base of what is drawn at the origin, then the boost from the centre back to it."""
    c = fixed(coordinates)
    t = long.norm(c)
    cosh, sinh = long.cosh_sinh(t)
    drawn = np.append(cosh, sinh * c // max(t, 1))
    z = long.boost(-fixed(center[1:]), long.boost(fixed(base[1:]), drawn))[1:]
    return [Fraction(int(a), ONE) for a in long.arsinh(long.norm(z)) * z // max(long.norm(z), 1)]


def shapes(space: PlanarShapes, base: Points, coordinates: Array, center: Points) -> list[Fraction]:
    """By great circles too, of complex vectors, the end being turned to the centre."""
    x, middle, mirror = _shape_frame(space, base)
    p, _, public_mirror = _public_shape_frame(space, center.tobytes())
    v = long.complex_reflect(
        middle, long.pad(long.complex_reflect(mirror, long.pad(fixed(coordinates).reshape(2, -1))))
    )
    v = long.complex_reflect(middle, _turned_arc(x, v, p))[:, 1:]
    return [Fraction(c, ONE) for c in long.complex_reflect(public_mirror, v)[:, 1:].ravel()]


def _turned_arc(x: Fixed, v: Fixed, p: Fixed) -> Fixed:
    """The velocity at p of the great circle to the end of the one that leaves x with velocity v, turned to p."""
    v = v - long.complex_times(long.complex_dot(x, v), x)  # horizontal to 1e-16 so far: the mirror has a double in it
    y = long.arc_end(x, v)
    turn = long.complex_dot(p, y)
    return long.arc_velocity(p, long.complex_times(unit(turn * np.array([1, -1], dtype=object)), y))


def curves(space: ElasticCurves, base: Points, coordinates: Array, center: Points) -> list[Fraction]:
    """As shapes, of vectors that need not be centred."""
    (x, mirror), (p, public_mirror) = _ray_frame(space, base), _public_ray_frame(space, center.tobytes())
    v = long.complex_reflect(mirror, long.pad(fixed(coordinates).reshape(2, -1)))
    return [Fraction(c, ONE) for c in long.complex_reflect(public_mirror, _turned_arc(x, v, p))[:, 1:].ravel()]


def _ray_frame(space: ElasticCurves, point: Points) -> tuple[Fixed, Fixed]:
    """A point projected to the manifold, and the reflection that the space uses there, with the phase in doubles too."""
    x = unit(np.stack([fixed(point.real), fixed(point.imag)]))
    first, mirror = complex(space._mirror(space._preshape(point))[0]), x.copy()
    mirror[:, 0] += unit(fixed(np.array([first.real, first.imag])))
    return x, unit(mirror)


@lru_cache(maxsize=16)
def _public_ray_frame(space: ElasticCurves, center: bytes) -> tuple[Fixed, Fixed]:
    return _ray_frame(space, np.frombuffer(center, dtype=np.complex128))


def _shape_frame(space: PlanarShapes, point: Points) -> tuple[Fixed, Fixed, Fixed]:
    """A point projected to the manifold, and the two reflections that the space uses there.  The phase of the second one is
    taken from the space, in doubles: where it hardly matters, it consists of rounding errors only."""
    k = space.landmarks
    pair = np.stack([fixed(point.real), fixed(point.imag)])
    x = unit(pair - np.sum(pair, axis=1, keepdims=True) // k)
    middle = _middle(k)
    first = complex(space._mirrors(space._preshape(point))[1][0])
    mirror = long.complex_reflect(middle, x)[:, 1:].copy()
    mirror[:, 0] += unit(fixed(np.array([first.real, first.imag])))
    return x, middle, unit(mirror)


@lru_cache(maxsize=16)
def _middle(k: int) -> Fixed:
    """The first reflection, which is the same at every point."""
    middle = np.stack([np.full(k, isqrt(ONE * ONE // k), dtype=object), np.zeros(k, dtype=object)])
    middle[0, 0] += ONE
    return unit(middle)


@lru_cache(maxsize=16)
def _public_shape_frame(space: PlanarShapes, center: bytes) -> tuple[Fixed, Fixed, Fixed]:
    """The frame at the public centre, which many releases share."""
    return _shape_frame(space, np.frombuffer(center, dtype=np.complex128))


def matrices(space: SPD, base: Points, coordinates: Array, center: Points) -> list[Fraction]:
    """Log(A·Exp(v)·Aᵀ), A = L⁻¹·F from the Cholesky factors of centre and base."""
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


EXACT: dict[type[Space], Exact] = {  # by the class itself: a subclass may have another geometry
    Euclidean: Exact(flat),
    Sphere: Exact(sphere),
    Simplex: Exact(sphere),
    PlanarShapes: Exact(shapes),
    ElasticCurves: Exact(curves),
    SPD: Exact(matrices, WIDEST / math.sqrt(2)),
    Rotations: Exact(up_to_sign),
    Axes: Exact(up_to_sign),
    Hyperbolic: Exact(hyperbolic, HYPERBOLIC),
}


@lru_cache(maxsize=64)
def exact_of(space: Space) -> Exact | None:
    """The exact map of a space, if it has one."""
    return Exact(flat) if isinstance(space, Flat) else EXACT.get(type(space))
