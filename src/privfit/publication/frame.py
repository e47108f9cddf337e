"""Encode raw frames with transformers of scikit-learn alone, set up from the schema and not fitted to data.

Missing values are filled by a KNNImputer with one artificial neighbour, because skops loads it by default,
unlike a SimpleImputer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import KNNImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import Binarizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from privfit.models.published import Published, Vector
from privfit.publication.raw_columns import RawColumn, for_other_programs, raw_columns_of

_BEYOND = 2.0  # temporary value of missing cells, which differs from all numbers between 0 and 1


def frame_encoder(model: Published) -> ColumnTransformer:
    """Return a transformer from the raw columns of a frame to the model's features.

    Parameters
    ----------
    model : Published
        A model with a schema.

    Returns
    -------
    encoder : ColumnTransformer
        It has one part for each column. Parts are named by their numbers, because scikit-learn does not
        accept every name of a column as the name of a part. The encoder leaves out columns that are not in
        the schema.
    """
    columns = raw_columns_of(model)
    names = [f"column {j}" for j in range(len(columns))]
    encoder = ColumnTransformer([(name, "passthrough", [j]) for j, name in enumerate(names)])
    encoder.fit(np.zeros((1, len(names))))  # fitted only so that it knows the number of columns
    parts = [
        (name, make_pipeline(*_named(column)), [column.name])
        for name, column in zip(names, columns, strict=True)
    ]
    encoder.transformers, encoder.transformers_ = parts, list(parts)
    encoder.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
    widths = [len(column.fact.levels) for column in columns]
    starts = np.cumsum([0, *widths]).tolist()
    slices = {name: slice(starts[j], starts[j + 1]) for j, name in enumerate(names)}
    encoder.output_indices_ = {**slices, "remainder": slice(0, 0)}
    return encoder


def _named(column: RawColumn) -> list[Any]:
    steps = _indicators(column) if column.ends is None else _number(column)
    steps[0].feature_names_in_ = np.array([column.name], dtype=object)
    return steps


def _number(column: RawColumn) -> list[Any]:
    assert column.ends is not None  # because the caller has checked it
    low, high = column.ends
    steps: list[Any] = [] if column.words is None else [_places(column, np.array(column.words))]
    steps += [_scale(np.array([low]), np.array([high - low])), _between_0_and_1(1)]
    pieces = _pieces(column)
    if column.fact.has_indicator:
        is_gap = make_pipeline(_filling(_BEYOND), Binarizer(threshold=1.5).fit([[0.0]]))
        return [*steps, make_union(make_pipeline(_filling(0.0), *pieces), is_gap)]
    if column.missing is not None:
        lengths = np.ones(1) if column.pieces is None else column.pieces[1]
        steps.append(_filling(float(column.missing @ lengths)))
    return [*steps, *pieces]


def _pieces(column: RawColumn) -> list[Any]:
    """Return steps that divide a number between 0 and 1 into the pieces of a curve, if there is one."""
    if column.pieces is None:
        return []
    starts, lengths = column.pieces
    copies = ColumnTransformer([("one for each piece", "passthrough", [0] * len(starts))])
    return [copies.fit(np.zeros((1, 1))), _scale(starts, lengths), _between_0_and_1(len(starts))]


def _indicators(column: RawColumn) -> list[Any]:
    """Return steps from categories to indicators. Missing cells get an indicator or a category."""
    words = np.array(column.words)
    # scikit-learn needs numbers in rising order, but takes text in any order
    order = np.arange(len(words)) if column.is_text else np.argsort(words)
    steps: list[Any] = []
    if column.missing is None or not column.missing.any():
        unknown = "error" if column.missing is None else "ignore"
        steps.append(_one_hot(words[order], unknown))
    else:
        n_levels = len(column.missing)
        order = np.append(order, np.arange(len(order), n_levels))
        gap = float(np.flatnonzero(order == column.missing.argmax())[0])
        steps += [_places(column, words[order[: len(words)]]), _filling(gap)]
        steps.append(_one_hot(np.arange(float(n_levels)), "error"))
    if (np.diff(order) < 0).any():
        back = [("schema's order", "passthrough", np.argsort(order).tolist())]
        steps.append(ColumnTransformer(back).fit(np.zeros((1, len(order)))))
    return steps


def _one_hot(values: Any, unknown: str) -> OneHotEncoder:
    values = values.astype(object) if values.dtype.kind == "U" else values
    encoder = OneHotEncoder(categories=[values], handle_unknown=unknown, sparse_output=False)
    return encoder.fit(values.reshape(-1, 1))


def _places(column: RawColumn, values: Any) -> OrdinalEncoder:
    """Return an encoder of words as numbers. A missing cell becomes NaN, unless the schema refuses it."""
    if not column.is_text and (np.diff(values) < 0.0).any():
        raise ValueError(
            f"Column {column.name!r} has numbers for levels in an order that does not rise, which "
            f"scikit-learn cannot follow; {for_other_programs()}."
        )
    values = values.astype(object) if column.is_text else values
    unknown = {} if column.missing is None else {"unknown_value": np.nan}
    handling = "error" if column.missing is None else "use_encoded_value"
    return OrdinalEncoder(categories=[values], handle_unknown=handling, **unknown).fit(values.reshape(-1, 1))


def _scale(low: Vector, width: Vector) -> StandardScaler:
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_, scaler.var_ = low, width, width**2
    scaler.n_features_in_, scaler.n_samples_seen_ = len(low), 0
    return scaler


def _between_0_and_1(n_features: int) -> MinMaxScaler:
    return MinMaxScaler(clip=True).fit(np.repeat([[0.0], [1.0]], n_features, axis=1))


def _filling(value: float) -> KNNImputer:
    return KNNImputer(n_neighbors=1).fit([[value]])
