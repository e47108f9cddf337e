"""Whether the promise of a fit is about one record, or about a person with several records."""

from __future__ import annotations

from typing import Any

from privfit.accounting.relation import ONE_RECORD, Relation
from privfit.estimators.validation import check_count
from privfit.remedies import remedy
from privfit.schema import Schema

UNNAMED_GROUPS = "groups"  # the name of the id if `groups` have no name


def name_of_groups(groups: Any) -> str:
    """Return the name of the id that `groups` hold: the name of the column, if it has one."""
    name = getattr(groups, "name", None)
    return name if isinstance(name, str) and name.strip() and name.isprintable() else UNNAMED_GROUPS


def relation_of(rows_per_person: Any, schema: Schema | None, groups_name: str | None) -> Relation:
    """Return the adjacency of tables from declarations alone; raise if the declarations are inconsistent.

    Parameters
    ----------
    rows_per_person : int or None
        The setting: the largest number of records of each person to use.
    schema : Schema or None
        The schema, whose id column may declare the same number.
    groups_name : str or None
        The name of the groups; None if none were given.

    Returns
    -------
    relation : Relation
        About one record, unless the number of records per person is declared.
    """
    ids = None if schema is None else schema.identifier
    if rows_per_person is not None:
        check_count("rows_per_person", rows_per_person)
    if ids is not None and ids.rows_per_person is not None:
        if rows_per_person is not None:
            raise ValueError("The schema declares rows_per_person already; remove rows_per_person=.")
        rows_per_person = ids.rows_per_person
    if ids is not None and groups_name is not None:
        raise ValueError(
            f"The schema's id column {ids.name!r} tells people apart already; leave groups= out."
        )
    if rows_per_person is None:
        if groups_name is not None:
            raise ValueError(
                "groups= tells people apart, but does not say how many records of each person to use; set "
                "rows_per_person, for example rows_per_person=5."
            )
        return ONE_RECORD
    person_id = groups_name if ids is None else ids.name
    if person_id is None:
        raise ValueError(
            "rows_per_person is for people with several records, and no id tells people apart; "
            + remedy(
                "pass groups= to fit, an id for each row, or declare a column of the schema as id",
                'declare a column of the schema with type = "id"',
            )
            + "."
        )
    return Relation(records_per_person=int(rows_per_person), person_id=person_id)


def assumption_of(relation: Relation) -> str:
    """Return the sentence about how many records of a person are used; it does not depend on the records."""
    k = relation.records_per_person
    return (
        f"people are told apart by the id {relation.person_id!r}; of each person at most {k} "
        f"record{'' if k == 1 else 's'} {'is' if k == 1 else 'are'} used, chosen by a fixed rule from that "
        "person's records alone, and records without an id are left out"
    )
