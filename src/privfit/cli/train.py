"""`privfit train`: train a model that may be published, from a table and its schema."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privfit.cli.checking import NoCheck
from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.models import KindForLabel, Quantile, model_for, settings_of
from privfit.cli.options import (
    Data,
    Dataset,
    Delta,
    Json,
    LedgerStore,
    SchemaFile,
    ledger_of,
    paid,
    spending,
)
from privfit.cli.output import show, waiting, wrapped
from privfit.cli.tables import paths_in, take_table
from privfit.cli.training import check_budget, check_records, is_about_people
from privfit.cli.weights import ClassWeight, class_weight_of

if TYPE_CHECKING:
    from privfit.estimators.base import DPLinearModel


def check_solver(name: str) -> None:
    """Raise an error if this is not the name of a private solver."""
    from privfit.solvers import SOLVERS

    private = sorted(known for known, solver in SOLVERS.items() if solver.private)
    if name not in private:
        raise Mistake(f"--solver must be one of the private solvers {', '.join(private)}, not {name}.")


def train(
    data: Data,
    schema: SchemaFile,
    out: Annotated[Path, typer.Option(help="File to write the model to.", dir_okay=False)],
    epsilon: Annotated[
        float | None,
        typer.Option(help="The epsilon of (epsilon, delta)-DP, by default 1; smaller is more private."),
    ] = None,
    delta: Delta = 1e-6,
    rho: Annotated[float | None, typer.Option(help="The price in zCDP, instead of epsilon.")] = None,
    model: KindForLabel = None,
    quantile: Quantile = None,
    solver: Annotated[str, typer.Option(help="The training algorithm; see docs/solvers.md.")] = "adaptive",
    alpha: Annotated[
        float,
        typer.Option(help="Strength of the L2 penalty: alpha / 2 times the squared norm of the weights."),
    ] = 0.0,
    no_intercept: Annotated[
        bool, typer.Option("--no-intercept", help="Train a model without an intercept.")
    ] = False,
    records: Annotated[
        int | None, typer.Option(min=1, help="The number of records, if it is public and not in the schema.")
    ] = None,
    rows_per_person: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Use at most this many records of each person. The id column of the schema tells people "
            "apart, and the guarantee covers all records of a person.",
        ),
    ] = None,
    class_weight: ClassWeight = None,
    curves: Annotated[
        bool,
        typer.Option(
            "--curves",
            help="Fit curves for columns of numbers and dates, which may bend at public edges; the privacy "
            "budget decides how many edges there are.",
        ),
    ] = False,
    max_passes: Annotated[
        int | None,
        typer.Option(min=1, help="The largest number of passes over the data; see docs/solvers.md."),
    ] = None,
    inference: Annotated[
        bool,
        typer.Option(
            "--inference",
            help="Spend a part of the privacy budget on standard errors, p-values and intervals of the "
            "effects; privfit explain --intervals shows them.",
        ),
    ] = False,
    effect: Annotated[
        list[str] | None,
        typer.Option(
            help="A column whose effect gets an interval, instead of all columns with --inference; may be "
            "repeated.",
        ),
    ] = None,
    store: LedgerStore = None,
    dataset: Dataset = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write a page about the model to this file.", dir_okay=False)
    ] = None,
    no_check: NoCheck = False,
    as_json: Json = False,
) -> None:
    """Train a private model on a table.

    The ledger that --ledger names is charged before the records are used. The model file and the page may be
    published. The table is first compared with the schema, as by `privfit schema check`; the messages of this
    comparison are for you alone. Nothing else about the records is printed or written.

    The table is read once, in blocks of rows, so it may be larger than memory. Large tables are stored as
    encoded numbers in a temporary file. See docs/scale.md.

    All records of the file are used for training. If you want to score the model later, first put some
    people's records into a second file, by a rule that does not depend on the records, such as every tenth
    line.

    Example: privfit train people.csv --schema schema.toml --epsilon 1 --ledger people.db --out model.json
    --report card.html
    """
    if rho is not None and epsilon is not None:
        raise typer.BadParameter("Give one of --rho and --epsilon.")
    check_outputs(out, report, inputs=(*paths_in(data), schema))
    with waiting("Loading libraries"):
        from privfit import Schema
        from privfit.estimators.validation import check_number

        facts = Schema.from_toml(schema)
        kind = model_for(model, facts, schema)
        settings = settings_of(kind, quantile=quantile) | class_weight_of(class_weight, facts)
    check_records(records, facts, schema)
    check_budget(epsilon, delta, rho)
    check_number("--alpha", alpha, or_zero=True)
    if inference and effect:
        raise Mistake("--inference asks for all effects; leave it out, or --effect.")
    check_solver(solver)
    ledger = ledger_of(store, dataset)
    of_people = is_about_people(facts, schema, rows_per_person)
    declared = replace(facts, records=facts.records or records)
    with spending(ledger):
        table = take_table(data, declared, of_people=of_people, check=not no_check)
        fitted = kind.estimator(
            epsilon,
            delta,
            rho=rho,
            solver=solver,
            alpha=alpha,
            fit_intercept=not no_intercept,
            schema=facts,
            n_records=records,
            rows_per_person=rows_per_person,
            curves=curves or None,
            max_passes=max_passes,
            inference=effect or inference,
            ledger=ledger,
            verbose=1,
            **settings,
        ).fit(table)
        with replacing(out) as file:
            fitted.save(file)
        if report is not None:
            with replacing(report) as file:
                fitted.report(file)
    written = f"The model is in {out}"
    if report is not None:
        written += f", the page about it in {report}"
    written += "."
    if facts.with_curves(curves or None).has_curves:
        written += f"\n\n{wrapped(_of_curves(fitted))}"
    if inference or effect:
        written += f"\n\n{wrapped(_of_effects(fitted, out))}"
    show(
        {
            "model": str(out),
            "report": None if report is None else str(report),
            "privacy": fitted.published().privacy,
            "ledger": None if ledger is None else ledger.statement(),
        },
        f"{written}\n\n{wrapped(fitted.privacy_)}\n\n{wrapped(paid(ledger))}",
        as_json=as_json,
    )


def _of_curves(fitted: DPLinearModel) -> str:
    """Return how many columns have a curve, if curves were asked for."""
    found = len(fitted.curves_)
    if not found:
        return "No column has a curve, because the privacy budget is too small for one."
    columns = "1 column has a curve" if found == 1 else f"{found:,} columns have a curve"
    return f"{columns}, which privfit explain describes and privfit report draws."


def _of_effects(fitted: DPLinearModel, path: Path) -> str:
    """Return how many effects have a standard error, if these were asked for."""
    from privfit.models.effects import NOT_ASKED

    asked = [row.contrast for row in fitted.summary() if row.contrast is not None]
    effects = [contrast for contrast in asked if contrast.refused != NOT_ASKED]
    known = sum(contrast.refused is None for contrast in effects)
    if not known:
        return "The privacy budget is too small for standard errors of the effects."
    counted = "all effects" if known == len(effects) else f"{known:,} of {len(effects):,} effects"
    return f"Standard errors of {counted} are known: privfit explain {path} --intervals shows them."
