"""People who do not exist: records of a given shape, with a target that is one more column.

Half the columns are yes/no, from rare to common, the others numbers between 0 and 1, unless it is said how
many are numbers. As in most tables, columns go together because they have causes in common: the k-th cause
explains a share of all variance that is proportional to 1/k (Zipf's law). The target goes together with the
same causes by the same law, as if it were one of the columns: people of different classes differ in their
causes, and numbers hang on them. So the directions in which records differ most also tell most about the
target. How strongly they do is set by how good the model without privacy is (`scene`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Vector = NDArray[np.float64]
Table = NDArray[np.float32]

MOST_CAUSES = 50  # in common; what the later ones explain is each column's own
RAREST, COMMONEST = 0.02, 0.5  # shares of yes in yes/no columns
SPREAD = 6.0  # standard deviations that the declared bounds of a number span
BEND = 3.0  # if scores may bend along numbers: the power of what a score is straight in
ALIKE = 0.5  # share of the variance of causes that rows of a person have in common
JUDGED_ON = 20_000  # people from whom the columns' standard deviations are known
SMALLEST_SPREAD = 1e-3  # of a column: rarer yes/no columns tell nothing


@dataclass(frozen=True)
class Population:
    """A distribution of records, and how they go together with their targets.

    Parameters
    ----------
    loadings : array of shape (n_causes, n_features)
        What the common causes do to each column.
    thresholds : array of shape (n_features,)
        Where a yes/no column says yes; NaN for numbers.
    weights, center : array of shape (n_features,), and float
        Numbers hang on scores: features times weights, less the centre. Their standard deviation is 1.
    classes : array of shape (n_classes, n_causes)
        How the causes of people of each class differ, on average, from those of all.
    power : float
        Numbers are shown raised to this power.
    """

    loadings: Table
    thresholds: Vector
    weights: Table
    center: float
    classes: Vector
    power: float = 1.0

    @classmethod
    def of(
        cls,
        n_features: int,
        rng: np.random.Generator,
        *,
        numbers: int | None = None,
        shares: tuple[float, ...] = (),
        bent: bool = False,
    ) -> Self:
        """Make a population with classes of these shares, if any; by default half the columns are numbers."""
        causes = 1.0 / np.arange(1.0, n_features + 1.0)
        parts = np.sqrt((causes / causes.sum())[:MOST_CAUSES])  # each cause's, as a standard deviation
        loadings = rng.standard_normal((len(parts), n_features)) * parts[:, None]
        loadings *= np.sqrt((parts**2).sum() / (loadings**2).sum(axis=0))
        yes = np.exp(rng.uniform(np.log(RAREST), np.log(COMMONEST), n_features))
        is_number = np.arange(n_features) % 2 == 1
        if numbers is not None:
            is_number = rng.permutation(np.arange(n_features) < numbers)
        thresholds = np.where(is_number, np.nan, ndtri(1.0 - yes))
        classes = rng.standard_normal((len(shares), len(parts))) * parts
        classes -= np.asarray(shares) @ classes
        common = (rng.standard_normal(len(parts)) * parts) @ loadings
        draft = cls(loadings.astype(np.float32), thresholds, common.astype(np.float32), 0.0, classes)
        features = draft.features(JUDGED_ON, rng)
        weights = common / np.maximum(features.std(axis=0, dtype=np.float64), SMALLEST_SPREAD)
        scores = features.astype(np.float64) @ weights
        spread = float(scores.std())
        return cls(
            draft.loadings,
            thresholds,
            (weights / spread).astype(np.float32),
            float(scores.mean()) / spread,
            classes,
            BEND if bent else 1.0,
        )

    @property
    def is_number(self) -> NDArray[np.bool_]:
        """Which columns are numbers."""
        return np.isnan(self.thresholds)

    def features(self, n: int, rng: np.random.Generator, rows: int = 1, shift: Vector | None = None) -> Table:
        """Draw the features of n people, all between 0 and 1; a person's rows have causes in common.

        `shift` is added to the causes of each row. Columns are measured in their standard deviation then.
        """
        causes = rng.standard_normal((n, len(self.loadings)), dtype=np.float32)
        if rows > 1:
            of_person = np.repeat(causes, rows, axis=0)
            of_row = rng.standard_normal(of_person.shape, dtype=np.float32)
            causes = np.float32(ALIKE**0.5) * of_person + np.float32((1.0 - ALIKE) ** 0.5) * of_row
        spread = np.ones(self.loadings.shape[1], np.float32)
        if shift is not None:
            causes += shift.astype(np.float32)
            among = np.cov(shift.T).reshape(len(self.loadings), -1)  # the causes' covariance among rows
            moved = np.einsum("ij,ik,kj->j", self.loadings, among, self.loadings, optimize=True)
            spread = np.sqrt(1.0 + moved).astype(np.float32)
        common = causes @ self.loadings
        own = np.sqrt(max(1.0 - float((self.loadings[:, 0] ** 2).sum()), 0.0))
        drawn = (common + np.float32(own) * rng.standard_normal(common.shape, dtype=np.float32)) / spread
        numbers = np.clip(drawn / np.float32(SPREAD) + np.float32(0.5), 0.0, 1.0)
        return np.where(self.is_number, numbers, drawn > self.thresholds).astype(np.float32)

    def scores(self, features: Table) -> Vector:
        """Return the scores that numbers hang on."""
        return (features @ self.weights).astype(np.float64) - self.center

    def shown(self, features: Table) -> Table:
        """Return the features as the table has them."""
        if self.power == 1.0:
            return features
        return np.where(self.is_number, features ** np.float32(self.power), features)
