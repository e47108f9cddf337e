"""Tables that are the result of a DuckDB query, which the custodian runs on the records.

The guarantee is about the rows of the result. It holds for the custodian's records only if each row is
computed from one record alone. Joins, windows, aggregates, limits, samples and DISTINCT make a row depend on
other records, and random() cannot be repeated. Strict mode accepts a query only if its text and its plan
consist of projections and filters of single rows of one table of Parquet files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from privfit.leaks import PrivacyLeakError, is_strict
from privfit.schema.files import OnRead

PREFIX = "duckdb:"

# classes of parsed expressions that use a single row, and operators of a plan that keep rows separate
_EXPRESSIONS = frozenset(
    (
        "BETWEEN",
        "CASE",
        "CAST",
        "COLLATE",
        "COLUMN_REF",
        "COMPARISON",
        "CONJUNCTION",
        "CONSTANT",
        "FUNCTION",
        "OPERATOR",
        "STAR",
        "TYPE",
    )
)
_OPERATORS = frozenset(("PROJECTION", "FILTER", "PARQUET_SCAN", "READ_PARQUET"))
# these are not contents of a record
_OF_FILES = frozenset(("rowid", "file_row_number", "file_index", "filename"))
_TIMES = frozenset(("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"))
# functions that DuckDB lists as scalar and consistent, although they depend on the time or on other rows
_NOT_OF_ONE_ROW = frozenset(("age", "current_localtime", "current_localtimestamp", "json_serialize_plan"))

_REMEDY = (
    "write the answer of the query to a Parquet file, if each row of it is made of one record, and give that "
    "file"
)


def is_query(X: Any) -> bool:
    """Return whether X is the text of a DuckDB query, "duckdb:SELECT ..."."""
    return isinstance(X, str) and X.startswith(PREFIX)


def is_relation(X: Any) -> bool:
    """Return whether X is a DuckDB relation; DuckDB is not imported for other objects."""
    return type(X).__name__ == "DuckDBPyRelation"


def rows_of_batch(n_columns: int, cells: int) -> int:
    """Return the number of rows in a batch of about this many cells."""
    return max(1, cells // max(1, n_columns))


def query_reader(X: str, names: Sequence[str] | None, cells: int, on_read: OnRead) -> Iterator[Any]:
    """Run a query and return its result as Arrow tables of about this many cells."""
    duckdb, text = _duckdb(), X.removeprefix(PREFIX)
    connection = duckdb.connect()
    try:
        if is_strict():
            check_rows_apart(connection, text)
        relation = connection.sql(text)
    except duckdb.Error as error:
        extension = _lacking(connection, str(error))
        problem = f"its extension {extension} is not installed" if extension else type(error).__name__
    else:
        problem = "" if relation is not None else "it has no rows"
    if problem:  # raised here, because DuckDB's message may quote a cell
        raise ValueError(f"DuckDB cannot run the query ({problem}); try it in DuckDB first.")
    yield from _answers(relation, names, cells, on_read)


def _lacking(connection: Any, message: str) -> str:
    """Return the extension that a message of DuckDB calls required, or "": no other word is taken from it."""
    known = connection.execute("SELECT extension_name FROM duckdb_extensions()").fetchall()
    # DuckDB 2.0 leaves the second quotation mark out
    return max((name for (name,) in known if f"required extension '{name}" in message), key=len, default="")


def relation_reader(relation: Any, names: Sequence[str] | None, cells: int, on_read: OnRead) -> Iterator[Any]:
    """Return the rows of a relation as Arrow tables of about this many cells."""
    if is_strict():
        raise PrivacyLeakError(
            "Strict mode cannot see how a DuckDB relation was made; give the query as text, "
            "'duckdb:SELECT ... FROM ...', or a Parquet file."
        )
    yield from _answers(relation, names, cells, on_read)


def _answers(relation: Any, names: Sequence[str] | None, cells: int, on_read: OnRead) -> Iterator[Any]:
    import pyarrow

    duckdb = _duckdb()
    present = [name for name in relation.columns if names is None or name in names]
    if not present:
        raise ValueError("The query gives none of the columns that the schema declares.")
    if len(present) < len(relation.columns):
        relation = relation.select(*(duckdb.ColumnExpression(name) for name in present))
    try:
        # DuckDB 1.4 has only the second name
        read = getattr(relation, "to_arrow_reader", relation.fetch_record_batch)
        reader = read(rows_of_batch(len(present), cells))
        yield reader.schema.empty_table()
        for batch in reader:
            on_read(batch.nbytes)
            yield pyarrow.Table.from_batches([batch])
    except (duckdb.Error, pyarrow.ArrowException, OSError) as error:
        problem = type(error).__name__
    else:
        return
    raise ValueError(f"DuckDB ended the query before its last row ({problem}); try it in DuckDB first.")


def check_rows_apart(connection: Any, text: str) -> None:
    """Raise an error unless the text and the plan of a query show that each row comes from one record.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        A new connection, which has no views and no macros.
    text : str
        The query.

    Raises
    ------
    PrivacyLeakError
        If the query contains anything else.
    """
    parsed = json.loads(connection.execute("SELECT json_serialize_sql(?)", [text]).fetchone()[0])
    statements = parsed.get("statements", [])
    if parsed.get("error") or len(statements) != 1:
        raise PrivacyLeakError(
            "Strict mode takes one SELECT of DuckDB that reads one table; the query is none."
        )
    found = _in_select(connection, statements[0]["node"])
    if found is None:
        plan = json.loads(connection.execute(f"EXPLAIN (FORMAT json) {text}").fetchall()[0][1])
        found = next((name for name in _operators(plan) if name not in _OPERATORS), None)
    if found is None:
        found = _of_no_record(connection, statements[0]["node"])
    if found is not None:
        raise PrivacyLeakError(
            f"Strict mode refuses the query, because {found} may make a row depend on other records, or "
            f"differ between two runs; {_REMEDY}."
        )


def _in_select(connection: Any, node: dict[str, Any]) -> str | None:
    """Return the part of a parsed SELECT that uses more than single rows, or None."""
    if node["type"] != "SELECT_NODE":
        return str(node["type"])
    table = node["from_table"]
    parts = {
        "WITH": node["cte_map"]["map"],
        "DISTINCT, ORDER BY or LIMIT": node["modifiers"],
        "GROUP BY": node["group_expressions"] or node["group_sets"],
        "HAVING": node["having"],
        "QUALIFY": node["qualify"],
        "SAMPLE": node["sample"] or table.get("sample"),
        "the form of FROM": not _is_one_path(table),
    }
    found = next((name for name, part in parts.items() if part), None)
    return found or next(
        _in_expressions(connection, [node["select_list"], node["where_clause"], table]), None
    )


def _is_one_path(table: dict[str, Any]) -> bool:
    """Return whether a table is named by one path or pattern, without settings.

    A list might name a file twice, and a setting might add the number of a row.
    """
    if table["type"] == "TABLE_FUNCTION":
        return list(_classes(table)) == ["FUNCTION", "CONSTANT"]
    return bool(table["type"] == "BASE_TABLE")


def _classes(tree: Any) -> Iterator[str]:
    """Yield the classes of all expressions in what was parsed."""
    if isinstance(tree, list):
        for part in tree:
            yield from _classes(part)
    elif isinstance(tree, dict):
        if "class" in tree:
            yield str(tree["class"])
        yield from _classes(list(tree.values()))


def _in_expressions(connection: Any, tree: Any) -> Iterator[str]:
    if isinstance(tree, list):
        for part in tree:
            yield from _in_expressions(connection, part)
    elif isinstance(tree, dict):
        kind = tree.get("class")
        if kind is not None and kind not in _EXPRESSIONS:
            yield str(kind)
        names = {name.lower() for name in tree["column_names"]} if kind == "COLUMN_REF" else set()
        if names & _TIMES:
            yield "the time"
        if kind == "FUNCTION" and not _is_of_one_row(connection, tree["function_name"]):
            yield f"{tree['function_name']}()"
        for part in tree.values():
            yield from _in_expressions(connection, part)


def _of_no_record(connection: Any, node: dict[str, Any]) -> str | None:
    """Return the part of a parsed SELECT that reads more than cells of the Parquet files, or None.

    DuckDB has columns of its own, such as the number of a row, and makes columns from directory names.
    """
    table = node["from_table"]
    path = next(_constants(table)) if table["type"] == "TABLE_FUNCTION" else table["table_name"]
    in_files, shown = (
        {
            name.lower()
            for name, *_ in connection.execute(f"DESCRIBE FROM read_parquet(?{how})", [path]).fetchall()
        }
        for how in (", hive_partitioning = false", "")
    )
    if shown - in_files:
        return "a column that is made of the names of directories"
    known = in_files | {expression["alias"].lower() for expression in node["select_list"]}
    for names in _references([node["select_list"], node["where_clause"]]):
        if not known & set(names[:2]) or (_OF_FILES - in_files) & set(names):
            return "a column that is not in the files, such as their names and the numbers of rows,"
    return None


def _references(tree: Any) -> Iterator[list[str]]:
    """Yield the parts of each name of a column in what was parsed, in lower case."""
    if isinstance(tree, list):
        for part in tree:
            yield from _references(part)
    elif isinstance(tree, dict):
        if tree.get("class") == "COLUMN_REF":
            yield [name.lower() for name in tree["column_names"]]
        yield from _references(list(tree.values()))


def _constants(tree: Any) -> Iterator[str]:
    """Yield the constants in what was parsed."""
    if isinstance(tree, list):
        for part in tree:
            yield from _constants(part)
    elif isinstance(tree, dict):
        if tree.get("class") == "CONSTANT":
            # DuckDB 2 uses the first form
            yield tree["literal"]["text"] if "literal" in tree else tree["value"]["value"]
        yield from _constants(list(tree.values()))


def _is_of_one_row(connection: Any, name: str) -> bool:
    """Return whether the result of a function depends only on its arguments in one row."""
    if name in ("read_parquet", "parquet_scan"):  # these name the table itself
        return True
    if name.lower() in _NOT_OF_ONE_ROW:
        return False
    known = connection.execute(
        "SELECT DISTINCT function_type, stability FROM duckdb_functions() WHERE function_name = ?", [name]
    ).fetchall()
    return bool(known) and all(kinds == ("scalar", "CONSISTENT") for kinds in known)


def _operators(plan: Any) -> Iterator[str]:
    for node in plan:
        yield node["name"].strip()
        yield from _operators(node.get("children", []))


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ImportError("Queries need DuckDB: pip install 'privfit[duckdb]'.") from None
    return duckdb
