"""`privfit budget`: accounts that last."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privfit.cli.options import DataSet, Delta, Json, Store, account, url_of
from privfit.cli.output import columns, show

if TYPE_CHECKING:
    from privfit.accounting import Ledger

budget = typer.Typer(
    no_args_is_help=True,
    help="Open accounts, and see what was spent of them.",
    rich_markup_mode=None,
)


@budget.command("open")
def open_account(
    store: Store,
    data_set: Annotated[str, typer.Option("--data-set", help="Whose account it is.")],
    epsilon: Annotated[float, typer.Option(help="The whole budget of these people's data, for ever.")],
    delta: Delta = 1e-6,
    as_json: Json = False,
) -> None:
    """Open the account of a data set; the budget is fixed with this.

    Example: privfit budget open people.db --data-set census-2026 --epsilon 3 --delta 1e-6
    """
    from privfit.accounting import Ledger

    ledger = Ledger.open(url_of(store), dataset=data_set, epsilon=epsilon, delta=delta)
    show(_facts(ledger), f"{ledger.url}, {ledger.dataset}: {ledger.statement()}", as_json=as_json)


@budget.command()
def status(store: Store, data_set: DataSet = None, as_json: Json = False) -> None:
    """Say what an account promises, and what is left of it.

    Example: privfit budget status people.db --data-set census-2026
    """
    ledger = account(store, data_set)
    show(_facts(ledger), f"{ledger.url}, {ledger.dataset}: {ledger.statement()}", as_json=as_json)


@budget.command()
def log(store: Store, data_set: DataSet = None, as_json: Json = False) -> None:
    """List who asked what, when, and for how much.

    Example: privfit budget log people.db --data-set census-2026
    """
    ledger = account(store, data_set)
    rows = [
        ("day", "who", "what", "how", "rho", "delta"),
        *((e.when, e.who, e.what, e.mechanism, f"{e.rho:.6g}", f"{e.delta:.3g}") for e in ledger.entries),
    ]
    show({"entries": [asdict(entry) for entry in ledger.entries]}, columns(rows), as_json=as_json)


@budget.command()
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


def _facts(ledger: Ledger) -> dict[str, Any]:
    return {
        "url": ledger.url,
        "data_set": ledger.dataset,
        "epsilon": ledger.promise.epsilon,
        "delta": ledger.promise.delta,
        "rho": ledger.rho,
        "spent": ledger.spent,
        "remaining": ledger.remaining,
        "entries": len(ledger.entries),
        "statement": ledger.statement(),
    }
