"""What is run: every experiment of the paper as a list of cells, each one fit on one fold."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

SEED = 20180823
FOLDS = 5
FULL_REPEATS = 20

DATASETS = {
    "adult": "Adult",
    "bank": "BANK",
    "ipums-us": "IPUMS-US",
    "ipums-br": "IPUMS-BR",
    "kddcup99": "KDDCup99",
}
MODELS = {"logistic": "logistic regression", "hinge": "SVM"}

FAULTY = "dpagd-faulty-NOT-PRIVATE"
REFERENCES = {"nonprivate": "NonPrivate", "majority": "Majority"}  # they know no epsilon
ALGORITHMS = {
    "adaptive": "privfit's default (adaptive)",
    "gradient-descent": "noisy gradient descent",
    "dpagd": "DP-AGD",
    "dpagd-capped": "DP-AGD, steps up to 2",
    FAULTY: "DP-AGD, authors' selection: NOT PRIVATE",
    "objective-perturbation": "ObjPert",
    "approximate-minima-perturbation": "ObjPert, approximate minima",
    "output-perturbation": "OutPert",
    "privgene": "PrivGene",
    "sgd-adv": "SGD-Adv",
    "sgd-ma": "SGD-MA",
    "sgd-pld": "SGD, PLD accountant",
    **REFERENCES,
}
# Under which name an algorithm's noise is drawn, because its first rows were made under that one.
_NOISE_NAMES = {"sgd-pld": "sgd-ma", "sgd-ma": "sgd-rdp"}
EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


class Cell(NamedTuple):
    """One fit: which algorithm learns which task with which settings from which fold.

    `epsilon` is infinite for references without privacy. `value` is that of the parameter the experiment
    varies, or None if it varies epsilon alone.
    """

    experiment: str
    dataset: str
    loss: str
    algorithm: str
    epsilon: float
    value: float | None
    repetition: int
    fold: int

    @property
    def delta(self) -> float:
        """The paper's delta for this data set."""
        return 1e-12 if self.dataset == "kddcup99" else 1e-8

    def rng(self, seed: int) -> np.random.Generator:
        """Return the cell's own stream of noise, whatever else is run, when and where."""
        name = _NOISE_NAMES.get(self.algorithm, self.algorithm)
        return stream(seed, *self._replace(algorithm=name))


def fold_rows(n: int, dataset: str, repetition: int, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and those to test on, the same for all algorithms."""
    shuffled = stream(seed, "folds", dataset, repetition).permutation(n)
    parts = np.array_split(shuffled, FOLDS)
    return np.concatenate(parts[:fold] + parts[fold + 1 :]), parts[fold]


def stream(seed: int, *key: object) -> np.random.Generator:
    """Return random numbers that depend on the seed and on what they are for, and on nothing else."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:16], "big")])


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A figure of the paper: panels, what its curves are, and what varies along them.

    Without a `parameter`, a curve is an algorithm and runs over epsilon. With one, a curve is an algorithm at
    an epsilon and runs over the parameter's `values`; `parameter` is the field of the DP-AGD solver that is
    set to them.
    """

    name: str
    title: str
    tasks: tuple[tuple[str, str], ...]
    algorithms: tuple[str, ...] = tuple(ALGORITHMS)
    epsilons: tuple[float, ...] = EPSILONS
    parameter: str | None = None
    values: tuple[float, ...] = ()

    def cells(self, repeats: int) -> Iterator[Cell]:
        """List the cells, repetition by repetition, those that share a fold together."""
        for repetition in range(repeats):
            for dataset in dict.fromkeys(dataset for dataset, _ in self.tasks):
                for fold in range(FOLDS):
                    for loss in (loss for name, loss in self.tasks if name == dataset):
                        for algorithm, epsilon, value in self._settings():
                            yield Cell(self.name, dataset, loss, algorithm, epsilon, value, repetition, fold)

    def _settings(self) -> Iterator[tuple[str, float, float | None]]:
        for algorithm in self.algorithms:
            for epsilon in (math.inf,) if algorithm in REFERENCES else self.epsilons:
                for value in self.values or (None,):
                    yield algorithm, epsilon, value


def _comparison(name: str, title: str, *tasks: tuple[str, str]) -> Experiment:
    return Experiment(name=name, title=title, tasks=tasks)


def _effect(name: str, parameter: str, *values: float) -> Experiment:
    return Experiment(
        name=name,
        title=f"Effect of {parameter} on DP-AGD: logistic regression, Adult",
        tasks=(("adult", "logistic"),),
        algorithms=("dpagd", "dpagd-capped"),
        epsilons=(0.1, 0.2, 0.4, 0.8),
        parameter=parameter,
        values=tuple(map(float, values)),
    )


_FOUR = ("adult", "bank", "ipums-us", "ipums-br")
EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        _effect("splits", "splits", 20, 40, 60, 80, 100, 120),
        _effect("gamma", "gamma", 0.1, 0.2, 0.3, 0.4, 0.5),
        _effect("c-grad", "C_grad", 1, 2, 4, 8, 16),
        _effect("c-obj", "C_obj", 1, 2, 4, 8, 16),
        _comparison("logistic", "Logistic regression", *((name, "logistic") for name in _FOUR)),
        _comparison("svm", "Linear SVM", *((name, "hinge") for name in _FOUR)),
        _comparison("kddcup99", "KDDCup99", ("kddcup99", "logistic"), ("kddcup99", "hinge")),
    )
}
