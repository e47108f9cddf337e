"""The scores of a model as they are shown to people: for the positive class, or against the other classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privfit.models.links import SOFTMAX
from privfit.models.published import Matrix, Published, Vector
from privfit.schema import Label, Schema


@dataclass(frozen=True)
class ShownScores:
    """Weights and intercepts whose signs and sizes mean something to people.

    Attributes
    ----------
    weights : array of shape (number of scores, number of encoded columns)
        A row for each score. With a schema, how much the score changes while an encoded column goes from 0 to
        1; what lies beyond the model's bounds counts as the bound.
    intercepts : array
        One for each score.
    ends : array of shape (number of encoded columns,)
        Where on its way from 0 to 1 an encoded column no longer changes the scores: 1, or the model's bound.
    classes : tuple
        If every class has a score: the classes.
    positive : object
        The class that positive weights speak for; None if there are several scores, or numbers are predicted.
    """

    weights: Matrix
    intercepts: Vector
    ends: Vector
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
    weights, intercepts, ends = model.weights, model.intercepts, np.ones(model.n_columns)
    if schema is not None and model.bounds is not None:
        starts, ends = np.clip(0.0, *model.bounds), np.clip(1.0, *model.bounds)
        weights, intercepts = weights * (ends - starts), intercepts + weights @ starts
    if model.target.outputs > 1:
        if model.link is SOFTMAX:
            weights, intercepts = weights - weights.mean(axis=0), intercepts - intercepts.mean()
        return ShownScores(
            weights[:most_classes], intercepts[:most_classes], ends, model.classes[:most_classes], None
        )
    if not model.link.predicts_classes:
        return ShownScores(weights, intercepts, ends, (), None)
    first, second = model.classes
    label = None if schema is None else schema.label
    if isinstance(label, Label) and label.positive is not None and label.positive == first:
        return ShownScores(-weights, -intercepts, ends, (), first)
    return ShownScores(weights, intercepts, ends, (), second)
