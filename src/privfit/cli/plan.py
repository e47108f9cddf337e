"""`privfit plan`: forecast the accuracy of a private model before any data are read."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.models import check_kind, kinds
from privfit.cli.options import Delta, Json
from privfit.cli.output import progress, show, wrapped

PICTURES = (".png", ".svg", ".pdf")


def plan(
    features: Annotated[
        int | None, typer.Option(min=1, help="Number of encoded columns; not needed with --schema.")
    ] = None,
    people: Annotated[int | None, typer.Option(min=10, help="Number of people to train on.")] = None,
    accuracy: Annotated[
        float | None, typer.Option(help="Instead of --people: find how many people this accuracy needs.")
    ] = None,
    wanted_r2: Annotated[
        float | None, typer.Option(help="Instead of --accuracy, for a model of numbers: the R² to reach.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="May be repeated; by default .1, .3, 1 and 3, or 1.")
    ] = None,
    delta: Delta = 1e-6,
    positives: Annotated[
        float | None, typer.Option(help="Share of positive labels, known or assumed; by default .5.")
    ] = None,
    auc: Annotated[
        float | None,
        typer.Option(
            help="Assumed AUC without privacy: .7 for a hard task, .9 for an easy one. By default .8."
        ),
    ] = None,
    classes: Annotated[
        int | None, typer.Option(min=2, help="Number of classes, all equally frequent; by default two.")
    ] = None,
    share: Annotated[
        list[float] | None,
        typer.Option(help="Instead of --classes: the share of a class; once for each class."),
    ] = None,
    r2: Annotated[
        float | None, typer.Option(help="For a model of numbers: its assumed R² without privacy.")
    ] = None,
    rows_per_person: Annotated[
        int | None, typer.Option(min=1, help="Number of rows of each person, all of which are used.")
    ] = None,
    curves: Annotated[
        bool | None, typer.Option("--curves/--no-curves", help="Whether numbers have curves.")
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(help="A schema, for features, label, curves and rows per person.", dir_okay=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="logistic or svm for classes; linear or huber for numbers.", autocompletion=kinds),
    ] = None,
    runs: Annotated[int, typer.Option(min=2, help="Simulated fits for each number.")] = 5,
    plot: Annotated[
        Path | None, typer.Option(help="Also write a chart to this file (.png, .svg).", dir_okay=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Forecast how accurate a private model will be. No data are read.

    The command shows the accuracy, or R², and the time to expect for a number of people. With --accuracy or
    --wanted-r2 it shows how many people are needed. It trains the real solver on simulated tables. Models of
    counts are not supported yet.

    Example: privfit plan --people 20000 --features 30 --positives 0.2 --plot plan.png
    """
    searching = accuracy is not None or wanted_r2 is not None
    if (people is not None) + (accuracy is not None) + (wanted_r2 is not None) > 1 or (
        schema is None and not searching and people is None
    ):
        raise typer.BadParameter("Give one of --people, --accuracy and --wanted-r2.")
    if schema is None and features is None:
        raise typer.BadParameter("Give --features, or --schema, which tells their number.")
    if searching and (plot is not None or len(epsilon or ()) > 1):
        raise typer.BadParameter("--accuracy and --wanted-r2 take one --epsilon and no --plot.")
    if classes is not None and share is not None:
        raise typer.BadParameter("Give one of --classes and --share.")
    check_outputs(plot)
    if plot is not None and find_spec("matplotlib") is None:
        raise Mistake("A picture needs matplotlib; install it with: pip install 'privfit[report]'")
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise Mistake(f"{plot} must end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}.")
    if model is not None:
        check_kind(model)
    from privfit import people_needed
    from privfit import plan as forecast

    assumed: dict[str, Any] = {
        "delta": delta,
        "positives": positives,
        "auc": auc,
        "model": model,
        "runs": runs,
        "classes": classes if share is None else share,
        "r2": r2,
        "rows_per_person": rows_per_person,
        "curves": curves,
        "schema": schema,
    }
    with progress("Training on invented tables") as tick:
        if searching:
            assumed |= {"accuracy": accuracy, "wanted_r2": wanted_r2}
            budget = epsilon[0] if epsilon else 1.0
            needed = people_needed(features, epsilon=budget, progress=tick, **assumed)
            return show(needed.to_dict(), wrapped(needed), as_json=as_json)
        budgets = epsilon or (0.1, 0.3, 1.0, 3.0)
        planned = forecast(people, features, epsilons=budgets, progress=tick, **assumed)
    if plot is not None:
        with replacing(plot) as file:
            planned.plot(file)
    return show(planned.to_dict(), str(planned), as_json=as_json)
