"""One record, whatever is in it, changes the encoding of no other record, however the table was made.

Libraries give all cells of a column one type, so one record can change how all others are stored. Either the
table is refused, by its dtypes, or every other row is encoded as if that record were not there.
"""

import datetime
import io
import math
import tempfile
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from privfit.preprocessing import SchemaEncoder
from privfit.schema import Boolean, Categorical, Date, Integer, Label, Numeric, Ordinal, Schema

NAMES = ["size", "code", "flag", "word", "count", "truth", "rank", "day"]
SCHEMA = Schema(
    [
        Numeric("size", -10, 10, decimal=",", missing="indicator"),
        Categorical("code", [0, 1, 2, -7, "1.5", "007x", "1e3"], missing="indicator"),
        Categorical("flag", [True, False], missing="indicator"),
        Categorical("word", ["a", "b", "5", "inf", "0.1"], missing="indicator"),
        Integer("count", -10, 10, unit="$", thousands=",", missing="indicator"),
        Boolean("truth", ["no", "a"], missing="indicator"),
        Ordinal("rank", ["a", 1, "1.5", "5"], missing="indicator"),
        Date("day", "1999-12-31", "2020-12-31", format="%d.%m.%Y", missing="indicator"),
    ],
    Label("y", [0, 1]),
)


FILE = Path(tempfile.mkdtemp()) / "table"


def in_file(extension, write):
    """Let `write` write a table to a file, and return its path; the next one replaces it."""
    path = FILE.with_suffix(extension)
    write(path)
    return path


def encode(table, schema=SCHEMA):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return SchemaEncoder(schema, sparse_output=False).transform(table)


def refusal(table):
    try:
        encode(table)
    except (TypeError, ValueError) as error:
        return str(error)


def beside(rows, hostile, position):
    return [*rows[:position], hostile, *rows[position:]]


def assert_others_keep_their_rows(with_hostile, without, position):
    assert np.delete(with_hostile, position, axis=0).tobytes() == without.tobytes()


@st.composite
def tables(draw, pools, days, hostile, *, of_its_kind=False):
    """Rows whose columns are of one kind each, so that they get a type of their own; and a hostile record."""
    kinds = [draw(st.sampled_from(days if name == "day" else pools)) for name in NAMES]
    rows = draw(st.lists(st.tuples(*map(st.sampled_from, kinds)), min_size=1, max_size=5))
    anything = st.sampled_from([cell for pool in [*pools, *days] for cell in pool] + hostile)
    if of_its_kind:
        record = draw(st.tuples(*(st.sampled_from([None, *kind]) for kind in kinds)))
    else:
        # half of the cells are as all others, because one that is refused hides what is wrong with the rest
        record = draw(st.tuples(*(st.one_of(st.sampled_from(kind), anything) for kind in kinds)))
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


DAYS = [
    ["2020-01-01", "1999-12-31", "2000-02-29", "1931-07-13", ""],
    ["2020-01-01T10:00:00", "2000-06-30T23:59:59", "2020-01-01 00:00:00"],
    ["31.12.2000", "1.1.2000", "29.02.2001"],
    WHOLE,
    WORDS,
]
COMMAS = ["1,5", "-7,25", ",5", "1.5", "3"]
DOLLARS = ["$5", "-$7", "$1,000", "1,000", "5$", "$", "1,00", "$2.50"]


def csv(rows):
    return "\n".join([",".join(NAMES), *(",".join(f'"{cell}"' for cell in row) for row in rows), ""])


READERS = {
    "pandas": lambda text: pd.read_csv(io.StringIO(text)),
    "pandas-nullable": lambda text: pd.read_csv(io.StringIO(text), dtype_backend="numpy_nullable"),
    "pandas-arrow": lambda text: pd.read_csv(io.StringIO(text), dtype_backend="pyarrow"),
    "pandas-as-text": lambda text: pd.read_csv(io.StringIO(text), dtype=str),
    "polars": lambda text: pl.read_csv(io.StringIO(text)),
    "polars-as-text": lambda text: pl.read_csv(io.StringIO(text), infer_schema=False),
    "polars-dates": lambda text: pl.read_csv(io.StringIO(text), try_parse_dates=True),
    "path": lambda text: in_file(".csv", lambda path: path.write_text(text, encoding="utf-8")),
}


QUICK_READERS = {"pandas", "polars", "path"}


@pytest.mark.parametrize(
    "reader",
    [pytest.param(name, marks=() if name in QUICK_READERS else pytest.mark.slow) for name in READERS],
)
@settings(max_examples=40)
@given(table=tables([WHOLE, LARGE, DECIMAL, TRUTH, WORDS, DOLLARS, COMMAS], DAYS, ODD))
def test_record_of_a_text_file_changes_no_other_row(reader, table):
    rows, hostile, position = table

    def read(text):
        try:
            return READERS[reader](text)
        except OverflowError:
            assume(False)  # pandas itself cannot read integers so long

    if reader != "path":  # which refuses nothing, because it has no types
        assume(not refusal(read(csv(rows))) and not refusal(read(csv(beside(rows, hostile, position)))))
    without = encode(read(csv(rows)))
    assert_others_keep_their_rows(encode(read(csv(beside(rows, hostile, position)))), without, position)


def test_what_stands_in_a_file_is_not_lost_on_the_way():
    """The files above are not all missing cells: each type is read."""
    rows = [("5", "1e3", "False", "b", "-$7", "a", "1.5", "31.12.2000")]
    encoded = encode(READERS["path"](csv(rows)))[0]
    names = SCHEMA.feature_names
    assert encoded[names.index("size")] == 0.75
    assert encoded[names.index("code=1e3")] == encoded[names.index("flag=False")] == 1
    assert encoded[names.index("count")] == np.float32(0.15)
    assert encoded[names.index("truth")] == encoded[names.index("word=b")] == 1
    assert encoded[names.index("rank")] == np.float32(2 / 3)
    assert encoded[names.index("day")] == np.float32(366 / 7671)
    assert not any(encoded[j] for j, name in enumerate(names) if name.endswith("=other"))


def test_records_far_apart_in_a_text_file_do_not_meet():
    """Large files are read in parts, each with types of its own."""
    rows = [("1", "01", "True", "5", "1", "True", "1", "2020-01-01")] * 200_000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        frame = pd.read_csv(io.StringIO(csv([*rows, ("?",) * 8])))
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
UTC = datetime.UTC
MEMORY_DAYS = [
    [datetime.date(2000, 2, 29), datetime.date(1931, 7, 13)],
    [datetime.datetime(2000, 6, 30, 23, 59), datetime.datetime(1969, 12, 31, 1)],
    [datetime.datetime(2000, 6, 30, 23, 59, tzinfo=UTC), datetime.datetime(2010, 1, 1, tzinfo=UTC)],
    [None, datetime.date(2000, 2, 29)],
    [None, datetime.datetime(2000, 2, 29, 12)],
    ["2000-02-29", "31.12.2000", "", "2000-02-29 13:00"],
    [None],
]
ZONED = [
    datetime.datetime(2000, 6, 30, 23, 59, tzinfo=datetime.timezone(datetime.timedelta(hours=h)))
    for h in (-5, 9)
]


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
    "arrow": lambda rows: pa.table(columns(rows)),
    "arrow of pandas": lambda rows: pa.Table.from_pandas(pd.DataFrame(columns(rows))),
    "parquet": lambda rows: in_file(".parquet", lambda path: pq.write_table(pa.table(columns(rows)), path)),
    "parquet of polars": lambda rows: in_file(
        ".parquet", lambda path: pl.DataFrame(columns(rows), strict=False).write_parquet(path)
    ),
    "csv of pandas": lambda rows: in_file(
        ".csv", lambda path: pd.DataFrame(columns(rows)).to_csv(path, index=False)
    ),
    "csv of polars": lambda rows: in_file(
        ".csv", lambda path: pl.DataFrame(columns(rows), strict=False).write_csv(path)
    ),
}


# Quick tests make a table in one way with each library, and read a file in one.
QUICK_MAKERS = {"rows", "array", "arrays", "pandas", "polars", "arrow", "parquet"}


@pytest.mark.parametrize(
    "maker", [pytest.param(name, marks=() if name in QUICK_MAKERS else pytest.mark.slow) for name in MAKERS]
)
@settings(max_examples=40)
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
    odd = EXOTIC + ZONED if "polars" in maker else EXOTIC + ZONED + NUMPY_NUMBERS
    if maker == "csv of pandas":  # beside a complex number pandas writes all numbers of a column as complex
        odd = [cell for cell in odd if not isinstance(cell, complex)]
    # Arrow makes no table of mixed columns, so only what is missing is hostile to it
    of_its_kind = maker in ("arrow", "arrow of pandas", "parquet")
    rows, hostile, position = data.draw(tables(MEMORY, MEMORY_DAYS, odd, of_its_kind=of_its_kind))
    if "polars" in maker:  # it makes numbers of all dates beside one number, and text of them beside others
        assume(not isinstance(hostile[NAMES.index("day")], int | float | Decimal))
    table = make(rows)
    assert refusal(table) is None or maker == "parquet of polars"  # which may hold integers of 128 bits
    assume(refusal(table) is None)
    without = encode(table)
    table = make(beside(rows, hostile, position))
    refused = refusal(table)
    if refused is None:
        assert_others_keep_their_rows(encode(table), without, position)
    else:
        reasons = ("neither numbers nor text", "holds no dates", "time zone", "not a Parquet file")
        assert any(reason in refused for reason in reasons)
