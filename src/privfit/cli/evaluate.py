"""`privfit evaluate`: score a model on held-out records, with privacy unless the records are public."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privfit.cli.checking import NoCheck
from privfit.cli.exact_scores import exact_scores
from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.options import Data, Dataset, Delta, Json, LedgerStore, Model, ledger_of, paid, spending
from privfit.cli.output import columns, document, show, waiting, wrapped
from privfit.cli.tables import paths_in, read_model_of_tables, take_table

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
            help="Use at most this many records of each person, by default as many as in training. The id "
            "column of the schema tells people apart, and the guarantee covers all records of a person.",
        ),
    ] = None,
    public_data: Annotated[
        bool,
        typer.Option("--public-data", help="The records are public: compute exact scores, free of charge."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Also write the scores to this file, for `privfit report`.", dir_okay=False),
    ] = None,
    no_check: NoCheck = False,
    as_json: Json = False,
) -> None:
    """Score a model on records that it has not seen.

    Scores reveal something about the people whose records are used. So by default the scores have noise, and
    these people's ledger pays for them. The more records, the smaller the effect of the noise: with 1,000
    records and rho = .01, the accuracy is known to within .03. Models of numbers get R², mean absolute error
    and root mean squared error, and models of counts also the Poisson deviance.

    Example: privfit evaluate model.json held-out.csv --rho 0.01 --ledger people.db --out scores.json
    """
    if rho is not None and epsilon is not None:
        raise typer.BadParameter("Give one of --rho and --epsilon.")
    if public_data and any(
        given is not None for given in (rho, epsilon, store, dataset, out, rows_per_person)
    ):
        raise Mistake(
            "Scores of public data cost nothing and cannot go into a report; leave out --rho, --epsilon, "
            "--ledger, --dataset, --rows-per-person and --out."
        )
    check_outputs(out, inputs=(model, *paths_in(data)))
    fitted = read_model_of_tables(model)
    ledger = ledger_of(store, dataset)
    schema = fitted.schema_
    ids = schema.identifier
    if rows_per_person is not None and ids is not None and ids.rows_per_person is not None:
        raise Mistake(
            "The schema of the model declares rows_per_person already; leave --rows-per-person out."
        )
    most = fitted.privacy_.records_per_person if rows_per_person is None else rows_per_person
    of_people = ids is not None and not public_data and most is not None
    with spending(ledger):
        table = take_table(
            data,
            schema,
            of_people=of_people,
            check=not no_check,
            may_repeat_ids=public_data,
            purpose="evaluate",
        )
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
