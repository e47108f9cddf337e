"""How many people a model needs: the smallest table on which the forecast is good enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from privfit.planning.forecast import Progress, Scene

FEWEST = 100
LARGEST = 50_000_000  # cells of a table that is tried: five fits of it take about a minute on two cores
REFERENCE = 20_000  # people whom the model without privacy learns from: more of them hardly help it
STEPS_PER_DOUBLING = 2  # forecasts of tables closer in size than this cannot be told apart
STRIDE = 2 * STEPS_PER_DOUBLING  # steps from one table to the next on the way up


@dataclass(frozen=True)
class PeopleNeeded:
    """How many people it takes, and the forecasts that say so.

    Attributes
    ----------
    n : int or None
        The smallest number tried that was enough; None if none was.
    epsilon, accuracy : float
        What was asked for: this accuracy on people whom the model has not seen.
    tried : tuple of (int, float)
        Numbers of people that were simulated, with the mean accuracy that they gave.
    """

    n: int | None
    epsilon: float
    accuracy: float
    tried: tuple[tuple[int, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain numbers, fit for JSON.

        Returns
        -------
        answer : dict
            Of the attributes.
        """
        return {
            "n": self.n,
            "epsilon": self.epsilon,
            "accuracy": self.accuracy,
            "tried": [list(pair) for pair in self.tried],
        }

    def __str__(self) -> str:
        tried = ", ".join(f"{n:,} gave {accuracy:.3f}" for n, accuracy in self.tried)
        answer = (
            f"More than {max(n for n, _ in self.tried):,} people"
            if self.n is None
            else f"About {self.n:,} people"
        )
        return (
            f"{answer} for an accuracy of {self.accuracy:.3f} with epsilon = {self.epsilon:g} "
            f"(simulated: {tried})."
        )


def people_needed(
    n_features: int,
    *,
    accuracy: float,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    positives: float = 0.5,
    auc: float = 0.8,
    model: str = "logistic",
    runs: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
) -> PeopleNeeded:
    """Find how many people a private model needs to be right about so many of them.

    Tables of up to 50 million cells are tried, so of 5 million people with 10 features.

    Parameters
    ----------
    n_features : int
        Number of encoded columns.
    accuracy : float
        What is wanted, on people whom the model has not seen.
    epsilon, delta : float
        The promise.
    positives, auc, model, runs, seed
        As in `plan`.
    progress : callable, optional
        Called as progress(done, total) after each fit; `total` is the most that may still be needed, and
        falls as the search goes on.

    Returns
    -------
    answer : PeopleNeeded
        Print it, or see its attribute `n`.
    """
    scene = Scene.of(n_features, delta=delta, positives=positives, auc=auc, model=model, runs=runs, seed=seed)
    best = scene.reference(min(LARGEST // n_features, REFERENCE))
    if not 0.0 < accuracy < best:
        raise ValueError(
            f"An accuracy of {accuracy:g} is out of reach: with AUC {auc:g} and {positives:.0%} positive the "
            f"same model without privacy is right about {best:.3f}; ask for less, or assume a larger auc."
        )
    doublings = math.log2(LARGEST / n_features / FEWEST)
    sizes = [
        int(round(FEWEST * 2.0 ** (k / STEPS_PER_DOUBLING), -1))
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

        tried[sizes[k]] = scene.mean_accuracy(sizes[k], epsilon, tick)
        return tried[sizes[k]] >= accuracy

    # Upwards in large strides, because large tables take longest; then halve what is left.
    low, high = -1, 0
    halvings = STRIDE.bit_length() - 1
    while not enough(high, math.ceil((len(sizes) - 1 - high) / STRIDE) + halvings):
        low, high = high, min(high + STRIDE, len(sizes) - 1)
        if low == high:
            return PeopleNeeded(None, epsilon, accuracy, tuple(sorted(tried.items())))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle, (high - low) // 2 - 1) else (middle, high)
    return PeopleNeeded(sizes[high], epsilon, accuracy, tuple(sorted(tried.items())))
