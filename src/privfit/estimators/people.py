"""Whom a fit makes its promise to: one record, or a person with several, of which so many are used."""

from __future__ import annotations

from typing import Any

from privfit.accounting.relation import ONE_RECORD, Relation
from privfit.estimators.validation import check_count
from privfit.remedies import remedy
from privfit.schema import Schema

UNNAMED_GROUPS = "groups"  # what the id of groups is called that have no name


def name_of_groups(groups: Any) -> str:
    """Return what to call the id that groups stand for: the name of a column, if it has one."""
    name = getattr(groups, "name", None)
    return name if isinstance(name, str) and name.strip() and name.isprintable() else UNNAMED_GROUPS


def relation_of(rows_per_person: Any, schema: Schema | None, groups_name: str | None) -> Relation:
    """Return which tables are neighbours by what is declared alone, or refuse declarations that do not fit.

    Parameters
    ----------
    rows_per_person : int or None
        How many records of a person are used at most, by a setting.
    schema : Schema or None
        Whose id column may say the same, and who is who.
    groups_name : str or None
        What the groups are called; None if none were given.

    Returns
    -------
    relation : Relation
        About one record unless it is said how many of a person are used.
    """
    ids = None if schema is None else schema.identifier
    if rows_per_person is not None:
        check_count("rows_per_person", rows_per_person)
    if ids is not None and ids.rows_per_person is not None:
        if rows_per_person is not None:
            raise ValueError("rows_per_person is said by the schema; remove rows_per_person=.")
        rows_per_person = ids.rows_per_person
    if ids is not None and groups_name is not None:
        raise ValueError(f"The schema's id column {ids.name!r} says whose a record is; leave groups= out.")
    if rows_per_person is None:
        if groups_name is not None:
            raise ValueError(
                "groups= says whose a record is, but not how many records of a person are used at most; set "
                "rows_per_person, for example rows_per_person=5."
            )
        return ONE_RECORD
    person_id = groups_name if ids is None else ids.name
    if person_id is None:
        raise ValueError(
            "rows_per_person is about people with several records, and nothing says who is who; "
            + remedy(
                "pass groups= to fit, an id for each row, or declare a column of the schema as id",
                'declare a column of the schema with type = "id"',
            )
            + "."
        )
    return Relation(records_per_person=int(rows_per_person), person_id=person_id)


def assumption_of(relation: Relation) -> str:
    """Say how many records of a person are used, and which: a sentence that tells nothing of the records."""
    k = relation.records_per_person
    return (
        f"people are told apart by the id {relation.person_id!r}; of each person at most {k} "
        f"record{'' if k == 1 else 's'} {'is' if k == 1 else 'are'} used, chosen by a fixed rule from that "
        "person's records alone, and records without an id are left out"
    )
