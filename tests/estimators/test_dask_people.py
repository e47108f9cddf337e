"""People with several records, and samples, on Dask collections: the models of one place (Q41, Q42)."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from privfit import DPLinearRegression, DPLogisticRegression, Ledger
from privfit.engine.parallel.dask_blocks import divided_among
from privfit.estimators.part_reader import are_plain, piece_of, together
from privfit.solvers import DPAGD, SGDMA, GradientDescent, SGDAdv

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

N, P = 900, 3
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
name = "who"
type = "id"
"""


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two workers in this process, of which one has two threads."""
    settings = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
    with (
        distributed.LocalCluster(**settings, silence_logs=logging.CRITICAL) as made,
        distributed.Client(made) as client,
    ):
        made.scale(2)
        client.wait_for_workers(2)
        yield client


def records():
    """Return features, labels, and ids of people with up to seven records, who are all over the table."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N, P))
    y = (X @ np.arange(1.0, P + 1) + rng.logistic(size=N) > 0.0).astype(int)
    return X, y, rng.integers(300, size=N)


def lazily(values, rows=130):
    return da.from_array(values, chunks=(rows, *values.shape[1:]))


def model(kind=DPLogisticRegression, **settings):
    declared = {"classes": (0, 1)} if kind is DPLogisticRegression else {"target_bounds": (-9.0, 9.0)}
    return kind(**{"epsilon": 2.0, "noise": "seeded", "random_state": 5} | declared | settings)


def same(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    paid = [[(e.what, e.rho, e.mechanism) for e in each.ledger_.entries] for each in (one, other)]
    assert paid[0] == paid[1]
    assert str(one.privacy_) == str(other.privacy_)


# -- people ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 3, 100])
def test_people_have_the_model_of_one_place(most, cluster):
    """With one record, with some clipped together, and with more than are clipped together."""
    X, y, who = records()
    settings = {"rows_per_person": most, "solver": GradientDescent(steps=4)}
    one = model(**settings).fit(lazily(X), lazily(y), groups=lazily(who))
    same(one, model(**settings).fit(X, y, groups=who))


@pytest.mark.slow
def test_people_with_weights_numbers_and_the_default_solver(cluster):
    X, y, who = records()
    weights = np.random.default_rng(1).random(N)
    lazy = {"sample_weight": lazily(weights), "groups": lazily(who)}
    given = {"sample_weight": weights, "groups": who}
    settings = {"rows_per_person": 2, "max_weight": 1.0, "max_passes": 20}
    same(
        model(**settings).fit(lazily(X), lazily(y), **lazy),
        model(**settings).fit(X, y, **given),
    )
    numbers = X @ np.ones(P)
    settings = {"rows_per_person": 2, "solver": "sufficient-statistics"}
    same(
        model(DPLinearRegression, **settings).fit(lazily(X), lazily(numbers), groups=lazy["groups"]),
        model(DPLinearRegression, **settings).fit(X, numbers, groups=who),
    )


@pytest.mark.slow
def test_ids_of_a_schema_are_read_as_in_one_place(cluster, tmp_path):
    """Ids that are text, missing, and written in two ways; curves and intervals of people."""
    rng = np.random.default_rng(2)
    who = rng.choice(["p1", "p2", "007", "7", "", None, "ä", *map(str, range(200, 400))], N)
    age, ill = rng.uniform(0, 110, N), rng.choice(["no", "yes"], N)
    table = pd.DataFrame({"age": age, "ill": ill, "who": who})
    (tmp_path / "schema.toml").write_text(SCHEMA)
    settings = {"schema": tmp_path / "schema.toml", "rows_per_person": 2, "classes": None}
    lazy = dd.from_pandas(table, npartitions=5)
    same(model(**settings).fit(lazy), model(**settings).fit(table))
    same(model(**settings, curves=4).fit(lazy), model(**settings, curves=4).fit(table))
    settings |= {"inference": True, "epsilon": 20.0}
    one, other = model(**settings).fit(lazy), model(**settings).fit(table)
    same(one, other)
    np.testing.assert_array_equal(one.covariance_, other.covariance_)


def test_people_without_a_cluster_have_the_model_of_one_place():
    X, y, who = records()
    settings = {"rows_per_person": 2, "solver": GradientDescent(steps=2)}
    named = dd.from_pandas(pd.Series(who, name="patient"), npartitions=1)
    lazy = da.from_array(X, chunks=(N, P)), da.from_array(y, chunks=N)
    one = model(**settings).fit(*lazy, groups=named)
    same(one, model(**settings).fit(X, y, groups=pd.Series(who, name="patient")))
    assert "patient" in str(one.privacy_)


def test_the_piece_of_a_person_follows_from_the_id_alone():
    people = [f"p{k}" for k in range(3000)]
    found = np.bincount([piece_of(person, 3) for person in people], minlength=3)
    assert found.sum() == 3000
    assert found.min() > 800, "pieces of about the same size"
    assert piece_of("p1", 1000) == 459, "in every process and every version"


def refused(match, *given, settings, **more):
    ledger = Ledger(epsilon=3.0, delta=1e-5, person_id="groups")
    with pytest.raises(ValueError, match=match):
        model(ledger=ledger, delta=1e-6, epsilon=1.0, **settings).fit(*given, **more)
    assert ledger.spent == 0.0


def test_what_people_in_parts_cannot_have_is_refused_before_a_charge():
    X, y, who = (lazily(values) for values in records())
    refused("set rows_per_person", X, y, settings={}, groups=who)
    refused("the same blocks of rows", X, y, settings={"rows_per_person": 2}, groups=lazily(records()[2], 90))
    batches = {"rows_per_person": 2, "solver": DPAGD(batch_size=50)}
    refused("Batches of people are drawn of a table in one place", X, y, settings=batches, groups=who)
    for solver in (SGDMA(max_steps=3), SGDAdv(steps=3)):
        settings = {"rows_per_person": 1, "solver": solver}
        refused("to draw samples of people from", X, y, settings=settings, groups=who)


# -- samples -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n_records", [None, N])
@pytest.mark.parametrize(
    "solver",
    [
        DPAGD(splits=6, batch_size=200),
        SGDMA(max_steps=6, noise_multiplier=1.0, batch_size=90),
        SGDAdv(steps=4),
    ],
    ids=["dpagd", "sgd-ma", "sgd-adv"],
)
def test_samples_are_those_of_one_place(solver, n_records, cluster):
    X, y, _ = records()
    settings = {"solver": solver, "epsilon": 8.0, "delta": 1e-4, "n_records": n_records}
    one = model(**settings).fit(lazily(X), lazily(y))
    same(one, model(**settings).fit(X, y))
    assert one.n_iter_ > 0


# -- where parts are ---------------------------------------------------------------------------------------


def test_blocks_stay_where_they_are_unless_one_worker_has_too_many():
    assert divided_among([["a"], ["b"], ["a"], ["b"]], ["a", "b"]) == [[0, 2], [1, 3]]
    assert divided_among([["a"], ["a"], ["a"], ["a"], ["b"]], ["a", "b"]) == [[0, 1, 2], [3, 4]]
    assert divided_among([["a"], ["a"], [], ["a", "b"]], ["a", "a", "b"]) == [[0, 2], [1], [3]]
    assert divided_among([[]], ["a", "b"]) == [[0], []]


def test_plain_blocks_are_read_at_once_and_others_one_by_one():
    """NumPy joins arrays of two types by changing one of them, and forgets what is masked."""
    one, other = {"X": np.ones((2, 3)), "y": np.ones(2)}, {"X": np.zeros((4, 3)), "y": np.zeros(4)}
    assert are_plain([one, other])
    np.testing.assert_array_equal(together([one, other])["y"], [1, 1, 0, 0, 0, 0])
    for changed in (
        {"X": np.zeros((4, 3), dtype=np.float32)},
        {"X": np.zeros((4, 2))},
        {"X": np.ma.zeros((4, 3))},
        {"X": pd.DataFrame(np.zeros((4, 3)))},
        {"y": np.zeros(5)},
        {"y": np.zeros(4, dtype=int)},
    ):
        assert not are_plain([one, other | changed])
