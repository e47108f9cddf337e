"""scikit-learn's own contract. Nothing is exempt unless differential privacy makes it impossible."""

import warnings

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from privfit import DPLinearSVC, DPLogisticRegression, PrivacyLeakWarning
from privfit.solvers import BudgetWarning

IMPOSSIBLE = {
    "check_classifiers_one_label": "a table with one class must train as any other: whether it raises, or "
    "predicts that class for certain, would be decided by a single record of the other class",
    **dict.fromkeys(
        (
            "check_all_zero_sample_weights_error",
            "check_classifiers_one_label_sample_weights",
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
            "check_sample_weights_list",
            "check_sample_weights_not_an_array",
            "check_sample_weights_not_overwritten",
            "check_sample_weights_pandas_series",
            "check_sample_weights_shape",
        ),
        "sample_weight is refused for now",
    ),
}
MODELS = [model(noise="seeded", random_state=0) for model in (DPLogisticRegression, DPLinearSVC)]


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
    assert tags.classifier_tags.poor_score
    assert not tags.no_validation
