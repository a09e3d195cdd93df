"""The last steps of a release in long arithmetic: from the coordinates of a draw at the data's mean to whole numbers.

A double holds sixteen digits of a point, but the noise may only show in the last few of them.  So the map from the tangent
space at the mean to the one at the public centre is computed in fixed point, with whole numbers in units of 2^−192.  Only
the rounding of the random numbers themselves is left (proofs, Floating point).  Whole numbers give the same result whatever
the rounding mode, the number of threads or the processor.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import atan2, fsum, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..calibration.error import COARSE
from ..spaces import SPD, Euclidean, PlanarShapes, Sphere
from ..spaces.base import Array, Points, Space

BITS = 192
ONE = 1 << BITS
WIDEST = 30.0  # log of the largest condition number for which logarithms of matrices are computed

Fixed = NDArray[Any]  # Python integers in units of 2^−BITS


def is_precise(space: Space, reach: float) -> bool:
    """Whether draws within ``reach`` of the centre are rounded in long arithmetic.  This is so on the spaces of this package,
    except for matrices with condition numbers beyond e^30.  It is not so for a subclass, which may have another geometry."""
    return type(space) in _MAPS and not (isinstance(space, SPD) and np.sqrt(2) * reach > WIDEST)


def whole_numbers(space: Space, base: Points, coordinates: Array, center: Points, spacing: float) -> Array:
    """Coordinates at ``center`` of exp_base(coordinates), in units of ``spacing`` and rounded.

    >>> whole_numbers(Euclidean(dim=1), np.array([0.1]), np.array([0.2]), np.array([0.0]), 2.0**-4).tolist()
    [5.0]
    """
    if type(space) is Euclidean:
        terms = zip(base.tolist(), coordinates.tolist(), center.tolist(), strict=True)
        sums = [Fraction(b) + Fraction(c) - Fraction(p) for b, c, p in terms]
        return np.array([float(round(total / Fraction(spacing))) for total in sums])
    if type(space) not in _MAPS:
        point = space.exp(base, space.from_coordinates(base, coordinates))
        return np.asarray(np.rint(space.coordinates(center, space.log(center, point)) / spacing))
    found, scale = _MAPS[type(space)](space, base, coordinates, center)
    top, bottom = (Fraction(scale) * Fraction(spacing)).as_integer_ratio()
    unit = top << BITS
    return np.array([float((2 * c * bottom + unit) // (2 * unit)) for c in found])


def add_exactly(value: Array, noise: Array, spacing: Array | float) -> Array:
    """The lattice point nearest to value + noise, the sum being exact.

    >>> add_exactly(np.array([0.1]), np.array([0.2]), 0.25).tolist()
    [0.25]
    """
    spacings = np.broadcast_to(spacing, np.shape(value))
    terms = zip(value.ravel().tolist(), noise.ravel().tolist(), spacings.ravel().tolist(), strict=True)
    rounded = [float(round((Fraction(v) + Fraction(e)) / Fraction(s)) * Fraction(s)) for v, e, s in terms]
    return np.reshape(rounded, np.shape(value))


def coarse(matrix: Array) -> Array:
    """The matrix rounded to COARSE bits below its largest entry.

    >>> coarse(np.array([[0.5, 1e-9]])).tolist()
    [[0.5, 0.0]]
    """
    unit = 2.0 ** (np.frexp(np.abs(matrix).max())[1] - COARSE)
    return np.asarray(np.rint(matrix / unit) * unit)


def product(vector: Array, matrix: Array) -> Array:
    """vector @ matrix for a :func:`coarse` matrix, with each entry rounded once, so that no error adds up (unless terms cancel
    to less than 2^−70 of the largest one).

    The vector is divided into pieces with so few bits that their products with the matrix are exact in doubles.  The number
    of pieces does not depend on the vector.

    >>> product(np.array([1.0, 1e-17, -1.0]), np.ones((3, 1))).tolist()
    [1e-17]
    """
    bits = 53 - COARSE - len(vector).bit_length()
    count = -(-128 // bits)
    top = np.frexp(np.abs(vector).max())[1]
    rest, pieces = np.ldexp(vector, bits - top), np.empty((count, len(vector)))
    for i in range(count):
        pieces[i] = np.rint(rest)
        rest = np.ldexp(rest - pieces[i], bits)
    parts = np.ldexp(pieces @ matrix, top - bits * np.arange(1, count + 1)[:, None])
    return np.array([fsum(column) for column in parts.T.tolist()])


# -- numbers ---------------------------------------------------------------------------------------------------------------
_shift = np.frompyfunc(lambda number, places: number << places if places >= 0 else number >> -places, 2, 1)
_over = np.frompyfunc(lambda number: number / ONE, 1, 1)


def fixed(values: Array | float) -> Fixed:
    """Doubles in fixed point: exact down to 2^−BITS."""
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    return np.asarray(
        _shift((mantissa * 2.0**53).astype(np.int64).astype(object), (exponent + (BITS - 53)).astype(object))
    )


def _float(numbers: Fixed) -> Array:
    return np.asarray(_over(numbers), dtype=np.float64)


def _dot(a: Fixed, b: Fixed) -> int:
    return int(np.sum(a * b)) >> BITS


def _norm(a: Fixed) -> int:
    return isqrt(int(np.sum(a * a)))


def _unit(a: Fixed) -> Fixed:
    return np.asarray((a << BITS) // _norm(a))


def _cos_sin(t: int) -> tuple[int, int]:
    """Taylor's series at t/2^h below 2^−8, then h doublings of the angle."""
    halvings = max(0, t.bit_length() - BITS + 8)
    t >>= halvings
    cosine, sine, term, j = ONE, 0, ONE, 0
    while term:
        j += 1
        term = (term * t >> BITS) // j
        sign = -1 if j % 4 >= 2 else 1
        if j % 2:
            sine += sign * term
        else:
            cosine += sign * term
    for _ in range(halvings):
        cosine, sine = ONE - (sine * sine >> (BITS - 1)), sine * cosine >> (BITS - 1)
    return cosine, sine


def _angle(sine: int, cosine: int) -> int:
    """atan2 in doubles, then corrected: z = sin(θ − θ₀) is below 1e-15, so θ = θ₀ + z + z³/6 is exact to more than BITS."""
    start = int(fixed(atan2(sine / ONE, cosine / ONE)).item())
    c, s = _cos_sin(start)
    z = (sine * c - cosine * s) >> BITS
    return start + z + ((z * z >> BITS) * z >> BITS) // 6


# -- spheres and shapes: great circles -----------------------------------------------------------------------------------
def _end(x: Fixed, v: Fixed) -> Fixed:
    """cos(t)·x + sin(t)·v/t, t = ‖v‖."""
    t = _norm(v)
    cosine, sine = _cos_sin(t)
    return np.asarray((cosine * x + (sine << BITS) // max(t, 1) * v) >> BITS)


def _velocity(p: Fixed, y: Fixed) -> Fixed:
    """The velocity at p of the great circle to y."""
    cosine = _dot(p, y)
    u = y - (cosine * p >> BITS)
    sine = _norm(u)
    return np.asarray(_angle(sine, cosine) * u // max(sine, 1))


def _sphere(space: Space, base: Points, coordinates: Array, center: Points) -> tuple[list[int], float]:
    assert isinstance(space, Sphere)
    q = space._q
    x, p = _unit(fixed(base)), _unit(fixed(center))
    moved = np.append(fixed(0.0), fixed(coordinates) * int(fixed(q).item()) >> BITS)
    v = _velocity(p, _end(x, _reflect(_mirror(x), moved)))
    return list(_reflect(_mirror(p), v)[1:]), q


def _mirror(x: Fixed) -> Fixed:
    mirror = x.copy()
    mirror[0] += ONE if x[0] >= 0 else -ONE
    return _unit(mirror)


def _reflect(mirror: Fixed, v: Fixed) -> Fixed:
    return np.asarray(v - (2 * _dot(mirror, v) * mirror >> BITS))


def _shapes(space: Space, base: Points, coordinates: Array, center: Points) -> tuple[list[int], float]:
    """Complex vectors are pairs of real ones, (2, k)."""
    assert isinstance(space, PlanarShapes)
    x, middle, mirror = _shape_frame(space, base)
    p, _, public_mirror = _public_shape_frame(space, center.tobytes())
    v = _complex_reflect(middle, _pad(_complex_reflect(mirror, _pad(fixed(coordinates).reshape(2, -1)))))
    v = v - _complex_times(
        _complex_dot(x, v), x
    )  # the phase of the reflection is a double, so v was horizontal to 1e-16 only; now it is exact
    y = _end(x, v)
    turn = _complex_dot(p, y)
    y = _complex_times(_unit(turn * np.array([1, -1], dtype=object)), y)
    v = _complex_reflect(middle, _velocity(p, y))[:, 1:]
    return list(_complex_reflect(public_mirror, v)[:, 1:].ravel()), 1.0


def _shape_frame(space: PlanarShapes, point: Points) -> tuple[Fixed, Fixed, Fixed]:
    """A point projected to the manifold, and the two reflections that the space uses there.  The phase of the second one is
    taken from the space, in doubles: where it hardly matters, it consists of rounding errors only."""
    k = space.landmarks
    pair = np.stack([fixed(point.real), fixed(point.imag)])
    x = _unit(pair - np.sum(pair, axis=1, keepdims=True) // k)
    middle = _middle(k)
    first = complex(space._mirrors(space._preshape(point))[1][0])
    mirror = _complex_reflect(middle, x)[:, 1:].copy()
    mirror[:, 0] += _unit(fixed(np.array([first.real, first.imag])))
    return x, middle, _unit(mirror)


@lru_cache(maxsize=16)
def _middle(k: int) -> Fixed:
    """The first reflection, which is the same at every point."""
    middle = np.stack([np.full(k, isqrt(ONE * ONE // k), dtype=object), np.zeros(k, dtype=object)])
    middle[0, 0] += ONE
    return _unit(middle)


@lru_cache(maxsize=16)
def _public_shape_frame(space: PlanarShapes, center: bytes) -> tuple[Fixed, Fixed, Fixed]:
    """The frame at the public centre, which many releases share."""
    return _shape_frame(space, np.frombuffer(center, dtype=np.complex128))


def _pad(v: Fixed) -> Fixed:
    return np.concatenate([np.zeros((2, 1), dtype=object), v], axis=1)


def _complex_dot(m: Fixed, v: Fixed) -> Fixed:
    """Σ conj(m)·v."""
    return np.array([_dot(m, v), _dot(m[0], v[1]) - _dot(m[1], v[0])], dtype=object)


def _complex_times(w: Fixed, v: Fixed) -> Fixed:
    return np.stack([w[0] * v[0] - w[1] * v[1], w[0] * v[1] + w[1] * v[0]]) >> BITS


def _complex_reflect(mirror: Fixed, v: Fixed) -> Fixed:
    return np.asarray(v - 2 * _complex_times(_complex_dot(mirror, v), mirror))


# -- positive definite matrices --------------------------------------------------------------------------------------------
def _spd(space: Space, base: Points, coordinates: Array, center: Points) -> tuple[list[int], float]:
    assert isinstance(space, SPD)
    k = space.size
    rows, columns = np.triu_indices(k, 1)
    units = (
        np.frexp(np.diagonal(center))[1] // 2
    )  # rescale rows and columns by powers of two, which changes no coordinate
    low, factor = (_cholesky(fixed(np.ldexp(m, -units[:, None] - units))) for m in (center, base))
    half = isqrt(ONE * ONE // 2)
    c = fixed(coordinates)
    m = np.zeros((k, k), dtype=object)
    m[np.arange(k), np.arange(k)] = c[:k]
    m[rows, columns] = m[columns, rows] = c[k:] * half >> BITS
    side = _solve(low, factor)
    log = _matrix_log(((side @ _matrix_exp(m) >> BITS) @ side.T) >> BITS)
    return [*np.diagonal(log), *(log[rows, columns] * (2 * half) >> BITS)], 1.0


def _cholesky(a: Fixed) -> Fixed:
    low = np.zeros(a.shape, dtype=object)
    for j in range(len(a)):
        low[j, j] = isqrt((a[j, j] << BITS) - int(low[j, :j] @ low[j, :j]))
        low[j + 1 :, j] = ((a[j + 1 :, j] << BITS) - low[j + 1 :, :j] @ low[j, :j]) // low[j, j]
    return low


def _solve(low: Fixed, b: Fixed) -> Fixed:
    """low⁻¹·b."""
    x = np.zeros(b.shape, dtype=object)
    for i in range(len(b)):
        x[i] = ((b[i] << BITS) - low[i, :i] @ x[:i]) // low[i, i]
    return x


def _matrix_exp(m: Fixed) -> Fixed:
    """Taylor's series at m/2^h, of norm below 2^−8, then h squarings."""
    halvings = max(0, _norm(m).bit_length() - BITS + 8)
    small = m >> halvings
    term = np.diag([ONE] * len(m)).astype(object)
    total, j = term, 0
    while np.any(np.abs(term) > 1):
        j += 1
        term = (term @ small >> BITS) // j
        total = total + term
    for _ in range(halvings):
        total = total @ total >> BITS
    return np.asarray(total)


def _matrix_log(w: Fixed) -> Fixed:
    """Newton's method for e^x = w: the residual in fixed point, the correction in doubles, by divided differences in the
    eigenbasis of x (Daleckii and Krein).  Each step gains sixteen digits, less those of the condition number; after the last
    one the error is below 1e-25."""
    values, vectors = np.linalg.eigh(_float(w))
    x = fixed(_symmetric((vectors * np.log(np.maximum(values, values[-1] * 1e-20))) @ vectors.T))
    for _ in range(50):
        values, vectors = np.linalg.eigh(_float(x))
        gap = (values[:, None] - values) / 2
        slope = np.exp((values[:, None] + values) / 2) * np.where(
            gap == 0, 1.0, np.sinh(gap) / np.where(gap == 0, 1.0, gap)
        )
        residual = _float(w - _matrix_exp(x))
        step = _symmetric(vectors @ (vectors.T @ residual @ vectors / slope) @ vectors.T)
        x = x + fixed(step)
        size = float(np.abs(step).max())
        if size * (size + 1e-13) * np.exp(np.ptp(values)) < 1e-25:
            return x
    return 0 * x  # the public centre, for a draw far beyond the condition numbers that is_precise admits


def _symmetric(m: Array) -> Array:
    return np.asarray((m + m.T) / 2)


_MAPS: dict[type[Space], Callable[[Space, Points, Array, Points], tuple[list[int], float]]] = {
    Euclidean: lambda *_: ([], 1.0),  # exact fractions need no map
    Sphere: _sphere,
    PlanarShapes: _shapes,
    SPD: _spd,
}
