"""The page's section about the model's private scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from privfit.models.published import Published
from privfit.models.separators import with_separators
from privfit.report.charts import table
from privfit.report.titles import score_title

_OF_CLASSES = ("recall", "precision")  # scores with a value for each class
_GIVE = "give the scores of this model"
_CAPTION = "Scores on held-out records, with noise; the ranges are 95% confidence intervals"


def refuse_scores_of_another_model(model: Published, scores: Mapping[str, Any] | None) -> None:
    """Raise ValueError if scores are of another kind of model, or of other classes, than the page is about.

    Parameters
    ----------
    model : Published
        The model of the page.
    scores : mapping, optional
        Private scores, from `privfit.metrics.evaluate(...).to_dict()`.
    """
    scores = scores or {}
    of = {"numbers"} if "mean_absolute_error" in scores else {"classes"} if "accuracy" in scores else set()
    wanted = "classes" if model.link.predicts_classes else "numbers"
    if of - {wanted}:
        raise ValueError(
            f"These are scores of a model of {of.pop()}, and this is a model of {wanted}; {_GIVE}."
        )
    labels = scores.get("confusion_matrix", scores.get("recall", {})).get("labels", model.classes)
    if sorted(map(str, labels)) != sorted(map(str, model.classes)):
        raise ValueError(f"These are scores of a model with other classes; {_GIVE}.")


def scores_block(scores: Mapping[str, Any] | None) -> str:
    """Return tables of the scores, and their privacy statement.

    Parameters
    ----------
    scores : mapping, optional
        Private scores, from `privfit.metrics.evaluate(...).to_dict()`.

    Returns
    -------
    html : str
        The tables or, without scores, a sentence that says how to get some.
    """
    if scores is None:
        return (
            "<p>There are no private scores. An exact score would reveal something about the records without "
            "being paid for; <code>privfit.metrics.evaluate</code> computes scores with noise.</p>"
        )
    rows = [
        (
            score_title(name),
            _number(score["value"]) if score.get("known", True) else "unknown",
            *(_range(score[where]) for where in ("interval", "population")),
        )
        for name, score in scores.items()
        if "value" in score
    ]
    head = ("score", "value", "on these records", "in the population")
    promised = str(scores["privacy"]["text"]).partition(" In plain words")[0]
    return table(head, rows, _CAPTION) + _of_classes(scores) + f"<p>{escape(promised)}</p>"


def _of_classes(scores: Mapping[str, Any]) -> str:
    shares = [scores[name] for name in _OF_CLASSES if name in scores]
    if not shares:
        return ""
    rows = [
        (str(label), *(f"{of['values'][k]:.3f} ({_range((of['low'][k], of['high'][k]))})" for of in shares))
        for k, label in enumerate(shares[0]["labels"])
    ]
    head = ("class", *(name for name in _OF_CLASSES if name in scores))
    return table(head, rows, "By class: recall is of its records, precision of those it is predicted for")


def _range(interval: Sequence[float]) -> str:
    return f"{_number(interval[0])} to {_number(interval[1])}"


def _number(value: float) -> str:
    return with_separators(f"{value:.3f}")
