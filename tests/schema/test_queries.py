"""Which DuckDB queries strict mode takes: those that make each row of one record alone (Q38)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privfit import strict
from privfit.leaks import PrivacyLeakError
from privfit.schema.batches import batches_of

duckdb = pytest.importorskip("duckdb")

ROW_WISE = [
    "SELECT a + 1 AS k, upper(b) AS b FROM '{t}' WHERE a > 1 AND b LIKE '%y%'",
    "SELECT *, CASE WHEN a > 1 THEN 1 ELSE 0 END AS c FROM read_parquet('{t}') WHERE a BETWEEN 1 AND 2",
    "SELECT CAST(a AS DOUBLE) / 2 AS h, coalesce(b, 'none') AS b FROM '{t}' WHERE a IN (1, 2) OR b IS NULL",
    "FROM '{t}'",
    "SELECT s.a AS k, k + 1 AS l FROM read_parquet('{t}') s WHERE s.A > 1",
]
OTHERS = {
    "join": "SELECT t.a FROM '{t}' t JOIN '{t}' s USING (a)",
    "cross join": "SELECT t.a FROM '{t}' t, '{t}' s",
    "window": "SELECT sum(a) OVER () AS s FROM '{t}'",
    "row_number": "SELECT a, row_number() OVER () AS r FROM '{t}'",
    "row number of the file": "SELECT a FROM '{t}' WHERE file_row_number < 2",
    "name of the file": "SELECT a, filename FROM '{t}'",
    "name of the file, of an alias": "SELECT a.filename FROM '{t}' a",
    "name of the file in an expression": "SELECT a FROM '{t}' WHERE upper(FileName) LIKE '%T%'",
    "number of the file": "SELECT a, file_index AS f FROM '{t}'",
    "aggregate": "SELECT max(a) AS m FROM '{t}'",
    "GROUP BY": "SELECT a FROM '{t}' GROUP BY a",
    "LIMIT": "SELECT a FROM '{t}' LIMIT 2",
    "inner LIMIT": "SELECT a FROM (SELECT a FROM '{t}' LIMIT 1)",
    "SAMPLE": "SELECT a FROM '{t}' USING SAMPLE 1",
    "TABLESAMPLE": "SELECT a FROM '{t}' TABLESAMPLE 50%",
    "DISTINCT": "SELECT DISTINCT a FROM '{t}'",
    "ORDER BY": "SELECT a FROM '{t}' ORDER BY a",
    "UNION": "SELECT a FROM '{t}' UNION ALL SELECT a FROM '{t}'",
    "WITH": "WITH s AS (SELECT a FROM '{t}') SELECT a FROM s",
    "subquery": "SELECT a, (SELECT max(a) FROM '{t}') AS m FROM '{t}'",
    "IN subquery": "SELECT a FROM '{t}' WHERE a IN (SELECT 1)",
    "unnest": "SELECT unnest([a, a]) AS u FROM '{t}'",
    "random()": "SELECT a, random() AS r FROM '{t}'",
    "random() in WHERE": "SELECT a FROM '{t}' WHERE random() < 0.5",
    "random() in a lambda": "SELECT list_transform([a], x -> x + random()) AS l FROM '{t}'",
    "time": "SELECT a, now() AS r FROM '{t}'",
    "time as a word": "SELECT a, current_timestamp AS r FROM '{t}'",
    "time until now": "SELECT a, age(TIMESTAMP '2020-01-01') AS r FROM '{t}'",
    "time of the clock": "SELECT a, current_localtimestamp() AS r FROM '{t}'",
    "a file twice": "SELECT a FROM read_parquet(['{t}', '{t}'])",
    "a file twice, in a text": "SELECT a FROM read_parquet(string_split('{t},{t}', ','))",
    "a file twice, by a cast": "SELECT a FROM parquet_scan(CAST('[{t}, {t}]' AS VARCHAR[]))",
    "row numbers by a setting": "SELECT * FROM read_parquet('{t}', file_row_number := true)",
    "row numbers by an arrow": "SELECT c FROM read_parquet('{t}', file_row_number => true) s(a, b, c)",
    "row numbers by =": "SELECT * FROM read_parquet('{t}', file_row_number = true)",
    "ordinality": "SELECT * FROM read_parquet('{t}') WITH ORDINALITY",
    "the plan of a count": "SELECT json_serialize_plan('SELECT count(*) FROM ''{t}''') AS n FROM '{t}'",
    "no table": "SELECT 1 AS a",
    "generated table": "SELECT a FROM range(5) s(a)",
    "two statements": "SELECT a FROM '{t}'; SELECT a FROM '{t}'",
    "a view": "CREATE VIEW v AS SELECT random() AS a FROM '{t}'; SELECT a FROM v",
    "nothing that SQL knows": "selec",
}


@pytest.fixture
def table(tmp_path: Path) -> str:
    pq.write_table(pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]}), tmp_path / "t.parquet")
    return str(tmp_path / "t.parquet")


def rows(X: Any, names: list[str] | None = None) -> list[dict[str, Any]]:
    source = batches_of(X)
    assert source is not None
    assert source.is_query
    return pa.concat_tables(source.read(names, lambda size: None)).to_pylist()


@pytest.mark.parametrize("query", ROW_WISE)
def test_strict_mode_takes_projections_and_filters_of_rows(query: str, table: str) -> None:
    text = query.format(t=table)
    with strict():
        taken = rows(f"duckdb:{text}")
    assert taken == duckdb.sql(text).to_arrow_table().to_pylist()


@pytest.mark.parametrize("query", OTHERS.values(), ids=OTHERS)
def test_strict_mode_refuses_all_others(query: str, table: str) -> None:
    with (
        strict(),
        pytest.raises(PrivacyLeakError, match=r"^Strict mode (refuses the query|takes one SELECT)"),
    ):
        rows(f"duckdb:{query.format(t=table)}")


def test_strict_mode_refuses_types_that_records_decide(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    with strict(), pytest.raises(PrivacyLeakError, match="READ_CSV"):
        rows(f"duckdb:SELECT a FROM '{tmp_path}/t.csv'")


def test_strict_mode_refuses_columns_that_are_made_of_directories(tmp_path: Path) -> None:
    (tmp_path / "year=2024").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "year=2024" / "t.parquet")
    query = f"duckdb:SELECT a FROM '{tmp_path}/*/*.parquet'"
    assert rows(query) == [{"a": 1}]
    with strict(), pytest.raises(PrivacyLeakError, match="names of directories"):
        rows(query)


def test_strict_mode_takes_a_column_of_the_files_whatever_it_is_called(tmp_path: Path) -> None:
    pq.write_table(pa.table({"filename": ["x"]}), tmp_path / "t.parquet")
    with strict():
        assert rows(f"duckdb:SELECT filename FROM '{tmp_path}/t.parquet'") == [{"filename": "x"}]


def test_strict_mode_refuses_relations(table: str) -> None:
    relation = duckdb.sql(f"SELECT a FROM '{table}'")
    assert rows(relation) == [{"a": 1}, {"a": 2}, {"a": 3}]
    with strict(), pytest.raises(PrivacyLeakError, match="cannot see how a DuckDB relation was made"):
        rows(relation)


def test_without_strict_mode_any_query_is_the_custodians(table: str) -> None:
    assert rows(f"duckdb:{OTHERS['LIMIT'].format(t=table)}") == [{"a": 1}, {"a": 2}]


def test_columns_that_nobody_asks_for_are_not_read(table: str) -> None:
    assert rows(f"duckdb:SELECT * FROM '{table}'", ["b"]) == [{"b": "x"}, {"b": "y"}, {"b": "z"}]
    with pytest.raises(ValueError, match="gives none of the columns"):
        rows(f"duckdb:SELECT * FROM '{table}'", ["q"])


@pytest.mark.parametrize("mode", [False, True])
def test_refusals_quote_no_cell(table: str, mode: bool) -> None:
    with strict(mode), pytest.raises(ValueError, match="DuckDB ended the query before its last row") as error:
        rows(f"duckdb:SELECT CAST(b AS INTEGER) AS a FROM '{table}'")
    assert "'x'" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__context__ is None


def test_query_that_cannot_run_is_one_sentence(table: str) -> None:
    with pytest.raises(ValueError, match=r"^DuckDB cannot run the query \(BinderException\)"):
        rows(f"duckdb:SELECT q FROM '{table}'")
