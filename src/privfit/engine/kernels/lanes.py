"""Vectors of eight float64 numbers, for compiled loops over the entries of rows.

The compiler can vectorise ordinary loops, too. But it then processes up to thirty entries at the end of each
row one by one, and chooses the order of additions. Here both are fixed, and the same on every machine. The
compiler maps the eight lanes to the vectors of the processor.

Values of type Lanes exist in compiled code only. The functions do not check subscripts.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

LANES = 8

declared: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic
low_level: Any = cgutils

DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
FLOATS = ir.VectorType(ir.FloatType(), LANES)
INTEGERS = ir.VectorType(ir.IntType(64), LANES)
PLACES = ir.VectorType(ir.IntType(32), LANES)


class Lanes(types.Type):
    """The type of eight float64 numbers."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


lanes: Any = Lanes()


@register_model(Lanes)
class _Vector(models.PrimitiveModel):
    def __init__(self, manager: Any, type_: Any) -> None:
        super().__init__(manager, type_, DOUBLES)  # type: ignore[no-untyped-call] # numba has no types


@declared
def read(typing: Any, numbers: Any, j: Any) -> Any:
    """Return numbers[j : j + 8] of an array of float64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature, args, DOUBLES, 1), align=8)

    return lanes(numbers, j), generate


@declared
def write(typing: Any, numbers: Any, j: Any, values: Any) -> Any:
    """Set numbers[j : j + 8] of an array of float64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _pointer(context, builder, signature, args, DOUBLES, 1), align=8)
        return context.get_dummy_value()

    return types.void(numbers, j, values), generate


@declared
def entries(typing: Any, X: Any, i: Any, j: Any) -> Any:
    """Return X[i, j : j + 8] of a float32 or float64 matrix in row-major order."""
    vector = _stored(X)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, signature, args, vector, 2)
        return _widened(builder, builder.load(pointer, align=_size(X)))

    return lanes(X, i, j), generate


@declared
def last_entries(typing: Any, X: Any, i: Any, j: Any, count: Any) -> Any:
    """Return X[i, j : j + count], padded with zeros. Later entries are not read."""
    vector = _stored(X)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, signature, args, vector, 2)
        count = _splat(builder, context.cast(builder, args[3], signature.args[3], types.intp), INTEGERS)
        mask = builder.icmp_signed("<", INTEGERS([*range(LANES)]), count)
        parameters = [pointer.type, ir.IntType(32), mask.type, vector]
        name = f"llvm.masked.load.v{LANES}f{8 * _size(X)}.p0"
        load = low_level.get_or_insert_function(builder.module, ir.FunctionType(vector, parameters), name)
        zeros = vector([0.0] * LANES)
        return _widened(builder, builder.call(load, [pointer, ir.IntType(32)(_size(X)), mask, zeros]))

    return lanes(X, i, j, count), generate


@declared
def alike(typing: Any, number: Any) -> Any:
    """Return a number in all lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0], DOUBLES)

    return lanes(types.float64), generate


@declared
def add(typing: Any, a: Any, b: Any) -> Any:
    """Return a + b."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(*args)

    return lanes(lanes, lanes), generate


@declared
def subtract(typing: Any, a: Any, b: Any) -> Any:
    """Return a - b."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fsub(*args)

    return lanes(lanes, lanes), generate


@declared
def multiply(typing: Any, a: Any, b: Any) -> Any:
    """Return a * b."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fmul(*args)

    return lanes(lanes, lanes), generate


@declared
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        type_ = ir.FunctionType(DOUBLES, [DOUBLES] * 3)
        instruction = low_level.get_or_insert_function(builder.module, type_, f"llvm.fma.v{LANES}f64")
        return builder.call(instruction, args)

    return lanes(lanes, lanes, lanes), generate


@declared
def total(typing: Any, values: Any) -> Any:
    """Return the sum of the lanes: the lower half plus the upper half, and so on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (values,) = args
        width = LANES
        while width > 1:
            width //= 2
            half = ir.VectorType(ir.IntType(32), width)
            lower = builder.shuffle_vector(values, values, half([*range(width)]))
            upper = builder.shuffle_vector(values, values, half([*range(width, 2 * width)]))
            values = builder.fadd(lower, upper)
        return builder.extract_element(values, ir.IntType(32)(0))

    return types.float64(lanes), generate


@declared
def prefetch(typing: Any, X: Any, i: Any, j: Any) -> Any:
    """Prefetch the memory around X[i, j], which is needed soon, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(X)(context, builder, args[0])
        row, column = (context.cast(builder, args[k], signature.args[k], types.intp) for k in (1, 2))
        place = low_level.get_item_pointer(context, builder, X, array, [row, column])
        pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        instruction = low_level.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag]), "llvm.prefetch.p0"
        )
        # arguments: for reading, into the second-level cache, as data
        builder.call(instruction, [builder.bitcast(place, pointer), flag(0), flag(2), flag(1)])
        return context.get_dummy_value()

    return types.void(X, i, j), generate


def _pointer(context: Any, builder: Any, signature: Any, args: Any, vector: Any, rank: int) -> Any:
    """Return a pointer to the vector that begins at an entry of args[0]; the other args are subscripts."""
    array_type = signature.args[0]
    array = context.make_array(array_type)(context, builder, args[0])
    subscripts = [context.cast(builder, args[k], signature.args[k], types.intp) for k in range(1, rank + 1)]
    place = low_level.get_item_pointer(context, builder, array_type, array, subscripts)
    return builder.bitcast(place, vector.as_pointer())


def _stored(X: Any) -> Any:
    return FLOATS if X.dtype == types.float32 else DOUBLES


def _size(X: Any) -> int:
    return 4 if X.dtype == types.float32 else 8


def _widened(builder: Any, values: Any) -> Any:
    return builder.fpext(values, DOUBLES) if values.type == FLOATS else values


def _splat(builder: Any, number: Any, vector: Any) -> Any:
    nothing = vector(ir.Undefined)
    first = builder.insert_element(nothing, number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, nothing, PLACES([0] * LANES))
