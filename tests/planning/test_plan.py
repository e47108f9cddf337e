"""Forecasts say what the solver would do, without any data."""

import json

import pytest

import privfit
from privfit.planning import forecast
from privfit.planning.assumptions import Assumptions
from privfit.planning.scene import Scene
from privfit.schema import Categorical, CountLabel, Identifier, Label, Numeric, Schema

AGE = Numeric("age", 0, 100, curve=True)
SCHEMA = Schema(
    [Identifier("id", rows_per_person=2), AGE, Numeric("pay", 0, 10), Categorical("town", ["a", "b", "c"])],
    Label("seen", ["never", "once", "often"]),
    records=900,
)
COUNTS = Schema([AGE], CountLabel("visits", 50), records=900)


@pytest.fixture(scope="module")
def small():
    return privfit.plan(4_000, 8, epsilons=(3.0, 0.05), positives=0.3, runs=3)


def test_more_budget_is_forecast_to_be_more_accurate(small):
    low, high = small.forecasts
    assert (low.epsilon, high.epsilon) == (0.05, 3.0)
    assert low.accuracy < high.accuracy
    assert low.auc < high.auc
    assert low.low < low.accuracy < low.high
    assert high.accuracy == pytest.approx(small.without_privacy, abs=0.02)
    assert small.majority == pytest.approx(0.7, abs=0.02)
    assert high.seconds > 0


def test_the_same_seed_forecasts_the_same(small):
    again = privfit.plan(4_000, 8, epsilons=(3.0,), positives=0.3, runs=3)
    assert again.forecasts[0].accuracy == small.forecasts[1].accuracy


def test_a_plan_is_shown_as_text_html_json_and_picture(small, tmp_path):
    assert "4,000 people, 8 features, 30% positive." in str(small)
    assert max(map(len, str(small).splitlines())) <= 80
    assert "<table>" in small._repr_html_()
    assert json.loads(json.dumps(small.to_dict()))["forecasts"][0]["epsilon"] == 0.05
    small.plot(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_the_svm_has_no_log_loss():
    plan = privfit.plan(500, 3, epsilons=(1.0,), model="svm", runs=2)
    assert plan.to_dict()["forecasts"][0]["log_loss"] is None
    assert plan.rows()[1][5] == "-"


def test_progress_ends_at_its_total():
    seen = []
    privfit.plan(500, 3, epsilons=(1.0,), runs=2, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_people_needed_finds_the_smallest_table_that_is_enough():
    seen = []
    answer = privfit.people_needed(
        8, accuracy=0.7, epsilon=1.0, runs=2, progress=lambda done, total: seen.append((done, total))
    )
    tried = dict(answer.tried)
    assert [done for done, _ in seen] == list(range(1, 2 * len(tried) + 1))  # after every fit
    totals = [total for _, total in seen]
    assert totals == sorted(totals, reverse=True)
    assert seen[-1][0] <= seen[-1][1]
    assert tried[answer.n] >= 0.7
    assert all(accuracy < 0.7 for n, accuracy in tried.items() if n < answer.n)
    assert str(answer).startswith(f"About {answer.n:,} people for an accuracy of 0.700 with epsilon = 1")
    assert privfit.people_needed(8, accuracy=0.7, epsilon=0.2, runs=2).n > 2 * answer.n


def test_the_largest_table_that_is_tried_is_bounded(monkeypatch):
    """An epsilon that no table can make up for ends after tables that take a minute in all."""
    tried = []

    def accuracy(scene, n, epsilon, tick):
        tried.append(n)
        return 0.5

    monkeypatch.setattr(Scene, "mean_score", accuracy)
    answer = privfit.people_needed(10, accuracy=0.7, epsilon=1e-12)
    assert answer.n is None
    assert len(tried) < 10
    assert 2_500_000 < max(tried) <= 5_000_000


def test_people_needed_says_when_no_table_is_large_enough(monkeypatch):
    monkeypatch.setattr("privfit.planning.people.MOST_TRIED_CELLS", 8 * 800)
    answer = privfit.people_needed(8, accuracy=0.7, epsilon=0.01, runs=2)
    assert answer.n is None
    assert str(answer).startswith("More than 800 people")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 5}, "n must be a whole number of at least 10, got 5"),
        ({"n": 4000.5}, "n must be a whole number"),
        ({"n": 10**9}, "plan for 25,000,000 people: with more people the model only gets better"),
        ({"n_features": 0}, "n_features must be a whole number of at least 1"),
        ({"epsilons": ()}, "epsilons must name at least one epsilon"),
        ({"epsilons": (1.0, -1.0)}, "epsilons must be positive and finite, got -1.0"),
        ({"delta": 0}, "delta must be positive"),
        ({"positives": 1.0}, "positives must be between 0 and 1"),
        ({"auc": 0.5}, "auc must be between 0.5 and 1"),
        ({"model": "forest"}, "model must be one of 'logistic', 'svm', 'linear', 'huber', got 'forest'"),
        ({"model": "poisson"}, "got 'poisson'. Poisson regression cannot be planned yet"),
        ({"model": "linear", "auc": 0.8}, "auc is about classes, and the model 'linear' predicts numbers"),
        ({"model": "svm", "r2": 0.8}, "r2 is about numbers, and the model 'svm' predicts classes; give auc"),
        ({"r2": 1.5}, "r2 must be between 0 and 1"),
        ({"classes": 1}, "classes must be a whole number of at least 2, or the share of each class"),
        ({"classes": (0.5, 0.6)}, "the share of each class, together 1"),
        ({"classes": 3, "positives": 0.2}, "give the shares of all classes alone"),
        ({"rows_per_person": 0}, "rows_per_person must be a whole number of at least 1"),
        ({"curves": -1}, "curves must be True, False or a number of edges"),
        ({"n_features": None}, "Give the number of encoded columns"),
        ({"n": None}, "Give the number of people"),
        ({"schema": SCHEMA}, "The schema declares the features; leave n_features out"),
        ({"schema": COUNTS, "n_features": None}, "is a count, and models of counts cannot be planned yet"),
        (
            {"schema": SCHEMA, "n_features": None, "classes": 4},
            "The schema declares 3 classes, and 4 were given a share",
        ),
        ({"runs": 1}, "runs must be a whole number of at least 2"),
    ],
)
def test_assumptions_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        privfit.plan(**{"n": 4_000, "n_features": 8, **settings})


@pytest.mark.slow
def test_several_classes_and_numbers_are_forecast():
    classes = privfit.plan(2_000, 6, epsilons=(1.0,), classes=(0.5, 0.3, 0.2), model="svm", runs=2)
    assert classes.shares == (0.5, 0.3, 0.2)
    assert classes.majority == pytest.approx(0.5, abs=0.02)
    assert classes.majority < classes.forecasts[0].accuracy < classes.without_privacy + 0.02
    assert "3 classes" in str(classes)
    numbers = privfit.plan(2_000, 6, epsilons=(1.0,), r2=0.6, runs=2)
    assert numbers.without_privacy == pytest.approx(0.6, abs=0.03)
    assert 0.3 < numbers.forecasts[0].r2 < 0.65
    assert 0.4 < numbers.forecasts[0].mean_absolute_error < 0.75  # .5 without privacy
    assert "R²" in str(numbers)
    assert numbers.to_dict()["forecasts"][0]["accuracy"] is None


@pytest.mark.slow
def test_a_schema_tells_features_label_curves_and_rows():
    plan = privfit.plan(schema=SCHEMA, epsilons=(1.0,), runs=2, auc=0.85)
    assert (plan.n, plan.n_features, plan.shares) == (450, 5, (1 / 3,) * 3), "900 rows are of 450 people"
    assert plan.rows_per_person == 2
    assert plan.curves is True
    assert "450 people with 2 rows each, 5 features, curves, 3 classes." in plan.heading


@pytest.mark.slow
def test_rows_of_a_person_are_planned_as_those_of_people_who_have_several():
    """Rows beyond the first tell more; three times the rows at the same noise for each person."""
    one, three = (
        privfit.plan(2_000, 8, epsilons=(0.2,), runs=4, rows_per_person=rows).forecasts[0] for rows in (1, 3)
    )
    assert three.auc > one.auc


def test_people_needed_for_numbers():
    answer = privfit.people_needed(4, wanted_r2=0.3, epsilon=1.0, runs=2)
    assert dict(answer.tried)[answer.n] >= 0.3
    assert "for an R² of 0.300" in str(answer)
    with pytest.raises(ValueError, match=r"An R² of 0.9 is out of reach: the same model without privacy has"):
        privfit.people_needed(4, wanted_r2=0.9)
    with pytest.raises(ValueError, match="Give exactly one aim: wanted_r2, of a model of numbers"):
        privfit.people_needed(4, accuracy=0.3, r2=0.5)


@pytest.mark.slow
def test_the_model_without_privacy_is_as_good_as_was_said():
    """Of 300 people with 60 columns less is learnt than the best rule knows: labels are drawn more clearly.

    The AUC of 20,000 people is known to .003, and to that of the learners' draw.
    """
    assumed = {"delta": 1e-6, "positives": 0.5, "auc": 0.85, "model": None, "runs": 2, "seed": 0}
    others = {"classes": None, "r2": None, "rows_per_person": None, "curves": None, "schema": None}
    few, many = (Scene.of(Assumptions.of(None, 60, **assumed, **others), n) for n in (300, 20_000))
    assert few.strength > 1.1 * many.strength
    for scene, n in ((few, 300), (many, 20_000)):
        assert scene.quality(scene.reference_model(n)) == pytest.approx(0.85, abs=0.02)


def test_an_accuracy_beyond_what_the_labels_allow_is_refused():
    with pytest.raises(ValueError, match=r"accuracy of 0.99 is out of reach: with AUC 0.8 .* without"):
        privfit.people_needed(8, accuracy=0.99)


def test_forecasts_need_matplotlib_for_pictures_only(small, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ValueError, match="Drawing needs matplotlib"):
        small.plot(tmp_path / "plan.png")
    assert forecast.CAUTION in str(small).replace("\n", " ")
