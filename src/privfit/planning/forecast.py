"""Forecasts of private models for tables of a given shape, by training on simulated tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from os import PathLike
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from scipy import stats

from privfit.planning.assumptions import Assumptions, check_positive
from privfit.planning.scene import Scene
from privfit.planning.targets import Classes, Numbers
from privfit.schema import Schema

CONFIDENCE = 0.9  # probability that the score of one fit is within the stated range
WIDEST = 80  # characters of a line
CAUTION = (
    "Simulated tables, trained with the real solver. Your table will differ: nobody knows beforehand how "
    "well a model without privacy does, and how strongly columns are correlated."
)

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Forecast:
    """The forecast for one epsilon: means over simulated fits, on people whom the model has not seen.

    Attributes
    ----------
    epsilon, delta : float
        The promise.
    accuracy, auc, log_loss : float
        Scores of a model of classes; with several classes, the AUC is the mean of each class against the
        rest. `log_loss` is NaN if the model has no probabilities. All three are NaN for a model of numbers.
    r2, mean_absolute_error : float
        Scores of a model of numbers, with the error in units of the target's standard deviation; otherwise
        NaN.
    low, high : float
        A 90% range for the accuracy, or the R², of a single fit, estimated from this many runs.
    seconds : float
        The time of a fit with secure noise on this machine.
    """

    epsilon: float
    delta: float
    low: float
    high: float
    seconds: float
    accuracy: float = math.nan
    auc: float = math.nan
    log_loss: float = math.nan
    r2: float = math.nan
    mean_absolute_error: float = math.nan

    @property
    def score(self) -> float:
        """The accuracy, or the R² of a model of numbers."""
        return self.r2 if math.isnan(self.accuracy) else self.accuracy


@dataclass(frozen=True)
class Plan:
    """Forecasts for several epsilons, with reference scores.

    Attributes
    ----------
    n, n_features : int
        Size of the table.
    shares : tuple of float or None
        The assumed shares of the classes; None for numbers.
    auc, r2 : float or None
        The assumed AUC, or R² for a model of numbers, of the model without privacy.
    model : str
        The kind of model, such as "logistic" or "linear".
    rows_per_person : int
        The number of rows of each person.
    curves : bool or int
        Whether numbers have curves.
    runs : int
        Simulated fits for each epsilon.
    without_privacy, constant : float
        Accuracy, or R², of the same model without privacy, and of a constant: the most frequent class, or the
        mean.
    forecasts : tuple of Forecast
        One for each epsilon, smallest first.
    """

    n: int
    n_features: int
    shares: tuple[float, ...] | None
    auc: float | None
    r2: float | None
    model: str
    rows_per_person: int
    curves: bool | int
    runs: int
    without_privacy: float
    constant: float
    forecasts: tuple[Forecast, ...]

    @property
    def positives(self) -> float | None:
        """The share of positive labels, if there are two."""
        return self.shares[1] if self.shares is not None and len(self.shares) == 2 else None

    @property
    def majority(self) -> float | None:
        """The accuracy of predicting the most frequent class; None for numbers."""
        return None if self.shares is None else self.constant

    @property
    def score_name(self) -> str:
        """The name of the score in forecasts: "accuracy", or "R²" for a model of numbers."""
        return "R²" if self.shares is None else "accuracy"

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain numbers, fit for JSON.

        Returns
        -------
        plan : dict
            The attributes by name; a score that does not exist is None.
        """
        plain = asdict(self) | {"positives": self.positives, "majority": self.majority}
        plain["shares"] = None if self.shares is None else list(self.shares)
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
            Rows with the same number of entries.
        """
        names = {"auc": "AUC", "log_loss": "log loss"}
        if self.shares is None:
            names = {"mean_absolute_error": "mean error"}
        return [
            ("epsilon", self.score_name, "one fit, 90%", "lost to privacy", *names.values(), "seconds"),
            *(
                (
                    f"{f.epsilon:g}",
                    f"{f.score:.3f}",
                    f"{f.low:.3f} to {f.high:.3f}",
                    f"{self.without_privacy - f.score:+.3f}",
                    *("-" if math.isnan(v := getattr(f, name)) else f"{v:.3f}" for name in names),
                    f"{f.seconds:.2g}",
                )
                for f in self.forecasts
            ),
        ]

    @property
    def heading(self) -> str:
        """The assumptions and the reference scores, in words."""
        rows = f" with {self.rows_per_person} rows each" if self.rows_per_person > 1 else ""
        curves = ", curves" if self.curves else ""
        about = f"{self.n:,} people{rows}, {self.n_features} features{curves}"
        if self.shares is None:
            return (
                f"{about}, numbers. Without privacy: R² {self.without_privacy:.3f}. A constant alone: R² 0. "
                "The mean error is in standard deviations of the target."
            )
        labels = f"{self.positives:.0%} positive" if len(self.shares) == 2 else f"{len(self.shares)} classes"
        return (
            f"{about}, {labels}. Without privacy: AUC about {self.auc:.2f}, accuracy "
            f"{self.without_privacy:.3f}. The commonest label alone: accuracy {self.constant:.3f}."
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
        """Draw accuracy, or R², over epsilon to a PNG, SVG or PDF file.

        Parameters
        ----------
        path : str or Path
            Its ending names the format.
        """
        from privfit.planning.drawing import draw  # imported late: matplotlib is an extra

        draw(self, Path(path))


def plan(
    n: int | None = None,
    n_features: int | None = None,
    *,
    epsilons: Iterable[float] = (0.1, 0.3, 1.0, 3.0),
    delta: float = 1e-6,
    positives: float | None = None,
    auc: float | None = None,
    model: str | None = None,
    runs: int = 5,
    seed: int = 0,
    classes: int | Sequence[float] | None = None,
    r2: float | None = None,
    rows_per_person: int | None = None,
    curves: bool | int | None = None,
    schema: Schema | str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Forecast how accurate private models of a table of this shape will be. No data are needed or read.

    Parameters
    ----------
    n, n_features : int
        Number of people to train on, and of encoded columns, without the edges of curves. A schema declares
        the columns. If it also declares the number of records, n is that number divided by `rows_per_person`.
    epsilons : iterable of float
        The privacy budgets to compare.
    delta : float
        The same as in the estimators.
    positives : float, optional
        Share of positive labels, between 0 and 1, known or assumed. By default 0.5.
    auc : float, optional
        The assumed AUC of the same model without privacy, trained on as many people: 0.7 for a hard problem,
        0.8 (the default) for a typical one, 0.9 for an easy one. With several classes it is the mean of each
        class against the rest.
    model : {"logistic", "svm", "linear", "huber"}, optional
        The kind of model: by default "logistic", or "linear" for numbers.
    runs : int
        The number of simulated fits for each epsilon, each with other people and other noise.
    seed : int
        The seed. The same seed gives the same forecasts, except for times.
    classes : int or sequence of float, optional
        The number of classes, all equally frequent, or the share of each class. By default two classes.
    r2 : float, optional
        For a model of numbers: the assumed R² of the same model without privacy. By default 0.5.
    rows_per_person : int, optional
        The number of rows of each person, all of which are used; n is still the number of people.
    curves : bool or int, optional
        Whether numbers have curves, like the estimators' setting. The AUC, or the R², is then that of a model
        with curves.
    schema : Schema, str or path, optional
        The schema of the table, which declares features, label, curves, and rows per person.
    progress : callable, optional
        Called as progress(done, total) after each fit.

    Returns
    -------
    plan : Plan
        Print it, or see its attributes.
    """
    assumed = Assumptions.of(
        n,
        n_features,
        delta=delta,
        positives=positives,
        auc=auc,
        model=model,
        runs=runs,
        seed=seed,
        classes=classes,
        r2=r2,
        rows_per_person=rows_per_person,
        curves=curves,
        schema=schema,
    )
    if assumed.n is None:
        raise ValueError("Give the number of people, such as n=5000, or records in the schema.")
    n = assumed.n
    assumed.check_size(n)
    epsilons = sorted({check_positive("epsilons", e) for e in epsilons})
    if not epsilons:
        raise ValueError("epsilons must name at least one epsilon, epsilons=(1.0,) for example.")
    done, total = 0, len(epsilons) * (runs + 1) + 1

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    scene = Scene.of(assumed, n)
    without = scene.reference(n)
    scene.warm_up()
    tick()
    forecasts = tuple(_forecast(scene, n, epsilon, tick) for epsilon in epsilons)
    target = assumed.target
    return Plan(
        n,
        assumed.n_features,
        target.shares if isinstance(target, Classes) else None,
        target.auc if isinstance(target, Classes) else None,
        target.r2 if isinstance(target, Numbers) else None,
        assumed.model,
        assumed.rows_per_person,
        assumed.curves,
        runs,
        without,
        scene.constant,
        forecasts,
    )


def _forecast(scene: Scene, n: int, epsilon: float, tick: Callable[[], None]) -> Forecast:
    """Fit `runs` times, and once with secure noise to measure the time."""
    found = scene.scores(n, epsilon, tick)
    seconds = scene.seconds(n, epsilon)
    tick()
    runs, delta, name = scene.assumed.runs, scene.assumed.delta, scene.assumed.target.score
    means = {each: float(np.mean([scores[each] for scores in found])) for each in found[0]}
    sd = float(np.std([scores[name] for scores in found], ddof=1))
    half_width = float(stats.t.ppf(0.5 + 0.5 * CONFIDENCE, runs - 1)) * sd * math.sqrt(1.0 + 1.0 / runs)
    low = means[name] - half_width
    low = max(low, 0.0) if name == "accuracy" else low
    return Forecast(epsilon, delta, low, min(means[name] + half_width, 1.0), seconds, **means)
