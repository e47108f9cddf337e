"""Fits on DataFrames of Spark: the same models as in one place, and refusals before a charge (Q39)."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import time

import numpy as np
import pyarrow as pa
import pytest

from privfit import DPLinearRegression, DPLogisticRegression, Ledger, strict
from privfit.engine.parallel import spark_parts
from privfit.engine.parallel.spark_parts import NOT_KEPT
from privfit.engine.parts import PartsLost
from privfit.solvers import SGDMA, GradientDescent

cloudpickle = pytest.importorskip(
    "pyspark.cloudpickle", reason="Spark is not installed; `make test-spark` installs it"
)
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # because workers do not find this module

N = 900
SEEDED = {"noise": "seeded", "random_state": 5}
QUICK = {"solver": GradientDescent(steps=3)}
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

[[columns]]
name = "town"
type = "categorical"
categories = ["north", "south", "west"]
"""

sessions = pytest.mark.parametrize("spark", ["classic", "connect"], indirect=True)


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA)
    return path


def raw_table():
    rng = np.random.default_rng(1)
    age, town = rng.uniform(0, 110, N), rng.choice(["north", "south", "west", "nowhere"], N)
    ill = np.where(rng.random(N) < np.where(town == "north", 0.7, 0.3), "yes", "no").astype(object)
    ill[:30] = None
    age = pa.array(age, mask=rng.random(N) < 0.05)
    # names that differ in case alone, or have a dot, mean something to Spark
    return pa.table({"AGE": -np.ones(N), "a.b": np.ones(N), "town": town, "age": age, "ill": ill})


def plain_table():
    """Return the table without columns that Spark itself stumbles over."""
    return raw_table().select(["town", "age", "ill"])


def fitted(settings, *given, model=DPLogisticRegression):
    return model(**{"epsilon": 2.0} | SEEDED | settings).fit(*given)


def paid(ledger):
    return [(entry.what, entry.rho, entry.mechanism) for entry in ledger.entries]


def same(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert paid(one.ledger_) == paid(other.ledger_)


def kept_here(batches):
    """Yield the process of a worker, and how many fits and parts it keeps."""
    for _ in batches:
        pass
    from privfit.engine.parallel.spark_worker import _FITS

    found = os.getpid(), len(_FITS), sum(len(fit.parts) for fit in _FITS.values())
    yield pa.RecordBatch.from_arrays([pa.array([each]) for each in found], ["pid", "fits", "parts"])


def workers_of(session):
    """Return (process, number of fits, number of parts) of the workers that two jobs find."""
    jobs = [session.range(8).mapInArrow(kept_here, "pid long, fits long, parts long") for _ in range(2)]
    return {tuple(row) for job in jobs for row in job.collect()}


def kill_workers(session):
    for pid, *_ in workers_of(session):
        os.kill(pid, signal.SIGKILL)


# -- the same models ---------------------------------------------------------------------------------------


@sessions
def test_models_are_those_of_the_table_in_one_place(spark, schema):
    """In several partitions, of which one has no rows and one no label."""
    table = raw_table()
    frame = spark.createDataFrame(table).coalesce(1)
    few = frame.where("ill IS NULL").union(frame.where("ill IS NOT NULL")).union(frame.where("town = ''"))
    for settings, rows in ((QUICK | {"curves": 4}, frame.repartition(7)), (QUICK, few)):
        model = fitted({"schema": schema} | settings, rows)
        same(model, fitted({"schema": schema} | settings, table))
    assert model.feature_names_in_.tolist() == ["age", "town"]
    assert "the answer to a query that the custodian" in str(model.privacy_)


def test_the_default_solver_has_the_model_of_one_place(classic, schema):
    settings = {"schema": schema, "max_passes": 20}
    same(fitted(settings, classic.createDataFrame(raw_table())), fitted(settings, raw_table()))


def test_numbers_samples_weights_and_intervals(classic, schema, tmp_path):
    table = raw_table()
    frame = classic.createDataFrame(table)
    sampled = {"schema": schema, "epsilon": 8.0, "delta": 1e-4, "solver": SGDMA(max_steps=2)}
    same(fitted(sampled, frame), fitted(sampled, table))
    rest = SCHEMA.split("[[columns]]", 1)[1]
    text = '[label]\nname = "stay"\ntype = "number"\nlow = 0\nhigh = 9\n\n[[columns]]' + rest
    (tmp_path / "numbers.toml").write_text(text + '\n[[columns]]\nname = "w"\ntype = "weight"\nmax = 2\n')
    rng = np.random.default_rng(3)
    table = table.append_column("stay", pa.array(rng.integers(0, 10, N)))
    table = table.append_column("w", pa.array(rng.random(N)))
    settings = {"schema": tmp_path / "numbers.toml", "max_passes": 20}
    frame = classic.createDataFrame(table)
    same(
        fitted(settings, frame, model=DPLinearRegression),
        fitted(settings, table, model=DPLinearRegression),
    )
    settings = {"schema": schema, "inference": True, "epsilon": 40.0, "max_passes": 20}
    one, other = fitted(settings, frame), fitted(settings, table)
    same(one, other)
    np.testing.assert_array_equal(one.covariance_, other.covariance_)


@sessions
def test_nothing_is_kept_when_a_fit_has_ended(spark, schema, classic):
    fitted({"schema": schema} | QUICK, spark.createDataFrame(raw_table()))
    assert {(fits, parts) for _, fits, parts in workers_of(spark)} == {(0, 0)}
    assert classic.sparkContext._jsc.getPersistentRDDs().isEmpty()


# -- workers and sources that fail -------------------------------------------------------------------------


def disturbed(monkeypatch, when, disturb):
    """Disturb Spark before the question of this number; return how many jobs there were."""
    jobs, original = [], spark_parts.SparkParts._asked

    def asked(parts, request, numbers):
        jobs.append(None)
        if len(jobs) == when:
            disturb(parts)
        return original(parts, request, numbers)

    monkeypatch.setattr(spark_parts.SparkParts, "_asked", asked)
    return jobs


@sessions
def test_workers_that_are_killed_are_replaced_and_nothing_is_paid_twice(spark, schema, monkeypatch):
    frame, table = spark.createDataFrame(raw_table()), raw_table()
    undisturbed, ledger = Ledger(rho=1.0), Ledger(rho=1.0)
    expected = fitted({"schema": schema, "ledger": undisturbed} | QUICK, table)

    jobs = disturbed(monkeypatch, 4, lambda parts: kill_workers(spark))
    found = fitted({"schema": schema, "ledger": ledger} | QUICK, frame)
    assert len(jobs) > 4
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert paid(ledger) == paid(undisturbed)


def changing(path, change):
    """Return a function for mapInArrow that gives other rows, or another order, once a file exists."""

    def rows(batches):
        for batch in batches:
            if change == "none" or not path.exists():
                yield batch
            elif change == "order":
                yield batch.take(pa.array(range(len(batch) - 1, -1, -1)))
            else:
                yield batch.slice(0, len(batch) - 1)

    return rows


@sessions
@pytest.mark.parametrize("change", ["none", "rows", "order"])
def test_a_source_that_is_computed_again_is_compared(change, spark, schema, monkeypatch, tmp_path):
    """Spark and the workers lose all that they keep; the source is as it was, or not."""
    path, ledger = tmp_path / "changed", Ledger(rho=1.0)
    frame = spark.createDataFrame(plain_table())
    frame = frame.mapInArrow(changing(path, change), frame.schema)

    def lose(parts):
        spark_parts.end(parts._encoded, parts._fit, parts._keepers)
        path.write_text("")

    disturbed(monkeypatch, 4, lose)
    settings = {"schema": schema, "ledger": ledger} | QUICK
    if change == "none":
        found = fitted(settings, frame)
        expected = fitted(settings | {"ledger": Ledger(rho=1.0)}, raw_table())
        np.testing.assert_array_equal(found.coef_, expected.coef_)
        return
    with pytest.raises(PartsLost, match="not the same rows in the same order") as end:
        fitted(settings, frame)
    assert end.value.__context__ is None
    assert "released no model" in end.value.__notes__[0]
    assert 0.0 < ledger.spent < ledger.rho


@sessions
def test_random_rows_are_taken_once(spark, schema):
    """Of random numbers one draw is fitted; Spark Connect 4.3 would draw again, so the fit is refused."""
    frame = spark.createDataFrame(plain_table()).selectExpr("town", "ill", "100 * rand() AS age")
    ledger = Ledger(epsilon=3.0, delta=1e-5)
    settings = {"schema": schema, "ledger": ledger} | QUICK
    try:
        steps = fitted(settings, frame).n_iter_
    except ValueError as error:
        refusal = str(error)
    else:
        assert steps == 3
        return
    assert "connect" in type(spark).__module__
    assert refusal == NOT_KEPT
    assert ledger.spent == 0.0


@pytest.mark.parametrize("fault", ["twice", "another's", "lost"])
def test_each_part_counts_once_whatever_spark_returns(fault, classic, schema, monkeypatch):
    original, jobs = spark_parts.attempt, []

    def attempt(job):
        rows, problem = original(job)
        if problem is None and "answer" in getattr(getattr(job, "__self__", None), "columns", ()):
            jobs.append(None)
            if fault == "twice":
                rows = rows + rows
            elif fault == "another's":
                rows = rows + [(99, cell) for _, cell in rows]
            elif len(jobs) % 3 == 0:
                rows = rows[1:]
        return rows, problem

    monkeypatch.setattr(spark_parts, "attempt", attempt)
    frame, settings = classic.createDataFrame(raw_table()).repartition(2), {"schema": schema} | QUICK
    same(fitted(settings, frame), fitted(settings, raw_table()))
    assert len(jobs) > 5


def test_a_cluster_that_does_not_answer_ends_the_fit(classic, schema, monkeypatch):
    ledger = Ledger(rho=1.0)
    disturbed(
        monkeypatch,
        4,
        lambda parts: monkeypatch.setattr(spark_parts, "attempt", lambda job: (None, "Py4JError")),
    )
    with pytest.raises(PartsLost, match=r"could not compute them again \(Py4JError\)"):
        fitted({"schema": schema, "ledger": ledger} | QUICK, classic.createDataFrame(raw_table()))
    assert 0.0 < ledger.spent < ledger.rho


# -- refusals, logs and messages ---------------------------------------------------------------------------

SECRET = 77310077


def refused(match, frame, *beside, settings, **more):
    ledger = Ledger(epsilon=3.0, delta=1e-5)
    with pytest.raises((TypeError, ValueError), match=match) as refusal:
        DPLogisticRegression(epsilon=1.0, ledger=ledger, **settings).fit(frame, *beside, **more)
    assert ledger.spent == 0.0
    assert str(SECRET) not in str(refusal.value)
    assert refusal.value.__context__ is None or str(SECRET) not in str(refusal.value.__context__)


@sessions
def test_what_a_dataframe_cannot_have_is_refused_before_a_charge(spark, schema, tmp_path):
    frame, declared = spark.createDataFrame(raw_table()), {"schema": schema}
    refused("needs a schema", frame, settings={"classes": ("no", "yes")})
    refused("y is a DataFrame of Spark", np.ones((3, 2)), frame, settings=declared)
    refused("which has no order of rows, so y cannot", frame, np.ones(N), settings=declared)
    refused("which has no order of rows, so groups cannot", frame, settings=declared, groups=np.ones(N))
    refused("no column 'town'", frame.drop("town"), settings=declared)
    refused(
        "neither numbers nor text", frame.selectExpr("* EXCEPT (town)", "array(1) AS town"), settings=declared
    )
    refused("has no records", frame.where("town = ''"), settings=declared)
    refused("has no records", frame.where("ill IS NULL"), settings=declared)
    refused("set n_records=", frame, settings=declared | {"curves": True})
    refused("in one place, not in parts", frame, settings=declared | {"solver": "output-perturbation"})
    people = tmp_path / "people.toml"
    people.write_text(SCHEMA + '\n[[columns]]\nname = "who"\ntype = "id"\n')
    who = frame.selectExpr("*", "1 AS who")
    refused("'who' repeat is not checked", who, settings={"schema": people})
    with strict():
        refused("Strict mode refuses DataFrames of Spark", frame, settings=declared)
    with pytest.raises(ValueError, match="write it to Parquet files"):
        DPLogisticRegression(schema=people, rows_per_person=2).fit(who)


def test_predictions_are_made_part_by_part(classic, schema):
    frame = classic.createDataFrame(raw_table())
    model = fitted({"schema": schema} | QUICK, raw_table())
    for method in (model.predict, model.score):
        with pytest.raises(ValueError, match="apply the model to each part"):
            method(frame)


def test_nothing_of_the_records_is_in_logs_messages_or_on_the_driver(classic, schema, monkeypatch, log):
    """Planted rows, labels that are not declared, workers that die, and all that is logged from INFO on."""
    table = raw_table()
    planted = np.where(np.arange(N) % 100 == 0, float(SECRET), 50.0)
    table = table.set_column(3, "age", pa.array(planted))
    frame, came, original = classic.createDataFrame(table), [], spark_parts.said_in

    def said_in(rows):
        rows = [tuple(row) for row in rows]
        came.extend(rows)
        return original(rows)

    monkeypatch.setattr(spark_parts, "said_in", said_in)
    disturbed(
        monkeypatch, 3, lambda parts: [os.kill(each[0], signal.SIGKILL) for each in workers_of(classic)]
    )
    fitted({"schema": schema} | QUICK, frame)
    sent = pickle.dumps(came)
    assert np.float64(SECRET).tobytes() not in sent
    assert len(sent) < 4 * N, "less than a number for each record"
    wrong = pa.array(np.where(np.arange(N) % 2, "yes", str(SECRET)))
    refused("not one of its classes|missing, or", classic.createDataFrame(table.set_column(4, "ill", wrong)),
            settings={"schema": schema})  # fmt: skip
    time.sleep(0.5)  # until the log is written
    text = log.read_text()
    assert len(text) > 1000, "nothing was logged at all"
    assert str(SECRET) not in text


def failing(batches):
    for _ in batches:
        pass
    raise KeyError(SECRET)
    yield


def test_a_source_that_fails_is_refused_before_a_charge(classic, schema):
    frame = classic.createDataFrame(plain_table())
    refused(r"could not encode the DataFrame \(PythonException\)", frame.mapInArrow(failing, frame.schema),
            settings={"schema": schema})  # fmt: skip


# -- cost --------------------------------------------------------------------------------------------------


@sessions
def test_overhead_of_a_pass(spark, schema, monkeypatch, capfd):
    """A question of parts that workers keep is one job, and sends no rows; the time of one is printed.

    Through Spark Connect it may be more, because Spark may run a job on idle workers that keep no parts.
    """
    table = pa.concat_tables([raw_table()] * 200)
    settings = {"schema": schema, "solver": GradientDescent(steps=8)}
    frame = spark.createDataFrame(table)
    began = time.perf_counter()
    local = fitted(settings, table)
    here = time.perf_counter() - began
    kinds, laps, original = [], [], spark_parts.SparkParts._asked

    def asked(parts, *arguments):
        began, before = time.perf_counter(), parts._round
        found = original(parts, *arguments)
        laps.append(time.perf_counter() - began)
        kinds.append(parts._round - before)
        return found

    monkeypatch.setattr(spark_parts.SparkParts, "_asked", asked)
    same(fitted(settings, frame), local)
    name = "Spark Connect" if "connect" in type(spark).__module__ else "Spark"
    assert np.median(kinds[1:]) <= {"Spark": 1, "Spark Connect": spark_parts.ROUNDS}[name]
    with capfd.disabled():
        print(
            f"\n{name}, {len(table)} records: {np.median(laps[1:]):.3f} s and {np.median(kinds[1:]):g} jobs "
            f"a pass; the fit in one place takes {here / len(laps[1:]):.3f} s for each."
        )
