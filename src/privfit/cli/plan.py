"""`privfit plan`: what to expect of a private model, before any data are touched."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.models import Kind, check_kind
from privfit.cli.options import Delta, Json
from privfit.cli.output import progress, show, wrapped

PICTURES = (".png", ".svg", ".pdf")


def plan(
    features: Annotated[int, typer.Option(min=1, help="Number of encoded columns.")],
    people: Annotated[int | None, typer.Option(min=10, help="Number of people to train on.")] = None,
    accuracy: Annotated[
        float | None, typer.Option(help="Instead of --people: find how many are needed for this accuracy.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="May be repeated; by default .1, .3, 1 and 3, or 1.")
    ] = None,
    delta: Delta = 1e-6,
    positives: Annotated[float, typer.Option(help="Share of positive labels: known or guessed.")] = 0.5,
    auc: Annotated[float, typer.Option(help="AUC without privacy: a guess; .7 is hard, .9 easy.")] = 0.8,
    model: Kind = "logistic",
    runs: Annotated[int, typer.Option(min=2, help="Simulated fits for each number.")] = 5,
    plot: Annotated[
        Path | None, typer.Option(help="Where a picture goes (.png, .svg).", dir_okay=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Forecast how good a model will be. No data are read.

    What accuracy and time to expect of a number of people, or, with --accuracy, how many people it takes.
    Models of two classes are forecast; those of several classes and of numbers are not yet.
    Forecasts come from training on invented tables with the real solver.

    Example: privfit plan --people 20000 --features 30 --positives 0.2 --plot plan.png
    """
    if (people is None) == (accuracy is None):
        raise typer.BadParameter("Give one of --people and --accuracy.")
    if accuracy is not None and (plot is not None or len(epsilon or ()) > 1):
        raise typer.BadParameter("--accuracy takes one --epsilon and no --plot.")
    check_outputs(plot)
    if plot is not None and find_spec("matplotlib") is None:
        raise Mistake("A picture needs matplotlib; install it with: pip install 'privfit[report]'")
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise Mistake(f"{plot} must end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}.")
    check_kind(model)
    from privfit.models.registry import MODELS

    if not MODELS[model].link.predicts_classes:
        raise Mistake(
            f"privfit plan forecasts models of two classes, and --model {model} predicts numbers; what a fit "
            "of numbers will be like cannot be planned yet."
        )
    from privfit import people_needed
    from privfit import plan as forecast

    assumed: dict[str, Any] = {
        "delta": delta,
        "positives": positives,
        "auc": auc,
        "model": model,
        "runs": runs,
    }
    with progress("Training on invented tables") as tick:
        if accuracy is not None:
            budget = epsilon[0] if epsilon else 1.0
            needed = people_needed(features, accuracy=accuracy, epsilon=budget, progress=tick, **assumed)
            return show(needed.to_dict(), wrapped(needed), as_json=as_json)
        assert people is not None  # one of the two was given
        budgets = epsilon or (0.1, 0.3, 1.0, 3.0)
        planned = forecast(people, features, epsilons=budgets, progress=tick, **assumed)
    if plot is not None:
        with replacing(plot) as file:
            planned.plot(file)
    return show(planned.to_dict(), str(planned), as_json=as_json)
