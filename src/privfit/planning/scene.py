"""A simulated population: models are trained on some people and tested on others."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.models.registry import MODELS
from privfit.planning.assumptions import Assumptions
from privfit.planning.population import Population, Table
from privfit.planning.targets import Classes
from privfit.schema import Label, NumberLabel, Numeric, Schema

# number of test people, and the largest number of cells of their table
TESTED_ON, MOST_TESTED = 20_000, 40_000_000
# The number of people on whom the model without privacy is trained, and the largest number of cells of their
# table. More people hardly improve the model.
REFERENCE, MOST_REFERRED = 20_000, 20_000_000
FIRST_STRENGTH, WEAKEST, STRONGEST = 2.0, 0.01, 1000.0  # of the dependence between targets and columns
HALVINGS = 5  # bisection steps for the strength, from an interval of a factor of two

Quiet = Callable[[], None]


@dataclass(frozen=True)
class Scene:
    """Trains models on some simulated people and tests them on others.

    Parameters
    ----------
    assumed : Assumptions
        The assumptions about the table.
    population : Population
        The population of simulated people.
    strength : float
        The strength of the dependence of targets on features.
    tests : pair
        Features and targets of the test people.
    """

    assumed: Assumptions
    population: Population
    strength: float
    tests: tuple[Any, NDArray[Any]]

    @classmethod
    def of(cls, assumed: Assumptions, n: int) -> Scene:
        """Return a scene in which the model without privacy, trained on n people, is as good as assumed.

        The assumption is about a fitted model, not about the best possible rule, which is better if there are
        few people and many columns. So the strength of the dependence is increased until the model is as good
        as assumed.
        """
        rng = np.random.default_rng([assumed.seed, assumed.n_features])
        target = assumed.target
        population = Population.of(
            assumed.n_features,
            rng,
            numbers=assumed.numbers,
            shares=target.shares if isinstance(target, Classes) else (),
            bent=bool(assumed.curves),
        )
        tested = max(min(TESTED_ON, MOST_TESTED // assumed.n_features), 1_000)
        learners = max(min(n, REFERENCE, MOST_REFERRED // (assumed.n_features * assumed.rows_per_person)), 10)

        def at(strength: float) -> Scene:
            features, y = target.draw(population, strength, tested, np.random.default_rng([assumed.seed, 1]))
            return cls(assumed, population, strength, (population.shown(features), y))

        def is_enough(strength: float) -> bool:
            scene = at(strength)
            return scene.quality(scene.reference_model(learners)) >= target.assumed

        low = high = FIRST_STRENGTH
        if is_enough(high):
            while low > WEAKEST and is_enough(low):
                low, high = 0.5 * low, low
        else:
            while high < STRONGEST and not is_enough(high):
                low, high = high, 2.0 * high
        for _ in range(HALVINGS):
            middle = (low * high) ** 0.5
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return at(high)

    @property
    def constant(self) -> float:
        """The score of a constant on the test people."""
        return self.assumed.target.constant(self.tests[1])

    def quality(self, fitted: Any) -> float:
        """Return the score of a fitted model that the assumption is about."""
        return self.assumed.target.quality(fitted, self._shown(self.tests[0]), self.tests[1])

    def scores_of(self, fitted: Any) -> dict[str, float]:
        """Return all scores of a fitted model."""
        return self.assumed.target.scores_of(fitted, self._shown(self.tests[0]), self.tests[1])

    def score_of(self, fitted: Any) -> float:
        """Return the score that forecasts are about."""
        return self.scores_of(fitted)[self.assumed.target.score]

    def reference(self, n: int) -> float:
        """Return the score of the model without privacy, trained on n people."""
        return self.score_of(self.reference_model(n))

    def reference_model(self, n: int) -> Any:
        """Fit the model without privacy to n people, with scikit-learn's default regularisation."""
        return self._fit(n, 0, solver="nonprivate", alpha=1.0 / n)

    def warm_up(self) -> None:
        """Fit once with secure noise, so that the time of compiling is not part of the measured time."""
        self._fit(1_000, 0)

    def scores(self, n: int, epsilon: float, tick: Quiet) -> list[dict[str, float]]:
        """Return the scores of `runs` private fits, each to other people."""
        found = []
        for run in range(self.assumed.runs):
            seed = self.assumed.seed + run
            found.append(
                self.scores_of(self._fit(n, run, epsilon=epsilon, noise="seeded", random_state=seed))
            )
            tick()
        return found

    def seconds(self, n: int, epsilon: float) -> float:
        """Return the time of a fit with secure noise, including the simulation of its people."""
        started = time.perf_counter()
        self._fit(n, 0, epsilon=epsilon)
        return time.perf_counter() - started

    def mean_score(self, n: int, epsilon: float, tick: Quiet) -> float:
        """Return the mean score of `runs` private fits."""
        return float(np.mean([found[self.assumed.target.score] for found in self.scores(n, epsilon, tick)]))

    def _fit(self, n: int, run: int, **settings: Any) -> Any:
        assumed, rows = self.assumed, self.assumed.rows_per_person
        rng = np.random.default_rng([assumed.seed, run, n])
        features, y = assumed.target.draw(self.population, self.strength, n, rng, rows)
        declared: dict[str, Any] = {"delta": assumed.delta, "n_records": n} | assumed.target.settings
        given: dict[str, Any] = {}
        if rows > 1:
            del declared["n_records"]  # the fit buys it
            declared["rows_per_person"], given["groups"] = rows, np.repeat(np.arange(n), rows)
        if self._schema is None:
            declared["feature_bounds"] = (0.0, 1.0)
        else:
            declared = declared | {"schema": self._schema, "curves": assumed.curves}
            declared.pop("classes", None)
            declared.pop("target_bounds", None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about people's data, but these people are simulated
            estimator = MODELS[assumed.model].estimator(**declared, **settings)
            return estimator.fit(self._shown(self.population.shown(features)), y, **given)

    @property
    def _schema(self) -> Schema | None:
        """The schema of the columns, which may have curves; None without curves."""
        if not self.assumed.curves:
            return None
        columns = [
            Numeric(str(j), 0, 1, curve=None if number else False)
            for j, number in enumerate(self.population.is_number)
        ]
        target = self.assumed.target
        if isinstance(target, Classes):
            return Schema(columns, Label("target", list(target.settings["classes"])))
        return Schema(columns, NumberLabel("target", *target.settings["target_bounds"]))

    def _shown(self, features: Table) -> Any:
        """Return the features in the form that a fit takes: by name if there is a schema."""
        if self._schema is None:
            return features
        return {str(j): column for j, column in enumerate(features.T)}
