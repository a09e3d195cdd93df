"""Long arithmetic: whole numbers in units of 2^−192, which give the same result whatever the rounding mode, the number of
threads or the processor."""

from math import asinh, atan2, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Array

BITS = 192
ONE = 1 << BITS

Fixed = NDArray[Any]  # Python integers in units of 2^−BITS

_shift = np.frompyfunc(lambda number, places: number << places if places >= 0 else number >> -places, 2, 1)
_over = np.frompyfunc(lambda number: number / ONE, 1, 1)


def fixed(values: Array | float) -> Fixed:
    """Return doubles in fixed point: exact down to 2^−BITS.

    >>> int(fixed(0.75)) == 3 * ONE // 4
    True
    """
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    whole = (mantissa * 2.0**53).astype(np.int64).astype(object)
    return np.asarray(_shift(whole, (exponent + (BITS - 53)).astype(object)))


def to_float(numbers: Fixed) -> Array:
    """Return the nearest doubles."""
    return np.asarray(_over(numbers), dtype=np.float64)


def dot(a: Fixed, b: Fixed) -> int:
    return int(np.sum(a * b)) >> BITS


def norm(a: Fixed) -> int:
    return isqrt(int(np.sum(a * a)))


def unit(a: Fixed) -> Fixed:
    return np.asarray((a << BITS) // norm(a))


def cos_sin(t: int, sign: int = -1) -> tuple[int, int]:
    """Return cos t and sin t; with the sign 1 cosh t and sinh t.  Taylor's series at t/2^h below 2^−8, then h doublings."""
    halvings = max(0, t.bit_length() - BITS + 8)
    t >>= halvings
    sums = [ONE, 0]
    term = ONE
    j = 0
    while term:
        j += 1
        term = (term * t >> BITS) // j
        sums[j % 2] += sign ** (j // 2) * term
    cosine, sine = sums
    for _ in range(halvings):
        doubled = sine * cosine >> (BITS - 1)
        cosine = ONE + sign * (sine * sine >> (BITS - 1))
        sine = doubled
    return cosine, sine


def angle_of(sine: int, cosine: int, sign: int = -1) -> int:
    """Return the angle of a sine and cosine; with the sign 1, the number of a sinh and cosh.  In doubles, then corrected:
    z = sin(θ − θ₀) is below 1e-13, so θ = θ₀ + z + z³/6, or z − z³/6 of a sinh, is exact to more than BITS."""
    start = int(fixed(atan2(sine / ONE, cosine / ONE) if sign < 0 else asinh(sine / ONE)).item())
    c, s = cos_sin(start, sign)
    z = (sine * c - cosine * s) >> BITS
    return start + z - sign * (((z * z >> BITS) * z >> BITS) // 6)


# -- great circles of the unit sphere ------------------------------------------------------------------------------------
def arc_end(x: Fixed, v: Fixed) -> Fixed:
    """Return cos(t)·x + sin(t)·v/t, t = ‖v‖."""
    t = norm(v)
    cosine, sine = cos_sin(t)
    return np.asarray((cosine * x + (sine << BITS) // max(t, 1) * v) >> BITS)


def arc_velocity(p: Fixed, y: Fixed) -> Fixed:
    """Return the velocity at p of the great circle to y."""
    cosine = dot(p, y)
    u = y - (cosine * p >> BITS)
    sine = norm(u)
    return np.asarray(angle_of(sine, cosine) * u // max(sine, 1))


def mirror_of(x: Fixed) -> Fixed:
    """Return the mirror whose reflection takes the unit vector x to ∓e₀."""
    mirror = x.copy()
    mirror[0] += ONE if x[0] >= 0 else -ONE
    return unit(mirror)


def reflect(mirror: Fixed, v: Fixed) -> Fixed:
    return np.asarray(v - (2 * dot(mirror, v) * mirror >> BITS))


# -- the hyperboloid ------------------------------------------------------------------------------------------------------
def boost(p: Fixed, x: Fixed) -> Fixed:
    """Return the boost that takes the origin to the point with the space-like part p, applied to (x₀, x₁, …)."""
    p0 = isqrt(ONE * ONE + int(np.sum(p * p)))
    along = dot(p, x[1:])
    moved = x[1:] + ((x[0] + (along << BITS) // (ONE + p0)) * p >> BITS)
    return np.append((p0 * x[0] >> BITS) + along, moved)


# -- complex vectors, as pairs of real ones (2, k) ------------------------------------------------------------------------
def pad(v: Fixed) -> Fixed:
    return np.concatenate([np.zeros((2, 1), dtype=object), v], axis=1)


def complex_dot(m: Fixed, v: Fixed) -> Fixed:
    """Return Σ conj(m)·v."""
    return np.array([dot(m, v), dot(m[0], v[1]) - dot(m[1], v[0])], dtype=object)


def complex_times(w: Fixed, v: Fixed) -> Fixed:
    return np.stack([w[0] * v[0] - w[1] * v[1], w[0] * v[1] + w[1] * v[0]]) >> BITS


def complex_reflect(mirror: Fixed, v: Fixed) -> Fixed:
    return np.asarray(v - 2 * complex_times(complex_dot(mirror, v), mirror))


# -- matrices ------------------------------------------------------------------------------------------------------------
def cholesky(a: Fixed) -> Fixed:
    low = np.zeros(a.shape, dtype=object)
    for j in range(len(a)):
        low[j, j] = isqrt((a[j, j] << BITS) - int(low[j, :j] @ low[j, :j]))
        low[j + 1 :, j] = ((a[j + 1 :, j] << BITS) - low[j + 1 :, :j] @ low[j, :j]) // low[j, j]
    return low


def solve(low: Fixed, b: Fixed) -> Fixed:
    """Return low⁻¹·b."""
    x = np.zeros(b.shape, dtype=object)
    for i in range(len(b)):
        x[i] = ((b[i] << BITS) - low[i, :i] @ x[:i]) // low[i, i]
    return x


def matrix_exp(m: Fixed) -> Fixed:
    """Return the exponential, by Taylor's series at m/2^h, of norm below 2^−8, then h squarings."""
    halvings = max(0, norm(m).bit_length() - BITS + 8)
    small = m >> halvings
    term = np.diag([ONE] * len(m)).astype(object)
    total = term
    j = 0
    while np.any(np.abs(term) > 1):
        j += 1
        term = (term @ small >> BITS) // j
        total = total + term
    for _ in range(halvings):
        total = total @ total >> BITS
    return np.asarray(total)


def matrix_log(w: Fixed) -> Fixed:
    """Return the logarithm, by Newton's method for e^x = w: the residual in fixed point, the correction in doubles, by divided
    differences in the eigenbasis of x (Daleckii and Krein).  Each step gains sixteen digits, less those of the condition
    number; after the last one the error is below 1e-25."""
    values, vectors = np.linalg.eigh(to_float(w))
    x = fixed(_symmetric((vectors * np.log(np.maximum(values, values[-1] * 1e-20))) @ vectors.T))
    for _ in range(50):
        values, vectors = np.linalg.eigh(to_float(x))
        gap = (values[:, None] - values) / 2
        ratio = np.where(gap == 0, 1.0, np.sinh(gap) / np.where(gap == 0, 1.0, gap))
        slope = np.exp((values[:, None] + values) / 2) * ratio
        residual = to_float(w - matrix_exp(x))
        step = _symmetric(vectors @ (vectors.T @ residual @ vectors / slope) @ vectors.T)
        x = x + fixed(step)
        size = float(np.abs(step).max())
        if size * (size + 1e-13) * np.exp(np.ptp(values)) < 1e-25:
            return x
    return 0 * x  # the public centre, for a draw far beyond the condition numbers that are admitted


def _symmetric(m: Array) -> Array:
    return np.asarray((m + m.T) / 2)
