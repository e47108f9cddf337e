"""Checks of options that `train` and `tune` make before a table is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from privfit.cli.guard import Mistake

if TYPE_CHECKING:
    from privfit.schema import Schema


def is_about_people(facts: Schema, schema: Path, rows_per_person: int | None) -> bool:
    """Return whether the promise is about people with several records; raise an error if both declare it."""
    ids = facts.identifier
    if rows_per_person is not None and ids is not None and ids.rows_per_person is not None:
        raise Mistake(f"{schema} declares rows_per_person already; leave --rows-per-person out.")
    return ids is not None and (rows_per_person is not None or ids.rows_per_person is not None)


def check_budget(epsilon: float | None, delta: float, rho: float | None) -> None:
    """Raise an error, in terms of the options, if the privacy budget is invalid."""
    from privfit.estimators.validation import check_number

    for option, amount in (("--epsilon", epsilon), ("--rho", rho)):
        if amount is not None:
            check_number(option, amount)
    check_number("--delta", delta, or_zero=True)


def check_records(records: int | None, facts: Schema, schema: Path) -> None:
    """Raise an error if the number of records is invalid or declared in the schema already."""
    from privfit.estimators.validation import check_count

    if records is not None and facts.records is not None:
        raise Mistake(f"{schema} declares the number of records already; leave --records out.")
    if records is not None:
        check_count("--records", records)
