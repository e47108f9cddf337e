"""`privfit tune`: choose among settings by noisy scores, with one promise for the whole search."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from privfit.cli.output import columns, show, waiting, wrapped
from privfit.cli.tables import paths_in
from privfit.cli.training import check_budget, check_records, training_table

if TYPE_CHECKING:
    from privfit.tuning import DPSearchCV


def tune(
    data: Data,
    schema: SchemaFile,
    out: Annotated[Path, typer.Option(help="Where the file of the chosen model goes.", dir_okay=False)],
    tried: Annotated[
        list[str],
        typer.Option(
            "--try",
            help="A setting and the values to try, as in the example. May be given several times; all "
            "combinations are tried. The settings are alpha, class_weight, curves, fit_intercept, "
            "max_passes, solver, tau and weight_shrinkage; the value none stands for what is not set.",
        ),
    ],
    epsilon: Annotated[
        float | None,
        typer.Option(help="How much anyone may learn of one record from the whole search, by default 1."),
    ] = None,
    delta: Delta = 1e-6,
    rho: Annotated[float | None, typer.Option(help="The price in zCDP, instead of epsilon.")] = None,
    model: KindForLabel = None,
    quantile: Quantile = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="The loss that settings are compared by: log_loss, brier_score, hinge_loss or zero_one_loss "
            "of classes, mean_squared_error, mean_absolute_error, mean_pinball_loss or mean_poisson_deviance "
            "of numbers. By default that of the model's kind."
        ),
    ] = None,
    no_refit: Annotated[
        bool,
        typer.Option("--no-refit", help="Publish the model that was scored, which has not seen all records."),
    ] = False,
    records: Annotated[
        int | None, typer.Option(min=1, help="The number of records, if it is public and not in the schema.")
    ] = None,
    rows_per_person: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many records of one person are used at most, people being told apart by the id column "
            "of the schema; the promise is then about all records of a person.",
        ),
    ] = None,
    store: LedgerStore = None,
    dataset: Dataset = None,
    report: Annotated[
        Path | None, typer.Option(help="Where a page about the model goes, too.", dir_okay=False)
    ] = None,
    no_check: NoCheck = False,
    as_json: Json = False,
) -> None:
    """Try several settings of a model, and train the best one.

    Each record is trained on or held out, by a coin of its own. Every setting is trained on the same part
    and scored on the other; the one with the least noisy loss is trained once more, on all records. The
    privacy budget covers all of it, so each of K settings gets a small part: try few, and only where you do
    not know which one is right. docs/tuning.md says when it pays.

    Example: privfit tune people.csv --schema schema.toml --try alpha=0,0.01 --try curves=none,true
    --epsilon 1 --ledger people.db --out model.json
    """
    if rho is not None and epsilon is not None:
        raise typer.BadParameter("Give one of --rho and --epsilon.")
    check_outputs(out, report, inputs=(*paths_in(data), schema))
    grid = grid_of(tried)
    with waiting("Loading libraries"):
        from privfit import Schema
        from privfit.tuning import DPSearchCV

        facts = Schema.from_toml(schema)
        kind = model_for(model, facts, schema)
        settings = settings_of(kind, quantile=quantile)
    check_records(records, facts, schema)
    check_budget(epsilon, delta, rho)
    ledger = ledger_of(store, dataset)
    search = DPSearchCV(
        kind.estimator(schema=facts, n_records=records, rows_per_person=rows_per_person, **settings),
        grid,
        epsilon,
        delta,
        rho=rho,
        scoring=scoring,
        refit=not no_refit,
        ledger=ledger,
        verbose=1,
    )
    search.check()
    table = training_table(
        data,
        schema,
        facts,
        records=records,
        rows_per_person=rows_per_person,
        no_check=no_check,
    )
    with spending(ledger):
        search.fit(table)
        with replacing(out) as file:
            search.best_estimator_.save(file)
        if report is not None:
            with replacing(report) as file:
                search.best_estimator_.report(file)
    written = f"The model is in {out}" + ("" if report is None else f", the page about it in {report}") + "."
    show(
        _facts(search)
        | {
            "model": str(out),
            "report": None if report is None else str(report),
            "privacy": search.best_estimator_.published().privacy,
            "ledger": None if ledger is None else ledger.statement(),
        },
        f"{_table(search)}\n\n{written}\n\n{wrapped(search.best_estimator_.privacy_)}\n\n"
        f"{wrapped(paid(ledger))}",
        as_json=as_json,
    )


def grid_of(tried: list[str]) -> dict[str, list[Any]]:
    """Return the settings and their values that these words stand for."""
    grid: dict[str, list[Any]] = {}
    for words in tried:
        name, equals, values = words.partition("=")
        name = name.strip().replace("-", "_")
        if not name or not equals or not all(value.strip() for value in values.split(",")):
            raise Mistake("--try needs a setting and its values, for example --try alpha=0,0.01")
        if name in grid:
            raise Mistake(f"--try names {name} twice; give all of its values at once, with commas.")
        grid[name] = [_value(value.strip()) for value in values.split(",")]
    return grid


def _value(text: str) -> Any:
    """Return what TOML reads, and otherwise the text itself; none stands for what is not set."""
    if text.lower() == "none":
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _facts(search: DPSearchCV) -> dict[str, Any]:
    """Return what the search released, for programs."""
    results = search.cv_results_
    names = ("difference", "difference_noise", "mean_test_loss", "loss_noise", "rank_test_loss")
    tried = [
        {"settings": setting} | {name: results[name][row].item() for name in names}
        for row, setting in enumerate(results["params"])
    ]
    return {"chosen": search.best_params_, "scoring": search.scorer_, "tried": tried}


def _table(search: DPSearchCV) -> str:
    """Return a line for each setting: how much it loses, and how well that is known."""
    from privfit.tuning.results import in_words

    results = search.cv_results_
    rows = [
        (
            "chosen" if row == search.best_index_ else "",
            in_words(setting),
            f"{results['difference'][row]:+.4f}",
            f"{results['difference_noise'][row]:.4f}",
            f"{results['mean_test_loss'][row]:.4f}",
            f"{results['loss_noise'][row]:.4f}",
        )
        for row, setting in enumerate(results["params"])
    ]
    loss = search.scorer_.replace("_", " ")
    heads = ("", "setting", "from mean", "noise", loss, "noise")
    return (
        f"Noisy {loss} on held-out records: how much each setting is above the mean of all, and the loss "
        f"itself,\neach with the standard error of its noise:\n{columns([heads, *rows])}"
    )
