"""`privfit tune`: choose among settings by noisy scores, with one privacy guarantee for the whole search."""

from __future__ import annotations

import tomllib
from dataclasses import replace
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
from privfit.cli.tables import paths_in, take_table
from privfit.cli.training import check_budget, check_records, is_about_people

if TYPE_CHECKING:
    from privfit.tuning import DPSearchCV

HIDDEN = "unknown"  # printed instead of a number that the noise hides


def tune(
    data: Data,
    schema: SchemaFile,
    out: Annotated[Path, typer.Option(help="File to write the chosen model to.", dir_okay=False)],
    tried: Annotated[
        list[str],
        typer.Option(
            "--try",
            help="A setting and the values to try, as in the example. May be repeated; all combinations are "
            "tried. The settings are alpha, class_weight, curves, fit_intercept, max_passes, solver, tau and "
            "weight_shrinkage. The value none means that the setting is left out.",
        ),
    ],
    epsilon: Annotated[
        float | None,
        typer.Option(help="The epsilon of (epsilon, delta)-DP for the whole search, by default 1."),
    ] = None,
    delta: Delta = 1e-6,
    rho: Annotated[float | None, typer.Option(help="The price in zCDP, instead of epsilon.")] = None,
    model: KindForLabel = None,
    quantile: Quantile = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="The loss by which settings are compared. For classes: log_loss, brier_score, hinge_loss or "
            "zero_one_loss. For numbers: mean_squared_error, mean_absolute_error, mean_pinball_loss or "
            "mean_poisson_deviance. By default that of the kind of model."
        ),
    ] = None,
    no_refit: Annotated[
        bool,
        typer.Option(
            "--no-refit", help="Keep the model that was scored, which was not trained on all records."
        ),
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
    store: LedgerStore = None,
    dataset: Dataset = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write a page about the model to this file.", dir_okay=False)
    ] = None,
    no_check: NoCheck = False,
    as_json: Json = False,
) -> None:
    """Try several settings of a model, and train the best one.

    Each record is put at random into one of two parts. Every setting is trained on the first part and scored
    on the second. The setting with the least noisy loss is trained once more, on all records. The privacy
    budget covers all of this, so each setting gets a small part of it. Try few settings, and only if you do
    not know the right one. docs/tuning.md says when a search is worth its price.

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
    of_people = is_about_people(facts, schema, rows_per_person)
    declared = replace(facts, records=facts.records or records)
    with spending(ledger):
        table = take_table(data, declared, of_people=of_people, check=not no_check)
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
    """Return the settings and their values that the --try options name."""
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
    """Return the TOML value of a text, or the text itself if it is none; "none" becomes None."""
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
    """Return a line for each setting: its noisy loss, and the standard error of the noise."""
    from privfit.models.contrast import number_text, size_text
    from privfit.tuning.results import in_words

    results, rows = search.cv_results_, []
    for row, setting in enumerate(results["params"]):
        above, noise, loss, loss_noise = (
            float(results[name][row])
            for name in ("difference", "difference_noise", "mean_test_loss", "loss_noise")
        )
        numbers = (
            number_text(above, noise),
            size_text(noise, noise),
            size_text(loss, loss_noise),
            size_text(loss_noise, loss_noise),
        )
        chosen = "chosen" if row == search.best_index_ else ""
        rows.append((chosen, in_words(setting), *(HIDDEN if "nan" in text else text for text in numbers)))
    measured = search.scorer_.replace("_", " ")
    heads = ("", "setting", "from mean", "noise", measured, "noise")
    return (
        f"Noisy {measured} on held-out records: the difference of each setting from the mean of all, and the "
        f"loss itself,\neach with the standard error of its noise:\n{columns([heads, *rows])}"
    )
