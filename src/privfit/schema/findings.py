"""Findings of a check of a table, each with a verdict. They quote no value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from privfit.printable import brief

FOR_THE_CUSTODIAN = (
    "For the custodian of the data only: this counts records exactly, without noise. Do not publish it."
)


class Verdict(StrEnum):
    """The consequence of a finding.

    "provided for": the schema says how such values are handled. "warning": they warn. "refusal":
    the commands `train`, `evaluate` and `predict` refuse the table.
    """

    PROVIDED_FOR = "provided for"
    WARNING = "warning"
    REFUSAL = "refusal"


_HEADINGS = {
    Verdict.REFUSAL: "Refused:",
    Verdict.WARNING: "Warnings:",
    Verdict.PROVIDED_FOR: "The schema provides for:",
}


@dataclass(frozen=True)
class Finding:
    """A fact about a column that the schema does not expect.

    Attributes
    ----------
    column : str
        The column's name; "" for the table as a whole.
    what : str
        The finding in words, without a value. If it is about records, it begins with a verb in the plural.
    records : int or None
        The number of records; None if the finding is about the column.
    verdict : {"provided for", "warning", "refusal"}
        The consequence.
    remedy : str
        Advice for the custodian, if there is any.
    share : float or None
        The share of all values in the column, if the finding is about values.
    """

    column: str
    what: str
    records: int | None = None
    verdict: Verdict = Verdict.REFUSAL
    remedy: str = ""
    share: float | None = None

    @property
    def fits(self) -> bool:
        """Whether the schema says how this is handled."""
        return self.verdict is Verdict.PROVIDED_FOR

    def __str__(self) -> str:
        who, verb, rest = "", *self.what.partition(" ")[::2]
        if self.records is not None:
            who = f"{self.records:,} record{'s' * (self.records != 1)} "
        if self.records == 1:
            verb = {"have": "has", "repeat": "repeats"}[verb]
        share = "" if self.share is None else f" ({_percent(self.share)} of the values)"
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{brief(self.column) or 'the table'}: {who}{verb} {rest}{share}{remedy}"


def _percent(share: float) -> str:
    return "less than 0.1%" if share < 0.001 else f"{share:.1%}"


@dataclass(frozen=True)
class Findings:
    """The findings of `Schema.check`, for the custodian of the data only.

    Attributes
    ----------
    found : tuple of Finding
        All findings, in the order of the columns.
    """

    found: tuple[Finding, ...]

    @property
    def fits(self) -> bool:
        """Whether the schema provides for all findings."""
        return all(finding.fits for finding in self.found)

    @property
    def refusals(self) -> tuple[Finding, ...]:
        """The findings for which the commands `train`, `evaluate` and `predict` refuse the table."""
        return tuple(self._with(Verdict.REFUSAL))

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings for which these commands print a warning."""
        return tuple(self._with(Verdict.WARNING))

    def _with(self, verdict: Verdict) -> Iterable[Finding]:
        return (finding for finding in self.found if finding.verdict is verdict)

    def __str__(self) -> str:
        lines = [FOR_THE_CUSTODIAN]
        for verdict, heading in _HEADINGS.items():
            listed = [f"  {finding}" for finding in self._with(verdict)]
            lines += [heading, *listed] if listed else []
        return "\n".join(lines if self.found else [*lines, "Everything fits the schema."])

    __repr__ = __str__
