"""Estimators that take raw tables by a schema."""

import json
import pickle
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from privfit import (
    DPLinearSVC,
    DPLogisticRegression,
    Ledger,
    PrivacyLeakError,
    PrivacyLeakWarning,
    load,
    strict,
)
from privfit.preprocessing import SchemaEncoder
from privfit.schema import Categorical, Date, Identifier, Integer, Label, NumberLabel, Numeric, Schema, encode

CANARY = "P000000"
SCHEMA = Schema(
    [
        Identifier("who"),
        Integer("age", 0, 100, unit="years"),
        Categorical("town", ["a", "b", "c"], missing="indicator"),
        Numeric("income", 0, 100, unit="$"),
        Date("born", "2000-01-01", "2010-12-31"),
    ],
    Label("ill", ["well", "unwell"], positive="well"),
)
N = 600
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "born": np.datetime64("2000-01-01") + RNG.integers(0, 4000, N),
        "age": RNG.integers(0, 100, N),
        "income": [f"${x:.2f}" if x < 90 else "" for x in RNG.uniform(0, 100, N)],
        "town": np.array(["a", "b", "c", None, "?"], dtype=object)[RNG.integers(0, 5, N)],
        "who": [f"person {i}" for i in range(N)],
    }
)
PEOPLE["ill"] = np.where(PEOPLE["age"] > 50, "unwell", "well")
FEATURES = ["age", "town=a", "town=b", "town=c", "town=other", "income", "born"]
SEEDED = {"noise": "seeded", "random_state": 0, "epsilon": 2.0}


def model(kind=DPLogisticRegression, **settings):
    return kind(**(SEEDED | {"schema": SCHEMA} | settings))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    PEOPLE.to_csv(folder / "people.csv", index=False)
    PEOPLE.to_parquet(folder / "people.parquet")
    (folder / "schema.toml").write_text(SCHEMA.to_toml())
    return folder


TABLES = {
    "pandas": lambda files: PEOPLE,
    "shuffled": lambda files: PEOPLE[sorted(PEOPLE)].assign(more=CANARY),
    "polars": lambda files: pl.from_pandas(PEOPLE),
    "arrow": lambda files: pa.Table.from_pandas(PEOPLE),
    "csv": lambda files: files / "people.csv",
    "csv as text": lambda files: str(files / "people.csv"),
    "parquet": lambda files: files / "people.parquet",
    "dict": lambda files: {name: PEOPLE[name].tolist() for name in PEOPLE},
}


@pytest.fixture(scope="module")
def by_hand():
    """The same fit as it was done before: encode, then declare everything again; predict in doubles."""
    encoder = SchemaEncoder(SCHEMA, sparse_output=False)
    settings = SEEDED | {"classes": ("well", "unwell"), "feature_bounds": (0, 1)}
    X = encoder.transform(PEOPLE)
    exact = encode(PEOPLE, SCHEMA, sparse=False, dtype=np.float64)
    return DPLogisticRegression(**settings).fit(X, PEOPLE["ill"]), exact


@pytest.mark.parametrize("table", TABLES)
def test_every_raw_table_gives_the_model_that_encoding_by_hand_gives(table, files, by_hand):
    expected, X = by_hand
    raw = TABLES[table](files)
    fitted = model(schema=files / "schema.toml").fit(raw)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)
    np.testing.assert_array_equal(fitted.predict_proba(raw), expected.predict_proba(X))
    np.testing.assert_array_equal(fitted.decision_function(raw), expected.decision_function(X))
    assert fitted.predict(raw).tolist() == expected.predict(X).tolist()
    assert fitted.score(raw) == fitted.score(raw, PEOPLE["ill"]) == expected.score(X, PEOPLE["ill"]) > 0.7
    assert fitted.classes_.tolist() == ["unwell", "well"]


@pytest.mark.parametrize("kind", [DPLogisticRegression, DPLinearSVC])
def test_weights_are_named_in_the_words_of_the_schema(kind):
    fitted = model(kind).fit(PEOPLE)
    assert fitted.feature_names_in_.tolist() == ["age", "town", "income", "born"]
    assert fitted.n_features_in_ == 4
    assert fitted.get_feature_names_out().tolist() == FEATURES
    assert fitted.coef_.shape == (1, 7)
    named = [f"{w.column}={w.level}" if w.level else w.column for w in fitted.weights_]
    assert named == FEATURES
    differences = fitted.coef_[0] - np.where(
        [w.column == "town" for w in fitted.weights_], fitted.coef_[0, 1], 0
    )
    assert [w.weight for w in fitted.weights_] == differences.tolist()
    units = [w.unit for w in fitted.weights_]
    assert units == [
        "from 0 to 100 years",
        "reference",
        "instead of a",
        "instead of a",
        "missing or not listed, instead of a",
        "from 0 to 100 $",
        "from 2000-01-01 to 2010-12-31",
    ]
    lines = str(fitted.weights_).splitlines()
    assert lines[1].split()[:2] == ["age", f"{fitted.coef_[0, 0]:+.4g}"]


def test_weights_speak_for_the_positive_class_and_coef_for_the_sorted_ones():
    assert model().fit(PEOPLE).weights_[0].weight < 0  # the old are not well
    unwell = Schema(SCHEMA.columns, Label("ill", ["well", "unwell"], positive="unwell"))
    flipped = model(schema=unwell).fit(PEOPLE)
    assert flipped.weights_[0].weight == -flipped.coef_[0, 0] > 0
    assert flipped.classes_.tolist() == ["unwell", "well"]


def test_without_a_schema_names_are_those_of_the_table():
    X = PEOPLE[["age"]].assign(height=1.0)
    fitted = DPLogisticRegression(**SEEDED, classes=("well", "unwell")).fit(X, PEOPLE["ill"])
    assert fitted.get_feature_names_out().tolist() == ["age", "height"]
    with pytest.raises(AttributeError, match="weights_ needs a schema, and this model has none"):
        fitted.weights_  # noqa: B018
    with pytest.warns(PrivacyLeakWarning, match="add up"):
        unnamed = fitted.fit(X.to_numpy(), PEOPLE["ill"])
    assert unnamed.get_feature_names_out().tolist() == ["x0", "x1"]


def test_a_refit_without_a_schema_forgets_the_first_one():
    refitted = model().fit(PEOPLE).set_params(schema=None, classes=("well", "unwell"))
    with pytest.warns(PrivacyLeakWarning, match="add up"):
        refitted.fit(PEOPLE[["age"]].to_numpy(), PEOPLE["ill"])
    assert refitted.schema_ is None
    assert refitted.n_features_in_ == 1
    assert refitted.predict([[3.0]]).shape == (1,)


# -- nothing is said twice


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classes": ("well", "unwell")}, "^The schema declares the classes already; remove classes=.$"),
        ({"feature_bounds": (0, 1)}, "^The schema declares feature_bounds already; remove feature_bounds=.$"),
        (
            {"schema": Schema(SCHEMA.columns, SCHEMA.label, N), "n_records": N},
            "^The schema declares n_records already; remove n_records=.$",
        ),
        (
            {"schema": Schema(SCHEMA.columns, NumberLabel("ill", 0, 100))},
            "^The label 'ill' is a number, and DPLogisticRegression predicts classes; use a regressor, or",
        ),
        ({"schema": "nothing.toml"}, "nothing.toml"),
    ],
)
def test_bad_declarations_are_refused_before_the_table_is_opened(settings, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        model(**settings).fit("no such file.csv")


def test_a_schema_is_a_schema():
    with pytest.raises(TypeError, match=r"schema must be a privfit\.Schema or the path of a TOML file"):
        model(schema={"columns": []}).fit(PEOPLE)


def test_the_number_of_records_may_be_public():
    declared = model(schema=Schema(SCHEMA.columns, SCHEMA.label, N)).fit(PEOPLE)
    assert "number of records" not in declared.privacy_.spending
    assert f"the number of records, declared as {N}, is public" in declared.privacy_.text
    bought = model().fit(PEOPLE)
    assert "number of records" in bought.privacy_.spending
    assert "number of records" not in model(n_records=N).fit(PEOPLE).privacy_.spending


def test_the_statement_says_that_the_schema_is_public():
    text = model().fit(PEOPLE).privacy_.text
    assert "the schema's bounds and categories are public" in text
    assert "the labels unwell and well are public" in text
    assert "TAKEN FROM THE DATA" not in text


def test_a_schema_that_was_read_off_the_data_is_admitted_or_refused():
    with pytest.warns(PrivacyLeakWarning, match="read off the records"):
        leaked = Schema.from_toml(Schema.draft(PEOPLE, label="ill", leak=True))
    with pytest.warns(PrivacyLeakWarning, match="what the schema says was taken from the data"):
        fitted = model(schema=leaked).fit(PEOPLE)
    assert "WHAT THE SCHEMA SAYS WAS TAKEN FROM THE DATA, which is not covered" in fitted.privacy_.text
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    with strict(), pytest.raises(PrivacyLeakError, match="what the schema says was taken from the data"):
        DPLogisticRegression(1.0, schema=leaked, ledger=ledger).fit(PEOPLE)
    assert ledger.spent == 0.0


def test_strict_mode_has_nothing_against_a_schema():
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    with strict():
        DPLogisticRegression(1.0, schema=SCHEMA, ledger=ledger).fit(PEOPLE)
    assert ledger.spent > 0.0


# -- refusals


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (PEOPLE.assign(ill=CANARY), "The label 'ill' is missing, or none of the declared classes"),
        (PEOPLE.drop(columns="ill"), "no column 'ill', which the schema declares"),
        (PEOPLE.drop(columns="age"), "no column 'age', which the schema declares"),
        (
            PEOPLE.assign(age=pd.Timestamp(1931, 7, 13)),
            "'age' is declared integer but arrives with dtype",
        ),
        (PEOPLE[:0], "the table has no records"),
        (CANARY, "X is a text, and not the path of a table"),
        (None, "X must be a frame, .* not NoneType"),
        (PEOPLE["age"], "X must be a frame, .* not Series"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "score", "predict"])
def test_a_table_that_does_not_fit_is_refused_before_any_charge_and_not_quoted(table, message, method):
    ledger = Ledger(epsilon=5.0, delta=1e-6)
    estimator = model(ledger=ledger).fit(PEOPLE)
    spent = ledger.spent
    if method == "predict" and "ill" in message:
        return  # predictions need no label
    with pytest.raises((ValueError, TypeError), match=message) as refusal:
        getattr(estimator, method)(table)
    assert ledger.spent == spent
    told = "".join(traceback.format_exception_only(refusal.value))
    assert CANARY not in told
    assert "1931" not in told


def test_labels_given_apart_must_be_as_many_as_the_rows():
    with pytest.raises(ValueError, match="X and y have inconsistent numbers of samples"):
        model().fit(PEOPLE, PEOPLE["ill"][:-1])


def test_a_failed_fit_leaves_no_model_behind():
    estimator = model()
    with pytest.raises(ValueError, match="none of the declared classes"):
        estimator.fit(PEOPLE.assign(ill=CANARY))
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)


# -- scikit-learn


def test_labels_may_be_given_apart(by_hand):
    fitted = model().fit(PEOPLE.drop(columns="ill"), PEOPLE["ill"])
    np.testing.assert_array_equal(fitted.coef_, by_hand[0].coef_)
    assert fitted.score(PEOPLE.drop(columns="ill"), PEOPLE["ill"]) > 0.7


def test_clones_and_pickles_keep_the_schema(files):
    for schema in (SCHEMA, files / "schema.toml"):
        fitted = model(schema=schema).fit(PEOPLE)
        revived = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(revived.predict_proba(PEOPLE), fitted.predict_proba(PEOPLE))
        assert revived.schema_ == SCHEMA
        assert clone(fitted).get_params()["schema"] == schema
        assert not hasattr(clone(fitted), "schema_")


def test_predictions_do_not_depend_on_the_schema_file(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA.to_toml())
    fitted = model(schema=path).fit(PEOPLE)
    before = fitted.predict_proba(PEOPLE)
    path.unlink()
    np.testing.assert_array_equal(fitted.predict_proba(PEOPLE), before)


@pytest.mark.filterwarnings("ignore:Some ids in column")
def test_nothing_of_the_records_is_kept():
    fitted = model().fit(PEOPLE.assign(who=CANARY, town=CANARY))
    assert CANARY.encode() not in pickle.dumps(fitted)
    assert CANARY not in repr(vars(fitted))


@pytest.mark.parametrize("frame", [PEOPLE, pl.from_pandas(PEOPLE)], ids=["pandas", "polars"])
@pytest.mark.parametrize("apart", [True, False])
def test_searches_split_raw_frames(frame, apart):
    ledger = Ledger(epsilon=20.0, delta=1e-6)
    search = GridSearchCV(model(ledger=ledger), {"epsilon": [0.5, 1.0]}, cv=2)
    search.fit(frame, frame["ill"] if apart else None)
    assert len(ledger.entries) > 5
    assert search.best_estimator_.feature_names_in_.tolist() == ["age", "town", "income", "born"]
    assert search.score(frame, frame["ill"] if apart else None) > 0.6


def test_pipelines_pass_raw_frames_and_know_that_nothing_was_learnt():
    drop = FunctionTransformer(lambda frame: frame[frame.columns])
    ledger = Ledger(epsilon=20.0, delta=1e-6)
    with strict():
        pipeline = make_pipeline(drop, DPLogisticRegression(1.0, schema=SCHEMA, ledger=ledger))
        pipeline.fit(PEOPLE, PEOPLE["ill"])
    assert pipeline.score(PEOPLE, PEOPLE["ill"]) > 0.6
    assert make_pipeline(drop, model()).fit(PEOPLE).predict(PEOPLE).shape == (N,)


def test_cross_validation_scores_raw_frames():
    scores = cross_val_score(model(ledger=Ledger(epsilon=20.0, delta=1e-6)), PEOPLE, PEOPLE["ill"], cv=2)
    assert scores.min() > 0.5


def test_the_encoded_matrix_separates_what_can_be_separated(by_hand):
    """The encoding itself is sound: without noise, age alone decides."""
    _, X = by_hand
    assert LogisticRegression(C=1e6, max_iter=2000).fit(X, PEOPLE["ill"]).score(X, PEOPLE["ill"]) > 0.98


# -- model files


@pytest.mark.parametrize("kind", [DPLogisticRegression, DPLinearSVC])
def test_a_model_file_keeps_the_schema_and_predicts_raw_tables(kind, files, tmp_path):
    fitted = model(kind).fit(PEOPLE)
    fitted.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.schema_ == SCHEMA
    assert loaded.weights_ == fitted.weights_
    assert loaded.feature_names_in_.tolist() == fitted.feature_names_in_.tolist()
    assert loaded.n_features_in_ == 4
    for table in ("pandas", "csv", "parquet"):
        raw = TABLES[table](files)
        np.testing.assert_array_equal(loaded.decision_function(raw), fitted.decision_function(raw))
    assert loaded.score(PEOPLE) == fitted.score(PEOPLE)


def test_plain_models_take_the_encoded_table():
    fitted = model().fit(PEOPLE)
    X = pd.DataFrame(encode(PEOPLE, SCHEMA, sparse=False), columns=FEATURES)
    np.testing.assert_allclose(
        fitted.to_sklearn(encoded=True).predict_proba(X), fitted.predict_proba(PEOPLE), rtol=1e-5
    )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda written: written["columns"].reverse(),
        lambda written: written["feature_names"].reverse(),
        lambda written: written["preprocessing"]["schema"].pop("label"),
        lambda written: written["preprocessing"]["schema"]["columns"].pop(1),
        lambda written: written["preprocessing"]["schema"].update(label=[{}]),
        lambda written: written["preprocessing"]["schema"]["columns"][1].update(low={}),
        lambda written: written["preprocessing"]["schema"]["columns"][1].update(name=["age"]),
        lambda written: written["preprocessing"]["schema"]["columns"][1].update(type={}),
    ],
)
def test_a_model_file_with_another_schema_is_refused_in_one_sentence(spoil, tmp_path):
    path = tmp_path / "model.json"
    model().fit(PEOPLE).save(path)
    written = json.loads(path.read_text())
    spoil(written)
    path.write_text(json.dumps(written))
    with pytest.raises(ValueError, match=r"model\.json is no model file: .*\.$"):
        load(path)
