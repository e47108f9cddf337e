"""The curves of a model by column, in words and in pictures."""

from __future__ import annotations

import numpy as np

from privfit.models.fitted_curve import FittedCurve, height_of
from privfit.models.published import Matrix, Published, Vector
from privfit.models.shown_scores import ShownScores, shown_scores
from privfit.schema import Schema
from privfit.schema.curve import Curve
from privfit.schema.curved import Curved

# A part of a curve that rises or falls by less than one of these shares is a wiggle: a share of the curve's
# own height, or of the model's highest curve. Such parts look the same as noise.
WIGGLE_OF_ITS_HEIGHT, WIGGLE_OF_THE_HIGHEST = 0.1, 0.05


class Curves(dict[str, FittedCurve]):
    """The curves of a model by column, which print as words and which notebooks draw."""

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest value of all curves."""
        values = [value for curve in self.values() for value in curve.heights.ravel().tolist()]
        return min(values, default=0.0), max(values, default=0.0)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.values())) or "no column of this model has a curve"

    def _repr_html_(self) -> str:
        return "".join(curve.figures(self.scale) for curve in self.values()) or f"<p>{self!r}</p>"


def curves_in(schema: Schema, shown: ShownScores) -> Curves:
    """Return the curves that a schema declares.

    Parameters
    ----------
    schema : Schema
        The columns.
    shown : ShownScores
        The scores, whose weights are those of the schema's features.

    Returns
    -------
    curves : Curves
        The curves by column, in the order of the schema.
    """
    found, start = [], 0
    for fact in schema.features:
        if isinstance(fact, Curved) and fact.shape is not None:
            pieces = slice(start, start + fact.shape.n_pieces)
            knots, heights = _points(fact.shape, shown.weights[:, pieces], shown.ends[pieces])
            found.append((fact, knots, heights, height_of(heights)))
        start += len(fact.levels)
    highest = max((height for *_, height in found), default=0.0)
    curves = Curves()
    for fact, knots, heights, height in found:
        wiggle = max(WIGGLE_OF_ITS_HEIGHT * height, WIGGLE_OF_THE_HIGHEST * highest)
        curves[fact.name] = FittedCurve(fact, knots, heights, wiggle, shown.classes)
    return curves


def _points(shape: Curve, weights: Matrix, ends: Vector) -> tuple[Vector, Matrix]:
    """Return knots and the heights there, with one more knot in each piece that ends at a bound."""
    knots = np.array(shape.knots)
    heights = np.stack([shape.heights(own) for own in weights])
    (pieces,) = np.nonzero(ends < 1.0)
    bounds = knots[pieces] + ends[pieces] * np.diff(knots)[pieces]
    return np.insert(knots, pieces + 1, bounds), np.insert(
        heights, pieces + 1, heights[:, pieces + 1], axis=1
    )


def curves_of(model: Published) -> Curves:
    """Return the curves of a model, for the schema's positive class if it has one.

    Parameters
    ----------
    model : Published
        The model.

    Returns
    -------
    curves : Curves
        The curves by column, in the order of the schema; empty without a schema.
    """
    if model.schema is None:
        return Curves()
    schema = Schema.from_dict(model.schema)
    return curves_in(schema, shown_scores(model, schema))
