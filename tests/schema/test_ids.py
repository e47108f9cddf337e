"""Who is who in a table: ids are compared by what they read as, however they are stored."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privfit.schema import Identifier, Label, Numeric, Schema
from privfit.schema.ids import missing_and_repeated, repeated_ids

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
        (["7", "p1", "07", "", "p1 ", "7.0", "nan", "8"], [3, 6], [2, 4, 5]),
        (["+7", "7", "1e1", "10", "true", "1"], [], [1, 3, 5]),
        ([str(LARGE), str(LARGE + 1), f"0{LARGE}"], [], [2]),
        ([LARGE, LARGE + 1, LARGE], [], [2]),
        ([7, 8, 9], [], []),
    ],
    ids=["words", "ways to write one", "large texts", "large numbers", "distinct"],
)
def test_ids_that_read_the_same_repeat(column, cells, missing, repeated):
    without, again = missing_and_repeated(COLUMNS[column](cells))
    assert (np.flatnonzero(without).tolist(), np.flatnonzero(again).tolist()) == (missing, repeated)


@pytest.mark.parametrize("column", ["list", "objects", "pandas nullable", "polars", "arrow", "chunks"])
def test_large_ids_beside_a_gap_are_told_apart(column):
    """Libraries turn integers beside a gap into floats, which cannot tell these two apart."""
    cells = [LARGE, None, LARGE + 1, None]
    ids = pd.Series(cells, dtype="Int64") if column == "pandas nullable" else COLUMNS[column](cells)
    without, again = missing_and_repeated(ids)
    assert without.tolist() == [False, True, False, True]
    assert not again.any()


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
    without, again = missing_and_repeated([datetime.date(2020, 1, 1), [1], None, float("nan"), 3])
    assert without.tolist() == [True] * 4 + [False]
    assert not again.any()
