import datetime
import logging
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from privfit.preprocessing import SchemaEncoder
from privfit.schema import Categorical, Label, Numeric, Schema

SCHEMA = Schema([Numeric("age", 20, 60), Categorical("sex", ["Female", "Male"])], Label("y", [0, 1]))
IDS = Schema([Categorical("id", [2**53, 2**53 + 1])], SCHEMA.label)

# What is in the data and must be in no message: a text and a year.
CANARY, YEAR = "P000000", 1931
DATE = datetime.datetime(YEAR, 7, 13)
SEX = ["Male", CANARY]


def ages(column):
    return {"age": column, "sex": SEX}


def sexes(column):
    return {"age": [30, 40], "sex": column}


NEITHER = (
    "'{}' is declared {} but arrives with dtype {}, which holds neither numbers nor text; convert it to {}"
)


def no_numbers(dtype):
    return NEITHER.format("age", "numeric", dtype, "numbers")


def no_categories(dtype):
    return NEITHER.format("sex", "categorical", dtype, "text")


ROUNDED = "'id' is declared categorical but arrives with dtype {}, which may have rounded the integers beyond"
NOT_A_SEQUENCE = "'{}' must be one sequence with one value per row"

BY_DTYPE = {
    "pandas dates": (pd.DataFrame(ages([DATE, DATE])), no_numbers("datetime64")),
    "pandas dates with a zone": (
        pd.DataFrame(ages(pd.to_datetime([DATE, DATE]).tz_localize("UTC"))),
        no_numbers("datetime64"),
    ),
    "pandas durations": (pd.DataFrame(ages(pd.to_timedelta([YEAR, YEAR], "D"))), no_numbers("timedelta64")),
    "pandas periods": (pd.DataFrame(ages(pd.PeriodIndex([DATE, DATE], freq="D"))), no_numbers("period")),
    "pandas dates as categories": (
        pd.DataFrame(ages(pd.Categorical([DATE, DATE]))),
        no_numbers("category"),
    ),
    "polars dates": (pl.DataFrame(ages([DATE.date()] * 2)), no_numbers("Date")),
    "polars times": (pl.DataFrame(ages([DATE] * 2)), no_numbers("Datetime")),
    "polars durations": (pl.DataFrame(ages([datetime.timedelta(YEAR)] * 2)), no_numbers("Duration")),
    "polars lists": (pl.DataFrame(sexes([[CANARY], [CANARY]])), no_categories("List")),
    "polars structs": (pl.DataFrame(sexes([{CANARY: YEAR}, {CANARY: YEAR}])), no_categories("Struct")),
    "categories that are dates": (pd.DataFrame(sexes([DATE, DATE])), no_categories("datetime64")),
    "complex array": (np.full((2, 2), YEAR + 1j), no_numbers("complex128")),
    "array of durations": (np.full((2, 2), np.timedelta64(YEAR, "D")), no_numbers("timedelta64")),
    "field of fields": (
        np.array([((YEAR,), "Male")], [("age", [(CANARY, "i4")]), ("sex", "U9")]),
        no_numbers("void"),
    ),
    "integers as numbers": (pd.DataFrame({"id": [YEAR]}), ROUNDED.format("int64")),
    "integers as floats": (pl.DataFrame({"id": [float(YEAR)]}), ROUNDED.format("Float64")),
    "integers as anything": (np.array([[CANARY]], dtype=object), ROUNDED.format("object")),
}

BY_SHAPE = {
    "no such column": (
        pd.DataFrame({"age": [1], CANARY: [1]}),
        ValueError,
        "no column 'sex', which the schema",
    ),
    "no such key": ({"sex": [CANARY]}, ValueError, "no column 'age', which the schema declares"),
    "no such field": (np.zeros(4, [("age", "f8")]), ValueError, "no column 'sex', which the schema declares"),
    "field of pairs": (
        np.array([((1, YEAR), CANARY)], [("age", "f8", (2,)), ("sex", "U9")]),
        ValueError,
        NOT_A_SEQUENCE.format("age"),
    ),
    "text as a column": (ages(CANARY), ValueError, NOT_A_SEQUENCE.format("age")),
    "number as a column": (ages(YEAR), ValueError, NOT_A_SEQUENCE.format("age")),
    "set as a column": (sexes({CANARY, "Male"}), ValueError, NOT_A_SEQUENCE.format("sex")),
    "dict as a column": (sexes({CANARY: 1, "a": 2}), ValueError, NOT_A_SEQUENCE.format("sex")),
    "two columns of one name": (
        pd.DataFrame([[1, 2, CANARY]], columns=["age", "age", "sex"]),
        ValueError,
        "several columns that are named 'age'; give each its own name",
    ),
    "columns of two lengths": (ages([1]), ValueError, "'sex' and column 'age' differ in length"),
    "masked array": (np.ma.array([[YEAR, 1]]), TypeError, r"X is a masked array; .* X.filled\(numpy.nan\)"),
    "masked column": (
        ages(np.ma.array([1, YEAR])),
        TypeError,
        "'age' is a masked array; fill what is masked",
    ),
    "masked fields": (
        np.ma.array([(YEAR, CANARY)], dtype=[("age", "f8"), ("sex", "U9")]),
        TypeError,
        "X is a masked array",
    ),
    "lazy frame": (
        pl.LazyFrame(ages([1, 2])),
        TypeError,
        r"a LazyFrame, which has no rows yet; pass X.collect",
    ),
    "three columns": (np.full((2, 3), YEAR), ValueError, r"declares 2 columns, but the array has 3\."),
    "one row": (np.array([30, YEAR]), ValueError, r"declares 2 columns, but the array is 1-dimensional\."),
    "ragged rows": ([[1, "Male"], [CANARY]], ValueError, "A row does not have the 2 values"),
    "rows of text": ([CANARY, CANARY], ValueError, "X is a text, and not the path of a table"),
    "rows of numbers": ([YEAR, YEAR], ValueError, "A row does not have the 2 values"),
    "rows of names": ([{"age": 1, CANARY: 2}], ValueError, "A row does not have the 2 values"),
    "text": (CANARY, ValueError, "X is a text, and not the path of a table"),
    "sparse": (csr_matrix([[YEAR, 1]]), TypeError, "not csr_matrix"),
}
REFUSED = {name: (X, TypeError, message) for name, (X, message) in BY_DTYPE.items()} | BY_SHAPE


@pytest.mark.parametrize("method", ["fit", "transform", "fit_transform"])
@pytest.mark.parametrize("table", REFUSED)
def test_refusal_names_the_column_and_the_remedy_and_quotes_no_record(table, method, caplog):
    X, error, message = REFUSED[table]
    encoder = SchemaEncoder(IDS if table.startswith("integers") else SCHEMA)
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(error, match=message) as refusal:
            getattr(encoder, method)(X)
    told = [repr(encoder), caplog.text, *(str(warning.message) for warning in warned)]
    raised = refusal.value
    while raised is not None:
        told += [str(raised), repr(raised), *getattr(raised, "__notes__", [])]
        raised = raised.__cause__ or raised.__context__
    assert not any(secret in text for text in told for secret in (CANARY, str(YEAR)))
    assert str(refusal.value).endswith(".")


def test_refusal_depends_on_the_dtype_and_on_no_cell():
    for cells in ([DATE, DATE], [None, None], []):
        with pytest.raises(TypeError, match="which holds neither numbers nor text; convert it to numbers"):
            SchemaEncoder(SCHEMA).transform(
                pl.DataFrame(
                    {"age": cells, "sex": cells}, schema=dict.fromkeys(["age", "sex"], pl.Datetime("us"))
                )
            )


@pytest.mark.parametrize(
    "column",
    [
        np.array(["30", "40_", "true"]),
        np.array([b"30", b"x", b"True"]),
        pd.Series(["30", "x", "TRUE"], dtype="string"),
        pd.Series(["30", "x", "TRUE"], dtype="category"),
        pl.Series(["30", "x", "true"]),
        pl.Series(["30", "x", "true"], dtype=pl.Categorical),
    ],
)
def test_numbers_stored_as_text_are_read(column):
    schema = Schema([Numeric("age", 0, 60)], SCHEMA.label)
    encoded = SchemaEncoder(schema, sparse_output=False).transform({"age": column})
    np.testing.assert_array_equal(encoded[:, 0], np.float32([0.5, 0.5, 1 / 60]))


def test_text_of_a_whole_array_says_nothing_about_its_columns():
    rows = np.array([[30, "Male"], [40.5, "Female"]])
    assert rows.dtype.kind == "U"
    np.testing.assert_array_equal(
        SchemaEncoder(SCHEMA, sparse_output=False).transform(rows), np.float32([[0.25, 0, 1], [0.5125, 1, 0]])
    )


@pytest.mark.parametrize(
    "column",
    [
        np.array([str(2**53), str(2**53 + 1)]),
        pd.Series([str(2**53), str(2**53 + 1)], dtype="string"),
        pl.Series([str(2**53), str(2**53 + 1)]),
        [2**53, 2**53 + 1],
        ["+9007199254740992", "0009007199254740993"],
    ],
)
def test_integers_that_floats_cannot_hold_are_told_apart_in_text(column):
    encoded = SchemaEncoder(IDS, sparse_output=False).transform({"id": column})
    np.testing.assert_array_equal(encoded, np.eye(2))
