"""Published models: everything of a fit that may be published, and nothing else."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.models.inference import Inference
from privfit.models.links import Link
from privfit.models.targets import Classes, Target, TwoLabels
from privfit.version import __version__

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# With this assumption a promise about one record is a promise about one person. Statements include it unless
# the schema declares an id column, because a person may then have several records.
ONE_RECORD_EACH = "each person has at most one record"
SEEDED = "SEEDED NOISE"  # how the assumption begins if the noise was seeded, so that it can be removed


@dataclass(frozen=True)
class Published:
    """A fitted model as plain facts, all of them released or public.

    Attributes
    ----------
    kind : str
        The kind of estimator: a key of `registry.MODELS`.
    link : Link
        How scores become predictions.
    target : Target
        What is predicted: two labels, classes, an interval or counts.
    weights : array of shape (number of scores, number of encoded columns)
        A row for each score.
    intercepts : array
        The intercept of each score; 0 if there is none.
    has_intercept : bool
        Whether a row has a 1 for the intercept, which matters if rows are scaled to norm 1.
    feature_names : tuple of str, optional
        The names of the columns in the fit, if they had names.
    columns : tuple of str, optional
        The names of the weights, if a schema encodes columns.
    bounds : pair of arrays, optional
        The bounds to which columns are clipped.
    unit_rows : bool
        Whether rows are scaled to norm 1.
    schema : dict, optional
        How a raw table becomes columns of numbers.
    steps : tuple of dict
        The released values and the price of each iteration.
    privacy : dict
        The statement: promise, assumptions, spending, words.
    versions : dict
        Versions of privfit and of the libraries it used.
    covariance : array, optional
        The covariance of the weights: row by row; the intercept, if there is one, after the weights of its
        row.
    settings : dict of str to float
        Settings of the estimator that define what is predicted, such as the quantile.
    weighting : dict
        Weights of records, if there are any: the largest weight (None if it was taken from the data), the
        shrinkage, the mean weight (None if it was bought), and the weights of classes, of which the largest
        is 1.
    inference : Inference, optional
        The released numbers for standard errors.
    evidence : dict, optional
        The facts by which an outsider can judge the promise (`privfit.estimators.evidence`).
    """

    kind: str
    link: Link
    target: Target
    weights: Matrix
    intercepts: Vector
    has_intercept: bool
    feature_names: tuple[str, ...] | None
    columns: tuple[str, ...] | None
    bounds: tuple[Vector, Vector] | None
    unit_rows: bool
    schema: dict[str, Any] | None
    steps: tuple[dict[str, Any], ...]
    privacy: dict[str, Any]
    versions: dict[str, str]
    covariance: Matrix | None = None
    settings: dict[str, float] = field(default_factory=dict)
    weighting: dict[str, Any] = field(default_factory=dict)
    inference: Inference | None = None
    evidence: dict[str, Any] | None = None

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels; none if numbers are predicted."""
        return self.target.classes if isinstance(self.target, TwoLabels | Classes) else ()

    @property
    def n_columns(self) -> int:
        """The number of encoded columns."""
        return int(self.weights.shape[1])

    def misfit(self) -> str | None:
        """Return an inconsistency of these facts as a clause; None if there is none.

        Returns
        -------
        clause : str or None
            A clause that can follow a colon.
        """
        scores = self.target.outputs
        described = f"a model of {self.target.type!r} with {scores} score{'s' * (scores > 1)} for each record"
        if self.link.name not in self.target.links:
            return f"a model of {self.target.type!r} cannot have the link {self.link.name!r}"
        if self.weights.ndim != 2 or len(self.weights) != scores:
            return f"{described} needs {scores} row{'s' * (scores > 1)} of weights"
        if self.intercepts.shape != (scores,):
            return f"{described} needs {scores} intercept{'s' * (scores > 1)}"
        size = scores * (self.n_columns + self.has_intercept)
        if self.covariance is not None and self.covariance.shape != (size, size):
            return f"the covariance of its weights must have {size} rows and columns"
        compared = max(1, scores - 1) * (self.n_columns + self.has_intercept)  # classes, with the first
        if self.inference is not None and len(self.inference) != compared:
            return f"its intervals must name {compared} weights"
        return None

    @property
    def is_about_people(self) -> bool:
        """Whether the promise is about one person: with all their records, or assumed to have one."""
        return "records_per_person" in self.privacy or ONE_RECORD_EACH in self.privacy["assumptions"]

    @property
    def has_seeded_noise(self) -> bool:
        """Whether anybody who knows the seed can remove the noise, so the model must not be published."""
        return any(SEEDED in text for text in self.privacy["assumptions"])

    @property
    def weight_names(self) -> tuple[str, ...] | None:
        """The names of the features that weights are multiplied with, if they have names."""
        return self.feature_names if self.columns is None else self.columns


def versions() -> dict[str, str]:
    """Return the versions of the libraries that make a model."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"python": platform.python_version(), "privfit": __version__, **packages}


@cache
def versions_of_release() -> dict[str, str]:
    """Return the same, with the libraries that compile the sums and draw the noise."""
    return versions() | {name: version(name) for name in ("numba", "cryptography", "opendp")}
