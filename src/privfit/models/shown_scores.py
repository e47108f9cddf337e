"""The scores of a model as they are shown to people: for the positive class, or against the other classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privfit.models.links import SOFTMAX
from privfit.models.published import Matrix, Published, Vector
from privfit.schema import Label, Schema


@dataclass(frozen=True)
class ShownScores:
    """Weights and intercepts whose signs and sizes mean something to people.

    Attributes
    ----------
    weights : array of shape (number of scores, number of encoded columns)
        A row for each score.
    intercepts : array
        One for each score.
    classes : tuple
        If every class has a score: the classes.
    positive : object
        The class that positive weights speak for; None if there are several scores, or numbers are predicted.
    """

    weights: Matrix
    intercepts: Vector
    classes: tuple[Any, ...]
    positive: Any


def shown_scores(model: Published, schema: Schema | None, most_classes: int | None = None) -> ShownScores:
    """Return the scores of a model as they are shown.

    The scores of a softmax mean something compared with one another only: a number that is added to the
    weights of all classes changes no probability. Shown are the weights less their mean over the classes.

    Parameters
    ----------
    model : Published
        The model.
    schema : Schema, optional
        Its schema, which may name the positive class.
    most_classes : int, optional
        If every class has a score: the scores of so many classes at most, the first ones.

    Returns
    -------
    shown : ShownScores
        The scores.
    """
    weights, intercepts = model.weights, model.intercepts
    if model.target.outputs > 1:
        if model.link is SOFTMAX:
            weights, intercepts = weights - weights.mean(axis=0), intercepts - intercepts.mean()
        return ShownScores(
            weights[:most_classes], intercepts[:most_classes], model.classes[:most_classes], None
        )
    if not model.link.predicts_classes:
        return ShownScores(weights, intercepts, (), None)
    first, second = model.classes
    label = None if schema is None else schema.label
    if isinstance(label, Label) and label.positive is not None and label.positive == first:
        return ShownScores(-weights, -intercepts, (), first)
    return ShownScores(weights, intercepts, (), second)
