"""Titles of scores. Consoles, notebooks and pages use the same titles."""

from __future__ import annotations

_TITLES = {
    "roc_auc": "AUC",
    "brier_score": "Brier score",
    "r2": "R²",
    "mean_poisson_deviance": "Mean Poisson deviance",
    "d2_poisson": "D² (Poisson)",
}


def score_title(name: str) -> str:
    """Return the title of a score.

    Parameters
    ----------
    name : str
        The name of the score in Python, such as "roc_auc".

    Returns
    -------
    title : str
        The title, such as "AUC".
    """
    return _TITLES.get(name, name.replace("_", " ").capitalize())
