import dataclasses
import math
import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from privfit.preprocessing import SchemaEncoder
from privfit.schema import Categorical, Label, Numeric, Schema

# "null", "None", "1" and "False" are there to be confused with a missing value, a number or a truth value.
SCHEMA = Schema(
    [
        Numeric("age", 20, 60),
        Categorical("sex", ["Female", "Male"]),
        Categorical("code", ["null", "None", "1", "2", "False"]),
        Numeric("gain", -1, 3),
    ],
    Label("income", ["low", "high"]),
)
BLOCKS = [slice(1, 3), slice(3, 8)]
ROWS = [
    [30, "Male", "1", 0.0],
    [None, "?", "None", 9.0],
    [61, "Female", "2", -1.0],
    [20, None, "7", math.nan],
]
EXPECTED = [
    [0.25, 0, 1, 0, 0, 1, 0, 0, 0.25],
    [0.5, 0, 0, 0, 1, 0, 0, 0, 1],
    [1, 1, 0, 0, 0, 0, 1, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 0.5],
]


# The same with a level of its own for what is missing or not listed.
WITH_OTHER = Schema(
    [dataclasses.replace(column, missing="indicator") for column in SCHEMA.columns], SCHEMA.label
)
EXPECTED_WITH_OTHER = [
    [0.25, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0.25, 0],
    [0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0],
    [1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
    [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1],
]


def encode(X, schema=SCHEMA):
    return SchemaEncoder(schema, sparse_output=False).transform(X)


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.floats(width=32).map(np.float32),
    st.sampled_from([10**400, -(10**400), math.nan, math.inf, -math.inf, pd.NA, pd.NaT, np.float64("nan")]),
    st.sampled_from(["", "?", "nan", "NaN", "inf", "-inf", "1e999", "None", "40", " 40 ", "1", 1, 1.0, True]),
    st.sampled_from(["Female", "Male", " Male", "male", "2"]),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.lists(st.integers(), max_size=2),
)
row = st.tuples(anything, anything, anything, anything)


@pytest.mark.parametrize("schema", [SCHEMA, WITH_OTHER], ids=["zeros", "other"])
@given(rows=st.lists(row, min_size=1, max_size=8), random=st.randoms(use_true_random=False))
def test_row_encoding_depends_on_that_row_alone(schema, rows, random):
    together = encode(rows, schema)
    alone = np.vstack([encode([row], schema) for row in rows])
    np.testing.assert_array_equal(together, alone)

    some = random.sample(range(len(rows)), random.randint(1, len(rows)))
    np.testing.assert_array_equal(encode([rows[i] for i in some], schema), together[some])


@given(st.lists(row, min_size=1, max_size=4), st.lists(row, min_size=1, max_size=4))
def test_what_it_was_fitted_on_makes_no_difference(seen, other):
    encoders = [SchemaEncoder(SCHEMA).fit(rows) for rows in (seen, other)]
    a, b = (encoder.transform(other).toarray() for encoder in encoders)
    np.testing.assert_array_equal(a, b)
    assert encoders[0].get_feature_names_out().tolist() == encoders[1].get_feature_names_out().tolist()
    assert repr(vars(encoders[0])) == repr(vars(SchemaEncoder(SCHEMA)))


column_values = {
    "age": st.none() | st.integers(-5, 200) | st.floats(),
    "sex": st.none() | st.sampled_from(["Female", "Male", "?", ""]),
    "code": st.none() | st.sampled_from(["1", "01", "nan", "True", "zz"]),
    "gain": st.none() | st.floats(),
}
FRAMES = {
    "pandas": lambda table: pd.DataFrame(table, dtype=object).infer_objects(),
    "nullable": lambda table: pd.DataFrame(table).convert_dtypes(),
    "polars": lambda table: pl.DataFrame(table, strict=False),
}


@pytest.mark.parametrize("frame", FRAMES)
@given(rows=st.lists(st.fixed_dictionaries(column_values), min_size=1, max_size=6), data=st.data())
def test_row_of_a_frame_is_encoded_as_it_is_alone(frame, rows, data):
    make = FRAMES[frame]
    order = data.draw(st.permutations(list(column_values)))
    together = encode(make({name: [row[name] for row in rows] for name in order}), WITH_OTHER)
    alone = [encode([[row[name] for name in column_values]], WITH_OTHER)[0] for row in rows]
    np.testing.assert_array_equal(together, alone)


@given(st.lists(row, max_size=8))
def test_other_level_makes_every_block_one_hot(rows):
    encoded = encode(rows, WITH_OTHER)
    assert encoded.shape == (len(rows), 13)
    assert np.all((encoded >= 0) & (encoded <= 1))
    for block in (slice(2, 5), slice(5, 11)):
        assert np.all(encoded[:, block].sum(axis=1) == 1)
    np.testing.assert_array_equal(encode(rows)[:, 1:8], encoded[:, [2, 3, 5, 6, 7, 8, 9]])


@given(st.lists(row, max_size=8))
def test_encoding_is_finite_within_the_unit_interval_and_at_most_one_hot(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoded = encode(rows)
    assert encoded.shape == (len(rows), 9)
    assert np.all((encoded >= 0) & (encoded <= 1))
    for block in BLOCKS:
        assert set(np.unique(encoded[:, block])) <= {0.0, 1.0}
        assert np.all(encoded[:, block].sum(axis=1) <= 1)


finite = st.floats(min_value=-8e307, max_value=8e307)


@given(st.lists(finite, min_size=2, max_size=2, unique=True), st.lists(st.floats(), max_size=5))
def test_any_bounds_give_the_unit_interval(bounds, values):
    low, high = sorted(bounds)
    schema = Schema([Numeric("x", low, high)], SCHEMA.label)
    encoded = encode({"x": [*values, low, high]}, schema)[:, 0]
    assert np.all((encoded >= 0) & (encoded <= 1))
    assert encoded[-2:].tolist() == [0, 1]


def test_bounds_that_floats_cannot_hold_still_give_the_unit_interval():
    low, high = 2**53, 2**53 + 3
    assert encode([[high]], Schema([Numeric("x", low, high)], SCHEMA.label)) == 1


def test_known_rows_have_known_encodings():
    np.testing.assert_array_equal(encode(ROWS), EXPECTED)
    np.testing.assert_array_equal(encode(ROWS, WITH_OTHER), EXPECTED_WITH_OTHER)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (40, 0.5),
        ("30", 0.25),
        (" 50 ", 0.75),
        (b"30", 0.25),
        (math.inf, 1),
        (-math.inf, 0),
        ("inf", 1),
        ("1e999", 1),
        pytest.param(10**400, 1, id="huge"),
        pytest.param(-(10**400), 0, id="-huge"),
        (19.99, 0),
        (math.nan, 0.5),
        ("nan", 0.5),
        (None, 0.5),
        (pd.NA, 0.5),
        ("", 0.5),
        ("?", 0.5),
        ("forty", 0.5),
        ("4_0", 0.5),
        (Decimal("50"), 0.75),
        (np.timedelta64(30, "D"), 0.5),
        (25j, 0.5),
        ([30, 31], 0.5),
    ],
)
def test_number_is_clipped_and_a_missing_one_is_the_middle(value, expected):
    assert encode([[value, "Male", "1", 0]])[0, 0] == expected


@pytest.mark.parametrize(
    ("value", "category"),
    [
        ("null", "null"),
        (" null ", "null"),
        ("None", "None"),
        ("1", "1"),
        ("01", "1"),
        (" 1.0", "1"),
        ("1e0", "1"),
        (b"1", "1"),
        (1, "1"),
        (1.0, "1"),
        (np.int8(1), "1"),
        (np.float32(1), "1"),
        (Decimal("1.00"), "1"),
        (True, "1"),
        ("true", "1"),
        (np.True_, "1"),
        (False, "False"),
        ("FALSE", "False"),
        (0, "False"),
        ("-0.0", "False"),
        ("nan", None),
        (None, None),
        (math.nan, None),
        (pd.NA, None),
        (pd.NaT, None),
        (math.inf, None),
        (1.5, None),
        ("1.5", None),
        (1 + 0j, None),
        (np.timedelta64(1, "D"), None),
        ("", None),
        ("Null", None),
        ([1], None),
    ],
)
def test_category_is_matched_by_what_it_reads_as_and_anything_else_leaves_zeros(value, category):
    expected = [float(category == known) for known in SCHEMA.columns[2].categories]
    assert encode([[30, "Male", value, 0]])[0, BLOCKS[1]].tolist() == expected


def test_category_outside_the_schema_creates_no_column():
    rows = [[30, f"new-{i}", "1", 0] for i in range(50)]
    encoder = SchemaEncoder(SCHEMA, sparse_output=False).fit(rows)
    encoded = encoder.transform(rows)
    assert encoded.shape == (50, len(encoder.get_feature_names_out())) == (50, 9)
    assert not encoded[:, BLOCKS[0]].any()


def test_fit_keeps_nothing_of_the_data():
    fitted = SchemaEncoder(SCHEMA).fit(ROWS)
    assert vars(fitted) == vars(SchemaEncoder(SCHEMA))


def test_encoder_counts_as_fitted_from_the_start():
    check_is_fitted(SchemaEncoder(SCHEMA))


def _columns_of(rows):
    return dict(zip(["age", "sex", "code", "gain"], map(list, zip(*rows, strict=True)), strict=True))


def _structured(rows, dtype):
    blank = {"f": math.nan, "U": "", "O": None}
    kinds = [np.dtype(kind).kind for _, kind in dtype]
    rows = [tuple(blank[k] if v is None else v for k, v in zip(kinds, row, strict=True)) for row in rows]
    return np.array(rows, dtype=dtype)


@pytest.mark.parametrize(
    "container",
    [
        lambda rows: rows,
        lambda rows: [tuple(row) for row in rows],
        lambda rows: np.array(rows, dtype=object),
        _columns_of,
        lambda rows: {name: np.array(column, dtype=object) for name, column in _columns_of(rows).items()},
        lambda rows: pd.DataFrame(_columns_of(rows)),
        lambda rows: pd.DataFrame(_columns_of(rows)).convert_dtypes(),
        lambda rows: pd.DataFrame(_columns_of(rows)).astype({"sex": "category", "code": "category"}),
        lambda rows: pd.DataFrame(_columns_of(rows), index=[7, 7, 3, 1]),
        lambda rows: pd.DataFrame(_columns_of(rows))[["gain", "code", "sex", "age"]],
        lambda rows: pl.DataFrame(_columns_of(rows)),
        lambda rows: pl.DataFrame(_columns_of(rows)).with_columns(pl.col("sex").cast(pl.Categorical)),
        lambda rows: _columns_of(rows) | {"income": ["low"] * len(rows)},
        lambda rows: _structured(rows, [("age", "f4"), ("sex", "U6"), ("code", object), ("gain", "f8")]),
        lambda rows: _structured(rows, [("age", object), ("sex", object), ("code", "U4"), ("gain", "f4")])[
            ["gain", "code", "age", "sex"]
        ],
    ],
)
def test_every_container_gives_the_same_matrix(container):
    np.testing.assert_array_equal(encode(container(ROWS)), EXPECTED)
    np.testing.assert_array_equal(encode(container(ROWS), WITH_OTHER), EXPECTED_WITH_OTHER)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_integer_category_survives_a_missing_neighbour(frame):
    schema = Schema([Categorical("code", ["1", "2"])], SCHEMA.label)
    np.testing.assert_array_equal(encode(frame({"code": [1, 2]}), schema), [[1, 0], [0, 1]])
    np.testing.assert_array_equal(encode(frame({"code": [1, None]}), schema), [[1, 0], [0, 0]])


def test_numeric_array_is_accepted():
    schema = Schema([Numeric("a", 0, 2), Categorical("b", ["0", "1"])], SCHEMA.label)
    np.testing.assert_array_equal(encode(np.array([[1, 0], [5, 1]]), schema), [[0.5, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(encode(np.array([[np.nan, 1.0]]), schema), [[0.5, 0, 1]])


def test_equal_cells_that_read_differently_are_not_taken_for_each_other():
    schema = Schema([Categorical("code", [1])], SCHEMA.label)
    np.testing.assert_array_equal(encode({"code": [1, 1 + 0j]}, schema), [[1], [0]])
    np.testing.assert_array_equal(encode({"code": [1 + 0j, 1]}, schema), [[0], [1]])


def test_output_is_canonical_sparse_float32_unless_dense_is_asked_for():
    sparse = SchemaEncoder(SCHEMA).fit_transform(ROWS)
    assert isinstance(sparse, csr_matrix)
    assert sparse.dtype == np.float32
    assert sparse.has_canonical_format
    assert np.all(sparse.data != 0)
    dense = SchemaEncoder(SCHEMA, sparse_output=False).fit_transform(ROWS)
    assert isinstance(dense, np.ndarray)
    assert dense.dtype == np.float32
    np.testing.assert_array_equal(sparse.toarray(), dense)


def test_no_rows_give_no_rows():
    assert encode(pd.DataFrame(columns=["age", "sex", "code", "gain"])).shape == (0, 9)


def test_feature_names_match_the_columns():
    names = SchemaEncoder(SCHEMA).get_feature_names_out()
    assert names.tolist() == (
        ["age", "sex=Female", "sex=Male", "code=null", "code=None", "code=1", "code=2", "code=False", "gain"]
    )
    assert (
        SchemaEncoder(SCHEMA).get_feature_names_out(["age", "sex", "code", "gain"]).tolist() == names.tolist()
    )
    with pytest.raises(ValueError, match="must be the schema's column names in order"):
        SchemaEncoder(SCHEMA).get_feature_names_out(["sex", "age", "code", "gain"])


def test_works_in_a_pipeline_and_as_a_clone():
    frame = pd.DataFrame(_columns_of(ROWS))
    pipeline = clone(make_pipeline(SchemaEncoder(SCHEMA), LogisticRegression()))
    pipeline.fit(frame, ["low", "high", "low", "high"])
    assert pipeline.predict(frame).shape == (4,)
    assert pipeline.n_features_in_ == 4
    assert pipeline.feature_names_in_.tolist() == list(frame.columns)
    assert pipeline[:-1].get_feature_names_out().shape == (9,)
    revived = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(revived.predict_proba(frame), pipeline.predict_proba(frame))


def test_set_output_gives_a_polars_frame():
    encoder = SchemaEncoder(WITH_OTHER, sparse_output=False).set_output(transform="polars")
    frame = encoder.fit_transform(pl.DataFrame(_columns_of(ROWS)))
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == list(WITH_OTHER.feature_names)
    np.testing.assert_array_equal(frame.to_numpy(), EXPECTED_WITH_OTHER)


def test_sparse_output_cannot_be_a_frame():
    with pytest.raises(ValueError, match="outputs a scipy sparse matrix"):
        SchemaEncoder(SCHEMA).set_output(transform="pandas").fit_transform(ROWS)


def test_clone_has_the_same_schema_and_nothing_else():
    encoder = clone(SchemaEncoder(SCHEMA, sparse_output=False).fit(ROWS))
    assert encoder.get_params() == {"schema": SCHEMA, "sparse_output": False}
    np.testing.assert_array_equal(encoder.transform(ROWS), EXPECTED)


def test_set_output_gives_a_named_frame():
    encoder = SchemaEncoder(SCHEMA, sparse_output=False).set_output(transform="pandas")
    frame = encoder.fit_transform(pd.DataFrame(_columns_of(ROWS), index=[7, 5, 3, 1]))
    assert frame.columns.tolist() == list(SCHEMA.feature_names)
    assert frame.index.tolist() == [7, 5, 3, 1]
