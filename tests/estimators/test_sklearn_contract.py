"""scikit-learn's own contract. Nothing is exempt unless differential privacy makes it impossible."""

import warnings

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from privfit import (
    DPHuberRegressor,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    PrivacyLeakWarning,
)
from privfit.solvers import BudgetWarning

IMPOSSIBLE = {
    "check_classifiers_one_label": "a table with one class must train as any other: whether it raises, or "
    "predicts that class for certain, would be decided by a single record of the other class",
    "check_all_zero_sample_weights_error": "a table whose weights are all 0 must train as any other: whether "
    "it raises would be decided by a single record that has a weight",
    "check_classifiers_one_label_sample_weights": "as for one label: records of weight 0 must not decide "
    "whether a fit raises",
    **dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
        "noise is drawn for every sum, so models are alike but not equal",
    ),
}
CLASSIFIERS = (DPLogisticRegression, DPLinearSVC)
REGRESSORS = (DPLinearRegression, DPHuberRegressor, DPQuantileRegressor, DPPoissonRegressor)
MODELS = [model(noise="seeded", random_state=0) for model in (*CLASSIFIERS, *REGRESSORS)]


@parametrize_with_checks(MODELS, expected_failed_checks=lambda estimator: IMPOSSIBLE, xfail_strict=False)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        # the checks use labels such as 1 and 2 without declaring them
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        warnings.simplefilter("ignore", BudgetWarning)
        check(estimator)


@pytest.mark.parametrize("estimator", MODELS)
def test_poor_score_is_the_only_allowance_claimed(estimator):
    """A few dozen records at epsilon 1 cannot be learnt privately; everything else must hold."""
    tags = estimator.__sklearn_tags__()
    assert (tags.classifier_tags or tags.regressor_tags).poor_score
    assert not tags.no_validation
