"""DP-EBMs of interpret-core: boosted trees of one column each, with their own defaults (300 rounds, GDP)."""

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor


def settings(job):
    """Return what both have in common; every column is a number between declared bounds."""
    return {
        "epsilon": job.epsilon,
        "delta": job.delta,
        "feature_types": ["continuous"] * len(job.low),
        "privacy_bounds": np.column_stack([job.low, job.high]),
        "random_state": job.seed,
        "n_jobs": 1,
    }


def classifier(job):
    """Boost the logistic loss of two classes; interpret has no private model of more."""
    if job.n_classes != 2:
        raise ValueError("DP-EBM takes two classes")
    model = DPExplainableBoostingClassifier(**settings(job)).fit(job.X_train, job.y_train)
    probabilities = np.zeros((len(job.X_new), job.n_classes))
    probabilities[:, model.classes_] = model.predict_proba(job.X_new)
    return model.predict(job.X_new), probabilities


def regressor(job):
    """Boost the squared loss of targets between declared bounds."""
    low, high = job.target_bounds
    model = DPExplainableBoostingRegressor(
        **settings(job), privacy_target_min=low, privacy_target_max=high
    ).fit(job.X_train, job.y_train)
    return model.predict(job.X_new), None


LEARNERS = {"classifier": classifier, "regressor": regressor}
