"""Compiled loops for data that are many and small: directions and shapes; those for matrices are in ``spd_kernels.py``.

Each is one pass over the records.  Numba compiles a loop when it is first called and keeps it on disk, where it can;
the spaces come here only for so many records that this pays, and do the same in NumPy where Numba does not load.  Sums are kept
per block of records, so that rounding stays that of a block.
Reordering of sums and fused multiplication are allowed (``FAST``); assumptions on NaN and infinity are not.
"""

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .arrays import RUN, Array
from .compiling import ALWAYS, compiling

FAST = {"reassoc", "contract", "arcp", "nsz"}
FEW = 32  # records that stay in the processor's first cache while they are read twice
SOME = 64  # of R³, likewise
MORE = 256  # likewise, where so little is done with each that the start of a block is felt
AHEAD = 256  # records of R³ between those that are read and those that the memory is asked for
NEXT = 16  # likewise records of many numbers, where the memory would else rest while a few are read again
TINY = 1e-12
CLOSE = 0.7  # mean of θ·cot θ from which on plain steps lead to the mean
FLAT = 1e-3  # θ·cot θ from which on θ·tan θ no longer grows


_compile = compiling(fastmath=FAST)
# a piece of a loop, compiled as if it stood there: a call costs as much as eight small matrices
_only_called: dict[str, Any] = {"fastmath": FAST, "no_cpython_wrapper": True}  # by other loops
_inside: Callable[[Any], Any] = numba.njit(forceinline=True, **ALWAYS, **_only_called)
_within = compiling(**_only_called)
_instructions: Callable[[Any], Any] = intrinsic  # a piece of a loop that is written in the processor's own vectors


@_within
def _sum(series: Any, z: float) -> Any:
    """Return the polynomial Σ seriesₖ·zᵏ with twelve terms, in few steps that wait for each other."""
    s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11 = series
    z2 = z * z
    z4 = z2 * z2
    return (
        ((s0 + s1 * z) + (s2 + s3 * z) * z2)
        + ((s4 + s5 * z) + (s6 + s7 * z) * z2) * z4
        + ((s8 + s9 * z) + (s10 + s11 * z) * z2) * z4 * z4
    )


@_within
def _angle_over_sine(series: Any, c: float) -> Any:
    """Return θ/sin θ at cos θ = c, beyond the series, from the series at θ/4: sin θ = 4·sin θ/4·cos θ/4·cos θ/2."""
    half = math.sqrt(max(0.5 + 0.5 * c, 0.0))
    quarter = math.sqrt(0.5 + 0.5 * half)
    return _sum(series, 1.0 - quarter) / (half * quarter) if half > 0.0 else 1.0


@_within
def _stretches(series: Any, least: float, c: Array, f: Array, count: int) -> None:
    """Return f = θ/sin θ for a few cosines: by the series, then again for those below ``least``; the rest of f is zero."""
    f[:] = 0.0
    far = 0.0
    for i in range(count):
        f[i] = _sum(series, 1.0 - c[i])
        far += 1.0 if c[i] < least else 0.0
    if far > 0.0:
        for i in range(count):
            other = _angle_over_sine(series, c[i])
            f[i] = f[i] if c[i] >= least else other


def _prefetch(builder: Any, address: Any) -> None:
    """Ask the memory for the line at an address, where there may be none: asking for too much does no harm."""
    whole = ir.IntType(32)
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, *3 * [whole]])
    ask = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    builder.call(ask, [builder.bitcast(address, byte), whole(0), whole(3), whole(1)])  # to be read, often, and as data


@_instructions
def _ask(_: Any, points: Any, index: Any) -> Any:
    """Ask the memory for the line of an array in which the number of that index is."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        rows = context.make_array(signature.args[0])(context, builder, values[0])
        _prefetch(builder, builder.gep(rows.data, [values[1]]))
        return context.get_dummy_value()

    return types.none(points, types.int64), code


@_within
def _ask_for_next(points: Array, row: int) -> None:
    """Ask the memory for the record NEXT rows on."""
    for j in range(0, points.shape[1], 8):
        _ask(points, (row + NEXT) * points.shape[1] + j)


@_instructions
def _eight(_: Any, points: Any, first: Any, y: Any, i: Any) -> Any:
    """Copy rows first to first + 7 of R³ to columns i to i + 7 of y, by shuffles, which LLVM does not find by itself; and ask
    the memory for rows ``AHEAD`` of them."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        whole = ir.IntType(32)
        index = ir.IntType(64)
        four = ir.VectorType(ir.DoubleType(), 4)
        twelve = ir.VectorType(ir.DoubleType(), 12)
        rows, lanes = (context.make_array(signature.args[k])(context, builder, values[k]) for k in (0, 2))
        start = builder.gep(rows.data, [builder.mul(values[1], index(3))])
        width = builder.extract_value(lanes.shape, 1)
        for line in range(3):  # of 64 bytes
            _prefetch(builder, builder.gep(start, [index(3 * AHEAD + 8 * line)]))
        for half in (0, 1):
            source = builder.bitcast(builder.gep(start, [index(12 * half)]), twelve.as_pointer())
            read = builder.load(source, align=8)
            for j in range(3):
                chosen = ir.Constant(ir.VectorType(whole, 4), [whole(j + 3 * k) for k in range(4)])
                place = builder.add(builder.mul(width, index(j)), builder.add(values[3], index(4 * half)))
                target = builder.bitcast(builder.gep(lanes.data, [place]), four.as_pointer())
                builder.store(builder.shuffle_vector(read, read, chosen), target, align=8)
        return context.get_dummy_value()

    return types.none(points, types.int64, y, types.int64), code


@_within
def _apart(points: Array, first: int, y: Array) -> Any:
    """Copy up to as many rows of R³ as y has columns, each coordinate to a row of y; how many there were."""
    count = min(y.shape[1], len(points) - first)
    if count == y.shape[1] and points.flags.c_contiguous and points.dtype == y.dtype:  # of others less memory is theirs
        for i in range(0, count, 8):
            _eight(points, first + i, y, i)
    else:
        for i in range(count):
            y[0, i] = points[first + i, 0]
            y[1, i] = points[first + i, 1]
            y[2, i] = points[first + i, 2]
    return count


@_compile
def sphere_sum(points: Array, norm2: float, exact: float) -> Any:
    """Return the sum of rows of R³, and whether all have the squared norm ``norm2``, up to a factor 1 ± exact."""
    total = np.zeros(3)
    y = np.empty((3, MORE))
    faults = 0.0
    for first in range(0, len(points), MORE):
        y0 = y1 = y2 = 0.0
        for i in range(_apart(points, first, y)):
            square = y[0, i] * y[0, i] + y[1, i] * y[1, i] + y[2, i] * y[2, i]
            faults += 0.0 if abs(square / norm2 - 1.0) <= exact else 1.0
            y0 += y[0, i]
            y1 += y[1, i]
            y2 += y[2, i]
        total[0] += y0
        total[1] += y1
        total[2] += y2
    return total, faults == 0.0


@_compile
def direction_sum(points: Array, norm2: float, exact: float) -> Any:
    """Return the same as :func:`sphere_sum` for rows of any R^p."""
    n, p = points.shape
    total = np.zeros(p)
    part = np.empty(p)
    faults = 0.0
    for start in range(0, n, RUN):
        part[:] = 0.0
        for i in range(start, min(start + RUN, n)):
            _ask_for_next(points, i)
            square = 0.0
            for j in range(p):
                square += points[i, j] * points[i, j]
                part[j] += points[i, j]
            faults += 0.0 if abs(square / norm2 - 1.0) <= exact else 1.0
        total += part
    return total, faults == 0.0


@_compile
def sphere_moments(points: Array, x: Array, series: Any, least: float, exact: float) -> Any:
    """Return sums over directions y in R³ at x, c = ⟨x, y⟩ and f = θ/sin θ, a series where c is at least ``least``: those of
    the logarithm, of θ², and of the Hessian f·c + (1 − f·c)·nnᵀ, whose trace is 1 + f·c, in the basis that the reflection of
    e₀ to ∓x takes from e₁, e₂; and whether all have the squared norm 1, up to ``exact`` unless that is 0."""
    x0, x1, x2 = x
    m0 = x0 + (1.0 if x0 >= 0.0 else -1.0)
    scale = 2.0 / (m0 * m0 + x1 * x1 + x2 * x2)
    a0 = -scale * x1 * m0
    a1 = 1.0 - scale * x1 * x1
    a2 = -scale * x1 * x2
    b0 = -scale * x2 * m0
    b1 = -scale * x1 * x2
    b2 = 1.0 - scale * x2 * x2
    y = np.empty((3, SOME))
    cosines = np.empty(SOME)
    f = np.empty(SOME)
    total = np.zeros(6)
    faults = 0.0
    for start in range(0, len(points), RUN):
        ga = gb = square = cosine = haa = hab = 0.0
        for first in range(start, min(start + RUN, len(points)), SOME):
            count = _apart(points, first, y)
            for i in range(count):
                cosines[i] = x0 * y[0, i] + x1 * y[1, i] + x2 * y[2, i]
            if exact > 0.0:
                for i in range(count):
                    off = y[0, i] * y[0, i] + y[1, i] * y[1, i] + y[2, i] * y[2, i] - 1.0
                    faults += 0.0 if abs(off) <= exact else 1.0
            _stretches(series, least, cosines, f, count)
            for i in range(count):
                c = cosines[i]
                a = a0 * y[0, i] + a1 * y[1, i] + a2 * y[2, i]
                b = b0 * y[0, i] + b1 * y[1, i] + b2 * y[2, i]
                sine2 = (1.0 - c) * (1.0 + c)
                h = (1.0 - f[i] * c) / max(sine2, TINY) * a
                ga += f[i] * a
                gb += f[i] * b
                square += f[i] * f[i] * sine2
                cosine += f[i] * c
                haa += h * a
                hab += h * b
        for k, value in enumerate((ga, gb, square, cosine, haa, hab)):
            total[k] += value
    ga, gb, square, cosine, haa, hab = total
    logs = np.array([ga * a0 + gb * b0, ga * a1 + gb * b1, ga * a2 + gb * b2])
    return logs, np.array([[haa + cosine, hab], [hab, len(points) - haa]]), square, faults == 0.0


@_within
def _add_rows(points: Array, first: int, count: int, weights: Array, total: Array) -> None:
    """Add a few rows times their weights to ``total``: four at a time, the last one again without a weight past the end."""
    last = len(points) - 1
    for i in range(0, count, 4):
        w0 = weights[i]
        w1 = weights[i + 1]
        w2 = weights[i + 2]
        w3 = weights[i + 3]
        y0 = points[first + i]
        y1 = points[min(first + i + 1, last)]
        y2 = points[min(first + i + 2, last)]
        y3 = points[min(first + i + 3, last)]
        for j in range(len(total)):
            total[j] += (w0 * y0[j] + w1 * y1[j]) + (w2 * y2[j] + w3 * y3[j])


@_compile
def direction_moments(points: Array, x: Array, series: Any, least: float) -> Any:
    """Return sums over directions y in any R^p, c = ⟨x, y⟩: those of f·y, f·c and θ²; f is a series where c is at least
    ``least``. Sums of sums, as records that coincide are all rounded the same way."""
    n, p = points.shape
    toward = np.zeros(p)
    block = np.empty(p)
    part = np.empty(p)
    y = np.empty((3, FEW))  # of R³, coordinate by coordinate
    c = np.empty(FEW)
    f = np.empty(FEW)
    along = square = 0.0
    for start in range(0, n, RUN):
        block[:] = 0.0
        for first in range(start, min(start + RUN, n), FEW):
            count = min(FEW, n - first)
            if p == 3:
                _apart(points, first, y)
                for i in range(count):
                    c[i] = x[0] * y[0, i] + x[1] * y[1, i] + x[2] * y[2, i]
            else:
                for i in range(count):
                    _ask_for_next(points, first + i)
                    cosine = 0.0
                    for j in range(p):
                        cosine += x[j] * points[first + i, j]
                    c[i] = cosine
            _stretches(series, least, c, f, count)
            for i in range(count):
                along += f[i] * c[i]
                square += f[i] * f[i] * (1.0 - c[i]) * (1.0 + c[i])
            if p == 3:
                for j in range(3):
                    total = 0.0
                    for i in range(count):
                        total += f[i] * y[j, i]
                    block[j] += total
                continue
            part[:] = 0.0
            _add_rows(points, first, count, f, part)
            block += part
        toward += block
    return toward, along, square


@_within
def _far_stretch(y: Array, c: float, x: Array, q: float) -> Any:
    """Return θ/sin θ at cos θ = c from sin θ = q·‖y − c·x‖, which is accurate near the antipode too; 0 there."""
    square = 0.0
    for j in range(len(y)):
        u = y[j] - c * x[j]
        square += u * u
    sine = q * math.sqrt(square)
    return math.atan2(sine, c) / sine if sine > 0.0 else 0.0


@_compile
def sphere_chart(points: Array, x: Array, q: float, columns: Array, series: Any, least: float) -> Any:
    """Return θ/sin θ·yᵀ·columns for rows y of R³ of norm 1/q, and two columns: the coordinates of logarithms at x.  Where c =
    cos θ is below ``least`` the series in 1 − c is put right afterwards, record by record."""
    x0, x1, x2 = q * q * x
    (a0, b0), (a1, b1), (a2, b2) = columns
    made = np.empty((len(points), 2))
    y = np.empty((3, SOME))
    c = np.empty(SOME)
    f = np.empty(SOME)
    for first in range(0, len(points), SOME):
        count = _apart(points, first, y)
        far = 0.0
        for i in range(count):
            c[i] = x0 * y[0, i] + x1 * y[1, i] + x2 * y[2, i]
            f[i] = _sum(series, 1.0 - c[i])
            far += 1.0 if c[i] < least else 0.0
        if far > 0.0:
            for i in range(count):
                if c[i] < least:
                    f[i] = _far_stretch(points[first + i], c[i], x, q)
        for i in range(count):
            made[first + i, 0] = f[i] * (a0 * y[0, i] + a1 * y[1, i] + a2 * y[2, i])
            made[first + i, 1] = f[i] * (b0 * y[0, i] + b1 * y[1, i] + b2 * y[2, i])
    return made


@_compile
def stretch(rows: Array, points: Array, x: Array, q: float, series: Any, least: float) -> None:
    """Multiply each row by θ/sin θ of its point y of any R^p, of norm 1/q, in place; a series for cos θ ≥ ``least``."""
    for i in range(len(points)):
        c = 0.0
        for j in range(points.shape[1]):
            c += x[j] * points[i, j]
        c *= q * q
        f = _far_stretch(points[i], c, x, q) if c < least else _sum(series, 1.0 - c)
        for j in range(rows.shape[1]):
            rows[i, j] *= f


@_compile
def shorten(rows: Array, longest: float) -> None:
    """Make rows no longer than ``longest``, in place; 0 in place of those that have no finite length."""
    p = rows.shape[1]
    for i in range(len(rows)):
        square = 0.0
        for j in range(p):
            square += rows[i, j] * rows[i, j]
        length = math.sqrt(square)
        if length < math.inf:
            shrink = longest / max(length, longest)
            for j in range(p):
                rows[i, j] *= shrink
        else:
            rows[i] = 0.0


@_compile
def whole_sums(rows: Array, unit: float) -> Any:
    """Return sums of rows, each number rounded towards zero to a multiple of 1/unit, in these: exact, as sums of RUN such
    numbers are whole numbers below 2^53.  Short rows are added several at a time."""
    n, p = rows.shape
    flat = rows.reshape(-1)
    wide = p * max(1, SOME // p)
    total = np.zeros(p, dtype=np.int64)
    part = np.empty(wide)
    for start in range(0, n * p, RUN * wide):
        part[:] = 0.0
        for first in range(start, min(start + RUN * wide, n * p), wide):
            some = flat[first : first + wide]
            for j in range(len(some)):
                part[j] += np.trunc(some[j] * unit)
        for j in range(wide):
            total[j % p] += np.int64(part[j])
    return total


@_compile
def shape_faults(points: Array, norm2: float, mean2: float) -> Any:
    """Return which shapes, rows of coordinates in turn, have a squared norm not in 1 ± norm2 or a squared sum above mean2."""
    bad = np.empty(len(points), dtype=np.bool_)
    alternate = np.ones(points.shape[1])
    alternate[1::2] = -1.0
    for i in range(len(points)):
        _ask_for_next(points, i)
        # Σ|z|², Σ(re + im), Σ(re − im): sums along the row, which the processor adds in lanes
        square = both = apart = 0.0
        for j in range(points.shape[1]):
            square += points[i, j] * points[i, j]
            both += points[i, j]
            apart += points[i, j] * alternate[j]
        bad[i] = not (abs(square - 1.0) <= norm2) & (both * both + apart * apart <= 2.0 * mean2)
    return bad


@_compile
def shape_canonical(points: Array, some: Array, made: Array) -> Any:
    """Put some shapes, centred and of norm one, into ``made``; return which have numbers too large, small or alike for it."""
    k = points.shape[1] // 2
    bad = np.zeros(len(points), dtype=np.bool_)
    for i in range(len(points)):
        if not some[i]:
            for j in range(2 * k):
                made[i, j] = points[i, j]
            continue
        re = im = square = 0.0
        for j in range(k):
            re += points[i, 2 * j]
            im += points[i, 2 * j + 1]
        re /= k
        im /= k
        for j in range(k):
            a = points[i, 2 * j] - re
            b = points[i, 2 * j + 1] - im
            square += a * a + b * b
            made[i, 2 * j] = a
            made[i, 2 * j + 1] = b
        shift = square + k * (re * re + im * im)
        bad[i] = not (square > 1e-200) & (shift < 1e200) & (square > 1e-20 * shift)
        scale = 1.0 / math.sqrt(square)
        for j in range(2 * k):
            made[i, j] *= scale
    return bad


@_within
def _with_turned(z: Array) -> Any:
    """Return z and i·z, for real and imaginary parts in turn.  Number by number: for an assignment of one array to another
    Numba compiles the words of an error too, two seconds long."""
    both = np.empty((2, len(z)))
    for j in range(0, len(z), 2):
        both[0, j] = both[1, j + 1] = z[j]
        both[0, j + 1] = z[j + 1]
        both[1, j] = -z[j + 1]
    return both


@_within
def _add_turned_rows(points: Array, first: int, count: int, re: Array, im: Array, total: Array) -> None:
    """Do as :func:`_add_rows` for two weights of each row and two totals, with one read."""
    last = len(points) - 1
    one = total[0]
    two = total[1]
    for i in range(0, count, 4):
        a0 = re[i]
        a1 = re[i + 1]
        a2 = re[i + 2]
        a3 = re[i + 3]
        b0 = im[i]
        b1 = im[i + 1]
        b2 = im[i + 2]
        b3 = im[i + 3]
        y0 = points[first + i]
        y1 = points[min(first + i + 1, last)]
        y2 = points[min(first + i + 2, last)]
        y3 = points[min(first + i + 3, last)]
        for j in range(len(one)):
            one[j] += (a0 * y0[j] + a1 * y1[j]) + (a2 * y2[j] + a3 * y3[j])
            two[j] += (b0 * y0[j] + b1 * y1[j]) + (b2 * y2[j] + b3 * y3[j])


@_within
def _facing(points: Array, first: int, count: int, x: Array, series: Any, least: float, lanes: Array) -> None:
    """Return Re⟨x, z⟩, Im⟨x, z⟩ = Re⟨i·x, z⟩, c = |⟨x, z⟩| and θ/sin θ of a few shapes z, rows of real and imaginary parts in
    turn; x and i·x are two rows."""
    re = lanes[0]
    im = lanes[1]
    c = lanes[2]
    f = lanes[3]
    for i in range(count):
        _ask_for_next(points, first + i)
        a = b = 0.0
        for j in range(points.shape[1]):
            a += x[0, j] * points[first + i, j]
            b += x[1, j] * points[first + i, j]
        re[i] = a
        im[i] = b
        c[i] = math.sqrt(a * a + b * b)
    _stretches(series, least, c, f, count)


@_compile
def shape_moments(points: Array, x: Array, series: Any, least: float) -> Any:
    """Return sums over shapes z, rows of real and imaginary parts in turn, at x: with c = ⟨x, z⟩ and f = θ/sin θ, those of
    f·z·c̄/|c|, f·|c|, θ² and θ·tan θ, with real rows: z·c̄ = (Re c)·z − i·(Im c)·z."""
    n, p = points.shape
    both = _with_turned(x)
    total = np.zeros((2, p))
    block = np.empty((2, p))
    part = np.empty((2, p))
    lanes = np.empty((4, FEW))
    re = lanes[0]
    im = lanes[1]
    c = lanes[2]
    f = lanes[3]
    along = square = turning = 0.0
    for start in range(0, n, RUN):
        block[:] = 0.0
        for first in range(start, min(start + RUN, n), FEW):
            count = min(FEW, n - first)
            lanes[:] = 0.0
            _facing(points, first, count, both, series, least, lanes)
            for i in range(count):
                theta2 = f[i] * f[i] * (1.0 - c[i]) * (1.0 + c[i])
                along += f[i] * c[i]
                square += theta2
                turning += theta2 / max(f[i] * c[i], FLAT)
                scale = f[i] / max(c[i], TINY)
                re[i] *= scale
                im[i] *= scale
            part[:] = 0.0
            _add_turned_rows(points, first, count, re, im, part)
            block += part
        total += block
    return total[0] - _with_turned(total[1])[1], along, square, turning


@_compile
def descend(points: Array, x: Array, signs: Array, turning: bool, dim: int, angles: Any, end: Any) -> Any:
    """Return where steps to the mean of directions, or of shapes if ``turning``, lead from x, how many there were, and what
    :func:`direction_moments` or :func:`shape_moments` sums there.  Each is the mean logarithm over the mean eigenvalue of the
    Hessian.  They end where the gradient is below the tolerance or hardly shrinks, after ``most``, and where records lie so
    wide that a step may lead away.  Points of a hyperboloid are directions with the product Σ ±xⱼyⱼ, of which all ``signs``
    but the first are negative."""
    series, least = angles
    tolerance, most = end
    n = len(points)
    before = math.inf
    for taken in range(most + 1):
        turned = 0.0
        if turning:
            toward, along, square, turned = shape_moments(points, x, series, least)
        else:
            toward, along, square = direction_moments(points, signs * x, series, least)
        logs = toward - along * x
        length = math.sqrt(abs(np.sum(signs * logs * logs))) / n
        if not (along > CLOSE * n and tolerance < length < 0.5 * before) or taken == most:
            break
        before = length
        x = x + logs * (dim / (n + (dim - 1) * along - turned))
        x /= math.sqrt(abs(np.sum(signs * x * x)))
    return x, taken, (toward, n, along, square, turned)


@_compile
def shape_logs(points: Array, bases: Array, series: Any, least: float) -> Any:
    """Return the sums of logarithms at several bases; a few records at a time stay in the processor's cache for all bases."""
    total = np.zeros_like(bases)
    part = np.empty_like(bases)
    for run in range(0, len(points), 32 * RUN):
        part[:] = 0.0
        for start in range(run, min(run + 32 * RUN, len(points)), 256):
            for m in range(len(bases)):
                toward, along, _, _ = shape_moments(points[start : start + 256], bases[m], series, least)
                part[m] += toward - along * bases[m]
        total += part
    return total


@_compile
def shape_rows(points: Array, x: Array, series: Any, least: float, first: Any, second: Any) -> Any:
    """Write the part across x of shapes z turned to x, times √((1 − φ₁)/sin²θ) into ``first`` and i·√(θ·tan θ/sin²θ) into
    ``second``, whose rounding is then relative to the distance θ; and the sum of φ₁ = θ·cot θ."""
    n, p = points.shape
    both = _with_turned(x)
    lanes = np.empty((4, FEW))
    re, im, c, f = lanes
    along = 0.0
    for start in range(0, n, FEW):
        count = min(FEW, n - start)
        _facing(points, start, count, both, series, least, lanes)
        for i in range(count):
            along += f[i] * c[i]
            size = max(c[i], TINY)
            y = points[start + i]
            real = first[start + i]
            turned = second[start + i]
            cosine = re[i] / size
            sine = im[i] / size
            one = math.sqrt(max(1.0 - f[i] * size, 0.0) / max((1.0 - c[i]) * (1.0 + size), TINY))
            two = f[i] / math.sqrt(f[i] * size)
            for j in range(p // 2):
                a = cosine * y[2 * j] + sine * y[2 * j + 1] - size * x[2 * j]
                b = cosine * y[2 * j + 1] - sine * y[2 * j] - size * x[2 * j + 1]
                real[2 * j] = one * a
                real[2 * j + 1] = one * b
                turned[2 * j] = -two * b
                turned[2 * j + 1] = two * a
    return along
