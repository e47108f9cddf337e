"""`privfit explain`: show a model's weights or effects, and its privacy guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privfit.cli.guard import Mistake
from privfit.cli.options import Json, Model
from privfit.cli.output import columns, show, wrapped
from privfit.cli.tables import read_model

if TYPE_CHECKING:
    from privfit.estimators.statement import PrivacyStatement
    from privfit.publication import Published

WEIGHTS_SHOWN = 20


def explain(
    model: Model,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many weights to show, largest first; by default 20. With --intervals: how many "
            "effects, largest z first; by default all.",
        ),
    ] = None,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            help="Show a regression table with standard errors, p-values and intervals instead. The model "
            "has to be trained with --inference.",
        ),
    ] = False,
    level: Annotated[float, typer.Option(help="With --intervals: the confidence level.")] = 0.95,
    per: Annotated[
        list[str] | None,
        typer.Option(help="With --intervals: the change of a number for its effect, such as age:10."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a model's weights and its privacy guarantee.

    The weight of a category says how much a person's score changes if the category applies instead of the
    reference of its column. The weight of a number says how much the score changes when the number goes from
    the lowest to the highest declared value. A number with a curve has one line for each part over which the
    curve rises or falls; --json has all points of the curve. With several classes, each class has a score.
    The weights of a model of numbers are in the units of the prediction. A logistic model also has odds
    ratios: the factors by which these changes multiply the odds. A model of counts has rate ratios, the
    factors for the predicted count. The weights contain the noise of the fit, so small weights may be
    nothing but noise; --intervals shows which. With --intervals, the row of a number is for one more unit.

    Example: privfit explain model.json --top 10
    """
    fitted = read_model(model)
    from privfit.models.curves import curves_of
    from privfit.models.targets import to_dict
    from privfit.models.weights import weights_of

    facts: Published = fitted.published()
    if intervals:
        _show_intervals(facts, model, level, _amounts(per), top, as_json=as_json)
        return
    top = top or WEIGHTS_SHOWN
    weights = weights_of(facts)
    largest = weights.by_size()
    left = len(largest.lines) - top
    more = f"\n({left} smaller ones are left out; --top shows more.)" if left > 0 else ""
    table = columns(largest.with_lines(largest.lines[:top]).texts())
    promise = in_a_line(fitted.privacy_, model)
    show(
        {
            "target": to_dict(facts.target),
            "classes": list(facts.classes),
            "speaks_for": weights.positive,
            "intercept": weights.intercept,  # with several classes, one for each class by its name
            "weights": [
                {
                    "column": row.column,
                    "category": row.level,
                    "weight": row.weight,
                    "over": row.unit,
                    "reference": row.reference,
                    "odds_ratio": row.odds_ratio,
                    **({} if row.rate_ratio is None else {"rate_ratio": row.rate_ratio}),
                    **({} if row.label is None else {"class": row.label}),
                }
                for row in largest
            ],
            "curves": [{"column": name, **curve.to_json()} for name, curve in curves_of(facts).items()],
            "privacy": facts.privacy,
        },
        f"{wrapped(' '.join(weights.meaning))}\n\n{table}{more}\n\n{wrapped(promise)}",
        as_json=as_json,
    )


def _amounts(given: list[str] | None) -> dict[str, float]:
    """Return the changes of numbers that --per names, by column."""
    amounts = {}
    for words in given or ():
        name, _, number = words.rpartition(":")
        try:
            amounts[name] = float(number)
        except ValueError:
            raise Mistake("--per needs a column, a colon and a number, age:10 for example.") from None
    return amounts


def _show_intervals(
    facts: Published, path: Path, level: float, per: dict[str, float], top: int | None, *, as_json: bool
) -> None:
    """Print the effects with their intervals."""
    from privfit.models.summary import Summary

    if facts.inference is None:
        raise Mistake(f"{path} has no intervals; train a model with: privfit train --inference")
    if not 0.0 < level < 1.0:
        raise Mistake("--level must be between 0 and 1, both excluded.")
    summary = Summary.of(facts, level, per)
    told = {
        "level": level,
        "changed": summary.changed,
        "effects": summary.records(),
        "notes": list(summary.notes),
        "privacy": facts.privacy,
    }
    show(told, str(summary if top is None else summary.top(top)), as_json=as_json)


def in_a_line(privacy: PrivacyStatement, path: Path) -> str:
    """Return the privacy guarantee in one line, and say where the whole statement is."""
    from privfit.accounting.amounts import written_up

    if privacy.promise is None:
        return privacy.text
    epsilon, delta, rho = map(written_up, (privacy.epsilon, privacy.delta, privacy.rho))
    return (
        f"The promise: epsilon = {epsilon} at delta = {delta} (rho = {rho}); {path} has the whole statement, "
        "and so does the page that privfit report writes."
    )
