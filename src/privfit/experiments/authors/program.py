"""What a program of the authors is, and a model that is fitted by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privfit.engine.exact.grids import FloatArray
from privfit.losses import get_loss
from privfit.losses.loss import Loss


@dataclass(frozen=True, kw_only=True)
class Program(ABC):
    """One of the algorithms with the settings of the authors' scripts. Not a `Solver`, on purpose.

    Attributes
    ----------
    sees_the_test_fold : bool
        Whether it is trained on all records, those that it is tested on among them.
    """

    sees_the_test_fold: ClassVar[bool] = False

    @property
    def private(self) -> bool:
        """Whether what it computes has the guarantee that it states."""
        return False

    def rows(self, X: Any) -> Any:
        """Return the features as the program prepares them, the bias left out."""
        return X

    @abstractmethod
    def learn(
        self,
        X: Any,
        signs: FloatArray,
        loss: Loss,
        *,
        epsilon: float,
        delta: float,
        rng: np.random.Generator,
    ) -> tuple[FloatArray, int]:
        """Return the weights, that of the bias last, and the number of steps taken."""


class ProgramModel:
    """A linear model of labels 0 and 1 that a program fits, with what the experiments ask of an estimator."""

    def __init__(
        self, program: Program, loss: str, *, epsilon: float, delta: float, rng: np.random.Generator
    ) -> None:
        self.program, self.loss = program, get_loss(loss)
        self._settings: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rng": rng}

    def fit(self, X: Any, y: FloatArray) -> ProgramModel:
        """Learn from the records."""
        signs = np.where(np.asarray(y) == 1, 1.0, -1.0)
        w, self.n_iter_ = self.program.learn(self.program.rows(X), signs, self.loss, **self._settings)
        self.coef_, self.intercept_ = w[None, :-1], w[-1:]
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the raw predictions."""
        return np.asarray(self.program.rows(X) @ self.coef_[0] + self.intercept_[0])

    def score(self, X: Any, y: FloatArray) -> float:
        """Return the share of the labels that are predicted right."""
        return float(np.mean((self.decision_function(X) > 0) == (np.asarray(y) == 1)))
