"""What a published model predicts: one of two labels or of several classes, a number, or a count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TwoLabels:
    """One of two labels; a positive score means the second.

    Attributes
    ----------
    classes : pair
        The labels.
    """

    classes: tuple[Any, Any]

    type = "two labels"
    links = ("sign", "logit")
    outputs = 1


@dataclass(frozen=True)
class Classes:
    """One of several classes, each of which has a score; the largest score wins.

    Attributes
    ----------
    classes : tuple
        The labels.
    """

    classes: tuple[Any, ...]

    type = "classes"
    links = ("sign", "softmax")

    @property
    def outputs(self) -> int:
        """How many scores a record has."""
        return len(self.classes)


@dataclass(frozen=True)
class Interval:
    """A number. Targets beyond the bounds counted as the nearer bound in the fit; predictions may be beyond.

    Attributes
    ----------
    low, high : float
        The bounds.
    """

    low: float
    high: float

    type = "interval"
    links = ("identity",)
    outputs = 1


@dataclass(frozen=True)
class Counts:
    """The mean of a whole number from 0 on.

    Attributes
    ----------
    largest : int
        The largest count; larger ones counted as this one in the fit.
    """

    largest: int

    type = "counts"
    links = ("log",)
    outputs = 1


Target = TwoLabels | Classes | Interval | Counts
