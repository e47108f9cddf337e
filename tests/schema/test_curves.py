"""Columns of numbers and dates that are cut at public edges."""

import datetime
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from privfit.preprocessing import SchemaEncoder
from privfit.schema import Categorical, Date, Integer, Label, Numeric, Schema, encode
from privfit.schema.curve import MOST_EDGES, Curve, edges_between
from privfit.schema.curved import EDGES_WITHOUT_BUDGET

LABEL = Label("y", ["no", "yes"])
AGE = Numeric("age", 0, 100, curve=[20, 60], unit="years")


def dense(rows, *facts):
    return encode(rows, Schema(facts, LABEL), sparse=False, dtype=np.float64)


def test_a_piece_says_how_much_of_its_way_a_number_has_gone():
    rows = dense([[0], [10], [20], [50], [60], [80], [100]], AGE)
    np.testing.assert_allclose(rows[:, 0], [0, 0.5, 1, 1, 1, 1, 1])
    np.testing.assert_allclose(rows[:, 1], [0, 0, 0, 0.75, 1, 1, 1])
    np.testing.assert_allclose(rows[:, 2], [0, 0, 0, 0, 0, 0.5, 1])


def test_a_curve_is_its_heights_at_its_knots():
    weights = np.array([0.5, -2.0, 1.0])
    ages = np.linspace(-10, 120, 261)
    curve = AGE.shape
    assert curve.knots == (0.0, 20.0, 60.0, 100.0)
    np.testing.assert_allclose(curve.heights(weights), [0.0, 0.5, -1.5, -0.5])
    np.testing.assert_allclose(dense(ages[:, None], AGE) @ weights, curve.at(ages, weights), atol=1e-12)


def test_pieces_with_weights_like_their_lengths_are_the_plain_column():
    ages = np.linspace(0, 100, 101)[:, None]
    plain = dense(ages, Numeric("age", 0, 100))[:, 0]
    np.testing.assert_allclose(dense(ages, AGE) @ np.diff(AGE.shape.knots) / 100.0, plain)


def test_values_that_are_missing_or_beyond_the_bounds_count_as_in_a_plain_column():
    cells = [[-5], [None], ["?"], [130]]
    np.testing.assert_allclose(dense(cells, AGE), dense([[0], [50], [50], [100]], AGE))
    filled = Numeric("age", 0, 100, curve=[20, 60], fill=30)
    np.testing.assert_allclose(dense([[None]], filled), dense([[30]], filled))
    marked = Numeric("age", 0, 100, curve=[20, 60], missing="indicator")
    np.testing.assert_array_equal(dense([[None], [0]], marked), [[0, 0, 0, 1], [0, 0, 0, 0]])
    refusing = Numeric("age", 0, 100, curve=[20, 60], missing="refuse")
    with pytest.raises(ValueError, match="which the schema refuses"):
        dense([[None]], refusing)


def test_names_say_where_a_piece_begins_and_ends():
    born = Date("born", "1920-01-01", "2010-12-31", curve=["1950-01-01"], missing="indicator")
    assert AGE.feature_names == ("age[0, 20]", "age[20, 60]", "age[60, 100]")
    assert born.feature_names[0] == "born[1920-01-01, 1950-01-01]"
    assert born.feature_names[-1] == "born=other"
    assert AGE.step(AGE.levels[1]) == "from 20 to 60 years"
    assert "missing" in born.step("other")


@pytest.mark.parametrize(
    "fact",
    [
        Numeric("x", 0, 1, curve=True),
        Numeric("x", 0, 1, curve=False),
        Numeric("x", 0, 1, curve=7),
        Numeric("x", 0, 1, curve=[0.25, 0.5]),
        Integer("x", -3, 12, curve=[1, 5]),
        Date("x", "1990-01-01", "2020-01-01", curve=[datetime.date(2000, 2, 29)]),
    ],
)
def test_curves_are_kept_in_files(fact):
    schema = Schema([fact], LABEL)
    for copy in (Schema.from_toml(schema.to_toml()), Schema.from_dict(schema.to_dict())):
        assert copy == schema
        assert copy.columns[0].curve == fact.curve
        assert type(copy.columns[0].curve) is type(fact.curve)
    decided = schema.with_edges(5)
    assert pickle.loads(pickle.dumps(decided)) == decided == Schema.from_dict(decided.to_dict())
    assert not decided.has_undecided_curves


@pytest.mark.parametrize("curve", ["yes", 1.5, -1, MOST_EDGES + 1, [0.5, 0.25], [0.5, 0.5], [0.0], [2.0]])
def test_curves_that_make_no_sense_are_refused_by_name(curve):
    with pytest.raises(ValueError, match="column 'x'"):
        Numeric("x", 0, 1, curve=curve)


@pytest.mark.parametrize("edge", [True, "0.5", None, float("nan")])
def test_edges_are_numbers(edge):
    with pytest.raises(ValueError, match="finite number"):
        Numeric("x", 0, 1, curve=[edge])
    with pytest.raises(ValueError, match=r"whole numbers|finite number"):
        Integer("x", 0, 9, curve=[edge, 2.5])
    with pytest.raises(ValueError, match="a date such as"):
        Date("x", "1990-01-01", "2020-01-01", curve=[edge])


def test_no_edge_is_a_plain_column():
    for curve in (0, [], False):
        fact = Numeric("x", 0, 1, curve=curve)
        assert fact.shape is None
        assert fact.feature_names == ("x",)
    assert Schema([Numeric("x", 0, 1, curve=True)], LABEL).with_edges(0).feature_names == ("x",)


def test_the_setting_of_an_estimator_is_for_columns_that_declare_nothing():
    facts = [Numeric("a", 0, 1), Numeric("b", 0, 1, curve=False), Numeric("c", 0, 1, curve=3)]
    schema = Schema([*facts, Categorical("d", ["x", "y"])], LABEL)
    curves = [column.curve for column in schema.with_curves(True).features[:3]]
    assert curves == [True, False, 3]
    assert schema.with_curves(None) is schema
    assert not schema.with_curves(False).has_curves


@given(
    low=st.floats(-1e12, 1e12),
    width=st.floats(1e-6, 1e12),
    count=st.integers(0, MOST_EDGES),
    whole=st.booleans(),
)
def test_edges_follow_from_the_bounds_and_lie_between_them(low, width, count, whole):
    high = low + width
    if not low < high:
        return
    edges = edges_between(low, high, count, whole=whole)
    assert edges == edges_between(low, high, count, whole=whole)
    assert len(edges) <= count
    assert all(low < edge < high for edge in edges)
    assert list(edges) == sorted(set(edges))
    assert not whole or all(edge.is_integer() for edge in edges)


def test_edges_are_denser_near_zero_where_amounts_are_and_even_far_from_it():
    amounts = np.array(edges_between(0, 100_000, 12))
    assert amounts[0] < 1_000
    assert amounts[-1] > 80_000
    years = np.array(edges_between(1990, 2020, 5))
    np.testing.assert_allclose(np.diff(np.r_[1990, years, 2020]), 5, atol=0.5)
    assert 0.0 in edges_between(-1000, 1000, 11)


def test_an_encoder_without_a_budget_takes_the_documented_number_of_edges():
    schema = Schema([Numeric("x", 0, 1, curve=True), Categorical("c", list("abcdefgh"))], LABEL)
    encoder = SchemaEncoder(schema, sparse_output=False)
    rows = encoder.transform([[0.3, "b"], [2.0, "?"]])
    assert rows.shape == (2, EDGES_WITHOUT_BUDGET + 1 + 8) == (2, len(encoder.get_feature_names_out()))
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[1], [1.0] * (EDGES_WITHOUT_BUDGET + 1) + [0.0] * 8)


def test_dense_and_sparse_tables_are_the_same_in_blocks_of_any_size(monkeypatch):
    schema = Schema([AGE, Categorical("c", list("abcdefghijklm")), Numeric("b", 0, 1)], LABEL)
    rng = np.random.default_rng(0)
    rows = [[rng.uniform(0, 100), cell, 0.5] for cell in rng.choice(list("abz"), 50)]
    whole = encode(rows, schema, sparse=False)
    monkeypatch.setattr("privfit.schema.encoding._ENTRIES_AT_ONCE", 100)
    np.testing.assert_array_equal(whole, encode(rows, schema, sparse=False))
    packed = encode(rows, schema)
    assert sparse.issparse(packed)
    np.testing.assert_array_equal(whole, packed.toarray())
    assert encode({"age": [], "c": [], "b": []}, schema).shape == (0, whole.shape[1])


def test_one_hostile_record_changes_no_other_row():
    schema = Schema([AGE, Date("d", "1990-01-01", "2020-01-01", curve=3)], LABEL)
    rows = [[20.5, "2000-01-01"], [99, "1995-05-05"]]
    alone = encode(rows, schema, sparse=False)
    for hostile in ([np.inf, None], ["x", "y"], [-1e300, "9999-12-31"], [float("nan"), ""]):
        np.testing.assert_array_equal(encode([*rows, hostile], schema, sparse=False)[:2], alone)


def test_knots_are_ascending():
    with pytest.raises(ValueError, match="ascending"):
        Curve([0.0, 0.0])
    with pytest.raises(ValueError, match="ascending"):
        Curve([0.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_number_at_a_knot_has_gone_nothing_of_the_next_piece(dtype):
    """A trace of it in every such record would be taken for the size of the column."""
    years = Numeric("education", 1, 16, curve=list(range(2, 16)))
    rows = encode([[year] for year in range(1, 17)], Schema([years], LABEL), sparse=False, dtype=dtype)
    np.testing.assert_array_equal(rows, np.arange(16)[:, None] > np.arange(15))


def test_pieces_shorter_than_single_precision_tells_apart_stay_between_0_and_1():
    narrow = Numeric("x", 0, 1, curve=[0.5, 0.5 + 1e-12])
    cells, schema = [[0.4], [0.5], [0.5 + 1e-12], [0.6]], Schema([narrow], LABEL)
    rows = encode(cells, schema, sparse=False)
    assert ((rows >= 0.0) & (rows <= 1.0)).all()
    np.testing.assert_allclose(rows[:, 0], [0.8, 1, 1, 1])
    np.testing.assert_array_equal(encode(cells, schema, sparse=False, dtype=np.float64)[:, 1], [0, 0, 1, 1])
