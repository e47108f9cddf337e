"""`privfit convert`: convert a privacy guarantee between epsilon, rho and mu."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from privfit.cli.options import Delta, Json
from privfit.cli.output import columns, show


def convert(
    epsilon: Annotated[float | None, typer.Option(help="Epsilon, of (epsilon, delta)-DP.")] = None,
    rho: Annotated[float | None, typer.Option(help="Rho, of zero-concentrated DP.")] = None,
    mu: Annotated[float | None, typer.Option(help="Mu, of Gaussian DP.")] = None,
    delta: Delta = 1e-6,
    as_json: Json = False,
) -> None:
    """Convert a privacy guarantee into other units.

    There are two conversions. One is for ledgers that pay for any question (zCDP). The other is for ledgers
    that pay for Gaussian noise only, where the same epsilon buys less noise.

    Example: privfit convert --epsilon 1 --delta 1e-6
    """
    if sum(given is not None for given in (epsilon, rho, mu)) != 1:
        raise typer.BadParameter("Give one of --epsilon, --rho and --mu.")
    from privfit.accounting import Concentrated, Gaussian

    budget: dict[str, Any] = {"epsilon": epsilon} if epsilon is not None else {"rho": rho}
    if mu is not None:
        budget = {"rho": 0.5 * mu * mu}
    any_question, gaussian = Concentrated.of(**budget, delta=delta), Gaussian.of(**budget, delta=delta)
    facts = {
        "any_question": {"epsilon": any_question.epsilon, "delta": delta, "rho": any_question.rho},
        "gaussian_noise_only": {
            "epsilon": gaussian.epsilon,
            "delta": delta,
            "rho": gaussian.rho,
            "mu": gaussian.mu,
        },
    }
    rows = [
        ("ledger", "epsilon", "delta", "rho", "mu"),
        ("any question", f"{any_question.epsilon:.6g}", f"{delta:g}", f"{any_question.rho:.6g}", "-"),
        (
            "Gaussian noise only",
            f"{gaussian.epsilon:.6g}",
            f"{delta:g}",
            f"{gaussian.rho:.6g}",
            f"{gaussian.mu:.6g}",
        ),
    ]
    show(facts, columns(rows), as_json=as_json)
