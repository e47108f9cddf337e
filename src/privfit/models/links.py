"""Links: how the scores of a linear model become predictions.

A score is linear in the columns. Code that reads a published model calls the functions of its link, and does
not look at its kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Link:
    """How scores become predictions.

    Attributes
    ----------
    name : str
        The name of the link in model files.
    mean : callable, optional
        A function that turns scores into predicted numbers. None if labels are predicted.
    probabilities : callable, optional
        A function that turns scores into probabilities, with a column for each class. None if there are none.
    has_odds : bool
        Whether e to the power of a weight is a factor for the odds of the positive class.
    of_several : Link, optional
        The link of the same kind of model if every class has a score; by default the link itself.
    """

    name: str
    mean: Callable[[Numbers], Numbers] | None = None
    probabilities: Callable[[Numbers], Numbers] | None = None
    has_odds: bool = False
    of_several: Link | None = None

    def for_scores(self, count: int) -> Link:
        """Return the link of the same kind of model with this many scores for each record.

        Parameters
        ----------
        count : int
            The number of scores of a record.

        Returns
        -------
        link : Link
            The link itself for one score.
        """
        return self if count == 1 or self.of_several is None else self.of_several

    @property
    def predicts_classes(self) -> bool:
        """Whether the model predicts labels; otherwise it predicts numbers."""
        return self.mean is None


def chosen(scores: Numbers) -> NDArray[np.intp]:
    """Return the number of the predicted class for every row of scores.

    Parameters
    ----------
    scores : array of shape (n,) or (n, number of classes)
        One score for two classes, positive for the second; otherwise one for each class.

    Returns
    -------
    numbers : array of shape (n,)
        Counted from 0.
    """
    numbers: NDArray[np.intp] = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
    return numbers


def _two_probabilities(scores: Numbers) -> Numbers:
    positive = expit(scores)
    return np.column_stack([1.0 - positive, positive])


def _softmax(scores: Numbers) -> Numbers:
    probabilities: Numbers = softmax(scores, axis=1)
    return probabilities


def _identity(scores: Numbers) -> Numbers:
    return scores


def _exp(scores: Numbers) -> Numbers:
    with np.errstate(over="ignore"):
        return np.exp(scores)


SIGN = Link("sign")
SOFTMAX = Link("softmax", probabilities=_softmax)
LOGIT = Link("logit", probabilities=_two_probabilities, has_odds=True, of_several=SOFTMAX)
IDENTITY = Link("identity", mean=_identity)
LOG = Link("log", mean=_exp)
LINKS = {link.name: link for link in (SIGN, LOGIT, SOFTMAX, IDENTITY, LOG)}
