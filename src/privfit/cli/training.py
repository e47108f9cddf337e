"""The table that a model is trained on, read and checked as the schema says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privfit.cli.checking import check_first
from privfit.cli.guard import Mistake
from privfit.cli.tables import read_table

if TYPE_CHECKING:
    from privfit.schema import Schema


def training_table(
    data: list[Path],
    schema: Path,
    facts: Schema,
    *,
    records: int | None,
    rows_per_person: int | None,
    no_check: bool,
) -> Any:
    """Return the table, or refuse what its schema says twice or what the check finds.

    Parameters
    ----------
    data : list of Path
        Where it is.
    schema : Path
        Of the schema, for messages.
    facts : Schema
        What it says.
    records, rows_per_person : int, optional
        What is declared besides.
    no_check : bool
        Whether not to compare the table with the schema.

    Returns
    -------
    table : object
        What `fit` takes.
    """
    ids, of_people = facts.identifier, is_about_people(facts, schema, rows_per_person)
    table = read_table(
        data,
        (
            *facts.features,
            facts.label,
            *([ids] if ids is not None and of_people else []),
            *([] if facts.weight is None else [facts.weight.as_column]),
        ),
        no_repeated_ids=None if no_check or of_people else facts,
    )
    return check_first(table, replace(facts, records=facts.records or records), "train", skip=no_check)


def is_about_people(facts: Schema, schema: Path, rows_per_person: int | None) -> bool:
    """Tell whether the promise is about people with several records; what is said twice is refused."""
    ids = facts.identifier
    if rows_per_person is not None and ids is not None and ids.rows_per_person is not None:
        raise Mistake(f"{schema} declares rows_per_person already; leave --rows-per-person out.")
    return ids is not None and (rows_per_person is not None or ids.rows_per_person is not None)


def check_budget(epsilon: float | None, delta: float, rho: float | None) -> None:
    """Refuse amounts that are none, in the words of the options."""
    from privfit.estimators.validation import check_number

    for option, amount in (("--epsilon", epsilon), ("--rho", rho)):
        if amount is not None:
            check_number(option, amount)
    check_number("--delta", delta, or_zero=True)


def check_records(records: int | None, facts: Schema, schema: Path) -> None:
    """Refuse a number of records that is none, or that the schema declares already."""
    from privfit.estimators.validation import check_count

    if records is not None and facts.records is not None:
        raise Mistake(f"{schema} declares the number of records already; leave --records out.")
    if records is not None:
        check_count("--records", records)
