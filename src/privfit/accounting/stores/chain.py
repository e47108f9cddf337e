"""A chain of hashes: every row of a ledger has a seal, a hash of the row and of the seal before it.

Whoever changes, removes or inserts a row breaks the chain, unless they also write every later row anew. A row
with a correct seal at the end of the chain may come from another program. It has to follow the rules of
entries: about amounts, sums, the total, and who may give back what was reserved. A chain alone cannot show
that its last rows are missing, or that all of it was written anew. A seal that was noted elsewhere, or that
this process has seen earlier, can show it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from privfit.accounting.amounts import exactly_written, units
from privfit.accounting.stores.base import BrokenChain
from privfit.accounting.stores.tables import ENTRIES, LEDGERS

Row = Mapping[Any, Any]  # values by the name of their column

REMEDY: Final = "nothing is charged until its owner has removed what was forged, or restored a backup"

# The fields that a seal covers. `migrated` is not among them, because a migration sets it in rows that have a
# seal already.
_FIELDS_OF_LEDGER = tuple(column.name for column in LEDGERS.c if column.name not in ("seal", "migrated"))
_FIELDS_OF_ENTRY = tuple(column.name for column in ENTRIES.c if column.name != "seal")
_FIELDS_IN_FORMAT_1 = tuple(name for name in _FIELDS_OF_ENTRY if name not in ("secret_hash", "secret"))


class Seal(str):
    """The last seal of a chain that was verified, and what the verification shows.

    Attributes
    ----------
    entries : int
        How many entries were verified.
    shows : str
        What the verification shows, and what it cannot show.
    noted : int or None
        The number of the entry that has the noted seal; 0 for the ledger's own row.
    """

    entries: int
    shows: str
    noted: int | None

    def __new__(cls, seal: str, entries: int = 0, shows: str = "", noted: int | None = None) -> Seal:
        """Return a seal with what its verification shows."""
        self = super().__new__(cls, seal)
        self.entries, self.shows, self.noted = entries, shows, noted
        return self


def hash_of(secret: str) -> str:
    """Return the hash of a secret, which a reservation's row holds."""
    return hashlib.sha256(secret.encode()).hexdigest()


def seal_of_ledger(row: Row) -> str:
    """Return the seal of a ledger's own row, the first of its chain."""
    fields = {name: row[name] for name in _FIELDS_OF_LEDGER}
    if row["migrated"] is not None:
        fields["format"] = 1  # the format that the row had when it was sealed
    return _sealed(fields, "")


def seal_of_entry(row: Row, previous: str, *, in_format_1: bool = False) -> str:
    """Return the seal of an entry, given the seal of the row before it."""
    names = _FIELDS_IN_FORMAT_1 if in_format_1 else _FIELDS_OF_ENTRY
    return _sealed({name: row[name] for name in names}, previous)


def _sealed(fields: dict[str, Any], previous: str) -> str:
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def check_seal(row: Row, seal: Callable[[], str], where: str) -> str:
    """Return the seal computed from a row's fields; raise `BrokenChain` unless the row has this seal."""
    try:
        expected = seal()
    except TypeError:  # a file may hold bytes where text belongs
        expected = None
    if expected is None or row["seal"] != expected:
        raise BrokenChain(
            f"{where} is not what was written there: it, or a row before it, was changed, removed or "
            f"inserted; {REMEDY}."
        )
    return expected


@dataclass(frozen=True)
class Chain:
    """The part of a ledger's chain that was read and checked so far.

    Attributes
    ----------
    ledger : str
        The name of the ledger in messages.
    ceilings : tuple of int
        The largest sums of the rhos and of the deltas, in the units of `accounting.amounts`.
    migrated : int
        How many entries were written in format 1.
    start : str
        The seal of the ledger's own row.
    number, seal, totals
        The number of the last entry, its seal, and the sums of all rhos and deltas up to it.
    reservations : mapping
        The reservations that can be settled, by number: rho, delta, and the hash of the secret.
    """

    ledger: str
    ceilings: tuple[int, int]
    migrated: int
    start: str
    number: int
    seal: str
    totals: tuple[int, int]
    reservations: Mapping[int, tuple[int, int, str | None]]

    @classmethod
    def beginning(cls, row: Row, ledger: str, ceilings: tuple[int, int]) -> Chain:
        """Return the chain of a ledger before its first entry."""
        return cls(ledger, ceilings, row["migrated"] or 0, row["seal"], 0, row["seal"], (0, 0), {})

    def extended(self, rows: Iterable[Row]) -> Chain:
        """Return the chain with these entries, in order; raise `BrokenChain` and say which entry is wrong.

        The number and the seal of each entry must follow those of the entry before. Each entry must state
        amounts and correct totals, and stay within the ceilings. An entry that settles a reservation must be
        the first to do so, must give back no more than was reserved, and must reveal the secret whose hash
        the reservation holds. The amounts of all other entries must not be negative.
        """
        number, seal, totals, reservations = self.number, self.seal, self.totals, dict(self.reservations)
        for row in rows:
            number += 1
            where, in_format_1 = f"Entry {number} of {self.ledger}", number <= self.migrated
            if number == self.migrated + 1:
                reservations.clear()  # reservations of format 1 hold no hash, so nobody can settle them
            compute = partial(seal_of_entry, row, seal, in_format_1=in_format_1)
            seal = check_seal(row, compute, where)
            amounts = _amount(row["rho"]), _amount(row["delta"])
            unsealed = (row["secret_hash"], row["secret"] or None) if in_format_1 else ()
            if row["number"] != number or None in amounts or any(unsealed):
                raise BrokenChain(f"{where} was not written by privfit; {REMEDY}.")
            rho, delta = amounts[0] or 0, amounts[1] or 0
            if row["settles"] is None:
                if min(rho, delta) < 0:
                    raise BrokenChain(f"{where} gives back an amount that was not reserved; {REMEDY}.")
                if in_format_1 or row["secret_hash"] is not None:
                    reservations[number] = rho, delta, row["secret_hash"]
            else:
                most_rho, most_delta, secret_hash = reservations.pop(row["settles"], (-1, -1, None))
                if not (-most_rho <= rho <= 0 and -most_delta <= delta <= 0):
                    raise BrokenChain(f"{where} gives back more than was reserved; {REMEDY}.")
                if not in_format_1 and hash_of(str(row["secret"])) != secret_hash:
                    raise BrokenChain(f"{where} settles a reservation without its secret; {REMEDY}.")
            totals = totals[0] + rho, totals[1] + delta
            if (row["total_rho"], row["total_delta"]) != (
                exactly_written(totals[0]),
                exactly_written(totals[1]),
            ):
                raise BrokenChain(f"{where} does not add up; {REMEDY}.")
            if totals[0] > self.ceilings[0] or totals[1] > self.ceilings[1]:
                raise BrokenChain(f"{where} is beyond the privacy budget; {REMEDY}.")
        return replace(self, number=number, seal=seal, totals=totals, reservations=reservations)


def _amount(text: Any) -> int | None:
    """Return an amount in units, or None if the text is not what Python writes for a finite number."""
    try:
        amount = float(text)
    except (TypeError, ValueError):
        return None
    return units(amount) if math.isfinite(amount) and repr(amount) == text else None
