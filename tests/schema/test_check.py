import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privfit import strict
from privfit.schema import (
    Boolean,
    Categorical,
    Date,
    Identifier,
    Ignored,
    Integer,
    Label,
    Numeric,
    Ordinal,
    Schema,
)

CANARY = "P000000"
SCHEMA = Schema(
    [
        Identifier("who"),
        Numeric("income", 0, 100, unit="$"),
        Integer("kids", 0, 9, missing="refuse"),
        Boolean("member", ["no", "yes"]),
        Categorical("town", ["a", "b"]),
        Ordinal("size", ["s", "m", "l"]),
        Date("born", "1990-01-01", "1999-12-31"),
        Ignored("note"),
    ],
    Label("ill", ["no", "yes"]),
    records=4,
)
ROWS = {
    "who": ["1", "2", "01", ""],
    "income": ["$5", "-1", "101", CANARY],
    "kids": ["1", "", "2.5", "10"],
    "member": ["yes", "no", "maybe", "1"],
    "town": ["a", "", CANARY, "b"],
    "size": ["s", "m", "l", "xl"],
    "born": ["1995-05-05", "1989-12-31", "2000-01-01", CANARY],
    "ill": ["no", "yes", "", CANARY],
}
LOW, HIGH = "values are below the low bound", "values are above the high bound"
FOUND = {
    "who": {"ids are missing": 1, "ids were there before, so one person has several records": 1},
    "income": {
        "cells do not fit": 1,
        "values are below the low bound": 1,
        "values are above the high bound": 1,
    },
    "kids": {"cells are missing": 1, "cells do not fit": 1, HIGH: 1},
    "member": {"cells do not fit": 1},
    "town": {"cells are missing": 1, "cells do not fit": 1},
    "size": {"cells do not fit": 1},
    "born": {
        "cells do not fit": 1,
        "values are below the low bound": 1,
        "values are above the high bound": 1,
    },
    "ill": {"cells are missing": 1, "labels are none of the declared classes": 1},
}


def csv(tmp_path):
    path = tmp_path / "people.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    return path


TABLES = {
    "dict": lambda tmp_path: ROWS,
    "pandas": lambda tmp_path: pd.DataFrame(ROWS),
    "objects": lambda tmp_path: pd.DataFrame(ROWS, dtype=object),
    "categories": lambda tmp_path: pd.DataFrame(ROWS).astype("category"),
    "polars": lambda tmp_path: pl.DataFrame(ROWS),
    "arrow": lambda tmp_path: pa.table(ROWS),
    "csv": csv,
}


@pytest.mark.parametrize("table", TABLES)
def test_what_does_not_fit_is_counted_by_column_and_not_quoted(table, tmp_path):
    findings = SCHEMA.check(TABLES[table](tmp_path))
    found = {}
    for finding in findings.found:
        found.setdefault(finding.column, {})[finding.what] = finding.records
    assert found == FOUND
    assert not findings.fits
    assert str(findings).startswith("For the custodian of the data alone, not for publication: this counts")
    assert "town: cells are missing in 1 record\n" in str(findings)
    assert CANARY not in str(findings) + repr(findings)


def test_a_table_that_fits_fits():
    rows = {name: cells[:1] * 2 for name, cells in ROWS.items()} | {"who": [1, 2], "note": ["", None]}
    schema = Schema(SCHEMA.columns, SCHEMA.label)
    assert schema.check(rows).found == ()
    assert "Everything fits the schema." in str(schema.check(rows))
    assert "publication" in str(schema.check(rows))
    assert schema.check(rows).fits


def test_gaps_are_told_but_fit_where_the_schema_provides_for_them():
    schema = Schema([Numeric("x", 0, 1), Numeric("z", 0, 1, missing="refuse")], SCHEMA.label)
    rows = {"x": [None, 1.0], "z": [1.0, 1.0], "ill": ["no", "no"]}
    assert [str(finding) for finding in schema.check(rows).found] == ["x: cells are missing in 1 record"]
    assert schema.check(rows).fits
    assert not schema.check(rows | {"z": [None, 1.0]}).fits
    assert not schema.check(rows | {"ill": [None, "no"]}).fits


def test_columns_that_are_absent_unknown_or_of_another_kind_are_named():
    frame = pd.DataFrame({"income": [datetime.datetime(1931, 7, 13)], "extra": [CANARY]})
    schema = Schema(SCHEMA.columns[:3], SCHEMA.label, records=2)
    found = {finding.column: finding.what for finding in schema.check(frame).found}
    assert found["who"] == found["kids"] == found["ill"] == "is declared, but is not in the table"
    assert found["extra"] == "is not in the schema, and is ignored"
    assert "arrives with dtype datetime64, which holds neither numbers nor text" in found["income"]
    assert found[""] == "does not have as many records as the schema declares"


def test_columns_of_numbers_and_dates_are_counted_too():
    born = np.array(["1995-05-05", "1989-12-31", "NaT"], dtype="datetime64[s]")
    table = {"income": np.array([5.0, np.nan, 101]), "born": born, "who": np.array([7, 7, 8])}
    columns = [SCHEMA.columns[0], SCHEMA.columns[1], SCHEMA.columns[6]]
    schema = Schema(columns, Label("ill", [0, 1]))
    found = [str(finding) for finding in schema.check(table | {"ill": np.array([0, 1, 2])}).found]
    assert found == [
        "who: ids were there before, so one person has several records in 1 record",
        "income: cells are missing in 1 record",
        "income: values are above the high bound in 1 record",
        "born: cells are missing in 1 record",
        "born: values are below the low bound in 1 record",
        "ill: labels are none of the declared classes in 1 record",
    ]


def test_the_custodian_may_check_in_strict_mode():
    with strict():
        assert not SCHEMA.check(ROWS).fits


def test_a_check_needs_names():
    with pytest.raises(TypeError, match="must have named columns to be checked"):
        Schema([Numeric("x", 0, 1)], SCHEMA.label).check([[1.0]])
    with pytest.raises(TypeError, match=r"has no rows yet; pass X.collect\(\)"):
        SCHEMA.check(pl.LazyFrame(ROWS))
