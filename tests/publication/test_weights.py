"""Weights as a table for people: differences from a reference that add up to the model's own scores."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from declared import LABEL, schema_of, trained
from jsonschema import validate

import privfit
from privfit import DPLinearSVC, DPLogisticRegression, Schema
from privfit.models.separators import with_separators
from privfit.models.weights import weights_of
from privfit.publication import json_schema, to_json
from privfit.schema import Boolean, Categorical, Label, Numeric, Ordinal

TOWNS = ["Bern", "<b>Rome", "Oslo"]
# by policy: which level, by name, a cell that is missing or not listed has
OTHER_CELLS = {"fill": "", "fill Oslo": "Oslo", "indicator": "other"}


def town(policy="fill", **settings):
    missing, *fill = policy.split()
    return Categorical("town", TOWNS, missing=missing, fill=fill[0] if fill else None, **settings)


def added_up(weights, levels, numbers):
    """The score of a record by the table alone: its levels, and where its numbers are in their range."""
    score = weights.intercept
    for row in weights:
        if row.reference:
            score += row.weight * (levels[row.column] == row.level)
        else:
            score += row.weight * numbers[row.column].get(row.level, 0.0)
    return score


@pytest.mark.parametrize("kind", [DPLogisticRegression, DPLinearSVC])
@pytest.mark.parametrize("positive", ["well", "unwell"])
@pytest.mark.parametrize("reference", [None, "Oslo"])
@pytest.mark.parametrize("policy", OTHER_CELLS)
def test_intercept_and_differences_add_up_to_the_score(policy, reference, positive, kind):
    columns = [town(policy, reference=reference), Numeric("age", 20, 60, missing="indicator"), Boolean("ill")]
    schema = Schema(columns, Label("outcome", ["well", "unwell"], positive=positive))
    model = trained(schema, kind=kind)
    weights = model.weights_
    sign = 1.0 if positive == "well" else -1.0  # of the classes in sorted order, well is the second
    for cell in (*TOWNS, None, "Atlantis"):
        for age, place in ((20.0, {"": 0.0}), (50.0, {"": 0.75}), (None, {"other": 1.0})):
            table = {"town": [cell], "age": [age], "ill": ["true"]}
            level = cell if cell in TOWNS else OTHER_CELLS[policy]
            score = added_up(weights, {"town": level}, {"age": place, "ill": {"": 1.0}})
            assert score == pytest.approx(sign * float(model.decision_function(table)[0]))
    assert weights.positive == positive
    assert sum(row.weight == 0.0 for row in weights) == 1
    assert [row.level for row in weights if row.level and row.level == row.reference] == [reference or "Bern"]


def test_levels_that_drift_together_are_shown_as_the_same():
    """A number added to all levels and taken from the intercept changes no score, and no row."""
    facts = trained(schema_of(town("indicator"), Ordinal("health", ["poor", "good"]))).published()
    drifted = replace(
        facts, weights=facts.weights + np.array([8.0] * 4 + [0.0]), intercepts=facts.intercepts - 8
    )
    before, after = weights_of(facts), weights_of(drifted)
    assert [row.weight for row in after] == pytest.approx([row.weight for row in before])
    assert after.intercept == pytest.approx(before.intercept)


def test_the_table_says_what_each_row_is_compared_with():
    columns = [
        town(reference="Oslo", unit="in Europe"),
        Categorical("job", ["a", "b"], missing="indicator"),
        Numeric("age", 18, 90, unit="years", missing="indicator"),
    ]
    weights = trained(schema_of(*columns)).weights_
    assert [(row.column, row.level, row.unit) for row in weights] == [
        ("town", "Bern", "instead of Oslo in Europe"),
        ("town", "<b>Rome", "instead of Oslo in Europe"),
        ("town", "Oslo", "reference"),
        ("town", "", "missing or not listed, instead of Oslo in Europe"),
        ("job", "a", "reference"),
        ("job", "b", "instead of a"),
        ("job", "other", "missing or not listed, instead of a"),
        ("age", "", "from 18 to 90 years"),
        ("age", "other", "missing or not readable, instead of 18 years"),
    ]
    lines = str(weights).splitlines()
    assert lines[0].split() == ["column", "level", "weight", "odds", "ratio", "change"]
    assert lines[3].split() == ["town", "Oslo", "0", "1", "reference"]
    words = " ".join(lines[10:])
    assert "if the category applies instead of its column's reference" in words
    assert "from the lowest to the highest declared value" in words
    assert "Positive weights favour unwell." in words
    assert f"The intercept, {weights.intercept:+.4g}, is the score of a record with every reference" in words
    assert max(map(len, lines[10:])) <= 100


def test_the_raw_weights_stay_in_coef_and_in_the_file():
    model = trained(schema_of(town()))
    raw = json.loads(to_json(model.published()))
    assert raw["weights"] == model.coef_.tolist()
    assert raw["intercepts"] == [model.intercept_[0]] != [model.weights_.intercept]
    assert len(model.weights_) == len(raw["weights"][0]) + 1  # what is no town at all


def test_odds_ratios_are_those_of_logistic_models_alone():
    rows = trained(schema_of(town())).weights_
    assert [row.odds_ratio for row in rows] == pytest.approx(np.exp([row.weight for row in rows]))
    svm = trained(schema_of(town()), kind=DPLinearSVC).weights_
    assert {row.odds_ratio for row in svm} == {None}
    assert "odds" not in str(svm) + svm._repr_html_()
    facts = trained(schema_of(town())).published()
    huge = weights_of(replace(facts, weights=np.array([[0.0, 0.0, 1e300]])))
    assert huge[2].odds_ratio == 0.0 != huge[3].odds_ratio  # speaks for the first class
    assert weights_of(replace(facts, weights=np.array([[0.0, 0.0, -1e300]])))[2].odds_ratio == np.inf


def test_notebooks_show_a_table_in_which_names_are_text():
    html = trained(schema_of(town())).weights_._repr_html_()
    assert html.startswith("<table><caption>Weights</caption><thead><tr><th scope=")
    assert '<th scope="row">town</th><td>&lt;b&gt;Rome</td>' in html
    assert "<b>" not in html
    assert html.count("<tr>") == 5
    assert "column&#x27;s reference" in html
    assert "reference</td></tr>" in html


def test_the_table_can_be_pickled_and_made_a_frame_of():
    weights = trained(schema_of(town())).weights_
    again = pickle.loads(pickle.dumps(weights))
    assert again == weights
    assert str(again) == str(weights)
    frame = pd.DataFrame(weights)
    assert frame.columns.tolist() == list(weights[0]._fields)


def test_a_model_that_divides_by_the_norm_says_so():
    facts = replace(trained(schema_of(town())).published(), unit_rows=True)
    assert "The score is then divided by the norm" in " ".join(str(weights_of(facts)).split())


@pytest.mark.parametrize("declared", ["Oslo", 7, "07"])
def test_a_reference_is_kept_as_its_category_is_written_and_only_where_it_is_set(declared):
    categories = TOWNS if declared == "Oslo" else [1, 7]
    schema = Schema([Categorical("town", categories, reference=declared)], LABEL)
    assert schema.to_dict()["columns"][0]["reference"] == str(declared).lstrip("0")
    assert Schema.from_toml(schema.to_toml()) == Schema.from_dict(schema.to_dict()) == schema
    unset = Schema([Categorical("town", categories)], LABEL)
    assert "reference" not in unset.to_toml()
    assert "reference" not in unset.to_dict()["columns"][0]


def test_a_reference_is_part_of_a_model_file_and_changes_no_score(tmp_path):
    plain, compared = (trained(schema_of(town(reference=reference))) for reference in (None, "Oslo"))
    compared.save(tmp_path / "model.json")
    validate(json.loads((tmp_path / "model.json").read_text()), json_schema())
    loaded = privfit.load(tmp_path / "model.json")
    assert loaded.weights_ == compared.weights_ != plain.weights_
    assert loaded.weights_[2].weight == 0.0
    table = {"town": [*TOWNS, None]}
    assert np.array_equal(loaded.decision_function(table), plain.decision_function(table))


@pytest.mark.parametrize("reference", ["Paris", "", None, 3, ["Bern"]])
def test_a_reference_that_is_no_category_is_refused_by_column(reference):
    if reference is None:
        reference = float("nan")
    with pytest.raises(ValueError, match=r"reference of column 'town' is none of its categories\.$"):
        town(reference=reference)


@pytest.mark.parametrize("table", ["ordinal", "boolean", "numeric"])
def test_columns_of_one_number_have_no_reference(table):
    keys = {"ordinal": 'order = ["a", "b"]', "boolean": "", "numeric": "low = 0\nhigh = 1"}[table]
    text = f'[[columns]]\nname = "x"\ntype = "{table}"\n{keys}\nreference = "a"\n[label]\nname = "y"\n'
    with pytest.raises(ValueError, match="column 'x' has an unknown key 'reference'"):
        Schema.from_toml(text + 'classes = ["a", "b"]\n')


def test_columns_of_numbers_without_a_schema_add_up_too():
    rng = np.random.default_rng(0)
    X = rng.uniform(5, 9, (50, 3))
    model = DPLogisticRegression(classes=(0, 1), feature_bounds=(4, 10)).fit(X, rng.integers(0, 2, 50))
    weights = weights_of(model.published())
    assert [(row.column, row.unit) for row in weights] == [(f"column {i}", "from 4 to 10") for i in range(3)]
    scores = weights.intercept + (X - 4) / 6 @ [row.weight for row in weights]
    assert scores == pytest.approx(model.decision_function(X))
    unbounded = weights_of(replace(model.published(), bounds=None))
    assert [row.weight for row in unbounded] == model.coef_[0].tolist()
    assert unbounded.intercept == model.intercept_[0]
    assert "a record with zeros only" in str(unbounded)


# -- bounds that a fit bought


def skewed(kind=DPLogisticRegression, **curve):
    """A model of amounts that stay far below the declared bound, so that a fit buys a lower one."""
    amounts = np.random.default_rng(0).exponential(1_000.0, 4_000)
    table = {"amount": amounts, "ill": amounts > 700.0}
    schema = Schema([Numeric("amount", 0, 100_000, unit="$", **curve)], Label("ill", [False, True]))
    settings = {"noise": "seeded", "random_state": 0, "n_records": 4_000}
    return kind(epsilon=1.0, delta=1e-6, schema=schema, **settings).fit(table)


def test_a_number_changes_the_score_no_further_than_to_the_bound_that_was_bought():
    model = skewed()
    bound = 100_000 * float(model.feature_bounds_[1][0])
    assert bound < 50_000
    (row,) = model.weights_
    start, half, stop, end = model.decision_function({"amount": [0.0, bound / 2, bound, 100_000.0]})
    assert row.weight == pytest.approx(end - start)
    assert stop == end
    assert abs(half - start) < abs(end - start)
    assert row.unit == with_separators(f"from 0 to 100,000 $, all of that by {bound:.6g}")
    assert model.weights_.intercept == pytest.approx(start)


def test_a_curve_is_level_beyond_the_bound_that_was_bought():
    model = skewed(curve=[50_000])
    assert model.feature_bounds_[1][0] < 1.0
    curve = model.curves_["amount"]
    places = np.linspace(0.0, 100_000.0, 65)
    scores = model.decision_function({"amount": places})
    drawn = np.interp(places, curve.at, curve.to_dict()["effect"])
    np.testing.assert_allclose(drawn, scores - scores[0], atol=1e-9)
