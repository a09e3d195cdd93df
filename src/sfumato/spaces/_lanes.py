"""Eight numbers at once, as one value of compiled code: LLVM finds such vectors in loops over records only where it can tell
that arrays do not overlap, which Numba cannot say.  They are read and written at places, which are addresses in arrays: passing
arrays on would count references to them in the innermost loops, and numbers that are made addresses have misled LLVM."""

from __future__ import annotations

import math
import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, models, register_model

from ._kernels import _instructions

LANES = 8
VECTOR = ir.VectorType(ir.DoubleType(), LANES)
LOOSE = ("reassoc", "contract", "nsz")  # as everywhere, sums may be reordered and products fused


class Eight(types.Type):
    """The type of a vector."""

    def __init__(self) -> None:
        super().__init__(name="eight")


class Place(types.Type):
    """The type of an address, to which bytes may be added."""

    def __init__(self) -> None:
        super().__init__(name="place")


EIGHT, PLACE = Eight(), Place()
BYTE = ir.IntType(8).as_pointer()


def _model(kind: Any, value: Any) -> None:
    class Model(models.PrimitiveModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, value)  # type: ignore[no-untyped-call]

    register_model(kind)(Model)


def _operator(function: Any, first: Any, second: Any, lower: Any) -> None:
    class Template(AbstractTemplate):
        def generic(self, args: Any, _: Any) -> Any:
            fits = len(args) == 2 and args[0] == first and self.context.can_convert(args[1], second) is not None
            return first(first, second) if fits else None

    infer_global(function)(Template)  # type: ignore[no-untyped-call]
    lower_builtin(function, first, second)(lower)  # type: ignore[no-untyped-call]


_model(Eight, VECTOR)
_model(Place, BYTE)
for _function, _name in {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"}.items():

    def _lower(_: Any, builder: Any, __: Any, args: Any, name: str = _name) -> Any:
        return getattr(builder, name)(*args, flags=LOOSE)

    _operator(getattr(operator, _function), EIGHT, EIGHT, _lower)
_operator(operator.add, PLACE, types.intp, lambda _, builder, __, args: builder.gep(args[0], [args[1]]))


@_instructions
def place_of(_: Any, array: Any) -> Any:
    """Where an array begins."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(context.make_array(sig.args[0])(context, builder, args[0]).data, BYTE)

    return PLACE(array), code


@_instructions
def get(_: Any, place: Any) -> Any:
    """The eight numbers that begin at an address."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(builder.bitcast(args[0], VECTOR.as_pointer()), align=8)

    return EIGHT(PLACE), code


@_instructions
def put(_: Any, place: Any, value: Any) -> Any:
    """Writes eight numbers to an address."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[1], builder.bitcast(args[0], VECTOR.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.none(PLACE, EIGHT), code


@_instructions
def lane(_: Any, value: Any, which: Any) -> Any:
    """One of the eight numbers."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(args[0], builder.trunc(args[1], ir.IntType(32)))

    return types.float64(EIGHT, types.intp), code


@_instructions
def sum_of(_: Any, value: Any) -> Any:
    """The sum of the eight numbers, in their order."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        total = builder.extract_element(args[0], ir.IntType(32)(0))
        for z in range(1, LANES):
            total = builder.fadd(total, builder.extract_element(args[0], ir.IntType(32)(z)))
        return total

    return types.float64(EIGHT), code


@_instructions
def all_of(_: Any, number: Any) -> Any:
    """A number eight times."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), args[0], ir.IntType(32)(0))
        return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))

    return EIGHT(types.float64), code


def _each(name: str) -> Any:
    def of(_: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            kind = ir.FunctionType(VECTOR, [VECTOR])
            return builder.call(builder.module.declare_intrinsic(f"llvm.{name}.v8f64", (), kind), args)

        return EIGHT(EIGHT), code

    return _instructions(of)


root = _each("sqrt")


@_instructions
def log(_: Any, value: Any) -> Any:
    """Logarithms of positive normal numbers m·2ᵉ, √½ ≤ m < √2: e·log 2 + 2·artanh s, s = (m − 1)/(m + 1), from the series
    of artanh.  LLVM's own are eight calls."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        whole = ir.VectorType(ir.IntType(64), LANES)
        bits, least = builder.bitcast(args[0], whole), 0x3FE6A09E667F3BCD  # √½
        exponent = builder.ashr(builder.sub(bits, whole([least] * LANES)), whole([52] * LANES))
        m = builder.bitcast(builder.sub(bits, builder.shl(exponent, whole([52] * LANES))), VECTOR)
        one = VECTOR([1.0] * LANES)
        s = builder.fdiv(builder.fsub(m, one), builder.fadd(m, one))
        square, total = builder.fmul(s, s), VECTOR([2 / 23] * LANES)
        for j in range(10, -1, -1):
            total = builder.fadd(
                builder.fmul(total, square, flags=LOOSE), VECTOR([2 / (2 * j + 1)] * LANES), flags=LOOSE
            )
        level = builder.fmul(builder.sitofp(exponent, VECTOR), VECTOR([math.log(2)] * LANES), flags=LOOSE)
        return builder.fadd(builder.fmul(s, total, flags=LOOSE), level, flags=LOOSE)

    return EIGHT(EIGHT), code


@_instructions
def most(_: Any, value: Any) -> Any:
    """The largest of the eight numbers, none of which is NaN."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [VECTOR])
        return builder.call(
            builder.module.declare_intrinsic("llvm.vector.reduce.fmax.v8f64", (), kind), args, fastmath=("nnan",)
        )

    return types.float64(EIGHT), code


@_instructions
def gather(_: Any, place: Any, step: Any, count: Any) -> Any:
    """The number at an address, and seven more that are ``step`` bytes apart; beyond ``count`` of them the last again."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found, (start, step, count) = ir.Constant(VECTOR, ir.Undefined), args
        last = builder.sub(count, count.type(1))
        for z in range(LANES):
            index = builder.select(builder.icmp_signed("<", count.type(z), last), count.type(z), last)
            at = builder.bitcast(builder.gep(start, [builder.mul(index, step)]), ir.DoubleType().as_pointer())
            found = builder.insert_element(found, builder.load(at), ir.IntType(32)(z))
        return found

    return EIGHT(PLACE, types.intp, types.intp), code


def _where(sign: str) -> Any:
    def of(_: Any, which: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.select(builder.fcmp_ordered(sign, args[0], VECTOR(None)), args[1], VECTOR(None))

        return EIGHT(EIGHT, EIGHT), code

    return _instructions(of)


# a value where another is above zero, or is zero; elsewhere, also where that is not a number, zero
where_positive, where_zero = _where(">"), _where("==")


@_instructions
def below(_: Any, count: Any) -> Any:
    """Ones in the first ``count`` places, zeros beyond."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found, one = VECTOR(None), ir.DoubleType()(1.0)
        for z in range(LANES):
            there = builder.icmp_signed("<", args[0].type(z), args[0])
            found = builder.insert_element(found, builder.select(there, one, one.type(0.0)), ir.IntType(32)(z))
        return found

    return EIGHT(types.intp), code
