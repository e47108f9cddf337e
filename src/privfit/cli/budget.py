"""`privfit budget`: accounts that last."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privfit.cli.options import DataSet, Delta, Json, Store, account, url_of
from privfit.cli.output import columns, show, waiting, wrapped
from privfit.cli.teaching import TaughtCommand

if TYPE_CHECKING:
    from privfit.accounting import Ledger

budget = typer.Typer(
    no_args_is_help=True,
    help="Open accounts, and see what was spent of them.",
    rich_markup_mode=None,
)


@budget.command("open", cls=TaughtCommand)
def open_account(
    store: Store,
    data_set: Annotated[str, typer.Option("--data-set", help="Whose account it is.")],
    epsilon: Annotated[float, typer.Option(help="The whole budget of these people's data, for ever.")],
    delta: Delta = 1e-6,
    as_json: Json = False,
) -> None:
    """Open the account of a data set, and fix its budget.

    One account for all that is ever published about these people: every fit and every set of scores draws on
    it, whoever asks, until it is used up. The budget cannot be raised later.

    Example: privfit budget open people.db --data-set census-2026 --epsilon 3 --delta 1e-6
    """
    with waiting("Opening the account"):
        from privfit.accounting import Ledger

        ledger = Ledger.open(url_of(store), dataset=data_set, epsilon=epsilon, delta=delta)
    show(_facts(ledger), _standing(ledger), as_json=as_json)


@budget.command(cls=TaughtCommand)
def status(store: Store, data_set: DataSet = None, as_json: Json = False) -> None:
    """Say what an account promises, and what is left of it.

    Example: privfit budget status people.db --data-set census-2026
    """
    ledger = account(store, data_set)
    show(_facts(ledger), _standing(ledger), as_json=as_json)


@budget.command(cls=TaughtCommand)
def log(store: Store, data_set: DataSet = None, as_json: Json = False) -> None:
    """List who asked what, when, and for how much.

    A fit reserves its whole price before its first look, and settles when it ends well: a negative rho gives
    back what it did not spend. What is reserved and not settled is spent.

    Example: privfit budget log people.db --data-set census-2026
    """
    ledger = account(store, data_set)
    rows = [
        ("day", "who", "what", "how", "rho", "delta"),
        *(
            (e.when, e.who, e.what.removeprefix("this "), e.mechanism, f"{e.rho:.6g}", f"{e.delta:.3g}")
            for e in ledger.entries
        ),
    ]
    show({"entries": [asdict(entry) for entry in ledger.entries]}, columns(rows), as_json=as_json)


@budget.command(cls=TaughtCommand)
def verify(
    store: Store,
    data_set: DataSet = None,
    seal: Annotated[str | None, typer.Option(help="What an earlier verification printed.")] = None,
    as_json: Json = False,
) -> None:
    """Check that no entry was changed, removed or inserted.

    Note the seal that is printed somewhere else: with --seal a later verification shows that everything up to
    it is still there.

    Example: privfit budget verify people.db --data-set census-2026
    """
    ledger = account(store, data_set)
    found = ledger.verify(seal)
    text = f"All {len(ledger.entries)} entries are as they were written. Seal: {found}"
    show({"entries": len(ledger.entries), "seal": found}, text, as_json=as_json)


def _standing(ledger: Ledger) -> str:
    """Say where an account is, what it promises, and what one more question may cost."""
    left = _left(ledger)
    more = "" if left is None else f" What is left pays for one more fit of epsilon = {left:g}."
    return f"The account of {ledger.dataset!r} in {ledger.url}\n{wrapped(ledger.statement() + more)}"


def _left(ledger: Ledger) -> float | None:
    """Return the epsilon of a fit that would take all that is left of what was begun, rounded down."""
    from privfit.accounting import Direct

    promise = ledger.promise
    if promise.delta is None or isinstance(promise, Direct) or not ledger.spent or ledger.remaining <= 0.0:
        return None
    return math.floor(1000.0 * promise.worth(ledger.remaining, 0.0, promise.delta)) / 1000.0


def _facts(ledger: Ledger) -> dict[str, Any]:
    return {
        "url": ledger.url,
        "data_set": ledger.dataset,
        "epsilon": ledger.promise.epsilon,
        "delta": ledger.promise.delta,
        "rho": ledger.rho,
        "spent": ledger.spent,
        "remaining": ledger.remaining,
        "epsilon_left_for_one_fit": _left(ledger),
        "entries": len(ledger.entries),
        "statement": ledger.statement(),
    }
