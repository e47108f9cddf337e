import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privfit import strict
from privfit.schema import (
    Boolean,
    Categorical,
    Date,
    Identifier,
    Ignored,
    Integer,
    Label,
    Numeric,
    Ordinal,
    Schema,
)

CANARY = "P000000"
SCHEMA = Schema(
    [
        Identifier("who"),
        Numeric("income", 0, 100, unit="$"),
        Integer("kids", 0, 9, missing="refuse"),
        Boolean("member", ["no", "yes"]),
        Categorical("town", ["a", "b"]),
        Ordinal("size", ["s", "m", "l"]),
        Date("born", "1990-01-01", "1999-12-31"),
        Ignored("note"),
    ],
    Label("ill", ["no", "yes"]),
    records=4,
)
ROWS = {
    "who": ["1", "2", "01", ""],
    "income": ["$5", "-1", "101", CANARY],
    "kids": ["1", "", "2.5", "10"],
    "member": ["yes", "no", "maybe", "1"],
    "town": ["a", "", CANARY, "b"],
    "size": ["s", "m", "l", "xl"],
    "born": ["1995-05-05", "1989-12-31", "2000-01-01", CANARY],
    "ill": ["no", "yes", "", CANARY],
}
LOW, HIGH = "have a value below the low bound", "have a value above the high bound"
FOUND = {
    "who": {"have no id": 1, "repeat an id: some people have several records": 1},
    "income": {"have a value that is no number": 1, LOW: 1, HIGH: 1},
    "kids": {"have no value": 1, "have a value that is no whole number": 1, HIGH: 1},
    "member": {"have a value that is neither true nor false": 1},
    "town": {"have no value": 1, "have a value that is none of the categories": 1},
    "size": {"have a value that is none of the levels": 1},
    "born": {"have a value that is no date": 1, LOW: 1, HIGH: 1},
    "ill": {"have no label": 1, "have another label": 1},
}


def csv(tmp_path):
    path = tmp_path / "people.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    return path


TABLES = {
    "dict": lambda tmp_path: ROWS,
    "pandas": lambda tmp_path: pd.DataFrame(ROWS),
    "objects": lambda tmp_path: pd.DataFrame(ROWS, dtype=object),
    "categories": lambda tmp_path: pd.DataFrame(ROWS).astype("category"),
    "polars": lambda tmp_path: pl.DataFrame(ROWS),
    "arrow": lambda tmp_path: pa.table(ROWS),
    "csv": csv,
}


@pytest.mark.parametrize("table", TABLES)
def test_what_does_not_fit_is_counted_by_column_and_not_quoted(table, tmp_path):
    findings = SCHEMA.check(TABLES[table](tmp_path))
    found = {}
    for finding in findings.found:
        found.setdefault(finding.column, {})[finding.what] = finding.records
    assert found == FOUND
    assert not findings.fits
    assert str(findings).startswith("For the custodian of the data only: this counts records exactly")
    assert str(findings).endswith("\nThe schema provides for:\n  town: 1 record has no value")
    assert CANARY not in str(findings) + repr(findings)


def test_a_table_that_fits_fits():
    rows = {name: cells[:1] * 2 for name, cells in ROWS.items()}
    rows |= {"who": [1, 2], "ill": ["no", "yes"], "note": ["", None]}
    schema = Schema(SCHEMA.columns, SCHEMA.label)
    assert schema.check(rows).found == ()
    assert "Everything fits the schema." in str(schema.check(rows))
    assert "Do not publish it." in str(schema.check(rows))
    assert schema.check(rows).fits


def test_gaps_are_told_but_fit_where_the_schema_provides_for_them():
    schema = Schema([Numeric("x", 0, 1), Numeric("z", 0, 1, missing="refuse")], SCHEMA.label)
    rows = {"x": [None, 1.0], "z": [1.0, 1.0], "ill": ["no", "yes"]}
    assert [str(finding) for finding in schema.check(rows).found] == ["x: 1 record has no value"]
    assert schema.check(rows).fits
    assert not schema.check(rows | {"z": [None, 1.0]}).fits
    assert not schema.check(rows | {"ill": [None, "no"]}).fits


def test_columns_that_are_absent_unknown_or_of_another_kind_are_named():
    frame = pd.DataFrame({"income": [datetime.datetime(1931, 7, 13)], "extra": [CANARY]})
    schema = Schema(SCHEMA.columns[:3], SCHEMA.label)
    found = {finding.column: finding.what for finding in schema.check(frame).found}
    assert found["kids"] == found["ill"] == "is declared, but is not in the table"
    assert found["who"].startswith("is declared, but is not in the table: whether some people have several")
    assert found["extra"] == "is not in the schema, and is ignored"
    assert "arrives with dtype datetime64, which holds neither numbers nor text" in found["income"]


def test_columns_of_numbers_and_dates_are_counted_too():
    born = np.array(["1995-05-05", "1989-12-31", "NaT"], dtype="datetime64[s]")
    table = {"income": np.array([5.0, np.nan, 101]), "born": born, "who": np.array([7, 7, 8])}
    columns = [SCHEMA.columns[0], SCHEMA.columns[1], SCHEMA.columns[6]]
    schema = Schema(columns, Label("ill", [0, 1]))
    found = [str(finding) for finding in schema.check(table | {"ill": np.array([0, 1, 2])}).found]
    assert found == [
        "who: 1 record repeats an id: some people have several records; say how many of them are used at "
        "most, by rows_per_person, or combine them into one",
        "income: 1 record has no value",
        "income: 1 record has a value above the high bound (50.0% of the values)",
        "born: 1 record has no value",
        "born: 1 record has a value below the low bound (50.0% of the values)",
        "ill: 1 record has another label; correct the classes, or tell one label from all others by "
        "one_against_rest = ...",
    ]


# -- verdicts


def verdicts(columns, rows, label=SCHEMA.label):
    """Return the verdict on each finding, with its column and number of records."""
    n = len(next(iter(rows.values())))
    rows = {label.name: (["no", "yes"] * n)[:n]} | rows
    return [
        (found.column, found.verdict.value, found.records)
        for found in Schema(columns, label).check(rows).found
    ]


@pytest.mark.parametrize(
    ("settings", "misfits", "verdict"),
    [
        ({}, 1, "warning"),
        ({}, 10, "warning"),
        ({}, 11, "refusal"),
        ({}, 100, "refusal"),
        ({"missing": "indicator"}, 1, "provided for"),
        ({"missing": "indicator"}, 10, "provided for"),
        ({"missing": "indicator"}, 11, "warning"),
        ({"missing": "indicator"}, 99, "warning"),
        ({"missing": "indicator"}, 100, "refusal"),
        ({"fill": 50}, 11, "warning"),
        ({"missing": "refuse"}, 1, "refusal"),
    ],
)
def test_a_tenth_of_the_values_may_be_lost_and_more_if_the_schema_says_what_becomes(
    settings, misfits, verdict
):
    cells = [CANARY] * misfits + ["5"] * (100 - misfits)
    assert verdicts([Numeric("x", 0, 100, **settings)], {"x": cells}) == [("x", verdict, misfits)]


def test_a_share_is_of_values_and_not_of_records():
    """Nine of ten cells are empty, which the schema provides for; half of those that are not do not fit."""
    cells = [""] * 180 + ["5", "x"] * 10
    assert verdicts([Numeric("x", 0, 100)], {"x": cells}) == [
        ("x", "provided for", 180),
        ("x", "refusal", 10),
    ]


@pytest.mark.parametrize(("beyond", "verdict"), [(1, "warning"), (10, "warning"), (11, "refusal")])
def test_a_few_values_beyond_the_bounds_are_a_warning_and_many_are_lost(beyond, verdict):
    cells = [1e9] * beyond + [5.0] * (100 - beyond)
    assert verdicts([Numeric("x", 0, 100)], {"x": np.array(cells)}) == [("x", verdict, beyond)]


def test_fewer_than_ten_values_are_never_lost():
    """Somebody who predicts for two people should not be refused for one unusual value."""
    columns = [Numeric("x", 0, 100), Categorical("town", ["a", "b"])]
    for n, verdict in ((9, "warning"), (10, "refusal")):
        assert verdicts(columns, {"x": [1e9] * n, "town": ["c"] * n}) == [
            ("x", verdict, n),
            ("town", verdict, n),
        ]


def test_values_below_and_above_add_up():
    cells = np.array([-1.0] * 6 + [101.0] * 6 + [5.0] * 88)
    assert verdicts([Numeric("x", 0, 100)], {"x": cells}) == [("x", "refusal", 6), ("x", "refusal", 6)]


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [({}, "warning"), ({"fill": 1}, "provided for"), ({"missing": "refuse"}, "refusal")],
    ids=["nothing said", "fill", "refuse"],
)
def test_a_column_without_any_value_is_told_unless_the_schema_says_what_becomes_of_it(settings, verdict):
    assert verdicts([Numeric("x", 0, 100, **settings)], {"x": ["", ""]}) == [("x", verdict, 2)]


REMEDIES = {
    "a decimal comma": (Numeric("x", 0, 9), ["1,5", "2,25", "3"], 'decimal = "," reads most of them'),
    "groups of digits": (Numeric("x", 0, 9), ["1 500", "2 250", "3"], 'thousands = " " reads most of them'),
    "a comma in groups": (
        Numeric("x", 0, 9, unit="$"),
        ["$1,500,000", "$2,250,000"],
        'thousands = "," reads most of them',
    ),
    "points in groups": (
        Numeric("x", 0, 9),
        ["1.500,00", "2.250,50"],
        'thousands = "." with decimal = "," reads most of them',
    ),
    "a unit": (
        Numeric("x", 0, 9),
        ["5 kg", "-7.5kg", "kg 1"],
        "unit = ... would read most of them, if what stands beside the number is a unit",
    ),
    "a unit and marks": (
        Numeric("x", 0, 9),
        ["1'500 CHF", "22'500 CHF"],
        'unit = ... and thousands = "\'" would read most of them, if what stands beside the number is a unit',
    ),
    "another minus sign": (
        Numeric("x", -9, 9),
        ["\N{MINUS SIGN}5", "\N{MINUS SIGN}7.5", "\N{EN DASH}1"],
        "most of them have another minus sign than the hyphen, -, which is read; replace it in the table",
    ),
    "another way to write dates": (
        Date("x", "1990-01-01", "1999-12-31"),
        ["24.12.1995", "31.01.1996"],
        'format = "%d.%m.%Y" reads most of them',
    ),
    "categories in another case": (
        Categorical("x", ["North", "South"]),
        ["NORTH", "south", "SOUTH"],
        "in upper and lower case alone",
    ),
    "words in another case": (Boolean("x", ["no", "yes"]), ["No", "Yes"], "in upper and lower case alone"),
    "levels in another case": (
        Ordinal("x", ["low", "high"]),
        ["Low", "High"],
        "in upper and lower case alone",
    ),
}


@pytest.mark.parametrize("case", REMEDIES)
def test_a_remedy_is_named_where_there_is_one(case):
    fact, cells, remedy = REMEDIES[case]
    rows = {"x": cells * 10, "ill": ["no", "yes"] * 5 * len(cells)}
    (finding,) = Schema([fact], SCHEMA.label).check(rows).refusals
    assert finding.remedy.endswith(remedy)
    assert str(finding).endswith(f"; {finding.remedy}")


@pytest.mark.parametrize("provision", ["indicator", "fill"])
def test_a_provision_for_odd_values_is_none_for_another_way_to_write_all(provision):
    settings = {"missing": "indicator"} if provision == "indicator" else {"fill": "North"}
    town = Categorical("town", ["North", "South"], **settings)
    odd = ["North"] * 50 + ["Atlantis"] * 50
    assert verdicts([town], {"town": odd}) == [("town", "warning", 50)]
    assert verdicts([town], {"town": [*odd[:50], *["SOUTH"] * 50]}) == [("town", "refusal", 50)]
    assert verdicts([town], {"town": [*odd[:50], *["South"] * 45, *["SOUTH"] * 5]}) == [
        ("town", "warning", 5)
    ]


def test_text_for_which_nothing_helps_has_no_remedy():
    rows = {"x": ["?", "unknown"] * 10, "ill": ["no", "yes"] * 10}
    for fact in (Numeric("x", 0, 9), Date("x", "1990-01-01", "1999-12-31"), Categorical("x", ["a"])):
        (finding,) = Schema([fact], SCHEMA.label).check(rows).refusals
        assert finding.remedy == ""


# -- labels

IRIS = {"x": [1, 2, 3, 4] * 5, "ill": ["setosa", "versicolor", "virginica", None] * 5}


def of_label(label, purpose="train", rows=IRIS, **facts):
    findings = Schema([Numeric("x", 0, 9)], label, **facts).check(rows, purpose)
    return [(finding.verdict.value, str(finding).partition(": ")[2]) for finding in findings.found]


def test_labels_that_are_no_class_are_told_with_the_remedy():
    remedy = "correct the classes, or tell one label from all others by one_against_rest = ..."
    assert of_label(Label("ill", ["setosa", "virginica"]))[1] == (
        ("refusal", f"5 records have another label; {remedy}")
    )
    (_, several) = of_label(Label("ill", ["other", "rest"]))
    assert several[1] == f"15 records have one of 3 labels that are none of the classes; {remedy}"


def test_several_classes_fit():
    declared = of_label(Label("ill", ["setosa", "versicolor", "virginica"], missing="drop"))
    assert declared == [("provided for", "5 records have no label; such records are left out")]


def test_labels_that_are_missing_are_told_with_the_remedy():
    assert of_label(Label("ill", one_against_rest="virginica")) == [
        ("refusal", '5 records have no label; missing = "drop" leaves such records out')
    ]
    dropped = ("provided for", "5 records have no label; such records are left out")
    assert of_label(Label("ill", one_against_rest="virginica", missing="drop")) == [dropped]
    nobody = {"x": [1, 2], "ill": [None, ""]}
    ((verdict, _),) = of_label(Label("ill", ["no", "yes"], missing="drop"), rows=nobody)
    assert verdict == "refusal"


def test_classes_that_no_record_has_are_told():
    assert of_label(Label("ill", ["no", "yes"]), rows={"x": [1], "ill": ["no"]}) == [
        ("warning", "no record is of class 'yes'")
    ]
    assert of_label(Label("ill", one_against_rest="Virginica", missing="drop"))[1:] == [
        ("refusal", "no record is of class 'Virginica'")
    ]
    ((verdict, text),) = of_label(Label("ill", ["no", "yes"]), rows={"x": [1, 2], "ill": ["NO", "Yes"]})
    assert verdict == "refusal"
    assert text.endswith("differ from the declared ones in upper and lower case alone")


# -- what the table is for


def test_the_declared_number_is_asked_for_in_training_alone():
    label = Label("ill", one_against_rest="virginica", missing="drop")
    left_out = ("provided for", "5 records have no label; such records are left out")
    assert of_label(label, records=15) == [left_out]
    (_, told) = of_label(label, records=20)
    assert told[0] == "refusal"
    assert told[1].startswith("does not have as many records with a label as are declared; correct")
    assert of_label(label, "evaluate", records=20) == [left_out]
    assert of_label(label, "predict", records=20) == []


def test_predictions_need_neither_label_nor_id():
    schema = Schema([Identifier("who"), Numeric("x", 0, 9)], Label("ill", ["no", "yes"]), records=3)
    assert schema.check({"x": [1, 2]}, "predict").found == ()
    assert schema.check({"who": [1, 1], "x": [1, 2], "ill": [CANARY, None]}, "predict").found == ()
    assert {finding.column for finding in schema.check({"x": [1, 2]}, "evaluate").found} == {"who", "ill"}
    with pytest.raises(ValueError, match="purpose must be 'train', 'evaluate' or 'predict', not 'fit'"):
        schema.check({"x": [1]}, "fit")


def test_the_custodian_may_check_in_strict_mode():
    with strict():
        assert not SCHEMA.check(ROWS).fits


def test_a_check_needs_names():
    with pytest.raises(TypeError, match="must have named columns to be checked"):
        Schema([Numeric("x", 0, 1)], SCHEMA.label).check([[1.0]])
    with pytest.raises(TypeError, match=r"has no rows yet; pass X.collect\(\)"):
        SCHEMA.check(pl.LazyFrame(ROWS))


def test_several_records_of_a_person_are_provided_for_where_it_is_said_how_many_are_used():
    table = {"who": ["a", "a", "a", None], "x": [0.0, 0.5, 1.0, 0.2], "ill": [0, 1, 1, 0]}
    schema = Schema([Identifier("who", rows_per_person=2), Numeric("x", 0, 1)], Label("ill", [0, 1]))
    findings = schema.check(table)
    assert [str(finding) for finding in findings.found] == [
        "who: 1 record has no id; a fit leaves them out",
        "who: 2 records repeat an id; at most 2 of each person are used",
    ]
    assert not findings.refusals
