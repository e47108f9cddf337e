"""The two linear models, with their settings written out for the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax

from privfit.estimators.classification import LinearClassifier
from privfit.models.links import LOGIT, SIGN


class DPLogisticRegression(LinearClassifier):
    """Logistic regression with differential privacy.

    It minimises the logistic loss, log(1 + exp(-y w.x)) with y = -1 or 1, averaged over the records. With
    more than two classes it is multinomial: the loss is minus the logarithm of the softmax probability of a
    record's class, all classes share one privacy budget, and a record's gradient is clipped for all of them
    together. The interface is that of scikit-learn's LogisticRegression.

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
    solver : str or Solver
        The training algorithm, by name or as an object of `privfit.solvers` with its settings.
    alpha : float
        Strength of the penalty alpha / 2 ||w||^2, which is added to the mean loss, as in scikit-learn's
        SGDClassifier. It is not C of LogisticRegression and LinearSVC, which multiplies the sum of losses:
        alpha corresponds to 1 / (C n) for n records. The intercept is penalised, too.
    fit_intercept : bool
        Whether to add a constant feature.
    schema : Schema, str or path, optional
        Public facts about the columns of the raw table, or the path of their TOML file. Tables are then
        encoded by the schema alone, which also declares the classes, the bounds and the names of columns.
    classes : list of labels, optional
        The labels, two or more, in any order: as in scikit-learn, the later one of two in sorted order is the
        positive class. Declare them unless they are 0 and 1 or booleans, because the labels that occur in
        sensitive data are not public. If text or booleans are declared and y holds integers from 0 on, as
        meta-estimators pass them, these stand for the classes, and predictions are integers as well.
    n_records : int, optional
        The number of records, if it is public. Otherwise, solvers that need the number spend a part of the
        privacy budget on a noisy count.
    feature_bounds : pair or mapping, optional
        Public lowest and highest values: (low, high) for all columns, a pair of arrays with one entry for
        each column, or, for a frame, ``{name: (low, high)}`` that names every column. Features are clipped to
        them.
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
    class_weight : dict or "balanced", optional
        Public weights of the classes, ``{label: weight}``; classes that are not named have weight 1.
        "balanced" gives all classes the same total weight, and spends a hundredth of the privacy budget on
        their sizes. It is multiplied with `sample_weight`.
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
    coef_ : array of shape (1, n_weights) or (n_classes, n_weights)
        The weights: a row for two classes, otherwise a row for each class. With a schema, one column has
        several; `get_feature_names_out` names them.
    intercept_ : array of shape (1,) or (n_classes,)
        The weight of the constant feature, 0 without one.
    classes_ : array of shape (n_classes,)
        The labels, in sorted order.
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
    DPLinearSVC : The same interface with the hinge loss.

    Examples
    --------
    >>> from privfit import DPLogisticRegression
    >>> from privfit.datasets import load_adult
    >>> adult = load_adult(split="train")
    >>> model = DPLogisticRegression(epsilon=1.0, delta=1e-6, classes=("<=50K", ">50K"))
    >>> model.fit(adult.data, adult.target).score(adult.data, adult.target) > 0.7
    True
    """

    _loss, _kind, _title, _link = "logistic", "logistic", "Logistic regression", LOGIT

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for every row, in the order of `classes_`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            The same columns as in `fit`; with a schema, a raw table or the path of one.

        Returns
        -------
        probabilities : array of shape (n_records, n_classes)
            Every row adds up to 1.
        """
        scores = self.decision_function(X)
        link = self._link_of_fit
        assert link.probabilities is not None  # because it is the logit or the softmax
        return link.probabilities(scores)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class for every row, in the order of `classes_`.

        It is computed from the scores, so that it stays finite and exact where `predict_proba` rounds to 0
        or 1.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            The same columns as in `fit`; with a schema, a raw table or the path of one.

        Returns
        -------
        log_probabilities : array of shape (n_records, n_classes)
            The exponentials of every row add up to 1.
        """
        scores = self.decision_function(X)
        if scores.ndim == 2:
            logarithms: NDArray[np.float64] = log_softmax(scores, axis=1)
            return logarithms
        return np.column_stack([log_expit(-scores), log_expit(scores)])


class DPLinearSVC(LinearClassifier):
    """Linear support vector machine with differential privacy.

    It minimises the hinge loss, max(0, 1 - y w.x) with y = -1 or 1, averaged over the records. With more than
    two classes the loss of a record is the sum of such hinges, one for each class against the rest; they
    share one privacy budget and one clip. The interface is that of scikit-learn's LinearSVC; there are no
    probabilities.

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
    solver : str or Solver
        The training algorithm, by name or as an object of `privfit.solvers` with its settings.
    alpha : float
        Strength of the penalty alpha / 2 ||w||^2, which is added to the mean loss, as in scikit-learn's
        SGDClassifier. It is not C of LogisticRegression and LinearSVC, which multiplies the sum of losses:
        alpha corresponds to 1 / (C n) for n records. The intercept is penalised, too.
    fit_intercept : bool
        Whether to add a constant feature.
    schema : Schema, str or path, optional
        Public facts about the columns of the raw table, or the path of their TOML file. Tables are then
        encoded by the schema alone, which also declares the classes, the bounds and the names of columns.
    classes : list of labels, optional
        The labels, two or more, in any order: as in scikit-learn, the later one of two in sorted order is the
        positive class. Declare them unless they are 0 and 1 or booleans, because the labels that occur in
        sensitive data are not public. If text or booleans are declared and y holds integers from 0 on, as
        meta-estimators pass them, these stand for the classes, and predictions are integers as well.
    n_records : int, optional
        The number of records, if it is public. Otherwise, solvers that need the number spend a part of the
        privacy budget on a noisy count.
    feature_bounds : pair or mapping, optional
        Public lowest and highest values: (low, high) for all columns, a pair of arrays with one entry for
        each column, or, for a frame, ``{name: (low, high)}`` that names every column. Features are clipped to
        them.
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
    class_weight : dict or "balanced", optional
        Public weights of the classes, ``{label: weight}``; classes that are not named have weight 1.
        "balanced" gives all classes the same total weight, and spends a hundredth of the privacy budget on
        their sizes. It is multiplied with `sample_weight`.
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
    coef_ : array of shape (1, n_weights) or (n_classes, n_weights)
        The weights: a row for two classes, otherwise a row for each class. With a schema, one column has
        several; `get_feature_names_out` names them.
    intercept_ : array of shape (1,) or (n_classes,)
        The weight of the constant feature, 0 without one.
    classes_ : array of shape (n_classes,)
        The labels, in sorted order.
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
    DPLogisticRegression : The same interface with the logistic loss.

    Examples
    --------
    >>> from privfit import DPLinearSVC
    >>> from privfit.datasets import load_adult
    >>> adult = load_adult(split="train")
    >>> model = DPLinearSVC(epsilon=1.0, delta=1e-6, classes=("<=50K", ">50K"))
    >>> model.fit(adult.data, adult.target).score(adult.data, adult.target) > 0.7
    True
    """

    _loss, _kind, _title, _link = "hinge", "svm", "Linear support vector machine", SIGN
