"""What the page about tuning says of shares, against the code and against dp-accounting."""

import math
import re
from pathlib import Path

import dp_accounting
import numpy as np
import pytest
from dp_accounting.dp_event import RepeatAndSelectDpEvent

from privfit.accounting import Gaussian
from privfit.tuning.search import REFIT_SHARE

PAGE = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text()
DELTA = 1e-6


def rows(heading):
    """Return the numbers of the table under this heading."""
    lines = PAGE.split(heading)[1].split("\n\n")[0].splitlines()[2:]
    return [[float(cell) for cell in line.strip("|").split("|")] for line in lines]


def test_the_shares_of_fits_are_those_of_the_code():
    found = rows("| settings |")
    assert [row[0] for row in found] == [2, 3, 4, 10]
    for count, compared, refit, without in found:
        assert compared == pytest.approx(math.sqrt((1 - REFIT_SHARE) / count), abs=0.006)
        assert refit == pytest.approx(math.sqrt(REFIT_SHARE), abs=0.006)
        assert without == pytest.approx(math.sqrt(1 / count), abs=0.006)


def spent(mu, mean):
    """Return the epsilon of a random number of runs of Gaussian noise, by the better distribution."""
    orders = [*np.arange(1.5, 12.0, 0.5), *range(12, 200, 4)]
    found = []
    for shape in (0.0, math.inf):
        accountant = dp_accounting.rdp.RdpAccountant(orders)
        accountant.compose(RepeatAndSelectDpEvent(dp_accounting.GaussianDpEvent(1.0 / mu), mean, shape))
        found.append(accountant.get_epsilon(DELTA))
    return min(found)


def test_the_shares_of_a_random_number_of_runs_are_those_of_dp_accounting():
    found = rows("| mean number of runs |")
    assert [row[0] for row in found] == [3, 10, 30]
    whole = Gaussian.of(epsilon=1.0, delta=DELTA).mu
    for mean, share, even in found:
        assert even == pytest.approx(math.sqrt(1 / mean), abs=0.006)
        assert spent((share - 0.02) * whole, mean) < 1.0 < spent((share + 0.02) * whole, mean)


def test_the_settings_that_can_be_tried_are_listed():
    from privfit.tuning.candidates import PRIVACY, TRIED

    section = PAGE.split("## What can be tried")[1].split("\n## ")[0]
    assert set(TRIED) | set(PRIVACY) <= set(re.findall(r"`(\w+)`", section))
