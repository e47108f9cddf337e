"""Fits on Dask collections: the same models as in one place, and refusals before a charge (Q39).

Workers that die are in test_lost_workers.py. Without a client all is computed in this process, which is
quick; the cluster here has its workers in this process, too, and one test starts processes.
"""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy import sparse

from privfit import (
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    Ledger,
)
from privfit.engine.parallel import dask_parts, threads, worker_parts
from privfit.estimators.dask_table import DaskTable
from privfit.solvers import GradientDescent, ModernDPAGD

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

N, P = 1200, 4
SEEDED = {"noise": "seeded", "random_state": 5}
CHUNKS = (N, 500, 77)
SCHEMA = """
[label]
name = "ill"
classes = ["no", "yes"]
positive = "yes"

[[columns]]
name = "age"
type = "numeric"
low = 0
high = 100

[[columns]]
name = "town"
type = "categorical"
categories = ["north", "south", "west"]
"""


@pytest.fixture
def cluster():
    """A cluster of two workers in this process."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with (
        distributed.LocalCluster(**settings, silence_logs=logging.CRITICAL) as made,
        distributed.Client(made) as client,
    ):
        yield client


def records(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, P))
    return X, (X @ np.arange(1.0, P + 1) + rng.logistic(size=N) > 0.0).astype(int)


def in_blocks(values, rows):
    return da.from_array(values, chunks=(rows, *values.shape[1:]))


def same(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert [(e.what, e.rho) for e in one.ledger_.entries] == [(e.what, e.rho) for e in other.ledger_.entries]


def fitted(model, settings, *given, **more):
    return model(epsilon=2.0, **SEEDED, **settings).fit(*given, **more)


CLASSIFIERS = {"classes": (0, 1)}
WEIGHTED = {"max_weight": 1.0, "weight_shrinkage": 0.3}
QUICK = {"solver": GradientDescent(steps=5)}


@pytest.mark.parametrize("rows", CHUNKS)
def test_models_are_those_of_the_table_in_one_place(rows):
    X, y = records()
    settings = CLASSIFIERS | {"feature_bounds": (-6.0, 6.0)}
    model = fitted(DPLogisticRegression, settings, in_blocks(X, rows), in_blocks(y, rows))
    same(model, fitted(DPLogisticRegression, settings, X, y))
    assert model.n_features_in_ == P


@pytest.mark.slow
@pytest.mark.parametrize("rows", [500, 77])
def test_models_of_a_cluster_are_those_of_the_table_in_one_place(rows, cluster):
    X, y = records()
    for settings in ({"alpha": 0.1, "class_weight": "balanced"}, {"solver": ModernDPAGD(iterations=5)}):
        settings = CLASSIFIERS | QUICK | settings
        model = fitted(DPLinearSVC, settings, in_blocks(X, rows), in_blocks(y, rows))
        same(model, fitted(DPLinearSVC, settings, X, y))


@pytest.mark.slow
def test_numbers_counts_classes_weights_and_sparse_blocks(cluster):
    X, y = records()
    numbers, counts, three = X @ np.ones(P), np.abs(X[:, 0]) * 3 // 1, y + (X[:, 1] > 0)
    weights = np.random.default_rng(2).random(N)
    for model, settings, target, more in (
        (DPLinearRegression, {"target_bounds": (-9.0, 9.0), "solver": "sufficient-statistics"}, numbers, {}),
        (DPPoissonRegressor, QUICK | {"target_bounds": (0.0, 12.0)}, counts, {}),
        (DPLogisticRegression, QUICK | {"classes": (0, 1, 2), "class_weight": "balanced"}, three, {}),
        (DPLogisticRegression, QUICK | CLASSIFIERS | WEIGHTED, y, {"w": weights}),
    ):
        given = {"sample_weight": more["w"]} if more else {}
        blocks = {name: in_blocks(values, 300) for name, values in given.items()}
        one = fitted(model, settings, in_blocks(X, 300), in_blocks(target, 300), **blocks)
        other = fitted(model, settings, X, target, **given)
        np.testing.assert_array_equal(one.coef_, other.coef_)
    ones = (X > 0.8).astype(np.float32)
    lazy = in_blocks(ones, 300).map_blocks(
        sparse.csr_matrix, dtype=np.float32, meta=sparse.csr_matrix((0, 0))
    )
    same(
        fitted(DPLogisticRegression, QUICK | CLASSIFIERS, lazy, in_blocks(y, 300)),
        fitted(DPLogisticRegression, QUICK | CLASSIFIERS, sparse.csr_matrix(ones), y),
    )


def raw_table():
    rng = np.random.default_rng(1)
    age, town = rng.uniform(0, 110, N), rng.choice(["north", "south", "west", "nowhere"], N)
    ill = np.where(rng.random(N) < np.where(town == "north", 0.7, 0.3), "yes", "no")
    return pd.DataFrame({"age": age, "town": town, "ill": ill})


@pytest.mark.parametrize("curves", [None, 4])
def test_raw_tables_are_encoded_by_their_schema_where_they_are(curves, tmp_path):
    table = raw_table()
    (tmp_path / "schema.toml").write_text(SCHEMA)
    settings = {"schema": tmp_path / "schema.toml", "curves": curves}
    one = fitted(DPLogisticRegression, settings, dd.from_pandas(table, npartitions=7))
    same(one, fitted(DPLogisticRegression, settings, table))
    assert one.feature_names_in_.tolist() == ["age", "town"]


@pytest.mark.slow
def test_frames_of_numbers_and_empty_blocks(cluster):
    X, y = records()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    lazy = dd.from_pandas(frame, npartitions=6)
    lazy = lazy[lazy["a"] > -0.5].map_partitions(lambda part: part[part["b"] > part["b"].min() - 1.0])
    kept = frame[frame["a"] > -0.5]
    lazy = dd.concat([lazy, lazy[lazy["a"] > 99.0]])
    one = fitted(DPLogisticRegression, QUICK | CLASSIFIERS, lazy[list("abcd")], lazy["y"])
    same(one, fitted(DPLogisticRegression, QUICK | CLASSIFIERS, kept[list("abcd")], kept["y"]))
    assert one.feature_names_in_.tolist() == list("abcd")


# -- refusals ----------------------------------------------------------------------------------------------

SECRET = 77310077


def refused(match, given, *, model=DPLogisticRegression, settings=CLASSIFIERS, **more):
    ledger = Ledger(epsilon=3.0, delta=1e-5)
    with pytest.raises(ValueError, match=match) as refusal:
        model(epsilon=1.0, ledger=ledger, **settings).fit(*given, **more)
    assert ledger.spent == 0.0
    assert str(SECRET) not in str(refusal.value)
    assert refusal.value.__context__ is None or str(SECRET) not in str(refusal.value.__context__)


def test_what_has_to_be_declared_is_refused_unless_it_is():
    X, y = (in_blocks(values, 300) for values in records())
    refused("set classes=, or target_bounds=", (X, y), settings={})
    refused("set classes=, or target_bounds=", (X, y), settings={}, model=DPLinearRegression)
    refused("max_weight has to be declared", (X, y), sample_weight=in_blocks(np.ones(N), 300))


def test_what_needs_one_place_is_refused():
    X, y = (in_blocks(values, 300) for values in records())
    refused("X is a Dask collection and y is not", (X, np.ones(N)))
    refused("y is a Dask collection and X is not", (np.ones((N, P)), y))
    refused("the same blocks of rows", (X, in_blocks(records()[1], 200)))
    for name in ("output-perturbation", "objective-perturbation", "approximate-minima-perturbation"):
        with pytest.raises(ValueError, match="a table in one place, not in parts"):
            DPLogisticRegression(solver=name, **CLASSIFIERS).fit(X, y)


def test_an_id_column_is_refused_unless_it_is_said_how_many_records_a_person_has(tmp_path):
    schema = SCHEMA + '\n[[columns]]\nname = "who"\ntype = "id"\n'
    (tmp_path / "schema.toml").write_text(schema)
    table = dd.from_pandas(raw_table().assign(who=np.arange(N)), npartitions=3)
    refused(
        "column 'who' repeat is not checked in a Dask",
        (table,),
        settings={"schema": tmp_path / "schema.toml"},
    )


def test_a_table_without_records_is_refused():
    X, y = records()
    refused("has no records", (in_blocks(X[:0], 1), in_blocks(y[:0], 1)))


@pytest.mark.slow
def test_a_source_that_fails_is_refused_before_a_charge(cluster):
    X, y = records()
    broken = in_blocks(X, 300).map_blocks(lambda block: block[SECRET], dtype=float)
    refused(r"could not be computed \(\w+Error\)", (broken, in_blocks(y, 300)))


def test_a_source_that_fails_without_a_cluster_is_refused_without_its_message():
    """What fails is the custodian's own code, whose message may quote a cell."""
    X, y = records()
    texts = in_blocks(X, 300).map_blocks(
        lambda block: np.array([[f"name {SECRET}"] * P] * len(block)).astype(float), dtype=float
    )
    refused(r"could not be computed \(ValueError\)", (texts, in_blocks(y, 300)))


def test_blocks_with_labels_of_other_types_are_refused():
    """Integers stand for the numbers of classes, and texts for the classes themselves."""
    X, y = records()
    texts = pd.Series(np.where(y > 0, "yes", "no"), dtype=object)
    blocks = [texts[:500], pd.Series(y)[500:]]
    targets = dd.from_map(lambda k: blocks[k], range(2), meta=texts[:0])
    features = dd.from_pandas(pd.DataFrame(X), npartitions=1).repartition(divisions=[0, 500, N - 1])
    refused("blocks of y have different types", (features, targets), settings={"classes": ("no", "yes")})


def test_ledger_and_seed_stay_with_the_driver(monkeypatch):
    X, y = records()
    readers, original = [], DaskTable.parts
    monkeypatch.setattr(DaskTable, "parts", lambda table, *a: readers.append(a[0]) or original(table, *a))
    settings = CLASSIFIERS | QUICK | {"ledger": Ledger(epsilon=9.0, delta=1e-5), "delta": 1e-6}
    model = fitted(DPLogisticRegression, settings, in_blocks(X, 500), in_blocks(y, 500))
    assert (model.ledger, model.random_state) == (settings["ledger"], SEEDED["random_state"])
    (reader,) = readers
    assert (reader.estimator.ledger, reader.estimator.random_state) == (None, None)


@pytest.mark.parametrize("change", ["order", "names", "width"])
def test_blocks_with_other_columns_are_refused(change):
    X, y = records()
    frame = pd.DataFrame(X, columns=list("abcd"))
    other = {
        "order": frame[list("abdc")],
        "names": frame.rename(columns={"d": f"e{SECRET}"}),
        "width": frame.assign(e=1.0),
    }
    blocks = [frame[:500], other[change][500:]]
    features = dd.from_map(lambda k: blocks[k], range(2), meta=frame[:0])
    targets = dd.from_pandas(pd.Series(y), sort=False, npartitions=1).repartition(divisions=[0, 500, N - 1])
    refused("blocks of X have other columns than X", (features, targets))


def test_predictions_are_made_part_by_part():
    X, y = records()
    model = fitted(DPLogisticRegression, CLASSIFIERS, X, y)
    lazy = in_blocks(X, 500)
    with pytest.raises(ValueError, match=r"apply the model to each part"):
        model.predict(lazy)
    with pytest.raises(ValueError, match=r"apply the model to each part"):
        model.score(lazy, y)
    found = lazy.map_blocks(model.predict, drop_axis=1, dtype=int).compute(scheduler="sync")
    np.testing.assert_array_equal(found, model.predict(X))


@pytest.mark.slow
def test_refusals_of_workers_quote_no_value_and_logs_have_none(cluster):
    X, y = records()
    y = y.copy()
    y[700] = SECRET
    refused("labels that are not in classes", (in_blocks(X, 300), in_blocks(y, 300)))
    X[3, 2] = np.nan
    refused("X contains NaN or inf", (in_blocks(X, 300), in_blocks(records()[1], 300)))
    logs = str(cluster.get_worker_logs()) + str(cluster.get_scheduler_logs())
    assert str(SECRET) not in logs
    assert "array(" not in logs


@pytest.mark.slow
def test_only_sums_come_to_the_driver(cluster, monkeypatch):
    X, y = records()
    came, original = [], dask_parts.replies_of

    def noticed(*arguments):
        found = original(*arguments)
        came.extend(each for reply in found for each in reply.values())
        return found

    monkeypatch.setattr(dask_parts, "replies_of", noticed)
    fitted(DPLogisticRegression, QUICK | CLASSIFIERS, in_blocks(X, 300), in_blocks(y, 300))
    arrays = [each.sums for each in came if each.sums is not None]
    assert len(arrays) >= 10
    assert max(array.size for array in arrays) < N / 2, "an array with an entry for each row of a part"
    assert {len(each.fingerprint) for each in came} == {worker_parts.FINGERPRINT_BYTES}


# -- one thread --------------------------------------------------------------------------------------------


def test_a_worker_uses_one_thread(monkeypatch):
    monkeypatch.setitem(vars(threads.config), "NUMBA_NUM_THREADS", 7)
    with threads.one_thread():
        assert threads.n_threads() == 1
        with threads.one_thread():
            pass
        assert threads.n_threads() == 1
    assert threads.n_threads() == 7
    seen, original = set(), threads.run

    def noticed(tasks):
        seen.add(threads.n_threads())
        original(tasks)

    part = worker_parts.make_part(lambda columns: noticed([]) or columns, b"key", [])
    assert isinstance(part, worker_parts.Failed), "None is no problem, but it was made on one thread"
    assert seen == {1}
