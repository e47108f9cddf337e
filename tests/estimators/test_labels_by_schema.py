"""Labels as they come: some are missing, and there are more of them than two."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import GridSearchCV

from privfit import DPLinearSVC, DPLogisticRegression, Ledger, load
from privfit.metrics import evaluate
from privfit.publication.numpy_file import numpy_source
from privfit.schema import Label, Numeric, Schema, labels_of

COLUMNS = [Numeric("length", 0, 10), Numeric("width", 0, 5)]
SPECIES = ["setosa", "versicolor", "virginica"]
ONE = Schema(COLUMNS, Label("species", one_against_rest="virginica"))
TWO = Schema(COLUMNS, Label("species", ["not virginica", "virginica"], positive="virginica"))
DROP = Schema(COLUMNS, Label("species", SPECIES[1:], missing="drop"))
BOTH = Schema(COLUMNS, Label("species", one_against_rest="virginica", missing="drop"))


def flowers(n=300, missing=False):
    rng = np.random.default_rng(0)
    kind = rng.integers(0 if not missing else 1, 3, n)
    frame = pd.DataFrame({"length": 2.0 * kind + rng.normal(2, 1, n), "width": rng.uniform(0, 5, n)})
    frame["species"] = np.array(SPECIES, dtype=object)[kind]
    if missing:
        frame.loc[::7, "species"] = None
    return frame


def fit(schema, table, y=None, kind=DPLogisticRegression, **settings):
    settings = {"epsilon": 4.0, "noise": "seeded", "random_state": 1} | settings
    return kind(delta=1e-6, schema=schema, **settings).fit(table, y)


def same(first, second):
    return np.array_equal(first.coef_, second.coef_) and np.array_equal(first.intercept_, second.intercept_)


def csv(tmp_path, frame):
    path = tmp_path / "flowers.csv"
    frame.to_csv(path, index=False)
    return path


TABLES = {
    "pandas": lambda tmp_path, frame: frame,
    "polars": lambda tmp_path, frame: pl.from_pandas(frame),
    "arrow": lambda tmp_path, frame: pa.Table.from_pandas(frame),
    "dict": lambda tmp_path, frame: {name: list(frame[name]) for name in frame},
    "csv": csv,
}


@pytest.mark.parametrize("table", TABLES)
def test_records_without_a_label_are_as_if_they_were_not_there(table, tmp_path):
    frame = flowers(missing=True)
    labelled = frame[frame["species"].notna()]
    there = fit(DROP, TABLES[table](tmp_path, frame))
    assert same(there, fit(DROP, labelled))
    assert there.score(TABLES[table](tmp_path, frame)) == there.score(labelled)
    assert there.privacy_.text == fit(DROP, labelled).privacy_.text


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, ""])
def test_labels_beside_the_table_follow_the_same_rule(gap):
    frame = flowers(missing=True)
    there = fit(DROP, frame)
    y = np.array([gap if name is None else name for name in frame["species"]], dtype=object)
    assert same(there, fit(DROP, frame.drop(columns="species"), y))
    assert same(there, fit(DROP, frame, list(y)))
    weights = np.linspace(1, 2, len(frame))
    labelled = frame["species"].notna()
    assert there.score(frame, y, sample_weight=weights) == pytest.approx(
        there.score(frame[labelled], y[labelled], sample_weight=weights[labelled])
    )


def test_a_record_without_a_label_more_or_less_changes_nothing_at_all():
    frame = flowers(missing=True)
    extreme = pd.DataFrame({"length": [1e9], "width": ["?"], "species": [None]})
    more = pd.concat([frame.astype(object), extreme], ignore_index=True)
    first, second = fit(DROP, frame), fit(DROP, more)
    assert same(first, second)
    assert first.published().privacy == second.published().privacy
    held_out = {"rho": 0.1, "noise": "seeded", "random_state": 2, "ledger": Ledger(rho=9.0)}
    scores = [evaluate(first, rows, rows["species"], **held_out).to_dict() for rows in (frame, more)]
    assert json.dumps(scores[0]) == json.dumps(scores[1])


def test_one_label_against_the_rest_is_two_classes():
    frame = flowers()
    renamed = frame.assign(species=np.where(frame["species"] == "virginica", "virginica", "not virginica"))
    one = fit(ONE, frame)
    assert same(one, fit(TWO, renamed))
    assert one.classes_.tolist() == ["not virginica", "virginica"]
    assert set(one.predict(frame)) == {"not virginica", "virginica"}
    assert one.score(frame) == one.score(renamed) == fit(TWO, renamed).score(renamed) > 0.7
    assert [w.weight for w in one.weights_] == one.coef_.ravel().tolist()
    assert "the labels not virginica and virginica are public" in one.privacy_.text


def test_the_one_label_is_spoken_of_even_if_it_comes_first():
    frame = flowers()
    schema = Schema(COLUMNS, Label("species", one_against_rest="Virginica"))
    first = fit(schema, frame.replace("virginica", "Virginica"))
    assert first.classes_.tolist() == ["Virginica", "not Virginica"]
    assert [w.weight for w in first.weights_] == (-first.coef_.ravel()).tolist()


WAYS = [list, np.array, pd.Series, pl.Series, lambda cells: [f"0{cell}" for cell in cells]]


@pytest.mark.parametrize("cells", WAYS, ids=["list", "array", "pandas", "polars", "text"])
def test_the_one_label_may_be_an_integer(cells):
    frame = flowers()
    schema = Schema(COLUMNS, Label("species", one_against_rest=2))
    numbers = cells([SPECIES.index(name) for name in frame["species"]])
    model = fit(schema, {"length": frame["length"], "width": frame["width"], "species": numbers})
    renamed = frame.assign(species=np.where(frame["species"] == "virginica", "2", "not 2"))
    assert same(model, fit(Schema(COLUMNS, Label("species", ["2", "not 2"])), renamed))
    assert same(model, fit(schema, frame, numbers))
    assert model.classes_.tolist() == ["2", "not 2"]


@pytest.mark.parametrize("kind", [DPLogisticRegression, DPLinearSVC])
def test_a_model_file_and_what_is_made_of_it_keep_the_rule(kind, tmp_path):
    frame = flowers(missing=True)
    model = fit(BOTH, frame, kind=kind)
    model.save(tmp_path / "model.json")
    written = json.loads((tmp_path / "model.json").read_text())["preprocessing"]["schema"]["label"]
    assert written == {"name": "species", "missing": "drop", "one_against_rest": "virginica"}
    again = load(tmp_path / "model.json")
    assert again.schema_ == model.schema_ == BOTH
    assert again.score(frame) == model.score(frame)
    assert again.predict(frame).tolist() == model.predict(frame).tolist()
    assert again.to_sklearn().predict(frame).tolist() == model.predict(frame).tolist()
    scorer = {}
    exec(numpy_source(again.published()), scorer)  # the source is our own
    assert scorer["predict"](frame).tolist() == model.predict(frame).tolist()


def test_a_schema_without_the_new_keys_is_written_as_ever(tmp_path):
    fit(TWO, flowers().replace(["setosa", "versicolor"], "not virginica")).save(tmp_path / "model.json")
    written = json.loads((tmp_path / "model.json").read_text())["preprocessing"]["schema"]["label"]
    assert list(written) == ["name", "classes", "positive"]


def test_private_scores_follow_the_rule():
    frame = flowers(missing=True)
    labelled = frame[frame["species"].notna()]
    for schema in (DROP, BOTH):
        model = fit(schema, frame)
        settings = {"rho": 1.0, "noise": "seeded", "random_state": 2, "ledger": Ledger(rho=9.0)}
        there = evaluate(model, frame, frame["species"], **settings)
        without = evaluate(model, labelled, labelled["species"], **settings)
        assert json.dumps(there.to_dict()) == json.dumps(without.to_dict())
        assert "records without a label are left out" in there.privacy.text
        by_table = evaluate(model, frame, labels_of(frame, schema), **settings)
        assert json.dumps(by_table.to_dict()) == json.dumps(there.to_dict())


def test_the_declared_number_is_of_records_with_a_label():
    frame = flowers(missing=True)
    n = int(frame["species"].notna().sum())
    model = fit(Schema(COLUMNS, DROP.label, records=n), frame)
    assert f"the number of records with a label, declared as {n}, is public" in model.privacy_.text
    assert "records without a label are left out" in model.privacy_.text
    assert "without a label" not in fit(ONE, flowers()).privacy_.text


CANARY = "P000000"
REFUSED = {
    "a label that is no class": (DROP, [CANARY, "virginica"], "none of the declared classes"),
    "no label where it is refused": (ONE, [None, "virginica"], "missing, or none of the declared classes"),
    "no label at all": (BOTH, ["", None], "'species' is missing in every record"),
}


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("case", REFUSED)
def test_other_labels_are_refused_before_a_charge_and_not_quoted(case, apart):
    schema, labels, message = REFUSED[case]
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    table = {"length": [1.0, 2.0], "width": [1.0, 2.0], "species": labels}
    with pytest.raises(ValueError, match=message) as refusal:
        fit(schema, table, np.array(labels, dtype=object) if apart else None, epsilon=1.0, ledger=ledger)
    assert CANARY not in str(refusal.value)
    assert ledger.spent == 0


def test_numbers_that_stand_for_classes_are_not_taken_for_the_rest():
    """Meta-estimators pass the numbers of classes; none of them is the text "virginica"."""
    frame = flowers()
    numbers = (frame["species"] == "virginica").astype(int).to_numpy()
    model = fit(ONE, frame, numbers)
    assert model.classes_.tolist() == [0, 1]
    assert same(model, fit(ONE, frame))
    with pytest.raises(ValueError, match="y holds labels that are not in classes"):
        fit(ONE, frame, frame["species"].map(SPECIES.index).to_numpy())
    with pytest.raises(ValueError, match="y holds labels that are not in classes"):
        fit(ONE, frame, numbers.astype(float))


def test_labels_in_a_column_of_shape_n_1_are_labels():
    frame = flowers(missing=True)
    with pytest.warns(UserWarning, match="column-vector"):
        model = fit(DROP, frame, frame[["species"]].to_numpy())
    assert same(model, fit(DROP, frame))


def test_searches_take_labels_as_they_come():
    frame = flowers()
    model = DPLogisticRegression(schema=ONE, ledger=Ledger(epsilon=40.0, delta=1e-6))
    search = GridSearchCV(model, {"epsilon": [2.0, 4.0]}, cv=2).fit(frame, frame["species"])
    assert search.best_score_ > 0.6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"missing": "fill"}, "missing of label 'y' must be 'refuse' or 'drop', not 'fill'"),
        ({"one_against_rest": True, "classes": ()}, "must be a text or an integer, not True"),
        ({"one_against_rest": 1.5, "classes": ()}, "must be a text or an integer, not 1.5"),
        ({"one_against_rest": " a", "classes": ()}, "without surrounding space"),
        ({"one_against_rest": "nan", "classes": ()}, "reads as a missing value"),
        ({"one_against_rest": "a"}, "remove classes and positive"),
        ({"one_against_rest": "a", "classes": (), "positive": "b"}, "remove classes and positive"),
        ({"classes": ()}, "needs at least two classes, not 0; one_against_rest"),
    ],
)
def test_bad_labels_are_refused_with_the_schema(settings, message):
    with pytest.raises(ValueError, match=message):
        Label("y", **({"classes": ["no", "yes"]} | settings))


def test_a_schema_with_these_keys_survives_toml():
    for schema in (ONE, DROP, BOTH):
        assert Schema.from_toml(schema.to_toml()) == schema
    assert 'one_against_rest = "virginica"' in ONE.to_toml()
    assert "classes" not in ONE.to_toml()
    with pytest.raises(ValueError, match="the label is not filled in yet: give its classes"):
        Schema.from_toml(TWO.to_toml().replace('["not virginica", "virginica"]', "[]"))
