"""The page of a model with a schema speaks in the schema's words."""

from html import escape

import numpy as np
import pytest

from privfit import DPLogisticRegression, Schema
from privfit.schema import Categorical, Date, Label, Numeric

SCHEMA = Schema(
    [
        Numeric("age", 18, 90, unit="years"),
        Categorical(
            "region", ["North", "<b>East"], missing="indicator", unit="of the country", reference="<b>East"
        ),
        Date("born", "1920-01-01", "2010-12-31"),
    ],
    Label("outcome", ["unwell", "well"], positive="unwell"),
    records=400,
)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 90, 400)
    table = {
        "age": age,
        "region": rng.choice(["North", "<b>East", "?"], 400),
        "born": ["1957-02-03"] * 400,
        "outcome": np.where(age > 60, "unwell", "well"),
    }
    return DPLogisticRegression(2.0, 1e-6, schema=SCHEMA).fit(table)


@pytest.fixture(scope="module")
def page(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "card.html"
    model.report(path)
    return path.read_text()


def test_weights_have_the_names_and_the_declared_ranges_of_the_schema(model, page):
    for row in model.weights_.texts():
        column, *cells = map(escape, row)
        head = f'<th scope="row">{column}</th>' + "".join(f"<td>{cell}</td>" for cell in cells)
        assert head in page or column == "column"
    assert '<th scope="row">age, from 18 to 90 years</th>' in page  # beside its bar
    assert '<th scope="row">region = other, missing or not listed, instead of &lt;b&gt;East of' in page
    assert "from 1920-01-01 to 2010-12-31" in page
    assert "to the highest declared value" in page


def test_the_reference_is_a_row_of_the_table_and_has_no_bar(page):
    assert '<th scope="row">region</th><td>&lt;b&gt;East</td><td>0</td><td>1</td><td>reference</td>' in page
    assert "region = &lt;b&gt;East" not in page


def test_the_positive_class_is_the_one_that_the_schema_names(model, page):
    assert model.classes_.tolist() == ["unwell", "well"]  # scores are positive for the other one
    assert "<dt>positive class</dt><dd>unwell</dd>" in page
    assert "Positive weights favour unwell." in page
    assert "Their bars go to the right; bars to the left favour <b>well</b>." in page
    assert f"The intercept, {-model.intercept_[0] - model.coef_[0, 2]:+.4g}, is the score" in page
