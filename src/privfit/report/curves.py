"""The pictures of a model's curves on the page: one for each column, all to one scale."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from privfit.models.curves import Curves
from privfit.models.fitted_curve import FittedCurve
from privfit.models.links import LOG, Link


def reading_curves(curves: Curves, link: Link) -> str:
    """Return a paragraph on how to read the pictures of a model with this link; empty without curves."""
    if not curves:
        return ""
    changed = "score" if link.predicts_classes else "prediction"
    changed = f"logarithm of the {changed}" if link is LOG else changed
    return (
        f"<p>A picture shows how much a column changes the {changed}, compared with its lowest declared "
        "value. All pictures have the same vertical scale. A curve may bend only at the marks at the bottom, "
        "which are public; between two marks it is a straight line. The curves contain the noise of the fit: "
        "small wiggles mean nothing, and where there are few records even a high curve may be nothing but "
        "noise.</p>"
    )


def pictures(curves: Sequence[FittedCurve], scale: tuple[float, float], most: int) -> str:
    """Draw the curves of one score.

    Parameters
    ----------
    curves : sequence of FittedCurve
        The curves, each of one score.
    scale : pair of float
        The ends of the vertical axis.
    most : int
        The largest number of curves to draw; the highest ones are drawn.

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
