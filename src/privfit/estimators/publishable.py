"""What a fitted model gives away: the names of its weights, a file, a page, a plain model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privfit.estimators.publishing import published
from privfit.models.contrast import Contrast
from privfit.models.converters import CONVERTERS
from privfit.models.curves import Curves, curves_of
from privfit.models.effects import Effects
from privfit.models.published import Published
from privfit.models.summary import Summary
from privfit.models.weight_table import Weights
from privfit.models.weights import weights_of
from privfit.schema import Schema


class Publishable:
    """A linear model that can be published once it is fitted."""

    schema_: Schema | None
    n_features_in_: int

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the weights of `coef_`: with a schema ``column``, ``column=category`` or ``column=other``.

        A column with a curve has one weight for each piece between two knots, ``column[start, end]``.

        Parameters
        ----------
        input_features : ignored
            Not used; present because scikit-learn passes it.

        Returns
        -------
        names : array of str
            One name for each weight.
        """
        check_is_fitted(self)
        if self.schema_ is not None:
            return np.array(self.schema_.feature_names, dtype=object)
        numbered = [f"x{j}" for j in range(self.n_features_in_)]
        return np.array(getattr(self, "feature_names_in_", numbered), dtype=object)

    @property
    def weights_(self) -> Weights:
        """The weights in the schema's words, for its positive class, categories against a reference."""
        check_is_fitted(self)
        if self.schema_ is None:
            raise AttributeError("weights_ are named by a schema, and this model has none; see coef_.")
        return weights_of(published(self))

    @property
    def curves_(self) -> Curves:
        """The curves by column, for the schema's positive class; empty if no column has one."""
        check_is_fitted(self)
        return curves_of(published(self))

    def summary(self, level: float = 0.95, *, per: Mapping[str, float] | None = None) -> Summary:
        """Return the effects as a regression table, with standard errors, p-values and intervals.

        Parameters
        ----------
        level : float
            Of the intervals: in what share of repetitions they are to hold what is estimated.
        per : mapping of str to float, optional
            By column: how much a number grows, in its own unit. 1 by default, and 365 days for a date.

        Returns
        -------
        summary : Summary
            It prints as text and, in notebooks, as HTML; ``to_frame()`` returns a frame of pandas.

        Raises
        ------
        ValueError
            If the model was fitted without `inference`, or the level or `per` makes no sense.
        """
        check_is_fitted(self)
        return Summary.of(published(self), level, per)

    def contrast(self, first: Any, second: Any = None, *, level: float = 0.95) -> Contrast:
        """Return how much a change of one or several columns changes the score, with its interval.

        With two rows it compares them: it tells how much the score changes from the first to the second.
        What is printed names the values that differ, so compare invented people, not records.

        Parameters
        ----------
        first : mapping, or a row
            By column: how much a number grows in its own unit, ``{"age": 10}``; the category that applies
            instead of the reference, ``{"sex": "m"}``; or a pair (from, to), ``{"sex": ("f", "m")}``. If
            there is a second row: a dict, a pandas Series or a frame of one row.
        second : row, optional
            It names the same columns as the first. Columns that both do not name are the same in both.
        level : float
            Of the interval that is printed.

        Returns
        -------
        contrast : Contrast
            `estimate`, `ratio`, `std_err`, `z`, `pvalue` and `interval(level)`; it prints in words.

        Raises
        ------
        ValueError
            If the model was fitted without `inference`, has no such column, or a value is beyond its bounds.
        """
        check_is_fitted(self)
        return Effects(published(self), level).of(first, second)

    def published(self) -> Published:
        """Return everything of the fit that may be published, and nothing else.

        Returns
        -------
        facts : Published
            Weights, preprocessing, promise, steps and versions as plain data.
        """
        check_is_fitted(self)
        return published(self)

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file that may be published; `privfit.load` reads it.

        Parameters
        ----------
        path : str or Path
            Of the file, which is replaced if it exists.
        """
        Path(path).write_text(CONVERTERS["model_file"](self.published()), encoding="utf-8")

    def report(
        self,
        path: str | Path,
        *,
        scores: Any = None,
        title: str | None = None,
        card: Mapping[str, str] | None = None,
    ) -> None:
        """Write a page about the model that may be published: one HTML file that needs no network.

        Parameters
        ----------
        path : str or Path
            Of the file, which is replaced if it exists.
        scores : Evaluation, optional
            Private scores, as `privfit.metrics.evaluate` gives them.
        title : str, optional
            Heading of the page.
        card : mapping of str to str, optional
            A model card's fields by name, "Intended use" for example.
        """
        html = CONVERTERS["page"](self.published(), scores=scores, title=title, card=card)
        Path(path).write_text(html, encoding="utf-8")

    def to_sklearn(self, *, encoded: bool = False) -> Any:
        """Return a plain scikit-learn estimator or pipeline that predicts the same, clipping included.

        Parameters
        ----------
        encoded : bool
            Of a model with a schema: whether to take columns that ``privfit.schema.encode`` has encoded
            instead of raw frames, as is needed where the schema has dates.

        Returns
        -------
        estimator : LogisticRegression, SGDClassifier or Pipeline
            Nothing of privfit is needed to use, convert or unpickle it. It takes dense arrays where columns
            are clipped, and frames of pandas where a schema names the columns.
        """
        return CONVERTERS["plain_sklearn"](self.published(), encoded=encoded)
