"""Curves of published models: their points, their words and their rows in the table of weights."""

import datetime
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from declared import schema_of, trained
from jsonschema import validate
from test_several_scores import NAMES, SOFTMAX, of_classes, of_counts, of_numbers

import privfit
from privfit.models.curve_picture import ticks
from privfit.models.curves import curves_of
from privfit.models.fitted_curve import FittedCurve
from privfit.models.stretches import MOST_STRETCHES, halfway, turning_points
from privfit.models.weights import weights_of
from privfit.publication import json_schema, to_json
from privfit.schema import Categorical, Date, Integer, Label, Numeric, Schema

AGE = Numeric("age", 20, 60, unit="years", missing="indicator", curve=[25, 33.3, 50])
BORN = Date("born", "1920-01-01", "2010-12-31", curve=["1950-06-01", "1990-01-01"])
TOWN = Categorical("town", ["Bern", "Rome"])


def with_heights(model, column, heights):
    """The same facts with a curve of these heights, for the positive class, which comes first."""
    facts = model.published()
    places = [j for j, name in enumerate(facts.columns) if name.startswith(f"{column}[")]
    weights = facts.weights.copy()
    weights[:, places] = -np.diff(heights)
    return replace(facts, weights=weights)


# -- points -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positive", ["well", "unwell"])
def test_effects_are_differences_of_scores(positive):
    model = trained(Schema([TOWN, AGE, BORN], Label("outcome", ["well", "unwell"], positive=positive)))
    sign = 1.0 if positive == "well" else -1.0  # of the classes in sorted order, well is the second
    assert list(model.curves_) == ["age", "born"]
    for name, curve in model.curves_.items():
        plain = {"town": ["Bern"], "age": [20.0], "born": ["1920-01-01"]}
        (start,) = sign * model.decision_function(plain)
        for at, effect in zip(*curve.to_dict().values(), strict=True):
            (score,) = sign * model.decision_function(plain | {name: [at]})
            assert effect == pytest.approx(score - start)


def test_the_points_are_the_declared_ones():
    curves = trained(schema_of(AGE, BORN, TOWN)).curves_
    assert curves["age"].at == [20.0, 25.0, 33.3, 50.0, 60.0]
    assert curves["born"].at == [
        datetime.date(1920, 1, 1),
        datetime.date(1950, 6, 1),
        datetime.date(1990, 1, 1),
        datetime.date(2010, 12, 31),
    ]
    frame = pd.DataFrame(curves["age"].to_dict())
    assert frame.dtypes.to_dict() == {"at": float, "effect": float}
    assert frame["effect"][0] == 0.0


def test_several_classes_have_an_effect_each():
    model = of_classes(SOFTMAX, columns=[TOWN, AGE])
    (curve,) = curves_of(model).values()
    columns = curve.to_dict()
    assert list(columns) == ["at", *(f"effect on {name}" for name in NAMES)]
    assert np.sum([columns[f"effect on {name}"] for name in NAMES], axis=0) == pytest.approx(0.0)
    first = model.weights[:, 2] - model.weights[:, 2].mean()  # of the piece from 20 to 25
    assert [columns[f"effect on {name}"][1] for name in NAMES] == pytest.approx(first)
    assert curve.of_class("ill").to_dict() == {"at": columns["at"], "effect": columns["effect on ill"]}


def test_a_model_without_curves_has_none():
    for schema in (schema_of(TOWN), schema_of(Integer("x", 0, 1, curve=True), TOWN)):
        curves = trained(schema).curves_
        assert curves == {}
        assert "no column of this model has a curve" in repr(curves) + curves._repr_html_()


# -- words --------------------------------------------------------------------------------------------------


def told(*heights, wiggle=0.1):
    return turning_points(np.array([heights], dtype=float), wiggle)


def test_a_curve_turns_where_it_does():
    assert told(0, 1, 2, 3) == [0, 3]
    assert told(0, 1, 3, 1, 0) == [0, 2, 4]
    assert told(0, 1, 1, -1, -1, 2) == [0, 2, 4, 5]
    assert told(0, 0, 0) == [0, 2]


def test_small_wiggles_are_left_out():
    assert told(0, 1, 0.95, 2, 3) == [0, 4]
    assert told(0.05, 0, 2, 3) == [0, 3]
    assert told(0, 2, 3, 2.95) == [0, 3]
    assert told(0, 1, 0.95, 2, 0) == [0, 3, 4]
    assert told(0, 0.05, 0, 0.06, 0.01) == [0, 4]


def test_there_are_few_stretches_whatever_the_curve():
    rng = np.random.default_rng(0)
    for scores in (1, 7):
        for size in (1.0, 1e-300, 1e307):
            places = turning_points(size * rng.normal(size=(scores, 40)), 0.0)
            assert places[0] == 0
            assert places[-1] == 39
            assert len(places) <= MOST_STRETCHES + 1
    assert len(told(*[0, 1] * 10)) <= MOST_STRETCHES + 1


def test_halfway_is_between_two_knots():
    assert halfway(np.array([0.0, 10.0, 20.0]), np.array([1.0, 4.0, 5.0])) == pytest.approx(20 / 3)
    assert halfway(np.array([0.0, 10.0, 20.0]), np.array([1.0, 0.0, -9.0])) == pytest.approx(10 + 40 / 9)


def test_a_curve_in_words():
    rises = with_heights(trained(schema_of(AGE)), "age", [0.0, 1.0, 1.2, 1.5, 0.5])
    (curve,) = curves_of(rises).values()
    said = "rises by 1.5 from 20 to 50 years, half of that by 24, then falls by 1 to 60 years"
    assert curve.in_words() == said
    assert repr(curve) == f"age: {said}."
    level = with_heights(trained(schema_of(AGE)), "age", [0.0] * 5)
    assert curves_of(level)["age"].in_words() == "is level from 20 to 60 years"


def test_a_declared_direction_is_said():
    up = with_heights(trained(schema_of(Integer("kids", 0, 9, monotone="up", curve=[2]))), "kids", [0, 1, 2])
    assert curves_of(up)["kids"].in_words() == (
        "rises by 2 from 0 to 9, half of that by 2, never falling, as declared"
    )
    down = with_heights(
        trained(schema_of(Integer("kids", 0, 9, monotone="down", curve=[4]))), "kids", [0, 0, -1]
    )
    assert "never rising, as declared" in weights_of(down)[0].unit


def test_wiggles_of_a_low_curve_beside_a_high_one_are_left_out():
    other = Numeric("other", 0, 1, curve=[0.5])
    model = trained(schema_of(AGE, other))
    low = with_heights(model, "age", [0.0, 0.3, 0.0, 0.2, 0.1])
    high = replace(low, weights=np.append(low.weights[:, :5], [[9.0, 9.0]], axis=1))
    calm = replace(low, weights=np.append(low.weights[:, :5], [[0.1, 0.1]], axis=1))
    assert len(curves_of(high)["age"].stretches) == 1
    assert len(curves_of(calm)["age"].stretches) == 4


# -- the table of weights -----------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_stretch_and_none_for_a_piece():
    wide = Numeric("age", 20, 60, unit="years", missing="indicator", curve=20)
    model = trained(schema_of(TOWN, wide))
    rows = [row for row in model.weights_ if row.column == "age"]
    assert len(model.coef_[0]) == 24
    assert 2 <= len(rows) <= MOST_STRETCHES + 1
    *stretches, other = rows
    assert (other.level, other.unit) == ("other", "missing or not readable, instead of 20 years")
    assert {row.level for row in stretches} == {""}
    high, low, missing = (
        -float(model.decision_function({"town": ["Bern"], "age": [age]})[0]) for age in (60, 20, None)
    )
    assert sum(row.weight for row in stretches) == pytest.approx(high - low)
    assert other.weight == pytest.approx(missing - low)
    assert model.weights_.intercept == pytest.approx(low)
    assert stretches[0].odds_ratio == pytest.approx(np.exp(stretches[0].weight))
    assert "A number with a curve has a row for each stretch" in " ".join(str(model.weights_).split())
    assert "curve" not in str(trained(schema_of(TOWN)).weights_)


def test_the_stretches_of_a_curve_stay_together_and_in_order_where_the_largest_weights_come_first():
    facts = with_heights(trained(schema_of(TOWN, AGE)), "age", [0.0, 1.0, 2.0, -1.0, 0.5])
    facts = replace(facts, weights=np.append([[0.0, 1.7]], facts.weights[:, 2:], axis=1))
    facts.weights[0, -1] = 0.0
    rows = weights_of(facts).by_size()
    assert [(row.column, row.level, round(row.weight, 9)) for row in rows][:4] == [
        ("age", "", 2.0),
        ("age", "", -3.0),
        ("age", "", 1.5),
        ("town", "Rome", -1.7),
    ]


def test_classes_share_their_stretches():
    model = of_classes(SOFTMAX, columns=[TOWN, Numeric("age", 20, 60, curve=20)])
    lines = [line for line in weights_of(model).lines if line[0].column == "age"]
    assert 1 <= len(lines) <= MOST_STRETCHES
    curve = curves_of(model)["age"]
    for place, name in enumerate(NAMES):
        assert sum(line[place].weight for line in lines) == pytest.approx(curve.of_class(name).heights[0, -1])
        assert {line[place].label for line in lines} == {name}


@pytest.mark.parametrize("made_up", [of_numbers, of_counts])
def test_numbers_and_counts_have_curves_in_their_units(made_up):
    weights = weights_of(made_up([TOWN, AGE]))
    rows = [row for row in weights if row.column == "age" and not row.level]
    curve = curves_of(made_up([TOWN, AGE]))["age"]
    assert sum(row.weight for row in rows) == pytest.approx(curve.heights[0, -1])
    assert all((row.rate_ratio is None) == (made_up is of_numbers) for row in rows)


# -- pictures -----------------------------------------------------------------------------------------------


def test_notebooks_draw_a_curve_and_escape_its_name():
    curves = trained(schema_of(Numeric("<script>", 0, 1, curve=3), AGE)).curves_
    html = curves._repr_html_()
    assert html.count("<svg") == html.count("</svg>") == html.count('role="img"') == 2
    assert "<script>" not in html
    assert "&lt;script&gt;: " in html
    classes = curves_of(of_classes(SOFTMAX, columns=[TOWN, AGE]))["age"]
    assert classes._repr_html_().count("<svg") == 3
    assert "score of &lt;b&gt;well" in classes._repr_html_()
    assert repr(classes).count("\nage, score of") == 2


def test_a_picture_of_any_weights_is_drawn():
    for weights in ([[0.0] * 4], [[1e308] * 4], [[1e308, -1e308, 1e308, 1e308]], [[5e-324] * 4]):
        fact = Numeric("x", 0, 1, curve=[0.2, 0.4, 0.6])
        model = trained(schema_of(fact)).published()
        with np.errstate(over="ignore", invalid="ignore"):
            (curve,) = curves_of(replace(model, weights=np.array(weights))).values()
            assert isinstance(curve, FittedCurve)
            svg = curve._repr_html_()
        assert "nan" not in svg.split("aria-label")[0] + svg.split("points=")[1]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 0.0), (-2.1, 8.5), (0.0, 7e-9), (-40_000, 3e6)])
def test_ticks_are_round_and_few(low, high):
    values = ticks(low, high)
    assert 0.0 in values
    assert 2 <= len(values) <= 5
    assert all(low <= value <= high for value in values)


# -- files --------------------------------------------------------------------------------------------------


def test_a_file_keeps_the_curves(tmp_path):
    model = trained(schema_of(AGE, BORN, Integer("kids", 0, 9, curve=True), TOWN))
    text = to_json(model.published())
    validate(json.loads(text), json_schema())
    (tmp_path / "model.json").write_text(text)
    again = privfit.load(tmp_path / "model.json")
    assert repr(again.curves_) == repr(model.curves_)
    cells = {"age": [30, None], "born": ["1970-01-01", None], "kids": [3, 99], "town": ["Bern", "?"]}
    assert np.array_equal(again.decision_function(cells), model.decision_function(cells))


def test_a_file_whose_edges_are_not_those_of_its_weights_is_refused(tmp_path):
    written = json.loads(to_json(trained(schema_of(AGE)).published()))
    written["preprocessing"]["schema"]["columns"][0]["curve"] = [25, 33.3, 51]
    (tmp_path / "model.json").write_text(json.dumps(written))
    with pytest.raises(ValueError, match=r"no model file: its schema does not name its weights\.$"):
        privfit.load(tmp_path / "model.json")
