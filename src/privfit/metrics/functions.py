"""The function `evaluate`: all private scores of a model from one release."""

from __future__ import annotations

from typing import Any

from privfit.accounting import Ledger
from privfit.metrics.evaluation import Evaluation
from privfit.metrics.examination import Examination


def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    groups: Any = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float = 1e-6,
    ledger: Ledger | None = None,
    curves: bool = True,
    n_records: int | None = None,
    log_loss_clip: float = 0.01,
    target_bounds: tuple[float, float] | None = None,
    quantile: float | None = None,
    max_weight: float | None = None,
    rows_per_person: int | None = None,
    noise: str = "secure",
    random_state: Any = None,
) -> Evaluation:
    """Score a fitted model on held-out records with differential privacy, with one release for all scores.

    Parameters
    ----------
    model : fitted classifier or regressor
        A private estimator, a pipeline that ends in one, or a public scikit-learn model: a classifier with
        predict_proba or decision_function, or a regressor.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that `predict` takes: one for each person, unless `rows_per_person` is
        set. If the model has a schema, a raw table or the path of one.
    y : array of shape (n_records,), optional
        Their labels or, for a regressor, their targets. By default, with a schema, its label column.
    sample_weight : array of shape (n_records,), optional
        How much each record counts. Weights above `max_weight` count as `max_weight`; negative and missing
        ones count as 0. By default, with a schema, its column of weights, if it has one.
    groups : array of shape (n_records,), optional
        For each row, the id of its person, if `rows_per_person` is set. Rows without an id are left out. With
        a schema, its id column is used.
    rho : float, optional
        The price in zero-concentrated differential privacy.
    epsilon, delta : float
        The price as (epsilon, delta)-DP instead; by default epsilon is 0.1. With rho, delta only serves to
        state the guarantee as (epsilon, delta)-DP.
    ledger : Ledger, optional
        The ledger of the people in X. By default that of the model, because people in a held-out part of a
        table belong to that table. Without any ledger the score counts in the model's family of fits.
    curves : bool
        For classifiers: whether to also compute log loss and Brier score and, for two classes, AUC and
        curves. With False, the noise of accuracy, balanced accuracy and the confusion matrix of two classes
        is smaller by a third.
    n_records : int, optional
        The number of held-out records if it is public. Otherwise, and if records have weights or people
        several records, it is estimated from the release.
    log_loss_clip : float
        For the log loss, probabilities are clipped to this distance from 0 and 1. For the Poisson deviance,
        predictions are raised to at least this share of the target's upper bound.
    target_bounds : pair of float, optional
        For regressors: public bounds of the target. Targets and predictions beyond them count as the nearer
        bound. By default those of a private model; a public model needs them. The noise grows with their
        distance.
    quantile : float, optional
        For regressors: the quantile that is predicted, for the pinball loss. By default that of the model, if
        it predicts one.
    max_weight : float, optional
        The largest weight of a record, a public number. By default that of the model. If neither has one, it
        is taken from the data with a warning, or refused in strict mode. The noise grows with it.
    rows_per_person : int, optional
        The largest number of records of each person to use; the guarantee then covers all records of a
        person. By default as in the fit of the model, if `groups` or the id column of its schema tell people
        apart.
    noise : {"secure", "seeded"}
        "secure" draws noise from the operating system's entropy; "seeded" makes it reproducible, for research
        only.
    random_state : None, int or numpy.random.Generator
        The seed of seeded noise.

    Returns
    -------
    evaluation : TwoLabelEvaluation, ClassEvaluation or NumberEvaluation
        The scores (for two classes also curves) with their noise and intervals, and the privacy statement.

    Raises
    ------
    BudgetExceeded
        If the ledger has less left than the price. The records are then not read.

    Examples
    --------
    >>> import numpy as np
    >>> from privfit import DPLogisticRegression, Ledger
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = (X[:, 0] + rng.logistic(size=6000) > 0).astype(int)
    >>> ledger = Ledger(epsilon=1.0, delta=1e-6)
    >>> model = DPLogisticRegression(rho=0.01, ledger=ledger).fit(X[:5000], y[:5000])
    >>> scores = evaluate(model, X[5000:], y[5000:], rho=0.01)
    >>> scores.accuracy.noise < 0.03
    True
    >>> [round(entry.rho, 3) for entry in ledger.entries][-1]
    0.01
    """
    settings = Examination(
        epsilon,
        delta,
        rho=rho,
        curves=curves,
        n_records=n_records,
        log_loss_clip=log_loss_clip,
        target_bounds=target_bounds,
        quantile=quantile,
        max_weight=max_weight,
        rows_per_person=rows_per_person,
        ledger=ledger,
        noise=noise,
        random_state=random_state,
    )
    return settings.of(model, X, y, sample_weight, groups)
