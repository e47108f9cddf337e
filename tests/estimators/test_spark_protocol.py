"""What a fit asks of Spark, and what it makes of the answers: with a stand-in for Spark (Q39).

The same with Spark itself is in tests/spark/.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from spark_double import Cluster

from privfit import DPLogisticRegression, Ledger
from privfit.engine.parallel import spark_parts, spark_worker
from privfit.engine.parts import PartsLost
from privfit.solvers import SGDMA, GradientDescent

N = 900
SCHEMA = """
[label]
name = "ill"
classes = ["no", "yes"]
positive = "yes"
missing = "drop"

[[columns]]
name = "age"
type = "numeric"
low = 0
high = 100
"""


@pytest.fixture
def cluster(monkeypatch):
    return Cluster().install(monkeypatch)


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA)
    return path


def raw_table():
    rng = np.random.default_rng(1)
    age = rng.uniform(0, 110, N)
    ill = np.where(rng.random(N) < age / 100, "yes", "no").astype(object)
    ill[: N // 3] = None  # so that in some batches, and in a partition, nobody has a label
    return pa.table({"ill": ill, "other": rng.random(N), "age": age})


def fitted(given, schema, ledger=None, solver=GradientDescent(steps=4)):  # noqa: B008 because it is frozen
    settings = {"epsilon": 1.0, "delta": 1e-6, "noise": "seeded", "random_state": 5, "solver": solver}
    return DPLogisticRegression(**settings, schema=schema, ledger=ledger).fit(given)


def paid(ledger):
    return [(entry.what, entry.rho, entry.mechanism) for entry in ledger.entries]


def same(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert paid(one.ledger_) == paid(other.ledger_)


@pytest.mark.parametrize("solver", [GradientDescent(steps=2), SGDMA(max_steps=2)], ids=["descent", "sgd"])
@pytest.mark.parametrize("partitions", [1, 2, 7, 50])
def test_models_are_those_of_the_table_in_one_place(partitions, solver, cluster, schema):
    model = fitted(cluster.frame(raw_table(), partitions), schema, solver=solver)
    same(model, fitted(raw_table(), schema, solver=solver))
    assert "the answer to a query that the custodian" in str(model.privacy_)
    assert not any(memory["_FITS"] for memory in cluster.idle), "workers keep nothing of a fit that ended"


@pytest.mark.parametrize(("workers", "most"), [(2, 1), (4, 2), (1, 1)])
def test_a_question_is_one_job_without_rows(workers, most, schema, monkeypatch):
    """Or a second one, if there are twice as many workers as tasks."""
    cluster = Cluster(workers=workers).install(monkeypatch)
    jobs, original = [], spark_parts.SparkParts._asked

    def asked(parts, *arguments):
        before = cluster.jobs
        found = original(parts, *arguments)
        jobs.append(cluster.jobs - before)
        return found

    monkeypatch.setattr(spark_parts.SparkParts, "_asked", asked)
    monkeypatch.setattr(spark_worker.Send, "__call__", counted := Counted(spark_worker.Send.__call__))
    fitted(cluster.frame(raw_table(), 2), schema)
    assert max(jobs[1:]) <= most
    assert counted.calls == 2, "each part is sent once"


class Counted:
    """A method that counts its calls."""

    def __init__(self, method):
        self.method, self.calls = method, 0

    def __get__(self, owner, kind=None):
        def call(*arguments):
            self.calls += 1
            return self.method(owner, *arguments)

        return call


def disturbed(monkeypatch, when, disturb):
    """Disturb the cluster before the question of this number."""
    asks, original = [], spark_parts.SparkParts._asked

    def asked(parts, *arguments):
        asks.append(None)
        if len(asks) == when:
            disturb(parts)
        return original(parts, *arguments)

    monkeypatch.setattr(spark_parts.SparkParts, "_asked", asked)


@pytest.mark.parametrize("when", range(2, 7))
def test_a_fit_outlives_its_workers_and_pays_once(when, cluster, schema, monkeypatch):
    undisturbed, ledger = Ledger(rho=1.0), Ledger(rho=1.0)
    expected = fitted(raw_table(), schema, undisturbed)
    disturbed(monkeypatch, when, lambda parts: cluster.kill())
    found = fitted(cluster.frame(raw_table(), 3), schema, ledger)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert paid(ledger) == paid(undisturbed)


@pytest.mark.parametrize("change", ["none", "rows", "order", "cells"])
@pytest.mark.parametrize("workers_die", [False, True])
def test_rows_that_are_encoded_again_are_compared(change, workers_die, cluster, schema, monkeypatch):
    """Spark loses the encoded rows, and the workers all that they keep."""
    table, changes = raw_table(), []

    def source():
        rows = {"none": table, "rows": table.slice(0, N - 1), "order": table.take(list(range(N))[::-1])}
        age = table["age"].to_numpy().copy()
        age[-1] = 1.0 if age[-1] > 50.0 else 99.0
        rows["cells"] = table.set_column(2, "age", pa.array(age))
        return [rows[change if changes else "none"]]

    frame, ledger = cluster.frame(table), Ledger(rho=1.0)
    frame._compute = source

    def lose(parts):
        changes.append(None)
        parts._encoded.unpersist()
        if workers_die:
            cluster.kill()

    disturbed(monkeypatch, 3, lose)
    if change == "none" or not workers_die:  # a worker that lives needs no rows
        found = fitted(frame, schema, ledger)
        np.testing.assert_array_equal(found.coef_, fitted(table, schema, Ledger(rho=1.0)).coef_)
        return
    with pytest.raises(PartsLost, match="not the same rows in the same order") as end:
        fitted(frame, schema, ledger)
    assert end.value.__context__ is None
    assert "released no model" in end.value.__notes__[0]
    assert 0.0 < ledger.spent < ledger.rho


@pytest.mark.parametrize("fault", ["twice", "another's", "lost", "fails"])
def test_each_part_counts_once_whatever_spark_returns(fault, cluster, schema, monkeypatch):
    original, jobs = spark_parts.attempt, []

    def attempt(job):
        rows, problem = original(job)
        if problem is None and "answer" in getattr(getattr(job, "__self__", None), "columns", ()):
            jobs.append(None)
            if fault == "twice":
                rows = [*rows, *rows]
            elif fault == "another's":
                rows = [*rows, (99, rows[0][1])]
            elif len(jobs) % 3 == 0:
                return ([], None) if fault == "lost" else (None, "Py4JJavaError")
        return rows, problem

    monkeypatch.setattr(spark_parts, "attempt", attempt)
    same(fitted(cluster.frame(raw_table(), 3), schema), fitted(raw_table(), schema))


def test_a_part_is_kept_by_the_worker_that_has_it_last(schema, monkeypatch):
    """One that was passed over forgets what was sent to another, and does not answer for it later."""
    cluster = Cluster(workers=7).install(monkeypatch)
    kept = []

    def look(parts):
        kept.append([set(fit.parts) for memory in cluster.idle for fit in memory["_FITS"].values()])

    disturbed(monkeypatch, 6, look)
    same(fitted(cluster.frame(raw_table(), 2), schema), fitted(raw_table(), schema))
    counts = [sum(number in parts for parts in kept[0]) for number in range(2)]
    assert max(counts) <= 3


def test_a_cluster_that_does_not_answer_ends_the_fit(cluster, schema, monkeypatch):
    ledger = Ledger(rho=1.0)
    nothing = {"name": "attempt", "value": lambda job: (None, "Py4JError")}
    disturbed(monkeypatch, 4, lambda parts: monkeypatch.setattr(spark_parts, **nothing))
    with pytest.raises(PartsLost, match=r"could not compute them again \(Py4JError\)"):
        fitted(cluster.frame(raw_table()), schema, ledger)
    assert 0.0 < ledger.spent < ledger.rho


def test_predictions_are_made_part_by_part(cluster, schema):
    model = fitted(raw_table(), schema)
    for method in (model.predict, model.predict_proba, model.score):
        with pytest.raises(ValueError, match="apply the model to each part"):
            method(cluster.frame(raw_table()))


def refused(match, given, schema):
    ledger = Ledger(rho=1.0)
    with pytest.raises(ValueError, match=match) as refusal:
        fitted(given, schema, ledger)
    assert ledger.spent == 0.0
    assert refusal.value.__context__ is None


def test_rows_that_spark_does_not_keep_are_refused(cluster, schema, monkeypatch):
    monkeypatch.setattr("spark_double.Frame.persist", lambda frame: frame)
    refused("did not keep the encoded rows", cluster.frame(raw_table()), schema)


def test_rows_that_change_while_they_are_read_first_are_refused(cluster, schema, monkeypatch):
    """What one job saw of a part, and what another job saw of another part, may have rows in common."""
    table, times = raw_table(), []
    frame = cluster.frame(table)
    frame._compute = lambda: times.append(None) or [table.slice(0, N - len(times))]
    disturbed(monkeypatch, 1, lambda parts: parts._encoded.unpersist())
    refused("another pass might see other rows", frame, schema)


def test_what_workers_refuse_quotes_no_cell_and_is_not_charged(cluster, schema, monkeypatch):
    table = raw_table()
    refused("has no records", cluster.frame(table.slice(0, 0)), schema)
    refused("has no records", cluster.frame(table.slice(0, 50)), schema)
    wrong = table.set_column(0, "ill", pa.array(["77310077"] * N))
    refused("none of the declared classes", cluster.frame(wrong, 3), schema)
    broken = cluster.frame(table)
    broken._compute = lambda: [][0]
    refused(r"could not encode the DataFrame \(IndexError\)", broken, schema)
