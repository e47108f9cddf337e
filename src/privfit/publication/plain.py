"""The model as plain scikit-learn, which loads without privfit and which other converters can read."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from privfit.models.published import Matrix, Published, Vector
from privfit.publication.frame import frame_encoder


def to_sklearn(model: Published, *, encoded: bool = False) -> Any:
    """Return a fitted estimator, or a pipeline with the preprocessing, that predicts the same.

    A model with a schema becomes a pipeline that takes raw frames of pandas. Their numbers must be stored as
    numbers, and their words as the schema writes them. A MinMaxScaler clips the columns and maps them to [0,
    1], and the weights are for these columns.

    Parameters
    ----------
    model : Published
        The model.
    encoded : bool
        For a model with a schema: whether to take the encoded table instead of raw frames:
        `privfit.schema.encode(table, model.schema_, sparse=False, dtype=numpy.float64)`.

    Returns
    -------
    estimator : LogisticRegression, SGDClassifier, LinearRegression, PoissonRegressor or Pipeline
        If columns are clipped it takes dense arrays only, because scikit-learn's scaler does.

    Raises
    ------
    ValueError
        If scikit-learn cannot read a raw column: a date, or levels that are numbers in falling order.
    """
    if model.schema is None or encoded:
        steps = _of_numbers(model)
        if model.weight_names is not None:
            _name_features(steps[0], np.array(model.weight_names, dtype=object))
    else:
        steps = [frame_encoder(model), *_of_numbers(without_idle_clipping(model))]
    return steps[0] if len(steps) == 1 else make_pipeline(*steps)


def without_idle_clipping(model: Published) -> Published:
    """Return a model with a schema without the bounds that never clip an encoded column.

    Parameters
    ----------
    model : Published
        The model.

    Returns
    -------
    model : Published
        A model with the same predictions.
    """
    if model.bounds is None or (model.bounds[0] > 0.0).any() or (model.bounds[1] < 1.0).any():
        return model
    return replace(model, bounds=None)


def _of_numbers(model: Published) -> list[Any]:
    weights, intercepts = model.weights, model.intercepts
    if model.unit_rows:
        steps = _unit_rows(model)
        if model.has_intercept:
            weights, intercepts = np.column_stack([intercepts, weights]), np.zeros(len(intercepts))
    elif model.bounds is not None:
        low, high = model.bounds
        steps = [_clip(low, high)]
        weights, intercepts = weights * (high - low), intercepts + weights @ low
    else:
        steps = []
    return [*steps, _last_step(model, weights, intercepts)]


def _clip(low: Vector, high: Vector) -> MinMaxScaler:
    width = np.where(high > low, high - low, 1.0)  # scikit-learn's own choice for constant columns
    scaler = MinMaxScaler(clip=True)
    scaler.data_min_, scaler.data_max_, scaler.data_range_ = low, high, high - low
    scaler.scale_, scaler.min_ = 1.0 / width, -low / width
    scaler.n_features_in_, scaler.n_samples_seen_ = len(low), 0
    return scaler


def _unit_rows(model: Published) -> list[Any]:
    """Return steps that clip the columns and scale rows to norm 1, with a 1 for the intercept in front."""
    p = model.n_columns
    low, high = model.bounds or (np.zeros(p), np.ones(p))
    first: Any = None if model.bounds is None else _clip(low, high)
    if model.has_intercept:
        first, low, high = _with_ones(first, p), np.append(0.0, low), np.append(1.0, high)
    undo = [] if model.bounds is None else [_undo(low, high - low)]
    return [*([] if first is None else [first]), *undo, Normalizer()]


def _undo(low: Vector, width: Vector) -> StandardScaler:
    """Return a step from columns between 0 and 1 back to their own scale, in which norms are computed."""
    scaler = StandardScaler()
    scaler.scale_ = 1.0 / np.where(width > 0.0, width, np.finfo(float).tiny)
    scaler.mean_, scaler.var_ = -low * scaler.scale_, scaler.scale_**2
    scaler.n_features_in_, scaler.n_samples_seen_ = len(low), 0
    return scaler


def _with_ones(clip: MinMaxScaler | None, n_features: int) -> ColumnTransformer:
    """Return a step that adds a column of ones in front, computed as the first column times 0, plus 1.

    PolynomialFeatures would be shorter, but its conversion to ONNX mixes single and double precision.
    """
    parts = [("one", MinMaxScaler(), [0]), ("features", "passthrough", list(range(n_features)))]
    column = ColumnTransformer(parts).fit(np.zeros((2, n_features)))  # sets the number of columns
    ones = column.named_transformers_["one"]
    ones.scale_, ones.min_ = np.zeros(1), np.ones(1)
    if clip is not None:
        column.transformers_[1] = ("features", clip, parts[1][2])
    return column


_ESTIMATORS: dict[str, Any] = {  # by the name of the link
    "sign": partial(SGDClassifier, loss="hinge"),
    "logit": LogisticRegression,
    "softmax": LogisticRegression,
    "identity": LinearRegression,
    "log": PoissonRegressor,
}


def _last_step(model: Published, weights: Matrix, intercepts: Vector) -> Any:
    estimator = _ESTIMATORS[model.link.name]()
    estimator.n_features_in_ = weights.shape[1]
    if model.link.predicts_classes:
        estimator.classes_ = np.array(model.classes)
        estimator.coef_, estimator.intercept_ = weights, intercepts
        estimator.n_iter_ = np.array([len(model.steps)])
    else:
        estimator.coef_, estimator.intercept_ = weights[0], float(intercepts[0])
        if isinstance(estimator, PoissonRegressor):
            estimator._base_loss = estimator._get_loss()  # a fitted estimator stores its link here
    return estimator


def _name_features(first: Any, names: Any) -> None:
    first.feature_names_in_ = names
    if isinstance(first, ColumnTransformer):
        for _, part, columns in first.transformers_:
            part.feature_names_in_ = names[columns]
