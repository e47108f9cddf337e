"""A sum carries its bound: what has not been looked at yet, and how far one record can move it."""

from collections.abc import Callable
from dataclasses import dataclass

from privfit.engine.exact.grids import FloatArray


@dataclass(frozen=True)
class Bounded:
    """A vector that is a sum over records.

    Parameters
    ----------
    look : callable
        Computes it. Nothing has been looked at before.
    sensitivity : float
        How far adding or removing one record can move what is computed, in L2 norm, rounding included.
    claim : str
        The claim in docs/privacy.md that proves it.
    """

    look: Callable[[], FloatArray]
    sensitivity: float
    claim: str


@dataclass(frozen=True)
class Scores:
    """A score for each of several candidates, each a sum over records; the smaller, the better.

    Parameters
    ----------
    look : callable
        Computes them. Nothing has been looked at before.
    sensitivity : float
        How far one more record can move a score, rounding included.
    count : int
        Number of candidates.
    monotone : bool
        Whether one more record moves all scores in one direction; then their changes lie in an interval
        of length `sensitivity`, and otherwise of twice that.
    claim : str
        The claim in docs/privacy.md that proves it.
    """

    look: Callable[[], FloatArray]
    sensitivity: float
    count: int
    monotone: bool
    claim: str
