"""EBMs of interpret-core, boosted trees of one column each: private ones (300 rounds, GDP) and those without.

All have their own defaults. They get the list of nominal columns, and DP-EBMs the bounds of the others.
"""

import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor


def common(job):
    """Return the settings that all of them have."""
    types = ["nominal" if column in job.nominal else "continuous" for column in range(len(job.low))]
    return {"feature_types": types, "random_state": job.seed, "n_jobs": 1, **job.settings}


def private(job):
    """Return the settings of both private ones."""
    bounds = np.column_stack([job.low, job.high])
    return common(job) | {"epsilon": job.epsilon, "delta": job.delta, "privacy_bounds": bounds}


def table(job, X):
    """Return the rows with the codes of categories as text, which is what nominal columns hold."""
    if not job.nominal:
        return X
    columns = [
        X[:, column].astype(int).astype(str) if column in job.nominal else X[:, column]
        for column in range(X.shape[1])
    ]
    return np.array([column.astype(object) for column in columns], dtype=object).T


def classify(job, model):
    """Fit the classes, and return predictions and probabilities."""
    model.fit(table(job, job.X_train), job.y_train)
    probabilities = np.zeros((len(job.X_new), job.n_classes))
    probabilities[:, model.classes_] = model.predict_proba(table(job, job.X_new))
    return probabilities.argmax(axis=1), probabilities


def classifier(job):
    """Boost the logistic loss of two classes; interpret has no private model of more."""
    if job.n_classes != 2:
        raise ValueError("DP-EBM takes two classes")
    return classify(job, DPExplainableBoostingClassifier(**private(job)))


def regressor(job):
    """Boost the squared loss of targets between declared bounds."""
    low, high = job.target_bounds
    model = DPExplainableBoostingRegressor(**private(job), privacy_target_min=low, privacy_target_max=high)
    return model.fit(table(job, job.X_train), job.y_train).predict(table(job, job.X_new)), None


def open_classifier(job):
    """Boost without privacy, with pairs of columns, as EBMs do by default."""
    return classify(job, ExplainableBoostingClassifier(**common(job)))


def open_regressor(job):
    """Boost the squared loss without privacy."""
    model = ExplainableBoostingRegressor(**common(job))
    return model.fit(table(job, job.X_train), job.y_train).predict(table(job, job.X_new)), None


LEARNERS = {
    "classifier": classifier,
    "regressor": regressor,
    "open_classifier": open_classifier,
    "open_regressor": open_regressor,
}
