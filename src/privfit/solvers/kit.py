"""Functions that several solvers use: the noisy number of records, and checks of settings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privfit.curator import Curator, Measurement
from privfit.leaks import warn_of_large_delta
from privfit.questions import Count, PeopleCount, WeightSum

# Share of the budget for the number of records: (COUNT_REACH / reach)^2, within these limits. A count of
# thousands is exact enough at the least share; a small count is known to a tenth. If targets are numbers,
# means are divided by the count, so the largest share and the reach are larger.
RHO_SHARE_OF_COUNT, MOST_RHO_SHARE_OF_COUNT, COUNT_REACH = 0.002, 0.03, 10.0
COUNT_RULE_FOR_NUMBERS = 0.15, 20.0


def number_of_records(curator: Curator) -> float:
    """Return n if it was declared; otherwise buy a noisy count, and return 1 if it is smaller."""
    if curator.n_records is not None:
        return float(curator.n_records)
    count = curator.measure(Count(), RHO_SHARE_OF_COUNT * curator.remaining)
    n = max(1.0, float(count.value[0]))
    compare_delta(curator, n, count.sigma, curator.remaining)
    return n


def counted(curator: Curator, budget: float, question: Count | PeopleCount | WeightSum) -> Measurement:
    """Buy a count; pay more for a small count, and still more if means are divided by it."""
    divides = curator.loss.is_scale_free and not isinstance(question, PeopleCount)
    most, wanted = COUNT_RULE_FOR_NUMBERS if divides else (MOST_RHO_SHARE_OF_COUNT, COUNT_REACH)
    count = curator.measure(question, RHO_SHARE_OF_COUNT * budget)
    reach = curator.reach(max(float(count.value[0]), 1.0), budget)
    share = min((wanted / reach) ** 2, most)
    return (
        curator.refine(count, (share - RHO_SHARE_OF_COUNT) * budget) if share > RHO_SHARE_OF_COUNT else count
    )


def total_weight(curator: Curator, budget: float, n: float | None = None) -> float:
    """Return the noisy sum of the records' weights, by which sums are divided to get means.

    Without weights it is the number of records: n, or a noisy count if n is not known. The sum is at least
    two standard deviations of its noise, because other numbers are divided by it.
    """
    if not curator.weighted:
        return number_of_records(curator) if n is None else n
    bought = counted(curator, budget, WeightSum())
    weight = max(float(bought.value[0]), 2.0 * bought.sigma)
    if n is not None:
        return min(weight, n)
    if curator.n_records is None:
        compare_delta(curator, float(bought.value[0]), bought.sigma, budget)  # weights are at most 1
    return weight


def compare_delta(curator: Curator, n: float, noise: float, budget: float) -> None:
    """Warn if delta is above 1 / n, where n is the number of records, or of people.

    n has noise of this standard deviation. If people may have several records, their number is bought; more
    is paid for it if it is small (Q27).
    """
    relation = curator.relation
    if relation.unit == "person" and not relation.is_one_record_each:
        count = counted(curator, budget, PeopleCount())
        n, noise = float(count.value[0]), count.sigma
    warn_of_large_delta(curator.delta, n, noise, unit=relation.unit)


def check_positive(solver: Any, *names: str) -> None:
    """Refuse settings that are neither None nor a positive finite number."""
    for name, value in _set(solver, names):
        if not (_is_number(value) and value > 0 and math.isfinite(value)):
            raise ValueError(f"{type(solver).__name__} needs a positive finite {name}, got {value!r}.")


def check_whole(solver: Any, *names: str, least: int = 1) -> None:
    """Refuse settings that are neither None nor a whole number of at least `least`."""
    for name, value in _set(solver, names):
        if not (isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least):
            raise ValueError(
                f"{type(solver).__name__} needs a whole number of at least {least} for {name}, got {value!r}."
            )


def check_share(solver: Any, *names: str) -> None:
    """Refuse settings that are not shares between 0 and 1."""
    for name, value in _set(solver, names):
        if not (_is_number(value) and 0.0 < value < 1.0):
            raise ValueError(
                f"{type(solver).__name__} needs {name} between 0 and 1, both excluded, got {value!r}."
            )


def check_choice(solver: Any, name: str, choices: tuple[str, ...]) -> None:
    """Raise an error unless a setting is one of the choices."""
    value = getattr(solver, name)
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}, got {value!r}.")


def _set(solver: Any, names: tuple[str, ...]) -> list[tuple[str, Any]]:
    values = [(name, getattr(solver, name)) for name in names]
    return [(name, value) for name, value in values if value is not None]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
