"""The stretches of a curve: parts over which it rises or falls, without small wiggles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

MOST_STRETCHES = 4  # per curve; if there are more, the lowest are left out


def turning_points(heights: Numbers, wiggle: float) -> list[int]:
    """Return where curves turn, without small wiggles: the ends of stretches on which they rise or fall.

    Parameters
    ----------
    heights : array of shape (number of curves, number of knots)
        The heights of curves that share their knots. All curves together have one list of stretches.
    wiggle : float
        The least height of a stretch, unless it is the only one.

    Returns
    -------
    places : list of int
        The numbers of the knots at which curves turn, with the first and the last knot.
    """
    largest = np.abs(heights).max() or 1.0
    heights, wiggle = heights / largest, max(wiggle / largest, 1e-9)  # so that no difference overflows
    while True:
        places = sorted({place for curve in heights for place in _turns(curve, wiggle)})
        if len(places) <= MOST_STRETCHES + 1:
            return places
        wiggle *= 1.25


def _turns(curve: Numbers, wiggle: float) -> list[int]:
    """Return the turning points of a curve; unless there is only one stretch, each is at least so high."""
    slopes = [(place, step) for place, step in enumerate(np.diff(curve).tolist()) if step]
    turns = [place for (_, before), (place, after) in pairwise(slopes) if before * after < 0.0]
    places = [0, *turns, len(curve) - 1]
    while len(places) > 2:
        heights = np.abs(np.diff(curve[places]))
        lowest = int(heights.argmin())
        if heights[lowest] >= wiggle:
            break
        # both ends of an inner stretch are removed, because its neighbours then form one stretch
        del places[max(lowest, 1) : min(lowest + 2, len(places) - 1)]
    return places


def halfway(knots: Numbers, curve: Numbers) -> float:
    """Return the point at which a curve first reaches half of its total change.

    Parameters
    ----------
    knots : array
        Where the curve may bend, in rising order.
    curve : array
        Its heights there, which differ at the two ends.

    Returns
    -------
    point : float
        Between two knots the curve is a straight line.
    """
    made = (curve - curve[0]) / (curve[-1] - curve[0])
    after = int((made >= 0.5).argmax())
    share = (0.5 - made[after - 1]) / (made[after] - made[after - 1])
    return float(knots[after - 1] + share * (knots[after] - knots[after - 1]))
