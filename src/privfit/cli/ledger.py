"""`privfit ledger`: ledgers that last."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privfit.cli.options import Dataset, Json, Store, ledger_in, url_of
from privfit.cli.output import columns, show, waiting, wrapped
from privfit.cli.teaching import TaughtCommand

if TYPE_CHECKING:
    from privfit.accounting import Ledger

ledger = typer.Typer(
    no_args_is_help=True,
    help="Open a ledger, see what was spent, and verify it.",
    rich_markup_mode=None,
)


class PromiseName(StrEnum):
    """The promises that a ledger can keep."""

    GAUSSIAN = "gaussian"
    CONCENTRATED = "concentrated"
    DIRECT = "direct"


_PAYS = {
    PromiseName.GAUSSIAN: "It keeps a Gaussian promise and pays for Gaussian noise alone.",
    PromiseName.CONCENTRATED: "It keeps zCDP's promise and pays for every question that has a price in zCDP.",
    PromiseName.DIRECT: "It pays for one release with a proof of its own, at the whole privacy budget.",
}


@ledger.command("open", cls=TaughtCommand)
def open_ledger(
    store: Store,
    dataset: Annotated[str, typer.Option(help="The data set that the ledger is about.")],
    epsilon: Annotated[
        float | None, typer.Option(help="The privacy budget for everything ever released about the data set.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="The delta of (epsilon, delta)-DP: the extra change of a probability. By default 1e-6."
        ),
    ] = None,
    rho: Annotated[float | None, typer.Option(help="The privacy budget in zCDP, instead of epsilon.")] = None,
    promise: Annotated[
        PromiseName | None,
        typer.Option(
            help="What the ledger pays for. gaussian (the default): Gaussian noise only, more questions for "
            "the same epsilon. concentrated (the default with --rho): any question. direct: one release "
            "with a proof of its own."
        ),
    ] = None,
    person_id: Annotated[
        str | None,
        typer.Option(
            help="The id column that tells people apart, if the guarantee covers all records of a person "
            "together. By default it covers single records. It cannot be changed later."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Open the ledger of a data set, and fix its privacy budget.

    Use one ledger for everything that is ever published about these people. Every fit and every set of scores
    is charged to it, by any user, until the privacy budget is spent. The budget cannot be raised later.

    A Gaussian ledger cannot pay for solvers that make noisy choices (dpagd, dpagd-modern, frank-wolfe,
    privgene), for output-perturbation, or for releases with a proof of their own.

    Example: privfit ledger open people.db --dataset census-2026 --epsilon 3 --delta 1e-6
    """
    if (epsilon is None) == (rho is None):
        raise typer.BadParameter("Give one of --epsilon and --rho.")
    from privfit.leaks import warn_of_large_epsilon

    if epsilon is not None:
        warn_of_large_epsilon(epsilon, unit="record" if person_id is None else "person")
    with waiting("Opening the ledger"):
        from privfit.accounting import Ledger

        opened = Ledger.open(
            url_of(store),
            dataset=dataset,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            promise=None if promise is None else promise.value,
            person_id=person_id,
        )
    _show_opened(opened, as_json)


@ledger.command(cls=TaughtCommand)
def status(store: Store, dataset: Dataset = None, as_json: Json = False) -> None:
    """Show what a ledger promises, and how much of it is left.

    Example: privfit ledger status people.db --dataset census-2026
    """
    opened = ledger_in(store, dataset)
    show(_facts(opened), _standing(opened), as_json=as_json)


@ledger.command(cls=TaughtCommand)
def log(store: Store, dataset: Dataset = None, as_json: Json = False) -> None:
    """List all charges: what, when, by whom, at what price.

    A fit reserves its whole price before it reads the data. When it ends without an error, it settles: a
    negative rho gives back what it did not spend. A reservation that is not settled counts as spent.

    Example: privfit ledger log people.db --dataset census-2026
    """
    opened = ledger_in(store, dataset)
    rows = [
        ("day", "who", "what", "how", "rho", "delta"),
        *(
            (e.when, e.who, e.what.removeprefix("this "), e.mechanism, f"{e.rho:.6g}", f"{e.delta:.3g}")
            for e in opened.entries
        ),
    ]
    show({"entries": [asdict(entry) for entry in opened.entries]}, columns(rows), as_json=as_json)


@ledger.command(cls=TaughtCommand)
def verify(
    store: Store,
    dataset: Dataset = None,
    seal: Annotated[str | None, typer.Option(help="The seal that an earlier verification printed.")] = None,
    as_json: Json = False,
) -> None:
    """Check every entry: its hash, the sums, the settlements.

    The entries alone cannot show that the last ones were removed, or that all of them were written anew. Note
    the printed seal somewhere else. With --seal, a later verification shows that no entry up to it was
    removed or changed.

    Example: privfit ledger verify people.db --dataset census-2026
    """
    found = ledger_in(store, dataset).verify(seal)
    facts = {"entries": found.entries, "seal": found, "shows": found.shows}
    show(facts, f"{wrapped(found.shows)}\nSeal: {found}", as_json=as_json)


@ledger.command(cls=TaughtCommand)
def change(
    store: Store,
    promise: Annotated[PromiseName, typer.Option(help="What the ledger pays for, as in `ledger open`.")],
    dataset: Dataset = None,
    as_json: Json = False,
) -> None:
    """Change what an unused ledger pays for.

    Only the owner of the store can do this. The privacy budget does not change. After the first charge the
    promise is fixed.

    Example: privfit ledger change people.db --dataset census-2026 --promise gaussian
    """
    opened = ledger_in(store, dataset)
    from privfit import accounting

    assert opened.dataset is not None
    accounting.change_promise(url_of(store), dataset=opened.dataset, promise=promise.value)
    _show_opened(ledger_in(store, opened.dataset), as_json)


@ledger.command(cls=TaughtCommand)
def migrate(store: Store, as_json: Json = False) -> None:
    """Bring a store of an earlier version of privfit up to date.

    Only the owner of the store can do this. All ledgers are checked first. Then all of them are brought up to
    date, or none. Entries do not change, so a seal that was noted earlier is still found. Reservations that
    are not settled stay spent.

    Example: privfit ledger migrate people.db
    """
    with waiting("Bringing the ledgers up to date"):
        from privfit import accounting

        migrated = accounting.migrate(url_of(store))
    text = "The store was up to date already."
    if migrated:
        text = f"Up to date now: the ledgers of {', '.join(map(repr, migrated))}."
    show({"migrated": migrated}, wrapped(text), as_json=as_json)


def _show_opened(ledger: Ledger, as_json: bool) -> None:
    """Show what a ledger promises and has left, and which solvers it can pay for."""
    from privfit.accounting.promise import name_of
    from privfit.solvers.base import solvers_paid_by

    paid = solvers_paid_by(ledger.promise)
    unpaid = [name for name in paid if not paid[name]]
    pays = _PAYS[PromiseName(name_of(ledger.promise))]
    if unpaid:
        pays += f" It cannot pay for the solvers {', '.join(unpaid)}."
    facts = _facts(ledger) | {"pays_for_solvers": [name for name in paid if paid[name]]}
    show(facts, f"{_standing(ledger)}\n{wrapped(pays)}", as_json=as_json)


def _standing(ledger: Ledger) -> str:
    """Return where a ledger is, what it promises, and what is left for one more fit."""
    left = _left(ledger)
    more = "" if left is None else f" What is left pays for one more fit with epsilon = {left:g}."
    return f"The ledger of {ledger.dataset!r} in {ledger.url}\n{wrapped(ledger.statement() + more)}"


def _left(ledger: Ledger) -> float | None:
    """Return the epsilon of a fit that would spend all that is left, rounded down."""
    return ledger.remaining_epsilon() or None if ledger.spent else None


def _facts(ledger: Ledger) -> dict[str, Any]:
    from privfit.accounting.promise import name_of

    return {
        "url": ledger.url,
        "dataset": ledger.dataset,
        "epsilon": ledger.promise.epsilon,
        "delta": ledger.promise.delta,
        "rho": ledger.rho,
        "promise": name_of(ledger.promise),
        "unit": ledger.promise.unit,
        "person_id": ledger.promise.person_id,
        "spent": ledger.spent,
        "remaining": ledger.remaining,
        "epsilon_left_for_one_fit": _left(ledger),
        "entries": len(ledger.entries),
        "statement": ledger.statement(),
    }
