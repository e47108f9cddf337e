"""`privfit explain`: what a model says, and what was promised."""

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


def explain(
    model: Model,
    top: Annotated[int, typer.Option(min=1, help="How many weights to show, largest first.")] = 20,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            help="Show a regression table with standard errors, p-values and intervals instead; for models "
            "that were trained with --inference.",
        ),
    ] = False,
    level: Annotated[float, typer.Option(help="With --intervals: the level of the intervals.")] = 0.95,
    per: Annotated[
        list[str] | None,
        typer.Option(help="With --intervals: for how much of a number its row is, age:10 for example."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a model's weights in the schema's words, and its promise.

    A weight is how much a person's score changes if a category applies instead of its column's reference or,
    for a number, when it goes from the lowest to the highest declared value. A number with a curve has a line
    for each stretch over which the curve rises or falls; --json has all of its points. With several classes
    there is a score for each. The weights of a model of numbers are in the units of what it predicts. The
    odds ratio of a logistic model is by what the odds are multiplied then, the rate ratio of a model of
    counts by what the predicted count is. The noise of the fit is in the weights: small ones may be nothing
    but noise, and --intervals shows which. There a number's row is for one more of its unit.

    Example: privfit explain model.json --top 10
    """
    fitted = read_model(model)
    from privfit.models.curves import curves_of
    from privfit.models.targets import to_dict
    from privfit.models.weights import weights_of

    facts: Published = fitted.published()
    if intervals:
        _show_intervals(facts, model, level, _amounts(per), as_json=as_json)
        return
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
            "intercept": weights.intercept,  # of several classes, one for each by its name
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
    """Return by column how much a number grows, as --per says it."""
    amounts = {}
    for words in given or ():
        name, _, number = words.rpartition(":")
        try:
            amounts[name] = float(number)
        except ValueError:
            raise Mistake("--per needs a column, a colon and a number, age:10 for example.") from None
    return amounts


def _show_intervals(
    facts: Published, path: Path, level: float, per: dict[str, float], *, as_json: bool
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
    show(told, str(summary), as_json=as_json)


def in_a_line(privacy: PrivacyStatement, path: Path) -> str:
    """Say in a line what a model promises, and where the whole statement is."""
    from privfit.accounting.amounts import written_up

    if privacy.promise is None:
        return privacy.text
    epsilon, delta, rho = map(written_up, (privacy.epsilon, privacy.delta, privacy.rho))
    return (
        f"The promise: epsilon = {epsilon} at delta = {delta} (rho = {rho}); {path} has the whole statement, "
        "and so does its page."
    )
