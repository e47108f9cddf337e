"""Least squares."""

from __future__ import annotations

from privfit.estimators.regression import LinearRegressor


class DPLinearRegression(LinearRegressor):
    """Linear regression with differential privacy.

    It minimises the squared loss, (y - w.x - b)^2 / 2, averaged over the records. The interface is that of
    scikit-learn's LinearRegression; `score` is R^2.

    Parameters
    ----------
    epsilon : float, optional
        The privacy budget: the model is (epsilon, delta)-differentially private when one record is added or
        removed. 1 by default.
    delta : float
        The second part of the privacy budget. It should be well below 1 / number of records.
    rho : float, optional
        The privacy budget in zero-concentrated differential privacy, instead of epsilon. delta then only
        serves to state the result as (epsilon, delta).
    solver : str or Solver
        The algorithm, by name or as an object with settings of its own.
    alpha : float
        Strength of the regulariser alpha/2 ||w||^2 beside the mean loss: that of Ridge divided by the number
        of records. The intercept is regularised, too.
    fit_intercept : bool
        Whether to add a constant feature.
    schema : Schema, str or path, optional
        A description of the raw table that uses public facts only, or the path of its TOML file. Tables are
        then encoded by the schema alone, which also gives the bounds and the names of columns.
    target_bounds : pair of float, optional
        Public lowest and highest value of the target, (low, high). Targets beyond them count as the nearer
        bound. Without them, a power of two that nearly all of the targets stay below in size
        is bought with a share of the privacy budget.
    n_records : int, optional
        The number of records, if it is public. Without it, solvers that need the number buy a noisy count.
    feature_bounds : pair or mapping, optional
        Public lowest and highest values: (low, high) for all columns, a pair of arrays with one entry for
        each column, or, for a frame, ``{name: (low, high)}`` that names every column. Features are clipped
        to them.
    max_weight : float, optional
        The largest weight that a record can have, if `fit` is given `sample_weight`. Larger weights count as
        this one, and the noise grows with it. Without it the largest weight is read off the data, with a
        `PrivacyLeakWarning`.
    weight_shrinkage : float
        How far weights are moved towards their mean, between 0 (not at all) and 1 (all records count alike).
        The model is then fitted with less noise, and is more biased as a model of the population.
    mean_weight : float, optional
        The public mean of the weights, which shrinkage moves them to. Without it the mean is bought.
    rows_per_person : int, optional
        How many records of one person are used at most, for tables in which people have several. The promise
        is then about all records of a person. Who is who is said by ``groups`` of `fit`, or by the id column
        of the schema, which can also say this number. The number of records used is then bought, whatever
        `n_records` says.
    constraint : ConvexSet, optional
        A public convex set that the weights must stay in, in the units of `coef_`: a `Ball`, a `Box` or
        `NonNegative` of `privfit.penalties`. The intercept is free. It costs nothing.
    start : pair, optional
        Public weights to start from, (coef, intercept) in the units of `coef_` and `intercept_`: those of a
        model that was not trained on these records.
    curves : bool or int, optional
        Whether the score may bend along the columns of numbers and dates of the schema, unless a column says
        otherwise by its `curve`. True: at public edges, as many as the privacy budget carries, and none if
        it is small. A number: at so many edges. False: nowhere. None, the default: as the schema says.
    max_passes : int, optional
        The default solver takes at most so many passes over the data, each of which reads the features of
        every record once. Without it a fit takes a few dozen to a few hundred. Reading the table, and
        checking it, is not counted.
    inference : bool or list of str
        Whether to buy standard errors, intervals and p-values of the effects, or the columns of interest.
        About six tenths of the privacy budget are then spent on two last steps, which the effects follow
        from; see `conf_int`. It needs a smooth loss, and refuses constraint sets and curves.
    ledger : Ledger, optional
        The ledger that pays for the fit; several fits may share it. Each fit may spend up to its own epsilon.
        Without a ledger, ``privacy_.family`` adds up the fits of an estimator and of its clones, and from the
        second fit on a `PrivacyLeakWarning` states the total. A newly constructed estimator starts at zero.
    noise : {"secure", "seeded"}
        "secure" draws the noise from the operating system's entropy, whatever random_state is. "seeded" makes
        it reproducible, for research only: whoever knows the seed can subtract the noise.
    random_state : None, int or numpy.random.Generator
        The seed of seeded noise. A fitted estimator neither shows nor pickles it.
    verbose : int
        1 shows a bar of how much of the privacy budget is spent.

    Attributes
    ----------
    coef_ : array of shape (n_weights,)
        The weights, in units of the target for a unit of their column.
    intercept_ : float
        The weight of the constant feature, 0 without one.
    target_bounds_ : pair of float
        The lowest and highest value of the target, declared or bought: what the fit clipped targets to.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of shape (n_features_in_,)
        The names of the columns of X, if they have names.
    schema_ : Schema or None
        The schema of the fit.
    weighting_ : dict
        How much records counted, if not alike: what is declared about their weights and those of classes.
    weights_ : Weights
        With a schema, the weights as a table with a row for each column and category.
    curves_ : Curves
        The curves by column, if the schema or `curves` has some: where they bend and how high they are there.
    feature_bounds_ : pair of arrays or None
        The lowest and highest value of every column, declared or bought. Predictions clip the features to
        them, as the fit did.
    unit_rows_ : bool
        Whether the solver scales each row to norm 1, the constant feature included. Predictions then do, too.
    n_iter_ : int
        The number of steps taken.
    privacy_ : PrivacyStatement
        The guarantee, fixed before the fit read the data: epsilon, delta, rho, adjacency, assumptions and a
        paragraph in plain words. Apart from the guarantee it says what this fit and its family spent.
    ledger_ : Ledger or None
        The ledger of this fit; None for solvers without privacy.
    trace_ : tuple of Step
        What each step released and cost.
    inference_ : Inference or None
        What was released about the effects, if `inference` asked for it. `conf_int`, `std_err_`,
        `pvalues_` and `covariance_` follow from it, with a row for each weight, the intercept's last.
    solver_weights_ : array or None
        With `inference`, the weights before they were corrected, the intercept's last.

    See Also
    --------
    DPHuberRegressor : The same for numbers with a few that are far off.
    DPQuantileRegressor : The median or another quantile of numbers.
    DPPoissonRegressor : The mean of counts.


    Examples
    --------
    >>> import numpy as np
    >>> from privfit import DPLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, (5_000, 2))
    >>> y = 100.0 + X @ [30.0, -20.0] + rng.normal(0.0, 10.0, 5_000)
    >>> model = DPLinearRegression(epsilon=1.0, delta=1e-6).fit(X, y)
    >>> model.score(X, y) > 0.5
    True
    """

    _kind, _title = "linear", "Linear regression"
    _loss = "squared"
