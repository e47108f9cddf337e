"""`privfit demo`: train private models on data that are included in the package."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privfit.cli.drawing import bar, sparkline
from privfit.cli.files import check_outputs, replacing
from privfit.cli.options import Delta, Epsilon, Json
from privfit.cli.output import show, waiting

if TYPE_CHECKING:
    from rich.console import Console
    from sklearn.utils import Bunch

    from privfit import Ledger

REPORT = Path("privfit-demo.html")
CARD = {
    "Intended use": "A demonstration of privfit.",
    "People and data it was trained on": "UCI Adult: people in the United States census of 1994, CC BY 4.0.",
    "Where it should not be used": "To decide anything about anybody.",
}
SCORES_RHO = 0.01
WITH_CURVES, ODDS_RATIOS = "logistic regression with curves", "odds ratios with intervals"
COMMONER = "the more frequent answer for everybody"
DRAWN = ("age", "hours-per-week")
PER = {"age": 10.0, "hours-per-week": 10.0}  # the change of each column to which its odds ratio belongs


def demo(
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    report: Annotated[
        Path, typer.Option(help="File to write the page about the first model to.", dir_okay=False)
    ] = REPORT,
    as_json: Json = False,
) -> None:
    """Train two models with privacy on census data.

    The first model predicts incomes with curves, and is compared with the same model without privacy. The
    second model has odds ratios with intervals. The command prints the privacy guarantee and writes a page
    about the first model. The data (UCI Adult) are included in the package. It takes some seconds, and half a
    minute the first time, because code is then compiled.

    Example: privfit demo --epsilon 0.1 --report census.html
    """
    from rich.console import Console

    from privfit import Ledger

    ledger = Ledger(epsilon=epsilon, delta=delta)  # raises for an invalid budget before anything is loaded
    check_outputs(report)
    console = Console(highlight=False, quiet=as_json)
    started = time.perf_counter()
    trained: list[Trained] = []
    try:
        train_both(console, trained, ledger)
    except KeyboardInterrupt as interrupt:
        finished = ", ".join(each.title for each in trained)
        interrupt.add_note(
            f"Finished, and charged in full: {finished}." if trained else "No model was finished."
        )
        raise
    curves, ratios = trained
    write_report(curves.model, report)
    print_spending(console, ledger.spending())
    print_promise(console, curves.model)
    console.print(
        f"Done in {time.perf_counter() - started:.1f} s. A page about the first model, for your browser:"
    )
    console.print(str(report), style="bold", markup=False, soft_wrap=True)
    console.print(
        "Next: train on a table of your own, with the commands of docs/command-line.md or in Python as in "
        "README.md."
    )
    if as_json:
        facts = {"report": str(report), "models": [curves.facts(), ratios.facts()]}
        show(facts, "", as_json=True)


@dataclass(frozen=True)
class Trained:
    """A model, and the demo's results about it, in a form that JSON can hold."""

    title: str
    model: Any
    found: dict[str, Any]

    def facts(self) -> dict[str, Any]:
        """Return the results for JSON."""
        return {"model": self.title, **self.found, "privacy": self.model.published().privacy}


def train_both(console: Console, trained: list[Trained], ledger: Ledger) -> None:
    """Fit both models with privacy, append each to `trained` when it is done, and print the results."""
    with waiting("Loading libraries and data"):
        from privfit.datasets import load_adult

        train, test = load_adult(split="train"), load_adult(split="test")
    promise = ledger.promise
    console.print(
        "[bold]Who earns more than 50,000 dollars?[/bold] A census table (UCI Adult): "
        f"{len(train.target):,} people to train on, {len(test.target):,} others to test on.\n"
        f"One ledger pays for both models. Its privacy budget: epsilon = {promise.epsilon:g}, "
        f"delta = {promise.delta:g}.\n"
    )
    trained.append(train_with_curves(console, train, test, ledger))
    trained.append(train_for_odds_ratios(console, train, ledger))


def train_with_curves(console: Console, train: Bunch, test: Bunch, ledger: Ledger) -> Trained:
    """Fit a model with curves for half of the privacy budget, and compare it with others."""
    from rich.table import Table
    from sklearn.metrics import roc_auc_score

    from privfit import DPLogisticRegression
    from privfit.solvers import NonPrivate

    # education-num is education as a number, so it can have a curve
    columns = tuple(column for column in train.schema.columns if column.name != "education")
    schema = replace(train.schema, columns=columns)
    private = DPLogisticRegression(
        rho=ledger.rho / 2, schema=schema, curves=True, verbose=1, ledger=ledger
    ).fit(train.frame, train.target)
    with waiting("Training the same model without privacy, to compare"):
        exact = NonPrivate(tol=1e-5)
        others = {
            "without privacy": DPLogisticRegression(solver=exact, schema=private.schema_),
            "without privacy, straight lines": DPLogisticRegression(solver=exact, schema=schema),
            COMMONER: DPLogisticRegression(solver="majority", schema=schema),
        }
        models = {
            "with privacy": private,
            **{name: model.fit(train.frame, train.target) for name, model in others.items()},
        }
    accuracy = {name: float(model.score(test.frame, test.target)) for name, model in models.items()}
    auc = {
        name: float(roc_auc_score(test.target, model.decision_function(test.frame)))
        for name, model in models.items()
    }
    table = Table(title="1. Curves: how good on people it has not seen", title_justify="left")
    for heading in ("", "accuracy", "AUC"):
        table.add_column(heading, justify="right" if heading else "left", overflow="fold")
    for name in models:
        table.add_row(name, f"{accuracy[name]:.1%}", f"{auc[name]:.3f}")
    console.print(table)
    print_curves(console, {name: models[name] for name in ("with privacy", "without privacy")})
    return Trained(WITH_CURVES, private, {"accuracy": accuracy, "auc": auc})


def print_curves(console: Console, models: Mapping[str, Any]) -> None:
    """Draw the curves of all models for the same column below each other, on one scale."""
    import numpy as np

    label = max(map(len, models))
    width = max(8, min(48, console.width - label - 4))
    for column in DRAWN:
        curves = {name: model.curves_.get(column) for name, model in models.items()}
        if None in curves.values():
            continue  # with a small privacy budget the model has no curves
        places = np.linspace(curves["with privacy"].knots[0], curves["with privacy"].knots[-1], width)
        heights = {name: np.interp(places, curve.knots, curve.heights[0]) for name, curve in curves.items()}
        heights = {name: drawn - drawn.mean() for name, drawn in heights.items()}  # only differences matter
        low = min(float(drawn.min()) for drawn in heights.values())
        top = max(float(drawn.max()) for drawn in heights.values()) - low
        console.print(f"\n{column}, from {places[0]:g} to {places[-1]:g}: how the score changes")
        for name, drawn in heights.items():
            above = (drawn - low).tolist()
            line = sparkline(above, width=width, top=top, ascii_only=console.options.ascii_only)
            console.print(f"  {name:<{label}} {line}", markup=False)
    console.print()


def train_for_odds_ratios(console: Console, train: Bunch, ledger: Ledger) -> Trained:
    """Fit a model of a few columns with the rest of the privacy budget, and print its odds ratios."""
    from rich.table import Table

    from privfit import DPLogisticRegression
    from privfit.models.contrast import ratio_texts
    from privfit.schema import Categorical, Numeric, Schema

    schema = Schema(
        columns=(
            Numeric("age", 17, 90, unit="years"),
            Numeric("education-num", 1, 16, unit="levels"),
            Numeric("hours-per-week", 1, 99, unit="hours"),
            Categorical("sex", ("Female", "Male")),
        ),
        label=train.schema.label,
    )
    model = DPLogisticRegression(
        rho=ledger.remaining, schema=schema, inference=True, verbose=1, ledger=ledger
    )
    model.fit(train.frame, train.target)
    summary = model.summary(per=PER)
    table = Table(title="2. Four declared columns: odds ratios with 95% intervals", title_justify="left")
    for heading in ("", "odds ratio", "from", "to"):
        table.add_column(heading, justify="right" if heading else "left", overflow="fold")
    effects = []
    for row in summary:
        contrast = row.contrast
        if not row.column:
            continue  # the intercept
        if contrast is None or contrast.refused is not None:
            table.add_row(row.name, "reference" if contrast is None else "too little budget to say", "", "")
            continue
        numbers = (contrast.ratio, *(contrast.ratio_interval() or ()))
        effects.append({"effect": row.name, "ratio": numbers[0], "interval": list(numbers[1:])})
        table.add_row(row.name, *ratio_texts(numbers, contrast.std_err))
    console.print(table)
    console.print(
        "The intervals include the noise that protects people and the usual sampling error.",
        markup=False,
    )
    return Trained(ODDS_RATIOS, model, {"effects": effects})


def write_report(model: Any, path: Path) -> None:
    """Buy scores on people whom the model has not seen, and write the page."""
    with waiting("Writing the report"):
        from pyarrow import table

        from privfit import Ledger, metrics
        from privfit.datasets import load_adult

        test = load_adult(split="test")
        ledger = Ledger(rho=SCORES_RHO)  # a ledger of its own, because these are other people
        scores = metrics.evaluate(model, table(test.frame), test.target, rho=SCORES_RHO, ledger=ledger)
        with replacing(path) as file:
            model.report(file, scores=scores, title="Who earns more than 50,000 dollars?", card=CARD)


def print_promise(console: Console, model: Any) -> None:
    """Print the statement of a model in a frame."""
    from rich.panel import Panel

    console.print()
    console.print(
        Panel(model.privacy_.text, title="What was promised: the first model", width=min(100, console.width))
    )


def print_spending(console: Console, spending: Mapping[str, float]) -> None:
    """Print what the privacy budget was spent on, largest share first.

    Parameters
    ----------
    console : rich.console.Console
        Where to print.
    spending : mapping
        The amounts in rho by what they were charged for. Those for intervals are added up.
    """
    from privfit.models.summary_words import FOR_THE_EFFECTS, SPENDING_WORDS

    console.print("\n[bold]What the privacy budget of both models was spent on[/bold]")
    intervals = sum(rho for what, rho in spending.items() if what.endswith(FOR_THE_EFFECTS))
    others = {
        SPENDING_WORDS.get(what, what): rho
        for what, rho in spending.items()
        if not what.endswith(FOR_THE_EFFECTS)
    }
    spending = others | {"intervals": intervals}
    total = sum(spending.values())
    label = max(map(len, spending))
    width = max(8, min(40, console.width - label - 10))
    for what, rho in sorted(spending.items(), key=lambda item: -item[1]):
        share = bar(rho / total, width=width, ascii_only=console.options.ascii_only)
        console.print(f"  {what:<{label}} {share} {rho / total:.1%}", markup=False)
