"""Which promise a budget buys, as whoever opens an account names it."""

from __future__ import annotations

from typing import Literal, get_args

from privfit.accounting.amounts import number, price
from privfit.accounting.promise import Concentrated, Direct, Gaussian, Promise
from privfit.accounting.zcdp import Conversion

PromiseKind = Literal["concentrated", "gaussian", "direct"]


def promise_of(
    kind: PromiseKind = "concentrated",
    *,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    conversion: Conversion = "tight",
) -> Promise:
    """Return the promise that a budget buys, or say what is wrong with the budget."""
    if (rho is None) == (epsilon is None):
        raise ValueError("Open a ledger with either rho= or epsilon=, not both and not neither.")
    if kind not in get_args(PromiseKind):
        raise ValueError(f"A ledger promises one of {get_args(PromiseKind)}, not {kind!r}.")
    if epsilon is not None:
        epsilon, delta = number("epsilon", epsilon), number("delta", delta)
        if kind == "concentrated":
            return Concentrated.of(epsilon=epsilon, delta=delta, conversion=conversion)
        return (Gaussian if kind == "gaussian" else Direct).of(epsilon=epsilon, delta=delta)
    if kind != "concentrated":
        raise ValueError(f"A {kind} promise is named by epsilon= and delta=, not by rho=.")
    assert rho is not None
    budget, slack = price("rho", rho), price("delta", delta)
    if budget == 0.0:
        raise ValueError(f"rho must be a positive finite number, got {rho!r}.")
    if slack >= 1.0:
        raise ValueError(f"delta must be below 1, got {delta!r}.")
    if conversion not in get_args(Conversion):
        raise ValueError(f"conversion must be one of {get_args(Conversion)}, got {conversion!r}.")
    return Concentrated(budget, slack, conversion=conversion)


def named(promise: Promise) -> str:
    """Return a promise in the words that it was asked for with.

    What a budget is worth may change in the last digit from one version of the library to the next; what was
    asked for does not.
    """
    numbers = {"epsilon": promise.epsilon, "delta": promise.delta}
    if promise.epsilon is None:
        numbers = {"rho": promise.rho, "delta": promise.slack}
    words = ", ".join(f"{name}={value!r}" for name, value in numbers.items())
    return f"{words} ({type(promise).__name__.lower()})"
