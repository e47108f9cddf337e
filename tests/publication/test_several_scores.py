"""Weights of models with several classes, and of models of numbers and counts, as tables and pages."""

import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest
from declared import schema_of, trained

from privfit import Schema
from privfit.models.links import IDENTITY, LOG, SIGN, SOFTMAX
from privfit.models.targets import Classes, Counts, Interval
from privfit.models.weights import weights_of
from privfit.report import render
from privfit.schema import Categorical, CountLabel, Label, NumberLabel, Numeric

COLUMNS = [Categorical("town", ["Bern", "Rome", "Oslo"]), Numeric("age", 20, 60, unit="years")]
NAMES = ("ill", "<b>well", "worse")


def made_up(link, target, label=None, *, bounds=True, columns=COLUMNS):
    """A model of made-up weights, four for each score by default; with a schema if there is a label."""
    facts = trained(schema_of(*columns)).published()
    rng, p = np.random.default_rng(3), facts.n_columns
    schema = None if label is None else Schema(columns, label).to_dict()
    named = {} if label is not None else {"feature_names": None, "columns": None}
    return replace(
        facts,
        link=link,
        target=target,
        weights=rng.normal(size=(target.outputs, p)),
        intercepts=rng.normal(size=target.outputs),
        schema=schema,
        bounds=(np.zeros(p), np.ones(p)) if bounds else None,
        **named,
    )


def of_classes(link, names=NAMES, columns=COLUMNS):
    return made_up(link, Classes(names), Label("outcome", names), columns=columns)


def of_numbers(columns=COLUMNS):
    label = NumberLabel("cost", 0, 9000, unit="$")
    return made_up(IDENTITY, Interval(0.0, 9_000.0), label, columns=columns)


def of_counts(columns=COLUMNS):
    return made_up(LOG, Counts(50), CountLabel("visits", 50), columns=columns)


NUMBER, COUNT = of_numbers(), of_counts()


@pytest.mark.parametrize("link", [SOFTMAX, SIGN])
def test_intercepts_and_differences_add_up_to_the_scores(link):
    model = of_classes(link)
    weights = weights_of(model)
    for town in range(3):
        row = np.array([town == 0, town == 1, town == 2, 0.25], dtype=float)
        scores = model.weights @ row + model.intercepts
        if link is SOFTMAX:  # whose scores mean something compared with one another only
            scores -= scores.mean()
        for label, score in zip(NAMES, scores, strict=True):
            own = {entry.name: entry.weight for entry in weights.of_class(label)}
            town_name = ("Bern", "Rome", "Oslo")[town]
            added = weights.intercept[label] + own[f"town = {town_name}"] + 0.25 * own["age"]
            assert added == pytest.approx(score)


def test_a_number_added_to_all_classes_changes_nothing_of_a_softmax():
    model = of_classes(SOFTMAX)
    moved = replace(model, weights=model.weights + 5.0, intercepts=model.intercepts - 3.0)
    before, after = weights_of(model), weights_of(moved)
    assert [row.weight for row in after] == pytest.approx([row.weight for row in before], abs=1e-12)
    assert after.intercept == pytest.approx(before.intercept)
    alone = weights_of(replace(of_classes(SIGN), weights=model.weights + 5.0))
    assert alone[-1].weight == pytest.approx(model.weights[-1, -1] + 5.0)  # a score of its own


def test_a_table_of_classes_has_a_column_for_each():
    weights = weights_of(of_classes(SOFTMAX))
    heading, *rows = weights.texts()
    assert heading == ("column", "level", "ill", "<b>well", "worse", "change")
    assert [row[:2] for row in rows] == [
        ("town", "Bern"),
        ("town", "Rome"),
        ("town", "Oslo"),
        ("town", ""),
        ("age", ""),
    ]
    assert rows[0][2:] == ("0", "0", "0", "reference")
    words = " ".join(weights.meaning)
    assert "how much a person's score for a class changes, compared with the mean of all classes" in words
    assert "differ by 0.69, one is twice as probable as the other" in words
    assert "&lt;b&gt;well" in weights._repr_html_()
    assert weights.by_size().lines[0] == max(
        weights.lines, key=lambda line: max(abs(row.weight) for row in line)
    )
    assert "probable" not in " ".join(weights_of(of_classes(SIGN)).meaning)


def test_the_weights_of_a_number_are_in_its_units():
    weights = weights_of(NUMBER)
    assert weights.meaning[0].startswith("A weight is how many $ the prediction of cost changes if the ")
    start = float(NUMBER.intercepts[0] + NUMBER.weights[0, 0])
    assert weights.meaning[-1].endswith(f"lowest declared value, the prediction of cost is {start:.4g} $.")
    large_start = weights_of(replace(NUMBER, intercepts=np.array([18_849.6 - NUMBER.weights[0, 0]])))
    assert large_start.meaning[-1].endswith("the prediction of cost is 18,850 $.")
    assert {row.odds_ratio for row in weights} == {row.rate_ratio for row in weights} == {None}
    large = weights_of(replace(NUMBER, weights=20_000.0 * np.ones((1, 4))))
    assert large.texts()[-1][2] == "+20,000"
    without = weights_of(made_up(IDENTITY, Interval(0.0, 1.0)))
    assert without.meaning[0] == (
        "A weight is how much the prediction changes when a column goes from the lowest to the highest "
        "value that it is clipped to."
    )
    unbounded = weights_of(made_up(IDENTITY, Interval(0.0, 1.0), bounds=False))
    assert unbounded.meaning[-1].startswith("For a record with zeros only, the prediction is ")


def test_large_numbers_on_the_page_have_commas():
    weights = 20_000.0 * np.ones((1, 4))
    page = render(replace(NUMBER, target=Interval(0.0, 250_000.0), weights=weights))
    shown = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert "clipped targets to 0 and 250,000" in shown
    assert "+20,000" in shown
    assert not re.search(r"(?<![\w.,-])\d{5,}(?![\w-])", shown)


def test_the_weights_of_a_count_have_rate_ratios():
    weights = weights_of(COUNT)
    assert [row.rate_ratio for row in weights] == pytest.approx(np.exp([row.weight for row in weights]))
    assert weights.texts()[0] == ("column", "level", "weight", "rate ratio", "change")
    assert "The rate ratio is the factor by which the prediction of visits is multiplied." in weights.meaning
    start = np.exp(COUNT.intercepts[0] + COUNT.weights[0, 0])
    assert weights.meaning[-1].endswith(f"the prediction of visits is {start:.4g}.")
    divided = weights_of(replace(COUNT, unit_rows=True))
    assert not divided.has_rates
    assert "e to the power of the score" in " ".join(divided.meaning)


# -- pages


def test_the_page_of_classes_draws_each_to_one_scale():
    model = of_classes(SOFTMAX)
    page = render(model)
    for label in NAMES:
        assert f"<caption>Weights for {escape(label)}, all of them</caption>" in page
    assert "<b>well" not in page
    assert "<dt>classes</dt><dd>3</dd>" in page
    assert "ill, &lt;b&gt;well and worse" in page
    assert page.count("width:50.00%") == 1  # the largest of all classes is the longest bar


def test_the_charts_of_many_classes_are_folded_and_the_page_stays_small():
    few, many, most = (of_classes(SIGN, tuple(f"c{i:03}" for i in range(n))) for n in (6, 12, 400))
    assert render(few).count("<details") == 1  # that of the table
    page = render(many)
    assert page.count("<details") == 13
    assert page.count("<details open>") == 1
    assert "The weights of 380 more classes are in the model file only." in render(most)
    wide = replace(most, weights=np.ones((400, 300)), schema=None, bounds=None, columns=None)
    page = render(replace(wide, feature_names=None))
    assert len(page) < 1_000_000
    assert "The 50 smallest weights are in the model file only." in page


def test_the_pages_of_numbers_and_counts_say_what_is_predicted():
    page = render(NUMBER)
    assert "<dt>predicts</dt><dd>cost</dd>" in page
    assert "how many $ the prediction of cost changes" in page
    assert "Bars to the right raise the prediction, bars to the left lower it." in page
    assert "odds" not in page.split("What the model says")[2].split("How good it is")[0]
    page = render(COUNT)
    assert "A weight of 0.69 doubles the prediction." in page
    assert "the mean of a count; the fit clipped counts to 50" in page


def test_names_and_units_of_a_label_are_text_on_the_page():
    label = NumberLabel("<script>alert(1)</script>", 0, 9, unit="<img src=x>")
    page = render(made_up(IDENTITY, Interval(0.0, 9.0), label))
    assert "<script" not in page
    assert "<img" not in page
    assert "how many &lt;img src=x&gt; the prediction of &lt;script&gt;" in page
