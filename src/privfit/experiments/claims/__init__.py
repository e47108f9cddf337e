"""The claims register: what the paper says, and what the rows of a directory of results say of it."""

from privfit.experiments.claims.claim import Claim, Finding, Verdict
from privfit.experiments.claims.evidence import Evidence, NotRun
from privfit.experiments.claims.register import CLAIMS

__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "NotRun", "Verdict"]
