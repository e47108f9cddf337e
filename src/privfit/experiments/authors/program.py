"""The base class of the authors' programs, and a model that a program fits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from privfit.engine.exact.grids import FloatArray
from privfit.engine.problem import Problem
from privfit.losses import get_loss
from privfit.losses.loss import Loss


@dataclass(frozen=True, kw_only=True)
class Given:
    """The input of a program: features with labels as signs, a loss, a budget and random numbers."""

    X: Any
    signs: FloatArray
    loss: Loss
    epsilon: float
    delta: float
    rng: np.random.Generator

    @cached_property
    def problem(self) -> Problem:
        """The records; the weight of the bias is last."""
        return Problem.of(self.X, self.signs, self.loss)


@dataclass(frozen=True, kw_only=True)
class Program(ABC):
    """One of the algorithms with the settings of the authors' scripts. Not a `Solver`, on purpose.

    Attributes
    ----------
    sees_the_test_fold : bool
        Whether it is trained on all records, including those on which it is tested.
    private : bool
        Whether its result has the guarantee that it states.
    """

    sees_the_test_fold: ClassVar[bool] = False
    private: ClassVar[bool] = False

    def rows(self, X: Any) -> Any:
        """Return the features as the program prepares them, without the bias."""
        return X

    @abstractmethod
    def learn(self, given: Given) -> tuple[FloatArray, int]:
        """Return the weights, that of the bias last, and the number of steps taken."""


class ProgramModel:
    """A linear model of labels 0 and 1 that a program fits, with the methods that experiments need."""

    def __init__(
        self, program: Program, loss: str, *, epsilon: float, delta: float, rng: np.random.Generator
    ) -> None:
        self.program, self.loss = program, get_loss(loss)
        self._settings: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rng": rng}

    def fit(self, X: Any, y: FloatArray) -> ProgramModel:
        """Learn from the records."""
        signs = np.where(np.asarray(y) == 1, 1.0, -1.0)
        given = Given(X=self.program.rows(X), signs=signs, loss=self.loss, **self._settings)
        w, self.n_iter_ = self.program.learn(given)
        self.coef_, self.intercept_ = w[None, :-1], w[-1:]
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the raw predictions."""
        return np.asarray(self.program.rows(X) @ self.coef_[0] + self.intercept_[0])

    def score(self, X: Any, y: FloatArray) -> float:
        """Return the share of the labels that are predicted correctly."""
        return float(np.mean((self.decision_function(X) > 0) == (np.asarray(y) == 1)))
