"""The model as a file of Python that needs NumPy only, for places where nothing else may be installed."""

from __future__ import annotations

import json
from pathlib import Path

from privfit.publication import numpy_rows
from privfit.publication.plain import without_idle_clipping
from privfit.publication.published import Published

_SOURCE = '''"""Predicts as a model that privfit published; needs NumPy only.

{promise}
"""

import json

import numpy as np

CLASSES = np.array(json.loads({classes}))  # positive scores mean the second
FEATURES = json.loads({features})  # the columns in order, if they have names
WEIGHTS = np.array(json.loads({weights}))
INTERCEPT = {intercept}
LOW, HIGH = (np.array(side) for side in json.loads({bounds}))  # values beyond are clipped, as in the fit


def decision_function(X):
    """Return the score of every row of a 2-d array; positive means the second class."""
    X = np.clip(np.asarray(X, dtype=float), LOW, HIGH)
{scores}


{probabilities}def predict(X):
    """Return the label of every row."""
    return CLASSES[(decision_function(X) > 0).astype(int)]
'''

_PROBABILITIES = '''def predict_proba(X):
    """Return the probability of each class for every row."""
    positive = 0.5 + 0.5 * np.tanh(0.5 * decision_function(X))
    return np.column_stack([1 - positive, positive])


'''


def numpy_source(model: Published) -> str:
    """Return the source of a module with `decision_function`, `predict` and, where it can, `predict_proba`.

    They take a 2-d array; with a schema, a dict of raw columns or a list of dicts, which `encode` makes
    numbers of. Cells are texts, numbers, truth values, dates or missing.

    Parameters
    ----------
    model : Published
        What is to be written.

    Returns
    -------
    source : str
        Python of fewer than 60 lines.
    """
    if model.schema is not None:
        return _for_raw_rows(model)
    infinite = ([float("-inf")], [float("inf")])
    bounds = infinite if model.bounds is None else tuple(side.tolist() for side in model.bounds)
    scores = ["    scores = X @ WEIGHTS + INTERCEPT"]
    if model.unit_rows:
        one = " + 1" if model.has_intercept else ""
        scores.append(f"    return scores / np.sqrt((X * X).sum(axis=1){one})  # rows are scaled to norm 1")
    else:
        scores = ["    return X @ WEIGHTS + INTERCEPT"]
    return _SOURCE.format(
        promise=_promise(model),
        classes=_literal(model.classes),
        features=_literal(model.weight_names),
        weights=_literal(model.weights.tolist()),
        intercept=repr(model.intercept),
        bounds=_literal(bounds),
        scores="\n".join(scores),
        probabilities=_PROBABILITIES if model.link.probabilities is not None else "",
    )


def _for_raw_rows(model: Published) -> str:
    idle = without_idle_clipping(model).bounds is None
    bounds = None if model.bounds is None or idle else [side.tolist() for side in model.bounds]
    facts = {
        "classes": model.classes,
        "weights": model.weights.tolist(),
        "intercept": model.intercept,
        "bounds": bounds,
        "columns": numpy_rows.columns_of(model),
    }
    scores = 'X @ WEIGHTS + MODEL["intercept"]'
    if model.unit_rows:
        norms = f"np.sqrt((X * X).sum(axis=1){' + 1' if model.has_intercept else ''})"
        scores = f"({scores}) / np.maximum({norms}, np.finfo(float).tiny)  # rows are scaled to norm 1"
    return numpy_rows.SOURCE.format(
        promise=_promise(model),
        model=_literal(facts),
        clipped="encode(rows)" if bounds is None else 'np.clip(encode(rows), *MODEL["bounds"])',
        scores=scores,
        probabilities=numpy_rows.PROBABILITIES if model.link.probabilities is not None else "",
    )


def write_numpy(model: Published, path: str | Path) -> None:
    """Write the module to a file.

    Parameters
    ----------
    model : Published
        What is to be written.
    path : str or Path
        Of the file, which is replaced if it exists.
    """
    Path(path).write_text(numpy_source(model), encoding="utf-8")


def _promise(model: Published) -> str:
    """Return text that cannot end the docstring it stands in, whoever wrote the model file."""
    text = " ".join(model.privacy["text"].split(" In plain words")[0].split())
    return text.replace('"', "'").replace("\\", "/")


def _literal(value: object) -> str:
    """Return a Python string that holds JSON: no name or label can become code."""
    return repr(json.dumps(value))
