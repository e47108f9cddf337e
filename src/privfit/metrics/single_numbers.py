"""Single scores of regressors. Each call is a release of its own: for several, call `evaluate` once."""

from __future__ import annotations

from typing import Any

from privfit.metrics.scores import Score
from privfit.metrics.single import alone


def r2(model: Any, X: Any, y: Any = None, **settings: Any) -> Score:
    """Return the share of the targets' variance that the predictions explain, with privacy.

    Targets and predictions beyond the bounds of the target count as the nearer bound, because one record
    could otherwise change the share without limit. A share below -1 is reported as -1.

    Parameters
    ----------
    model : fitted regressor
        A private estimator, a pipeline that ends in one, or a public scikit-learn regressor.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their targets. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, target_bounds, n_records, sample_weight and max_weight, groups and
        rows_per_person, noise and random_state.

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
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = X[:, 0] + rng.normal(size=6000)
    >>> public = LinearRegression().fit(X[:1000], y[:1000])  # on public records
    >>> score = r2(public, X[1000:], y[1000:], epsilon=1.0, target_bounds=(-6, 6))
    >>> score.noise < 0.5
    True
    """
    found: Score = alone("r2", model, X, y, settings)
    return found


def mean_absolute_error(model: Any, X: Any, y: Any = None, **settings: Any) -> Score:
    """Return the mean distance between targets and predictions, with privacy.

    Targets and predictions beyond the bounds of the target count as the nearer bound, because one record
    could otherwise change the mean without limit.

    Parameters
    ----------
    model : fitted regressor
        A private estimator, a pipeline that ends in one, or a public scikit-learn regressor.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their targets. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, target_bounds, n_records, sample_weight and max_weight, groups and
        rows_per_person, noise and random_state.

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
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = X[:, 0] + rng.normal(size=6000)
    >>> public = LinearRegression().fit(X[:1000], y[:1000])  # on public records
    >>> score = mean_absolute_error(public, X[1000:], y[1000:], epsilon=1.0, target_bounds=(-6, 6))
    >>> score.noise < 0.1
    True
    """
    found: Score = alone("mean_absolute_error", model, X, y, settings)
    return found


def root_mean_squared_error(model: Any, X: Any, y: Any = None, **settings: Any) -> Score:
    """Return the root of the mean squared distance of targets and predictions, with privacy.

    Targets and predictions beyond the bounds of the target count as the nearer bound, because one record
    could otherwise change the mean without limit.

    Parameters
    ----------
    model : fitted regressor
        A private estimator, a pipeline that ends in one, or a public scikit-learn regressor.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their targets. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, target_bounds, n_records, sample_weight and max_weight, groups and
        rows_per_person, noise and random_state.

    Returns
    -------
    score : Score
        The root, with its noise and an interval of 95%.

    Raises
    ------
    BudgetExceeded
        If the ledger has less left than the price. The records are then not read.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = X[:, 0] + rng.normal(size=6000)
    >>> public = LinearRegression().fit(X[:1000], y[:1000])  # on public records
    >>> score = root_mean_squared_error(public, X[1000:], y[1000:], epsilon=1.0, target_bounds=(-6, 6))
    >>> score.noise < 0.5
    True
    """
    found: Score = alone("root_mean_squared_error", model, X, y, settings)
    return found


def mean_pinball_loss(model: Any, X: Any, y: Any = None, **settings: Any) -> Score:
    """Return the mean quantile loss, with privacy.

    A target above the prediction of the quantile q counts q times their distance, one below it 1 - q times.
    Targets and predictions beyond the bounds of the target count as the nearer bound, because one record
    could otherwise change the mean without limit.

    Parameters
    ----------
    model : fitted regressor
        A private estimator, a pipeline that ends in one, or a public scikit-learn regressor.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their targets. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, target_bounds, quantile, n_records, sample_weight and max_weight, groups and
        rows_per_person, noise and random_state.

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
    >>> from sklearn.linear_model import QuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = X[:, 0] + rng.normal(size=6000)
    >>> public = QuantileRegressor(quantile=0.8, alpha=0.0).fit(X[:1000], y[:1000])  # on public records
    >>> score = mean_pinball_loss(public, X[1000:], y[1000:], epsilon=1.0, target_bounds=(-6, 6))
    >>> score.noise < 0.1
    True
    """
    found: Score = alone("mean_pinball_loss", model, X, y, settings)
    return found


def mean_poisson_deviance(model: Any, X: Any, y: Any = None, **settings: Any) -> Score:
    """Return the mean of 2 (y log(y / f) - y + f) with privacy, f being the predicted mean of a count y.

    Targets and predictions beyond the bounds of the target count as the nearer bound, and predictions are
    raised to the share `log_loss_clip` of the upper one, because one record could otherwise change the mean
    without limit.

    Parameters
    ----------
    model : fitted regressor
        A private estimator, a pipeline that ends in one, or a public scikit-learn regressor.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their targets. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, target_bounds, log_loss_clip, n_records, sample_weight and max_weight, groups and
        rows_per_person, noise and random_state.

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
    >>> from sklearn.linear_model import PoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = rng.poisson(np.exp(0.5 * X[:, 0]))
    >>> public = PoissonRegressor().fit(X[:1000], y[:1000])  # on public records
    >>> score = mean_poisson_deviance(public, X[1000:], y[1000:], epsilon=1.0, target_bounds=(0, 10))
    >>> score.noise < 0.5
    True
    """
    found: Score = alone("mean_poisson_deviance", model, X, y, settings)
    return found


def d2_poisson(model: Any, X: Any, y: Any = None, **settings: Any) -> Score:
    """Return the share of a constant's Poisson deviance that the predictions explain, with privacy.

    The deviance is that of `mean_poisson_deviance`. A share below -1 is reported as -1.

    Parameters
    ----------
    model : fitted regressor
        A private estimator, a pipeline that ends in one, or a public scikit-learn regressor.
    X : array, sparse matrix or data frame of shape (n_records, n_features)
        Held-out records in the form that the model predicts from.
    y : array of shape (n_records,), optional
        Their targets. By default, with a schema, its label column.
    **settings : dict
        Further arguments of `evaluate`, except curves: the privacy budget as epsilon and delta or as rho, the
        ledger, target_bounds, log_loss_clip, n_records, sample_weight and max_weight, groups and
        rows_per_person, noise and random_state.

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
    >>> from sklearn.linear_model import PoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> y = rng.poisson(np.exp(0.5 * X[:, 0]))
    >>> public = PoissonRegressor().fit(X[:1000], y[:1000])  # on public records
    >>> score = d2_poisson(public, X[1000:], y[1000:], epsilon=1.0, target_bounds=(0, 10))
    >>> score.noise < 0.5
    True
    """
    found: Score = alone("d2_poisson", model, X, y, settings)
    return found
