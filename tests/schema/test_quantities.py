"""Labels that are numbers or counts."""

import math
import tomllib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from privfit import Schema
from privfit.schema import CountLabel, Label, NumberLabel, Numeric, labels_of

AGE = Numeric("age", 0, 120)
COST = NumberLabel("cost", 0, 100_000, unit="$", thousands=",")
LABELS = {
    "bounds": COST,
    "no bounds": NumberLabel("cost", missing="drop"),
    "decimal comma": NumberLabel("cost", -1.5, 2, decimal=",", thousands="."),
    "count": CountLabel("visits", 50, unit="visits"),
    "count without a largest": CountLabel("visits", missing="drop"),
}


def schema(label):
    return Schema([AGE], label)


@pytest.mark.parametrize("name", LABELS)
def test_nothing_is_lost_in_toml_and_json(name):
    written = schema(LABELS[name])
    assert Schema.from_toml(written.to_toml()) == written
    assert Schema.from_dict(written.to_dict()) == written
    assert written.to_dict()["label"]["type"] == ("count" if "count" in name else "number")


def test_a_label_of_classes_is_written_as_before():
    written = schema(Label("ill", ["no", "yes"]))
    assert "type" not in written.to_dict()["label"]
    text = written.to_toml().replace("[label]", '[label]\ntype = "classes"')
    assert Schema.from_toml(text) == written


def test_a_cell_is_read_as_a_column_of_numbers_reads_it():
    assert COST.read("$1,250.50") == 1250.5
    assert COST.read(200_000) == 200_000  # a fit moves it to the bound
    for cell in ("a lot", "", None, math.nan, math.inf, "1e999"):
        assert math.isnan(COST.read(cell))
    assert LABELS["decimal comma"].read("1.234,5") == 1234.5


def test_counts_are_whole_and_not_negative():
    label = CountLabel("visits")
    assert [label.read(cell) for cell in (0, "7", 3.0, True)] == [0, 7, 3, 1]
    for cell in (-1, 2.5, "2,5", math.inf, "many", None):
        assert math.isnan(label.read(cell))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NumberLabel("cost", 0), "Label 'cost' needs both low and high, or neither"),
        (lambda: NumberLabel("cost", 5, 5), "needs low < high"),
        (lambda: NumberLabel("cost", missing="fill"), "missing of label 'cost' must be 'refuse' or 'drop'"),
        (lambda: NumberLabel("cost", thousands="#"), "thousands of column 'cost' must be one of"),
        (lambda: CountLabel("visits", 0), "largest of label 'visits' must be a positive whole number, not 0"),
        (lambda: CountLabel("visits", True), "largest of label 'visits' must be a positive whole number"),
        (lambda: CountLabel("visits", 2.5), "largest of label 'visits' must be a positive whole number"),
    ],
)
def test_a_label_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


TABLE = '[[columns]]\nname = "age"\ntype = "numeric"\nlow = 0\nhigh = 120\n\n[label]\nname = "cost"\n'


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('type = "money"', "the type of the label must be one of classes, number, count"),
        ('type = ""', "the label is not filled in yet: give its type"),
        ('type = "number"\nlow = ""\nhigh = ""', "the label is not filled in yet: give its low and high"),
        ('type = "count"\nlargest = ""', "the label is not filled in yet: give its largest"),
        ("low = 0\nhigh = 9", 'the label has bounds, so it is a number; add type = "number"'),
        ('type = "number"\nclasses = [0, 1]', "the label has an unknown key 'classes'; the keys are name"),
    ],
)
def test_toml_that_makes_no_sense_is_refused(lines, message):
    with pytest.raises(ValueError, match=message):
        Schema.from_toml(TABLE + lines)


# -- reading columns


COLUMNS = {
    "list": lambda cells: cells,
    "pandas": lambda cells: pd.Series(cells, dtype=object),
    "text": lambda cells: pa.array([None if cell is None else str(cell) for cell in cells]),
}


@pytest.mark.parametrize("stored", COLUMNS)
def test_records_without_a_number_are_left_out(stored):
    rows = {"age": [1, 2, 3, 4, 5], "cost": COLUMNS[stored](["$10", None, "unknown", "$1,000", "$30"])}
    label = NumberLabel("cost", unit="$", thousands=",", missing="drop")
    np.testing.assert_array_equal(labels_of(rows, schema(label)), [10, np.nan, np.nan, 1000, 30])


@pytest.mark.parametrize("cell", [None, "unknown", "inf"])
def test_they_are_refused_otherwise_without_a_quotation(cell):
    with pytest.raises(ValueError, match="'cost' is missing, or no number, in some records") as refusal:
        labels_of({"age": [1, 2], "cost": ["$10", cell]}, schema(COST))
    assert "unknown" not in str(refusal.value)
    assert 'missing = "drop"' in str(refusal.value)


def test_columns_of_numbers_are_read_at_once():
    rows = {"age": [1, 2, 3], "visits": np.array([3.0, 2.5, np.nan])}
    label = CountLabel("visits", missing="drop")
    np.testing.assert_array_equal(labels_of(rows, schema(label)), [3, np.nan, np.nan])


def test_a_library_that_took_points_for_decimal_points_is_refused():
    with pytest.raises(TypeError, match=r"'cost' is the label .* points between groups of digits"):
        labels_of({"age": [1], "cost": np.array([1.234])}, schema(LABELS["decimal comma"]))


# -- check


def found(label, cells, purpose="train"):
    findings = schema(label).check({"age": [50] * len(cells), label.name: cells}, purpose)
    return [(finding.verdict.value, str(finding).partition(": ")[2]) for finding in findings.found]


def test_a_check_counts_labels_that_are_no_numbers():
    cells = [*range(98), "unknown", None]
    assert found(NumberLabel("cost", 0, 100), cells) == [
        ("refusal", '1 record has no label; missing = "drop" leaves such records out'),
        (
            "refusal",
            "1 record has a label that is no number (1.0% of the values); "
            'missing = "drop" leaves such records out',
        ),
    ]
    assert found(NumberLabel("cost", 0, 100, missing="drop"), cells) == [
        ("provided for", "1 record has no label; such records are left out"),
        (
            "warning",
            "1 record has a label that is no number (1.0% of the values); such records are left out",
        ),
    ]
    assert found(NumberLabel("cost", 0, 100), cells, "predict") == []


def test_a_check_names_the_marks_that_would_read_them():
    ((verdict, text),) = found(NumberLabel("cost", 0, 10**6, missing="drop"), ["1,200.50", "2,300.75"] * 20)
    assert verdict == "refusal"
    assert text.endswith('thousands = "," reads most of them')
    ((_, text),) = found(NumberLabel("cost", 0, 10**6), ["$12", "$23"] * 20)
    assert "unit = ..." in text


def test_a_check_counts_labels_beyond_the_bounds():
    ((verdict, text),) = found(CountLabel("visits", 5), [1] * 99 + [9])
    assert (verdict, text) == ("warning", "1 record has a value above the high bound (1.0% of the values)")
    ((verdict, text),) = found(CountLabel("visits", 5), [1, 9] * 20)
    assert verdict == "refusal"
    assert found(CountLabel("visits"), [1, 9] * 20) == []


def test_the_declared_number_of_records_counts_those_with_a_label():
    rows = {"age": [1, 2, 3], "cost": ["1", "", "unknown"]}
    label = NumberLabel("cost", missing="drop")
    assert Schema([AGE], label, records=1).check(rows).warnings
    assert not any(
        "as many records" in str(finding) for finding in Schema([AGE], label, records=1).check(rows).found
    )
    assert any(
        "as many records" in str(finding) for finding in Schema([AGE], label, records=2).check(rows).refusals
    )


# -- drafts


FRAME = pd.DataFrame({"age": [31, 74, 52], "cost": [10.5, 99.0, np.nan], "visits": [0, 3, 12]})


def label_of(text):
    return tomllib.loads(text)["label"]


def test_a_draft_of_a_number_asks_for_its_bounds():
    text = Schema.draft(FRAME, label="cost", label_type="number")
    assert label_of(text) == {"name": "cost", "type": "number", "low": "", "high": ""}
    filled_in = text.replace('low = ""', "low = 0").replace('high = ""', "high = 120")
    assert Schema.from_toml(filled_in).label == NumberLabel("cost", 0, 120)
    assert "a fit buys the size of the numbers" in text


def test_a_draft_of_a_count_asks_for_its_largest():
    text = Schema.draft(FRAME, label="visits", label_type="count")
    assert label_of(text) == {"name": "visits", "type": "count", "largest": ""}


@pytest.mark.filterwarnings("ignore:Beware")
def test_a_draft_from_the_records_has_their_bounds():
    text = Schema.draft(FRAME, label="cost", label_type="number", leak=True)
    assert label_of(text) == {"name": "cost", "type": "number", "low": 10.5, "high": 99.0}
    money = pd.DataFrame({"age": [1, 2], "cost": ["$1,200", "$300"]})
    text = Schema.draft(money, label="cost", label_type="number", leak=True)
    assert label_of(text)["thousands"] == ","
    assert label_of(text)["unit"] == "$"
    text = Schema.draft(FRAME, label="visits", label_type="count", leak=True)
    assert label_of(text)["largest"] == 12


def test_a_draft_of_another_type_is_refused():
    with pytest.raises(ValueError, match="The type of a label is one of classes, number, count, not 'text'"):
        Schema.draft(FRAME, label="cost", label_type="text")


# -- one record does not decide how another one is read (C1)


TOLD = ["12", "1200.5", "$7", "$1,000.25", "-3", "", "unknown", "007", "1e3", "9007199254740993"]
HOSTILE = ["John Smith", "", "1e999", "nan", "-inf", "true", '"', "0x1F", "9" * 400, "$", "1,2,3"]
READERS = {
    "a file": lambda path: path,
    "pandas": lambda path: pd.read_csv(path),
    "arrow": lambda path: pa.Table.from_pandas(pd.read_csv(path, dtype=str)),
}


@pytest.mark.parametrize("told", [TOLD, ["3", "0", "12", "7.5", "-1"]], ids=["texts", "numbers"])
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", [NumberLabel, CountLabel])
def test_a_hostile_record_changes_no_other_label(tmp_path, kind, reader, told):
    label = kind("cost", unit="$", thousands=",", missing="drop")

    def read(cells):
        frame = pd.DataFrame({"age": range(len(cells)), "cost": cells})
        frame.to_csv(tmp_path / "people.csv", index=False)
        return labels_of(READERS[reader](tmp_path / "people.csv"), schema(label))

    alone = read(told)
    for hostile in HOSTILE:
        np.testing.assert_array_equal(read([*told, hostile])[:-1], alone)
        np.testing.assert_array_equal(read([hostile, *told])[1:], alone)
