"""Commas in long numbers, and where they must not be."""

import pytest

from privfit.models.separators import in_words, with_separators
from privfit.schema import Categorical, Date, Numeric


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("48842", "48,842"),
        ("-1500000 $", "-1,500,000 $"),
        ("from 0 to 100000 $, up to 31250.75", "from 0 to 100,000 $, up to 31,250.75"),
        ("1234", "1234"),
        ("from 1900 to 2020", "from 1900 to 2020"),
        ("0.1234567", "0.1234567"),
        ("1e+10", "1e+10"),
        ("48,842", "48,842"),
        ("10000-12-31", "10000-12-31"),
        ("x12345", "x12345"),
    ],
)
def test_numbers_of_five_digits_have_commas(text, expected):
    assert with_separators(text) == expected


def test_codes_and_dates_stay_as_they_are():
    amount = Numeric("amount", 0.0, 100_000.0, unit="$")
    assert in_words(amount, "") == "from 0 to 100,000 $"
    assert amount.step("") == "from 0 to 100000 $"
    code = Categorical("code", ["12345", "67890"])
    assert in_words(code, "67890") == "instead of 12345"
    assert in_words(Date("day", "2020-01-01", "2026-01-01"), "") == "from 2020-01-01 to 2026-01-01"
