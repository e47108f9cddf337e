"""Single scores. Each call is a release of its own: for several scores, call `evaluate` once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from privfit.metrics.examination import Examination
from privfit.metrics.scores import ConfusionMatrix, Curve, Score


def accuracy(model: Any, X: Any, y: Any = None, **settings: Any) -> Score:
    """Return the share of records whose label is predicted correctly, with privacy.

    Unlike `sklearn.metrics.accuracy_score(y_true, y_pred)`, it takes the model and the records, because
    privfit has to make sure that the prediction for a record depends on that record alone.

    Parameters
    ----------
    model : fitted classifier
        A private estimator, a pipeline that ends in one, or a public scikit-learn classifier.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their labels. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, n_records, sample_weight and max_weight, groups and rows_per_person, noise and random_state.

    Returns
    -------
    score : Score
        The share, with its noise and an interval of 95%.

    Raises
    ------
    BudgetExceeded
        If the ledger has less left than the price. The records are then not read.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = (X[:, 0] + rng.logistic(size=6000) > 0).astype(int)
    >>> public = LogisticRegression().fit(X[:1000], y[:1000])  # trained on records that are not private
    >>> score = accuracy(public, X[1000:], y[1000:], epsilon=1.0)
    >>> score.noise < 0.01
    True
    """
    found: Score = alone("accuracy", model, X, y, settings)
    return found


def balanced_accuracy(model: Any, X: Any, y: Any = None, **settings: Any) -> Score:
    """Return the mean of the classes' shares of correctly predicted records, with privacy.

    Parameters
    ----------
    model : fitted classifier
        A private estimator, a pipeline that ends in one, or a public scikit-learn classifier.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their labels. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, n_records, sample_weight and max_weight, groups and rows_per_person, noise and random_state.

    Returns
    -------
    score : Score
        The mean, with its noise and an interval of 95%.

    Raises
    ------
    BudgetExceeded
        If the ledger has less left than the price. The records are then not read.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = (X[:, 0] + rng.logistic(size=6000) > 0).astype(int)
    >>> public = LogisticRegression().fit(X[:1000], y[:1000])  # trained on records that are not private
    >>> score = balanced_accuracy(public, X[1000:], y[1000:], epsilon=1.0)
    >>> score.noise < 0.01
    True
    """
    found: Score = alone("balanced_accuracy", model, X, y, settings)
    return found


def confusion_matrix(model: Any, X: Any, y: Any = None, **settings: Any) -> ConfusionMatrix:
    """Return the counts of true and predicted labels, with privacy.

    Parameters
    ----------
    model : fitted classifier
        A private estimator, a pipeline that ends in one, or a public scikit-learn classifier.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their labels. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, n_records, sample_weight and max_weight, groups and rows_per_person, noise and random_state.

    Returns
    -------
    matrix : ConfusionMatrix
        The counts, with their noise and intervals of 95%.

    Raises
    ------
    BudgetExceeded
        If the ledger has less left than the price. The records are then not read.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = (X[:, 0] + rng.logistic(size=6000) > 0).astype(int)
    >>> public = LogisticRegression().fit(X[:1000], y[:1000])  # trained on records that are not private
    >>> matrix = confusion_matrix(public, X[1000:], y[1000:], epsilon=1.0)
    >>> matrix.counts.shape
    (2, 2)
    """
    found: ConfusionMatrix = alone("confusion_matrix", model, X, y, settings)
    return found


def roc_auc(model: Any, X: Any, y: Any = None, **settings: Any) -> Score:
    """Return the area under the ROC curve, with privacy.

    Parameters
    ----------
    model : fitted classifier
        A private estimator, a pipeline that ends in one, or a public scikit-learn classifier of two classes.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their labels. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, n_records, sample_weight and max_weight, groups and rows_per_person, noise and random_state.

    Returns
    -------
    score : Score
        The area, with its noise and an interval of 95%.

    Raises
    ------
    BudgetExceeded
        If the ledger has less left than the price. The records are then not read.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = (X[:, 0] + rng.logistic(size=6000) > 0).astype(int)
    >>> public = LogisticRegression().fit(X[:1000], y[:1000])  # trained on records that are not private
    >>> score = roc_auc(public, X[1000:], y[1000:], epsilon=1.0)
    >>> score.noise < 0.05
    True
    """
    found: Score = alone("roc_auc", model, X, y, settings)
    return found


def roc_curve(model: Any, X: Any, y: Any = None, **settings: Any) -> Curve:
    """Return true and false positive rates at public thresholds, with privacy.

    Parameters
    ----------
    model : fitted classifier
        A private estimator, a pipeline that ends in one, or a public scikit-learn classifier of two classes.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their labels. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, n_records, sample_weight and max_weight, groups and rows_per_person, noise and random_state.

    Returns
    -------
    curve : Curve
        The rates, with their noise and intervals of 95%.

    Raises
    ------
    BudgetExceeded
        If the ledger has less left than the price. The records are then not read.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = (X[:, 0] + rng.logistic(size=6000) > 0).astype(int)
    >>> public = LogisticRegression().fit(X[:1000], y[:1000])  # trained on records that are not private
    >>> curve = roc_curve(public, X[1000:], y[1000:], epsilon=1.0)
    >>> curve["fpr"].shape == curve["tpr"].shape
    True
    """
    found: Curve = alone("roc_curve", model, X, y, settings)
    return found


def log_loss(model: Any, X: Any, y: Any = None, **settings: Any) -> Score:
    """Return the mean of -log p with privacy, where p is the probability predicted for the true label.

    Probabilities are clipped to [log_loss_clip, 1 - log_loss_clip], because one record could otherwise change
    the mean without limit.

    Parameters
    ----------
    model : fitted classifier
        A private estimator, a pipeline that ends in one, or a public scikit-learn classifier with
        predict_proba.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their labels. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, n_records, log_loss_clip, sample_weight and max_weight, groups and rows_per_person, noise and
        random_state.

    Returns
    -------
    score : Score
        The mean, with its noise and an interval of 95%.

    Raises
    ------
    BudgetExceeded
        If the ledger has less left than the price. The records are then not read.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = (X[:, 0] + rng.logistic(size=6000) > 0).astype(int)
    >>> public = LogisticRegression().fit(X[:1000], y[:1000])  # trained on records that are not private
    >>> score = log_loss(public, X[1000:], y[1000:], epsilon=1.0)
    >>> score.noise < 0.1
    True
    """
    found: Score = alone("log_loss", model, X, y, settings)
    return found


def brier_score(model: Any, X: Any, y: Any = None, **settings: Any) -> Score:
    """Return the mean squared error of predicted probabilities, with privacy.

    Of two classes it is that of the second one's probability. Of several the squares of all classes are added
    up, so it lies between 0 and 2, as in scikit-learn.

    Parameters
    ----------
    model : fitted classifier
        A private estimator, a pipeline that ends in one, or a public scikit-learn classifier with
        predict_proba.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their labels. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, n_records, sample_weight and max_weight, groups and rows_per_person, noise and random_state.

    Returns
    -------
    score : Score
        The mean, with its noise and an interval of 95%.

    Raises
    ------
    BudgetExceeded
        If the ledger has less left than the price. The records are then not read.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = (X[:, 0] + rng.logistic(size=6000) > 0).astype(int)
    >>> public = LogisticRegression().fit(X[:1000], y[:1000])  # trained on records that are not private
    >>> score = brier_score(public, X[1000:], y[1000:], epsilon=1.0)
    >>> score.noise < 0.05
    True
    """
    found: Score = alone("brier_score", model, X, y, settings)
    return found


def calibration_curve(model: Any, X: Any, y: Any = None, **settings: Any) -> Curve:
    """Return how often the positive class occurs at each predicted probability, with privacy.

    Parameters
    ----------
    model : fitted classifier
        A private estimator, a pipeline that ends in one, or a public scikit-learn classifier of two classes
        with predict_proba.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their labels. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, n_records, sample_weight and max_weight, groups and rows_per_person, noise and random_state.

    Returns
    -------
    curve : Curve
        The observed shares by predicted probability, with their noise and intervals of 95%.

    Raises
    ------
    BudgetExceeded
        If the ledger has less left than the price. The records are then not read.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = (X[:, 0] + rng.logistic(size=6000) > 0).astype(int)
    >>> public = LogisticRegression().fit(X[:1000], y[:1000])  # trained on records that are not private
    >>> curve = calibration_curve(public, X[1000:], y[1000:], epsilon=1.0)
    >>> curve["predicted"].shape == curve["observed"].shape
    True
    """
    found: Curve = alone("calibration_curve", model, X, y, settings)
    return found


def alone(name: str, model: Any, X: Any, y: Any, settings: dict[str, Any]) -> Any:
    """Return a single score with the price of its release."""
    beside = {name: settings.get(name) for name in ("sample_weight", "groups")}
    settings = {name: value for name, value in settings.items() if name not in beside}
    evaluation = Examination(wanted=(name,), **settings).of(model, X, y, **beside)
    return replace(getattr(evaluation, name), price=evaluation.privacy.in_short)
