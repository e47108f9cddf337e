"""Which model a command trains, by its name and by the type of the schema's label."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privfit.cli.guard import Mistake

if TYPE_CHECKING:
    from privfit.models.registry import Model
    from privfit.schema import Schema

USUAL = {"classes": "logistic", "number": "linear", "count": "poisson"}  # by the type of the label


def kinds() -> list[str]:
    """Return the kinds of models that a command can train."""
    import privfit.estimators  # noqa: F401  # which enters them into the registry
    from privfit.models.registry import MODELS

    return sorted(kind for kind, model in MODELS.items() if not model.needs_loss)


def check_kind(name: str) -> None:
    """Raise an error if this is not the name of a kind of model."""
    if name not in (known := kinds()):
        raise Mistake(f"--model must be one of {', '.join(known)}, not {name}.")


KindForLabel = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="The model to train: logistic or svm for classes; linear, huber or quantile for numbers; "
        "poisson for counts. By default logistic, linear or poisson, depending on the label.",
        autocompletion=kinds,
    ),
]
Quantile = Annotated[
    float | None,
    typer.Option(help="For a quantile model: the share of people below the prediction, by default .5."),
]


def model_for(name: str | None, schema: Schema, path: Path) -> Model:
    """Return the kind of model to train; raise an error if it cannot predict the schema's label.

    Parameters
    ----------
    name : str, optional
        The kind; by default the usual one for the label's type.
    schema : Schema
        The schema with the label.
    path : Path
        The file of the schema, for messages.

    Returns
    -------
    model : Model
        The kind of model.
    """
    from privfit.models.registry import MODELS
    from privfit.schema import CountLabel, Label

    label = schema.label
    held = "classes" if isinstance(label, Label) else "count" if isinstance(label, CountLabel) else "number"
    name = name or USUAL[held]
    check_kind(name)
    if MODELS[name].link.predicts_classes != isinstance(label, Label):
        fitting = [kind for kind in kinds() if MODELS[kind].link.predicts_classes == isinstance(label, Label)]
        predicts, has = ("classes", f"is a {held}") if held != "classes" else ("numbers", "has classes")
        raise Mistake(
            f"--model {name} predicts {predicts}, and the label {label.name!r} of {path} {has}; choose one "
            f"of {', '.join(fitting)}, or correct the type of the label."
        )
    return MODELS[name]


def settings_of(model: Model, **given: float | None) -> dict[str, Any]:
    """Return those settings of certain models that were given.

    Parameters
    ----------
    model : Model
        The kind of model.
    **given : float, optional
        Options by name.

    Returns
    -------
    settings : dict
        The given settings. A setting that the model does not have raises an error.
    """
    settings = {name: value for name, value in given.items() if value is not None}
    for name in settings:
        if name not in model.estimator._loss_settings:
            raise Mistake(f"--{name} is no setting of --model {model.kind}; leave it out.")
    if settings:
        model.estimator(**settings)._loss_of_fit()  # refuses settings that make no sense
    return settings
