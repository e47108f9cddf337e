"""A chain of hashes: every row of an account seals itself and all rows before it.

Whoever changes, removes or inserts a row breaks the chain, unless they write anew every row after it. What no
chain can show is that its last rows are missing, or that all of it was written anew; a seal that was noted
down elsewhere does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from privfit.accounting.amounts import exactly_read, units
from privfit.accounting.stores.base import BrokenChain

Row = Mapping[Any, Any]  # of columns by name


def seal(row: Row, previous: str = "") -> str:
    """Return the hash of a row's fields, its own seal left out, and of the seal before it."""
    fields = {name: value for name, value in row.items() if name != "seal"}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def check_link(row: Row, previous: str, where: str) -> None:
    """Raise `BrokenChain` if a row is not what was written after this seal."""
    if row["seal"] != seal(row, previous):
        raise BrokenChain(
            f"{where} is not what was written there: it, or a row before it, was changed, removed or "
            "inserted; restore the store from a backup."
        )


def check_entries(rows: Iterable[Row], start: str, ceilings: tuple[int, int], account: str) -> list[str]:
    """Check the rows of entries that follow a seal, in order, and return their seals.

    Each must be linked to the one before and numbered after it, add up to the totals that it states, stay
    within the ceilings, and, if it settles a reservation, be the first to do so and return no more than was
    reserved.
    """
    seals, totals, open_reservations = [start], (0, 0), dict[int, Row]()
    for number, row in enumerate(rows, start=1):
        where = f"Entry {number} of {account}"
        check_link(row, seals[-1], where)
        amounts = units(float(row["rho"])), units(float(row["delta"]))
        totals = totals[0] + amounts[0], totals[1] + amounts[1]
        stated = exactly_read(row["total_rho"]), exactly_read(row["total_delta"])
        sound = row["number"] == number and totals == stated
        sound = sound and all(total <= most for total, most in zip(totals, ceilings, strict=True))
        if row["settles"] is None:
            open_reservations[number] = row
            sound = sound and min(amounts) >= 0
        else:
            reserved = open_reservations.pop(row["settles"], {"rho": "0", "delta": "0"})
            limits = units(float(reserved["rho"])), units(float(reserved["delta"]))
            sound = sound and all(
                -limit <= amount <= 0 for amount, limit in zip(amounts, limits, strict=True)
            )
        if not sound:
            raise BrokenChain(f"{where} does not add up; restore the store from a backup.")
        seals.append(row["seal"])
    return seals
