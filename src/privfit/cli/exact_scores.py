"""Exact scores, for records that are public."""

from __future__ import annotations

from typing import Any

from privfit.cli.output import waiting


def exact_scores(fitted: Any, table: Any) -> dict[str, float]:
    """Return scikit-learn's scores of a model on a table, under the same names as private scores.

    Records are weighted if the schema declares weights.
    """
    with waiting("Scoring"):
        import numpy as np

        from privfit.metrics.held_out import rows_of
        from privfit.schema.labelling import labels_in, weights_in

        labels, has_label = labels_in(table, fitted.schema_)
        table = table if has_label is None else rows_of(table, np.flatnonzero(has_label))
        weights = weights_in(table, fitted.schema_)
        predicted = fitted.predict(table)
        link = fitted.published().link
        if not link.predicts_classes:
            return _of_numbers(labels, predicted, weights, link, getattr(fitted, "quantile", None))
        facts = _of_labels(labels, predicted, weights)
        chances = fitted.predict_proba(table) if hasattr(fitted, "predict_proba") else None
        if len(fitted.classes_) == 2:
            scores = fitted.decision_function(table)
            return facts | _of_scores(labels == fitted.classes_[1], scores, chances, weights)
        return facts | ({} if chances is None else _of_chances(labels, chances, weights, fitted.classes_))


def _of_labels(labels: Any, predicted: Any, weights: Any) -> dict[str, float]:
    from sklearn import metrics

    facts = {"accuracy": metrics.accuracy_score(labels, predicted, sample_weight=weights)}
    if len(set(labels.tolist())) > 1:  # these scores need two labels
        facts["balanced_accuracy"] = metrics.balanced_accuracy_score(labels, predicted, sample_weight=weights)
    return {name: float(value) for name, value in facts.items()}


def _of_scores(positive: Any, scores: Any, chances: Any, weights: Any) -> dict[str, float]:
    from sklearn import metrics

    facts = {}
    if 0 < positive.sum() < len(positive):
        facts["roc_auc"] = metrics.roc_auc_score(positive, scores, sample_weight=weights)
    if chances is not None:
        second = chances[:, 1]
        facts["brier_score"] = metrics.brier_score_loss(positive, second, sample_weight=weights)
        facts["log_loss"] = metrics.log_loss(positive, second, labels=[False, True], sample_weight=weights)
    return {name: float(value) for name, value in facts.items()}


def _of_chances(labels: Any, chances: Any, weights: Any, classes: Any) -> dict[str, float]:
    import numpy as np
    from sklearn import metrics

    squares = ((chances - (labels[:, None] == classes)) ** 2).sum(axis=1)
    return {
        "log_loss": float(metrics.log_loss(labels, chances, labels=classes, sample_weight=weights)),
        "brier_score": float(np.average(squares, weights=weights)),
    }


def _of_numbers(
    targets: Any, predicted: Any, weights: Any, link: Any, quantile: float | None
) -> dict[str, float]:
    from sklearn import metrics

    from privfit.models.links import LOG

    given = {"sample_weight": weights}
    facts = {
        "mean_absolute_error": metrics.mean_absolute_error(targets, predicted, **given),
        "root_mean_squared_error": metrics.mean_squared_error(targets, predicted, **given) ** 0.5,
    }
    if targets.min() < targets.max():  # R² is undefined if all targets are equal
        facts = {"r2": metrics.r2_score(targets, predicted, **given)} | facts
    if quantile is not None:
        facts["mean_pinball_loss"] = metrics.mean_pinball_loss(targets, predicted, alpha=quantile, **given)
    if link is LOG:
        within = predicted.clip(1e-300, 1e300)
        facts["mean_poisson_deviance"] = metrics.mean_poisson_deviance(targets, within, **given)
        if targets.min() < targets.max():
            facts["d2_poisson"] = metrics.d2_tweedie_score(targets, within, power=1, **given)
    return {name: float(value) for name, value in facts.items()}
