"""The claims register: what the paper says, and what the rows of a directory of results say of it."""

from privfit.experiments.claims import comparisons, ideas, ours, parameters, stochastic
from privfit.experiments.claims.claim import CLAIMS, Claim, Finding, Verdict
from privfit.experiments.claims.evidence import Evidence, NotRun

__all__ = [
    "CLAIMS",
    "Claim",
    "Evidence",
    "Finding",
    "NotRun",
    "Verdict",
    "comparisons",
    "ideas",
    "ours",
    "parameters",
    "stochastic",
]
