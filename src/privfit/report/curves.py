"""The pictures of a model's curves on the page: one for each column, all to one scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from privfit.models.curves import Curves, FittedCurve


def reading_curves(curves: Curves) -> str:
    """Return a paragraph on how the pictures are read; nothing if there are none."""
    if not curves:
        return ""
    return (
        "<p>A picture shows how much a column changes the score, compared with its lowest declared value. "
        "All pictures have the same vertical scale. The marks at the bottom are where a curve may bend; they "
        "are public, and between two of them the curve is a straight line. The noise of the fit is in the "
        "curves: small wiggles mean nothing, and a curve says little where there are few records.</p>"
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


def scale_of(curves: Iterable[FittedCurve]) -> tuple[float, float]:
    """Return the lowest and the highest value of all curves and scores."""
    ends = [(float(curve.heights.min()), float(curve.heights.max())) for curve in curves]
    return min((low for low, _ in ends), default=0.0), max((high for _, high in ends), default=0.0)


def _figure(curve: FittedCurve, scale: tuple[float, float]) -> str:
    unit = f" ({escape(curve.fact.unit)})" if curve.fact.unit else ""
    words = curve.in_words()
    return (
        f"<figure><figcaption><b>{escape(curve.column)}</b>{unit}</figcaption>{curve.svg(scale)}"
        f"<p>{escape(words[0].upper() + words[1:])}.</p></figure>"
    )
