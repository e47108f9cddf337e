"""Forecasts say what the solver would do, without any data."""

import json

import pytest

import privfit
from privfit.planning import forecast


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

    monkeypatch.setattr(forecast.Scene, "mean_accuracy", accuracy)
    answer = privfit.people_needed(10, accuracy=0.7, epsilon=1e-12)
    assert answer.n is None
    assert len(tried) < 10
    assert 2_500_000 < max(tried) <= 5_000_000


def test_people_needed_says_when_no_table_is_large_enough(monkeypatch):
    monkeypatch.setattr("privfit.planning.people.LARGEST", 8 * 800)
    answer = privfit.people_needed(8, accuracy=0.7, epsilon=0.01, runs=2)
    assert answer.n is None
    assert str(answer).startswith("More than 800 people")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 5}, "n must be a whole number of at least 10, got 5"),
        ({"n": 4000.5}, "n must be a whole number"),
        ({"n": 10**9}, "plan for 25,000,000 people: with more people it only gets better"),
        ({"n_features": 0}, "n_features must be a whole number of at least 1"),
        ({"epsilons": ()}, "epsilons must name at least one epsilon"),
        ({"epsilons": (1.0, -1.0)}, "epsilons must be positive and finite, got -1.0"),
        ({"delta": 0}, "delta must be positive"),
        ({"positives": 1.0}, "positives must be between 0 and 1"),
        ({"auc": 0.5}, "auc must be between 0.5 and 1"),
        ({"model": "forest"}, "model must be 'logistic' or 'svm', got 'forest'"),
        ({"model": "linear"}, "Plans are for models of two classes: model must be .logistic. or .svm., got"),
        ({"runs": 1}, "runs must be a whole number of at least 2"),
    ],
)
def test_assumptions_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        privfit.plan(**{"n": 4_000, "n_features": 8, **settings})


def test_an_accuracy_beyond_what_the_labels_allow_is_refused():
    with pytest.raises(ValueError, match=r"accuracy of 0.99 is out of reach: with AUC 0.8 .* without"):
        privfit.people_needed(8, accuracy=0.99)


def test_forecasts_need_matplotlib_for_pictures_only(small, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ValueError, match="Drawing needs matplotlib"):
        small.plot(tmp_path / "plan.png")
    assert forecast.CAUTION in str(small).replace("\n", " ")
