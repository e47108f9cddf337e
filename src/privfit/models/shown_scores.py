"""The scores of a model in the form that people see: for the positive class, or relative to all classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privfit.models.links import SOFTMAX
from privfit.models.published import Matrix, Published, Vector
from privfit.schema import Label, Schema


@dataclass(frozen=True)
class ShownScores:
    """Weights and intercepts in a form in which signs and sizes have a meaning.

    Attributes
    ----------
    weights : array of shape (number of scores, number of encoded columns)
        A row for each score. With a schema, the change of the score while an encoded column goes from 0 to 1;
        values beyond the model's bounds count as the bound.
    intercepts : array
        One for each score.
    ends : array of shape (number of encoded columns,)
        The value, between 0 and 1, above which an encoded column no longer changes the scores: 1, or the
        model's bound.
    classes : tuple
        If every class has a score: the classes.
    positive : object
        The class whose score positive weights raise; None if there are several scores, or for numbers.
    """

    weights: Matrix
    intercepts: Vector
    ends: Vector
    classes: tuple[Any, ...]
    positive: Any


def shown_scores(model: Published, schema: Schema | None, most_classes: int | None = None) -> ShownScores:
    """Return the scores of a model in the form that people see.

    Only differences between the scores of a softmax have a meaning: adding a number to the weights of all
    classes changes no probability. So the mean over the classes is subtracted from the weights.

    Parameters
    ----------
    model : Published
        The model.
    schema : Schema, optional
        Its schema, which may name the positive class.
    most_classes : int, optional
        If every class has a score: the largest number of classes to show, the first ones.

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
