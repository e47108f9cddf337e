"""The part of a NumPy file that turns scores into predictions, which depends on the link."""

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
    """Return the name of the function that scores rows, and the words of its docstring.

    Parameters
    ----------
    model : Published
        The model.

    Returns
    -------
    words : dict
        The words by their names in the templates.
    """
    if not model.link.predicts_classes:
        return {"scorer": "score_rows", "score": "the score", "meaning": ""}
    several = model.target.outputs > 1
    score = "the score of each class" if several else "the score"
    meaning = "; the largest wins" if several else "; positive means the second class"
    return {"scorer": "decision_function", "score": score, "meaning": meaning}


def predictions(model: Published, rows: str, gap: str) -> str:
    """Return the source of `predict` and, if the model has probabilities, of `predict_proba`.

    Parameters
    ----------
    model : Published
        The model.
    rows : str
        The name of the functions' argument.
    gap : str
        The empty lines between two functions.

    Returns
    -------
    source : str
        The source.
    """
    if not model.link.predicts_classes:
        score = f"score_rows({rows})"
        return _NUMBERS.format(rows=rows, number=f"np.exp({score})" if model.link is LOG else score)
    several = model.target.outputs > 1
    scores = f"decision_function({rows})"
    place = f"{scores}.argmax(axis=1)" if several else f"({scores} > 0).astype(int)"
    probabilities = "" if model.link.probabilities is None else (_SOFTMAX if several else _LOGIT) + gap
    return (probabilities + _LABELS).format(rows=rows, place=place)
