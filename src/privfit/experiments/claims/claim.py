"""What a claim is: a sentence of the paper in our words, and the query of the rows that decides it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from privfit.experiments.claims.evidence import Evidence, NotRun


class Verdict(StrEnum):
    """What the rows say."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """A verdict and the numbers behind it, as Markdown; on how many rows it rests, how many outdated."""

    verdict: Verdict
    evidence: str
    rows: int = 0
    outdated: int = 0


class Query(Protocol):
    """A question to the rows with its parameters filled in."""

    def __call__(self, evidence: Evidence) -> Finding:
        """Ask it."""
        ...


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper: where it stands, what it says, and when we say that it holds."""

    key: str
    where: str
    says: str
    holds_if: str
    query: Query

    def decide(self, evidence: Evidence) -> Finding:
        """Ask the rows; without rows there is no verdict."""
        try:
            with evidence.noting() as settings:
                finding = self.query(evidence)
        except NotRun as missing:
            return Finding(Verdict.NOT_RUN, f"There are no rows yet: {missing}.")
        outdated = evidence.outdated or {}
        return replace(
            finding,
            rows=sum(len(evidence.rows[setting]) for setting in settings),
            outdated=sum(outdated.get(setting, 0) for setting in settings),
        )


def graded(holding: int, of: int) -> Verdict:
    """Return the verdict on a claim about several cases: in part means in half of them or more."""
    return Verdict.HOLDS if holding == of else Verdict.IN_PART if 2 * holding >= of else Verdict.FAILS


def counted(cases: list[bool], what: str, text: str) -> Finding:
    """Grade the cases of a claim, and say how many there are of what."""
    return Finding(graded(sum(cases), len(cases)), f"{what}: {sum(cases)} of {len(cases)}.\n\n{text}")
