"""A table that is checked some rows at a time: what is found is what is found in the whole table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privfit.schema import (
    Boolean,
    Categorical,
    Date,
    Identifier,
    Integer,
    Label,
    Numeric,
    Ordinal,
    Schema,
    Weight,
    encode,
)
from privfit.schema.check import Checking
from privfit.schema.stored import coded, numbered

SCHEMA = Schema(
    [
        Identifier("who"),
        Weight("counts", 2.0),
        Numeric("income", 0, 100),
        Integer("rooms", 1, 9),
        Date("born", "1950-01-01", "2000-01-01"),
        Boolean("fit"),
        Categorical("city", ["Rome", "Oslo"]),
        Ordinal("grade", ["low", "mid", "high"]),
        Numeric("absent", 0, 1),
    ],
    Label("ill", ["no", "yes"]),
    records=100,
)


def cells(rng: np.random.Generator, n: int, *usual: str) -> list[str]:
    odd = ["", " ", "odd", "12,5", "1e400", "-3", "nan", "OSLO", "31.12.1999", "yes", "2.5"]
    return [str(rng.choice(odd if rng.random() < 0.3 else usual)) for _ in range(n)]


def table(seed: int, n: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {
        "who": cells(rng, n, *map(str, range(50))),
        "counts": cells(rng, n, "0.5", "1", "3"),
        "income": cells(rng, n, "10", "99.5", "100.5", "-1"),
        "rooms": cells(rng, n, "1", "9", "10"),
        "born": cells(rng, n, "1950-01-01", "1949-12-31"),
        "fit": cells(rng, n, "true", "false"),
        "city": cells(rng, n, "Rome", "Oslo"),
        "grade": cells(rng, n, "low", "mid", "high"),
        "ill": cells(rng, n, "no", "yes"),
        "unknown": cells(rng, n, "x"),
    }
    return pa.table(
        {name: pa.array(said, pa.large_string()).cast(pa.large_binary()) for name, said in columns.items()}
    )


@pytest.mark.parametrize("purpose", ["train", "evaluate", "predict"])
@pytest.mark.parametrize("stored_as", [lambda part: part, coded], ids=["texts", "distinct texts"])
@pytest.mark.parametrize("size", [1, 7, 40, 1000])
def test_what_is_found_does_not_depend_on_the_parts(size, stored_as, purpose):
    whole = table(size, 123)
    checking = Checking(SCHEMA, purpose)
    for start in range(0, 123, size):
        checking.see(stored_as(whole.slice(start, size)))
    assert str(checking.findings()) == str(SCHEMA.check(whole, purpose))
    assert checking.findings() == SCHEMA.check(whole, purpose)


def test_files_are_checked_batch_by_batch(tmp_path):
    whole = table(3, 200)
    pq.write_table(whole, tmp_path / "people.parquet", row_group_size=30)
    assert SCHEMA.check(tmp_path / "people.parquet") == SCHEMA.check(whole)


NUMBERS = Schema(
    [Numeric("a", 0, 100), Integer("b", 0, 9), Numeric("c", 0, 1, decimal=",", thousands=".")],
    Label("y", [0, 1]),
)


@pytest.mark.parametrize(
    "odd",
    [
        "",
        "1e2",
        "inf",
        "1 000",
        "+5",
        "9" * 20,
        "2.5",
        "-0",
        ".5",
        "-.5",
        "-",
        "1-2",
        "1/2",
        "1.2.3",
        "5.",
        "x",
    ],
)
def test_numbers_stored_as_numbers_read_as_their_texts_do(odd):
    plain = ["7", "-1", "12.75", "100.5", "0", "3", "99999.123456789", "000123456789012"]
    for last in (plain[0], odd):
        texts = pa.table({name: pa.array([*plain, last], pa.large_binary()) for name in "abc"})
        converted = numbered(texts, NUMBERS.features)
        assert (encode(texts, NUMBERS) != encode(converted, NUMBERS)).sum() == 0
        assert NUMBERS.check(texts, "predict") == NUMBERS.check(converted, "predict")
    assert converted.schema.field("c").type == pa.large_binary()
    assert numbered(texts.slice(0, 8), NUMBERS.features).schema.field("a").type == pa.float64()
