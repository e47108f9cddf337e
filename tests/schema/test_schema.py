import copy
import dataclasses
import json
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from privfit.schema import (
    Boolean,
    Categorical,
    Date,
    Ignored,
    Integer,
    Label,
    Numeric,
    Ordinal,
    Schema,
    encode,
)
from privfit.schema.cells import reading

AGE = Numeric("age", 17, 90)
SEX = Categorical("sex", ["Female", "Male"])
INCOME = Label("income", ["low", "high"])


def test_schema_is_frozen_hashable_and_survives_copying():
    schema = Schema([AGE, SEX], INCOME)
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema.label = Label("other", ["a", "b"])
    for twin in (copy.deepcopy(schema), pickle.loads(pickle.dumps(schema))):
        assert twin == schema
        assert hash(twin) == hash(schema)


def test_lists_are_kept_as_tuples_so_that_nobody_can_change_them_later():
    categories = ["Female", "Male"]
    column = Categorical("sex", categories)
    categories.append("?")
    assert column.categories == ("Female", "Male")


def test_feature_names_follow_the_columns():
    assert Schema([SEX, AGE], INCOME).feature_names == ("sex=Female", "sex=Male", "age")


@pytest.mark.parametrize(
    "bounds",
    [
        (0, math.inf),
        (-math.inf, 0),
        (math.nan, 1),
        (0, math.nan),
        (0, "9"),
        (None, 1),
        (False, True),
        (-(10**400), 0),
    ],
)
def test_bounds_that_are_not_finite_numbers_are_refused(bounds):
    with pytest.raises(ValueError, match="bounds of column 'x' must be finite numbers"):
        Numeric("x", *bounds)


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (-1.7e308, 1.7e308), (2**53, 2**53 + 1)])
def test_bounds_without_a_positive_finite_distance_are_refused(bounds):
    with pytest.raises(ValueError, match="'x' needs low < high, a finite distance apart"):
        Numeric("x", *bounds)


@pytest.mark.parametrize("name", ["", "  ", None, 3])
@pytest.mark.parametrize("kind", [lambda n: Numeric(n, 0, 1), lambda n: Categorical(n, ["a"])])
def test_column_needs_a_name(kind, name):
    with pytest.raises(ValueError, match="column name must be a non-empty string"):
        kind(name)


@pytest.mark.parametrize("category", ["", " a", "a ", None, 1.5, math.nan, ["a"]])
def test_category_must_be_a_clean_string(category):
    with pytest.raises(ValueError, match="'x' must be an integer or a non-empty string without surrounding"):
        Categorical("x", ["b", category])


@pytest.mark.parametrize("categories", ["abc", 3, None, {"a": 1}])
def test_categories_must_be_a_list(categories):
    with pytest.raises(ValueError, match="column 'x' must be a list, not the single value"):
        Categorical("x", categories)


@pytest.mark.parametrize("categories", [["a", "b", "a"], ["a", 1, "1"]])
def test_categories_must_be_distinct(categories):
    with pytest.raises(ValueError, match=r"column 'x' name '(a|1)' more than once"):
        Categorical("x", categories)


def test_categories_are_kept_as_the_encoder_reads_them():
    assert Categorical("x", [1, "02", False]).categories == ("1", "02", "False")
    assert Categorical("x", np.arange(3)).categories == ("0", "1", "2")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *[("1", "01"), (1, "1.0"), ("10", "1e1"), (1, True), ("true", "True"), ("0", False), (".50", "0.5")],
        *[("inf", "Infinity"), ("a", "a\0"), (2**53, "9007199254740992.0")],
    ],
)
def test_categories_that_a_table_may_store_alike_are_refused_by_name(first, second):
    message = f"column 'x' include {str(first)!r} and {str(second)!r}, which read as the same; keep one"
    with pytest.raises(ValueError, match=re.escape(message)):
        Categorical("x", ["b", first, second])


@pytest.mark.parametrize("category", ["nan", "NaN", "-nan", "\0"])
def test_category_that_reads_as_missing_is_refused(category):
    with pytest.raises(ValueError, match=r"column 'x' include .*, which reads as a missing value"):
        Categorical("x", ["b", category])


def test_only_integers_that_floats_may_confuse_need_to_be_text():
    assert not Categorical("x", [2**53 - 1, "-9007199254740991", "1.5", "a", "inf"]).places.only_as_text
    for category in (2**53, -(2**53), "9007199254740993", "1e16"):
        assert Categorical("x", ["a", category]).places.only_as_text


def test_other_level_is_a_feature_of_its_own():
    columns = [
        Numeric("age", 0, 120, missing="indicator"),
        Categorical("sex", ["Female", "Male"], missing="indicator"),
    ]
    assert Schema(columns, INCOME).feature_names == (
        ("age", "age=other", "sex=Female", "sex=Male", "sex=other")
    )


def test_a_category_called_other_and_the_indicator_have_names_of_their_own():
    both = Categorical("x", ["a", "other"], missing="indicator")
    assert both.feature_names == ("x=a", "x=other", "x=other (not listed)")
    rows = encode({"x": ["other", "?", None, "a"]}, Schema([both], INCOME), sparse=False)
    assert rows.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0]]
    assert Categorical("x", ["a", "other"]).feature_names == ("x=a", "x=other")
    hostile = Categorical("x", ["other", "other (not listed)"], missing="indicator")
    assert len(set(hostile.feature_names)) == 3


@pytest.mark.parametrize("policy", ["rare", None, True, ["fill"]])
def test_what_is_missing_is_filled_in_or_indicated_or_refused(policy):
    with pytest.raises(
        ValueError, match="missing of column 'x' must be 'fill', 'indicator' or 'refuse', not"
    ):
        Categorical("x", ["a"], missing=policy)


def test_categories_must_not_be_empty():
    with pytest.raises(ValueError, match="'x' needs at least one category"):
        Categorical("x", [])


def test_label_needs_two_distinct_classes():
    with pytest.raises(ValueError, match="label 'y' name 'a' more than once"):
        Label("y", ["a", "a"])
    with pytest.raises(ValueError, match="'y' needs at least two classes, not 1"):
        Label("y", ["a"])


def test_classes_stay_what_the_labels_are():
    assert Label("y", [0, 1]).classes == (0, 1)
    assert Label("y", np.array([-1, 1])).classes == (-1, 1)
    assert type(Label("y", np.array([-1, 1])).classes[0]) is int
    assert Label("y", ["0", "1"]) != Label("y", [0, 1])
    with pytest.raises(ValueError, match="label 'y' must be all strings, all integers or all booleans"):
        Label("y", ["0", 1])
    with pytest.raises(ValueError, match=r"label 'y' must be an integer or a non-empty string .*, not 0\.5"):
        Label("y", [0.5, 1.5])


def test_schema_needs_a_column():
    with pytest.raises(ValueError, match="at least one column"):
        Schema([], INCOME)


def test_names_must_be_distinct_and_differ_from_the_label():
    with pytest.raises(ValueError, match="names column 'age' more than once"):
        Schema([AGE, SEX, AGE], INCOME)
    with pytest.raises(ValueError, match="Column 'income' is the label; take it out of the columns"):
        Schema([SEX, Ignored("income")], INCOME)


def test_features_must_be_distinct():
    with pytest.raises(ValueError, match="both become the feature 'sex=Male'"):
        Schema([SEX, Numeric("sex=Male", 0, 1)], INCOME)


# -- TOML


names = st.text(min_size=1, max_size=8).filter(str.strip)
clean = st.text(min_size=1, max_size=8).map(str.strip).filter(lambda text: text not in ("", "other"))
nasty = st.sampled_from(
    ['"', "\\", "'a'", "a\\u0041", "\x00", "x\x1fx", "x\x7fx", "x\r\ny", "é", "😀", "=", "#", "[b]"]
)


def reads(category):
    return reading(category) is not None


def two(values):
    return st.lists(values, min_size=2, max_size=2, unique=True).map(sorted)


def words(least, most=5):
    written = (clean | nasty | st.integers()).filter(reads)
    return st.lists(written, min_size=least, max_size=most, unique_by=reading)


named = names | nasty
common = {"unit": clean | st.just(""), "missing": st.sampled_from(["fill", "indicator", "refuse"])}
numerics = st.builds(
    lambda kind, name, bounds, **more: kind(name, *bounds, **more),
    st.just(Numeric),
    named,
    two(st.floats(-8e307, 8e307)),
    thousands=st.sampled_from(["", " ", "'", "_"]),
    decimal=st.sampled_from([".", ","]),
    **common,
) | st.builds(
    lambda name, bounds, fill: Integer(name, *bounds, fill=fill),
    named,
    two(st.integers(-(2**53), 2**53)),
    st.none() | st.integers(-(2**70), 2**70),
)
dates = st.builds(
    lambda name, bounds, **more: Date(name, *bounds, **more),
    named,
    two(st.dates()),
    fill=st.none() | st.dates(),
    format=st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"]),
)
listed = (
    st.builds(Categorical, named, words(1), **common)
    | words(1).flatmap(lambda w: st.builds(Categorical, named, st.just(w), fill=st.sampled_from(w)))
    | words(1).flatmap(lambda w: st.builds(Categorical, named, st.just(w), reference=st.sampled_from(w)))
    | st.builds(Ordinal, named, words(2), **common)
    | st.builds(Boolean, named, fill=st.none() | st.booleans())
    | st.builds(Boolean, named, st.just(["no", "yes"]), **common)
)
left_out = st.builds(Ignored, named)
classes = (
    st.lists((clean | nasty).filter(reads), min_size=2, max_size=3, unique_by=reading)
    | st.lists(st.integers(), min_size=2, max_size=3, unique=True)
    | st.permutations([False, True])
)
labels = classes.flatmap(  # of more than two classes none is the positive one
    lambda c: st.builds(
        Label, named, st.just(c), st.none() | st.sampled_from(c) if len(c) == 2 else st.none()
    )
)
columns_of_all_types = st.lists(numerics | dates | listed | left_out, min_size=1, max_size=5)


@given(columns_of_all_types, labels, st.none() | st.integers(1, 2**60), st.booleans())
def test_toml_and_dicts_give_back_the_very_same_schema(columns, label, records, taken_from_data):
    try:
        schema = Schema(columns, label, records, taken_from_data)
    except ValueError:
        assume(False)  # two names were equal, or no column is a feature
    by_json = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    for again in (Schema.from_toml(schema.to_toml()), by_json):
        assert again == schema
        assert hash(again) == hash(schema)
        assert repr(again) == repr(schema)  # 0 is not False, and -0.0 is not 0.0


@pytest.mark.parametrize("as_path", [str, lambda path: path])
def test_toml_file_is_read(tmp_path, as_path):
    path = tmp_path / "schema.toml"
    path.write_text(
        """
        [label]
        name = "income"
        classes = ["low", "high"]
        [[columns]]
        name = "age"
        type = "numeric"
        low = 17
        high = 90.5
        [[columns]]
        name = "código"
        type = "categorical"
        categories = [1, 2, "ñ"]
        missing = "indicator"
        """,
        encoding="utf-8",
    )
    assert Schema.from_toml(as_path(path)) == Schema(
        [Numeric("age", 17, 90.5), Categorical("código", ["1", "2", "ñ"], missing="indicator")], INCOME
    )


LABEL = '[label]\nname = "y"\nclasses = [0, 1]\n'
AGE_TOML = '[[columns]]\nname = "age"\ntype = "numeric"\nlow = 0\nhigh = 9\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[columns]\n", "is not valid TOML: .*line 1"),
        (AGE_TOML, "has no key 'label'"),
        (LABEL, "has no key 'columns'"),
        ("columns = [1]\n" + LABEL, r"write each column as a table of its own, under \[\[columns\]\]"),
        ("columns = 3\n" + LABEL, r"write each column as a table of its own, under \[\[columns\]\]"),
        ("columns = []\n" + LABEL, "needs at least one column"),
        ("label = 'y'\n" + AGE_TOML, r"write the label as a table, under \[label\]"),
        (
            LABEL + AGE_TOML + "\n[bounds]\n",
            "unknown key 'bounds'; the keys are records, taken_from_data, columns, label",
        ),
        (
            LABEL + AGE_TOML.replace("high = 9", ""),
            "column 'age' has no key 'high'; add it, from public knowledge",
        ),
        (LABEL + AGE_TOML.replace("high", "maximum"), "column 'age' has an unknown key 'maximum'"),
        (LABEL + AGE_TOML.replace('name = "age"', ""), "column number 1 has no key 'name'"),
        (LABEL + AGE_TOML.replace('"numeric"', '"number"'), "'age' needs a type, one of numeric, integer,"),
        (LABEL + AGE_TOML.replace('"numeric"', "[1]"), "'age' needs a type, one of numeric, integer, boole"),
        (LABEL + AGE_TOML.replace("9", "inf"), "bounds of column 'age' must be finite numbers"),
        (LABEL + AGE_TOML.replace("9", "nan"), "bounds of column 'age' must be finite numbers"),
        (LABEL + AGE_TOML.replace("9", "true"), "bounds of column 'age' must be finite numbers"),
        (LABEL + AGE_TOML.replace("9", "1979-05-27"), "bounds of column 'age' must be finite numbers"),
        (LABEL + AGE_TOML.replace("9", "-9"), "'age' needs low < high"),
        (LABEL + AGE_TOML + AGE_TOML, "names column 'age' more than once"),
        (
            LABEL.replace("[0, 1]", "[0, 0.5]") + AGE_TOML,
            "label 'y' must be an integer or a non-empty string",
        ),
        (LABEL.replace("classes", "levels") + AGE_TOML, "label has an unknown key 'levels'"),
    ],
)
def test_bad_toml_is_refused_by_file_column_and_key(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"(?s)bad\\.toml.*{message}"):
        Schema.from_toml(path)
    with pytest.raises(ValueError, match=f"(?s)^The schema.*{message}"):
        Schema.from_toml(text)


def test_file_that_is_not_there_or_not_text_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.toml"):
        Schema.from_toml("nowhere.toml")
    path = tmp_path / "latin.toml"
    path.write_bytes("name = 'é'\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.toml is not UTF-8 text"):
        Schema.from_toml(path)
