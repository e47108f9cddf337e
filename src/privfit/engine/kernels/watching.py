"""Waiting for another thread without sleeping: a compiled loop that looks at a number until it changes.

Waking a thread takes a good part of the time of a step, so whoever expects news within a fraction of a
millisecond watches for it before going to sleep, as BLAS does. The GIL is free meanwhile. That is worth 12%
of a fit of Adult as CSR, and 8% dense (`benchmarks/handover.py`, two cores).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from privfit.engine.kernels.compiling import compiled

Flag = NDArray[np.int64]

# Compiled code calls an intrinsic without the first argument, which its author gets.
declared: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic


def flag() -> Flag:
    """Return a number that threads watch."""
    return np.zeros(1, np.int64)


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


@compiled()
def watch(done: Flag, number: Flag, seen: int, looks: int, grace: int) -> None:
    """Set `done`, then look at a number until it is not `seen`, at most so often, and `grace` times more."""
    poke(done, 1)
    for _ in range(looks):
        if peek(number) != seen:
            break
    for _ in range(grace):
        peek(number)
