"""`privfit demo`: what a private fit is like, on data that are shipped with the package."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privfit.cli.drawing import bar, sparkline
from privfit.cli.options import Delta, Epsilon

if TYPE_CHECKING:
    from rich.console import Console

    from privfit.solvers import Step


def demo(epsilon: Epsilon = 1.0, delta: Delta = 1e-6) -> None:
    """Train two models with privacy on census data.

    Shows what was learnt, what the budget bought and what was promised. The data (UCI Adult) are shipped with
    the package. Takes some seconds, and half a minute the first time, when code is compiled.

    Example: privfit demo --epsilon 0.1
    """
    from rich.console import Console
    from rich.panel import Panel

    from privfit import Ledger

    Ledger(epsilon=epsilon, delta=delta)  # refuses a bad budget before anything is loaded
    console = Console(highlight=False)
    started = time.perf_counter()
    fitted: dict[str, Any] = {}
    try:
        train_and_compare(console, fitted, epsilon, delta)
    except KeyboardInterrupt as interrupt:
        finished = (
            f"Finished, and paid for in full: {', '.join(fitted)}." if fitted else "No model was finished."
        )
        interrupt.add_note(finished)
        raise
    for title, model in fitted.items():
        console.print(f"\n[bold]What the budget bought[/bold]: {title}, {len(model.trace_)} steps")
        print_spending(console, model.privacy_.spending)
        print_prices(console, model.trace_)
    title, model = next(iter(fitted.items()))
    console.print()
    console.print(
        Panel(model.privacy_.text, title=f"What was promised: {title}", width=min(100, console.width))
    )
    console.print(
        "Each model was paid for on its own: whoever sees both has seen the sum of the two budgets.\n"
        f"Done in {time.perf_counter() - started:.1f} s. Next: train on a table of your own, as in README.md "
        "and docs/how-to.md."
    )


def train_and_compare(console: Console, fitted: dict[str, Any], epsilon: float, delta: float) -> None:
    """Fit both models with privacy, each into `fitted` when it is done, and print how good they are."""
    from rich.console import Console
    from rich.table import Table

    progress = Console(stderr=True, highlight=False)
    with progress.status("Loading libraries and data", spinner="line"):
        from privfit import DPLinearSVC, DPLogisticRegression
        from privfit.datasets import load_adult

        train, test = load_adult(split="train"), load_adult(split="test")
    console.print(
        "[bold]Who earns more than 50,000 dollars?[/bold] A census table (UCI Adult): "
        f"{len(train.target):,} people to learn from, {len(test.target):,} others to test on, "
        f"{train.data.shape[1]} features.\n"
        f"Privacy budget of each model: epsilon = {epsilon:g}, delta = {delta:g}.\n"
    )
    accuracies = Table(title="Right about people it has not seen", title_justify="left")
    for column in ("", "with privacy", "without", "majority class"):
        accuracies.add_column(column, justify="right" if column else "left", overflow="fold")
    for title, model in (("logistic regression", DPLogisticRegression), ("linear SVM", DPLinearSVC)):
        private = model(epsilon, delta, classes=train.classes, feature_bounds=(0, 1), verbose=1)
        progress.print(f"Training the {title} with privacy")
        fitted[title] = private.fit(train.data, train.target)
        with progress.status(f"Training the {title} without privacy, to compare", spinner="line"):
            references = [
                model(solver=solver, classes=train.classes).fit(train.data, train.target)
                for solver in ("nonprivate", "majority")
            ]
        scores = [m.score(test.data, test.target) for m in (private, *references)]
        accuracies.add_row(title, *(f"{score:.1%}" for score in scores))
    console.print(accuracies)


def print_spending(console: Console, spending: Mapping[str, float]) -> None:
    """Print what the budget bought, most first."""
    total = sum(spending.values())
    label = max(map(len, spending))
    width = max(8, min(40, console.width - label - 10))
    for what, rho in sorted(spending.items(), key=lambda item: -item[1]):
        share = bar(rho / total, width=width, ascii_only=console.options.ascii_only)
        console.print(f"  {what:<{label}} {share} {rho / total:.1%}", markup=False)


def print_prices(console: Console, trace: Sequence[Step]) -> None:
    """Print how the price of a step changed on the way, if it did."""
    for label, prices in (
        ("gradient", [step.rho_gradient for step in trace]),
        ("step size", [step.rho_selection for step in trace]),
    ):
        if prices and max(prices) > 1.01 * min(prices):
            width = max(8, min(40, console.width - 25))
            line = sparkline(prices, width=width, ascii_only=console.options.ascii_only)
            console.print(f"  price of a {label}: {line}", markup=False)
