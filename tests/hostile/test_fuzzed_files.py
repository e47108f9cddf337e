"""Schemas, model files and tables that are damaged at random: read, or refused in one sentence and for free.

A case that is refused names what is wrong without quoting a cell, charges nothing and comes to an end.
`make test-deep` runs hundreds of times as many of them (tests/deep/test_long_fuzzing.py).
"""

from __future__ import annotations

import io
import json
import math
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damage import (
    SECRET,
    assert_one_sentence,
    at_most,
    damaged_bytes,
    damaged_documents,
    damaged_texts,
    texts,
    values,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from privfit import DPLogisticRegression, Ledger
from privfit.publication import load
from privfit.report import render
from privfit.schema import Schema
from privfit.solvers import GradientDescent

pytestmark = pytest.mark.slow
TOML = """
[[columns]]
name = "born"
type = "date"
low = 1920-01-01
high = 2010-12-31

[[columns]]
name = "city"
type = "categorical"
categories = ["Basel", "Bern", "Genf"]

[[columns]]
name = "income"
type = "numeric"
low = 0
high = 200_000
unit = "$"
thousands = ","
curve = [50_000, 100_000]

[[columns]]
name = "smoker"
type = "boolean"
words = ["no", "yes"]

[label]
name = "sick"
classes = ["no", "yes"]
positive = "yes"
"""
SCHEMA = Schema.from_dict(tomllib.loads(TOML))
ROWS = [
    ["1950-03-15", "Basel", "$12,000", "no", "no"],
    ["1961-07-01", "Bern", "$150,000", "yes", "yes"],
    ["", "Genf", "", "yes", "no"],
    ["1990-12-31", SECRET, SECRET, SECRET, "yes"],
]
NAMES = ["born", "city", "income", "smoker", "sick"]
TABLE = pa.table(dict(zip(NAMES, zip(*ROWS, strict=True), strict=True)))
SOLVER = GradientDescent(steps=1)
CSV = "\n".join(",".join(f'"{cell}"' for cell in row) for row in [NAMES, *ROWS]) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory; and a fit has been compiled."""
    DPLogisticRegression(schema=SCHEMA, n_records=4, solver=SOLVER).fit(TABLE)
    return tmp_path_factory.mktemp("fuzzed")


def fit(table, schema=SCHEMA):
    """Fit, or return what was said against it; nothing is charged then, and no cell is quoted."""
    ledger = Ledger(epsilon=1.0)
    model = DPLogisticRegression(epsilon=1.0, schema=schema, n_records=4, solver=SOLVER, ledger=ledger)
    with at_most(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model.fit(table)
        except (ValueError, TypeError, OSError) as refusal:
            assert ledger.spent == 0.0
            assert_one_sentence(refusal)
            return refusal
        finally:
            assert not any(SECRET in str(warning.message) for warning in said)
    assert ledger.spent > 0.0
    assert np.all(np.isfinite(model.coef_))
    return model


@settings(max_examples=20)
@given(text=damaged_texts(TOML))
def test_a_damaged_schema_is_read_or_refused_in_one_sentence(folder, text):
    path = folder / "schema.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with at_most():
        try:
            schema = Schema.from_toml(path)
        except ValueError as refusal:
            assert_one_sentence(refusal, of_records=False)
        else:
            assert Schema.from_dict(schema.to_dict()) == schema


@settings(max_examples=20)
@given(document=damaged_documents(SCHEMA.to_dict()))
def test_a_damaged_schema_of_a_program_is_read_or_refused_in_one_sentence(document):
    with at_most():
        try:
            schema = Schema.from_dict(document)
        except (ValueError, TypeError) as refusal:
            assert_one_sentence(refusal, of_records=False)
        else:
            assert Schema.from_dict(schema.to_dict()) == schema


@pytest.fixture(scope="module")
def published(folder):
    path = folder / "good.json"
    model = fit(TABLE)
    model.save(path)
    return json.loads(path.read_text())


@settings(max_examples=40)
@given(data=st.data())
def test_a_damaged_model_file_is_read_or_refused_in_one_sentence(folder, published, data):
    path = folder / "model.json"
    if data.draw(st.booleans()):
        text = json.dumps(data.draw(damaged_documents(published)))
    else:
        text = data.draw(damaged_texts(json.dumps(published)))
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with at_most():
        try:
            model = load(path)
        except ValueError as refusal:
            assert_one_sentence(refusal, of_records=False)
            return
        if SECRET not in text:  # as an inserted value it belongs to the file, and a page may show it
            assert SECRET not in render(model.published())
        if model.schema_ is not None and model.schema_ == SCHEMA:
            assert len(model.predict(TABLE)) == len(ROWS)


@settings(max_examples=40)
@given(
    content=damaged_texts(CSV).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | damaged_bytes(CSV.encode())
)
def test_a_damaged_csv_is_fitted_or_refused_for_free(folder, content):
    path = folder / "people.csv"
    path.write_bytes(content)
    fit(path)


cells = st.one_of(
    values,
    texts,
    st.sampled_from(
        [SECRET, f"{SECRET}\n", "Basel", "yes", "1950-03-15", "$1,000", True, 7, 7.5, b"\xff", math.nan]
    ),
    st.dates(),
    st.datetimes(),
    st.decimals(),
    st.binary(max_size=4),
)


@st.composite
def tables(draw):
    """Return a table whose columns are of any type that Arrow infers, some of them missing or repeated."""
    count = draw(st.integers(0, 4))
    good = list(zip(*ROWS, strict=True))
    names, arrays = [], []
    for place, name in enumerate(NAMES):
        if draw(st.integers(0, 9)) == 0:
            continue
        column = list(good[place])[:count] + [None] * (count - 4)
        for row in range(count):
            if draw(st.integers(0, 5)) == 0:
                column[row] = draw(cells)
        try:
            array = pa.array(column)
        except (pa.ArrowException, ValueError, OverflowError, TypeError):
            array = pa.array([None if cell is None else ascii(cell) for cell in column])
        names.append(draw(st.just(name) | texts) if draw(st.integers(0, 19)) == 0 else name)
        arrays.append(array)
    return names, arrays


@settings(max_examples=40)
@given(table=tables(), data=st.data())
def test_any_parquet_file_is_fitted_or_refused_for_free(folder, table, data):
    names, arrays = table
    content = io.BytesIO()
    try:
        pq.write_table(pa.Table.from_arrays(arrays, names=names), content)
    except (pa.ArrowException, ValueError, UnicodeEncodeError):
        return  # not even Arrow can write it
    path = Path(folder) / "people.parquet"
    written = content.getvalue()
    path.write_bytes(data.draw(damaged_bytes(written)) if data.draw(st.booleans()) else written)
    fit(path)
