"""Simulated people: records of a given shape, with a target.

By default half of the columns are yes/no, from rare to common, and the others are numbers between 0 and 1. As
in most tables, columns are correlated because they have common causes (factors). The k-th cause explains a
share of the variance proportional to 1/k (Zipf's law). The target depends on the same causes in the same way,
as if it were one of the columns: classes differ in their mean causes, and numbers are linear in the features.
So the directions in which records vary most are also the most informative about the target. The strength of
this dependence follows from the assumed score of the model without privacy (`scene`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Vector = NDArray[np.float64]
Table = NDArray[np.float32]

# the largest number of common causes; the variance of further causes is independent in each column
MOST_CAUSES = 50
RAREST, COMMONEST = 0.02, 0.5  # shares of yes in yes/no columns
SPREAD = 6.0  # standard deviations between the declared bounds of a number
CURVE_POWER = 3.0  # with curves, the model gets numbers raised to this power
SHARED_VARIANCE = 0.5  # the share of the variance of causes that the rows of a person have in common
JUDGED_ON = 20_000  # number of people from whom the standard deviations of columns are estimated
SMALLEST_SPREAD = 1e-3  # of a column, so that rarer yes/no columns are not scaled up


@dataclass(frozen=True)
class Population:
    """A distribution of records, and the dependence of targets on them.

    Parameters
    ----------
    loadings : array of shape (n_causes, n_features)
        The effect of each common cause on each column.
    thresholds : array of shape (n_features,)
        The threshold above which a yes/no column says yes; NaN for numbers.
    weights, center : array of shape (n_features,), and float
        Scores on which targets that are numbers depend: features times weights, minus the centre. Their
        standard deviation is 1.
    classes : array of shape (n_classes, n_causes)
        The difference between the mean causes of each class and those of all people.
    power : float
        The model gets numbers raised to this power.
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
        # the standard deviation that each cause explains
        parts = np.sqrt((causes / causes.sum())[:MOST_CAUSES])
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
            CURVE_POWER if bent else 1.0,
        )

    @property
    def is_number(self) -> NDArray[np.bool_]:
        """Which columns are numbers."""
        return np.isnan(self.thresholds)

    def features(self, n: int, rng: np.random.Generator, rows: int = 1, shift: Vector | None = None) -> Table:
        """Draw the features of n people, all between 0 and 1; a person's rows have causes in common.

        `shift` is added to the causes of each row. Columns are then in units of their standard deviation.
        """
        causes = rng.standard_normal((n, len(self.loadings)), dtype=np.float32)
        if rows > 1:
            of_person = np.repeat(causes, rows, axis=0)
            of_row = rng.standard_normal(of_person.shape, dtype=np.float32)
            causes = (
                np.float32(SHARED_VARIANCE**0.5) * of_person
                + np.float32((1.0 - SHARED_VARIANCE) ** 0.5) * of_row
            )
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
        """Return the scores on which targets that are numbers depend."""
        return (features @ self.weights).astype(np.float64) - self.center

    def shown(self, features: Table) -> Table:
        """Return the features in the form of the table."""
        if self.power == 1.0:
            return features
        return np.where(self.is_number, features ** np.float32(self.power), features)
