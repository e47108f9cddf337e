import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from privfit import DPLinearSVC, DPLogisticRegression, Ledger, PrivacyLeakError, PrivacyLeakWarning, strict
from privfit.preprocessing import Label, Numeric, Schema, SchemaEncoder
from privfit.surroundings import look_around

rng = np.random.default_rng(0)
X, y = rng.integers(0, 3, size=(60, 3)).astype(float), np.arange(60) % 2
SCHEMA = Schema([Numeric("a", 0, 2), Numeric("b", 0, 2), Numeric("c", 0, 2)], Label("y", [0, 1]))
LISTS = [[0.0, 1.0, 2.0]] * 3


class Private(ClassifierMixin, BaseEstimator):
    """An estimator that does what ours do first, and nothing else."""

    def fit(self, X, y):
        self.assumptions_ = look_around(self).assumptions
        self.classes_ = np.array([0, 1])
        self.coef_ = np.ones((1, X.shape[1]))
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


class Paid(TransformerMixin, BaseEstimator):
    """A transformer that states what it paid."""

    def fit(self, X, y=None):
        self.privacy_ = "paid"
        return self

    def transform(self, X):
        return X


class Untagged:
    """A transformer that is not scikit-learn's."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def leaks_of(model):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(w.message) for w in caught if w.category is PrivacyLeakWarning]


@pytest.mark.parametrize(
    ("pipeline", "named"),
    [
        (make_pipeline(StandardScaler(), Private()), ["'standardscaler' (StandardScaler)"]),
        (Pipeline([("scale", MinMaxScaler()), ("model", Private())]), ["'scale' (MinMaxScaler)"]),
        (
            make_pipeline(SimpleImputer(), FunctionTransformer(), PCA(2), Private()),
            ["'simpleimputer' (SimpleImputer)", "'pca' (PCA)"],
        ),
        (
            make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler(), Private())),
            ["'minmaxscaler' (MinMaxScaler)", "'standardscaler' (StandardScaler)"],
        ),
        (
            make_pipeline(Pipeline([("inner", StandardScaler())]), Private()),
            ["'pipeline__inner' (StandardScaler)"],
        ),
        (
            make_pipeline(
                ColumnTransformer(
                    [("a", MinMaxScaler(), [0]), ("b", "passthrough", [1])], remainder=StandardScaler()
                ),
                Private(),
            ),
            [
                "'columntransformer__a' (MinMaxScaler)",
                "'columntransformer__remainder' (StandardScaler)",
            ],
        ),
        (
            make_pipeline(FeatureUnion([("u", PCA(1)), ("v", Normalizer())]), Private()),
            ["'featureunion__u' (PCA)"],
        ),
        (make_pipeline(KBinsDiscretizer(2), Private()), ["'kbinsdiscretizer' (KBinsDiscretizer)"]),
        (make_pipeline(OneHotEncoder(), Private()), ["'onehotencoder' (OneHotEncoder)"]),
        (
            make_pipeline(OneHotEncoder(categories=LISTS, min_frequency=2), Private()),
            ["'onehotencoder' (OneHotEncoder)"],
        ),
        (
            make_pipeline(SimpleImputer(strategy="constant", add_indicator=True), Private()),
            ["'simpleimputer' (SimpleImputer)"],
        ),
        (make_pipeline(Untagged(), Private()), ["'untagged' (Untagged)"]),
        (
            make_pipeline(StandardScaler(), CalibratedClassifierCV(Private(), cv=2)),
            ["'standardscaler' (StandardScaler)"],
        ),
        (
            make_pipeline(StandardScaler(), SelectFromModel(Private()), PCA(2)),
            ["'standardscaler' (StandardScaler)"],
        ),
        (
            make_pipeline(None, StandardScaler(), Private()),
            ["'standardscaler' (StandardScaler)"],
        ),
    ],
    ids=lambda value: "" if isinstance(value, list) else None,
)
def test_steps_that_learn_are_named(pipeline, named):
    leaks = leaks_of(pipeline)
    assert leaks
    for message in leaks:
        steps = ", ".join(f"step {name}" for name in named)
        assert message.startswith(f"What the pipeline learnt in {steps} was taken from the data")
        for remedy in ("SchemaEncoder", "feature_bounds=(low, high)", "PrivateBounds", "FrozenEstimator"):
            assert remedy in message


@pytest.mark.parametrize(
    "model",
    [
        Private(),
        make_pipeline(Private()),
        make_pipeline("passthrough", Private()),
        make_pipeline(None, Private()),
        make_pipeline(SchemaEncoder(SCHEMA, sparse_output=False), Private()),
        make_pipeline(FunctionTransformer(), Normalizer(), Binarizer(), PolynomialFeatures(), Private()),
        make_pipeline(OneHotEncoder(categories=LISTS), Private()),
        make_pipeline(OrdinalEncoder(categories=LISTS), Private()),
        make_pipeline(SimpleImputer(strategy="constant", fill_value=0.0), Private()),
        make_pipeline(FrozenEstimator(StandardScaler().fit(X)), Private()),
        make_pipeline(Paid(), Private()),
        make_pipeline(ColumnTransformer([("paid", Paid(), [0]), ("gone", "drop", [1])]), Private()),
        make_pipeline(SelectFromModel(Private()), StandardScaler(), PCA(2)),  # the scaler comes after it
    ],
)
def test_what_learns_nothing_or_paid_is_let_pass(model):
    assert leaks_of(model) == []


def test_grid_search_over_a_pipeline_is_seen_in_every_fit():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Private()), {"standardscaler__with_mean": [True, False]}, cv=2
    )
    assert len(leaks_of(search)) == 5
    outside = make_pipeline(StandardScaler(), GridSearchCV(Private(), {}, cv=2))
    assert len(leaks_of(outside)) == 3


def test_strict_mode_refuses():
    with strict(), pytest.raises(PrivacyLeakError, match=r"'standardscaler' \(StandardScaler\)"):
        make_pipeline(StandardScaler(), Private()).fit(X, y)
    with strict():
        make_pipeline(SchemaEncoder(SCHEMA, sparse_output=False), Private()).fit(X, y)


def test_the_steps_are_returned_for_the_statement():
    with pytest.warns(PrivacyLeakWarning):
        pipeline = make_pipeline(StandardScaler(), Private()).fit(X, y)
    (assumption,) = pipeline[-1].assumptions_
    assert assumption.startswith(
        "what the pipeline learnt in step 'standardscaler' (StandardScaler) is public"
    )


def test_another_pipeline_on_the_stack_is_none_of_its_business():
    class FitsAModelOnTheSide(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            Private().fit(X, y)
            return self

        def transform(self, X):
            return X

    assert leaks_of(make_pipeline(FitsAModelOnTheSide(), StandardScaler(), PCA(2))) == []


def test_a_detour_over_another_method_is_followed():
    class Wrapper(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            (lambda: Private().fit(X, y))()
            self.classes_ = np.array([0, 1])
            return self

    assert len(leaks_of(make_pipeline(StandardScaler(), Wrapper()))) == 1


# -- our estimators


@pytest.mark.parametrize("model", [DPLogisticRegression, DPLinearSVC])
def test_our_estimators_notice_a_scaler_in_front_of_them(model):
    with pytest.warns(PrivacyLeakWarning, match=r"'standardscaler' \(StandardScaler\)"):
        pipeline = make_pipeline(StandardScaler(), model(feature_bounds=(-9, 9))).fit(X, y)
    assert "'standardscaler' (StandardScaler) is public; it was taken" in pipeline[-1].privacy_.text
    assert leaks_of(make_pipeline(SchemaEncoder(SCHEMA), model())) == []
    assert leaks_of(model()) == []


def test_refusal_in_strict_mode_costs_nothing():
    ledger = Ledger(rho=1.0)
    with strict(), pytest.raises(PrivacyLeakError, match="StandardScaler"):
        make_pipeline(StandardScaler(), DPLogisticRegression(rho=0.1, ledger=ledger)).fit(X, y)
    assert ledger.spent == 0.0


def test_models_that_promise_nothing_may_be_scaled():
    assert leaks_of(make_pipeline(StandardScaler(), DPLogisticRegression(solver="nonprivate"))) == []
