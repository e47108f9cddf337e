"""The page draws one small picture for each curve, and says in words what it shows."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from privfit import DPLogisticRegression, Schema
from privfit.models.links import IDENTITY, LOG, SOFTMAX
from privfit.models.targets import Classes, Counts, Interval
from privfit.report import render
from privfit.report.weights import CURVES_DRAWN, DRAWN_OF_A_CLASS
from privfit.schema import Categorical, CountLabel, Label, NumberLabel, Numeric

SCHEMA = Schema(
    [
        Numeric("age", 18, 90, unit="years", curve=[25, 40, 65]),
        Numeric("<i>income", 0, 5_000, curve=4, monotone="up"),
        Numeric("height", 100, 220),
        Categorical("region", ["North", "East"]),
    ],
    Label("outcome", ["unwell", "well"], positive="unwell"),
)


@pytest.fixture(scope="module")
def facts():
    """A model whose weights are made up, so that a test knows its curves."""
    table = {"age": [1.0, 2.0, 3.0, 4.0], "outcome": ["well", "unwell", "well", "unwell"]}
    schema = Schema([Numeric("age", 0, 9)], SCHEMA.label)
    fitted = DPLogisticRegression(8.0, 1e-6, schema=schema, noise="seeded", random_state=1).fit(table)
    p = len(SCHEMA.feature_names)
    return replace(
        fitted.published(),
        weights=-np.arange(1.0, p + 1.0)[None],  # of well: the curves of unwell rise
        feature_names=tuple(fact.name for fact in SCHEMA.features),
        columns=SCHEMA.feature_names,
        bounds=(np.zeros(p), np.ones(p)),
        schema=SCHEMA.to_dict(),
    )


class Pictures(HTMLParser):
    """The texts for people who do not see the pictures, and the points of the curves."""

    def __init__(self, html):
        super().__init__()
        self.labels, self.points = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "svg":
            assert found["role"] == "img"
            self.labels.append(found["aria-label"])
        if tag == "polyline":
            self.points.append([tuple(map(float, pair.split(","))) for pair in found["points"].split()])


def test_there_is_one_picture_for_each_curve(facts):
    html = render(facts)
    pictures = Pictures(html)
    age, income = pictures.labels
    assert age == "Curve of age: it rises by 10 from 18 to 90 years."
    assert income.startswith("Curve of <i>income: it rises by ")
    assert income.endswith("never falling, as declared.")
    assert "<i>" not in html
    assert [len(points) for points in pictures.points] == [5, len(SCHEMA.columns[1].shape.knots)]
    assert "small wiggles mean nothing" in html
    shown = age.removeprefix("Curve of age: it ")
    assert f"<p>{shown[0].upper()}{shown[1:]}</p>" in html  # for people who do see it, too


def test_all_pictures_have_one_scale_and_a_height_is_where_it_should_be(facts):
    weights = np.zeros_like(facts.weights)
    weights[0, :4] = [-1.0, 0.0, 2.0, 0.0]  # of well, so that the curve of unwell is 0, 1, 1, -1, -1
    pictures = Pictures(render(replace(facts, weights=weights)))
    age, income = pictures.points
    heights = [y for _, y in age]
    assert heights[0] == income[0][1] == income[-1][1]  # zero
    assert heights[1] == heights[2] < heights[0] < heights[3] == heights[4]
    assert heights[0] - heights[1] == pytest.approx(heights[3] - heights[0], abs=0.11)
    across = [x for x, _ in age]
    assert (across[2] - across[0]) / (across[-1] - across[0]) == pytest.approx((40 - 18) / 72, abs=0.001)


def test_a_page_without_curves_has_no_pictures(facts):
    plain = SCHEMA.without_curves()
    table = facts.weights[:, [0, 4, -3, -2, -1]]
    html = render(
        replace(facts, schema=plain.to_dict(), weights=table, columns=plain.feature_names, bounds=None)
    )
    assert "<svg" not in html
    assert "wiggles" not in html


def test_every_class_has_its_pictures(facts):
    names = ("one", "two", "three")
    html = render(
        replace(
            facts,
            link=SOFTMAX,
            target=Classes(names),
            weights=np.random.default_rng(0).normal(size=(3, facts.n_columns)),
            intercepts=np.zeros(3),
            schema=Schema(SCHEMA.columns, Label("outcome", names)).to_dict(),
        )
    )
    assert [label.split(":")[0] for label in Pictures(html).labels] == [
        "Curve of age",
        "Curve of <i>income",
    ] * 3
    assert html.count("small wiggles mean nothing") == 1
    assert [html.count(f"<h3>{name}</h3>") for name in names] == [1, 1, 1]


def test_what_has_a_picture_has_no_bars_and_is_in_the_table(facts):
    html = render(facts)
    bars, listed = html.split('<table class="bars"><caption>Weights')[1].split("<details>")
    assert bars.startswith(" besides the curves, all of them")
    assert "age" not in bars
    assert "height, from 100 to 220" in bars
    assert '<th scope="row">age</th>' in listed
    schema = Schema(SCHEMA.columns[:2], SCHEMA.label)
    p = len(schema.feature_names)
    only = replace(
        facts,
        schema=schema.to_dict(),
        weights=facts.weights[:, :p],
        columns=schema.feature_names,
        bounds=None,
    )
    assert "Weights besides" not in render(only)
    assert "bars to the left" not in render(only)


@pytest.mark.parametrize(
    ("link", "target", "label", "changed"),
    [
        (IDENTITY, Interval(0.0, 9.0), NumberLabel("cost", 0, 9), "changes the prediction, compared"),
        (LOG, Counts(9), CountLabel("visits", 9), "changes the logarithm of the prediction, compared"),
    ],
)
def test_pictures_of_numbers_say_what_changes(facts, link, target, label, changed):
    schema = Schema(SCHEMA.columns, label).to_dict()
    html = render(replace(facts, link=link, target=target, schema=schema))
    assert html.count("<svg") == 2
    assert changed in html


@pytest.mark.parametrize(("scores", "most"), [(1, CURVES_DRAWN), (3, DRAWN_OF_A_CLASS)])
def test_a_page_of_many_curves_draws_the_highest_and_stays_small(facts, scores, most):
    columns = [Numeric(f"x{j}", 0, 1, curve=8) for j in range(70)]
    names = ("one", "two", "three")[: max(scores, 2)]
    schema = Schema(columns, Label("outcome", names))
    p = len(schema.feature_names)
    target = {} if scores == 1 else {"link": SOFTMAX, "target": Classes(names)}
    html = render(
        replace(
            facts,
            **target,
            weights=np.random.default_rng(0).normal(size=(scores, p)),
            intercepts=np.zeros(scores),
            schema=schema.to_dict(),
            feature_names=tuple(column.name for column in columns),
            columns=schema.feature_names,
            bounds=None,
        )
    )
    assert html.count("<svg") == scores * most
    assert f"{70 - most} more curves, which are lower, are in the model file only." in html
    assert len(html) < 1_000_000
