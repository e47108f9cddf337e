"""Multiplication and addition with a single rounding, in compiled code."""

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.extending import intrinsic, overload

from privfit.losses.arithmetic import NO_C_ENTRY, multiply_add, tell_numba

tell_numba()

# An intrinsic has a first argument, the typing context, that compiled code does not pass.
declared: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic


JIT_OPTIONS: Any = NO_C_ENTRY  # an option that numba's type hints do not have


@declared
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c in float64, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), generate


@overload(multiply_add, jit_options=JIT_OPTIONS)
def _compiled(a: Any, b: Any, c: Any) -> Any:
    def rounded_once(a: Any, b: Any, c: Any) -> Any:
        return fma(a, b, c)

    return rounded_once
