"""Wait for another thread without sleeping: a compiled loop reads a number until it changes.

Waking a thread takes a large part of the time of a step. So a thread that waits for less than a millisecond
first spins, as in BLAS, and only then sleeps. The GIL is free meanwhile. This saves 12% of the time of a fit
of Adult as CSR, and 8% as a dense matrix (`benchmarks/handover.py`, two cores).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from privfit.engine.kernels.compiling import compiled

Flag = NDArray[np.int64]

# An intrinsic has a first argument, the typing context, that compiled code does not pass.
declared: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic


def flag() -> Flag:
    """Return a new flag: a number that threads can watch."""
    return np.zeros(1, np.int64)


@declared
def peek(typing: Any, numbers: Any) -> Any:
    """Return the current first entry of an array of int64, which another thread may change."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(numbers)(context, builder, args[0])
        return builder.load_atomic(array.data, "acquire", 8)

    return types.int64(numbers), generate


@declared
def poke(typing: Any, numbers: Any, value: Any) -> Any:
    """Set the first entry of an array of int64, visible to other threads at once."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(numbers)(context, builder, args[0])
        builder.store_atomic(args[1], array.data, "release", 8)
        return context.get_dummy_value()

    return types.void(numbers, types.int64), generate


@compiled()
def watch(done: Flag, number: Flag, seen: int, looks: int, grace: int) -> None:
    """Set `done`, then read a number until it differs from `seen`, at most `looks` times; then read on."""
    poke(done, 1)
    for _ in range(looks):
        if peek(number) != seen:
            break
    for _ in range(grace):
        peek(number)
