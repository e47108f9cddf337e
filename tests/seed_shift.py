"""The pytest option `--seed-shift N`: every seeded generator draws other numbers than it usually does.

A test that holds at the seeds it was written with, and not at others, tests its seeds. Before the seeds of a
statistical test are fixed, run it with several shifts: `pytest tests/solvers --seed-shift 1`. It may fail as
often as it says it does. Equal seeds still give equal numbers, so tests that compare two runs of one seed
hold; those that compare with published numbers, as tests/experiments/test_table1.py does, do not.
tests/repeatable_noise.py shifts secure noise as well. Hypothesis and the pages of the documentation, which
are run as a reader types them, are not shifted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


def shifted(make: Callable[..., np.random.Generator], shift: int) -> Callable[..., np.random.Generator]:
    """Return `np.random.default_rng` with the shift as part of every seed that is a number or several."""

    @functools.wraps(make)  # so that `inspect.unwrap` gives it back
    def default_rng(seed: Any = None) -> np.random.Generator:
        if seed is None or isinstance(
            seed, np.random.Generator | np.random.SeedSequence | np.random.BitGenerator
        ):
            return make(seed)
        return make([*np.atleast_1d(np.asarray(seed, dtype=object)), shift])

    return default_rng
