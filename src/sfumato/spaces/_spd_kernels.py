"""Compiled loops for covariance matrices; see ``_kernels.py``.

Matrices larger than 2×2 are worked on eight at a time, each of their entries being one vector of eight numbers: code reads as
if it were for one matrix.  Lower triangles are kept by rows; to be inverted, they are filled up with rows of the identity to a
multiple of four.  Records and weights must lie side by side in memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._kernels import TINY, _compile, _inside, _sum
from ._lanes import (
    LANES,
    all_of,
    below,
    gather,
    get,
    lane,
    log,
    most,
    place_of,
    put,
    root,
    sum_of,
    where_positive,
    where_zero,
)
from .base import RUN, Array

NUMBER = 8  # bytes
WIDTH = NUMBER * LANES


@_compile
def plane_faults(points: Array, least: float) -> Any:
    """Which 2×2 matrices are not exactly symmetric and positive definite by the margin ``least``, relative to their
    diagonal."""
    bad = np.empty(len(points), dtype=np.bool_)
    for i in range(len(points)):
        a, b, c = points[i, 0, 0], points[i, 0, 1], points[i, 1, 1]
        fine = (a > 0.0) & (c > 0.0) & (b == points[i, 1, 0]) & (a * c * (1.0 - least) > b * b) & (a * c < math.inf)
        bad[i] = not fine
    return bad


@_compile
def _whitened(points: Array, i: int, inverse: Array) -> Any:
    """mean, half and off with L⁻¹yL⁻ᵀ = mean + (half, off; off, −half), for 2×2 matrices."""
    i0, i1, i2 = inverse[0, 0], inverse[1, 0], inverse[1, 1]
    a, b, c = points[i, 0, 0], points[i, 0, 1], points[i, 1, 1]
    t = i1 * a + i2 * b
    p = i0 * i0 * a
    r = i1 * t + i2 * (i1 * b + i2 * c)
    return 0.5 * (p + r), 0.5 * (p - r), i0 * t


@_compile
def _determinant(points: Array, i: int, inverse: Array) -> Any:
    scale = inverse[0, 0] * inverse[1, 1]
    return (points[i, 0, 0] * points[i, 1, 1] - points[i, 0, 1] * points[i, 0, 1]) * scale * scale


@_compile
def _artanh_ratio(series: Any, x2: float) -> Any:
    """e/x = e·coth e for e = artanh x, from a series in x₂² after halving twice: tanh(e/2) = x/(1 + √(1 − x²))."""
    root = 1.0 + math.sqrt(max(1.0 - x2, 0.0))
    y2 = x2 / (root * root)
    deep = 1.0 + math.sqrt(max(1.0 - y2, 0.0))
    return 4.0 * _sum(series, y2 / (deep * deep)) / (root * deep)


@_compile
def plane_moments(points: Array, inverse: Array, series: Any, widest: float) -> Any:
    """Sums over 2×2 matrices y with w = L⁻¹yL⁻ᵀ = mean + (half, off; off, −half): those of β·half and β·off, where
    Log w = ½log det w + β·(w − mean); e², e half the gap of the logarithm's eigenvalues; of (e·coth e − 1) times the projection
    on the direction that turns the eigenvectors (three numbers); of log det w; and how many determinants are not positive.

    e = artanh x, x = gap/mean, by a series.  Where x² is above ``widest`` and the series does not hold, the difference to
    e = ½log(λ₁²/det w) is added afterwards, record by record.
    """
    total = np.zeros(8)
    for start in range(0, len(points), RUN):
        first = second = square = h11 = h12 = h22 = level = wide = lost = 0.0
        stop = min(start + RUN, len(points))
        for i in range(start, stop):
            mean, half, off = _whitened(points, i, inverse)
            x2 = (half * half + off * off) / (mean * mean)
            ratio = _artanh_ratio(series, x2)
            beta = ratio / mean
            curve = (ratio - 1.0) / (max(x2, TINY) * mean * mean)
            first += beta * half
            second += beta * off
            square += ratio * ratio * x2
            h11 += curve * off * off
            h12 -= curve * half * off
            h22 += curve * half * half
            wide += 1.0 if x2 > widest else 0.0
        if wide > 0.0:
            for i in range(start, stop):
                mean, half, off = _whitened(points, i, inverse)
                gap2 = half * half + off * off
                if gap2 > widest * mean * mean:
                    gap, determinant = math.sqrt(gap2), _determinant(points, i, inverse)
                    lost += 0.0 if determinant > 0.0 else 1.0
                    ratio = 0.5 * math.log((mean + gap) * (mean + gap) / max(determinant, 1e-300)) * mean / gap
                    wrong = _artanh_ratio(series, gap2 / (mean * mean))
                    first += (ratio - wrong) / mean * half
                    second += (ratio - wrong) / mean * off
                    square += (ratio - wrong) * (ratio + wrong) * (gap2 / (mean * mean))
                    curve = (ratio - wrong) / gap2
                    h11 += curve * off * off
                    h12 -= curve * half * off
                    h22 += curve * half * half
        for group in range(start, stop, 16):
            product = 1.0  # determinants of sixteen, one logarithm
            for i in range(group, min(group + 16, stop)):
                product *= _determinant(points, i, inverse)
            if 1e-280 < product < 1e280:
                level += math.log(product)
            else:
                for i in range(group, min(group + 16, stop)):
                    determinant = _determinant(points, i, inverse)
                    lost += 0.0 if 0.0 < determinant < math.inf else 1.0
                    level += math.log(max(determinant, 1e-300))
        for k, value in enumerate((first, second, square, h11, h12, h22, level, lost)):
            total[k] += value
    return total


@_inside
def _entry(i: int, j: int) -> Any:
    """Where entry (i, j) of a triangle is, i ≥ j, in bytes from its beginning."""
    return WIDTH * (i * (i + 1) // 2 + j)


def room(k: int) -> tuple[Array, Any]:
    """Room for eight k×k matrices twice, for their triangles four times, and for four columns; and to begin where the
    processor likes to.  And k numbers: where they are a tuple, code is compiled for this k alone, with its loops unrolled."""
    full = (k + 3) // 4 * 4
    return np.empty(LANES * (2 * k * k + 2 * full * (full + 1) + 4 * full + 1)), (0.0,) * k if k <= 4 else np.empty(k)


@_inside
def _places(room: Any) -> Any:
    k = len(room[1])
    full, begin = (k + 3) // 4 * 4, place_of(room[0]) + -room[0].ctypes.data % WIDTH
    y, half = begin, begin + WIDTH * k * k
    w = half + WIDTH * k * k
    m = w + _entry(full, 0)
    logs, part = m + _entry(full, 0), m + 2 * _entry(full, 0)
    return y, half, w, m, logs, part, part + _entry(full, 0)


@_inside
def _fill(points: Array, first: int, k: int, y: Any) -> None:
    """Eight matrices, the last one again where there are no more."""
    start, size = place_of(points) + NUMBER * first * k * k, NUMBER * k * k
    for i in range(k):
        for j in range(i + 1):
            entries = gather(start + NUMBER * (i * k + j), size, min(LANES, len(points) - first))
            put(y + WIDTH * (i * k + j), entries)
            put(y + WIDTH * (j * k + i), entries)


@_inside
def _whiten(y: Any, inverse: Array, k: int, half: Any, w: Any) -> None:
    """L⁻¹yL⁻ᵀ, from the inverse of L."""
    for i in range(k):
        for j in range(k):
            s = all_of(0.0)
            for q in range(i + 1):
                s = s + all_of(inverse[i, q]) * get(y + WIDTH * (q * k + j))
            put(half + WIDTH * (i * k + j), s)
    for i in range(k):
        for j in range(i + 1):
            s = all_of(0.0)
            for q in range(j + 1):
                s = s + all_of(inverse[j, q]) * get(half + WIDTH * (i * k + q))
            put(w + _entry(i, j), s)


@_inside
def _fill_up(m: Any, k: int) -> None:
    for i in range(k, (k + 3) // 4 * 4):
        for j in range(i + 1):
            put(m + _entry(i, j), all_of(1.0 if j == i else 0.0))


@_inside
def _combine(w: Any, x: float, k: int, m: Any) -> None:
    """x·w + 1 − x, filled up."""
    for place in range(0, _entry(k, 0), WIDTH):
        put(m + place, all_of(x) * get(w + place))
    for i in range(k):
        put(m + _entry(i, i), get(m + _entry(i, i)) + all_of(1.0 - x))
    _fill_up(m, k)


@_inside
def _factors(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any, j: Any, fine: Any) -> Any:
    """L, of ones and (b; d, e; g, h, i) below them, and 1/D of 4×4 matrices (a; b, c; d, e, f; g, h, i, j) = L·D·Lᵀ; and
    ``fine`` where they are positive definite, 0 elsewhere.  Each division serves two pivots."""
    first, tiny = a * c - b * b, all_of(1e-290)  # smaller ones lose digits
    fine, one = where_positive(a, where_positive(a * first - tiny, fine)), all_of(1.0) / (a * first)
    fine = where_positive(one - tiny, fine)  # larger ones are too large for products
    p, q = first * one, a * a * one
    b, d0, g0 = b * p, d * p, g * p
    e, h = e - b * d, h - b * g
    e0, h0 = e * q, h * q
    f, i, j = f - d0 * d - e0 * e, i - d0 * g - e0 * h, j - g0 * g - h0 * h
    second = f * j - i * i
    fine, one = where_positive(f, where_positive(f * second - tiny, fine)), all_of(1.0) / (f * second)
    fine = where_positive(one - tiny, fine)
    r, s = second * one, f * f * one
    return b, d0, e0, g0, h0, i * r, p, q, r, s, fine


@_inside
def _inverse(b: Any, d: Any, e: Any, g: Any, h: Any, i: Any, p: Any, q: Any, r: Any, s: Any) -> Any:
    """The inverse of 4×4 matrices from their factors: (L⁻¹)ᵀ·D⁻¹·L⁻¹."""
    d = d - e * b
    g, h = g - h * b - i * d, h - i * e
    i0, h0, g0, e0, d0 = i * s, h * s, g * s, e * r, d * r
    a, c, f = p + b * b * q + d0 * d + g0 * g, q + e0 * e + h0 * h, r + i0 * i
    zero = all_of(0.0)
    return a, d0 * e + g0 * h - b * q, c, g0 * i - d0, h0 * i - e0, f, zero - g0, zero - h0, zero - i0, s


@_inside
def _negative_inverse(m: Any, k: int, u: Any) -> Any:
    """−m⁻¹ in the place of m, by sweeping out four rows and columns after the other (Gauss and Jordan); 1 where m is positive
    definite, 0 elsewhere.  The four are factored, as products with their inverse would square the condition number."""
    k, fine = (k + 3) // 4 * 4, all_of(1.0)
    v, w, x = u + WIDTH * k, u + 2 * WIDTH * k, u + 3 * WIDTH * k
    for p in range(0, k, 4):
        q, r, s, t = m + _entry(p, p), m + _entry(p + 1, p), m + _entry(p + 2, p), m + _entry(p + 3, p)
        i, j, o = get(t + WIDTH), get(t + 2 * WIDTH), get(t + 3 * WIDTH)
        some = get(q), get(r), get(r + WIDTH), get(s), get(s + WIDTH), get(s + 2 * WIDTH), get(t), i, j, o
        b, d, e, g, h, i, q0, q1, q2, q3, fine = _factors(*some, fine)
        for n in range(k if k > 4 else 0):  # L⁻¹ times the four columns
            o0 = get(m + _entry(max(n, p), min(n, p)))
            o1 = get(m + _entry(max(n, p + 1), min(n, p + 1))) - b * o0
            o2 = get(m + _entry(max(n, p + 2), min(n, p + 2))) - d * o0 - e * o1
            put(u + WIDTH * n, o0)
            put(v + WIDTH * n, o1)
            put(w + WIDTH * n, o2)
            put(x + WIDTH * n, get(m + _entry(max(n, p + 3), min(n, p + 3))) - g * o0 - h * o1 - i * o2)
        for n in range(k):
            if not p <= n < p + 4:
                at = WIDTH * n
                r0, r1, r2, r3 = q0 * get(u + at), q1 * get(v + at), q2 * get(w + at), q3 * get(x + at)
                row = m + _entry(n, 0)
                for at in range(0, WIDTH * (n + 1), WIDTH):
                    less = r0 * get(u + at) + r1 * get(v + at) + r2 * get(w + at) + r3 * get(x + at)
                    put(row + at, get(row + at) - less)
                r2 = r2 - i * r3
                r1 = r1 - e * r2 - h * r3
                put(m + _entry(max(n, p), min(n, p)), r0 - b * r1 - d * r2 - g * r3)
                put(m + _entry(max(n, p + 1), min(n, p + 1)), r1)
                put(m + _entry(max(n, p + 2), min(n, p + 2)), r2)
                put(m + _entry(max(n, p + 3), min(n, p + 3)), r3)
        some = _inverse(b, d, e, g, h, i, q0, q1, q2, q3)
        for n in range(4):
            for at in range(n + 1):
                put(m + _entry(p + n, p + at), all_of(0.0) - some[n * (n + 1) // 2 + at])
    return fine


@_inside
def _add_node(w: Any, k: int, x: float, factor: float, m: Any, logs: Any, u: Any) -> Any:
    """−factor·(x·w + 1 − x)⁻¹, added to ``logs``, of small matrices without a copy of them, of 3×3 ones from their cofactors; 1
    where that is positive definite, 0 elsewhere."""
    if k == 3:
        s, r = all_of(x), all_of(1.0 - x)
        a, b, c = s * get(w) + r, s * get(w + WIDTH), s * get(w + 2 * WIDTH) + r
        d, e, f = s * get(w + 3 * WIDTH), s * get(w + 4 * WIDTH), s * get(w + 5 * WIDTH) + r
        p, q, s = a * f - d * d, b * d - a * e, a * c - b * b
        t = p * s - q * q  # a times the determinant: summed along a row, that would square the condition number
        fine, r = where_positive(a, where_positive(s, where_positive(t, all_of(1.0)))), all_of(-factor) * a / t
        put(logs, get(logs) + (c * f - e * e) * r)
        put(logs + WIDTH, get(logs + WIDTH) + (d * e - b * f) * r)
        put(logs + 2 * WIDTH, get(logs + 2 * WIDTH) + p * r)
        put(logs + 3 * WIDTH, get(logs + 3 * WIDTH) + (b * e - c * d) * r)
        put(logs + 4 * WIDTH, get(logs + 4 * WIDTH) + q * r)
        put(logs + 5 * WIDTH, get(logs + 5 * WIDTH) + s * r)
    elif k == 4:
        s, r, t = all_of(x), all_of(1.0 - x), w + 6 * WIDTH
        a, b, c = s * get(w) + r, s * get(w + WIDTH), s * get(w + 2 * WIDTH) + r
        d, e, f = s * get(w + 3 * WIDTH), s * get(w + 4 * WIDTH), s * get(w + 5 * WIDTH) + r
        g, h, i, j = s * get(t), s * get(t + WIDTH), s * get(t + 2 * WIDTH), s * get(t + 3 * WIDTH) + r
        b, d, e, g, h, i, p, q, s, t, fine = _factors(a, b, c, d, e, f, g, h, i, j, all_of(1.0))
        some = _inverse(b, d, e, g, h, i, p, q, s, t)
        for z in range(10):
            put(logs + WIDTH * z, get(logs + WIDTH * z) - all_of(factor) * some[z])
    else:
        _combine(w, x, k, m)
        fine = _negative_inverse(m, k, u)
        for place in range(0, _entry(k, 0), WIDTH):
            put(logs + place, get(logs + place) + all_of(factor) * get(m + place))
    return fine


@_inside
def _largest(a: Any, k: int) -> Any:
    """A bound on the largest |eigenvalue| of matrices of one sign: the mean of all, and √(k − 1) times their root mean square
    distance from it (Samuelson 1968); a millionth more for rounding."""
    mean, square = all_of(0.0), all_of(0.0)
    for i in range(k):
        mean = mean + get(a + _entry(i, i))
    mean = mean * all_of(1.0 / k)
    for i in range(k):
        d = get(a + _entry(i, i)) - mean
        square = square + d * d
        for j in range(i):
            d = get(a + _entry(i, j))
            square = square + (d + d) * d
    return (root(mean * mean) + root(square * all_of((k - 1) / k))) * all_of(1 + 1e-6)


@_inside
def _clear(begin: Any, k: int) -> None:
    for at in range(0, _entry(k, 0), WIDTH):
        put(begin + at, all_of(0.0))


@_inside
def _whole(triangle: Any, k: int) -> Any:
    """The sum of eight matrices."""
    total = np.empty((k, k))
    for i in range(k):
        for j in range(i + 1):
            total[i, j] = total[j, i] = sum_of(get(triangle + _entry(i, j)))
    return total


@_compile
def matrix_inverses(points: Array, inverse: Array, room: Any) -> Any:
    """The sum of w⁻¹ over matrices w = L⁻¹yL⁻ᵀ."""
    n, k = len(points), len(room[1])
    y, half, w, m, logs, part, u = _places(room)
    _clear(part, k)
    for first in range(0, n, LANES):
        _fill(points, first, k, y)
        _whiten(y, inverse, k, half, w)
        _clear(logs, k)
        _add_node(w, k, 1.0, -1.0, m, logs, u)
        there = below(min(LANES, n - first))
        for place in range(0, _entry(k, 0), WIDTH):
            put(part + place, get(part + place) + where_positive(there, get(logs + place)))
    return _whole(part, k)


@_compile
def matrix_moments(
    points: Array, weights: Array, inverse: Array, widths: Array, counts: Any, rules: Array, room: Any
) -> Any:
    """Sums over matrices w = L⁻¹yL⁻ᵀ, with weights for each record or one for all, of Log w, of its squared length, of its
    squared trace, and of one; and which were left out, as their spectrum is wider than all ``widths``.

    Log w = log c + Σⱼ fⱼ·(1 − (xⱼ·w/c + 1 − xⱼ)⁻¹) with the nodes xⱼ and factors fⱼ of ``rules`` for the first of ``widths``
    not below λ₁/λₖ of any of eight records, c² = λ₁λₖ, λ₁ and 1/λₖ being bounds on the eigenvalues of w and of w⁻¹.
    """
    n, k = len(points), len(room[1])
    y, half, w, m, logs, part, u = _places(room)
    total, sums, wide, each = np.zeros((k, k)), np.zeros(3), np.zeros(n, dtype=np.bool_), NUMBER * (len(weights) > 1)
    for start in range(0, n, RUN):
        _clear(part, k)
        square = trace = weight = all_of(0.0)
        for first in range(start, min(start + RUN, n), LANES):
            _fill(points, first, k, y)
            _whiten(y, inverse, k, half, w)
            _clear(logs, k)
            fine = _add_node(w, k, 1.0, 1.0, m, logs, u)
            high, low = _largest(w, k), _largest(logs, k)
            width, ratio, count = high * low, high / low, min(LANES, n - first)
            fine = where_positive(all_of(widths[-1]) - width, where_positive(ratio - all_of(1e-290), fine))
            fine = where_positive(all_of(1e290) - ratio, fine)
            scale, level = all_of(1.0) / root(ratio), where_positive(fine, all_of(0.5) * log(ratio))
            share = where_positive(fine, gather(place_of(weights) + each * first, each, count))
            if count < LANES:
                share = share * below(count)
            row, widest = 0, most(where_positive(fine, width))
            if sum_of(fine) < LANES:
                for z in range(LANES):
                    wide[min(first + z, n - 1)] |= not lane(fine, z) > 0.0
            while widths[row] < widest:
                row += 1
            for place in range(0, _entry(k, 0), WIDTH):
                put(w + place, where_positive(fine, get(w + place) * scale))
            _clear(logs, k)
            for j in range(counts[row]):
                _add_node(w, k, rules[row, 0, j], rules[row, 1, j], m, logs, u)
                level = level + all_of(rules[row, 1, j])
            more, mean = _add_log(logs, level, share, k, part)
            square, trace, weight = square + share * more, trace + share * mean * mean, weight + share
        total += _whole(part, k)
        sums += np.array([sum_of(square), sum_of(trace), sum_of(weight)])
    return total, sums, wide


@_inside
def _add_log(logs: Any, level: Any, share: Any, k: int, part: Any) -> Any:
    """share·(logs + level), added to ``part``; the squared lengths and the traces of logs + level."""
    square = trace = all_of(0.0)
    for i in range(k):
        for j in range(i + 1):
            entry = get(logs + _entry(i, j))
            if i == j:
                entry = entry + level
                trace = trace + entry
                square = square + entry * entry
            else:
                square = square + (entry + entry) * entry
            put(part + _entry(i, j), get(part + _entry(i, j)) + share * entry)
    return square, trace


@_compile
def matrix_faults(points: Array, least: float, room: Any) -> Any:
    """Which matrices need a closer look: all but those that are exactly symmetric and positive definite by the margin
    ``least``, relative to their diagonal."""
    n, k = len(points), len(room[1])
    _, _, _, m, _, _, u = _places(room)
    faults = np.zeros(n, dtype=np.bool_)
    for first in range(0, n, LANES):
        start, count, same = place_of(points) + NUMBER * first * k * k, min(LANES, n - first), all_of(1.0)
        for i in range(k):
            for j in range(i + 1):
                here = gather(start + NUMBER * (i * k + j), NUMBER * k * k, count)
                skew = here - gather(start + NUMBER * (j * k + i), NUMBER * k * k, count)
                same = where_zero(skew, same)
                put(m + _entry(i, j), here * all_of(1.0 - least) if i == j else here)
        _fill_up(m, k)
        fine = where_positive(same, _negative_inverse(m, k, u))
        for i in range(k):  # an infinite variance has none
            fine = where_positive(all_of(0.0) - get(m + _entry(i, i)), fine)
        for z in range(count):
            faults[first + z] = not lane(fine, z) > 0.0
    return faults
