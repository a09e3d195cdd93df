"""Compiled loops that take each of many records by itself: put it right, clip it, take it to a chart; see ``kernels.py``.

No row depends on another one, to the bit, and all rows take the same time.
"""

import math
from typing import Any

import numpy as np

from .arrays import RUN, Array
from .compiling import compiling
from .kernels import FEW, SOME, _apart, _compile, _facing, _stretches, _with_turned
from .kernels import sphere_sum as sphere_sum

_exactly = compiling()  # as written, so that a row comes out the same wherever it stands


@_compile
def square_sums(points: Array, bases: Array, turned: Array, series: Any, least: float) -> Any:
    """Return Σθ² over unit rows y at each base x: θ = f·sin θ, where sin θ is the length of y − ⟨x, y⟩x − ⟨t, y⟩t, so that
    small angles keep their digits.  t = i·x where rows are complex numbers; real rows have none."""
    n, p = points.shape
    total = np.zeros(len(bases))
    part = np.empty(len(bases))
    c = np.empty(FEW)
    f = np.empty(FEW)
    sine2 = np.empty(FEW)
    for start in range(0, n, RUN):
        part[:] = 0.0
        for first in range(start, min(start + RUN, n), FEW):
            count = min(FEW, n - first)
            for m in range(len(bases)):
                for i in range(count):
                    a = b = square = 0.0
                    for j in range(p):
                        a += bases[m, j] * points[first + i, j]
                    if len(turned) > 0:
                        for j in range(p):
                            b += turned[m, j] * points[first + i, j]
                        for j in range(p):
                            u = points[first + i, j] - a * bases[m, j] - b * turned[m, j]
                            square += u * u
                        a = math.sqrt(a * a + b * b)
                    else:
                        for j in range(p):
                            u = points[first + i, j] - a * bases[m, j]
                            square += u * u
                    c[i] = a
                    sine2[i] = square
                _stretches(series, least, c, f, count)
                for i in range(count):
                    part[m] += f[i] * f[i] * sine2[i]
        total += part
    return total


@_compile
def draw_shapes_in(points: Array, x: Array, cosine: float, sine: float, made: Array) -> None:
    """Put shapes z, rows of real and imaginary parts in turn, into ``made``: as they are, or where the angle between z and x is
    larger than the one given, cosine·x + sine·u/‖u‖ for u = (z − c·x)·c̄/|c|, c = ⟨x, z⟩.  All rows cost the same."""
    both = _with_turned(x)
    p = points.shape[1]
    for i in range(len(points)):
        z = points[i]
        row = made[i]
        a = b = square = 0.0
        for j in range(p):
            a += both[0, j] * z[j]
            b += both[1, j] * z[j]
        for j in range(p):
            u = z[j] - a * both[0, j] - b * both[1, j]
            square += u * u
        size = math.sqrt(a * a + b * b)
        scale = sine / math.sqrt(square) if square > 0.0 else 0.0
        re = scale * a / size if size > 0.0 else scale
        im = scale * b / size if size > 0.0 else 0.0
        outside = square * cosine * cosine > size * size * sine * sine
        along = cosine - (re * a + im * b) if outside else 0.0  # (re − i·im)·c is a real number
        re = re if outside else 1.0
        im = im if outside else 0.0
        for j in range(p // 2):  # which LLVM makes vectors of, unlike a loop in steps of two
            row[2 * j] = along * x[2 * j] + (re * z[2 * j] + im * z[2 * j + 1])
            row[2 * j + 1] = along * x[2 * j + 1] + (re * z[2 * j + 1] - im * z[2 * j])


@_compile
def shape_chart(points: Array, frame: Array, cross: Any, scale: float, series: Any, least: float, made: Array) -> None:
    """Put logarithms at x of shapes z, times a scale, into ``made``: real parts, then imaginary ones, of the last numbers of
    θ/sin θ·c̄/|c|·(z − α·m − β·m′), α = 2⟨m, z⟩, β = 2⟨m′, z⟩ − ⟨m′, m⟩α.  These are two reflections, which cost less than a
    product with the basis they make.  x, m and m′, unit vectors of C^k, are rows of the ``frame``."""
    n, p = points.shape
    half = made.shape[1] // 2
    x = _with_turned(frame[0])
    m = _with_turned(frame[1])
    w = _with_turned(frame[2])
    u = np.empty(p)
    last = u[p - 2 * half :]
    lanes = np.empty((4, FEW))
    re, im, c, f = lanes
    for first in range(0, n, FEW):
        count = min(FEW, n - first)
        _facing(points, first, count, x, series, least, lanes)
        for i in range(count):
            z = points[first + i]
            row = made[first + i]
            a = b = d = e = 0.0
            for j in range(p):
                a += m[0, j] * z[j]
                b += m[1, j] * z[j]
                d += w[0, j] * z[j]
                e += w[1, j] * z[j]
            d -= cross[0] * a - cross[1] * b
            e -= cross[0] * b + cross[1] * a
            size = scale * f[i] / c[i] if c[i] > 0.0 else c[i]
            turn = size * re[i]
            back = size * im[i]
            for j in range(p):
                u[j] = z[j] - 2.0 * ((a * m[0, j] + b * m[1, j]) + (d * w[0, j] + e * w[1, j]))
            for j in range(half):
                row[j] = turn * last[2 * j] + back * last[2 * j + 1]
                row[half + j] = turn * last[2 * j + 1] - back * last[2 * j]


@_exactly
def _lanes(points: Array, first: int, y: Array) -> Any:
    """Copy up to as many rows as y has columns, each coordinate to a row of y; return how many there were."""
    if len(y) == 3:
        return _apart(points, first, y)
    count = min(y.shape[1], len(points) - first)
    for i in range(count):
        for j in range(len(y)):
            y[j, i] = points[first + i, j]
    return count


@_exactly
def _back(y: Array, first: int, count: int, made: Array) -> None:
    """Copy columns of y to rows of ``made``."""
    for i in range(count):
        for j in range(len(y)):
            made[first + i, j] = y[j, i]


@_exactly
def put_right(points: Array, norm2: float, exact: float, drift: float, made: Array) -> Any:
    """Put rows of any R^p into ``made``, divided by how many times too long they are, unless their squared norm is ``norm2`` up
    to a factor 1 ± exact; return whether none is off by more than ``drift``."""
    y = np.empty((points.shape[1], SOME))
    ratios = np.empty(SOME)
    wrong = 0.0
    for first in range(0, len(points), SOME):
        count = _lanes(points, first, y)
        for i in range(count):
            ratios[i] = 0.0
        for j in range(len(y)):
            for i in range(count):
                ratios[i] += y[j, i] * y[j, i]
        for i in range(count):
            square = ratios[i] / norm2
            ratios[i] = 1.0 if abs(square - 1.0) <= exact else math.sqrt(square)
            wrong += 0.0 if abs(ratios[i] - 1.0) <= drift else 1.0
        for j in range(len(y)):
            for i in range(count):
                y[j, i] /= ratios[i]
        _back(y, first, count, made)
    return wrong == 0.0


@_exactly
def draw_in(points: Array, x: Array, curvature: float, chord2: float, cosine: float, sine: float, made: Array) -> None:
    """Put directions y into ``made``: as they are, or where d = y − x is longer than a chord, cosine·x + sine·v/‖v‖ for
    v = d + ½κ‖d‖²·x, less what rounding leaves of it along x, which near the antipode is much."""
    y = np.empty((points.shape[1], SOME))
    square = np.empty(SOME)
    along = np.empty(SOME)
    length2 = np.empty(SOME)
    for first in range(0, len(points), SOME):
        count = _lanes(points, first, y)
        for i in range(count):
            square[i] = along[i] = length2[i] = 0.0
        for j in range(len(y)):
            for i in range(count):
                square[i] += (y[j, i] - x[j]) * (y[j, i] - x[j])
        for j in range(len(y)):
            for i in range(count):
                along[i] += curvature * x[j] * (y[j, i] - x[j] + 0.5 * curvature * square[i] * x[j])
        for j in range(len(y)):
            for i in range(count):
                v = y[j, i] - x[j] + 0.5 * curvature * square[i] * x[j] - along[i] * x[j]
                length2[i] += v * v
        for i in range(count):
            some = 1.0 if length2[i] > 0.0 else 0.0
            length2[i] = some * sine / math.sqrt(length2[i] + (1.0 - some))
        for j in range(len(y)):
            for i in range(count):
                v = y[j, i] - x[j] + 0.5 * curvature * square[i] * x[j] - along[i] * x[j]
                moved = (cosine if length2[i] > 0.0 else 1.0) * x[j] + length2[i] * v
                y[j, i] = moved if square[i] > chord2 else y[j, i]
        _back(y, first, count, made)
