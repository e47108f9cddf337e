"""Fit a rival's model in the rival's own interpreter; files pass arrays and settings, and the results."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from rivals.environments import Environment, environment_of

WORKER = Path(__file__).with_name("worker.py")
SECONDS_BETWEEN_LOOKS = 0.01  # between two checks for an answer


class RivalFailed(RuntimeError):
    """A rival could not fit a table; the message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """The input of a rival: the table, and the public facts that it may use.

    Parameters
    ----------
    X_train, y_train
        The private table. Labels of K classes are the integers 0 to K - 1; targets of a regression are
        numbers.
    X_new
        The rows to predict.
    epsilon, delta
        The privacy budget.
    feature_bounds
        The declared lowest and highest value, of all columns or of each.
    n_classes
        The number of classes, or None for a regression.
    target_bounds
        The declared lowest and highest target of a regression.
    row_norm
        The largest Euclidean norm of a row, if it is known to be smaller than the bounds allow.
    nominal
        The columns whose numbers are codes of categories.
    settings
        Settings of the learner that differ from its defaults.
    seed
        Seeds the rival's noise, so that a benchmark can be repeated.
    """

    X_train: Any
    y_train: Any
    X_new: Any
    epsilon: float
    delta: float
    feature_bounds: tuple[Any, Any]
    n_classes: int | None = None
    target_bounds: tuple[float, float] | None = None
    row_norm: float | None = None
    nominal: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        if sp.issparse(self.X_train) or sp.issparse(self.X_new):
            raise ValueError("Rivals take dense tables; pass X.toarray()")
        if (self.n_classes is None) == (self.target_bounds is None):
            raise ValueError("Declare either n_classes or target_bounds")

    def write(self, folder: Path, learner: str) -> None:
        """Write `job.npz` and `job.json`, which worker.py reads."""
        columns = np.shape(self.X_train)[1]
        low, high = (np.broadcast_to(np.asarray(b, float), columns) for b in self.feature_bounds)
        np.savez(
            folder / "job.npz",
            X_train=np.asarray(self.X_train, float),
            y_train=np.asarray(self.y_train, float if self.n_classes is None else int),
            X_new=np.asarray(self.X_new, float),
            low=low,
            high=high,
        )
        settings = {
            "learner": learner,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "n_classes": self.n_classes,
            "target_bounds": self.target_bounds,
            "row_norm": self.row_norm,
            "nominal": list(self.nominal),
            "settings": dict(self.settings),
            "seed": self.seed,
        }
        (folder / "job.json").write_text(json.dumps(settings))


@dataclass(frozen=True)
class Answer:
    """The predictions of a rival.

    Parameters
    ----------
    predictions
        The class or the number of every row of `X_new`.
    probabilities
        Of every class, in the order of the classes; None for a regression.
    seconds
        Seconds of processor time of the fit and the predictions, without imports.
    """

    predictions: np.ndarray
    probabilities: np.ndarray | None
    seconds: float


def missing(learner: str) -> str | None:
    """Return why a learner such as "diffprivlib/logistic" cannot be run here, or None if it can."""
    return environment_of(learner).missing()


class Session:
    """A rival's interpreter that fits one job after another, so that it is started once for many.

    Parameters
    ----------
    learner
        The rival and its learner, such as "opacus/linear".
    environment
        The rival's environment, if it is not the one that `make rivals` makes.

    Raises
    ------
    RivalFailed
        If the rival is not set up.
    """

    def __init__(self, learner: str, *, environment: Environment | None = None) -> None:
        self.learner = learner
        self.environment = environment or environment_of(learner)
        if reason := self.environment.missing():
            raise RivalFailed(reason)

    def __enter__(self) -> Self:
        self._errors = tempfile.TemporaryFile("w+")
        # isolated, because with PYTHONPATH privfit's packages would be found before the rival's
        self._process = subprocess.Popen(
            [self.environment.python, "-I", WORKER, self.environment.learners],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def fit(self, job: Job, *, timeout: float = 600.0) -> Answer:
        """Fit a job, and return what the rival predicts.

        Parameters
        ----------
        job
            The table, the budget and the public facts.
        timeout
            Seconds after which the rival is stopped, and the session is over.

        Returns
        -------
        Answer
            The predictions.

        Raises
        ------
        RivalFailed
            If the rival takes too long, fails, or gives an invalid answer.
        """
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            job.write(folder, self.learner.partition("/")[2])
            try:
                print(folder, file=self._process.stdin, flush=True)
            except BrokenPipeError:
                self._process.wait()
            deadline = time.monotonic() + timeout
            while not (folder / "answer.json").exists():
                if (code := self._process.poll()) is not None:
                    raise RivalFailed(f"{self.learner} ended with exit code {code}: {self._last_words()}")
                if time.monotonic() > deadline:
                    self._process.kill()
                    raise RivalFailed(f"{self.learner} was stopped after {timeout:g} seconds")
                time.sleep(SECONDS_BETWEEN_LOOKS)
            told = json.loads((folder / "answer.json").read_text())
            if "error" in told:
                raise RivalFailed(f"{self.learner} failed: {told['error']}")
            with np.load(folder / "answer.npz") as arrays:
                answer = Answer(arrays["predictions"], arrays.get("probabilities"), told["seconds"])
        _check(self.learner, job, answer)
        return answer

    def _last_words(self) -> str:
        self._errors.seek(0)
        return (self._errors.read().strip().splitlines() or ["it said nothing"])[-1]


def fit(learner: str, job: Job, *, environment: Environment | None = None, timeout: float = 600.0) -> Answer:
    """Fit one job in a session of its own; see `Session`."""
    with Session(learner, environment=environment) as session:
        return session.fit(job, timeout=timeout)


def _check(learner: str, job: Job, answer: Answer) -> None:
    rows = np.shape(job.X_new)[0]
    expected = {"predictions": (answer.predictions, (rows,))}
    if job.n_classes is not None:
        expected["probabilities"] = (answer.probabilities, (rows, job.n_classes))
    for what, (found, shape) in expected.items():
        if found is None or found.shape != shape:
            raise RivalFailed(f"{learner} answered no {what} of shape {shape}")
        if not np.isfinite(found).all():
            raise RivalFailed(f"{learner} answered {what} that are not finite")
