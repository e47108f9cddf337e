"""Who is who in a table: ids are compared by what they read as, however they are stored."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privfit.schema import Identifier, Label, Numeric, Schema
from privfit.schema.ids import IdCounts, id_counts, repeated_ids

SCHEMA = Schema([Identifier("who"), Numeric("x", 0, 1)], Label("y", [0, 1]))
LARGE = 2**60
COLUMNS = {
    "list": list,
    "array": np.array,
    "objects": lambda cells: pd.Series(cells, dtype=object),
    "pandas": pd.Series,
    "pandas nullable": lambda cells: pd.Series(cells).convert_dtypes(),
    "pandas arrow": lambda cells: pd.Series(cells).convert_dtypes(dtype_backend="pyarrow"),
    "categories": lambda cells: pd.Series(cells).astype("category"),
    "polars": pl.Series,
    "arrow": pa.array,
    "chunks": lambda cells: pa.chunked_array([[cell] for cell in cells]),
    "dictionary": lambda cells: pa.array(cells).dictionary_encode(),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    ("cells", "missing", "repeated"),
    [
        (["7", "p1", "07", "", "p1 ", "7.0", "nan", "8"], 2, 3),
        (["+7", "7", "-0", "0", "true", "1", "inf", "inf"], 0, 4),
        (["12e4", "120e3", "120000", "1e999", "2e999", "12e4"], 0, 1),
        (["p\0", "p", "\u00e9", " \u00e9", "True", "TRUE"], 0, 3),
        (["01", "2", "3", "1"], 0, 1),
        ([str(LARGE), str(LARGE + 1), f"0{LARGE}"], 0, 1),
        ([str(LARGE**3), str(LARGE**3 + 1), str(LARGE**3)], 0, 1),
        ([LARGE, LARGE + 1, LARGE], 0, 1),
        ([7, 8, 9], 0, 0),
    ],
    ids=[
        "words",
        "ways to write one",
        "hexadecimal digits",
        "other letters",
        "digits",
        "large texts",
        "longer texts",
        "large numbers",
        "distinct",
    ],
)
def test_ids_that_read_the_same_repeat(column, cells, missing, repeated):
    assert id_counts(COLUMNS[column](cells)) == IdCounts(missing, repeated)


def test_all_ways_to_read_a_column_agree():
    """Texts that are compared all at once are told apart as those that are read one by one."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("01e.-+ aT\0"), size=rng.integers(0, 4))) for _ in range(3000)]
    one_by_one = [text.encode() for text in texts] + [datetime.date(2020, 1, 1)]
    counts = id_counts(one_by_one)
    assert id_counts(texts) == IdCounts(counts.missing - 1, counts.repeated)
    assert counts.repeated > 100


@pytest.mark.parametrize("column", ["list", "objects", "pandas nullable", "polars", "arrow", "chunks"])
def test_large_ids_beside_a_gap_are_told_apart(column):
    """Libraries turn integers beside a gap into floats, which cannot tell these two apart."""
    cells = [LARGE, None, LARGE + 1, None]
    ids = pd.Series(cells, dtype="Int64") if column == "pandas nullable" else COLUMNS[column](cells)
    assert id_counts(ids) == IdCounts(2, 0)


def test_repeated_ids_of_a_table(tmp_path):
    rows = {"who": ["1", "2", "01"], "x": [0, 0, 1], "y": [0, 1, 1]}
    path = tmp_path / "people.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    for table in (rows, pd.DataFrame(rows), pl.DataFrame(rows), pa.table(rows), path, str(path)):
        assert repeated_ids(table, SCHEMA)
    assert not repeated_ids(pd.DataFrame(rows).iloc[:2], SCHEMA)
    assert not repeated_ids({"who": [None, None, ""]} | {key: rows[key] for key in "xy"}, SCHEMA)


def test_without_a_declared_id_nothing_repeats():
    rows = {"who": ["1", "1"], "x": [0, 0], "y": [0, 1]}
    assert not repeated_ids(rows, Schema(SCHEMA.columns[1:], SCHEMA.label))
    assert not repeated_ids({key: rows[key] for key in "xy"}, SCHEMA)
    assert not repeated_ids([[0.0], [0.0]], SCHEMA)


def test_cells_that_are_no_id_are_missing_ones():
    assert id_counts([datetime.date(2020, 1, 1), [1], None, float("nan"), 3]) == IdCounts(4, 0)


def test_decimals_and_bytes_are_compared_in_full():
    wholes = [decimal.Decimal(LARGE), decimal.Decimal(LARGE + 1), None, decimal.Decimal(LARGE)]
    assert id_counts(pa.array(wholes)) == id_counts(wholes) == IdCounts(1, 1)
    keys = [b"\xff" * 16, b"\xfe" * 16, b"\xff" * 16]
    assert id_counts(pa.array(keys, type=pa.binary(16))) == IdCounts(0, 1)
