"""Regression of a quantile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from privfit.accounting import Ledger
from privfit.estimators.regression import LinearRegressor
from privfit.estimators.validation import check_number
from privfit.losses import Loss
from privfit.losses.quantile import quantile_loss
from privfit.penalties import ConvexSet
from privfit.schema import Schema
from privfit.solvers import Solver

LEAST_SHARE = 0.001  # the smallest share of the records on either side of a quantile


class DPQuantileRegressor(LinearRegressor):
    """Quantile regression with differential privacy.

    It predicts the median or another quantile of the target, by the quantile loss: q (y - p) where the
    prediction p is below y, and (1 - q) (p - y) where it is above. The interface is that of scikit-learn's
    QuantileRegressor. As there, `score` is R^2, but `sklearn.metrics.d2_pinball_score` suits quantiles
    better.

    Parameters
    ----------
    epsilon : float, optional
        The privacy budget: the model is (epsilon, delta)-differentially private when one record is added or
        removed. 1 by default.
    delta : float
        The second part of the privacy budget. It should be well below 1 / number of records.
    rho : float, optional
        The privacy budget in zero-concentrated differential privacy, instead of epsilon. delta then only
        serves to state the guarantee as (epsilon, delta)-DP.
    quantile : float
        Which quantile is predicted, between 0.001 and 0.999; 0.5 is the median.
    solver : str or Solver
        The training algorithm, by name or as an object of `privfit.solvers` with its settings.
    alpha : float
        Strength of the penalty alpha / 2 ||w||^2, which is added to the mean loss. The intercept is
        penalised, too.
    fit_intercept : bool
        Whether to add a constant feature.
    schema : Schema, str or path, optional
        Public facts about the columns of the raw table, or the path of their TOML file. Tables are then
        encoded by the schema alone, which also declares the bounds and the names of columns.
    target_bounds : pair of float, optional
        Public lowest and highest value of the target, (low, high). Targets beyond them count as the nearer
        bound. If they are not given, a share of the privacy budget buys a power of two that bounds nearly all
        targets in size.
    n_records : int, optional
        The number of records, if it is public. Otherwise, solvers that need the number spend a part of the
        privacy budget on a noisy count.
    feature_bounds : pair or mapping, optional
        Public lowest and highest values: (low, high) for all columns, a pair of arrays with one entry for
        each column, or, for a frame, ``{name: (low, high)}`` that names every column. Features are clipped
        to them.
    max_weight : float, optional
        The largest weight that a record can have, if `fit` is given `sample_weight`. Larger weights are
        clipped to it, and the noise is proportional to it. If it is not given, the largest weight is taken
        from the data, with a `PrivacyLeakWarning`.
    weight_shrinkage : float
        How far weights are moved towards their mean, from 0 (not at all) to 1 (all records count alike). With
        more shrinkage the model has less noise, but more bias as a model of the population.
    mean_weight : float, optional
        The public mean of the weights, for shrinkage. If it is not given, a part of the privacy budget buys
        a noisy mean.
    rows_per_person : int, optional
        The largest number of records of each person to use, for tables in which people have several. The
        guarantee then covers all records of a person. People are told apart by ``groups`` of `fit`, or by the
        id column of the schema, which can also declare this number. The number of records that are used is
        then bought, even if `n_records` is given.
    constraint : ConvexSet, optional
        A public convex set in which the weights must stay, in the units of `coef_`: a `Ball`, a `Box` or
        `NonNegative` of `privfit.penalties`. It does not constrain the intercept, and costs no privacy
        budget.
    start : pair, optional
        Public weights to start from, (coef, intercept) in the units of `coef_` and `intercept_`: those of a
        model that was not trained on these records.
    curves : bool or int, optional
        Whether columns of numbers and dates of the schema get curves, which may bend at public edges, unless
        a column declares its own `curve`. True: the privacy budget decides the number of edges, and there are
        none if it is small. A number: this many edges. False: no curves. None (the default): as the schema
        declares.
    max_passes : int, optional
        The largest number of passes over the data for the default solver; each pass reads the features of
        every record once. By default a fit takes a few dozen to a few hundred passes. Reading and checking
        the table is not counted.
    inference : bool or list of str
        Whether to spend privacy budget on standard errors, intervals and p-values: of all effects (True), or
        of the columns in a list. About six tenths of the privacy budget then pay for Newton steps after
        the solver, which determine the standard errors; see `conf_int`. This needs a smooth loss, and works
        neither with constraint sets nor with curves.
    ledger : Ledger, optional
        The ledger that pays for the fit; several fits may share it. Each fit may spend up to its own epsilon.
        Without a ledger, ``privacy_.family`` adds up the fits of an estimator and of its clones, and from the
        second fit on a `PrivacyLeakWarning` states the total. A newly constructed estimator starts at zero.
    noise : {"secure", "seeded"}
        "secure" draws the noise from the operating system's entropy and ignores random_state. "seeded" makes
        the noise reproducible, for research only: anybody who knows the seed can subtract it.
    random_state : None, int or numpy.random.Generator
        The seed of seeded noise. A fitted estimator does not show or pickle it.
    verbose : int
        1 shows a progress bar of the privacy budget that is spent.

    Attributes
    ----------
    coef_ : array of shape (n_weights,)
        The weights: how much the prediction changes, in units of the target, if the column grows by one.
    intercept_ : float
        The weight of the constant feature, 0 without one.
    target_bounds_ : pair of float
        The lowest and highest value of the target, declared or bought, to which the fit clipped targets.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of shape (n_features_in_,)
        The names of the columns of X, if they have names.
    schema_ : Schema or None
        The schema of the fit.
    weighting_ : dict
        What was declared about the weights of records and classes; empty if all records count alike.
    weights_ : WeightTable
        With a schema, the weights as a table with a row for each column and category.
    curves_ : Curves
        The curves by column, if there are some: the points where they may bend, and their heights there.
    feature_bounds_ : pair of arrays or None
        The lowest and highest value of every column, declared or bought. Predictions clip the features to
        them, as the fit did.
    unit_rows_ : bool
        Whether the solver scales each row to norm 1, including the constant feature; predictions do the same.
    n_iter_ : int
        The number of steps taken.
    privacy_ : PrivacyStatement
        The guarantee, fixed before the fit read the data: epsilon, delta, rho, adjacency, assumptions and a
        paragraph in plain words. As bookkeeping, it also states what this fit and its family spent.
    ledger_ : Ledger or None
        The ledger of this fit; None for solvers without privacy.
    trace_ : tuple of Step
        What each step released and cost.
    inference_ : Inference or None
        The released numbers about the effects, if `inference` is set. `conf_int`, `std_err_`, `pvalues_` and
        `covariance_` are computed from them, with a row for each weight, the intercept's last.
    solver_weights_ : array or None
        With `inference`, the weights before they were corrected, the intercept's last.

    See Also
    --------
    DPLinearRegression : The mean of numbers, by least squares.
    DPHuberRegressor : The same for numbers with a few that are far off.
    DPPoissonRegressor : The mean of counts.


    Examples
    --------
    >>> import numpy as np
    >>> from privfit import DPQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, (5_000, 2))
    >>> y = 100.0 + X @ [30.0, -20.0] + rng.normal(0.0, 10.0, 5_000)
    >>> model = DPQuantileRegressor(epsilon=1.0, delta=1e-6, quantile=0.9).fit(X, y)
    >>> bool(0.8 < np.mean(y <= model.predict(X)) < 1.0)
    True
    """

    _kind, _title = "quantile", "Quantile regression"
    _loss_settings = ("quantile",)

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 1e-6,
        *,
        rho: float | None = None,
        quantile: float = 0.5,
        solver: str | Solver = "adaptive",
        alpha: float = 0.0,
        fit_intercept: bool = True,
        schema: Schema | str | PathLike[str] | None = None,
        target_bounds: tuple[float, float] | None = None,
        n_records: int | None = None,
        feature_bounds: tuple[Any, Any] | Mapping[str, tuple[float, float]] | None = None,
        max_weight: float | None = None,
        weight_shrinkage: float = 0.0,
        mean_weight: float | None = None,
        rows_per_person: int | None = None,
        constraint: ConvexSet | None = None,
        start: tuple[Any, Any] | None = None,
        curves: bool | int | None = None,
        max_passes: int | None = None,
        inference: bool | Sequence[str] = False,
        ledger: Ledger | None = None,
        noise: str = "secure",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            rho=rho,
            solver=solver,
            alpha=alpha,
            fit_intercept=fit_intercept,
            schema=schema,
            target_bounds=target_bounds,
            n_records=n_records,
            feature_bounds=feature_bounds,
            max_weight=max_weight,
            weight_shrinkage=weight_shrinkage,
            mean_weight=mean_weight,
            rows_per_person=rows_per_person,
            constraint=constraint,
            start=start,
            curves=curves,
            max_passes=max_passes,
            inference=inference,
            ledger=ledger,
            noise=noise,
            random_state=random_state,
            verbose=verbose,
        )
        self.quantile = quantile

    def _loss_of_fit(self) -> Loss:
        check_number("quantile", self.quantile, largest=1.0)
        if not LEAST_SHARE <= self.quantile <= 1.0 - LEAST_SHARE:
            raise ValueError(
                f"quantile must lie between {LEAST_SHARE:g} and {1.0 - LEAST_SHARE:g}, got {self.quantile!r}."
            )
        return quantile_loss(float(self.quantile))
