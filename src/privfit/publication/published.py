"""Everything of a fit that may be published, and nothing else."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.publication.links import Link

Vector = NDArray[np.float64]

# With this assumption a promise about one record is one about a person. Statements make it unless the schema
# declares an id column, because then a person may have several records.
ONE_RECORD_EACH = "each person has at most one record"


@dataclass(frozen=True)
class Published:
    """A fitted model as plain facts, all of them released or public.

    Attributes
    ----------
    kind : str
        Which estimator it is of: a key of `registry.MODELS`.
    link : Link
        How scores become predictions.
    weights : array
        One for each encoded column.
    intercept : float
        Added to every score; 0 if there is none.
    has_intercept : bool
        Whether a row has a 1 for the intercept, which counts where rows are scaled to norm 1.
    classes : tuple
        The two labels; positive scores mean the second.
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
    """

    kind: str
    link: Link
    weights: Vector
    intercept: float
    has_intercept: bool
    classes: tuple[Any, ...]
    feature_names: tuple[str, ...] | None
    columns: tuple[str, ...] | None
    bounds: tuple[Vector, Vector] | None
    unit_rows: bool
    schema: dict[str, Any] | None
    steps: tuple[dict[str, Any], ...]
    privacy: dict[str, Any]
    versions: dict[str, str]

    @property
    def is_about_people(self) -> bool:
        """Whether the promise is about one person, because nobody is assumed to have several records."""
        return ONE_RECORD_EACH in self.privacy["assumptions"]

    @property
    def weight_names(self) -> tuple[str, ...] | None:
        """Names of the numbers that weights are multiplied with, if they have any."""
        return self.feature_names if self.columns is None else self.columns


def versions() -> dict[str, str]:
    """Return what a model is being made with."""
    packages = ("privfit", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
