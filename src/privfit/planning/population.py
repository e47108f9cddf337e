"""People who do not exist: records of a given shape, with labels that a linear rule explains so far.

Half the columns are yes/no, from rare to common, half are numbers between 0 and 1. Three common causes make
columns correlated, and the first of them the label, too. A few columns say much about the label and many say
little, as in most tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, ndtri

Vector = NDArray[np.float64]

CAUSES, SHARED = 3, 0.3  # common causes, and how much of a column's variance they explain
RAREST, COMMONEST = 0.02, 0.5  # shares of yes in yes/no columns
SPREAD = 6.0  # standard deviations that the declared bounds of a number span
DECAY = 1.0  # the k-th most telling column has a weight of k^-1
JUDGED_ON = 20_000  # people on whom the rule is set to the asked-for AUC and share of positives
CLOSE = 1e-4  # to what was asked for: less than any table shows


@dataclass(frozen=True)
class Population:
    """A distribution of records, and the rule that gives them labels.

    `loadings` are what the common causes do to each column, `thresholds` where a yes/no column says yes (NaN
    for numbers), `weights` and `intercept` the log odds of the positive label.
    """

    loadings: Vector
    thresholds: Vector
    weights: Vector
    intercept: float

    @classmethod
    def of(cls, n_features: int, positives: float, auc: float, rng: np.random.Generator) -> Self:
        """Make a population in which the best linear rule reaches this AUC."""
        loadings = rng.standard_normal((CAUSES, n_features))
        loadings *= np.sqrt(SHARED / (loadings**2).sum(axis=0))
        yes = np.exp(rng.uniform(np.log(RAREST), np.log(COMMONEST), n_features))
        thresholds = np.where(np.arange(n_features) % 2 == 0, ndtri(1.0 - yes), np.nan)
        sizes = rng.permutation(np.arange(1.0, n_features + 1.0) ** -DECAY)
        weights = np.sign(loadings[0]) * sizes  # what has a cause in common with the label points its way
        draft = cls(loadings, thresholds, weights, 0.0)
        features = draft.features(JUDGED_ON, rng).astype(np.float64)
        weights = weights / np.maximum(features.std(axis=0), 1e-3)  # telling means telling people apart
        margins = features @ weights

        def intercept(scale: float) -> float:
            widest = scale * float(np.abs(margins).max()) + 40.0  # beyond, all labels are the same
            return float(brentq(lambda b: expit(scale * margins + b).mean() - positives, -widest, widest))

        def reached(scale: float) -> float:
            return _expected_auc(margins, expit(scale * margins + intercept(scale)))

        largest = 1e3 / float(np.abs(margins - margins.mean()).max())  # labels are then all but certain
        scale = (
            float(brentq(lambda s: reached(s) - auc, 0.0, largest, rtol=CLOSE))
            if reached(largest) > auc
            else largest
        )
        return cls(loadings, thresholds, scale * weights, intercept(scale))

    def features(self, n: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Draw the features of n people, all between 0 and 1."""
        causes = rng.standard_normal((n, CAUSES), dtype=np.float32)
        own = rng.standard_normal((n, self.loadings.shape[1]), dtype=np.float32)
        drawn = causes @ self.loadings.astype(np.float32) + np.float32(np.sqrt(1.0 - SHARED)) * own
        numbers = np.clip(drawn / np.float32(SPREAD) + np.float32(0.5), 0.0, 1.0)
        return np.where(np.isnan(self.thresholds), numbers, drawn > self.thresholds).astype(np.float32)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Draw n people with their labels, 0 or 1."""
        features = self.features(n, rng)
        odds = features @ self.weights.astype(np.float32) + np.float32(self.intercept)
        return features, (rng.random(n) < expit(odds)).astype(np.int64)


def _expected_auc(scores: Vector, positive: Vector) -> float:
    """Return the AUC that scores have if each label is positive with the given probability."""
    order = np.argsort(scores)
    up, down = positive[order], 1.0 - positive[order]
    below = np.cumsum(down) - 0.5 * down
    return float(up @ below / (up.sum() * down.sum()))
