"""The file that needs NumPy only reads raw rows as the schema does, whatever their type."""

import datetime
import re
from decimal import Decimal

import numpy as np
import pytest
from declared import DATES, POLICIES, TYPES, people, schema_of, trained, whole_schema
from hypothesis import given
from hypothesis import strategies as st

from privfit import DPLinearSVC
from privfit.publication.numpy_file import numpy_source
from privfit.schema import Boolean, Categorical, Date, Integer, Label, Numeric, Ordinal, Schema, encode


def loaded(model):
    """Run the file; it is under 60 lines."""
    source = numpy_source(model.published())
    assert len(source.splitlines()) < 60
    namespace = {}
    exec(compile(source, "scorer.py", "exec"), namespace)
    return namespace


ODD = [
    *[
        "5",
        " 5 ",
        "05",
        "5.0",
        "5e0",
        "true",
        "TRUE",
        "False",
        "",
        " ",
        "nan",
        "inf",
        "-Infinity",
        "five",
        "5\0",
    ],
    *[
        "$5",
        "5 $",
        "$ 5",
        "-$5",
        "$-5",
        "-$-5",
        "$1,200.50",
        "1,200",
        "1,20",
        "$",
        "+$1,000",
        "- 5",
        "$true",
        "$inf",
    ],
    *[
        5,
        5.0,
        True,
        False,
        np.True_,
        np.float32(0.1),
        np.int8(3),
        Decimal("2.5"),
        None,
        2.5,
        -1,
        10**30,
        "9" * 400,
    ],
    *[
        np.nan,
        np.inf,
        -np.inf,
        "\N{ARABIC-INDIC DIGIT ONE}",
        [1],
        datetime.date(2000, 1, 1),
        "North",
        "north",
        "yes",
    ],
    *["1_0", "+7", ".5", "5.", "0x10", "1e999", "-0", -0.0],
]
FACTS = {
    "numeric": Numeric("x", -3, 9),
    "dollars": Numeric("x", -3, 2000, unit="$", thousands=",", missing="indicator"),
    "commas": Numeric("x", -3, 2000, decimal=",", missing="indicator"),
    "francs": Numeric("x", -3, 2000, unit="$", thousands=" ", decimal=",", fill=7),
    "points": Numeric("x", -3, 2000, unit="$", thousands=".", decimal=",", fill=7),
    "groups": Numeric("x", -3, 2000, thousands="_", fill=7),
    "brackets": Numeric("x", -3, 2000, unit="(.*)", fill=7),
    "curve": Numeric("x", -3, 2000, unit="$", thousands=",", curve=[0, 0.5, 5, 1_100]),
    "curve of integers": Integer("x", -3, 9, missing="indicator", curve=3),
    "curve of dates": Date("x", "1920-01-01", "2010-12-31", fill="1950-02-03", curve=4),
    "integer": Integer("x", -3, 9, missing="indicator"),
    "boolean": Boolean("x", missing="indicator"),
    "boolean words": Boolean("x", words=["no", "yes"], fill=False),
    "categorical": Categorical("x", ["North", "5", "true"], missing="indicator"),
    "other": Categorical("x", ["other", "5"], missing="indicator"),
    "category for gaps": Categorical("x", ["North", "5", "2.5"], fill="5"),
    "no category": Categorical("x", ["yes", "five", "1000000000000000000000000000000"]),
    "ordinal": Ordinal("x", ["5", "0", "-1"], missing="indicator"),
    "date": Date("x", "1920-01-01", "2010-12-31", missing="indicator"),
    "date with format": Date("x", "1920-01-01", "2010-12-31", format="%d.%m.%Y", fill="1950-02-03"),
}


@pytest.mark.parametrize("kind", FACTS)
def test_a_cell_says_what_it_says_to_us(kind):
    model = trained(schema_of(FACTS[kind]))
    cells = [*ODD, *(cell for cell in DATES if not isinstance(cell, bytes))]
    scorer = loaded(model)
    assert scorer["encode"]({"x": cells}).tolist() == encoded(model, {"x": cells})
    rows = [{"x": cell, "other": 1} for cell in cells]
    assert scorer["decision_function"](rows) == pytest.approx(
        model.decision_function({"x": cells}), rel=1e-12
    )


def encoded(model, table):
    return encode(table, model.schema_, sparse=False, dtype=np.float64).tolist()


@given(st.text(alphabet="0123456789.,+-$ eE_yesnotrufal\0\t", max_size=8))
def test_any_text_says_what_it_says_to_us(text):
    for kind, (model, scorer) in SCORERS.items():
        assert scorer["encode"]({"x": [text]}).tolist() == encoded(model, {"x": [text]}), kind


SCORERS = {}


@pytest.fixture(autouse=True, scope="module")
def _scorers():
    for kind, fact in FACTS.items():
        model = trained(schema_of(fact))
        SCORERS[kind] = model, loaded(model)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", TYPES)
def test_every_type_and_policy_predicts_the_same(kind, policy):
    declare, fill, cells = TYPES[kind]
    fact = declare(**POLICIES[policy](fill))
    model = trained(schema_of(fact))
    scorer = loaded(model)
    fits = [cell for cell in cells if policy != "refuse" or not np.isnan(fact.read(cell))]
    assert scorer["predict_proba"]({"x": fits}) == pytest.approx(model.predict_proba({"x": fits}), rel=1e-12)
    assert np.array_equal(scorer["predict"]({"x": fits}), model.predict({"x": fits}))
    if len(fits) < len(cells):
        with pytest.raises(ValueError, match=r"^Column 'x' has cells that are missing or do not fit"):
            scorer["predict"]({"x": cells})


@pytest.mark.parametrize(
    "settings",
    [{}, {"kind": DPLinearSVC}, {"solver": "objective-perturbation"}],
    ids=["logistic", "svm", "unit rows"],
)
def test_all_columns_together(settings):
    model, frame = trained(whole_schema(dates=True), **settings), people(seed=1)
    scorer = loaded(model)
    assert scorer["decision_function"](frame) == pytest.approx(
        model.decision_function(frame), rel=1e-12, abs=1e-12
    )
    rows = frame.to_dict("records")
    assert np.array_equal(scorer["predict"](rows), model.predict(frame))
    assert ("predict_proba" in scorer) == hasattr(model, "predict_proba")


def test_names_units_and_words_cannot_become_code():
    evil = '"""\')\\"); raise SystemExit("code was run") # {0} {promise}\n'
    columns = [
        Numeric(f"n{evil}", 0, 9, unit=evil.strip()),
        Categorical(f"c{evil}", [f"w{evil}".strip(), "b"]),
        Date(f"d{evil}", "1920-01-01", "2010-12-31"),
    ]
    labels = ["well", f"un{evil}".strip()]
    model = trained(Schema(columns, Label("outcome", labels)))
    scorer = loaded(model)
    assert list(scorer["COLUMNS"]) == [column.name for column in columns]
    assert scorer["CLASSES"].tolist() == model.classes_.tolist()
    assert re.search("code was run", numpy_source(model.published()))
