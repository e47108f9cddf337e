"""diffprivlib's linear models, with its own defaults and the bounds that are declared.

Both are private with delta = 0, so they leave the job's delta unused.
"""

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression


def logistic(job):
    """Perturb the objective once; from three classes on one model each, with an equal share of epsilon."""
    data_norm = job.row_norm or float(np.linalg.norm(np.maximum(np.abs(job.low), np.abs(job.high))))
    model = LogisticRegression(
        epsilon=job.epsilon, data_norm=data_norm, max_iter=1000, random_state=job.seed
    ).fit(job.X_train, job.y_train)
    probabilities = np.zeros((len(job.X_new), job.n_classes))
    probabilities[:, model.classes_] = model.predict_proba(job.X_new)
    return model.predict(job.X_new), probabilities


def linear(job):
    """Perturb the coefficients of the squared loss (the functional mechanism)."""
    model = LinearRegression(
        epsilon=job.epsilon,
        bounds_X=(job.low, job.high),
        bounds_y=tuple(job.target_bounds),
        random_state=job.seed,
    ).fit(job.X_train, job.y_train)
    return model.predict(job.X_new), None


LEARNERS = {"logistic": logistic, "linear": linear}
