"""Eight numbers at once, as one value of compiled code, and places that hold many of them: LLVM finds such vectors in loops
over records only where it can tell that arrays do not overlap, which Numba cannot say."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, lower_cast, models, register_model

from .kernels import _instructions

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
    """Makes code of the builder and values a function in compiled code, or an operator there and on what is made."""

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
    """Where an array begins."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(context.make_array(array)(context, builder, args[0]).data, VECTOR.as_pointer())

    return PLACE(array), code


@_lowered(EIGHT, EIGHT)
def root(builder: Any, value: Any) -> Any:
    """Square roots."""
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
    """2ᵉ of whole numbers e from −1022 to 1023."""
    bits = builder.add(builder.fptosi(exponent, WHOLE), WHOLE([1023] * LANES))
    return builder.bitcast(builder.shl(bits, WHOLE([52] * LANES)), VECTOR)
