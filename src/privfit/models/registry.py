"""The registry of models. Estimator classes register themselves when they are defined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privfit.models.links import Link


@dataclass(frozen=True)
class Model:
    """A kind of model.

    Attributes
    ----------
    kind : str
        Its name in model files and on the command line.
    title : str
        Its name in text.
    link : Link
        How its scores become predictions.
    estimator : type
        The class that fits it, and that `load` returns.
    needs_loss : bool
        Whether its loss is a Python object, so that no command can train it.
    """

    kind: str
    title: str
    link: Link
    estimator: type[Any]
    needs_loss: bool = False


MODELS: dict[str, Model] = {}


def register(model: Model) -> None:
    """Register a kind of model.

    Parameters
    ----------
    model : Model
        The kind. If a class is defined again, as in a notebook, it replaces the earlier one.

    Raises
    ------
    ValueError
        If another class has this kind, because a file of that kind would be loaded as the wrong model.
    """
    known = MODELS.get(model.kind)
    if known is not None and _name(known.estimator) != _name(model.estimator):
        raise ValueError(
            f"The kind {model.kind!r} is that of {_name(known.estimator)}; give {_name(model.estimator)} "
            "another _kind."
        )
    MODELS[model.kind] = model


def title_of(kind: str) -> str:
    """Return the name of a kind of model in text.

    Parameters
    ----------
    kind : str
        Its name in model files.

    Returns
    -------
    title : str
        The title, or the kind itself if no class of it is defined.
    """
    return MODELS[kind].title if kind in MODELS else kind


def _name(estimator: type[Any]) -> str:
    return f"{estimator.__module__}.{estimator.__qualname__}"
