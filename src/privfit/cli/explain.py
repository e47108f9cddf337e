"""`privfit explain`: what a model says, and what was promised."""

from __future__ import annotations

from typing import Annotated

import typer

from privfit.cli.options import Json, Model
from privfit.cli.output import columns, show


def explain(
    model: Model,
    top: Annotated[int, typer.Option(min=1, help="How many weights to show, largest first.")] = 20,
    as_json: Json = False,
) -> None:
    """Show the weights of a model in the schema's words, and its promise.

    A weight says how the score changes over a column's whole range, or with a category; 0.69 doubles the odds
    of a logistic model. The library has no intervals for weights yet: small ones may be nothing but noise.

    Example: privfit explain model.json --top 10
    """
    from privfit import load

    fitted = load(model)
    facts = fitted.published()
    names = facts.columns or facts.feature_names or [f"column {i}" for i in range(len(facts.weights))]
    spans = 1.0 if facts.bounds is None else facts.bounds[1] - facts.bounds[0]
    effects = (facts.weights * spans).tolist()
    order = sorted(range(len(names)), key=lambda i: -abs(effects[i]))
    rows = [
        ("column", "weight", "over its range"),
        *((names[i], f"{facts.weights[i]:+.4g}", f"{effects[i]:+.3f}") for i in order[:top]),
    ]
    left = len(order) - top
    more = f"\n({left} smaller ones are left out; --top shows more.)" if left > 0 else ""
    text = (
        f"Positive scores mean {facts.classes[1]}; the intercept is {facts.intercept:+.4g}.\n\n"
        f"{columns(rows)}{more}\n\n{fitted.privacy_}"
    )
    weights = [
        {"column": names[i], "weight": float(facts.weights[i]), "over_range": effects[i]} for i in order
    ]
    show(
        {
            "classes": list(facts.classes),
            "intercept": facts.intercept,
            "weights": weights,
            "privacy": facts.privacy,
        },
        text,
        as_json=as_json,
    )
