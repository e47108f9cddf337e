"""The released results of a search: noisy losses, and the standard errors of their noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import NDArray

from privfit.curator import Measurement

Vector = NDArray[np.float64]

LEVEL_SHARE = 0.25  # a record adds this share of the clip for its count, and for its mean loss


def differences_in(released: Measurement) -> tuple[Vector, float]:
    """Return the sums of differences from the mean of all settings, and the standard error of their noise.

    The exact differences add up to 0, so the mean of the noisy ones is noise and is subtracted.
    """
    differences = released.value[2:]
    count = len(differences)
    return differences - differences.mean(), released.sigma * math.sqrt(1.0 - 1.0 / count)


def table_of(
    settings: list[dict[str, Any]], released: Measurement, level: float, within: tuple[float, float]
) -> dict[str, Any]:
    """Return a table of the settings and their losses, in the form of scikit-learn's searches.

    Parameters
    ----------
    settings : list of dict
        What was tried.
    released : Measurement
        The answer to `LossDifferences`.
    level : float
        How much a record adds for its count.
    within : pair of float
        The ends of the range of the loss.

    Returns
    -------
    columns : dict
        The columns that `DPSearchCV.cv_results_` documents.
    """
    low, high = within
    differences, noise = differences_in(released)
    n, sigma = released.value[0] / level, released.sigma / level
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for setting in settings for name in setting):
        tried = MaskedArray(np.empty(len(settings)), mask=True, dtype=object)
        for row, setting in enumerate(settings):
            if name in setting:
                tried[row] = setting[name]
        columns[f"param_{name}"] = tried
    columns["params"] = settings
    known = n > 2.0 * sigma  # otherwise noise hides the number of held-out records, and the means over them
    mean = released.value[1] / released.value[0] if known else math.nan
    share = high - low if known else math.nan
    of_mean = 0.5 * math.hypot(1.0, mean) * sigma / n
    columns["difference"] = share * differences / n
    columns["difference_noise"] = np.full(len(settings), share * noise / n)
    columns["mean_test_loss"] = low + share * (0.5 * (mean + 1.0) + differences / n)
    columns["loss_noise"] = np.full(len(settings), share * math.hypot(of_mean, noise / n))
    columns["rank_test_loss"] = np.argsort(np.argsort(differences, kind="stable"), kind="stable") + 1
    return columns


def in_words(setting: dict[str, Any]) -> str:
    """Return a setting as a line of text, written as on the command line."""
    words = {None: "none", True: "true", False: "false"}
    return ", ".join(
        f"{name} = {words[value] if value is None or isinstance(value, bool) else value}"
        for name, value in setting.items()
    )
