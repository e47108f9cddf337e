"""Fits on tables that are not in memory: the same model, plan and charges as in memory (Q37)."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from privfit import DPLinearRegression, DPLogisticRegression, Ledger, Schema, mapped, strict
from privfit.curator import Curator
from privfit.engine.fingerprints import CacheChanged
from privfit.engine.layouts import mapped as mapped_layouts
from privfit.leaks import PrivacyLeakError
from privfit.metrics import evaluate
from privfit.schema import Categorical, Identifier, Label, NumberLabel, Numeric, Weight, batches
from privfit.schema.taken import FROM_A_QUERY, Taken, taken

duckdb = pytest.importorskip("duckdb")

N = 900
LETTERS = list("abcdefgh")
FEATURES = [Numeric("age", 0, 100), Categorical("site", LETTERS), Numeric("dose", 0, 1)]
CLASSES = Label("ill", ["no", "yes"])
SCHEMA = Schema(FEATURES, CLASSES)
NUMBERS = Schema([FEATURES[0], FEATURES[2]], CLASSES)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "who": rng.integers(0, 400, N),
            "age": rng.integers(0, 101, N),
            "site": rng.choice(LETTERS, N),
            "dose": rng.random(N).round(4),
            "counts": rng.random(N).round(2),
        }
    )
    score = table.age / 50 + table.dose + rng.normal(0, 0.7, N)
    table["ill"] = np.where(score > 1.5, "yes", "no")
    table["degree"] = np.select([score < 1.0, score < 2.0], ["low", "mid"], "high")
    table["cost"] = (10 * score).round(3)
    table["known"] = table.ill.where(rng.random(N) < 0.8)
    return table


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a table as CSV, as Parquet with small groups of rows, and in a directory of three files."""
    place, table = tmp_path_factory.mktemp("tables"), people()
    table.to_csv(place / "people.csv", index=False)
    table.to_parquet(place / "people.parquet", index=False, row_group_size=130)
    (place / "parts").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(N), 3)):
        table.iloc[rows].to_parquet(place / "parts" / f"{number}.parquet", index=False)
    return place


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": lambda place: place / "people.csv",
    "parquet": lambda place: str(place / "people.parquet"),
    "directory": lambda place: place / "parts",
    "dataset": lambda place: arrow_dataset.dataset(place / "parts"),
    "reader": lambda place: arrow_dataset.dataset(place / "people.parquet").scanner().to_reader(),
    "relation": lambda place: duckdb.sql(f"SELECT * FROM '{place}/people.parquet'"),
    "query": lambda place: f"duckdb:SELECT * FROM '{place}/parts/*.parquet'",
}
sources = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small tables be treated as large ones are: encoded to a file, and read in blocks."""
    monkeypatch.setattr(mapped, "MOST_IN_MEMORY", 100)
    monkeypatch.setattr(mapped, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(mapped_layouts, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(batches, "CSV_BLOCK", 4000)
    monkeypatch.setattr(batches, "CELLS_OF_A_BATCH", 400)


def fitted(X: Any, schema: Schema = SCHEMA, kind: Any = DPLogisticRegression, **settings: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of seeded noise and small tables
        settings = {"rho": 2.0} | settings
        return kind(schema=schema, noise="seeded", random_state=3, **settings).fit(X)


def assert_same(model: Any, other: Any) -> None:
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(model.intercept_, other.intercept_)
    assert model.privacy_.spending == other.privacy_.spending
    assert repr(model.trace_) == repr(other.trace_)


@sources
@pytest.mark.usefixtures("small_memory")
def test_fit_is_that_of_a_table_in_memory(source: Callable[[Path], Any], files: Path) -> None:
    assert_same(fitted(source(files)), fitted(people()))


@sources
def test_small_tables_are_taken_into_memory(source: Callable[[Path], Any], files: Path) -> None:
    held = taken(source(files), SCHEMA)
    assert isinstance(held, Taken)
    assert not mapped.is_mapped(held.features.data)
    assert_same(fitted(held), fitted(people()))


KINDS: dict[str, tuple[Schema, Any, dict[str, Any]]] = {
    "numbers": (NUMBERS, DPLogisticRegression, {}),
    "persons": (
        replace(SCHEMA, columns=[Identifier("who", rows_per_person=2), *FEATURES]),
        DPLogisticRegression,
        {},
    ),
    "weights": (replace(SCHEMA, columns=[Weight("counts", 1.0), *FEATURES]), DPLogisticRegression, {}),
    "classes": (replace(SCHEMA, label=Label("degree", ["low", "mid", "high"])), DPLogisticRegression, {}),
    "curves": (NUMBERS, DPLogisticRegression, {"curves": 3}),
    "bought curves": (NUMBERS, DPLogisticRegression, {"curves": True}),
    "numbers to predict": (replace(SCHEMA, label=NumberLabel("cost", 0, 50)), DPLinearRegression, {}),
    "labels that are missing": (
        replace(SCHEMA, label=Label("known", ["no", "yes"], missing="drop")),
        DPLogisticRegression,
        {},
    ),
    "Poisson samples": (NUMBERS, DPLogisticRegression, {"solver": "sgd-ma", "n_records": N}),
    "mini-batches": (SCHEMA, DPLogisticRegression, {"solver": "sgd-adv", "n_records": N}),
    "rows of norm 1": (
        NUMBERS,
        DPLogisticRegression,
        {"solver": "output-perturbation", "alpha": 0.1, "n_records": N},
    ),
    "sparse rows of norm 1": (
        SCHEMA,
        DPLogisticRegression,
        {"solver": "output-perturbation", "alpha": 0.1, "n_records": N},
    ),
    "line search": (SCHEMA, DPLogisticRegression, {"solver": "dpagd"}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("small_memory")
def test_all_kinds_of_fits_are_those_of_a_table_in_memory(kind: str, files: Path) -> None:
    schema, model, settings = KINDS[kind]
    table = pq.read_table(files / "people.parquet").to_pandas()
    on_disk = fitted(files / "people.parquet", schema, model, **settings)
    in_memory = fitted(table, schema, model, **settings)
    if settings.get("solver") == "output-perturbation":  # whose sums are not clipped, and hence not exact
        np.testing.assert_allclose(on_disk.coef_, in_memory.coef_, rtol=1e-9)
    else:
        assert_same(on_disk, in_memory)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("kind", ["numbers", "classes", "persons", "numbers to predict"])
def test_intervals_are_those_of_a_table_in_memory(kind: str, files: Path) -> None:
    """The file has seven groups of rows, is encoded in batches of at most 200 and read in blocks of 125."""
    schema, model, _ = KINDS[kind]
    if kind != "persons":
        schema = replace(schema, columns=NUMBERS.columns)
    # with so large a budget the noise is too small to have an effect refused, whatever the seed is
    settings: dict[str, Any] = {"inference": True, "n_records": N, "rho": 500.0}
    on_disk = fitted(files / "people.parquet", schema, model, **settings)
    in_memory = fitted(people(), schema, model, **settings)
    assert_same(on_disk, in_memory)
    np.testing.assert_array_equal(on_disk.inference_.estimate, in_memory.inference_.estimate)
    np.testing.assert_array_equal(on_disk.conf_int(), in_memory.conf_int())
    assert np.isfinite(on_disk.conf_int()).all(axis=1).any()


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("bounds", [None, (-1.0, 1.0)])
def test_mapped_arrays_are_taken_once(tmp_path: Path, dtype: Any, bounds: Any) -> None:
    rng = np.random.default_rng(1)
    X = (3 * rng.normal(size=(N, 4))).astype(dtype)
    y = (X[:, 0] > 0).astype(int)
    np.save(tmp_path / "X.npy", X)
    held = np.load(tmp_path / "X.npy", mmap_mode="r")
    settings = {"noise": "seeded", "random_state": 1, "n_records": N, "feature_bounds": bounds}
    models = [DPLogisticRegression(rho=1.0, **settings) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(models[0].fit(held, y), models[1].fit(X, y))


def test_a_mapped_array_that_changes_during_a_fit_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All passes read a copy that nobody else can write to."""
    rows = np.random.default_rng(0).normal(size=(200, 3))
    np.save(tmp_path / "X.npy", rows)
    held = np.load(tmp_path / "X.npy", mmap_mode="r+")
    labels = (rows[:, 0] > 0.0).astype(int)
    settings = {"classes": (0, 1), "feature_bounds": (-4.0, 4.0), "noise": "seeded", "random_state": 1}
    unchanged = DPLogisticRegression(**settings).fit(rows, labels)
    measure = Curator.measure

    def overwriting(self: Curator, *asked: Any, **place: Any) -> Any:
        held[:] = 4.0
        return measure(self, *asked, **place)

    monkeypatch.setattr(Curator, "measure", overwriting)
    np.testing.assert_array_equal(DPLogisticRegression(**settings).fit(held, labels).coef_, unchanged.coef_)
    assert (held == 4.0).all()


# -- what a source must keep --------------------------------------------------------------------------------


class Moody:
    """A reader whose rows come in another order, and are others, each time it is asked."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.times_read = table, 0
        self.schema = table.schema

    def read_next_batch(self) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        self.times_read += 1
        rng = np.random.default_rng(self.times_read)
        yield from self.table.take(rng.integers(0, len(self.table), len(self.table))).to_batches()


@pytest.mark.usefixtures("small_memory")
def test_source_that_gives_other_rows_each_time_is_read_once(files: Path) -> None:
    moody = Moody(pq.read_table(files / "people.parquet"))
    model = fitted(moody)
    assert moody.times_read == 1
    same_rows = np.random.default_rng(1).integers(0, N, N)
    assert_same(model, fitted(people().iloc[same_rows]))


@pytest.mark.usefixtures("small_memory")
def test_file_that_changes_during_the_fit_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    people().to_parquet(path)
    held = taken(path, SCHEMA)
    people().iloc[::-1].to_parquet(path)
    assert_same(fitted(held), fitted(people()))


@pytest.mark.usefixtures("small_memory")
def test_changed_cache_ends_the_fit_after_the_charge_and_releases_nothing(files: Path) -> None:
    held = taken(files / "people.parquet", NUMBERS)
    ledger = Ledger(rho=2.0)
    model = DPLogisticRegression(rho=1.0, schema=NUMBERS, ledger=ledger, n_records=N, verbose=0)
    changed: list[float] = []

    def spoil(answer: Any, **details: Any) -> None:
        if not changed:
            held.features[N // 2, 0] += np.float32(0.25)
            changed.append(1.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privfit.estimators.base.budget_bar", _bar(spoil))
        with pytest.raises(CacheChanged, match="has changed since it was written") as error:
            model.fit(held)
    assert changed
    assert not hasattr(model, "coef_")
    assert ledger.spent > 0
    assert "released no model" in " ".join(error.value.__notes__)


def _bar(on_answer: Callable[..., None]) -> Any:
    from contextlib import contextmanager

    @contextmanager
    def bar(*_what: Any) -> Iterator[Any]:
        yield lambda *answer, **details: on_answer(None)

    return bar


# -- plans --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_memory")
def test_plan_follows_declared_numbers_and_not_the_source(files: Path, tmp_path: Path) -> None:
    """Tables of 900 and of 90 rows, in groups of 130 and of 7, get one plan if one number is declared."""
    people().head(90).to_parquet(tmp_path / "few.parquet", row_group_size=7)
    models = [
        fitted(source, solver="gradient-descent", n_records=5000)
        for source in (files / "people.parquet", tmp_path / "few.parquet", files / "people.csv", people())
    ]
    plans = [(model.n_iter_, model.privacy_.spending) for model in models]
    assert all(plan == plans[0] for plan in plans)


# -- queries ------------------------------------------------------------------------------------------------


def test_statement_says_that_rows_are_the_answer_to_a_query(files: Path) -> None:
    for name, source in SOURCES.items():
        statement = str(fitted(source(files)).privacy_)
        assert (FROM_A_QUERY in statement) == (name in ("relation", "query"))


@pytest.mark.usefixtures("small_memory")
def test_query_over_csv_files_gives_the_fit_of_their_rows(files: Path) -> None:
    text = f"read_csv('{files}/people.csv', all_varchar = true)"  # else yes and no become truth values
    query = f"duckdb:SELECT * FROM {text} WHERE age::INT < 90"
    assert_same(fitted(query), fitted(people().query("age < 90")))


def sqlite_file(place: Path) -> Path:
    path = place / "people.db"
    with closing(sqlite3.connect(path)) as connection:
        people().to_sql("people", connection, index=False)
    return path


def require(extension: str) -> None:
    """Skip a test that needs an extension of DuckDB, which would have to be downloaded."""
    try:
        duckdb.connect().load_extension(extension)
    except duckdb.Error:
        pytest.skip(f"DuckDB {duckdb.__version__} lacks its extension {extension}; `make test-duckdb` has it")


def test_query_over_sqlite_gives_the_fit_of_its_rows(tmp_path: Path) -> None:
    require("sqlite_scanner")
    query = f"duckdb:SELECT * FROM sqlite_scan('{sqlite_file(tmp_path)}', 'people') WHERE age < 90"
    assert_same(fitted(query), fitted(people().query("age < 90")))


@pytest.fixture
def postgres_people(request: pytest.FixtureRequest) -> str:
    """Make a table on a PostgreSQL server, if DuckDB can read it."""
    require("postgres_scanner")
    engine = sa.create_engine(
        request.getfixturevalue("postgres_url").replace("postgresql:", "postgresql+psycopg:")
    )
    people().to_sql("people_of_duckdb", engine, index=False, if_exists="replace")
    engine.dispose()
    return str(request.getfixturevalue("postgres_url"))


@pytest.mark.slow
def test_query_over_postgres_gives_the_fit_of_its_rows(postgres_people: str) -> None:
    table = f"postgres_scan('{postgres_people}', 'public', 'people_of_duckdb')"
    assert_same(fitted(f"duckdb:SELECT * FROM {table} WHERE age < 90"), fitted(people().query("age < 90")))


@pytest.mark.slow
@pytest.mark.parametrize("where", ["CAST(site AS INT) = 1", "nobody = 1"])
def test_query_over_postgres_that_fails_quotes_no_cell(where: str, postgres_people: str) -> None:
    ledger = Ledger(rho=3.0)
    table = f"postgres_scan('{postgres_people}', 'public', 'people_of_duckdb')"
    with pytest.raises(ValueError, match=r"^DuckDB .* \(\w+\); try it in DuckDB first\.$") as refusal:
        fitted(f"duckdb:SELECT * FROM {table} WHERE {where}", ledger=ledger)
    assert refusal.value.__context__ is None
    assert ledger.spent == 0


def test_query_that_names_no_table_is_refused_in_one_sentence(tmp_path: Path) -> None:
    ledger = Ledger(rho=3.0)
    query = f"duckdb:SELECT * FROM no_such_scan('{tmp_path}/people.db', 'people')"
    with pytest.raises(ValueError, match=r"^DuckDB cannot run the query \(\w+\); try it in DuckDB first\.$"):
        fitted(query, ledger=ledger)
    assert ledger.spent == 0


NOWHERE = "http://127.0.0.1:9"  # nobody answers there


@pytest.mark.parametrize("download", [False, True])
def test_query_that_lacks_an_extension_names_it_in_one_sentence(
    download: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB does not find it, because it must not download it or cannot."""
    ledger, original = Ledger(rho=3.0), duckdb.connect
    config = {"extension_directory": str(tmp_path), "autoinstall_extension_repository": NOWHERE}
    config["autoinstall_known_extensions"] = str(download)
    monkeypatch.setattr(duckdb, "connect", lambda: original(config=config))
    query = f"duckdb:SELECT * FROM sqlite_scan('{sqlite_file(tmp_path)}', 'people')"
    with pytest.raises(ValueError, match="DuckDB") as refusal:
        fitted(query, ledger=ledger)
    assert str(refusal.value) == (
        "DuckDB cannot run the query (its extension sqlite_scanner is not installed); try it in DuckDB first."
    )
    assert refusal.value.__context__ is None
    assert ledger.spent == 0


@pytest.mark.parametrize("source", ["dataset", "reader", "relation", "query"])
def test_sources_without_a_size_say_how_much_they_read(source: str, files: Path) -> None:
    batches_read = batches.batches_of(SOURCES[source](files))
    assert batches_read is not None
    assert batches_read.size == 0
    said: list[int] = []
    tables = list(batches_read.read(SCHEMA.names_in_fit, said.append))
    assert said == [table.nbytes for table in tables[1:]]
    assert sum(said) > 0


def test_strict_fit_refuses_queries_before_a_charge(files: Path) -> None:
    ledger = Ledger(rho=1.0)
    query = f"SELECT * FROM '{files}/people.parquet'"
    model = DPLogisticRegression(rho=0.1, schema=NUMBERS, ledger=ledger)
    with strict():
        with pytest.raises(PrivacyLeakError, match="LIMIT may make a row depend on other records"):
            model.fit(f"duckdb:{query} LIMIT 700")
        assert ledger.spent == 0
        model.fit(f"duckdb:{query} WHERE age < 90")
    assert ledger.spent > 0


def test_scores_say_so_as_well(files: Path) -> None:
    model = fitted(people())
    bought = [
        evaluate(model, source(files), rho=1.0, noise="seeded", random_state=1)
        for source in (SOURCES["parquet"], SOURCES["query"], SOURCES["dataset"])
    ]
    assert [FROM_A_QUERY in str(scores.privacy) for scores in bought] == [False, True, False]
    assert bought[0].accuracy == bought[1].accuracy == bought[2].accuracy


@pytest.mark.usefixtures("small_memory")
@sources
def test_predictions_are_those_of_a_table_in_memory(source: Callable[[Path], Any], files: Path) -> None:
    model = fitted(people())
    np.testing.assert_allclose(
        model.decision_function(source(files)), model.decision_function(people()), rtol=1e-12, atol=1e-12
    )


# -- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="age"), "have no column 'age'"),
        (lambda t: t.assign(age=pd.to_timedelta(t.age, unit="D")), "arrives with dtype duration"),
        (lambda t: t.assign(ill=t.ill.where(t.index != N - 1)), "label 'ill' is missing"),
        (lambda t: t.head(0), "no records"),
    ],
    ids=["column", "type", "label", "empty"],
)
def test_refusals_come_before_a_charge(change: Any, message: str, tmp_path: Path) -> None:
    change(people()).to_parquet(tmp_path / "people.parquet", index=False)
    ledger = Ledger(rho=1.0)
    with pytest.raises((TypeError, ValueError), match=message):
        fitted(tmp_path / "people.parquet", ledger=ledger)
    assert ledger.spent == 0


def test_table_taken_with_another_schema_is_refused(files: Path) -> None:
    with pytest.raises(ValueError, match="taken with another schema"):
        fitted(taken(files / "people.parquet", NUMBERS), SCHEMA)
