"""The pictures of a model's curves on the page: one for each column, all to one scale."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from privfit.models.curves import Curves
from privfit.models.fitted_curve import FittedCurve
from privfit.models.links import LOG, Link


def reading_curves(curves: Curves, link: Link) -> str:
    """Return a paragraph on how the pictures of a model with this link are read; nothing without curves."""
    if not curves:
        return ""
    changed = "score" if link.predicts_classes else "prediction"
    changed = f"logarithm of the {changed}" if link is LOG else changed
    return (
        f"<p>A picture shows how much a column changes the {changed}, compared with its lowest declared "
        "value. All pictures have the same vertical scale. The marks at the bottom are where a curve may "
        "bend; they are public, and between two of them the curve is a straight line. The noise of the fit "
        "is in the curves: small wiggles mean nothing, and where there are few records a curve may be high "
        "and nothing but noise.</p>"
    )


def pictures(curves: Sequence[FittedCurve], scale: tuple[float, float], most: int) -> str:
    """Draw the curves of one score.

    Parameters
    ----------
    curves : sequence of FittedCurve
        Each of one score.
    scale : pair of float
        The ends of the vertical axis.
    most : int
        How many are drawn, the highest ones.

    Returns
    -------
    html : str
        A figure for each curve, with what it shows in words; nothing if there are no curves.
    """
    drawn = sorted(sorted(curves, key=lambda curve: -curve.height)[:most], key=curves.index)
    figures = "".join(_figure(curve, scale) for curve in drawn)
    left = len(curves) - len(drawn)
    more = f"<p>{left:,} more curves, which are lower, are in the model file only.</p>" if left else ""
    return f'<div class="curves">{figures}</div>{more}' if figures else ""


def _figure(curve: FittedCurve, scale: tuple[float, float]) -> str:
    unit = f" ({escape(curve.fact.unit)})" if curve.fact.unit else ""
    words = curve.in_words()
    return (
        f"<figure><figcaption><b>{escape(curve.column)}</b>{unit}</figcaption>{curve.svg(scale)}"
        f"<p>{escape(words[0].upper() + words[1:])}.</p></figure>"
    )
