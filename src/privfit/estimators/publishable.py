"""What a fitted model gives away: the names of its weights, a file, a page, a plain model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privfit.estimators.publishing import published
from privfit.models.converters import CONVERTERS
from privfit.models.curves import Curves, curves_of
from privfit.models.published import Published
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
