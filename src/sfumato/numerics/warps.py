"""The reparametrization of a curve that brings it closest to another, by dynamic programming.

A loop over records, each by itself.  Numba compiles it when it is first called and keeps it on disk, where it can; without
Numba the same lines run as they stand, slowly.  No sum is reordered, so both find the same, to the last bit.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import Array, compiled

_numba = compiled("compiling")
_compile: Callable[[Any], Any] = _numba.compiling() if _numba else lambda function: function
FIRST = 3  # slopes a/b of a path are those of whole numbers up to these: where to start, and how to end
LAST = 7
ROUNDS = 3  # of turning and warping by turns, after the best start
SHIFTS = 3 * (0, 1, -1, 2, -2)  # of the start of a closed curve, tried before the best start is settled
# a steps of the base over b of the curve; the diagonal comes first, so that it wins where others are no better
_SLOPES = np.array(
    [
        (a, b)
        for most in range(1, LAST + 1)
        for a in range(1, most + 1)
        for b in range(1, most + 1)
        if math.gcd(a, b) == 1 and max(a, b) == most
    ],
    dtype=np.int64,
)
_FEW = int(np.sum(_SLOPES.max(axis=1) <= FIRST))
_PLACES = np.concatenate([[0], np.cumsum(_SLOPES[:, 0])])  # of a slope's velocities in a row of the table


@_compile
def _table(q: Array, count: int, slopes: Any, places: Any, table: Array) -> None:
    """Return square-root velocities of the curve between parameters j and j + b in a equal parts, for each j < count and slope
    (a, b): those of the chords between points of the polygon."""
    m = len(q)
    for j in range(count):
        for line in range(len(slopes)):
            a, b = slopes[line]
            for k in range(a):
                x = y = 0.0
                for r in range(k * b // a, -(-(k + 1) * b // a)):  # the steps that this part has a share of
                    i = (j + r) % m
                    share = (min((k + 1) * b, (r + 1) * a) - max(k * b, r * a)) / a
                    size = share * math.sqrt(q[i, 0] * q[i, 0] + q[i, 1] * q[i, 1])
                    x += size * q[i, 0]
                    y += size * q[i, 1]
                root = math.sqrt(math.sqrt(x * x + y * y))
                table[j, places[line] + k, 0] = x / root if root > 0.0 else 0.0
                table[j, places[line] + k, 1] = y / root if root > 0.0 else 0.0


@_compile
def _best_path(
    u: Array, table: Array, start: int, slopes: Any, places: Any, score: Array, back: Any, made: Array
) -> None:
    """Write into ``made`` the warped velocities w with the largest Σ⟨uᵢ, wᵢ⟩ over all paths from (0, 0) to (m, m)."""
    m = len(u)
    most = slopes[-1, 0]
    score[:] = -math.inf
    score[0, 0] = 0.0
    for i in range(1, m + 1):
        low = max(-(-i // most), m - most * (m - i))
        high = min(most * i, m + (i - m) // most)
        for j in range(max(low, 1), min(high, m) + 1):
            best = -math.inf
            by = 0
            for line in range(len(slopes)):
                a, b = slopes[line]
                if a > i or b > j or score[i - a, j - b] == -math.inf:
                    continue
                total = score[i - a, j - b]
                row = start + j - b
                place = places[line]
                for k in range(a):
                    total += u[i - a + k, 0] * table[row, place + k, 0] + u[i - a + k, 1] * table[row, place + k, 1]
                if total > best:
                    best = total
                    by = line
            score[i, j] = best
            back[i, j] = by
    i = j = m
    while i > 0:
        a, b = slopes[back[i, j]]
        for k in range(a):
            made[i - a + k] = table[start + j - b, places[back[i, j]] + k]
        i -= a
        j -= b


@_compile
def _turned(x: Array, c: float, s: float, made: Array) -> None:
    """Write x·(c + is)/|c + is| into ``made``; x where that is nothing."""
    size = math.sqrt(c * c + s * s)
    cosine = c / size if size > 0.0 else 1.0
    sine = s / size if size > 0.0 else 0.0
    for i in range(len(x)):
        made[i, 0] = cosine * x[i, 0] - sine * x[i, 1]
        made[i, 1] = cosine * x[i, 1] + sine * x[i, 0]


@_compile
def _inner(x: Array, y: Array, start: int) -> Any:
    """Return ⟨x, y⟩ = Σ x̄·y, y from ``start`` on and around, as two numbers."""
    c = s = 0.0
    for i in range(len(x)):
        k = (i + start) % len(x)
        c += x[i, 0] * y[k, 0] + x[i, 1] * y[k, 1]
        s += x[i, 0] * y[k, 1] - x[i, 1] * y[k, 0]
    return c, s


@_compile
def _chord(q: Array) -> Any:
    """Return the way from the first point of a curve to the last."""
    x = y = 0.0
    for i in range(len(q)):
        size = math.sqrt(q[i, 0] * q[i, 0] + q[i, 1] * q[i, 1])
        x += size * q[i, 0]
        y += size * q[i, 1]
    return x, y


@_compile
def _warp_all(bases: Array, curves: Array, closed: bool, slopes: Any, few: int, places: Any, found: Array) -> None:
    n, m, _ = curves.shape
    around = 2 * m if closed else m
    table = np.zeros((around, places[-1], 2))
    score = np.empty((m + 1, m + 1))
    back = np.zeros((m + 1, m + 1), dtype=np.int64)
    turned = np.empty((m, 2))
    made = np.empty((m, 2))
    for record in range(n):
        x = bases[record % len(bases)]
        q = curves[record]
        _table(q, around, slopes, places, table)
        best = -1.0
        at = 0
        best_c = 1.0
        best_s = 0.0
        starts = m if closed else 2
        last = starts + (len(SHIFTS) if closed else 0)
        for attempt in range(last + ROUNDS):
            start = attempt if closed else 0
            if attempt >= starts:  # about the best so far
                start = at
                c = best_c
                s = best_s
                if attempt < last:
                    start = (at + SHIFTS[attempt - starts]) % m
            elif closed or attempt == 0:
                c, s = _inner(x, q, start)
            else:
                qx, qy = _chord(q)
                px, py = _chord(x)
                c = qx * px + qy * py
                s = qy * px - qx * py
            _turned(x, c, s, turned)
            _best_path(turned, table, start, slopes if attempt >= last else slopes[:few], places, score, back, made)
            c, s = _inner(x, made, 0)
            size = _inner(made, made, 0)[0]
            if size > 0.0 and (c * c + s * s) / size > best:
                best = (c * c + s * s) / size
                at = start
                best_c = c
                best_s = s
                root = math.sqrt(size)
                for i in range(m):
                    found[record, i, 0] = made[i, 0] / root
                    found[record, i, 1] = made[i, 1] / root


def warped(bases: Array, curves: Array, closed: bool) -> Array:
    """Return curves (n, m, 2), by their square-root velocities, as they come closest to one base each, or to the only one.

    Over all reparametrizations of slopes up to ``LAST`` on the grid, and turns, by turns; for closed curves from every
    starting point.  Each record is found from itself and its base alone.
    """
    found = np.array(curves)  # what no path leads to stays as it is
    _warp_all(np.ascontiguousarray(bases), np.ascontiguousarray(curves), closed, _SLOPES, _FEW, _PLACES, found)
    return found
