"""What people call scores, the same in a console, in a notebook and on a page."""

from __future__ import annotations

_TITLES = {
    "roc_auc": "AUC",
    "brier_score": "Brier score",
    "r2": "R²",
    "mean_poisson_deviance": "Mean Poisson deviance",
    "d2_poisson": "D² (Poisson)",
}


def score_title(name: str) -> str:
    """Return what people call a score that Python calls by this name.

    Parameters
    ----------
    name : str
        Such as "roc_auc".

    Returns
    -------
    title : str
        Such as "AUC".
    """
    return _TITLES.get(name, name.replace("_", " ").capitalize())
