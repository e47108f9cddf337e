"""Effects with intervals, read in the words of the schema: one contract for every link."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from declared import trained
from inferred import COLUMNS, LABELS, published_model, with_inference

from privfit import DPLogisticRegression, Schema
from privfit.estimators.publishing import restored
from privfit.models.contrast import number_text, ratio_texts, size_text
from privfit.models.effects import INTERCEPT, NOT_ASKED, Effects
from privfit.models.inference import TOO_SMALL, UNSTEADY
from privfit.models.summary import WIDTH, Summary
from privfit.models.summary_words import FOR_THE_EFFECTS
from privfit.models.weights import weights_of
from privfit.questions import EffectCurvature, EffectGradient, EffectSpread, PersonSpread
from privfit.schema import Categorical, Label, Numeric

LINKS = list(LABELS)
ROW = {
    "age": 30,
    "income": 800.0,
    "region": "North",
    "job": "a",
    "smoker": "no",
    "health": "fair",
    "seen": "2021-03-04",
}
OTHER_ROW = {
    "age": 71,
    "income": None,
    "region": "South",
    "job": None,
    "smoker": "yes",
    "health": "good",
    "seen": "2024-01-01",
}


def scores(model, *rows):
    """The scores of the positive class, or what the predictions are the link's image of."""
    table = {name: [row[name] for row in rows] for name in rows[0]}
    if model.published().link.predicts_classes:
        positive = model.schema_.label.positive
        return (1.0 if positive == model.classes_[1] else -1.0) * model.decision_function(table)
    predicted = model.predict(table)
    return np.log(predicted) if model.published().link.name == "log" else predicted


def difference(model, before, after):
    first, second = scores(model, before, after).tolist()
    return second - first


def with_weights(model, weights):
    """The same model with other weights, the intercept last."""
    facts = replace(model.published(), weights=weights[None, :-1], intercepts=weights[-1:])
    return restored(type(model)(schema=model.schema_), facts, model.privacy_)


def contrast_by_trying(model, before, after):
    """How much each weight matters to the difference of two rows, from predictions alone."""
    units = np.eye(len(model.inference_))
    return np.array([difference(with_weights(model, unit), before, after) for unit in units])


# -- the contract -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LINKS)
def test_two_rows_differ_by_what_the_predictions_say_and_as_surely_as_their_contrast(kind):
    model = published_model(kind)
    found = model.contrast(ROW, OTHER_ROW)
    assert found.estimate == pytest.approx(difference(model, ROW, OTHER_ROW))
    a = contrast_by_trying(model, ROW, OTHER_ROW)
    expected = model.inference_.effect(a)
    assert found.std_err == pytest.approx(expected.std_err)
    assert found.interval(0.9) == pytest.approx(expected.interval(0.9))
    assert math.hypot(found.sampling, found.privacy) == pytest.approx(found.std_err)
    backwards = model.contrast(OTHER_ROW, ROW)
    assert (backwards.estimate, backwards.std_err) == pytest.approx((-found.estimate, found.std_err))


@pytest.mark.parametrize("kind", LINKS)
def test_a_ratio_is_that_of_odds_or_of_predictions(kind):
    model = published_model(kind)
    found = model.contrast(ROW, OTHER_ROW)
    tables = [{name: [cell] for name, cell in row.items()} for row in (ROW, OTHER_ROW)]
    if kind == "identity":
        assert found.ratio is None
        assert found.ratio_interval() is None
        return
    if kind == "log":
        first, second = (model.predict(table)[0] for table in tables)
    else:
        place = list(model.classes_).index(model.schema_.label.positive)
        shares = [model.predict_proba(table)[0, place] for table in tables]
        first, second = (share / (1.0 - share) for share in shares)
    assert found.ratio == pytest.approx(second / first)
    assert found.ratio_interval(0.5) == pytest.approx([math.exp(end) for end in found.interval(0.5)])


@pytest.mark.parametrize("kind", LINKS)
def test_rows_over_the_range_are_those_of_the_weights(kind):
    """An interval is translated as its weight is: same sign, same reference, same range."""
    model = published_model(kind, [fact for fact in COLUMNS if fact.name != "income"])
    yes = {"smoker": "yes"}  # a column of two words has one weight, and a row for each word
    weights = {
        (row.column, row.level or yes.get(row.column, "")): row.weight
        for row in model.weights_
        if row.level != row.reference or not row.level
    }
    effects = Effects(model.published())
    found = {(row.column, row.level): row.contrast for row in effects.over_ranges() if row.contrast}
    # cells of a region that is not listed count as no category; no such weight is estimated
    weights.pop(("region", ""))
    assert found.keys() == weights.keys()
    assert [found[key].estimate for key in weights] == pytest.approx(list(weights.values()))
    intercept = model.summary()[-1]
    assert intercept.name == INTERCEPT
    assert intercept.contrast.estimate == pytest.approx(model.weights_.intercept)


@pytest.mark.parametrize("kind", LINKS)
@pytest.mark.parametrize(
    ("name", "change", "before", "after"),
    [
        ("age (years), +1", {"age": 1}, {"age": 30}, {"age": 31}),
        ("region = South", {"region": "South"}, {"region": "East"}, {"region": "South"}),
        ("job = other", {"job": ("a", None)}, {"job": "a"}, {"job": None}),
        ("smoker = yes", {"smoker": True}, {"smoker": "no"}, {"smoker": "yes"}),
        ("health (levels), +1", {"health": "fair"}, {"health": "poor"}, {"health": "fair"}),
        ("seen (days), +365", {"seen": 365}, {"seen": "2021-01-01"}, {"seen": "2022-01-01"}),
        ("income, 1200 to 3200 $", {"income": (1200, 3200)}, {"income": 1200}, {"income": 3200}),
        ("income = other, not 0 $", {"income": (0, None)}, {"income": 0}, {"income": None}),
    ],
)
def test_a_row_of_the_summary_is_one_change_of_one_column(kind, name, change, before, after):
    model = published_model(kind)
    row = next(row for row in model.summary() if row.name == name)
    found = model.contrast(change)
    assert row.contrast.estimate == pytest.approx(found.estimate)
    assert row.contrast.std_err == pytest.approx(found.std_err)
    assert found.estimate == pytest.approx(difference(model, ROW | before, ROW | after))
    assert model.contrast(before, after).interval() == pytest.approx(found.interval())


def test_where_predictions_clip_so_does_a_contrast():
    model = published_model("logit")
    facts = model.published()
    low, high = np.zeros(facts.n_columns), np.ones(facts.n_columns)
    high[0] = 0.5  # of age, from 18 to 90: nothing changes from 54 on
    model = restored(
        DPLogisticRegression(schema=model.schema_), replace(facts, bounds=(low, high)), model.privacy_
    )
    assert model.contrast({"age": (30, 80)}).estimate == pytest.approx(
        difference(model, ROW, ROW | {"age": 80})
    )
    assert model.contrast({"age": (30, 80)}).estimate == pytest.approx(model.contrast({"age": 24}).estimate)
    names = [row.name for row in model.summary()]
    assert names[0] == "age (years), +1, up to 54"
    with pytest.raises(ValueError, match="at most 36 years"):
        model.contrast({"age": 40})
    over = Effects(model.published()).over_ranges()[0]
    assert over.contrast.estimate == pytest.approx(weights_of(model.published())[0].weight)


def test_the_rows_of_a_curve_are_public_stretches_not_those_that_the_estimates_suggest():
    """Stretches between turning points are chosen by looking at the estimates: no interval would hold."""
    first, second = published_model("logit", seed=1), published_model("logit", seed=2)
    assert [row.name for row in first.summary()] == [row.name for row in second.summary()]


# -- numbers and units ------------------------------------------------------------------------------------


def test_a_number_may_be_shown_per_several_units():
    model = published_model("logit")
    one, ten = (model.summary(per=per)[0] for per in (None, {"age": 10}))
    assert ten.name == "age (years), +10"
    assert ten.contrast.estimate == pytest.approx(10 * one.contrast.estimate)
    assert ten.contrast.pvalue == pytest.approx(one.contrast.pvalue)


@pytest.mark.parametrize(
    ("per", "reason"),
    [
        ({"agee": 1}, "which are age, seen; 'agee' is none of them"),
        ({"region": 1}, "which are age, seen; 'region' is none of them"),
        ({"income": 1}, "'income'"),
        ({"age": 100}, "at most 72 years"),
        ({"age": 0}, "nothing to compare"),
        ({"age": "ten"}, "finite number"),
    ],
)
def test_units_that_make_no_sense_are_refused(per, reason):
    with pytest.raises(ValueError, match=reason):
        published_model("logit").summary(per=per)


def test_decimals_of_a_number_show_two_digits_of_its_standard_error():
    assert [number_text(x, 0.0017) for x in (0.05, -0.05)] == ["+0.0500", "-0.0500"]
    assert [size_text(x, 23.0) for x in (1234.5, 23.0)] == ["1234", "23"]
    assert number_text(1e300, 1e290) == "+1e+300"
    assert number_text(2e-9, 1e-9) == "+2e-09"


def test_decimals_of_a_ratio_follow_its_standard_error():
    assert ratio_texts([1.0000123, 1.0000100, 1.0000146], 1.2e-6) == ("1.000012", "1.000010", "1.000015")
    assert ratio_texts([2.5, 1.2, 5.2], 0.4) == ("2.50", "1.20", "5.20")
    assert ratio_texts([1.19, 0.994, 1.43], 0.092) == ("1.19", "0.99", "1.43")
    assert ratio_texts([1e-9, 0.0, math.inf], 8.0) == ("1e-09", "0", "inf")


# -- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, "at least one column"),
        ("age", "at least one column"),
        ({"agee": 10}, "no column 'agee'; its columns are age, income, region"),
        ({"age": 73}, "at most 72 years"),
        ({"age": math.nan}, "finite number"),
        ({"age": "10"}, "finite number"),
        ({"age": True}, "finite number"),
        ({"age": (10, 30)}, "beyond its bounds, 18 and 90"),
        ({"age": ("x", 30)}, "not a number"),
        ({"age": 0}, "nothing to compare"),
        ({"income": 100}, "has a curve.*pair"),
        ({"region": "West"}, "North, East, South"),
        ({"region": "East"}, "nothing to compare"),
        ({"health": "fine"}, "poor, fair, good"),
        ({"smoker": "perhaps"}, "neither no nor yes"),
        ({"seen": ("2020-01-01", "1999-01-01")}, "beyond its bounds, 2020-01-01 and 2024-12-31"),
        ({"seen": ("2020-01-01", "soon")}, "not a date"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused_in_a_sentence(change, reason):
    with pytest.raises(ValueError, match=reason) as refusal:
        published_model("logit").contrast(change)
    assert str(refusal.value).endswith((".", "example."))


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ({"age": 30}, {"income": 3}, "same columns.*'age'"),
        ({"age": 30}, {"age": 30}, "nothing to compare"),
        ({"age": 30, "ages": 2}, {"age": 31, "ages": 2}, "no column 'ages'"),
        (pd.DataFrame({"age": [1, 2]}), {"age": 30}, "one row"),
        (pd.DataFrame({"size": [1]}), pd.DataFrame({"size": [2]}), "no column of the model"),
        ([1, 2], [3, 4], "a dict, a pandas Series or a frame"),
    ],
)
def test_rows_that_cannot_be_compared_are_refused(first, second, reason):
    with pytest.raises(ValueError, match=reason):
        published_model("logit").contrast(first, second)


def test_no_refusal_quotes_a_cell():
    model = published_model("logit")
    for name in ROW:
        with pytest.raises(ValueError, match=f"column {name!r}") as refusal:
            model.contrast({name: ("CANARY", "CANARY")})
        assert "CANARY" not in str(refusal.value)


def test_a_schema_that_refuses_missing_cells_refuses_them_here():
    model = published_model("logit", [Numeric("x", 0, 1), Categorical("c", ["a", "b"], missing="refuse")])
    with pytest.raises(ValueError, match="'c' is missing, which the schema refuses"):
        model.contrast({"c": ("a", None)})


def test_a_model_of_one_score_compares_no_classes():
    with pytest.raises(ValueError, match="this model has one score"):
        published_model("logit").contrast({"age": 1}, of="well")


def test_cells_that_the_model_treats_as_the_reference_are_nothing_to_compare():
    with pytest.raises(ValueError, match="nothing to compare"):
        published_model("logit").contrast({"region": ("East", None)})


@pytest.mark.parametrize("level", [0.0, 1.0, -1, 95, math.nan, "high", True, None])
def test_a_level_that_is_none_is_refused(level):
    model = published_model("logit")
    for read in (model.summary, lambda level: model.contrast({"age": 1}, level=level)):
        with pytest.raises(ValueError, match="level must be"):
            read(level)


def test_a_model_without_inference_says_so():
    model = trained(Schema(COLUMNS, LABELS["logit"]))
    for read in (model.summary, lambda: model.contrast({"age": 1})):
        with pytest.raises(ValueError, match="inference=True"):
            read()


# -- frames and rows ----------------------------------------------------------------------------------------


def test_rows_may_be_frames_with_other_columns():
    polars = pytest.importorskip("polars")
    model = published_model("logit")
    expected = model.contrast(ROW, OTHER_ROW)
    for make in (
        lambda row: pd.DataFrame([row | {"outcome": "well"}]),
        lambda row: pd.Series(row | {"outcome": "well"}),
        lambda row: polars.DataFrame([row | {"outcome": "well"}]),
    ):
        found = model.contrast(make(ROW), make(OTHER_ROW))
        assert (found.estimate, found.std_err, found.words) == (
            expected.estimate,
            expected.std_err,
            expected.words,
        )


def test_only_columns_that_differ_are_named():
    found = published_model("logit").contrast(ROW, ROW | {"age": 40, "region": "South"})
    assert found.words == "age: from 30 to 40 years; region: South instead of North"


def test_a_model_without_a_schema_is_read_by_its_columns():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.uniform(0, 4, (60, 2)), columns=["a", "b"])
    model = DPLogisticRegression(feature_bounds=(0, 4), noise="seeded", random_state=1).fit(X, X["a"] > 2)
    facts = with_inference(model.published())
    model = restored(DPLogisticRegression(), facts, model.privacy_)
    assert [row.name for row in model.summary()] == ["a, +1", "b, +1", INTERCEPT]
    assert model.contrast({"a": 2}).estimate == pytest.approx(2 * model.coef_[0, 0])
    assert model.contrast({"a": 1, "b": 1}, {"a": 3, "b": 0}).estimate == pytest.approx(
        2 * model.coef_[0, 0] - model.coef_[0, 1]
    )
    over = Effects(facts).over_ranges()
    assert [row.contrast.estimate for row in over] == pytest.approx([row.weight for row in weights_of(facts)])
    for change, reason in (
        ({"a": (0, 5)}, "beyond its bounds, 0 and 4"),
        ({"a": 5}, "at most 4"),
        ({"c": 1}, "'c'"),
    ):
        with pytest.raises(ValueError, match=reason):
            model.contrast(change)


# -- the table ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LINKS)
def test_the_text_is_a_table_of_at_most_a_hundred_columns(kind):
    summary = published_model(kind).summary(0.9)
    lines = str(summary).split("\n")
    assert max(map(len, lines)) <= WIDTH == 100
    heading = next(line for line in lines if "std err" in line)
    ratio = {"identity": [], "log": ["rate", "ratio"]}.get(kind, ["odds", "ratio"])
    assert heading.split() == ["coef", "std", "err", "privacy", "z", "p", *ratio, "0.05", "0.95"]
    assert "Unit of privacy: one record" in str(summary)
    assert "12,000" in str(summary)
    assert "1e-06" in str(summary)
    (reference,) = (line for line in lines if line.startswith("region = East"))
    assert reference.endswith("(reference)")
    unit = {"identity": "the predicted wage, in euros", "log": "the logarithm of the predicted visits"}
    assert f"change of {unit.get(kind, 'the log odds of outcome = ')}" in " ".join(lines)


def test_the_header_says_which_part_of_the_budget_went_into_intervals():
    names = [question.what for question in (EffectGradient, EffectCurvature, EffectSpread, PersonSpread)]
    assert all(name.endswith(FOR_THE_EFFECTS) for name in names)
    facts = published_model("logit").published()
    spending = {"gradient": 0.4, **dict.fromkeys(names, 0.1), "norms": 0.3}
    told = dict(Summary.of(replace(facts, privacy=facts.privacy | {"spending": spending})).facts)
    assert told["Spent on intervals"] == "30% of the budget"
    assert "Spent on intervals" not in dict(Summary.of(facts).facts)


def test_the_header_says_whom_the_promise_is_about_and_what_it_rests_on():
    facts = published_model("logit").published()
    people = replace(facts, privacy=facts.privacy | {"records_per_person": 4})
    assert dict(Summary.of(people).facts)["Unit of privacy"] == "one person, up to 4 records each"
    assert dict(Summary.of(facts).facts)["Noise"] == "seeded: not for publication"
    secure = replace(facts, privacy=facts.privacy | {"assumptions": []}, weighting={"max": 2.0})
    assert "Noise" not in dict(Summary.of(secure).facts)
    assert dict(Summary.of(secure).facts)["Records"] == "12,000, weighted"
    none = replace(facts, privacy=facts.privacy | {"promise": None}, schema=facts.schema | {"records": None})
    assert dict(Summary.of(none).facts)["Privacy"] == "none"
    assert dict(Summary.of(none).facts)["Records"] == "number not declared as public"


def test_a_refused_effect_says_so_and_shows_no_number():
    model = published_model("logit", sigma=1e5)
    summary = model.summary()
    text = str(summary)
    assert (
        text.count("too little budget to say") == len(summary) - 3 + 1
    )  # all but the references, and a note
    assert summary.to_frame()["coef"].drop(["region = East", "job = a", "smoker = no"]).isna().all()
    found = model.contrast({"age": 10})
    assert np.isnan(found.interval()).all()
    assert found.refused
    assert "too little budget to say" in str(found)
    assert "nan" not in str(found)


def test_both_words_of_a_column_have_a_row_the_first_of_them_as_reference():
    model = published_model("logit")
    rows = {row.name: row for row in model.summary() if row.column == "smoker"}
    assert list(rows) == ["smoker = no", "smoker = yes"]
    assert rows["smoker = no"].contrast is None
    assert rows["smoker = yes"].level == "yes"
    frame = model.summary().to_frame()
    assert frame["is_reference"].sum() == 3
    assert frame.loc["smoker = no", "coef"] == 0.0


def test_the_amount_of_a_number_is_explained_where_there_is_one():
    explained = "if it grows by the amount after its name, such as +1"
    assert explained in " ".join(published_model("logit").summary().notes)
    model = published_model("logit", [Categorical("region", ["North", "East"])])
    assert explained not in " ".join(model.summary().notes)


@pytest.mark.parametrize("kind", LINKS)
def test_what_helps_follows_from_what_was_released(kind):
    """Where V is mostly noise, twice the epsilon makes the standard error less well known, not better."""
    model = published_model(kind)
    noisy = replace(model.inference_, sigma_spread=1e9, sigma_gradient=1e4)
    model.inference_ = noisy
    assert model.contrast({"age": 1}).refused == UNSTEADY
    less = {
        name: 0.5 * getattr(noisy, name) for name in ("sigma_spread", "sigma_gradient", "sigma_curvature")
    }
    model.inference_ = replace(noisy, **less)
    assert model.contrast({"age": 1}).refused is not None  # as the reason says
    notes = " ".join(model.summary().notes)
    assert "larger epsilon" not in notes
    assert ("narrower declared bounds" in notes) == (kind in ("identity", "log"))
    assert "twice the epsilon would not change that" in notes
    people = replace(model.published(), privacy=model.published().privacy | {"records_per_person": 4})
    assert "fewer records per person" in " ".join(Summary.of(people).notes)
    model.inference_ = replace(
        noisy, sigma_spread=1e5, sigma_gradient=1.0
    )  # less noise makes it better known
    assert model.contrast({"age": 1}).refused == TOO_SMALL
    assert "More records, fewer columns or a larger epsilon help" in " ".join(model.summary().notes)


def test_the_largest_effects_are_those_with_the_largest_z():
    model = published_model("logit")
    whole = model.summary()
    shown = whole.top(4)
    sizes = sorted((abs(row.contrast.z) for row in whole if row.contrast is not None), reverse=True)
    assert (
        sorted((abs(row.contrast.z) for row in shown if row.contrast is not None), reverse=True) == sizes[:4]
    )
    assert [row for row in whole if row in shown] == list(shown)
    columns = {row.column for row in shown if row.contrast is not None}
    assert {row.column for row in shown if row.contrast is None} == columns & {"region", "job", "smoker"}
    assert f"{len(sizes) - 4} effects with smaller z, or without one, are left out." in str(shown)
    assert str(whole.top(100)) == str(whole)


def test_a_reason_of_its_own_is_told():
    model = published_model("logit")
    curvature = model.inference_.curvature.copy()
    curvature[0, 0] = -1e9
    model.inference_ = replace(model.inference_, curvature=curvature)
    reason = model.contrast({"age": 1}).refused
    assert reason != TOO_SMALL
    assert " ".join(reason.split()) in " ".join(str(model.summary()).split())


def test_effects_that_nobody_asked_for_are_told_from_those_that_are_refused():
    model = published_model("logit")
    model.inference_ = replace(model.inference_, chosen=("age", "region=South", "region=North"))
    summary = model.summary()
    asked = {row.name for row in summary if row.contrast is not None and row.contrast.refused != NOT_ASKED}
    assert asked == {"age (years), +1", "region = South", "region = North"}
    assert "too little budget" not in str(summary)
    assert model.contrast({"region": ("South", "North"), "age": 3}).refused is None
    assert model.contrast({"smoker": "yes", "age": 3}).refused == NOT_ASKED


def test_a_frame_has_the_numbers_and_json_takes_the_records():
    model = published_model("log")
    summary = model.summary(0.9)
    frame = summary.to_frame()
    row = frame.loc["age (years), +1"]
    found = model.contrast({"age": 1}, level=0.9)
    assert (row["coef"], row["std_err"], row["pvalue"]) == (found.estimate, found.std_err, found.pvalue)
    assert (row["low"], row["high"]) == found.interval()
    assert (row["rate_ratio"], row["rate_ratio_low"], row["rate_ratio_high"]) == (
        found.ratio,
        *found.ratio_interval(),
    )
    assert frame.loc["region = East", "is_reference"]
    assert frame.loc["region = East", "coef"] == 0.0
    assert np.isnan(frame.loc["region = East", "std_err"])
    assert json.loads(json.dumps(summary.records(), allow_nan=False)) == summary.records()


def test_names_of_strangers_are_shown_and_do_nothing():
    long = "Donaudampfschifffahrt" * 20
    columns = [Numeric("<script>\x1b[31m", 0, 1, unit="<b>"), Categorical(long, ["<i>", f"{long} b"])]
    schema = Schema(columns, Label("<u>", ["<b>no", "yes"]))
    facts = with_inference(trained(schema).published())
    summary, found = Summary.of(facts), Effects(facts).of({"<script>\x1b[31m": 1})
    for text in (str(summary), str(found)):
        assert "\x1b" not in text
        assert max(map(len, str(summary).split("\n"))) <= WIDTH
    for html in (summary._repr_html_(), found._repr_html_()):
        assert not any(f"<{tag}>" in html for tag in ("script", "b", "i", "u"))
        assert "\x1b" not in html


def test_a_notebook_gets_the_same_numbers_and_fades_what_may_be_noise():
    model = published_model("logit")
    estimate = np.where(np.arange(len(model.inference_)) < 3, 0.0, model.inference_.estimate)
    model.inference_ = replace(model.inference_, estimate=estimate)
    summary = model.summary()
    html = summary._repr_html_()
    unsure = [row for row in summary if row.contrast is not None and not row.contrast.is_sure]
    assert unsure
    assert len(unsure) < len(summary) - 3
    for row in summary:
        texts = summary.cells(row)
        for text in [texts] if isinstance(texts, str) else texts:
            assert text.replace("<", "&lt;") in html
    refused = sum(row.contrast is None or row.contrast.refused is not None for row in summary)
    answered = [row for row in unsure if row.contrast.refused is None]
    assert html.count("opacity") == refused + len(answered) * len(summary.heading())
