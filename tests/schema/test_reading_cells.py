import io
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from privfit.schema import Numeric
from privfit.schema.cells import reading

number = Numeric("x", 0, 1).read


@pytest.mark.parametrize(
    "cells",
    [
        [
            *(1, 1.0, True, np.int8(1), np.float32(1), np.True_, Decimal("1.0"), Fraction(2, 2), b"1"),
            *("1", "01", "+1", " 1\t", "1.", "1.0", "1e0", "0.1E+1", "true", "True", "TRUE", "1\0"),
        ],
        (0, -0.0, False, "0", "-0", "false", ".0", "0e9"),
        (1000, "1e3", "1000.0", 1e3),
        (1.5, "1.5", "1.50", "15e-1", Decimal("1.50"), np.float64(1.5)),
        (math.inf, "inf", "Infinity", "+INF", "1e999", 10**400, "1" + 400 * "0", Fraction(10**400)),
        (-math.inf, "-inf", "-1e999", -(10**400)),
        (2**53 + 1, "9007199254740993", "0009007199254740993", np.int64(2**53 + 1)),
        [
            *(None, math.nan, np.float32("nan"), Decimal("NaN"), pd.NA, pd.NaT, np.ma.masked),
            *("nan", "-NaN", "", "  ", "\0", b"", np.timedelta64(1, "D"), np.datetime64("2020")),
            *(1j, [1], {}, object()),
        ],
        ("1_000", " 1_000"),
        ("0x10",),
        ("\N{ARABIC-INDIC DIGIT ONE}",),
        ("1,5",),
        ("1e",),
        ("e1",),
        (".",),
        ("Male", " Male ", b"Male", np.str_("Male")),
        ("male",),
        ("yes",),
    ],
    ids=lambda cells: repr(cells[0])[:20],
)
def test_cells_that_say_the_same_read_the_same(cells):
    assert len({(type(said), said) for said in map(reading, cells)}) == 1


def test_different_cells_read_differently():
    cells = [
        0,
        1,
        2**53,
        2**53 + 1,
        0.1,
        1.5,
        math.inf,
        -math.inf,
        None,
        "a",
        "A",
        "1_000",
        "1e",
        "yes",
        "0x10",
    ]
    assert len(set(map(reading, cells))) == len(cells)


@given(st.integers() | st.floats(allow_nan=False) | st.booleans() | st.decimals(allow_nan=False))
def test_number_and_its_text_read_the_same(value):
    assert reading(str(value)) == reading(value)
    assert reading(f" {value}\n") == reading(value)
    assert type(reading(str(value))) is type(reading(value))


@given(st.floats())
def test_floats_are_read_as_they_are(value):
    for cell in (value, np.float64(value), repr(value)):
        np.testing.assert_array_equal(number(cell), value)


written = st.text("0123456789.eE+-_ xnaifNtTrRuUsy", min_size=1, max_size=6) | st.sampled_from(
    [
        "inf",
        "-Infinity",
        "nan",
        "true",
        "FALSE",
        "1_000",
        "0x10",
        "1d5",
        "1e5",
        " 7 ",
        "1L",
        "1.#INF",
        "5" * 25,
    ]
)


@pytest.mark.parametrize("neighbour", ["1", "1.5", "True"])
@pytest.mark.parametrize("read", [pd.read_csv, pl.read_csv])
@given(text=written)
def test_whatever_a_csv_reader_takes_for_a_number_is_that_number(read, neighbour, text):
    try:
        cell = read(io.StringIO(f"a,b\n{text},0\n{neighbour},0\n"))["a"][0]
    except pl.exceptions.ComputeError:
        assume(False)  # polars expects a number by the look of it, and cannot read it
    if isinstance(cell, str):
        assert reading(cell) == reading(text)
    elif cell is not None and not pd.isna(cell):
        assert number(text) == float(cell)
