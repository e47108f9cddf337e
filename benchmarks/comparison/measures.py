"""Scores of predictions for held-out records."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score

LEAST_PROBABILITY = 1e-6  # so that no log loss is infinite
BINS = 10
NAMES = ("score", "auc", "log_loss", "calibration_error")


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error with ten bins of equal width.

    Parameters
    ----------
    confidence
        The predicted probability of an event for each record.
    right
        Whether the event happened.

    Returns
    -------
    float
        The mean, over all records, of the distance between the mean probability of a record's bin and the
        share of the bin's records with the event.
    """
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, confidence - right, minlength=BINS)
    return float(np.abs(gaps).sum() / len(confidence))


def of_classes(y: np.ndarray, probabilities: np.ndarray) -> dict[str, float]:
    """Return accuracy, AUC, log loss and calibration error.

    With several classes the AUC is the mean over classes of the AUC of each against the rest. The calibration
    error is that of the probability of class 1 or, with several classes, of the predicted class.
    """
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    predicted = probabilities.argmax(axis=1)
    stated = np.maximum(probabilities[np.arange(len(y)), y], LEAST_PROBABILITY)
    if probabilities.shape[1] == 2:
        auc = roc_auc_score(y, probabilities[:, 1])
        error = calibration_error(probabilities[:, 1], y == 1)
    else:
        auc = np.mean([roc_auc_score(y == k, probabilities[:, k]) for k in range(probabilities.shape[1])])
        error = calibration_error(probabilities.max(axis=1), predicted == y)
    return {
        "score": float(np.mean(predicted == y)),
        "auc": float(auc),
        "log_loss": float(-np.log(stated).mean()),
        "calibration_error": error,
    }


def of_numbers(y: np.ndarray, predicted: np.ndarray, bounds: tuple[float, float]) -> dict[str, float]:
    """Return R² of predictions that are clipped to the declared bounds of the target."""
    return {"score": float(r2_score(y, np.clip(predicted, *bounds)))}
