import datetime
import tomllib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privfit import PrivacyLeakError, PrivacyLeakWarning, strict
from privfit.schema import Boolean, Categorical, Date, Identifier, Ignored, Integer, Label, Numeric, Schema

CANARY = "P000000"
PEOPLE = pd.DataFrame(
    {
        "person_id": [7, 8, 9],
        "age": [31, 74, 52],
        "height": [1.5, 1.9, np.nan],
        "member": [True, False, True],
        "job": ["nurse", CANARY, None],
        "born": pd.to_datetime(["1990-05-06", "1947-01-02", None]),
        "stay": pd.to_timedelta([1, 2, 3], "D"),
        "ill": ["no", "yes", "no"],
    }
)
FRAMES = {
    "pandas": PEOPLE,
    "polars": pl.from_pandas(PEOPLE),
    "arrow": pa.Table.from_pandas(PEOPLE),
}
TYPES = {
    "person_id": "id",
    "age": "integer",
    "height": "numeric",
    "member": "boolean",
    "job": "categorical",
    "born": "date",
    "stay": "ignored",
}


def types(text):
    return {column["name"]: column["type"] for column in tomllib.loads(text)["columns"]}


@pytest.mark.parametrize("frame", FRAMES)
def test_a_draft_has_names_and_types_and_nothing_of_the_records(frame):
    text = Schema.draft(FRAMES[frame], label="ill")
    assert types(text) == TYPES
    assert tomllib.loads(text)["label"] == {"name": "ill", "classes": []}
    empty = FRAMES[frame][:0]
    assert text == Schema.draft(empty, label="ill")
    assert CANARY not in text


def test_a_draft_of_a_csv_file_has_its_first_line_alone(tmp_path):
    path, empty = tmp_path / "people.csv", tmp_path / "nobody.csv"
    PEOPLE.to_csv(path, index=False)
    PEOPLE[:0].to_csv(empty, index=False)
    text = Schema.draft(path)
    assert text == Schema.draft(str(empty))
    assert types(text) == dict.fromkeys(PEOPLE, "") | {"person_id": "id"}


@pytest.mark.parametrize("leak", [False, pytest.param(True, marks=pytest.mark.filterwarnings("ignore"))])
def test_a_column_without_a_name_is_left_out(tmp_path, leak):
    path = tmp_path / "of-pandas.csv"
    pd.DataFrame({"x": range(20), "ill": ["no", "yes"] * 10}).to_csv(path)
    draft = Schema.draft(path, label="ill", leak=leak)
    assert "# A column without a name is left out, and is ignored" in draft
    assert 'name = ""' not in draft
    if leak:
        assert Schema.from_toml(draft).check(path).fits


def test_a_quotation_that_stays_open_makes_no_record_part_of_a_name(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(f'age,"job\n31,{CANARY}\n74,"nurse"\n')
    with pytest.raises(ValueError, match=r"first line of .* has an open quotation"):
        Schema.draft(path)


def test_a_draft_of_a_parquet_file_has_its_types(tmp_path):
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    assert Schema.draft(tmp_path / "people.parquet") == Schema.draft(FRAMES["arrow"])


def test_a_draft_explains_itself_and_every_type():
    comments = "\n".join(line for line in Schema.draft(PEOPLE).splitlines() if line.startswith("#"))
    for word in ("public knowledge", "records = ", "missing = ", *set(TYPES.values()), "ordinal"):
        assert word in comments
    for word in ("\n# weight  ", "rows_per_person", "monotone = ", "curve = true"):
        assert word in comments


@pytest.mark.parametrize(
    ("filled_in", "message"),
    [
        ([], "column 'age' is not filled in yet: give its low and high from public knowledge"),
        (["low = 0"], "column 'age' is not filled in yet: give its high from public knowledge"),
        (["low = 0", "high = 9"], "column 'job' is not filled in yet: give its categories from public know"),
        (
            ["low = 0", "high = 9", 'categories = ["a"]'],
            "the label is not filled in yet: give its name",
        ),
    ],
)
def test_a_draft_is_refused_until_it_is_filled_in(filled_in, message):
    text = Schema.draft(PEOPLE[["age", "job"]])
    for line in filled_in:
        key = line.split(" = ")[0]
        text = text.replace(f'{key} = ""', line).replace(f"{key} = []", line)
    with pytest.raises(ValueError, match=f"^The schema: {message}") as refusal:
        Schema.from_toml(text)
    assert str(refusal.value).endswith(".")


def test_a_column_without_a_type_is_named(tmp_path):
    PEOPLE[["age"]].to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(ValueError, match="column 'age' is not filled in yet: give its type from public"):
        Schema.from_toml(Schema.draft(tmp_path / "people.csv"))


def test_a_draft_that_is_filled_in_is_a_schema():
    text = Schema.draft(PEOPLE[["age", "ill"]], label="ill")
    text = text.replace('low = ""', "low = 0").replace('high = ""', "high = 120")
    schema = Schema.from_toml(text.replace("classes = []", 'classes = ["no", "yes"]'))
    assert schema == Schema([Integer("age", 0, 120)], Label("ill", ["no", "yes"]))


@pytest.mark.parametrize("frame", FRAMES)
def test_a_draft_with_curves_has_them_for_numbers_and_dates(frame):
    columns = tomllib.loads(Schema.draft(FRAMES[frame], label="ill", curves=True))["columns"]
    assert {column["name"]: column.get("curve") for column in columns if "curve" in column} == {
        "age": True,
        "height": True,
        "born": True,
    }


def test_a_draft_with_curves_has_them_for_columns_of_unknown_type_and_says_when_to_remove_them(tmp_path):
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    text = Schema.draft(tmp_path / "people.csv", curves=True)
    columns = tomllib.loads(text)["columns"]
    assert {column["name"] for column in columns if "curve" not in column} == {"person_id"}
    assert text.count("curve = true  # remove it unless the type is numeric, integer, date\n") == 7
    filled = '[[columns]]\nname = "job"\ntype = "categorical"\ncategories = ["a"]\ncurve = true\n'
    with pytest.raises(
        ValueError,
        match=r"^The schema: column 'job' has a curve, which only columns of type numeric, integer and date "
        r"can have; remove curve\.$",
    ):
        Schema.from_toml(filled + '[label]\nname = "y"\nclasses = ["n", "y"]\n')


# -- with the records


@pytest.mark.parametrize("frame", FRAMES)
def test_a_leak_is_filled_in_and_said_in_the_file_and_aloud(frame):
    with pytest.warns(PrivacyLeakWarning, match="lowest and the highest value are those of single people"):
        text = Schema.draft(FRAMES[frame], label="ill", leak=True)
    assert "NOT FOR PUBLICATION" in text
    assert "are those of single people" in text.replace("\n# ", " ")
    assert Schema.from_toml(text) == Schema(
        [
            Identifier("person_id"),
            Integer("age", 31, 74),
            Numeric("height", 1.5, 1.9),
            Boolean("member"),
            Categorical("job", [CANARY, "nurse"]),
            Date("born", "1947-01-02", "1990-05-06"),
            Ignored("stay"),
        ],
        Label("ill", ["no", "yes"]),
        taken_from_data=True,
    )


def test_a_leak_of_a_csv_file_finds_types_too(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(
        "born,joined,income,share,kids,well,note,ill\n"
        + "".join(
            f'19{n}-01-02,0{n % 9 + 1}.02.2001,"$1,{n}0.50",{n}%,{n % 3},{n % 2 == 0},note {n},{n % 2}\n'
            for n in range(10, 99)
        )
        + ",,,,,,,1\n"
    )
    with pytest.warns(PrivacyLeakWarning):
        schema = Schema.from_toml(Schema.draft(path, label="ill", leak=True))
    assert schema.columns == (
        Date("born", "1910-01-02", "1998-01-02"),
        Date("joined", "2001-02-01", "2001-02-09", format="%d.%m.%Y"),
        Numeric("income", 1100.5, 1980.5, unit="$", thousands=","),
        Integer("share", 10, 98, unit="%", thousands=","),
        Integer("kids", 0, 2),
        Boolean("well"),
        Ignored("note"),
    )
    assert schema.label == Label("ill", [0, 1])


def test_a_leak_finds_decimal_commas(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('weight,price,ill\n"70,5","1,250€",0\n"80","1,5€",1\n')
    with pytest.warns(PrivacyLeakWarning):
        schema = Schema.from_toml(Schema.draft(path, label="ill", leak=True))
    assert schema.columns == (
        Numeric("weight", 70.5, 80.0, decimal=","),
        Numeric("price", 1.25, 1.5, unit="€", decimal=","),
    )


def test_a_column_of_one_value_is_left_blank():
    with pytest.warns(PrivacyLeakWarning):
        text = Schema.draft(
            pd.DataFrame({"x": [1.5, 1.5], "d": [datetime.datetime(2000, 1, 1)] * 2}), leak=True
        )
    assert tomllib.loads(text)["columns"][0]["low"] == ""
    assert tomllib.loads(text)["columns"][1]["high"] == ""


def test_strict_mode_refuses_a_leak_before_looking():
    class Unread(dict):
        def __getitem__(self, name):
            raise AssertionError("looked at the data after a refusal")

    with strict(), pytest.raises(PrivacyLeakError, match="read off the records"):
        Schema.draft(Unread(age=[1]), leak=True)
    with strict():
        Schema.draft(PEOPLE)


@pytest.mark.parametrize("table", [np.zeros((2, 2)), [[1, 2]], 3])
def test_a_draft_needs_names(table):
    with pytest.raises(TypeError, match="A draft is made of a frame or the path of a file, not of"):
        Schema.draft(table)
    with pytest.raises(ValueError, match="The table has no column 'cost' to be the label"):
        Schema.draft(PEOPLE, label="cost")
