"""Compiled loops for covariance matrices; see ``kernels.py``.

Eight matrices at a time, each of their entries being one vector of eight numbers: code reads as if it were for one matrix.
LLVM finds such vectors only where it can tell that arrays do not overlap, which Numba cannot say.  Lower triangles are kept
by rows, with three more rows than the matrix has.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, lower_cast, models, register_jitable, register_model

from .arrays import RUN, Array
from .kernels import _compile, _inside, _instructions

SMALL = 8  # rows up to which code is made for each size alone, without loops
LANES = 8
VECTOR, WHOLE = (ir.VectorType(number, LANES) for number in (ir.DoubleType(), ir.IntType(64)))
LOOSE = ("reassoc", "contract", "nsz")  # as everywhere, sums may be reordered and products fused


class Eight(types.Type):
    """The type of a vector, in whose place a number may stand."""

    def can_convert_from(self, _: Any, other: Any) -> Any:
        return Conversion.safe if other == types.float64 else None


class Place(types.Type):
    """The type of an address in an array: vectors are read and written by their index from there."""


class Made:
    """A vector while Python makes code: what is computed of it becomes code, but for products with zero."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder = builder
        self.value = value


EIGHT = Eight("eight")
PLACE = Place("place")


def _lowered(result: Any, *kinds: Any, of: Any = None) -> Callable[[Any], Any]:
    """Make code of the builder and values a function in compiled code, or an operator there and on what is made."""

    def generic(self: Any, args: Any, _: Any) -> Any:
        ours = len(args) == len(kinds) and (not of or EIGHT in args or PLACE in args)
        return result(*kinds) if ours and None not in map(self.context.can_convert, args, kinds) else None

    def lowered(code: Any) -> Any:
        def made(*values: Any) -> Any:
            if of is operator.mul and 0.0 in (v for v in values if isinstance(v, float)):
                return 0.0
            builder = next(v.builder for v in values if isinstance(v, Made))
            given = (v.value if isinstance(v, Made) else VECTOR([v] * LANES) for v in values)
            return Made(builder, code(builder, *given))

        key = of or code
        template = type("Template", (AbstractTemplate,), {"key": key, "generic": generic})
        infer_global(key, types.Function(template))  # type: ignore[no-untyped-call]
        lower_builtin(key, *kinds)(lambda _, builder, __, values: code(builder, *values))  # type: ignore[no-untyped-call]
        if of and result == kinds[0] == EIGHT:
            setattr(Made, f"__{of.__name__}__", made)
            setattr(Made, f"__r{of.__name__}__", lambda a, b: made(b, a))
        return code

    return lowered


@_lowered(EIGHT, types.float64)
def all_of(builder: Any, number: Any) -> Any:
    """Return a number eight times."""
    one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


for _kind, _form in ((Eight, VECTOR), (Place, VECTOR.as_pointer())):
    _made = {"__init__": lambda *args, form=_form: models.PrimitiveModel.__init__(*args, form)}  # type: ignore
    register_model(_kind)(type("Model", (models.PrimitiveModel,), _made))
lower_cast(types.float64, EIGHT)(lambda _, builder, __, ___, number: all_of(builder, number))  # type: ignore[no-untyped-call]
for _name in ("add", "sub", "mul", "truediv"):
    _lowered(EIGHT, EIGHT, EIGHT, of=getattr(operator, _name))(
        lambda builder, a, b, name="f" + _name[-3:]: getattr(builder, name)(a, b, flags=LOOSE)
    )
_lowered(EIGHT, EIGHT, EIGHT, of=operator.gt)(  # 1 or 0, which it is also where there is no number
    lambda builder, a, b: builder.uitofp(builder.fcmp_ordered(">", a, b), VECTOR)
)
_lowered(PLACE, PLACE, types.intp, of=operator.add)(lambda builder, place, index: builder.gep(place, [index]))
_lowered(EIGHT, PLACE, types.intp, of=operator.getitem)(
    lambda builder, place, index: builder.load(builder.gep(place, [index]), align=8)
)
_lowered(types.none, PLACE, types.intp, EIGHT, of=operator.setitem)(
    lambda builder, place, index, value: builder.store(value, builder.gep(place, [index]), align=8)
)


@_instructions
def place_of(_: Any, array: Any) -> Any:
    """Return where an array begins."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(context.make_array(array)(context, builder, args[0]).data, VECTOR.as_pointer())

    return PLACE(array), code


@_lowered(EIGHT, EIGHT)
def root(builder: Any, value: Any) -> Any:
    """Return square roots."""
    kind = ir.FunctionType(VECTOR, [VECTOR])
    return builder.call(builder.module.declare_intrinsic("llvm.sqrt.v8f64", (), kind), [value])


@_lowered(EIGHT, EIGHT, EIGHT)
def where_positive(builder: Any, which: Any, value: Any) -> Any:
    """Return a value where another is above zero; elsewhere, also where that is not a number, zero."""
    return builder.select(builder.fcmp_ordered(">", which, VECTOR(None)), value, VECTOR(None))


@_lowered(EIGHT, EIGHT)
def half_exponent(builder: Any, value: Any) -> Any:
    """Return the whole number e for which √value/2ᵉ is from √½ to √2; of what is not a positive normal number, any."""
    bits = builder.sub(builder.bitcast(value, WHOLE), WHOLE([1022 << 52] * LANES))
    return builder.sitofp(builder.ashr(bits, WHOLE([53] * LANES)), VECTOR)


@_lowered(EIGHT, EIGHT)
def power_of_two(builder: Any, exponent: Any) -> Any:
    """Return 2ᵉ of whole numbers e from −1022 to 1023."""
    bits = builder.add(builder.fptosi(exponent, WHOLE), WHOLE([1023] * LANES))
    return builder.bitcast(builder.shl(bits, WHOLE([52] * LANES)), VECTOR)


def room(k: int) -> tuple[Array, Any]:
    """Return room for two vectors, eight matrices, four triangles and eight rows, and k numbers, a tuple if k is small."""
    rows = 2 + k * k + 2 * (k + 3) * (k + 4) + 4 * (k + 7)
    return vectors(rows), (0.0,) * k if k <= SMALL else np.zeros(k)


def vectors(count: int) -> Array:
    """Return so many vectors of zeros, which begin where the processor likes it to."""
    numbers = np.zeros(LANES * (count + 1))
    begin = -numbers.ctypes.data // 8 % LANES
    return numbers[begin : begin + LANES * count].reshape(count, LANES)


@register_jitable(forceinline=True)
def _at(i: int, j: int) -> int:
    """Return where entry (i, j) of a symmetric matrix is in its triangle."""
    return max(i, j) * (max(i, j) + 1) // 2 + min(i, j)


@_inside
def _whiten(y: Any, inverse: Array, k: int, half: Any, w: Any) -> Any:
    """Write L⁻¹yL⁻ᵀ, from the inverse of L; 1 where y is symmetric, or holds no numbers, 0 elsewhere."""
    skew = all_of(0.0)
    for i in range(k):
        for j in range(i):
            skew = skew + (y[i * k + j] > y[j * k + i]) + (y[j * k + i] > y[i * k + j])
        for j in range(i + 1):
            s = all_of(0.0)
            for q in range(i + 1):
                s = s + inverse[i, q] * y[j * k + q]
            half[j] = s
        for j in range(i + 1):
            s = all_of(0.0)
            for q in range(j + 1):
                s = s + inverse[j, q] * half[q]
            w[_at(i, j)] = s
    return 1.0 - (skew > 0.0)


def _cofactors(w: Any, x: Any, m: Any) -> Any:
    """Return the same as :func:`_sweep` for 3×3 matrices, with one division."""
    a = x * w[0] + (1.0 - x)
    b = x * w[1]
    c = x * w[2] + (1.0 - x)
    d = x * w[3]
    e = x * w[4]
    f = x * w[5] + (1.0 - x)
    p = d * d - a * f
    q = a * e - b * d
    r = b * b - a * c
    t = p * r - q * q  # a times the determinant: summed along a row, that would square the condition number
    one = a / t
    m[0] = one * (e * e - c * f)
    m[1] = one * (b * f - d * e)
    m[2] = one * p
    m[3] = one * (c * d - b * e)
    m[4] = one * q
    m[5] = one * r
    return (a > 0.0) * (0.0 - r > 0.0) * (t > 1e-290) * (one > 1e-290)


def _sweep(w: Any, x: Any, k: int, m: Any, u: Any) -> Any:
    """Write −(x·w + 1 − x)⁻¹ into m, by sweeping out two rows and columns after the other (Gauss and Jordan), the last with
    one of the identity if k is odd; 1 where that is positive definite, 0 elsewhere."""
    fine = 1.0
    for i in range(k):
        for j in range(i):
            m[_at(i, j)] = x * w[_at(i, j)]
        m[_at(i, i)] = x * w[_at(i, i)] + (1.0 - x)
        m[_at(k, i)] = 0.0
    m[_at(k, k)] = 1.0
    for p in range(0, k, 2):
        a = m[_at(p, p)]
        b = m[_at(p + 1, p)]
        c = m[_at(p + 1, p + 1)]
        both = a * c - b * b
        one = 1.0 / (a * both)  # for both pivots, as divisions are dear
        fine = fine * (a > 0.0) * (a * both > 1e-290) * (one > 1e-290)  # beyond, digits are lost, or all
        q = both * one
        r = a * a * one
        b = b * q
        for n in range(k):
            u[2 * n] = m[_at(n, p)]
            u[2 * n + 1] = m[_at(n, p + 1)] - b * m[_at(n, p)]
        for n in range(k):
            if n != p and n != p + 1:
                first = q * u[2 * n]
                second = r * u[2 * n + 1]
                for j in range(n + 1):
                    m[_at(n, 0) + j] = m[_at(n, 0) + j] - (first * u[2 * j] + second * u[2 * j + 1])
                m[_at(n, p)] = first - b * second
                m[_at(n, p + 1)] = second
        m[_at(p, p)] = 0.0 - (q + b * b * r)
        m[_at(p + 1, p)] = b * r
        m[_at(p + 1, p + 1)] = 0.0 - r
    return fine


@register_jitable
def _factored(m: Any, s: int, t: Any) -> Any:
    """Write L and 1/D of four rows and columns LDLᵀ into t, and minus the identity in their place; 1 where D is positive."""
    fine = 1.0
    for i in range(4):
        for j in range(i + 1):
            y = m[_at(s + i, s + j)]
            for p in range(j):
                y = y - t[4 * i + p] * t[4 * p + j]
            t[4 * j + i] = y
            t[4 * i + j] = t[5 * j] * y
            m[_at(s + i, s + j)] = -1.0 if i == j else 0.0
        t[5 * i] = 1.0 / y
        fine = fine * (y > 1e-290) * (t[5 * i] > 1e-290)  # beyond, digits are lost, or all
    return fine


@_inside
def _solved(m: Any, step: int, more: int, first: int, t: Any, u: Any) -> None:
    """Write L⁻¹y of four numbers y into u, and L⁻ᵀD⁻¹L⁻¹y in their place; those before the first are zero, and each is farther
    by some more from the one before it."""
    for i in range(first, 4):
        y = m[i * step + ((i > 1) + 2 * (i > 2)) * more]
        for j in range(first, i):
            y = y - t[4 * i + j] * u[j]
        u[i] = y
    for i in range(3, first - 1, -1):
        y = t[5 * i] * u[i]
        for j in range(i + 1, 4):
            y = y - t[4 * j + i] * m[j * step + ((j > 1) + 2 * (j > 2)) * more]
        m[i * step + ((i > 1) + 2 * (i > 2)) * more] = y


@register_jitable
def _times(t: Any, u: Any) -> Any:
    """Return D⁻¹u."""
    return t[0] * u[0], t[5] * u[1], t[10] * u[2], t[15] * u[3]


@register_jitable
def _sweep_four(numbers: Any, w: Any, x: Any, factor: Any, sums: Any, m: Any, u: Any) -> Any:
    """Do the same as :func:`_sweep` by four rows and columns at once, with rows of the identity if these are not a multiple of
    four: a large matrix is not in the first cache, and is read and written half as often."""
    k = len(numbers)
    t = u + 4 * (k + 3)
    fine = 1.0
    for at in range(_at(k + 3, 0)):
        m[at] = x * w[at] if at < _at(k, 0) else 0.0
    for i in range(k + 3):
        m[_at(i, i)] = m[_at(i, i)] + (1.0 - x if i < k else 1.0)
    for s in range(0, k, 4):
        fine = fine * _factored(m, s, t)
        for n in range(s):
            _solved(m + (_at(s, 0) + n), s + 1, 1, 0, t, u + 4 * n)
        for n in range(4):
            _solved(m + (_at(s, 0) + s + n), s + 1, 1, n, t, u + 4 * (s + n))
        for n in range(s + 4, k + k % 2):
            _solved(m + _at(n, s), 1, 0, 0, t, u + 4 * n)
        for at in range(4 * s, 4 * s + 16):
            u[at] = 0.0
        for n in range(0, k, 2):  # two rows at once, for which u is read once
            if n < s or n >= s + 4:
                a, b, c, d = _times(t, u + 4 * n)
                e, f, g, h = _times(t, u + 4 * (n + 1))
                one = m + _at(n, 0)
                two = m + _at(n + 1, 0)
                for j in range(n + 1):
                    entry = one[j] - (a * u[4 * j] + b * u[4 * j + 1] + c * u[4 * j + 2] + d * u[4 * j + 3])
                    two[j] = two[j] - (e * u[4 * j] + f * u[4 * j + 1] + g * u[4 * j + 2] + h * u[4 * j + 3])
                    one[j] = entry
                j = n + 1
                two[j] = two[j] - (e * u[4 * j] + f * u[4 * j + 1] + g * u[4 * j + 2] + h * u[4 * j + 3])
    for at in range(_at(k, 0)):
        sums[at] = sums[at] + factor * m[at]
    return fine


@_instructions
def _add_inverse(_: Any, numbers: Any, w: Any, x: Any, factor: Any, sums: Any, m: Any, u: Any) -> Any:
    """Add −factor·(x·w + 1 − x)⁻¹ to ``sums``; 1 where that is positive definite, 0 elsewhere.  If there is a tuple of k
    numbers, Python runs through the loops and makes code that keeps m and u in registers."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not isinstance(numbers, types.UniTuple):
            return context.compile_internal(builder, _sweep_four, signature, args)
        count = numbers.count
        (x, factor) = (Made(builder, all_of(builder, args[i])) for i in (2, 3))
        old, new = ([builder.gep(args[i], [ir.IntType(64)(at)]) for at in range(_at(count, 0))] for i in (1, 4))
        w, sums = ([Made(builder, builder.load(place, align=8)) for place in places] for places in (old, new))
        made: dict[int, Any] = {}
        fine = _cofactors(w, x, made) if count == 3 else _sweep(w, x, count, made, {})
        for at, place in enumerate(new):
            builder.store((sums[at] + factor * made[at]).value, place, align=8)
        return fine.value

    return EIGHT(numbers, PLACE, types.float64, types.float64, PLACE, PLACE, PLACE), code


@_inside
def _largest(sign: float, a: Any, k: int) -> Any:
    """Return a bound on the largest |eigenvalue| of matrices of one sign: the mean of all, and √(k − 1) times their root mean
    square distance from it (Samuelson 1968); a millionth more for rounding."""
    mean = all_of(0.0)
    square = all_of(0.0)
    for i in range(k):
        mean = mean + (1.0 / k) * a[_at(i, i)]
    for i in range(k):
        square = square + (a[_at(i, i)] - mean) * (a[_at(i, i)] - mean)
        for j in range(i):
            square = square + 2.0 * a[_at(i, j)] * a[_at(i, j)]
    return (1 + 1e-6) * (sign * mean + root(((k - 1) / k) * square))


@_inside
def _rule(widths: Array, row: int, widest: float) -> Any:
    """Return the first rule that is wide enough, from the last one on, as records are much alike."""
    while row > 0 and widths[row - 1] >= widest:
        row -= 1
    while widths[row] < widest:
        row += 1
    return row


@_inside
def _scaled(w: Any, inverse: Any, k: int) -> Any:
    """Return the power of two that lies in the middle of the bounds on eigenvalues, one over it, and the width about it."""
    high = _largest(1.0, w, k)
    low = _largest(-1.0, inverse, k)
    power = half_exponent(high / low)
    scale = power_of_two(0.0 - power)
    width = low * power_of_two(power)
    return power, scale, width + where_positive(high * scale - width, high * scale - width)


@_inside
def _places(w: Any, k: int) -> Any:
    """Return where the four triangles and the rows begin."""
    step = _at(k + 3, 0)
    return w, w + step, w + 2 * step, w + 3 * step, w + 4 * step


@_compile
def matrix_moments(
    points: Array, weights: Array, inverse: Array, rules: Any, room: Any, total: Array, wide: Any
) -> None:
    """Add to ``total`` weighted sums over matrices w = L⁻¹yL⁻ᵀ of the triangle of Log w, its squared length, its squared trace,
    and one; ``wide`` says which were left out, as they are not symmetric, or wider than all rules.  Zeros make the weights a
    multiple of eight.

    Log w = log c + Σⱼ fⱼ·(1 − (xⱼ·w/c + 1 − xⱼ)⁻¹) with the nodes xⱼ and factors fⱼ of the first of the ``rules`` whose width
    is not below λ₁/c and c/λₖ of any of eight records, λ₁ and 1/λₖ being bounds on the eigenvalues of w and of w⁻¹; c is a
    power of two near √(λ₁λₖ).
    """
    widths, counts, nodes = rules
    n = len(points)
    k = len(room[1])
    numbers = room[0]
    flat = points.reshape(n, k * k)
    two = place_of(numbers)
    size = _at(k, 0)
    w, m, logs, sums, u = _places(two + 2 + k * k, k)
    row = np.int64(0)
    for start in range(0, n, RUN):
        for at in range(size + 3):
            sums[at] = 0.0
        for first in range(start, min(start + RUN, n), LANES):
            last = min(LANES - 1, n - 1 - first)  # it is there again, without a weight, where there are no more
            for at in range(k * k):
                for z in range(LANES):
                    numbers[2 + at, z] = flat[first + min(z, last), at]
            fine = _whiten(two + 2, inverse, k, m, w)
            fine = fine * _add_inverse(room[1], w, 1.0, 1.0, logs, m, u)
            power, scale, width = _scaled(w, logs, k)
            fine = fine * (widths[-1] > width)
            two[0] = where_positive(fine, width)
            two[1] = fine
            widest = count = 0.0
            for z in range(LANES):
                widest = max(widest, numbers[0, z])
                count = count + numbers[1, z]
            if count < LANES:
                for z in range(LANES):
                    wide[min(first + z, n - 1)] |= numbers[1, z] == 0.0
            row = _rule(widths, row, widest)
            for at in range(size):
                w[at] = where_positive(fine, w[at] * scale)
                logs[at] = 0.0
            level = where_positive(fine, np.log(2.0) * power)
            for j in range(counts[row]):
                _add_inverse(room[1], w, nodes[row, 0, j], nodes[row, 1, j], logs, m, u)
                level = level + nodes[row, 1, j]
            length = all_of(0.0)
            trace = all_of(0.0)
            for i in range(k):
                logs[_at(i, i)] = logs[_at(i, i)] + level
                trace = trace + logs[_at(i, i)]
                length = length - logs[_at(i, i)] * logs[_at(i, i)]
            for at in range(size):
                length = length + 2.0 * logs[at] * logs[at]
            logs[size] = length
            logs[size + 1] = trace * trace
            logs[size + 2] = 1.0
            share = where_positive(fine, place_of(weights)[first // LANES])
            for at in range(size + 3):
                sums[at] = sums[at] + share * logs[at]
                logs[at] = 0.0
        for at in range(LANES * (size + 3)):
            total[at // LANES] += numbers[2 + k * k + 3 * _at(k + 3, 0) + at // LANES, at % LANES]


@_inside
def _turn_pair(a: Any, vectors: Any, k: int, p: int, q: int) -> None:
    """Turn axes p and q of a symmetric matrix, kept whole, such that its entry there is zero (Jacobi 1846)."""
    entry = a[p * k + q]
    gap = a[q * k + q] - a[p * k + p]
    sign = 2.0 * (gap > 0.0) - 1.0
    t = 2.0 * entry / (gap + sign * (root(gap * gap + 4.0 * entry * entry) + 1e-300))
    c = 1.0 / root(1.0 + t * t)
    s = t * c
    lower = a[p * k + p] - t * entry
    upper = a[q * k + q] + t * entry
    for r in range(k):
        first = a[r * k + p]
        second = a[r * k + q]
        one = c * first - s * second
        two = s * first + c * second
        a[r * k + p] = one
        a[p * k + r] = one
        a[r * k + q] = two
        a[q * k + r] = two
        first = vectors[r * k + p]
        second = vectors[r * k + q]
        vectors[r * k + p] = c * first - s * second
        vectors[r * k + q] = s * first + c * second
    a[p * k + p] = lower
    a[q * k + q] = upper
    a[p * k + q] = 0.0
    a[q * k + p] = 0.0


@_inside
def _logarithms(numbers: Array, start: int, radius: float, k: int, first: int, last: int, bad: Any) -> None:
    """Put into the place of eigenvalues, which are less one where the number after next is positive, their logarithms; or, if
    there is a radius, the eigenvalues of Exp of these, shortened to that length, less one where that keeps digits.  The next
    number is positive of matrices that are within the radius."""
    for z in range(LANES):
        near = numbers[start + k + 1, z] > 0.0
        fine = numbers[start + k, z] > 0.0
        square = 0.0
        for q in range(k):
            value = numbers[start + q, z]
            fine &= value > -1.0 if near else value > 0.0
            power = math.log1p(value) if near else math.log(value)
            square += power * power
            numbers[start + q, z] = power
        if z <= last:
            bad[first + z] = not fine
        numbers[start + k + 1, z] = 0.0
        numbers[start + k, z] = 0.0
        if radius < math.inf:
            share = radius / max(math.sqrt(square), radius)
            near = share * math.sqrt(square) < 0.5
            numbers[start + k + 1, z] = 1.0 if near else 0.0
            numbers[start + k, z] = 1.0 if square <= radius * radius else 0.0
            for q in range(k):
                power = share * numbers[start + q, z]
                numbers[start + q, z] = math.expm1(power) if near else math.exp(power)


@_inside
def _diagonalise(a: Any, vectors: Any, k: int, sweeps: int, values: Any) -> Any:
    """Write eigenvectors and eigenvalues of a, and return the sum of the squares that are left beside these, on one side."""
    for at in range(k * k):
        vectors[at] = 0.0
    for i in range(k):
        vectors[i * k + i] = 1.0
    for _ in range(sweeps):
        for p in range(k):
            for q in range(p + 1, k):
                _turn_pair(a, vectors, k, p, q)
    left = all_of(0.0)
    for i in range(k):
        values[i] = a[i * k + i]
        for j in range(i):
            left = left + a[i * k + j] * a[i * k + j]
    return left


@_inside
def _whole(w: Any, k: int, made: Any) -> Any:
    """Write a symmetric matrix whole, from its triangle, and return its squared length."""
    length = all_of(0.0)
    for i in range(k):
        for j in range(k):
            made[i * k + j] = w[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)]
            length = length + made[i * k + j] * made[i * k + j]
    return length


@_inside
def _rebuild(values: Any, vectors: Any, factor: Array, base: Array, near: Any, k: int, side: Any, made: Any) -> None:
    """Write f·U·diag(values)·Uᵀ·fᵀ, plus the base where ``near``."""
    for i in range(k):
        for q in range(k):
            s = all_of(0.0)
            for j in range(i + 1):
                s = s + factor[i, j] * vectors[j * k + q]
            side[i * k + q] = s
    for i in range(k):
        for j in range(i + 1):
            s = near * base[i * k + j]
            for q in range(k):
                s = s + side[i * k + q] * values[q] * side[j * k + q]
            made[i * k + j] = s
            made[j * k + i] = s


@_compile
def matrix_logs(
    points: Array,
    base: Array,
    inverse: Array,
    factor: Array,
    radius: float,
    sweeps: int,
    numbers: Array,
    made: Array,
    bad: Any,
) -> None:
    """Put f·Log(L⁻¹yL⁻ᵀ)·fᵀ of matrices y, as rows, into ``made``, L⁻¹ being ``inverse`` and f the ``factor``.

    With a radius, y if that logarithm is no longer, else f·Exp(that logarithm, shortened to the radius)·fᵀ: for f = L the point
    of the geodesic from ``base`` to y.  ``bad`` says which are wrong, as they hold no numbers, or such that digits are lost.

    Eigenvectors by turns of two axes each, the same number of them for every matrix: no row depends on another one, and all
    take the same time.  Matrices near the base are taken less one, so that short logarithms keep their digits.
    """
    n = len(points)
    k = len(inverse)
    size = k * k
    y = place_of(numbers)
    a = y + size
    vectors = a + size
    side = vectors + size
    values = side + size
    near = values + (k + 1)
    half = near + 1
    for first in range(0, n, LANES):
        last = min(LANES - 1, n - 1 - first)
        for which in range(2):  # y into the place of the eigenvectors, and y less the base
            for at in range(size):
                for z in range(LANES):
                    numbers[at, z] = points[first + min(z, last), at] - which * base[at]
            _whiten(y, inverse, k, half, a + (1 - which) * size)
        near[0] = where_positive(0.25 - _whole(a, k, side), 1.0)
        for at in range(size):
            a[at] = side[at]
        _whole(vectors, k, side)
        length = all_of(0.0)
        for at in range(size):
            a[at] = where_positive(near[0], a[at]) + where_positive(1.0 - near[0], side[at])
            length = length + a[at] * a[at]
        left = _diagonalise(a, vectors, k, sweeps, values)
        values[k] = where_positive(1e-29 * length + 1e-280 - left, 1.0) * where_positive(1e150 - length, 1.0)
        _logarithms(numbers, 4 * size, radius, k, first, last, bad)
        _rebuild(values, vectors, factor, base, near[0], k, side, a)
        for z in range(last + 1):
            inside = numbers[4 * size + k, z] > 0.0
            for at in range(size):
                made[first + z, at] = points[first + z, at] if inside else numbers[size + at, z]
