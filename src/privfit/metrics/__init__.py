"""Private scores of models on held-out records, with noise, intervals and a price.

They have scikit-learn's names, such as `metrics.accuracy` and `metrics.roc_auc`, but take the model instead
of its predictions: `metrics.accuracy(model, X, y)`. privfit has to apply the model to each record itself,
because the guarantee requires that the prediction for a record depends on that record alone. They return a
`Score` with an interval, not a number.
"""

from privfit.metrics.classes import ClassEvaluation
from privfit.metrics.evaluation import Evaluation
from privfit.metrics.functions import evaluate
from privfit.metrics.numbers import NumberEvaluation
from privfit.metrics.scorer import make_scorer
from privfit.metrics.scores import ClassScores, ConfusionMatrix, Curve, Score
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
from privfit.metrics.single_numbers import (
    d2_poisson,
    mean_absolute_error,
    mean_pinball_loss,
    mean_poisson_deviance,
    r2,
    root_mean_squared_error,
)
from privfit.metrics.two_labels import TwoLabelEvaluation

__all__ = [
    "ClassEvaluation",
    "ClassScores",
    "ConfusionMatrix",
    "Curve",
    "Evaluation",
    "NumberEvaluation",
    "Score",
    "TwoLabelEvaluation",
    "accuracy",
    "balanced_accuracy",
    "brier_score",
    "calibration_curve",
    "confusion_matrix",
    "d2_poisson",
    "evaluate",
    "log_loss",
    "make_scorer",
    "mean_absolute_error",
    "mean_pinball_loss",
    "mean_poisson_deviance",
    "r2",
    "roc_auc",
    "roc_curve",
    "root_mean_squared_error",
]
