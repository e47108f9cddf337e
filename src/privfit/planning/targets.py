"""The assumed targets of a plan: classes with an AUC, or numbers with an R²."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, mean_absolute_error, r2_score, roc_auc_score

from privfit.planning.population import Population, Table

TARGET_SPREAD = 10.0  # standard deviations between the declared bounds of the target


@dataclass(frozen=True)
class Target(ABC):
    """The target. `score` is the score of forecasts, and `quality` the score of the assumption."""

    score: ClassVar[str]

    @property
    @abstractmethod
    def assumed(self) -> float:
        """The assumed score of the model without privacy."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The settings of an estimator that declare the target."""

    @abstractmethod
    def draw(
        self, population: Population, strength: float, n: int, rng: np.random.Generator, rows: int = 1
    ) -> tuple[Table, NDArray[Any]]:
        """Draw the features and targets of n people, with a dependence of this strength."""

    @abstractmethod
    def quality(self, fitted: Any, X: Any, y: Any) -> float:
        """Return the score of a fitted model that is assumed for the model without privacy."""

    @abstractmethod
    def constant(self, y: NDArray[Any]) -> float:
        """Return the score of a constant."""

    @abstractmethod
    def scores_of(self, fitted: Any, X: Any, y: Any) -> dict[str, float]:
        """Return all scores that are forecast of a fitted model."""


@dataclass(frozen=True)
class Classes(Target):
    """Classes of these shares, two or more, with this AUC: the mean of each class against the rest."""

    score: ClassVar[str] = "accuracy"

    shares: tuple[float, ...]
    auc: float

    @property
    def assumed(self) -> float:
        """The AUC."""
        return self.auc

    @property
    def settings(self) -> dict[str, Any]:
        """The classes."""
        return {"classes": tuple(range(len(self.shares)))}

    def draw(
        self, population: Population, strength: float, n: int, rng: np.random.Generator, rows: int = 1
    ) -> tuple[Table, NDArray[Any]]:
        """Draw classes, and features of people whose causes differ by class."""
        ends = np.cumsum(self.shares)[:-1]
        y: NDArray[Any] = np.searchsorted(ends, rng.random(n * rows), side="right")
        return population.features(n, rng, rows, strength * population.classes[y]), y

    def quality(self, fitted: Any, X: Any, y: Any) -> float:
        """Return the AUC; with several classes, the mean of each class against the rest."""
        if len(self.shares) == 2:
            return float(roc_auc_score(y, fitted.decision_function(X)))
        scores = fitted.predict_proba if hasattr(fitted, "predict_proba") else fitted.decision_function
        found, present = scores(X), [k for k in range(len(self.shares)) if 0 < np.sum(y == k) < len(y)]
        return float(np.mean([roc_auc_score(y == k, found[:, k]) for k in present]))

    def constant(self, y: NDArray[Any]) -> float:
        """Return the share of the most frequent class."""
        return float(np.bincount(y).max() / len(y))

    def scores_of(self, fitted: Any, X: Any, y: Any) -> dict[str, float]:
        """Return accuracy, AUC and, if the model has probabilities, the log loss."""
        found = {"accuracy": float(fitted.score(X, y)), "auc": self.quality(fitted, X, y)}
        if hasattr(fitted, "predict_proba"):
            found["log_loss"] = float(log_loss(y, fitted.predict_proba(X), labels=range(len(self.shares))))
        return found


@dataclass(frozen=True)
class Numbers(Target):
    """Numbers of which the model without privacy explains a share `r2` of the variance."""

    score: ClassVar[str] = "r2"

    r2: float

    @property
    def assumed(self) -> float:
        """The R²."""
        return self.r2

    @property
    def settings(self) -> dict[str, Any]:
        """The bounds, in units of the standard deviation."""
        return {"target_bounds": (-0.5 * TARGET_SPREAD, 0.5 * TARGET_SPREAD)}

    def draw(
        self, population: Population, strength: float, n: int, rng: np.random.Generator, rows: int = 1
    ) -> tuple[Table, NDArray[Any]]:
        """Draw features, and numbers around scores of them; the numbers' standard deviation is 1."""
        features = population.features(n, rng, rows)
        scores = strength * population.scores(features)
        y: NDArray[Any] = (scores + rng.standard_normal(len(scores))) / np.hypot(strength, 1.0)
        return features, y

    def quality(self, fitted: Any, X: Any, y: Any) -> float:
        """Return the R²."""
        return float(r2_score(y, fitted.predict(X)))

    def constant(self, y: NDArray[Any]) -> float:
        """Return 0, the R² of the mean."""
        return 0.0

    def scores_of(self, fitted: Any, X: Any, y: Any) -> dict[str, float]:
        """Return R², and the mean absolute error in units of the target's standard deviation."""
        error = mean_absolute_error(y, fitted.predict(X)) / float(np.std(y))
        return {"r2": self.quality(fitted, X, y), "mean_absolute_error": float(error)}


def shares_of(classes: int | Sequence[float]) -> tuple[float, ...]:
    """Return equal shares for a number of classes, or the given shares; raise if they are invalid."""
    if isinstance(classes, int | np.integer) and not isinstance(classes, bool) and classes >= 2:
        return (1.0 / int(classes),) * int(classes)
    try:
        shares = tuple(float(share) for share in classes)  # type: ignore[union-attr]  # a bool is refused here
    except (TypeError, ValueError):
        shares = ()
    if len(shares) < 2 or not all(0.0 < share < 1.0 for share in shares) or abs(sum(shares) - 1.0) > 1e-6:
        raise ValueError(
            "classes must be a whole number of at least 2, or the share of each class, together 1, got "
            f"{classes!r}."
        )
    return shares
