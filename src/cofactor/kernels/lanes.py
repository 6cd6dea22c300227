"""Sixteen numbers at a time: arithmetic of the rows of tables of sixteen columns, float32 or float64.

LLVM vectorizes a loop over columns, but keeps their sums in memory from one step of the loop around it to the next, and
asks each time whether arrays overlap: four times as slow. Sixteen numbers of single precision are one register of some
machines, others take several. Every operation is rounded as it is written, but a product may be fused with a sum.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.errors import TypingError
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, register_model
from numpy.typing import DTypeLike, NDArray

from cofactor.kernels.compile import inlined

LANES = 16  #: numbers of a register, columns of a table
AHEAD = 16  #: entries before a row that lies anywhere in memory is used, it is asked for: see `fetch`
LINE = 64  #: bytes that come from memory together


def padded_zeros(n: int, d: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return n rows of zeros that begin at a line of memory, with room for d numbers in whole `LANES`.

    Memory that is not written to afterwards costs nothing.

    Examples
    --------
    >>> padded_zeros(2, 20, np.float32).shape
    (2, 32)
    """
    width = -(-d // LANES) * LANES
    raw = np.zeros(n * width + LINE, dtype)
    first = -raw.ctypes.data % LINE // raw.itemsize
    return raw[first : first + n * width].reshape(n, width)


def pad_to_lanes(A: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of a matrix whose rows are whole `LANES`: see `padded_zeros`."""
    n, d = A.shape
    table = padded_zeros(n, d, A.dtype)
    table[:, :d] = A
    return table


def _none(kind: Any) -> Any:
    """Return sixteen zeros of a type."""
    return ir.Constant(kind, [0.0] * LANES)


def _known(function: Callable[..., Any]) -> Any:
    """Let kernels call what a function returns the code of."""
    return intrinsic(function)


class Lanes(types.Type):
    """The type of sixteen numbers of a type."""

    def __init__(self, number: Any) -> None:
        self.number = number
        super().__init__(f"lanes({number})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        number = ir.DoubleType() if kind.number == types.float64 else ir.FloatType()
        super().__init__(manager, kind, ir.VectorType(number, LANES))  # type: ignore[no-untyped-call]


_single, _double = Lanes(types.float32), Lanes(types.float64)


def _lanes(number: Any) -> Lanes:
    """Return the type of sixteen of these numbers; double precision only if they have it."""
    return _double if number == types.float64 else _single


@_known
def load(typing: Any, table: Any, row: Any) -> Any:
    """Return a row, which is not checked, of a contiguous table of shape (n, LANES), float32 or float64."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, signature, arguments), align=4)

    return _lanes(table.dtype)(table, types.uintp), code


@_known
def load_from(typing: Any, x: Any, at: Any) -> Any:
    """Return the sixteen numbers of a contiguous array that begin at a place, which is not checked."""
    if x.layout != "C":
        raise TypingError("expected a contiguous array")

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.gep(context.make_array(signature.args[0])(context, builder, arguments[0]).data, [arguments[1]])
        return builder.load(builder.bitcast(place, ir.VectorType(place.type.pointee, LANES).as_pointer()), align=4)

    return _lanes(x.dtype)(x, types.uintp), code


@_known
def store_at(typing: Any, x: Any, at: Any, numbers: Any) -> Any:
    """Put sixteen numbers into a contiguous array of their precision; see `load_from`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.gep(context.make_array(signature.args[0])(context, builder, arguments[0]).data, [arguments[1]])
        builder.store(arguments[2], builder.bitcast(place, arguments[2].type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(x, types.uintp, numbers), code


@_known
def store(typing: Any, table: Any, row: Any, x: Any) -> Any:
    """Put sixteen numbers into a row of a table, in its precision if that is the higher one; see `load`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place, x = _place(context, builder, signature, arguments), arguments[2]
        builder.store(x if x.type == place.type.pointee else builder.fpext(x, place.type.pointee), place, align=4)
        return context.get_dummy_value()

    return types.void(table, types.uintp, x), code


@inlined
def fetch(table, row):  # type: ignore[no-untyped-def]
    """Ask for a row of a contiguous table: where rows are needed in no order, each would be waited for."""
    for column in range(0, table.shape[1], LINE // table.itemsize):
        _fetch(table, row, column)


@_known
def _fetch(typing: Any, table: Any, row: Any, column: Any) -> Any:
    """Ask for a number of a table, and for those in the same line."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, row, column = arguments
        array = context.make_array(signature.args[0])(context, builder, table)
        width = builder.extract_value(array.shape, 1)
        _prefetch(builder, builder.gep(array.data, [builder.add(builder.mul(row, width), column)]))
        return context.get_dummy_value()

    return types.void(table, types.intp, types.intp), code


@_known
def fetch_lanes(typing: Any, table: Any, row: Any) -> Any:
    """Ask for a row of a table of sixteen columns, as `fetch` does."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place, kind = _place(context, builder, signature, arguments), ir.IntType(8).as_pointer()
        first = builder.bitcast(place, kind)
        for first_byte in range(0, LANES * table.dtype.bitwidth // 8, LINE):
            _prefetch(builder, builder.gep(first, [ir.Constant(ir.IntType(64), first_byte)]))
        return context.get_dummy_value()

    return types.void(table, types.uintp), code


@_known
def fetch_number(typing: Any, x: Any, at: Any) -> Any:
    """Ask for a number of an array, as `fetch` does."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        _prefetch(builder, builder.gep(data, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(x, types.uintp), code


def _prefetch(builder: Any, place: Any) -> None:
    """Ask for the line of memory in which a number lies."""
    number = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), number, number, number])
    function = builder.module.declare_intrinsic("llvm.prefetch.p0i8", fnty=kind)
    to_read, all_levels, of_data = (ir.Constant(number, one) for one in (0, 3, 1))
    builder.call(function, [builder.bitcast(place, ir.IntType(8).as_pointer()), to_read, all_levels, of_data])


@_known
def filled(typing: Any, x: Any) -> Any:
    """Return a number sixteen times."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _spread(builder, arguments[0])

    lanes = _lanes(x)
    return lanes(lanes.number), code


@_known
def spread(typing: Any, table: Any, row: Any, column: Any) -> Any:
    """Return a number of a table, at a place that is not checked, sixteen times; see `load`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, row, column = arguments
        data = context.make_array(signature.args[0])(context, builder, table).data
        at = builder.add(builder.mul(row, ir.Constant(row.type, LANES)), column)
        return _spread(builder, builder.load(builder.gep(data, [at])))

    return _lanes(table.dtype)(table, types.uintp, types.uintp), code


@_known
def doubled(typing: Any, x: Any) -> Any:
    """Return sixteen numbers in double precision."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.DoubleType(), LANES)
        return arguments[0] if arguments[0].type == kind else builder.fpext(arguments[0], kind)

    return _double(x), code


@_known
def fma(typing: Any, x: Any, y: Any, z: Any) -> Any:
    """Return x y + z, rounded once, for exact kernels: see `compile.fused`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        name = f"llvm.fma.v{LANES}f{64 if kind.element == ir.DoubleType() else 32}"
        return builder.call(builder.module.declare_intrinsic(name, fnty=ir.FunctionType(kind, [kind] * 3)), arguments)

    return x(x, y, z), code


@_known
def where_positive(typing: Any, x: Any, y: Any, z: Any) -> Any:
    """Return y where x > 0, and z elsewhere."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y, z = arguments
        return builder.select(builder.fcmp_ordered(">", x, _none(x.type)), y, z)

    return x(x, y, z), code


@_known
def any_nonzero(typing: Any, x: Any) -> Any:
    """Return whether a number is not 0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        mask = builder.bitcast(builder.fcmp_unordered("!=", arguments[0], _none(arguments[0].type)), ir.IntType(LANES))
        return builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0))

    return types.boolean(x), code


@_known
def total(typing: Any, x: Any) -> Any:
    """Return the sum of sixteen numbers, halves first."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width = arguments[0], LANES
        while width > 1:
            width //= 2
            kind = ir.VectorType(ir.IntType(32), width)
            low, high = (ir.Constant(kind, list(range(first, first + width))) for first in (0, width))
            x = builder.fadd(builder.shuffle_vector(x, x, low), builder.shuffle_vector(x, x, high))
        return builder.extract_element(x, ir.Constant(ir.IntType(32), 0))

    return x.number(x), code


def _spread(builder: Any, x: Any) -> Any:
    """Return a number sixteen times."""
    none = _none(ir.VectorType(x.type, LANES))
    first = builder.insert_element(none, x, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, none, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return where a row of a table begins."""
    table = context.make_array(signature.args[0])(context, builder, arguments[0])
    first = builder.mul(arguments[1], ir.Constant(arguments[1].type, LANES))
    place = builder.gep(table.data, [first])
    return builder.bitcast(place, ir.VectorType(place.type.pointee, LANES).as_pointer())


def _define(functions: tuple[Any, ...], operation: Callable[[Any, Any, Any], Any]) -> None:
    """Let operators, or functions, of two take sixteen numbers each."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return operation(builder, *arguments)

    for function in functions:
        of_two = type("_OfTwo", (ConcreteTemplate,), {"cases": [kind(kind, kind) for kind in (_single, _double)]})
        infer_global(function)(of_two)  # type: ignore[no-untyped-call]
        lower_builtin(function, Lanes, Lanes)(code)  # type: ignore[no-untyped-call]


_define((operator.add, operator.iadd), lambda builder, x, y: builder.fadd(x, y, flags=["contract"]))
_define((operator.sub, operator.isub), lambda builder, x, y: builder.fsub(x, y, flags=["contract"]))
_define((operator.mul, operator.imul), lambda builder, x, y: builder.fmul(x, y, flags=["contract"]))
_define((operator.truediv,), lambda builder, x, y: builder.fdiv(x, y))
_define((max,), lambda builder, x, y: builder.select(builder.fcmp_ordered(">", x, y), x, y))
_define((min,), lambda builder, x, y: builder.select(builder.fcmp_ordered("<", x, y), x, y))
