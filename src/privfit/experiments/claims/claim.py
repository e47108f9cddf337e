"""What a claim is: a sentence of the paper in our words, and the question to the rows that decides it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from privfit.experiments.claims.evidence import Evidence, NotRun


class Verdict(StrEnum):
    """What the rows say."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """A verdict and the numbers behind it, as Markdown."""

    verdict: Verdict
    evidence: str


Query = Callable[[Evidence], Finding]


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
            return self.query(evidence)
        except NotRun as missing:
            return Finding(Verdict.NOT_RUN, f"There are no rows yet: {missing}.")


CLAIMS: dict[str, Claim] = {}


def claim(key: str, *, where: str, says: str, holds_if: str) -> Callable[[Query], Query]:
    """Enter a query into the register, as the one that decides this claim."""

    def enter(query: Query) -> Query:
        assert key not in CLAIMS
        CLAIMS[key] = Claim(key, where, says, holds_if, query)
        return query

    return enter


def graded(holding: int, of: int) -> Verdict:
    """Return the verdict on a claim about several cases: in part means in half of them or more."""
    return Verdict.HOLDS if holding == of else Verdict.IN_PART if 2 * holding >= of else Verdict.FAILS
