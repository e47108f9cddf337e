"""Everything of a fit that may be published, and nothing else."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.models.inference import Inference
from privfit.models.links import Link
from privfit.models.targets import Classes, Target, TwoLabels

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# With this assumption a promise about one record is one about a person. Statements make it unless the schema
# declares an id column, because then a person may have several records.
ONE_RECORD_EACH = "each person has at most one record"
SEEDED = "SEEDED NOISE"  # so begins the assumption of a fit whose noise can be removed


@dataclass(frozen=True)
class Published:
    """A fitted model as plain facts, all of them released or public.

    Attributes
    ----------
    kind : str
        Which estimator it is of: a key of `registry.MODELS`.
    link : Link
        How scores become predictions.
    target : Target
        What is predicted: two labels, classes, an interval or counts.
    weights : array of shape (number of scores, number of encoded columns)
        A row for each score.
    intercepts : array
        One for each score, to which it is added; 0 if there is none.
    has_intercept : bool
        Whether a row has a 1 for the intercept, which counts where rows are scaled to norm 1.
    feature_names : tuple of str, optional
        Of the columns that were given to the fit, if they had names.
    columns : tuple of str, optional
        Names of the weights, where a schema makes several of one column.
    bounds : pair of arrays, optional
        What columns are clipped to.
    unit_rows : bool
        Whether rows are scaled to norm 1.
    schema : dict, optional
        How a raw table becomes columns of numbers.
    steps : tuple of dict
        What each iteration released and cost.
    privacy : dict
        The statement: promise, assumptions, spending, words.
    versions : dict
        Of privfit and of what it was made with.
    covariance : array, optional
        Of the weights: row by row, the intercept, if there is one, after the weights of its row.
    settings : dict of str to float
        Settings of the estimator that say what is predicted, such as the quantile.
    weighting : dict
        How much records counted, if not alike: the largest weight (None: read off the data), how far weights
        were moved towards their mean, that mean (None: bought), and the weights of classes, largest 1.
    inference : Inference, optional
        What was released about how sure the weights are.
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

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels; none if numbers are predicted."""
        return self.target.classes if isinstance(self.target, TwoLabels | Classes) else ()

    @property
    def n_columns(self) -> int:
        """The number of encoded columns."""
        return int(self.weights.shape[1])

    def misfit(self) -> str | None:
        """Return what does not fit together, as a clause without a subject's name; None if all does.

        Returns
        -------
        clause : str or None
            It can follow a colon.
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
        """Whether whoever knows the seed can remove the noise, so that it is not for publication."""
        return any(SEEDED in text for text in self.privacy["assumptions"])

    @property
    def weight_names(self) -> tuple[str, ...] | None:
        """Names of the numbers that weights are multiplied with, if they have any."""
        return self.feature_names if self.columns is None else self.columns


def versions() -> dict[str, str]:
    """Return what a model is being made with."""
    packages = ("privfit", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
