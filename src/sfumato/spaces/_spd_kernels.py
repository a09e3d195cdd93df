"""Compiled loops for covariance matrices; see ``_kernels.py``.

Those larger than 2×2 are worked on side by side, LANES records in a row of an array for each entry, so that the compiler makes
vector instructions of every loop over records.  Entries are in tiles of 4×4, tile (i, j), j ≤ i, being the (i(i + 1)/2 + j)th;
those on the diagonal are whole, and the last row of tiles is filled up with the identity.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._kernels import TINY, _compile, _sum
from .base import RUN, Array

LANES = 64  # records side by side
TILE = 16 * LANES


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


@_compile
def _entry(i: int, j: int) -> Any:
    """Where the lanes of entry (i, j), i ≥ j, or of one in a tile on the diagonal, begin."""
    return ((i // 4) * (i // 4 + 1) // 2 + j // 4) * TILE + (4 * (i % 4) + j % 4) * LANES


@_compile
def _set(rows: Array, value: float, count: int) -> None:
    for start in range(0, len(rows), LANES):
        row = rows[start : start + LANES]
        for z in range(count):
            row[z] = value


@_compile
def _add_inverse(w: Array, x: float, y: float, factor: float, shift: float, out: Array, count: int) -> None:
    """shift + factor·(x·w + y)⁻¹ for tiles (a; b, c; d, e, f; g, h, i, j), by halves; added to ``out``."""
    for z in range(count):
        a, b, c = x * w[z] + y, x * w[4 * LANES + z], x * w[5 * LANES + z] + y
        d, e, f = x * w[8 * LANES + z], x * w[9 * LANES + z], x * w[10 * LANES + z] + y
        g, h, i, j = x * w[12 * LANES + z], x * w[13 * LANES + z], x * w[14 * LANES + z], x * w[15 * LANES + z] + y
        r = 1.0 / (a * c - b * b)
        p, q, s = c * r, -b * r, a * r
        d0, d1, g0, g1 = d * p + e * q, d * q + e * s, g * p + h * q, g * q + h * s
        f, i, j = f - d0 * d - d1 * e, i - g0 * d - g1 * e, j - g0 * g - g1 * h
        r = factor / (f * j - i * i)
        f, i, j = j * r, -i * r, f * r
        d, e, g, h = -(f * d0 + i * g0), -(f * d1 + i * g1), -(i * d0 + j * g0), -(i * d1 + j * g1)
        b = factor * q - d0 * e - g0 * h
        out[z] += shift + factor * p - d0 * d - g0 * g
        out[LANES + z] += b
        out[2 * LANES + z] += d
        out[3 * LANES + z] += g
        out[4 * LANES + z] += b
        out[5 * LANES + z] += shift + factor * s - d1 * e - g1 * h
        out[6 * LANES + z] += e
        out[7 * LANES + z] += h
        out[8 * LANES + z] += d
        out[9 * LANES + z] += e
        out[10 * LANES + z] += shift + f
        out[11 * LANES + z] += i
        out[12 * LANES + z] += g
        out[13 * LANES + z] += h
        out[14 * LANES + z] += i
        out[15 * LANES + z] += shift + j


@_compile
def _add_inverse3(w: Array, x: float, y: float, factor: float, shift: float, out: Array, count: int) -> None:
    """The same for 3×3 matrices in a tile, from their cofactors; only below the diagonal."""
    for z in range(count):
        a, b, c = x * w[z] + y, x * w[4 * LANES + z], x * w[5 * LANES + z] + y
        d, e, f = x * w[8 * LANES + z], x * w[9 * LANES + z], x * w[10 * LANES + z] + y
        p, q, s = c * f - e * e, d * e - b * f, b * e - c * d
        r = factor / (a * p + b * q + d * s)
        out[z] += shift + p * r
        out[4 * LANES + z] += q * r
        out[5 * LANES + z] += shift + (a * f - d * d) * r
        out[8 * LANES + z] += s * r
        out[9 * LANES + z] += (b * d - a * e) * r
        out[10 * LANES + z] += shift + (a * c - b * b) * r


@_compile
def _add_product(out: Array, sign: float, a: Array, b: Array, count: int) -> None:
    """out ± a·bᵀ into ``out``, for tiles; two of their rows at a time, which share what is read of b."""
    for start in range(0, TILE, 8 * LANES):
        x, y = a[start : start + 8 * LANES], out[start : start + 8 * LANES]
        for z in range(count):
            p, q, r, s = sign * x[z], sign * x[LANES + z], sign * x[2 * LANES + z], sign * x[3 * LANES + z]
            t, u, v, w = (
                sign * x[4 * LANES + z],
                sign * x[5 * LANES + z],
                sign * x[6 * LANES + z],
                sign * x[7 * LANES + z],
            )
            c, d, e, f = b[z], b[LANES + z], b[2 * LANES + z], b[3 * LANES + z]
            y0, y4 = p * c + q * d + r * e + s * f, t * c + u * d + v * e + w * f
            c, d, e, f = b[4 * LANES + z], b[5 * LANES + z], b[6 * LANES + z], b[7 * LANES + z]
            y1, y5 = p * c + q * d + r * e + s * f, t * c + u * d + v * e + w * f
            c, d, e, f = b[8 * LANES + z], b[9 * LANES + z], b[10 * LANES + z], b[11 * LANES + z]
            y2, y6 = p * c + q * d + r * e + s * f, t * c + u * d + v * e + w * f
            c, d, e, f = b[12 * LANES + z], b[13 * LANES + z], b[14 * LANES + z], b[15 * LANES + z]
            y3, y7 = p * c + q * d + r * e + s * f, t * c + u * d + v * e + w * f
            y[z] += y0
            y[LANES + z] += y1
            y[2 * LANES + z] += y2
            y[3 * LANES + z] += y3
            y[4 * LANES + z] += y4
            y[5 * LANES + z] += y5
            y[6 * LANES + z] += y6
            y[7 * LANES + z] += y7


@_compile
def _copy(tile: Array, turned: bool, sign: float, out: Array, count: int) -> None:
    for r in range(4):
        for c in range(4):
            s, t = 4 * c + r if turned else 4 * r + c, 4 * r + c
            x, y = tile[s * LANES : (s + 1) * LANES], out[t * LANES : (t + 1) * LANES]
            for z in range(count):
                y[z] = sign * x[z]


@_compile
def _negative_inverse(m: Array, room: Any, count: int) -> None:
    """−m⁻¹ into ``m``, by sweeping out one tile of the diagonal after the other (Gauss and Jordan)."""
    pivot, column, ratio = room
    size = len(column)
    for p in range(size):
        here = m[_entry(4 * p, 4 * p) : _entry(4 * p, 4 * p) + TILE]
        _set(pivot, 0.0, count)
        _add_inverse(here, 1.0, 0.0, 1.0, 0.0, pivot, count)
        for i in range(size):
            if i != p:
                start = _entry(4 * max(i, p), 4 * min(i, p))
                _copy(m[start : start + TILE], i < p, 1.0, column[i], count)
                _set(ratio[i], 0.0, count)
                _add_product(ratio[i], 1.0, column[i], pivot, count)
        for i in range(size):
            for j in range(i + 1):
                if i != p and j != p:
                    start = _entry(4 * i, 4 * j)
                    _add_product(m[start : start + TILE], -1.0, ratio[i], column[j], count)
        for i in range(size):
            if i != p:
                start = _entry(4 * max(i, p), 4 * min(i, p))
                _copy(ratio[i], i < p, 1.0, m[start : start + TILE], count)
        _copy(pivot, False, -1.0, here, count)


@_compile
def _add_node(w: Array, k: int, x: float, factor: float, m: Array, room: Any, logs: Array, count: int) -> None:
    """factor·(1 − (x·w + 1 − x)⁻¹), added to ``logs``."""
    size = len(room[1])
    if k == 3:
        _add_inverse3(w, x, 1.0 - x, -factor, factor, logs, count)
        return
    if size == 1:
        _add_inverse(w, x, 1.0 - x, -factor, factor, logs, count)
        return
    for step in range(2):
        t = 0
        for i in range(size):
            for j in range(i + 1):
                for r in range(16):
                    a, b, c = w[t : t + LANES], m[t : t + LANES], logs[t : t + LANES]
                    one = 1.0 if i == j and r % 5 == 0 else 0.0
                    for z in range(count):
                        if step == 0:
                            b[z] = x * a[z] + (1.0 - x) * one
                        else:
                            c[z] += factor * (b[z] + one)
                    t += LANES
        if step == 0:
            _negative_inverse(m, room, count)


@_compile
def _largest(a: Array, extra: float, k: int, mean: Array, out: Array, count: int) -> None:
    """A bound on the largest eigenvalue of a + extra into ``out``: the mean of all, plus √(k − 1) times their root mean
    square distance from it (Samuelson 1968); a millionth more for rounding."""
    _set(mean, 0.0, count)
    _set(out, 0.0, count)
    for i in range(k):
        row = a[_entry(i, i) : _entry(i, i) + LANES]
        for z in range(count):
            mean[z] += row[z] / k
    for i in range(k):
        for j in range(i + 1):
            row = a[_entry(i, j) : _entry(i, j) + LANES]
            shift, times = (1.0, 1.0) if i == j else (0.0, 2.0)
            for z in range(count):
                d = row[z] - shift * mean[z]
                out[z] += times * d * d
    for z in range(count):
        out[z] = (mean[z] + extra + math.sqrt(out[z] * (k - 1) / k)) * (1 + 1e-6)


@_compile
def _room(k: int) -> Any:
    """Arrays for tiles: matrices with the identity beyond row k, two more of the kind, and what a sweep needs."""
    size = (k + 3) // 4
    w = np.zeros(size * (size + 1) // 2 * TILE)
    for i in range(k, 4 * size):
        _set(w[_entry(i, i) : _entry(i, i) + LANES], 1.0, LANES)
    return w, w.copy(), w.copy(), (np.empty(TILE), np.empty((size, TILE)), np.empty((size, TILE)))


@_compile
def _fill(white: Array, k: int, w: Array) -> Any:
    """A few matrices, one in a column with its lower triangle by rows, into tiles; how many."""
    count = white.shape[1]
    for i in range(k):
        for j in range(min(k, 4 * (i // 4) + 4)):
            low, high = min(i, j), max(i, j)
            source, row = white[high * (high + 1) // 2 + low], w[_entry(i, j) : _entry(i, j) + LANES]
            for z in range(count):
                row[z] = source[z]
    return count


@_compile
def matrix_inverses(white: Array, k: int) -> Any:
    """The sum of w⁻¹ over k×k matrices w, one in a column of ``white`` with its lower triangle by rows."""
    n = white.shape[1]
    w, m, inverses, room = _room(k)
    total = np.zeros((k, k))
    for start in range(0, n, LANES):
        count = _fill(white[:, start : start + LANES], k, w)
        _set(inverses, 0.0, LANES)
        _add_node(w, k, 1.0, -1.0, m, room, inverses, count)
        for i in range(k):
            for j in range(i + 1):
                row = inverses[_entry(i, j) : _entry(i, j) + LANES]
                s = 0.0
                for z in range(count):
                    s += row[z]
                total[i, j] += s
        total += count * np.eye(k)
    return total + np.tril(total, -1).T


@_compile
def matrix_moments(white: Array, k: int, weights: Array, wide: Any, widths: Array, counts: Any, rules: Array) -> Any:
    """Weighted sums over matrices w, given as above, of Log w, of its squared length, of its squared trace, and of one; those
    with a spectrum wider than all ``widths`` are left out and marked in ``wide``.

    Log w = log c + Σⱼ fⱼ·(1 − (xⱼ·w/c + 1 − xⱼ)⁻¹) with the nodes xⱼ and factors fⱼ of ``rules`` for the first of ``widths``
    not below λ₁/λₖ of any of LANES records, c² = λ₁λₖ, λ₁ and 1/λₖ being bounds on the eigenvalues of w and of w⁻¹.
    """
    n = white.shape[1]
    w, m, logs, room = _room(k)
    high, low, mean, level, share = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    total, part = np.zeros((k, k)), np.zeros((k, k))
    sums, part_sums = np.zeros(3), np.zeros(3)
    for start in range(0, n, LANES):
        count = _fill(white[:, start : start + LANES], k, w)
        _set(logs, 0.0, count)
        _add_node(w, k, 1.0, -1.0, m, room, logs, count)
        _largest(w, 0.0, k, mean, high, count)
        _largest(logs, 1.0, k, mean, low, count)
        widest = 1.0
        for z in range(count):
            share[z] = weights[start + z]
            width = high[z] * low[z]
            wide[start + z] = not width <= widths[-1]
            if wide[start + z]:
                share[z] = level[z] = high[z] = 0.0
            else:
                widest = max(widest, width)
                level[z] = 0.5 * math.log(high[z] / low[z])
                high[z] = math.sqrt(low[z] / high[z])
        row = 0
        while widths[row] < widest:
            row += 1
        for i in range(k):
            for j in range(min(k, 4 * (i // 4) + 4)):
                entries = w[_entry(i, j) : _entry(i, j) + LANES]
                for z in range(count):
                    entries[z] *= high[z]
                    if high[z] == 0.0:
                        entries[z] = 1.0 if i == j else 0.0
        _set(logs, 0.0, count)
        for j in range(counts[row]):
            _add_node(w, k, rules[row, 0, j], rules[row, 1, j], m, room, logs, count)
        _set(mean, 0.0, count)
        _set(high, 0.0, count)
        for i in range(k):
            for j in range(i + 1):
                entries = logs[_entry(i, j) : _entry(i, j) + LANES]
                shift, times = (1.0, 1.0) if i == j else (0.0, 2.0)
                s = 0.0
                for z in range(count):
                    entry = entries[z] + shift * level[z]
                    mean[z] += shift * entry
                    high[z] += times * entry * entry
                    s += share[z] * entry
                part[i, j] += s
        for z in range(count):
            part_sums[0] += share[z] * high[z]
            part_sums[1] += share[z] * mean[z] * mean[z]
            part_sums[2] += share[z]
        if (start + LANES) % RUN == 0 or start + LANES >= n:
            total += part
            sums += part_sums
            part[:] = 0.0
            part_sums[:] = 0.0
    return total + np.tril(total, -1).T, sums


@_compile
def matrix_faults(points: Array, least: float) -> Any:
    """Which matrices need a closer look: all but those that are exactly symmetric and that Cholesky's algorithm finds positive
    definite by the margin ``least`` after scaling their diagonal to one."""
    n, k = points.shape[0], points.shape[1]
    faults = np.zeros(n, dtype=np.bool_)
    factor = np.empty((k, k))
    scale = np.empty(k)
    for m in range(n):
        bad = False
        for i in range(k):
            if not (points[m, i, i] > 0.0 and points[m, i, i] < math.inf):
                bad = True
            scale[i] = 1.0 / math.sqrt(points[m, i, i])
        for i in range(k):
            for j in range(i):
                bad = bad or points[m, i, j] != points[m, j, i]
        if not bad:
            for i in range(k):
                for j in range(i + 1):
                    s = points[m, i, j] * scale[i] * scale[j] - (least if i == j else 0.0)
                    for q in range(j):
                        s -= factor[i, q] * factor[j, q]
                    if i == j:
                        bad = bad or not s > 0.0
                        factor[i, i] = math.sqrt(s) if s > 0.0 else 1.0
                    else:
                        factor[i, j] = s / factor[j, j]
        faults[m] = bad
    return faults
