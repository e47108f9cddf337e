"""`privfit demo`: what a private fit is like, on data that are shipped with the package."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privfit.cli.drawing import bar, sparkline
from privfit.cli.files import check_outputs, replacing
from privfit.cli.options import Delta, Epsilon, Json
from privfit.cli.output import show, waiting

if TYPE_CHECKING:
    from rich.console import Console

    from privfit.solvers import Step


REPORT = Path("privfit-demo.html")
CARD = {
    "Intended use": "A demonstration of privfit.",
    "People and data it was trained on": "UCI Adult: people in the United States census of 1994, CC BY 4.0.",
    "Where it should not be used": "To decide anything about anybody.",
}
SCORES_RHO = 0.01


def demo(
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    report: Annotated[
        Path, typer.Option(help="Where the page about the first model goes.", dir_okay=False)
    ] = REPORT,
    as_json: Json = False,
) -> None:
    """Train two models with privacy on census data.

    Shows what was learnt, what the privacy budget bought and what was promised, and writes a page about the
    first model. The data (UCI Adult) are shipped with the package. Takes some seconds, and half a minute the
    first time, when code is compiled.

    Example: privfit demo --epsilon 0.1 --report census.html
    """
    from rich.console import Console

    from privfit import Ledger

    Ledger(epsilon=epsilon, delta=delta)  # refuses a bad budget before anything is loaded
    check_outputs(report)
    console = Console(highlight=False, quiet=as_json)
    started = time.perf_counter()
    trained: list[Trained] = []
    try:
        train_and_compare(console, trained, epsilon, delta)
    except KeyboardInterrupt as interrupt:
        finished = ", ".join(each.title for each in trained)
        interrupt.add_note(
            f"Finished, and paid for in full: {finished}." if trained else "No model was finished."
        )
        raise
    write_report(trained[0].model, report)
    for each in trained:
        print_purchases(console, each)
    print_promise(console, trained[0])
    console.print(
        "Each model was paid for on its own: whoever sees both has seen the sum of the two privacy budgets.\n"
        f"Done in {time.perf_counter() - started:.1f} s. All about the first model, for your browser:"
    )
    console.print(str(report), style="bold", markup=False, soft_wrap=True)
    console.print(
        "Next: a table of your own, by commands as in docs/command-line.md or by Python as in README.md."
    )
    if as_json:
        facts = {"report": str(report), "models": [each.facts() for each in trained]}
        show(facts, "", as_json=True)


@dataclass(frozen=True)
class Trained:
    """A model and how often it is right about people it has not seen, with others to compare."""

    title: str
    model: Any
    accuracy: dict[str, float]

    def facts(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        privacy = self.model.published().privacy
        return {"model": self.title, "accuracy": self.accuracy, "privacy": privacy}


def train_and_compare(console: Console, trained: list[Trained], epsilon: float, delta: float) -> None:
    """Fit both models with privacy, each into `trained` when it is done, and print how good they are."""
    from rich.console import Console
    from rich.table import Table

    progress = Console(stderr=True, highlight=False)
    with waiting("Loading libraries and data"):
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
    for title, estimator in (("logistic regression", DPLogisticRegression), ("linear SVM", DPLinearSVC)):
        progress.print(f"Training the {title} with privacy")
        private = estimator(epsilon, delta, schema=train.schema, verbose=1).fit(train.frame, train.target)
        with waiting(f"Training the {title} without privacy, to compare"):
            best, majority = (
                estimator(solver=solver, classes=train.classes).fit(train.data, train.target)
                for solver in ("nonprivate", "majority")
            )
        accuracy = {
            "with privacy": private.score(test.frame, test.target),
            "without": best.score(test.data, test.target),
            "majority class": majority.score(test.data, test.target),
        }
        trained.append(Trained(title, private, accuracy))
        accuracies.add_row(title, *(f"{score:.1%}" for score in accuracy.values()))
    console.print(accuracies)


def write_report(model: Any, path: Path) -> None:
    """Buy scores on people whom the model has not seen, and write the page."""
    with waiting("Writing the report"):
        from pyarrow import table

        from privfit import Ledger, metrics
        from privfit.datasets import load_adult

        test = load_adult(split="test")
        ledger = Ledger(rho=SCORES_RHO)  # of other people than those of the model
        scores = metrics.evaluate(model, table(test.frame), test.target, rho=SCORES_RHO, ledger=ledger)
        with replacing(path) as file:
            model.report(file, scores=scores, title="Who earns more than 50,000 dollars?", card=CARD)


def print_promise(console: Console, trained: Trained) -> None:
    """Print the statement of a model in a frame."""
    from rich.panel import Panel

    title, width = f"What was promised: {trained.title}", min(100, console.width)
    console.print()
    console.print(Panel(trained.model.privacy_.text, title=title, width=width))


def print_purchases(console: Console, trained: Trained) -> None:
    """Print what the privacy budget of a model bought."""
    model = trained.model
    console.print(
        f"\n[bold]What the privacy budget bought[/bold]: {trained.title}, {len(model.trace_)} steps"
    )
    print_spending(console, model.privacy_.spending)
    print_prices(console, model.trace_)


def print_spending(console: Console, spending: Mapping[str, float]) -> None:
    """Print what the privacy budget bought, most first."""
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
