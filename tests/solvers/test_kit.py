"""What solvers share: the number of records, and refusals of settings that make no sense."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from curators import curator_of
from scripted import ScriptedNoise

from privfit.accounting import Ledger
from privfit.engine.table import Table
from privfit.solvers.kit import (
    RHO_SHARE_OF_COUNT,
    check_choice,
    check_positive,
    check_share,
    check_whole,
    number_of_records,
)


@dataclass(frozen=True)
class Settings:
    value: object


def curator(n, n_records=None, noise_size=0.0):
    ledger = Ledger(rho=0.5)
    noise = ScriptedNoise(size=noise_size)
    return curator_of(
        Table(np.ones((n, 1))), ledger, noise, epsilon=1.0, delta=1e-6, n_records=n_records
    ), ledger


def test_a_declared_number_of_records_costs_nothing():
    asked, ledger = curator(40, n_records=50)
    assert number_of_records(asked) == 50.0
    assert ledger.entries == ()


def test_an_undeclared_one_is_bought_with_a_small_share_of_what_is_left():
    asked, ledger = curator(40)
    assert number_of_records(asked) == 40.0
    assert [(entry.what, entry.rho) for entry in ledger.entries] == [
        ("number of records", RHO_SHARE_OF_COUNT * 0.5)
    ]


def test_noise_makes_no_table_smaller_than_one_record():
    asked, _ = curator(1, noise_size=-1e6)
    assert number_of_records(asked) >= 1.0


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (check_positive, [1, 0.5, np.float32(2), None], [0, -1, math.nan, math.inf, "1", True]),
        (check_whole, [1, np.int64(3), None], [0, 1.0, -1, math.nan, "1", True]),
        (check_share, [0.5, None], [0, 1, -0.1, math.nan, "a", True]),
    ],
)
def test_settings_are_refused_by_name(check, good, bad):
    for value in good:
        check(Settings(value), "value")
    for value in bad:
        with pytest.raises(ValueError, match=r"Settings needs .*\bvalue\b.*, got"):
            check(Settings(value), "value")


def test_a_choice_is_one_of_those_named():
    check_choice(Settings("a"), "value", ("a", "b"))
    with pytest.raises(ValueError, match=r"value must be one of \('a', 'b'\), got 'c'"):
        check_choice(Settings("c"), "value", ("a", "b"))
