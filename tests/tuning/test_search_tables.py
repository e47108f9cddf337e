"""Searches on the tables that people have: frames, schemas, files, groups, weights, classes, numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from privfit import (
    DPHuberRegressor,
    DPLinearClassifier,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPSearchCV,
    Ledger,
    Schema,
    metrics,
    strict,
)
from privfit.leaks import PrivacyLeakWarning
from privfit.losses import Loss
from privfit.solvers import GradientDescent

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

N = 900
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
SCORES = X[:, 0] + 0.5 * X[:, 1] + 0.3 * RNG.logistic(size=N)
QUICK = GradientDescent(steps=5)
GRID = {"alpha": [0.0, 3.0]}
BOUNDED = {"feature_bounds": (-4.0, 4.0), "solver": QUICK}

SCHEMA = Schema.from_toml(
    """
[[columns]]
name = "patient"
type = "id"

[[columns]]
name = "a"
type = "numeric"
low = -4
high = 4

[[columns]]
name = "kind"
type = "categorical"
categories = ["x", "y"]

[[columns]]
name = "counts"
type = "weight"
max = 2

[label]
name = "sick"
classes = ["no", "yes"]
positive = "yes"
missing = "drop"
"""
)
FRAME = pd.DataFrame(
    {
        "patient": np.arange(N) // 3,
        "a": X[:, 0],
        "kind": np.where(X[:, 1] > 0, "x", "y"),
        "counts": np.where(np.arange(N) % 2, 1.0, 2.0),
        "sick": np.where(SCORES > 0, "yes", "no"),
    }
)
FRAME.loc[::50, "sick"] = None


ON_CLUSTERS = {"Dask": ("__dask_graph__", "to_delayed"), "Spark": ("mapInArrow", "sparkSession")}


@pytest.mark.parametrize("of", ON_CLUSTERS)
def test_tables_on_a_cluster_are_refused_before_a_charge(of):
    on_cluster = type("DataFrame", (), dict.fromkeys(ON_CLUSTERS[of], None))()
    ledger = Ledger(epsilon=20.0, person_id="patient")
    model = DPLogisticRegression(schema=SCHEMA, rows_per_person=3, solver=QUICK)
    with pytest.raises(
        ValueError, match=f"^A search needs its records in one place, .* of {of} are in parts"
    ):
        DPSearchCV(model, GRID, 9.0, ledger=ledger).fit(on_cluster)
    assert ledger.entries == ()
    model.set_params(epsilon=1.0, ledger=ledger).fit(FRAME)
    charged = ledger.entries
    with pytest.raises(ValueError, match=f"^A private score needs its records in one place, .* of {of} "):
        metrics.evaluate(model, on_cluster, rho=0.1)
    assert ledger.entries == charged


def test_the_shrinkage_of_a_schemas_weights_can_be_tried():
    grid = {"weight_shrinkage": [0.0, 1.0]}
    search = searched(DPLogisticRegression(schema=SCHEMA, rows_per_person=3, solver=QUICK), FRAME, grid=grid)
    assert search.best_params_ in ({"weight_shrinkage": 0.0}, {"weight_shrinkage": 1.0})
    assert [model.weight_shrinkage for model in search.estimators_] == [0.0, 1.0]


def searched(model, table, *labels, grid=GRID, epsilon=9.0, **given):
    settings = {name: given.pop(name) for name in list(given) if name not in ("groups", "sample_weight")}
    model = type(model)(**model.get_params(deep=False))  # of a family of its own
    return DPSearchCV(model, grid, epsilon, **settings).fit(table, *labels, **given)


# -- kinds of models ----------------------------------------------------------------------------------------

COUNTS = np.random.default_rng(1).poisson(np.exp(np.clip(SCORES, -2, 1.5)))
CLASSES = np.digitize(SCORES, [-0.7, 0.7])


def squared_hinge():
    return Loss(
        "squared hinge of a search",
        lambda prediction, target: max(1.0 - target * prediction, 0.0) ** 2,
        lambda prediction, target: -2.0 * target * max(1.0 - target * prediction, 0.0),
        smoothness=2.0,
    )


MODELS = {
    "logistic": (DPLogisticRegression(classes=(0, 1), **BOUNDED), (SCORES > 0).astype(int), "log_loss"),
    "svm": (DPLinearSVC(classes=(0, 1), **BOUNDED), (SCORES > 0).astype(int), "hinge_loss"),
    "classes": (DPLogisticRegression(classes=range(3), **BOUNDED), CLASSES, "log_loss"),
    "svm of classes": (DPLinearSVC(classes=range(3), **BOUNDED), CLASSES, "hinge_loss"),
    "own loss": (
        DPLinearClassifier(loss=squared_hinge(), classes=(0, 1), **BOUNDED),
        (SCORES > 0).astype(int),
        "hinge_loss",
    ),
    "linear": (DPLinearRegression(target_bounds=(-5, 5), **BOUNDED), SCORES, "mean_squared_error"),
    "linear, bounds bought": (DPLinearRegression(**BOUNDED), SCORES, "mean_squared_error"),
    "huber": (DPHuberRegressor(target_bounds=(-5, 5), **BOUNDED), SCORES, "mean_absolute_error"),
    "quantile": (
        DPQuantileRegressor(quantile=0.8, target_bounds=(-5, 5), **BOUNDED),
        SCORES,
        "mean_pinball_loss",
    ),
    "poisson": (DPPoissonRegressor(target_bounds=(0, 10), **BOUNDED), COUNTS, "mean_poisson_deviance"),
}


QUICKEST = ("logistic", "svm", "linear, bounds bought")


@pytest.mark.parametrize(
    "kind",
    [*QUICKEST, *(pytest.param(kind, marks=pytest.mark.slow) for kind in MODELS if kind not in QUICKEST)],
)
def test_models_of_each_kind_are_compared_by_their_own_loss(kind):
    """At this epsilon the better setting is chosen unless noise is six standard errors off."""
    model, y, scoring = MODELS[kind]
    search = searched(model, X, y)
    assert search.scorer_ == scoring
    assert search.best_params_ == {"alpha": 0.0}
    results = search.cv_results_
    assert results["difference"][1] - results["difference"][0] > 6 * results["difference_noise"][0]


def exact(search, kind, X, y):
    """Return the exact mean loss of each model of a search, clipped as it is scored."""
    losses = []
    for model in search.estimators_:
        if kind == "log_loss":
            p = model.predict_proba(X)[np.arange(len(y)), y]
            losses.append(-np.log(np.clip(p, 0.01, 0.99)))
        elif kind == "brier_score":
            losses.append(
                ((model.predict_proba(X) - np.eye(3)[y][:, : len(model.classes_)]) ** 2).sum(axis=1)
            )
        elif kind == "zero_one_loss":
            losses.append(model.predict(X) != y)
        elif kind == "hinge_loss":
            margins = np.where(y == 1, 1, -1) * model.decision_function(X)
            losses.append(np.clip(1 - margins, 0, 2))
        elif kind == "mean_squared_error":
            losses.append((np.clip(y, -5, 5) - np.clip(model.predict(X), -5, 5)) ** 2)
        elif kind == "mean_absolute_error":
            losses.append(np.abs(np.clip(y, -5, 5) - np.clip(model.predict(X), -5, 5)))
    return np.mean(losses, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "scoring"),
    [
        ("logistic", "log_loss"),
        ("classes", "log_loss"),
        ("logistic", "brier_score"),
        ("logistic", "zero_one_loss"),
        ("svm of classes", "zero_one_loss"),
        ("svm", "hinge_loss"),
        ("linear", "mean_squared_error"),
        ("huber", "mean_absolute_error"),
    ],
)
def test_released_losses_are_those_of_held_out_records_up_to_noise(kind, scoring):
    """Sampling and noise of 900 records: five standard errors, a false alarm in one of 10^5 runs.

    The clip is wide here, because it would make differences smaller.
    """
    model, y, _ = MODELS[kind]
    search = searched(model, X, y, scoring=scoring, clip=1.0, held_out=0.5, epsilon=10.0)
    found, expected = search.cv_results_["mean_test_loss"], exact(search, scoring, X, y)
    tolerance = 5 * (
        search.cv_results_["loss_noise"] + {"mean_squared_error": 3.0}.get(scoring, 1.0) / 450**0.5
    )
    assert np.all(np.abs(found - expected) < tolerance)


# -- kinds of tables -----------------------------------------------------------------------------------------

LABELS = {"strings": np.where(SCORES > 0, "yes", "no"), "booleans": SCORES > 0, "numbers": CLASSES * 10}


@pytest.mark.parametrize("labels", LABELS)
def test_labels_that_are_not_declared_are_read_once_and_said(labels):
    y = LABELS[labels]
    with pytest.warns(PrivacyLeakWarning) if labels != "booleans" else strict(False):
        search = searched(DPLogisticRegression(**BOUNDED), X, y)
    assert search.classes_.tolist() == np.unique(y).tolist()
    assert set(search.predict(X)) <= set(y.tolist())
    assert ("read off the data" in search.privacy_.text) == (labels != "booleans")


def test_a_label_that_only_one_part_has_is_no_reason_to_fail():
    y = (SCORES > 0).astype(int) * 5
    y[0] = 9  # one record, which is trained on or held out
    for _ in range(4):
        with pytest.warns(PrivacyLeakWarning):
            search = searched(DPLogisticRegression(**BOUNDED), X, y)
        assert search.classes_.tolist() == [0, 5, 9]


@pytest.mark.parametrize(
    "form",
    [
        lambda X: pd.DataFrame(X, columns=["a", "b"]),
        lambda X: pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
        sparse.csr_matrix,
        np.ndarray.tolist,
        np.float32,
    ],
    ids=["pandas", "polars", "sparse", "list", "float32"],
)
def test_tables_of_any_form_are_split(form):
    y = (SCORES > 0).astype(int)
    labels = pd.Series(y, index=np.arange(N)[::-1]) if isinstance(form(X[:2]), pd.DataFrame) else y.tolist()
    search = searched(DPLogisticRegression(classes=(0, 1), **BOUNDED), form(X), labels)
    assert search.best_params_ == {"alpha": 0.0}
    assert search.score(form(X), y) > 0.75


@pytest.mark.parametrize("form", [lambda frame: frame, lambda frame: frame.to_dict("list"), "file"])
def test_raw_tables_are_read_by_the_schema(form, tmp_path):
    frame = FRAME.assign(patient=np.arange(N))
    if form == "file":
        frame.to_csv(tmp_path / "people.csv", index=False)
        table = str(tmp_path / "people.csv")
    else:
        table = form(frame)
    search = searched(DPLogisticRegression(schema=SCHEMA, solver=QUICK), table)
    assert search.best_params_ == {"alpha": 0.0}
    assert search.feature_names_in_.tolist() == ["a", "kind"]
    assert "records without a label are left out" in search.privacy_.text
    assert "the largest weight, 2, is public" in search.privacy_.text
    assert metrics.accuracy(search, table, None, epsilon=8.0).value > 0.6


def test_datasets_and_queries_are_read_once(tmp_path):
    import pyarrow as pa
    from pyarrow import dataset, parquet

    frame = FRAME.assign(patient=np.arange(N))
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "people.parquet")
    model = DPLogisticRegression(schema=SCHEMA, solver=QUICK)
    search = searched(model, dataset.dataset(tmp_path / "people.parquet"))
    assert search.best_params_ == {"alpha": 0.0}
    assert "a query" not in search.privacy_.text
    pytest.importorskip("duckdb")
    search = searched(model, f"duckdb:SELECT * FROM '{tmp_path}/people.parquet'")
    assert search.best_params_ == {"alpha": 0.0}
    assert "the rows are the answer to a query" in search.privacy_.text


def test_people_of_a_schema_are_split_and_paid_for_as_people():
    ledger = Ledger(epsilon=9.0, person_id="patient")
    model = DPLogisticRegression(schema=SCHEMA, rows_per_person=2, solver=QUICK)
    search = searched(model, FRAME, ledger=ledger)
    assert search.privacy_.records_per_person == 2
    assert search.privacy_.promise.person_id == "patient"
    assert "each person, with all records, was held out" in search.privacy_.text
    (note,) = {entry.mechanism for entry in search.ledger_.entries if entry.what.startswith("fits and")}
    assert note == "2 disjoint parts of the records"


def test_groups_and_weights_are_split_with_their_rows():
    given = {"groups": pd.Series(np.arange(N) // 3, name="visitor"), "sample_weight": np.full(N, 0.7)}
    model = DPLogisticRegression(classes=(0, 1), rows_per_person=3, max_weight=1.0, **BOUNDED)
    # the noise of a difference is divided by a bought count of records that coins held out: of half of them
    # and at a large epsilon it varies by 6%, so that the ratio leaves its range once in a million times
    settings = {"held_out": 0.5, "epsilon": 60.0}
    search = searched(model, X, (SCORES > 0).astype(int), **settings, **given)
    assert search.best_params_ == {"alpha": 0.0}
    assert search.privacy_.promise.person_id == "visitor"
    one = DPLogisticRegression(classes=(0, 1), **BOUNDED)
    alone = searched(one, X, (SCORES > 0).astype(int), **settings)
    ratio = search.cv_results_["difference_noise"][0] / alone.cv_results_["difference_noise"][0]
    assert 3.0 < ratio < 6.0  # three records of a person, and a count in units of the largest weight


def test_weights_count_in_the_comparison():
    """Half of the records prefer another model, and have no weight."""
    y = (SCORES > 0).astype(int)
    flipped = np.arange(N) % 2 == 0
    weights = np.where(flipped, 0.0, 1.0)
    model = DPLogisticRegression(classes=(0, 1), max_weight=1.0, **BOUNDED)
    search = searched(model, X, np.where(flipped, 1 - y, y), sample_weight=weights)
    assert search.best_params_ == {"alpha": 0.0}
    assert search.score(X[~flipped], y[~flipped]) > 0.75


def test_weights_of_classes_and_of_records_can_be_declared_together():
    """Fits multiply them. Scores count the weights of records alone, and ask for no class."""
    model = DPLogisticRegression(classes=(0, 1), class_weight={0: 1.0, 1: 2.0}, max_weight=1.0, **BOUNDED)
    search = searched(model, X, (SCORES > 0).astype(int), sample_weight=np.full(N, 0.7))
    assert search.best_params_ == {"alpha": 0.0}


def test_the_declared_number_of_records_of_a_schema_is_that_of_the_training_part():
    from dataclasses import replace

    schema = replace(SCHEMA, records=N)
    model = DPLogisticRegression(schema=schema, solver=QUICK)
    search = searched(model, FRAME.assign(patient=np.arange(N)))
    assert [fitted.schema_.records for fitted in search.estimators_] == [720, 720]
    assert search.best_estimator_.schema_.records == N
    assert "the number of records with a label, declared as 900, is public" in search.privacy_.text


def test_a_training_part_without_a_label_is_refused_before_a_charge(monkeypatch):
    from privfit.tuning import parts

    few = FRAME.assign(patient=np.arange(N), sick=None).astype({"sick": object})
    few.loc[:2, "sick"] = ["yes", "no", "yes"]
    monkeypatch.setattr(parts, "held_out_rows", lambda count, *_: np.arange(count) < 10)
    ledger = Ledger(epsilon=9.0, delta=1e-6)
    with pytest.raises(ValueError, match="too few records"):
        searched(DPLogisticRegression(schema=SCHEMA, solver=QUICK), few, ledger=ledger)
    assert not ledger.entries


def test_curves_can_be_tried():
    model = DPLogisticRegression(schema=SCHEMA, solver=QUICK)
    search = searched(model, FRAME.assign(patient=np.arange(N)), grid={"curves": [None, 3]})
    assert len(search.estimators_[1].coef_[0]) > len(search.estimators_[0].coef_[0])
    assert len(search.best_estimator_.curves_) == (search.best_index_ == 1)
