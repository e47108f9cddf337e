"""Private scores: how good a model is on held-out records, with noise, intervals and a price."""

from privfit.metrics.evaluation import Evaluation
from privfit.metrics.functions import evaluate
from privfit.metrics.scorer import make_scorer
from privfit.metrics.scores import ConfusionMatrix, Curve, Score
from privfit.metrics.single import (
    accuracy,
    balanced_accuracy,
    brier_score,
    calibration_curve,
    confusion_matrix,
    log_loss,
    roc_auc,
    roc_curve,
)

__all__ = [
    "ConfusionMatrix",
    "Curve",
    "Evaluation",
    "Score",
    "accuracy",
    "balanced_accuracy",
    "brier_score",
    "calibration_curve",
    "confusion_matrix",
    "evaluate",
    "log_loss",
    "make_scorer",
    "roc_auc",
    "roc_curve",
]
