"""Check that a function written by a user depends on its arguments alone.

A sum over records has a sensitivity bound only if each summand is computed from one record alone. A user's
loss could break this by accident: with a random number, with a counter, or with a library's exponential. A
compiler may replace the exponential by a vector version in a part of a loop, so that its last bit depends on
the row. So a loss may use only names that are functions of their arguments, rounded in the same way in every
row.
"""

from __future__ import annotations

import builtins
import dis
import hashlib
import math
from types import FunctionType
from typing import Any

from privfit.losses import arithmetic

BUILTINS = (abs, bool, float, max, min)
# each of these is exact, or rounded correctly, however it is compiled
OF_MATH = ("copysign", "e", "fabs", "inf", "isfinite", "isinf", "isnan", "nan", "pi", "sqrt", "tau")
OWN = (arithmetic.exp, arithmetic.log, arithmetic.log1p_unit)
ADVICE = "use arithmetic, comparisons, abs, min, max, math.sqrt, and exp and log of privfit.losses.arithmetic"
FORBIDDEN = ("SUBSCR", "SLICE", "IMPORT", "STORE_GLOBAL", "STORE_ATTR", "STORE_DEREF", "YIELD", "DELETE")
# A function inside the function would not be checked, and an exception would reveal something of a record.
ALSO_FORBIDDEN = ("MAKE_FUNCTION", "ASSERTION", "RAISE")


def fingerprint(function: Any, who: str) -> str:
    """Return a digest of a function's code; raise ValueError if it may depend on more than its arguments.

    Parameters
    ----------
    function : callable
        A Python function of two numbers.
    who : str
        The name of the function in error messages.

    Returns
    -------
    digest : str
        A digest that is equal for equal code and constants, in any file.

    Raises
    ------
    ValueError
        If the function is not written in Python, does not take two arguments, or uses a name that is not
        allowed.
    """
    if not isinstance(function, FunctionType):
        raise ValueError(f"The {who} must be a Python function of (prediction, target).")
    _check_arguments(function, who, 2)
    parts: list[str] = []
    _collect(function, who, parts, [])
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _check_arguments(function: FunctionType, who: str, count: int | None) -> None:
    code = function.__code__
    plain = not (code.co_kwonlyargcount or code.co_flags & 0x0C or function.__defaults__)  # *args, **kwargs
    if not plain or (count is not None and code.co_argcount != count):
        wanted = "(prediction, target)" if count else "plain arguments without defaults"
        raise ValueError(f"The {who} must be a function of {wanted}.")


def _collect(function: FunctionType, who: str, parts: list[str], callers: list[FunctionType]) -> None:
    """Append the code and constants of a function to `parts`; raise ValueError if it is not allowed."""
    if function in callers:
        raise ValueError(f"The {who} calls itself; write it without recursion.")
    code = function.__code__
    constants = [constant for constant in code.co_consts if not isinstance(constant, str)]  # no docstrings
    parts.append(f"{code.co_code.hex()} {constants!r} {code.co_names} {code.co_varnames}")
    for name, used in _used(function, who).items():
        if isinstance(used, bool | int | float):
            parts.append(f"{name}={used!r}")
        elif isinstance(used, FunctionType) and not any(used is own for own in OWN):
            helper = f"function {name!r} that the {who} uses"
            _check_arguments(used, helper, None)
            _collect(used, helper, parts, [*callers, function])
        elif any(used is allowed for allowed in (math, *BUILTINS, *OWN)):
            parts.append(f"{name}={used.__name__}")  # its own name, because `name` may be an alias
        else:
            raise ValueError(
                f"The {who} uses {name!r}, which is not known to depend on numbers alone; {ADVICE}."
            )


def _used(function: FunctionType, who: str) -> dict[str, Any]:
    """Return the objects that a function's names refer to; raise ValueError for operations not on numbers."""
    captured = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    used = {name: cell.cell_contents for name, cell in captured}
    before: dis.Instruction | None = None
    for done in dis.get_instructions(function.__code__):
        if any(word in done.opname for word in FORBIDDEN):
            raise ValueError(
                f"The {who} must compute with numbers alone: no indexing, no imports, no globals."
            )
        if any(word in done.opname for word in ALSO_FORBIDDEN):
            raise ValueError(
                f"The {who} must return a number for all arguments: no exceptions, no functions inside it."
            )
        if done.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            used[done.argval] = function.__globals__.get(done.argval, getattr(builtins, done.argval, None))
        if done.opname in ("LOAD_ATTR", "LOAD_METHOD") and done.argval not in OF_MATH:
            raise ValueError(f"The {who} uses {done.argval!r}; {ADVICE}.")
        exponent = None if done.is_jump_target else before  # at a jump target it may be another value
        if done.opname == "BINARY_OP" and not _is_allowed(done.argrepr.rstrip("="), exponent):
            raise ValueError(
                f"The {who} uses the operator {done.argrepr!r}; use + - * / and powers that are "
                "written as whole numbers."
            )
        before = done
    return used


def _is_allowed(operator: str, before: dis.Instruction | None) -> bool:
    """Return whether an operator always rounds in the same way, as a power with a constant whole exponent."""
    if operator in ("+", "-", "*", "/"):
        return True
    written = before is not None and before.opname in ("LOAD_CONST", "LOAD_SMALL_INT")
    return operator == "**" and before is not None and written and type(before.argval) is int
