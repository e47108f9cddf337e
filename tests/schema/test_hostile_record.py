"""One record, whatever is in it, changes the encoding of no other record, however the table was made.

Libraries give all cells of a column one type, so one record can change how all others are stored. Either the
table is refused, by its dtypes, or every other row is encoded as if that record were not there.
"""

import datetime
import io
import math
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from privfit.preprocessing import SchemaEncoder
from privfit.schema import Categorical, Label, Numeric, Schema

NAMES = ["size", "code", "flag", "word"]
SCHEMA = Schema(
    [
        Numeric("size", -10, 10, missing="indicator"),
        Categorical("code", [0, 1, 2, -7, "1.5", "007x", "1e3"], missing="indicator"),
        Categorical("flag", [True, False], missing="indicator"),
        Categorical("word", ["a", "b", "5", "inf", "0.1"], missing="indicator"),
    ],
    Label("y", [0, 1]),
)


def encode(table, schema=SCHEMA):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return SchemaEncoder(schema, sparse_output=False).transform(table)


def refusal(table):
    try:
        encode(table)
    except TypeError as error:
        return str(error)


def with_and_without(make, rows, hostile, position):
    return make([*rows[:position], hostile, *rows[position:]]), make(rows)


def assert_others_keep_their_rows(beside, without, position):
    assert np.delete(encode(beside), position, axis=0).tobytes() == encode(without).tobytes()


@st.composite
def tables(draw, pools, hostile):
    """Rows whose columns are of one kind each, so that they get a type of their own; and a hostile record."""
    kinds = [draw(st.sampled_from(pools)) for _ in NAMES]
    rows = draw(st.lists(st.tuples(*map(st.sampled_from, kinds)), min_size=1, max_size=5))
    anything = st.sampled_from([cell for pool in pools for cell in pool] + hostile)
    record = draw(st.tuples(*[anything] * len(NAMES)))
    return rows, record, draw(st.integers(0, len(rows)))


# -- text files

WHOLE = ["0", "1", "2", "-7", "5", "01", "+1", "-0", "1000"]
LARGE = ["9007199254740991", "9007199254740993", "-9007199254740993", "18446744073709551615", "1"]
DECIMAL = ["1.5", "1.50", "0.1", "1.", ".5", "1e3", "1E0", "1.0", "5e-1", "0.30000000000000004", "1e400"]
TRUTH = ["True", "False", "TRUE", "true", "false"]
WORDS = ["a", "b", "007x", " a ", "", "NA", "nan", "NaN", "None", "?", "inf", "-inf", "Infinity"]
ODD = [
    "unknown",
    "0x10",
    "1_000",
    "1,5",
    "2020-01-01",
    "$5",
    "-",
    ".",
    "1e",
    "yes",
    "5" * 30,
    "T",
    " 1 ",
    "tRue",
]


def csv(rows):
    return "\n".join([",".join(NAMES), *(",".join(f'"{cell}"' for cell in row) for row in rows), ""])


READERS = {
    "pandas": lambda text: pd.read_csv(io.StringIO(text)),
    "pandas-nullable": lambda text: pd.read_csv(io.StringIO(text), dtype_backend="numpy_nullable"),
    "pandas-as-text": lambda text: pd.read_csv(io.StringIO(text), dtype=str),
    "polars": lambda text: pl.read_csv(io.StringIO(text)),
    "polars-as-text": lambda text: pl.read_csv(io.StringIO(text), infer_schema=False),
}


@pytest.mark.parametrize("reader", READERS)
@given(table=tables([WHOLE, LARGE, DECIMAL, TRUTH, WORDS], ODD))
def test_record_of_a_text_file_changes_no_other_row(reader, table):
    rows, hostile, position = table
    beside, without = with_and_without(lambda rows: READERS[reader](csv(rows)), rows, hostile, position)
    assert_others_keep_their_rows(beside, without, position)


def test_records_far_apart_in_a_text_file_do_not_meet():
    """Large files are read in parts, each with types of its own."""
    rows = [("1", "01", "True", "5")] * 200_000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        frame = pd.read_csv(io.StringIO(csv([*rows, ("?", "?", "?", "?")])))
    assert frame["code"].map(type).nunique() == 2  # numbers in some parts, and text in the last
    encoded = encode(frame)[:-1]
    assert np.all(encoded == encode([rows[0]]))


# -- values in memory

MEMORY = [
    [0, 1, 2, -7, 5, 1000],
    [2**53 + 1, 2**63, -(2**62), 1],
    [0.0, 1.0, 1.5, 0.1, 5.0, math.nan, math.inf, 1e16, -0.0],
    [True, False],
    ["a", "b", "1", "01", "1.0", "True", "", "nan", "a\0", "0.1"],
    [None, 1, 2],
    [None, True],
    [None, "a", "1"],
    [Decimal("1.50"), Decimal(5), Decimal("0.1")],
]
EXOTIC = [
    *["unknown", b"a", b"\xff", 1j, 2**70, 10**400, [1], (1, 2), {"k": 1}, object()],
    *[pd.NA, pd.NaT, np.datetime64("2020-01-01"), np.timedelta64(1, "D"), np.str_("x")],
    *[datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.timedelta(1)],
]
NUMPY_NUMBERS = [np.True_, np.float32(0.1), np.int8(1), np.uint64(2**63), np.longdouble(0.1)]


def columns(rows):
    return dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))


MAKERS = {
    "rows": lambda rows: rows,
    "columns": columns,
    "array": lambda rows: np.array(rows),
    "object array": lambda rows: np.array(rows, dtype=object),
    "arrays": lambda rows: {name: np.array(column) for name, column in columns(rows).items()},
    "pandas": lambda rows: pd.DataFrame(columns(rows)),
    "pandas rows": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "pandas objects": lambda rows: pd.DataFrame(rows, columns=NAMES, dtype=object),
    "pandas nullable": lambda rows: pd.DataFrame(columns(rows)).convert_dtypes(),
    "pandas category": lambda rows: pd.DataFrame(columns(rows)).astype("category"),
    "polars": lambda rows: pl.DataFrame(columns(rows), strict=False),
    "polars rows": lambda rows: pl.DataFrame(
        rows, schema=NAMES, orient="row", strict=False, infer_schema_length=None
    ),
}


@pytest.mark.parametrize("maker", MAKERS)
@given(data=st.data())
def test_record_in_memory_changes_no_other_row_unless_the_table_is_refused(maker, data):
    def make(rows):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return MAKERS[maker](rows)
        except Exception:
            assume(False)  # the library itself refuses such a table

    # polars with strict=False casts cells to the type of a NumPy number before them, or drops them
    odd = EXOTIC if "polars" in maker else EXOTIC + NUMPY_NUMBERS
    rows, hostile, position = data.draw(tables(MEMORY, odd))
    beside, without = with_and_without(make, rows, hostile, position)
    assert refusal(without) is None
    refused = refusal(beside)
    if refused is None:
        assert_others_keep_their_rows(beside, without, position)
    else:
        assert "holds neither numbers nor text" in refused
        assert any(cell is exotic for cell in hostile for exotic in EXOTIC)
