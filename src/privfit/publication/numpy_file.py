"""Write a model as a Python file that needs only NumPy, for places where nothing else may be installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from privfit.models.published import Published
from privfit.publication import numpy_links, numpy_rows
from privfit.publication.plain import without_idle_clipping

_SOURCE = '''"""Makes the predictions of a model that privfit published; needs NumPy only.

{promise}
"""

import json

import numpy as np

{classes}FEATURES = json.loads({features})  # the columns in order, if they have names
WEIGHTS = np.array(json.loads({weights}))
INTERCEPT = {intercepts}
LOW, HIGH = (np.array(side) for side in json.loads({bounds}))  # values beyond are clipped, as in the fit


def {scorer}(X):
    """Return {score} of every row of a 2-d array{meaning}."""
    X = np.clip(np.asarray(X, dtype=float), LOW, HIGH)
{scores}


{predictions}'''


def numpy_source(model: Published) -> str:
    """Return the source of a module that predicts.

    The module has `predict` and, for labels, `decision_function` and `predict_proba` if the model has them.
    They take a 2-d array or, with a schema, a dict of raw columns or a list of dicts, which `encode` turns
    into numbers. Cells are texts, numbers, booleans, dates or missing.

    Parameters
    ----------
    model : Published
        The model.

    Returns
    -------
    source : str
        Python of fewer than 60 lines.
    """
    if model.schema is not None:
        return _for_raw_rows(model)
    infinite = ([float("-inf")], [float("inf")])
    bounds = infinite if model.bounds is None else tuple(side.tolist() for side in model.bounds)
    scores = ["    return X @ WEIGHTS + INTERCEPT"]
    if model.unit_rows:
        one = " + 1" if model.has_intercept else ""
        norms = f"np.sqrt((X * X).sum(axis=1){one})"
        scores = [
            "    scores = X @ WEIGHTS + INTERCEPT",
            f"    return (scores.T / {norms}).T  # rows are scaled to norm 1",
        ]
    labels = f"CLASSES = np.array(json.loads({_literal(model.classes)}))\n"
    return _SOURCE.format(
        promise=_promise(model),
        classes=labels if model.classes else "",
        features=_literal(model.weight_names),
        weights=_literal(_weights(model)),
        intercepts=repr(_intercepts(model)),
        bounds=_literal(bounds),
        scores="\n".join(scores),
        **numpy_links.scoring(model),
        predictions=numpy_links.predictions(model, "X", "\n\n\n"),
    )


def _weights(model: Published) -> list[Any]:
    """Return the weights by which columns are multiplied: a list or, for several scores, a list of lists."""
    one = model.target.outputs == 1
    numbers: list[Any] = (model.weights[0] if one else model.weights.T).tolist()
    return numbers


def _intercepts(model: Published) -> float | list[float]:
    return float(model.intercepts[0]) if model.target.outputs == 1 else model.intercepts.tolist()


def _for_raw_rows(model: Published) -> str:
    idle = without_idle_clipping(model).bounds is None
    bounds = None if model.bounds is None or idle else [side.tolist() for side in model.bounds]
    facts = {
        "classes": model.classes,
        "weights": _weights(model),
        "intercept": _intercepts(model),
        "bounds": bounds,
        "columns": numpy_rows.columns_of(model),
    }
    scores = 'X @ WEIGHTS + MODEL["intercept"]'
    if model.unit_rows:
        norms = f"np.sqrt((X * X).sum(axis=1){' + 1' if model.has_intercept else ''})"
        norms = f"np.maximum({norms}, np.finfo(float).tiny)"
        scores = f"(({scores}).T / {norms}).T  # rows are scaled to norm 1"
    return numpy_rows.SOURCE.format(
        promise=_promise(model),
        model=_literal(facts),
        clipped="encode(rows)" if bounds is None else 'np.clip(encode(rows), *MODEL["bounds"])',
        scores=scores,
        **numpy_links.scoring(model),
        predictions=numpy_links.predictions(model, "rows", "\n\n"),
    )


def write_numpy(model: Published, path: str | Path) -> None:
    """Write the module to a file.

    Parameters
    ----------
    model : Published
        The model.
    path : str or Path
        The file, which is replaced if it exists.
    """
    Path(path).write_text(numpy_source(model), encoding="utf-8")


def _promise(model: Published) -> str:
    """Return the promise as text that cannot end the docstring around it, for any model file."""
    text = " ".join(model.privacy["text"].split(" In plain words")[0].split())
    return text.replace('"', "'").replace("\\", "/")


def _literal(value: object) -> str:
    """Return a Python string that holds JSON, so that no name or label can become code."""
    return repr(json.dumps(value))
