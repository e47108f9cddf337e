"""Adjacency: which tables are neighbours, and so whether a promise is about one record or one person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from privfit.remedies import remedy

Unit = Literal["record", "person"]  # what is added or removed between two neighbouring tables


@dataclass(frozen=True, kw_only=True)
class About:
    """Whether a promise is about one record or about one person.

    Parameters
    ----------
    person_id : str, optional
        The name of the id that tells people apart, if neighbouring tables differ in all records of one
        person. None if they differ in one record.
    """

    person_id: str | None = None

    def __post_init__(self) -> None:
        check_person_id(self.person_id)

    @property
    def unit(self) -> Unit:
        """Whether the promise is about a record or a person."""
        return "record" if self.person_id is None else "person"

    @property
    def adjacency(self) -> str:
        """The change that turns a table into a neighbouring one, in the words of statements."""
        return f"add or remove {'one record' if self.person_id is None else 'all records of one person'}"


def check_person_id(name: object) -> None:
    """Raise ValueError unless this can be the name of an id, or is None."""
    if name is not None and (not isinstance(name, str) or not name.strip() or not name.isprintable()):
        raise ValueError("person_id must be the name of an id, such as 'patient_id', or None.")


def unit_in_words(person_id: str | None) -> str:
    """Return the difference between neighbouring tables, in words."""
    if person_id is None:
        return "one record"
    return f"all records of one person (by the id {person_id!r})"


def check_unit(kept: str | None, asked: str | None, what: str) -> None:
    """Refuse a charge if the ledger's promise and the charge are about different units.

    They cannot be added: a promise about a person does not imply the same promise about a record (P9), nor
    the other way round.

    Parameters
    ----------
    kept, asked : str or None
        The `person_id` of the ledger, and of the charge.
    what : str
        The name of the charge in messages.

    Raises
    ------
    ValueError
        If the two differ.
    """
    if kept == asked:
        return
    if kept is None:
        advice = remedy(
            "leave rows_per_person out, or open a ledger about people by person_id=",
            "leave --rows-per-person out, and rows_per_person in the schema, or open a ledger about people "
            "by privfit ledger open --person-id",
        )
    else:
        advice = remedy(
            f"set rows_per_person, and tell people apart by {kept!r}: by the schema's id, or by groups= with "
            "that name",
            f"declare {kept!r} as the id of the schema, and say --rows-per-person",
        )
    raise ValueError(
        f"The ledger's promise is about {unit_in_words(kept)}, and {what or 'this charge'} is about "
        f"{unit_in_words(asked)}; {advice}."
    )


@dataclass(frozen=True, kw_only=True)
class Relation(About):
    """Adjacency: neighbouring tables differ in all records of one person, who has a limited number of them.

    Parameters
    ----------
    records_per_person : int
        The largest number of records that one person may have.
    person_id : str, optional
        The name of the id that tells people apart; None if every record counts as a person.
    """

    records_per_person: int

    def __post_init__(self) -> None:
        super().__post_init__()
        k = self.records_per_person
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ValueError(f"records_per_person must be a whole number of at least 1, got {k!r}.")

    @property
    def is_one_record_each(self) -> bool:
        """Whether neighbouring tables differ in one record, so that proofs about one record apply."""
        return self.records_per_person == 1

    def require_of(self, persons: Any) -> None:
        """Raise ValueError if the table's persons may have more records than this relation says.

        Sensitivities of single records would then be multiplied by too small a number. A person's clipped
        sum could change by more than its bound if one of several records was added or removed.
        """
        if persons is not None and persons.most > self.records_per_person:
            raise ValueError(f"people may have {persons.most} records, not {self.records_per_person}")

    def times(self, unit: Unit) -> int:
        """Return the factor that turns the sensitivity to one such unit into the sensitivity to one person.

        By the triangle inequality, k records move a sum by at most k times what one record does. The factor
        is 1 if the sensitivity is already that of a person.
        """
        return self.records_per_person if unit == "record" else 1


ONE_RECORD = Relation(records_per_person=1)
