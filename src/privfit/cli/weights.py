"""The option --class-weight: how much the records of each class count."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privfit.cli.guard import Mistake

if TYPE_CHECKING:
    from privfit.schema import Schema

ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        help="The weight of a class, label:weight, once for each class; or balanced, which spends privacy "
        "budget on the sizes of the classes.",
    ),
]


def class_weight_of(given: list[str] | None, schema: Schema) -> dict[str, Any]:
    """Return the setting of the estimator for this option; empty if it was not given."""
    from privfit.schema import Label

    if not given:
        return {}
    if not isinstance(schema.label, Label):
        raise Mistake(
            f"--class-weight is about classes, and the label {schema.label.name!r} is a number; leave it out."
        )
    if given == ["balanced"]:
        return {"class_weight": "balanced"}
    labels = {str(label): label for label in schema.label.classes}
    weights = {}
    for words in given:
        name, _, number = words.rpartition(":")
        if name not in labels:
            known = ", ".join(labels)
            raise Mistake(f"--class-weight must be balanced, or label:weight with one of the labels {known}.")
        weights[labels[name]] = _weight(number)
    return {"class_weight": weights}


def _weight(number: str) -> float:
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not 0.0 <= weight < math.inf:
        raise Mistake(
            "--class-weight needs a finite number that is not negative after the label, yes:5 for example."
        )
    return weight
