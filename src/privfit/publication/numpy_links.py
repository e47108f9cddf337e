"""The part of a NumPy file that makes predictions of scores, which is what the link says."""

from __future__ import annotations

from privfit.models.links import LOG
from privfit.models.published import Published

_LOGIT = '''def predict_proba({rows}):
    """Return the probability of each class for every row."""
    positive = 0.5 + 0.5 * np.tanh(0.5 * decision_function({rows}))
    return np.column_stack([1 - positive, positive])'''

_SOFTMAX = '''def predict_proba({rows}):
    """Return the probability of each class for every row."""
    scores = decision_function({rows})
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)'''

_LABELS = '''def predict({rows}):
    """Return the label of every row."""
    return CLASSES[{place}]
'''

_NUMBERS = '''def predict({rows}):
    """Return the predicted number of every row."""
    return {number}
'''


def scoring(model: Published) -> dict[str, str]:
    """Return what the function that scores rows is called, and what its docstring says.

    Parameters
    ----------
    model : Published
        What is to be written.

    Returns
    -------
    words : dict
        By the names of the templates.
    """
    if not model.link.predicts_classes:
        return {"scorer": "score_rows", "score": "the score", "meaning": ""}
    several = model.target.outputs > 1
    score = "the score of each class" if several else "the score"
    meaning = "; the largest wins" if several else "; positive means the second class"
    return {"scorer": "decision_function", "score": score, "meaning": meaning}


def predictions(model: Published, rows: str, gap: str) -> str:
    """Return the source of `predict` and, where there are probabilities, of `predict_proba`.

    Parameters
    ----------
    model : Published
        What is to be written.
    rows : str
        The name of their argument.
    gap : str
        What stands between two functions.

    Returns
    -------
    source : str
        Python.
    """
    if not model.link.predicts_classes:
        score = f"score_rows({rows})"
        return _NUMBERS.format(rows=rows, number=f"np.exp({score})" if model.link is LOG else score)
    several = model.target.outputs > 1
    scores = f"decision_function({rows})"
    place = f"{scores}.argmax(axis=1)" if several else f"({scores} > 0).astype(int)"
    probabilities = "" if model.link.probabilities is None else (_SOFTMAX if several else _LOGIT) + gap
    return (probabilities + _LABELS).format(rows=rows, place=place)
