"""Fit what the tests of killed workers fit, once and on few records.

The process that their workers are forked from imports this. So a new worker has the package and its compiled
loops from the beginning, which would take it a second or two to load.
"""

from __future__ import annotations

import warnings

import dask.array as da
import distributed  # noqa: F401 because workers need it
import numpy as np

from privfit import DPLogisticRegression

RECORDS = 60


def fit(classes: int, **people: int) -> None:
    X, y = np.linspace(-1.0, 1.0, 3 * RECORDS).reshape(-1, 3), np.arange(RECORDS) % classes
    given = {"X": X, "y": y} | ({"groups": np.arange(RECORDS) // 2} if people else {})
    lazy = {name: da.from_array(values, chunks=values.shape) for name, values in given.items()}
    declared = {"classes": tuple(range(classes)), "noise": "seeded", "random_state": 0} | people
    DPLogisticRegression(epsilon=1.0, delta=1e-6, max_passes=20, **declared).fit(**lazy)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about a small budget
    fit(2)
    fit(3)
    fit(2, rows_per_person=3)
