"""The compared learners, the input of each library, and the way to run its fits."""

from __future__ import annotations

import functools
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import rivals
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import privfit
from comparison import measures
from comparison.tables import CLASSES, NAMES, NUMBERS, SEED, TWO_CLASSES, Table

DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0, 4.0)
SPLITS = 5
TIMEOUT = 1200.0
# batch size and learning rate; a tenth of the rate for numbers, because the squared loss curves more
FIXED = (256, 2.0)
GRID = ((1024, 0.5), (1024, 2.0), (1024, 8.0), (1024, 32.0))  # and the fixed setting


@dataclass(frozen=True)
class Learner:
    """A way to predict a target, with or without privacy.

    Parameters
    ----------
    name
        The name in the file of rows.
    rival
        For each kind of target that it supports, the rival's learner. Empty for learners that run in this
        interpreter.
    matrix
        Whether it takes indicators of categories and scaled numbers, or columns as they are.
    epsilons
        The epsilons of its fits; none for learners without privacy.
    tables
        The tables that it is run on.
    splits
        The number of splits that it is run on.
    settings
        The names and values of settings that it is run with.
    """

    name: str
    rival: Mapping[str, str] = field(default_factory=dict)
    matrix: bool = True
    epsilons: tuple[float, ...] = EPSILONS
    tables: tuple[str, ...] = NAMES
    splits: int = SPLITS
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"": {}})

    def takes(self, kind: str) -> bool:
        """Return whether it fits targets of this kind."""
        return not self.rival or kind in self.rival

    def version(self) -> str:
        """Return the version of the library; for privfit, the commit."""
        if self.rival:
            name = next(iter(self.rival.values())).partition("/")[0]
            package = {"interpret": "interpret-core", "smartnoise": "smartnoise-synth"}.get(name, name)
            pins = rivals.Environment(name).requirements.read_text().splitlines()
            return next(pin for pin in pins if pin.startswith(f"{package}==")).replace("==", " ")
        if self.name.startswith("without privacy"):
            import sklearn

            return f"scikit-learn {sklearn.__version__}"
        # the last commit that changed the library
        command = ["git", "log", "-1", "--format=%h", "--abbrev=9", "--", "src"]
        root = Path(__file__).parents[2]
        commit = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip()
        return f"privfit {privfit.__version__} {commit}".strip()


def _dp_sgd(*pairs: tuple[int, float]) -> dict[str, dict[str, Any]]:
    return {f"batch {b}, rate {r:g}": {"batch_size": b, "learning_rate": r} for b, r in pairs}


OURS, CURVES = "privfit", "privfit, curves"
LOGISTIC, EBM = "without privacy", "without privacy, EBM"
OPACUS = {TWO_CLASSES: "opacus/logistic", CLASSES: "opacus/softmax", NUMBERS: "opacus/linear"}
LEARNERS = (
    Learner(OURS),
    Learner(CURVES),
    Learner("DP-EBM", {TWO_CLASSES: "interpret/classifier", NUMBERS: "interpret/regressor"}, matrix=False),
    Learner(
        "diffprivlib",
        {
            TWO_CLASSES: "diffprivlib/logistic",
            CLASSES: "diffprivlib/logistic",
            NUMBERS: "diffprivlib/linear",
        },
    ),
    Learner("Opacus", OPACUS, settings=_dp_sgd(FIXED)),
    Learner("Opacus, grid", OPACUS, splits=2, settings=_dp_sgd(*GRID)),
    Learner(
        "MST",
        {TWO_CLASSES: "smartnoise/mst"},
        matrix=False,
        epsilons=(1.0,),
        tables=("adult", "bank", "compas"),
        splits=1,
    ),
    Learner(LOGISTIC, epsilons=()),
    Learner(
        EBM,
        {
            TWO_CLASSES: "interpret/open_classifier",
            CLASSES: "interpret/open_classifier",
            NUMBERS: "interpret/open_regressor",
        },
        matrix=False,
        epsilons=(),
        splits=1,
        settings={"2 bags": {"outer_bags": 2}},  # of 14 by default, to save time
    ),
)

Fit = Callable[[float, str, int], dict[str, float]]


@contextmanager
def fits(learner: Learner, table: Table) -> Iterator[Fit]:
    """Yield a function of epsilon, setting and split that fits a table and returns its scores."""
    if learner.rival:
        with rivals.Session(learner.rival[table.kind]) as session:
            yield functools.partial(_fit_rival, learner, session, table)
    else:
        _predict_here(learner, table, 1.0, 0)  # compiles what is compiled at first use
        yield functools.partial(_fit_here, learner, table)


def _measured(table: Table, new: np.ndarray, predictions: Any, probabilities: Any) -> dict[str, float]:
    if table.target_bounds is not None:
        return measures.of_numbers(table.y[new], predictions, table.target_bounds)
    return measures.of_classes(table.y[new], probabilities)


def _fit_rival(
    learner: Learner, session: rivals.Session, table: Table, epsilon: float, setting: str, split: int
) -> dict[str, float]:
    train, new = table.split(split)
    X = table.matrix if learner.matrix else table.columns
    if table.kind == NUMBERS and learner.name == "diffprivlib":
        X = X[:, table.independent]  # with noise, least squares of dependent columns has no minimum
    settings = dict(learner.settings[setting])
    if table.kind == NUMBERS and "learning_rate" in settings:
        settings["learning_rate"] /= 10.0
    job = rivals.Job(
        X_train=X[train],
        y_train=table.y[train],
        X_new=X[new],
        epsilon=epsilon if learner.epsilons else 1.0,
        delta=DELTA,
        feature_bounds=(0.0, 1.0) if learner.matrix else (table.low, table.high),
        n_classes=table.n_classes,
        target_bounds=table.target_bounds,
        row_norm=table.row_norm if learner.matrix else None,
        nominal=() if learner.matrix else table.nominal,
        settings=settings,
        seed=SEED + split,
    )
    answer = session.fit(job, timeout=TIMEOUT)
    return _measured(table, new, answer.predictions, answer.probabilities) | {"seconds": answer.seconds}


def _predict_here(learner: Learner, table: Table, epsilon: float, split: int) -> tuple[Any, Any]:
    train, new = table.split(split)
    if learner.name == LOGISTIC:
        plain = LinearRegression() if table.kind == NUMBERS else LogisticRegression(max_iter=1000)
        model = make_pipeline(StandardScaler(), plain).fit(table.matrix[train], table.y[train])
        rows = table.matrix[new]
    else:
        estimator = privfit.DPLinearRegression if table.kind == NUMBERS else privfit.DPLogisticRegression
        settings = {"curves": True} if learner.name == CURVES else {}
        frame = {name: column[train] for name, column in table.frame.items()}
        rows = {name: column[new] for name, column in table.frame.items()}
        labels = (
            table.y[train] if table.kind == NUMBERS else np.array(table.schema.label.classes)[table.y[train]]
        )
        model = estimator(
            epsilon,
            DELTA,
            schema=table.schema,
            n_records=len(train),
            noise="seeded",
            random_state=SEED + split,
            **settings,
        ).fit(frame, labels)
    if table.kind == NUMBERS:
        return model.predict(rows), None
    return None, model.predict_proba(rows)


def _fit_here(learner: Learner, table: Table, epsilon: float, setting: str, split: int) -> dict[str, float]:
    warnings.simplefilter("ignore")
    started = time.process_time()
    predictions, probabilities = _predict_here(learner, table, epsilon, split)
    seconds = time.process_time() - started
    return _measured(table, table.split(split)[1], predictions, probabilities) | {"seconds": seconds}
