"""The privacy budget as a user names it when a ledger is opened, and the promise that it buys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from privfit.accounting.amounts import number, price, written_up
from privfit.accounting.promise import Concentrated, Direct, Gaussian, Promise, name_of
from privfit.accounting.relation import check_person_id, unit_in_words
from privfit.accounting.zcdp import Conversion

PromiseKind = Literal["gaussian", "concentrated", "direct"]

DEFAULT_DELTA = 1e-6  # for ledgers that are opened with epsilon; fits have the same default


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The arguments with which a user opens a ledger; None stands for an argument that was left out."""

    rho: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    promise: PromiseKind | None = None
    conversion: Conversion | None = None
    person_id: str | None = None

    def __post_init__(self) -> None:
        check_person_id(self.person_id)
        for name, value, known in (
            ("promise", self.promise, get_args(PromiseKind)),
            ("conversion", self.conversion, get_args(Conversion)),
        ):
            if value is not None and value not in known:
                raise ValueError(f"{name} must be one of {known}, got {value!r}.")

    @property
    def is_named(self) -> bool:
        """Whether rho or epsilon was given, which determine the size of the ledger."""
        return self.rho is not None or self.epsilon is not None

    @property
    def kind(self) -> PromiseKind:
        """The kind of promise of a new ledger: Gaussian, unless another one or a term of zCDP is named."""
        if self.promise is not None:
            return self.promise
        return "concentrated" if self.rho is not None or self.conversion is not None else "gaussian"

    def buy(self) -> Promise:
        """Return the promise that this budget buys; raise ValueError with the reason if it buys none."""
        return replace(self._bought(), person_id=self.person_id)

    def _bought(self) -> Promise:
        if (self.rho is None) == (self.epsilon is None):
            raise ValueError("Open a ledger with exactly one of rho= and epsilon=.")
        if self.conversion is not None and self.kind != "concentrated":
            raise ValueError(f"conversion= is about promise='concentrated', not {self.kind!r}; leave it out.")
        if self.epsilon is not None or self.kind == "gaussian":
            return self._promise_at_delta()
        if self.kind == "direct":
            raise ValueError("A direct promise is named by epsilon= and delta=, not by rho=.")
        assert self.rho is not None
        rho, slack = price("rho", self.rho), price("delta", 0.0 if self.delta is None else self.delta)
        if rho == 0.0:
            raise ValueError(f"rho must be a positive finite number, got {self.rho!r}.")
        if slack >= 1.0:
            raise ValueError(f"delta must be below 1, got {self.delta!r}.")
        return Concentrated(rho, slack, conversion=self.conversion or "tight")

    def _promise_at_delta(self) -> Promise:
        """Return a promise whose delta is that of (epsilon, delta)-DP."""
        delta = number("delta", DEFAULT_DELTA if self.delta is None else self.delta)
        if self.epsilon is None:
            assert self.rho is not None
            return Gaussian.of(rho=price("rho", self.rho), delta=delta)
        epsilon = number("epsilon", self.epsilon)
        if self.kind == "concentrated":
            return Concentrated.of(epsilon=epsilon, delta=delta, conversion=self.conversion or "tight")
        return (Gaussian if self.kind == "gaussian" else Direct).of(epsilon=epsilon, delta=delta)

    def is_kept_by(self, kept: Promise) -> bool:
        """Return whether every argument that was given agrees with the promise that a ledger keeps.

        Arguments are compared as they were given, because the rho that an epsilon is worth may change in the
        last digit from one version of privfit to the next.
        """
        named = {
            "rho": kept.rho,
            "epsilon": kept.epsilon,
            "delta": kept.slack if kept.delta is None else kept.delta,
            "promise": name_of(kept),
            "person_id": kept.person_id,
        }
        return all(getattr(self, name) in (None, value) for name, value in named.items())

    def __str__(self) -> str:
        named = [f"{name} = {value!r}" for name, value in vars(self).items() if value is not None]
        return ", ".join(named)


def in_another_kind(kept: Promise, kind: PromiseKind) -> Promise:
    """Return the promise of another kind that the same epsilon and delta, or the same rho, buys."""
    if kept.epsilon is None:
        return Budget(rho=kept.rho, promise=kind, person_id=kept.person_id).buy()
    return Budget(epsilon=kept.epsilon, delta=kept.delta, promise=kind, person_id=kept.person_id).buy()


def pays_for(kept: Promise, wanted: Promise) -> bool:
    """Return whether a ledger with the promise `kept` can pay for a fit that needs the promise `wanted`."""
    # it pays for everything, but needs slack to pay for releases that use up delta
    if isinstance(kept, Concentrated):
        return kept.slack > 0.0 or wanted.slack == 0.0
    return type(kept) is type(wanted)


def named(promise: Promise) -> str:
    """Return a promise as the arguments with which a ledger is opened."""
    numbers = {"epsilon": promise.epsilon, "delta": promise.delta}
    if promise.epsilon is None:
        numbers = {"rho": promise.rho, "delta": promise.slack}
    words = {"promise": name_of(promise)}
    if promise.person_id is not None:
        words["person_id"] = promise.person_id
    return ", ".join(f"{name} = {value!r}" for name, value in (numbers | words).items())


def stated_delta(promise: Promise) -> float:
    """Return the delta at which the epsilon of a promise is stated; the default if only rho was given."""
    return DEFAULT_DELTA + promise.slack if promise.delta is None else promise.delta


def in_words(promise: Promise) -> str:
    """Return a promise in words, with its epsilon (and delta) and its rho.

    The number that the user gave comes first. The text names the unit only if the promise is about people;
    all other promises are about one record.
    """
    if promise.person_id is not None:
        return f"{_amount_in_words(promise)} for {unit_in_words(promise.person_id)}"
    return _amount_in_words(promise)


def _amount_in_words(promise: Promise) -> str:
    delta, rho = stated_delta(promise), f"rho = {written_up(promise.rho)}"
    if promise.epsilon is not None:
        return f"epsilon = {written_up(promise.epsilon)} at delta = {written_up(delta)} ({rho})"
    spent = f" and delta = {written_up(promise.slack)}" if promise.slack else ""
    return f"{rho}{spent} (epsilon = {written_up(promise.epsilon_at(delta))} at delta = {written_up(delta)})"
