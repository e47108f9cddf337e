"""The command line: parse, call, print."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise

import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import privfit
from privfit.datasets import load_adult
from privfit.estimators import DPLinearSVC, DPLogisticRegression
from privfit.experiments.command import reproduce
from privfit.solvers import Step

app = typer.Typer(add_completion=False, no_args_is_help=True, help=privfit.__doc__)
console = Console()

BARS = " ▁▂▃▄▅▆▇█"


app.command()(reproduce)


@app.command()
def demo(epsilon: float = 1.0, delta: float = 1e-6) -> None:
    """Train both models on the bundled UCI Adult data and show what was learnt and what was promised."""
    started = time.perf_counter()
    train, test = load_adult(split="train"), load_adult(split="test")
    classes = train.schema.label.classes
    console.print(
        f"\n[bold]Who earns more than 50K?[/bold] UCI Adult: {len(train.target):,} people to learn from, "
        f"{len(test.target):,} held out, {train.data.shape[1]} features.\n"
        f"Privacy budget: epsilon = {epsilon:g}, delta = {delta:g}, for each model.\n"
    )
    table = Table(title="Accuracy on held-out people", title_justify="left")
    for column in ("", f"private, epsilon = {epsilon:g}", "without privacy", "majority class"):
        table.add_column(column, justify="left" if not column else "right")
    fitted = []
    for model, title in ((DPLogisticRegression, "logistic regression"), (DPLinearSVC, "linear SVM")):
        private = model(epsilon, delta, classes=classes, feature_bounds=(0, 1), verbose=1).fit(
            train.data, train.target
        )
        others = [model(solver=name, classes=classes) for name in ("nonprivate", "majority")]
        scores = [
            m.score(test.data, test.target)
            for m in (private, *(m.fit(train.data, train.target) for m in others))
        ]
        table.add_row(title, *(f"{score:.2%}" for score in scores))
        fitted.append((title, private))
    console.print(table)
    for title, private in fitted:
        print_trace(title, private.trace_)
        print_spending(private.privacy_.spending)
    console.print(
        Panel(fitted[0][1].privacy_.text, title="What was promised (logistic regression)", width=100)
    )
    console.print(
        "Each model was paid for on its own: whoever sees both has seen the sum of the two budgets.\n"
        f"Done in {time.perf_counter() - started:.1f} s."
    )


def print_trace(title: str, trace: Sequence[Step]) -> None:
    """Print the budget spent per iteration as two rows of bars."""
    console.print(f"\n[bold]Budget spent per iteration[/bold], {title}, {len(trace)} iterations")
    gradient, selection = [s.rho_gradient for s in trace], [s.rho_selection for s in trace]
    for label, rhos in (("gradient ", gradient), ("step size", selection)):
        if not any(rhos):
            continue
        console.print(
            f"  {label} {bars(rhos)} rho {min(rhos):.2g} to {max(rhos):.2g}, {sum(rhos):.2g} in all"
        )


def print_spending(spending: Mapping[str, float]) -> None:
    """Print what the budget bought, most first."""
    total = sum(spending.values())
    for what, rho in sorted(spending.items(), key=lambda item: -item[1]):
        bar = "█" * max(1, round(40 * rho / total))
        console.print(f"  {what:<18} {bar} {rho / total:.1%}", highlight=False)


def bars(values: Sequence[float], width: int = 40) -> str:
    """Draw the values as at most `width` characters, each the mean of its share of them."""
    cells = min(width, len(values))
    edges = [round(i * len(values) / cells) for i in range(cells + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    top = max(means)
    return "".join(BARS[max(1, round(mean / top * (len(BARS) - 1)))] for mean in means)


if __name__ == "__main__":
    app()
