"""`privfit evaluate`: how good a model is on held-out records, with privacy unless the records are public."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privfit.cli.checking import NoCheck, check_first
from privfit.cli.exact_scores import exact_scores
from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.options import Data, Dataset, Delta, Json, LedgerStore, Model, ledger_of, paid, spending
from privfit.cli.output import columns, document, show, waiting, wrapped
from privfit.cli.tables import paths_in, read_model_of_tables, read_table

RHO = 0.01


def evaluate(
    model: Model,
    data: Data,
    rho: Annotated[
        float | None, typer.Option(help="The price, by default .01: about epsilon .6 at delta 1e-6.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The price as (epsilon, delta), instead.")] = None,
    delta: Delta = 1e-6,
    store: LedgerStore = None,
    dataset: Dataset = None,
    rows_per_person: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many records of one person are used at most, by default as many as in training, people "
            "being told apart by the id column of the schema; the promise is then about all their records.",
        ),
    ] = None,
    public_data: Annotated[
        bool, typer.Option("--public-data", help="The records are public: exact scores, without a price.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where the scores go as JSON, for `privfit report`.", dir_okay=False)
    ] = None,
    no_check: NoCheck = False,
    as_json: Json = False,
) -> None:
    """Score a model on records that it has not seen.

    Scores of people's records say something about them, so by default they are bought, with noise, from the
    ledger of these people. Their number decides how large the noise is: 1,000 records give the accuracy to
    within .03 at the price of rho = .01. Models of numbers get R², mean absolute error and root mean squared
    error, and models of counts the Poisson deviance, too.

    Example: privfit evaluate model.json held-out.csv --rho 0.01 --ledger people.db --out scores.json
    """
    if rho is not None and epsilon is not None:
        raise typer.BadParameter("Give one of --rho and --epsilon.")
    if public_data and any(
        given is not None for given in (rho, epsilon, store, dataset, out, rows_per_person)
    ):
        raise Mistake(
            "Scores of public data have no price and are in no report; leave --rho, --epsilon, --ledger, "
            "--dataset, --rows-per-person and --out out."
        )
    check_outputs(out, inputs=(model, *paths_in(data)))
    fitted = read_model_of_tables(model)
    ledger = ledger_of(store, dataset)
    schema = fitted.schema_
    ids, weight = schema.identifier, schema.weight
    if rows_per_person is not None and ids is not None and ids.rows_per_person is not None:
        raise Mistake(
            "The schema of the model declares rows_per_person already; leave --rows-per-person out."
        )
    most = fitted.privacy_.records_per_person if rows_per_person is None else rows_per_person
    of_people = ids is not None and not public_data and most is not None
    declared = (
        *schema.features,
        schema.label,
        *([ids] if ids is not None and of_people else []),
        *([] if weight is None else [weight.as_column]),
    )
    alone = None if public_data or no_check or of_people else schema
    table = read_table(data, declared, no_repeated_ids=alone)
    table = check_first(table, schema, "evaluate", skip=no_check)
    if public_data:
        facts = exact_scores(fitted, table)
        from privfit.report.titles import score_title

        rows = [("score", "value"), *((score_title(name), f"{facts[name]:.4f}") for name in facts)]
        return show(facts, f"Exact, because these records are public:\n{columns(rows)}", as_json=as_json)
    with spending(ledger), waiting("Scoring"):
        from privfit.metrics import evaluate as buy

        price = RHO if rho is None and epsilon is None else rho
        scores = buy(
            fitted,
            table,
            rho=price,
            epsilon=epsilon,
            delta=delta,
            rows_per_person=rows_per_person,
            ledger=ledger,
        )
        if out is not None:
            with replacing(out) as file:
                file.write_text(document(scores.to_dict()) + "\n", encoding="utf-8")
    written = "" if out is None else f"\n\nThe scores are in {out}."
    return show(scores.to_dict(), f"{scores}{written}\n\n{wrapped(paid(ledger))}", as_json=as_json)
