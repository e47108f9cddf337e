"""The number of people that a model needs: the smallest table with a sufficient forecast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from privfit.planning.assumptions import Assumptions
from privfit.planning.forecast import Progress
from privfit.planning.scene import REFERENCE, Scene
from privfit.planning.targets import Numbers
from privfit.schema import Schema

FEWEST_PEOPLE = 100
# the largest number of cells of a tried table; five fits take about a minute on two cores
MOST_TRIED_CELLS = 50_000_000
STEPS_PER_DOUBLING = 2  # forecasts for tables that differ by less than a step are equal within their errors
STRIDE = 2 * STEPS_PER_DOUBLING  # steps from one table to the next while the size increases


@dataclass(frozen=True)
class PeopleNeeded:
    """The number of people that are needed, and the forecasts behind it.

    Attributes
    ----------
    n : int or None
        The smallest number tried that was sufficient; None if none was.
    epsilon : float
        The privacy budget.
    accuracy, r2 : float or None
        The wanted accuracy, or R² for a model of numbers, on people whom the model has not seen.
    tried : tuple of (int, float)
        The numbers of people that were simulated, with the mean accuracy, or R², of each.
    """

    n: int | None
    epsilon: float
    accuracy: float | None
    tried: tuple[tuple[int, float], ...]
    r2: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain numbers, fit for JSON.

        Returns
        -------
        answer : dict
            The attributes by name.
        """
        return {
            "n": self.n,
            "epsilon": self.epsilon,
            "accuracy": self.accuracy,
            "r2": self.r2,
            "tried": [list(pair) for pair in self.tried],
        }

    def __str__(self) -> str:
        tried = ", ".join(f"{n:,} gave {score:.3f}" for n, score in self.tried)
        answer = (
            f"More than {max(n for n, _ in self.tried):,} people"
            if self.n is None
            else f"About {self.n:,} people"
        )
        wanted = f"an R² of {self.r2:.3f}" if self.accuracy is None else f"an accuracy of {self.accuracy:.3f}"
        return f"{answer} for {wanted} with epsilon = {self.epsilon:g} (simulated: {tried})."


def people_needed(
    n_features: int | None = None,
    *,
    accuracy: float | None = None,
    wanted_r2: float | None = None,
    epsilon: float = 1.0,
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
) -> PeopleNeeded:
    """Find how many people a private model needs to reach an accuracy, or an R².

    Tables of up to 50 million cells are tried, such as 5 million people with 10 features.

    Parameters
    ----------
    n_features : int
        Number of encoded columns; not needed with a schema.
    accuracy : float, optional
        The wanted accuracy of a model of classes, on people whom the model has not seen.
    wanted_r2 : float, optional
        The wanted R² of a model of numbers, which has to be below `r2`.
    epsilon, delta : float
        The promise.
    positives, auc, model, runs, seed, classes, r2, rows_per_person, curves, schema
        The same as in `plan`. The AUC, or the R², without privacy is that of a model of 20,000 people.
    progress : callable, optional
        Called as progress(done, total) after each fit; `total` is the largest number that may still be
        needed; it falls during the search.

    Returns
    -------
    answer : PeopleNeeded
        Print it, or see its attribute `n`.
    """
    if wanted_r2 is not None and r2 is None and model is None and schema is None:
        model = "linear"
    assumed = Assumptions.of(
        None,
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
    of_numbers = isinstance(assumed.target, Numbers)
    score = wanted_r2 if of_numbers else accuracy
    if score is None or (accuracy is not None and wanted_r2 is not None):
        needed = "wanted_r2, of a model of numbers" if of_numbers else "accuracy, of a model of classes"
        raise ValueError(f"Give exactly one aim: {needed}.")
    cells_per_person = assumed.n_features * assumed.rows_per_person
    reference = min(MOST_TRIED_CELLS // cells_per_person, REFERENCE)
    scene = Scene.of(assumed, reference)
    best = scene.reference(reference)
    if not 0.0 < score < best:
        if of_numbers:
            raise ValueError(
                f"An R² of {score:g} is out of reach: the same model without privacy has {best:.3f}; ask for "
                "less, or assume a larger r2."
            )
        raise ValueError(
            f"An accuracy of {score:g} is out of reach: with AUC {assumed.target.assumed:g} and "
            f"{scene.constant:.0%} of the commonest label the same model without privacy is right about "
            f"{best:.3f}; ask for less, or assume a larger auc."
        )
    doublings = math.log2(MOST_TRIED_CELLS / cells_per_person / FEWEST_PEOPLE)
    sizes = [
        int(round(FEWEST_PEOPLE * 2.0 ** (k / STEPS_PER_DOUBLING), -1))
        for k in range(int(doublings * STEPS_PER_DOUBLING) + 1)
    ]
    tried: dict[int, float] = {}
    fits = 0

    def enough(k: int, further: int) -> bool:
        """Return whether a table of this size is enough; at most so many others will be tried after it."""

        def tick() -> None:
            nonlocal fits
            fits += 1
            if progress is not None:
                progress(fits, runs * (len(tried) + 1 + further))

        tried[sizes[k]] = scene.mean_score(sizes[k], epsilon, tick)
        return tried[sizes[k]] >= score

    # first increase the size in large strides, because large tables take longest; then bisect
    low, high = -1, 0
    halvings = STRIDE.bit_length() - 1
    while not enough(high, math.ceil((len(sizes) - 1 - high) / STRIDE) + halvings):
        low, high = high, min(high + STRIDE, len(sizes) - 1)
        if low == high:
            return PeopleNeeded(None, epsilon, accuracy, tuple(sorted(tried.items())), wanted_r2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle, (high - low) // 2 - 1) else (middle, high)
    return PeopleNeeded(sizes[high], epsilon, accuracy, tuple(sorted(tried.items())), wanted_r2)
