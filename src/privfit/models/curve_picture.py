"""A small picture of a curve as SVG, without scripts, in the colours of the page around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from privfit.models.published import Vector
from privfit.models.separators import with_separators

WIDTH, HEIGHT = 340, 170  # in pixels at most, because smaller letters could not be read on a phone
LEFT, RIGHT, TOP, BOTTOM = 58, 8, 10, 26  # margins
_LINE = 'fill="none" vector-effect="non-scaling-stroke"'


def picture(
    points: Vector, effect: Vector, scale: tuple[float, float], ends: tuple[str, str], title: str
) -> str:
    """Draw a curve as SVG.

    Parameters
    ----------
    points : array
        The points where the curve may bend, in rising order.
    effect : array
        Its values there.
    scale : pair of float
        The lowest and the highest value of the vertical axis. Pictures with the same scale can be compared.
    ends : pair of str
        The first and the last point in words.
    title : str
        What the picture shows, for people who do not see it.

    Returns
    -------
    svg : str
        A picture that needs no style sheet. It uses the colours of the page's style sheet, if there is one.
    """
    low, high = _finite(min(scale[0], 0.0)), _finite(max(scale[1], 0.0))
    height = (high / 2.0 - low / 2.0) * 2.0 if high - low < math.inf else math.inf
    across = LEFT + (points - points[0]) / (points[-1] - points[0]) * (WIDTH - LEFT - RIGHT)
    room = HEIGHT - TOP - BOTTOM

    def down(value: float) -> float:
        share = 0.5 if not 0.0 < height < math.inf else (value - low) / height
        return TOP + (1.0 - share) * room

    corners = " ".join(
        f"{x:.1f},{down(_finite(value)):.1f}"
        for x, value in zip(across.tolist(), effect.tolist(), strict=True)
    )
    bends = "".join(f"M{x:.1f} {HEIGHT - BOTTOM}v4" for x in across.tolist())
    grid = "".join(
        f'<path d="M{LEFT} {down(tick):.1f}H{WIDTH - RIGHT}" stroke-opacity="{0.7 if tick == 0.0 else 0.2}"/>'
        for tick in ticks(low, high)
    )
    values = "".join(
        f'<text x="{LEFT - 6}" y="{down(tick) + 4.0:.1f}" text-anchor="end">{_short(tick)}</text>'
        for tick in ticks(low, high)
    )
    first, last = map(escape, ends)
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'style="width:100%;max-width:{WIDTH}px;height:auto;display:block">'
        f'<g stroke="currentColor" {_LINE}>{grid}<path d="{bends}" stroke-opacity="0.7"/></g>'
        f'<polyline points="{corners}" {_LINE} stroke-width="2.5" stroke-linejoin="round" '
        'style="stroke:var(--plus,#0072b2)"/>'
        f'<g fill="currentColor" font-size="12">{values}'
        f'<text x="{LEFT}" y="{HEIGHT - 6}">{first}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{last}</text></g></svg>'
    )


def ticks(low: float, high: float) -> Sequence[float]:
    """Return round numbers between two others, zero included.

    Parameters
    ----------
    low, high : float
        The ends: zero lies between them.

    Returns
    -------
    values : sequence of float
        Two to five multiples of 1, 2, 2.5 or 5 times a power of ten, or 0 alone.
    """
    height = high - low
    if not 1e-300 < height < math.inf:
        return [0.0]
    least = height / 4.5
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= least)
    return [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _finite(value: float) -> float:
    """Return a number that can be drawn, whatever a model file holds."""
    return float(np.nan_to_num(value))


def _short(value: float) -> str:
    if not value:
        return "0"
    return with_separators(f"{value:+.0f}") if 1e3 <= abs(value) < 1e6 else f"{value:+.2g}"
