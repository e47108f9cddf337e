import copy
import dataclasses
import math
import pickle

import pytest

from privfit.preprocessing import Categorical, Label, Numeric, Schema

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
    [(0, math.inf), (-math.inf, 0), (math.nan, 1), (0, math.nan), (0, "9"), (None, 1), (-(10**400), 0)],
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


@pytest.mark.parametrize("category", ["", " a", "a ", None, 1, math.nan])
def test_category_must_be_a_clean_string(category):
    with pytest.raises(ValueError, match="column 'x' must be a non-empty string without surrounding space"):
        Categorical("x", ["b", category])


def test_categories_must_be_a_list():
    with pytest.raises(ValueError, match="must be a list of strings, not the single string 'abc'"):
        Categorical("x", "abc")


def test_categories_must_be_distinct():
    with pytest.raises(ValueError, match="column 'x' name 'a' more than once"):
        Categorical("x", ["a", "b", "a"])


def test_categories_must_not_be_empty():
    with pytest.raises(ValueError, match="'x' needs at least one category"):
        Categorical("x", [])


def test_label_needs_two_distinct_classes():
    with pytest.raises(ValueError, match="label 'y' name 'a' more than once"):
        Label("y", ["a", "a"])
    with pytest.raises(ValueError, match="'y' needs at least two classes, not 1"):
        Label("y", ["a"])


def test_schema_needs_a_column():
    with pytest.raises(ValueError, match="at least one column"):
        Schema([], INCOME)


@pytest.mark.parametrize("columns", [[AGE, SEX, AGE], [SEX, Numeric("income", 0, 1)]])
def test_names_must_be_distinct_and_differ_from_the_label(columns):
    with pytest.raises(ValueError, match=r"names column '(age|income)' more than once"):
        Schema(columns, INCOME)


def test_features_must_be_distinct():
    with pytest.raises(ValueError, match="both become the feature 'sex=Male'"):
        Schema([SEX, Numeric("sex=Male", 0, 1)], INCOME)
