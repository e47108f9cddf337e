"""`privfit explain`: what a model says, and what was promised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from privfit.cli.options import Json, Model
from privfit.cli.output import columns, show, wrapped
from privfit.cli.tables import read_model

if TYPE_CHECKING:
    from privfit.publication import Published


def explain(
    model: Model,
    top: Annotated[int, typer.Option(min=1, help="How many weights to show, largest first.")] = 20,
    as_json: Json = False,
) -> None:
    """Show a model's weights in the schema's words, and its promise.

    A weight is what a category adds to the score, or a number on its way from one end of its range to the
    other; 0.69 doubles the odds of a logistic model. The noise of the fit is in the weights, and privfit has
    no intervals for them yet: small ones may be nothing but noise.

    Example: privfit explain model.json --top 10
    """
    fitted = read_model(model)
    facts: Published = fitted.published()
    speaks_for, weights, intercept = _in_words(fitted, facts)
    largest = sorted(weights, key=lambda entry: -abs(entry["weight"]))
    rows = [
        ("column", "category", "weight", "over"),
        *((w["column"], w["category"], f"{w['weight']:+.4f}", w["over"]) for w in largest[:top]),
    ]
    left = len(largest) - top
    more = f"\n({left} smaller ones are left out; --top shows more.)" if left > 0 else ""
    spoken = f"Positive weights speak for {speaks_for}; the intercept is {intercept:+.4f}."
    show(
        {
            "classes": list(facts.classes),
            "speaks_for": speaks_for,
            "intercept": intercept,
            "weights": largest,
            "privacy": facts.privacy,
        },
        f"{spoken}\n\n{columns(rows)}{more}\n\n{wrapped(fitted.privacy_)}",
        as_json=as_json,
    )


def _in_words(fitted: Any, facts: Published) -> tuple[Any, list[dict[str, Any]], float]:
    """Return the class for which weights speak, the weights, and the intercept."""
    second, intercept = facts.classes[1], facts.intercept
    if fitted.schema_ is not None:
        positive = fitted.schema_.label.positive
        turned = positive is not None and positive == facts.classes[0]
        named = [
            {"column": w.column, "category": w.level, "weight": w.weight, "over": w.unit}
            for w in fitted.weights_
        ]
        return (positive if turned else second), named, -intercept if turned else intercept
    names = facts.weight_names or [f"column {i}" for i in range(len(facts.weights))]
    low, high = facts.bounds if facts.bounds is not None else (None, None)
    weights = []
    for i, (name, weight) in enumerate(zip(names, facts.weights.tolist(), strict=True)):
        span = None if low is None or high is None else (float(low[i]), float(high[i]))
        effect = weight if span is None else weight * (span[1] - span[0])
        over = "one unit" if span is None else f"{span[0]:g} to {span[1]:g}"
        weights.append({"column": name, "category": "", "weight": effect, "over": over})
    return second, weights, intercept
