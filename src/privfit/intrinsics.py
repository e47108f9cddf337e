"""Four machine instructions that Python has no name for, for use in compiled loops."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from privfit.losses import multiply_add, tell_numba

tell_numba()

# Compiled code calls an intrinsic without the first argument, which its author gets.
declared: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic
low_level: Any = cgutils


@declared
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c in float64, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), generate


@overload(multiply_add)
def _compiled(a: Any, b: Any, c: Any) -> Any:
    def rounded_once(a: Any, b: Any, c: Any) -> Any:
        return fma(a, b, c)

    return rounded_once


@declared
def prefetch(typing: Any, X: Any, i: Any, j: Any) -> Any:
    """Ask for the memory around X[i, j], which is about to be needed, and do not wait for it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(X)(context, builder, args[0])
        row, column = (context.cast(builder, args[k], signature.args[k], types.intp) for k in (1, 2))
        place = low_level.get_item_pointer(context, builder, X, array, [row, column])
        pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        instruction = low_level.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag]), "llvm.prefetch.p0"
        )
        # to read, into the second-level cache, as data
        builder.call(instruction, [builder.bitcast(place, pointer), flag(0), flag(2), flag(1)])
        return context.get_dummy_value()

    return types.void(X, i, j), generate


@declared
def peek(typing: Any, numbers: Any) -> Any:
    """Return the first of an array of int64 as it is now, in case another thread changes it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(numbers)(context, builder, args[0])
        return builder.load_atomic(array.data, "acquire", 8)

    return types.int64(numbers), generate


@declared
def poke(typing: Any, numbers: Any, value: Any) -> Any:
    """Set the first of an array of int64, for other threads to see now."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(numbers)(context, builder, args[0])
        builder.store_atomic(args[1], array.data, "release", 8)
        return context.get_dummy_value()

    return types.void(numbers, types.int64), generate
