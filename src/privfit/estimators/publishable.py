"""The parts of a fitted model that may be published: tables, files, a page, a scikit-learn model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privfit.estimators.publishing import published
from privfit.models.contrast import Contrast, Contrasts
from privfit.models.converters import CONVERTERS
from privfit.models.curves import Curves, curves_of
from privfit.models.effects import Effects
from privfit.models.published import Published
from privfit.models.summary import Summary
from privfit.models.weight_table import WeightTable
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
    def weights_(self) -> WeightTable:
        """The weights in the schema's words, for its positive class; categories compare with a reference."""
        check_is_fitted(self)
        if self.schema_ is None:
            raise AttributeError("weights_ needs a schema, and this model has none; see coef_.")
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
            The confidence level of the intervals.
        per : mapping of str to float, optional
            The change of a number for its row, by column and in the column's unit. By default 1, and 365 days
            for a date.

        Returns
        -------
        summary : Summary
            A table that prints as text, or as HTML in notebooks; ``to_frame()`` returns a pandas frame.

        Raises
        ------
        ValueError
            If the model was fitted without `inference`, or the level or `per` is invalid.
        """
        check_is_fitted(self)
        return Summary.of(published(self), level, per)

    def contrast(
        self, first: Any, second: Any = None, *, level: float = 0.95, of: Any = None, against: Any = None
    ) -> Contrast | Contrasts:
        """Return how much a change of one or several columns changes the score, with its interval.

        With two rows, the result is the change of the score from the first row to the second. With several
        classes, the result is the change of the log odds of each class against the first one, or of the class
        `of` against the class `against`. The printed result names the values that differ, so compare invented
        people, not records.

        Parameters
        ----------
        first : mapping, or a row
            The change by column: the increase of a number in its unit, ``{"age": 10}``; the category that
            applies instead of the reference, ``{"sex": "m"}``; or a pair (from, to), ``{"sex": ("f", "m")}``.
            If there is a second row, the first row: a dict, a pandas Series or a frame of one row.
        second : row, optional
            The second row, with the same columns as the first. Columns that neither has do not change.
        level : float
            The confidence level of the printed interval.
        of : object, optional
            With several classes: the class whose odds change. By default each class in turn.
        against : object, optional
            With several classes: the class with which it is compared. By default the first of `classes_`.

        Returns
        -------
        contrast : Contrast or Contrasts
            An object with `estimate`, `ratio`, `std_err`, `z`, `pvalue` and `interval(level)`, which prints
            in words. With several classes a tuple of such objects, one for each class but `against`, unless
            `of` names a class.

        Raises
        ------
        ValueError
            If the model was fitted without `inference`, has no such column or class, or a value is out of
            bounds.
        """
        check_is_fitted(self)
        return Effects(published(self), level).of(first, second, of=of, against=against)

    def published(self) -> Published:
        """Return everything of the fit that may be published, and nothing else.

        Returns
        -------
        facts : Published
            Weights, preprocessing, promise, steps and versions as plain data.
        """
        check_is_fitted(self)
        return published(self)

    def evidence(self) -> dict[str, Any] | None:
        """Return the facts by which an outsider can judge the promise; the model file holds them, too.

        Returns
        -------
        evidence : dict or None
            Unit, adjacency, every charge with its claim, public facts, noise and versions, in a form that
            JSON can hold; see docs/evidence.md. None without a promise, or if the model file has no evidence.
        """
        return self.published().evidence

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file that may be published; `privfit.load` reads it.

        Parameters
        ----------
        path : str or Path
            The file, which is replaced if it exists.
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
            The file, which is replaced if it exists.
        scores : Evaluation, optional
            Private scores, as `privfit.metrics.evaluate` gives them.
        title : str, optional
            Heading of the page.
        card : mapping of str to str, optional
            Fields of a model card by name, such as "Intended use".
        """
        html = CONVERTERS["page"](self.published(), scores=scores, title=title, card=card)
        Path(path).write_text(html, encoding="utf-8")

    def to_sklearn(self, *, encoded: bool = False) -> Any:
        """Return a plain scikit-learn estimator or pipeline with the same predictions, including clipping.

        Parameters
        ----------
        encoded : bool
            For a model with a schema: whether its input are columns that ``privfit.schema.encode`` has
            encoded, instead of raw frames. A schema with dates needs this.

        Returns
        -------
        estimator : LogisticRegression, SGDClassifier or Pipeline
            A model that can be used, converted and unpickled without privfit. It takes dense arrays if
            columns are clipped, and pandas frames if a schema names the columns.
        """
        return CONVERTERS["plain_sklearn"](self.published(), encoded=encoded)
