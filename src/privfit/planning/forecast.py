"""What a private model of a table of a given shape will be like, found by training on invented tables."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import log_loss, roc_auc_score

import privfit.estimators  # noqa: F401  # which enters the models into the registry
from privfit.models.registry import MODELS
from privfit.planning.population import Population

TESTED_ON = 20_000  # people a simulated model is tried on: accuracy is then known to .003
CONFIDENCE = 0.9  # that the accuracy of one fit is within the range that is stated
WIDEST = 80  # characters of a line
LARGEST = 200_000_000  # cells of a table that are simulated: 800 MB

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Forecast:
    """What one epsilon gives: means over simulated fits.

    Attributes
    ----------
    epsilon, delta : float
        The promise.
    accuracy, auc, log_loss : float
        On people whom the model has not seen; `log_loss` is NaN if the model has no probabilities.
    low, high : float
        The accuracy of a single fit is between these in 90 of 100 cases, as far as this many runs can tell.
    seconds : float
        A fit with secure noise took so long on this machine.
    """

    epsilon: float
    delta: float
    accuracy: float
    low: float
    high: float
    auc: float
    log_loss: float
    seconds: float


@dataclass(frozen=True)
class Plan:
    """Forecasts for several epsilons, with what they are to be held against.

    Attributes
    ----------
    n, n_features : int
        Size of the table.
    positives, auc : float
        What was assumed of it: share of positive labels, and how well the best model tells them apart.
    model : str
        The kind of model, such as "logistic" or "svm".
    runs : int
        Simulated fits for each epsilon.
    without_privacy, majority : float
        Accuracy of the same model without privacy, and of the commoner label.
    forecasts : tuple of Forecast
        One for each epsilon, smallest first.
    """

    n: int
    n_features: int
    positives: float
    auc: float
    model: str
    runs: int
    without_privacy: float
    majority: float
    forecasts: tuple[Forecast, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain numbers, fit for JSON.

        Returns
        -------
        plan : dict
            Of the attributes; a log loss that does not exist is None.
        """
        plain = asdict(self)
        plain["forecasts"] = [
            {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in asdict(f).items()}
            for f in self.forecasts
        ]
        return plain

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table as text, its header first.

        Returns
        -------
        rows : list of tuples of str
            As many entries each.
        """
        return [
            ("epsilon", "accuracy", "one fit, 90%", "lost to privacy", "AUC", "log loss", "seconds"),
            *(
                (
                    f"{f.epsilon:g}",
                    f"{f.accuracy:.3f}",
                    f"{f.low:.3f} to {f.high:.3f}",
                    f"{self.without_privacy - f.accuracy:+.3f}",
                    f"{f.auc:.3f}",
                    "-" if math.isnan(f.log_loss) else f"{f.log_loss:.3f}",
                    f"{f.seconds:.2g}",
                )
                for f in self.forecasts
            ),
        ]

    @property
    def heading(self) -> str:
        """What was assumed, and what the forecasts are to be held against."""
        return (
            f"{self.n:,} people, {self.n_features} features, {self.positives:.0%} positive. Without privacy: "
            f"AUC about {self.auc:.2f}, accuracy {self.without_privacy:.3f}. The commoner label alone: "
            f"accuracy {self.majority:.3f}."
        )

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([fill(self.heading, WIDEST), "", *lines, "", fill(CAUTION, WIDEST)])

    def _repr_html_(self) -> str:
        head, *body = self.rows()
        cells = "".join(f"<th>{escape(c)}</th>" for c in head)
        lines = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in body)
        return (
            f"<p>{escape(self.heading)}</p><table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"
            f"<p>{escape(CAUTION)}</p>"
        )

    def plot(self, path: str | Path) -> None:
        """Draw accuracy over epsilon to a PNG, SVG or PDF file.

        Parameters
        ----------
        path : str or Path
            Its ending names the format.
        """
        from privfit.planning.drawing import draw  # imported late: matplotlib is an extra

        draw(self, Path(path))


CAUTION = (
    "Simulated on invented tables with the real solver. Yours will differ: nobody knows its AUC "
    "beforehand, and columns that are rarer or more correlated are learnt more slowly."
)


def plan(
    n: int,
    n_features: int,
    *,
    epsilons: Iterable[float] = (0.1, 0.3, 1.0, 3.0),
    delta: float = 1e-6,
    positives: float = 0.5,
    auc: float = 0.8,
    model: str = "logistic",
    runs: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Forecast what private models of a table of this shape will be like. No data are needed or read.

    Parameters
    ----------
    n, n_features : int
        Number of people to train on, and of encoded columns.
    epsilons : iterable of float
        The budgets to compare.
    delta : float
        As in the estimators.
    positives : float
        Share of positive labels, between 0 and 1: public knowledge, or a guess.
    auc : float
        How well the best model without privacy would tell the labels apart: a guess. 0.7 is a hard problem,
        0.8 a usual one, 0.9 an easy one.
    model : {"logistic", "svm"}
        Which estimator will be used.
    runs : int
        Simulated fits for each epsilon, each on other people and with other noise.
    seed : int
        The same seed gives the same forecasts, times aside.
    progress : callable, optional
        Called as progress(done, total) after each fit.

    Returns
    -------
    plan : Plan
        Print it, or see its attributes.
    """
    scene = Scene.of(n_features, delta=delta, positives=positives, auc=auc, model=model, runs=runs, seed=seed)
    scene.check_size(n)
    epsilons = sorted({_positive("epsilons", e) for e in epsilons})
    if not epsilons:
        raise ValueError("epsilons must name at least one epsilon, epsilons=(1.0,) for example.")
    done, total = 0, len(epsilons) * (runs + 1) + 1

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    without = scene.reference(n)
    scene.warm_up()
    tick()
    forecasts = tuple(scene.forecast(n, epsilon, tick) for epsilon in epsilons)
    share = float(scene.tests[1].mean())
    return Plan(n, n_features, positives, auc, model, runs, without, max(share, 1.0 - share), forecasts)


@dataclass(frozen=True)
class Scene:
    """A population with people to test on, and how models are fitted to others of it."""

    population: Population
    tests: tuple[Any, Any]
    delta: float
    model: str
    runs: int
    seed: int

    @classmethod
    def of(
        cls,
        n_features: int,
        *,
        delta: float,
        positives: float,
        auc: float,
        model: str,
        runs: int,
        seed: int,
    ) -> Scene:
        """Check the assumptions and set the scene."""
        _whole("n_features", n_features, 1)
        _whole("runs", runs, 2)
        _share("positives", positives, 0.0)
        _share("auc", auc, 0.5)
        _positive("delta", delta)
        known = [k for k, one in MODELS.items() if one.link.predicts_classes and not one.needs_loss]
        if model not in known:
            raise ValueError(
                f"Plans are for models of two classes: model must be {' or '.join(map(repr, known))}, got "
                f"{model!r}."
            )
        rng = np.random.default_rng([seed, n_features])
        population = Population.of(n_features, positives, auc, rng)
        return cls(population, population.draw(TESTED_ON, rng), delta, model, runs, seed)

    def check_size(self, n: int) -> None:
        """Refuse a number of people that cannot be simulated."""
        _whole("n", n, 10)
        p = len(self.population.weights)
        if n * p > LARGEST:
            raise ValueError(
                f"{n:,} x {p} cells are too many to simulate; plan for {LARGEST // p:,} people: with more "
                "people it only gets better."
            )

    def reference(self, n: int) -> float:
        """Return the accuracy of the same model without privacy, from as many people."""
        return self._accuracy(self._fit(n, 0, solver="nonprivate"))

    def warm_up(self) -> None:
        """Fit once with secure noise, because the first fit on a machine compiles, which is not its time."""
        self._fit(1_000, 0)

    def forecast(self, n: int, epsilon: float, tick: Callable[[], None] = lambda: None) -> Forecast:
        """Fit as often as `runs` says, and once with secure noise to see how long it takes."""
        X, y = self.tests
        scores, aucs, losses = [], [], []
        for run in range(self.runs):
            fitted = self._private(n, epsilon, run)
            scores.append(self._accuracy(fitted))
            aucs.append(float(roc_auc_score(y, fitted.decision_function(X))))
            if MODELS[self.model].link.probabilities is not None:
                losses.append(float(log_loss(y, fitted.predict_proba(X))))
            tick()
        started = time.perf_counter()
        self._fit(n, 0, epsilon=epsilon)
        seconds = time.perf_counter() - started
        tick()
        mean, sd = float(np.mean(scores)), float(np.std(scores, ddof=1))
        reach = (
            float(stats.t.ppf(0.5 + 0.5 * CONFIDENCE, self.runs - 1)) * sd * math.sqrt(1.0 + 1.0 / self.runs)
        )
        return Forecast(
            epsilon,
            self.delta,
            mean,
            max(mean - reach, 0.0),
            min(mean + reach, 1.0),
            float(np.mean(aucs)),
            float(np.mean(losses)) if losses else math.nan,
            seconds,
        )

    def mean_accuracy(self, n: int, epsilon: float, tick: Callable[[], None]) -> float:
        """Return the mean accuracy of as many fits as `runs` says."""
        scores = []
        for run in range(self.runs):
            scores.append(self._accuracy(self._private(n, epsilon, run)))
            tick()
        return float(np.mean(scores))

    def _private(self, n: int, epsilon: float, run: int) -> Any:
        return self._fit(n, run, epsilon=epsilon, noise="seeded", random_state=self.seed + run)

    def _fit(self, n: int, run: int, **settings: Any) -> Any:
        X, y = self.population.draw(n, np.random.default_rng([self.seed, run, n]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they speak of people's data, and there are none here
            return (
                MODELS[self.model]
                .estimator(
                    delta=self.delta, classes=(0, 1), n_records=n, feature_bounds=(0.0, 1.0), **settings
                )
                .fit(X, y)
            )

    def _accuracy(self, fitted: Any) -> float:
        return float(fitted.score(*self.tests))


def _whole(name: str, value: Any, least: int) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def _positive(name: str, value: Any) -> float:
    if not isinstance(value, (int, float, np.number)) or not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value!r}.")
    return float(value)


def _share(name: str, value: Any, above: float) -> None:
    if not isinstance(value, (int, float, np.number)) or not above < value < 1.0:
        raise ValueError(f"{name} must be between {above:g} and 1, got {value!r}.")
