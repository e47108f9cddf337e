"""Curves: a number is divided at public edges, so that a linear model of its pieces can bend there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]

MOST_EDGES = 100  # per column; with more, noise would hide the shape, and a picture could not show it
# Edges distinguish sizes down to this many halvings of a column's largest size. With few edges there are
# fewer halvings: FIRST_HALVINGS, plus one for each edge.
HALVINGS = 10
FIRST_HALVINGS = 2
ROUNDING = 0.1  # an edge may be moved by this share of the way to the next one, to make it a round number


@dataclass(frozen=True)
class Curve:
    """A piecewise linear function of a column of numbers, with public knots, that is added to a score.

    A column with k pieces becomes k features. Feature j is 0 up to knot j, 1 from knot j + 1 on, and linear
    in between. So the weight of a feature is the change of the score between two knots, and the sum
    of the weights up to a knot is the height of the curve there. A curve with no knots but the two ends is
    the plain column.

    The attribute `knots` and the methods `heights` and `at` will not change, so programs that draw, export or
    explain curves may use them. A fitted curve is given by the pairs of `knots` and `heights`, with straight
    lines between them, and is constant beyond its ends: ``np.interp(readings, knots, heights)``.

    Parameters
    ----------
    knots : sequence of float
        The points where the curve may bend, ascending; the first and the last are the declared bounds. Dates
        are day numbers, counted like Python's.

    Examples
    --------
    >>> curve = Curve([0.0, 10.0, 100.0])
    >>> curve.heights([0.5, -0.2]).tolist()
    [0.0, 0.5, 0.3]
    >>> curve.at([5.0, 10.0, 1000.0], [0.5, -0.2]).tolist()
    [0.25, 0.5, 0.3]
    """

    knots: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", tuple(map(float, self.knots)))
        if len(self.knots) < 2 or not all(a < b for a, b in pairwise(self.knots)):
            raise ValueError("The knots of a curve are two numbers or more, in ascending order.")

    @property
    def n_pieces(self) -> int:
        """The number of pieces between the knots, which is the number of features."""
        return len(self.knots) - 1

    @cached_property
    def _places(self) -> Numbers:
        """The positions of the knots, as shares of the range."""
        low, high = self.knots[0], self.knots[-1]
        return (np.array(self.knots) - low) / (high - low)

    def expand(self, scaled: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the features of numbers that are given as `Scale.scaled` returns them.

        Parameters
        ----------
        scaled : array of shape (n,)
            Numbers in [0, 1]: 0 at the lowest knot and 1 at the highest.
        out : array of shape (n, n_pieces), optional
            Where to write them.

        Returns
        -------
        features : array of shape (n, n_pieces)
            Numbers in [0, 1].
        """
        # Computed in the numbers' own precision, so that a number at a knot gives exactly 0 in the piece that
        # begins there. A tiny positive value instead would distort the histogram of the piece's sizes.
        places = self._places.astype(scaled.dtype)
        lengths = np.maximum(np.diff(places), np.finfo(places.dtype).tiny)
        features = np.empty((len(scaled), self.n_pieces)) if out is None else out
        with np.errstate(over="ignore"):
            for piece, (start, length) in enumerate(zip(places[:-1], lengths, strict=True)):
                features[:, piece] = np.clip((scaled - start) / length, 0.0, 1.0)
        return features

    def heights(self, weights: ArrayLike) -> Numbers:
        """Return the curve's height at every knot, 0 at the lowest.

        Parameters
        ----------
        weights : array of shape (n_pieces,)
            The weights of its features.

        Returns
        -------
        heights : array of shape (n_pieces + 1,)
            The amount that the column adds to the score, compared with the lowest declared value.
        """
        return np.append(0.0, np.cumsum(weights, dtype=np.float64))

    def at(self, readings: ArrayLike, weights: ArrayLike) -> Numbers:
        """Return the amounts that numbers in the column's own units add to the score.

        Parameters
        ----------
        readings : array
            Numbers; those beyond the ends count as the nearer one.
        weights : array of shape (n_pieces,)
            The weights of its features.

        Returns
        -------
        added : array
            An array of the shape of `readings`.
        """
        return np.interp(np.asarray(readings, dtype=np.float64), self.knots, self.heights(weights))


def edges_between(low: float, high: float, count: int, *, whole: bool = False) -> tuple[float, ...]:
    """Return about this many edges between two public bounds, computed from the bounds alone.

    Amounts and counts are often concentrated near 0, while ages and dates are not. The data may not be read
    to decide this. So the edges are quantiles of an assumed mixture: half of the numbers are uniform between
    the bounds, and the logarithms of the other half are uniform, down to some halvings of the largest size.

    Parameters
    ----------
    low, high : float
        The bounds.
    count : int
        The wanted number of edges.
    whole : bool
        Whether they must be whole numbers.

    Returns
    -------
    edges : tuple of float
        Edges in ascending order between the bounds; fewer than wanted if rounding makes some equal.
    """
    width, halvings = high - low, min(FIRST_HALVINGS + count, HALVINGS)
    points, below = [np.linspace(low, high, 257)], []
    for sign, near, far in ((1.0, max(low, 0.0), max(high, 0.0)), (-1.0, max(-high, 0.0), max(-low, 0.0))):
        nearest = max(near, far * 2.0**-halvings)
        if sys.float_info.min < nearest < far:
            points.append(sign * np.geomspace(nearest, far, 257))
            below.append((sign, nearest, far, (far - near) / width))
    grid = np.unique(np.clip(np.concatenate(points), low, high))
    shares = (grid - low) / width
    for sign, nearest, far, part in below:
        with np.errstate(divide="ignore", invalid="ignore"):
            gone = np.log(np.clip(sign * grid, nearest, far) / nearest) / np.log(far / nearest)
        shares = shares + part * (gone if sign > 0.0 else 1.0 - gone)
    wanted = shares[-1] * np.arange(1, count + 1) / (count + 1)
    exact = np.interp(wanted, shares, grid)
    room = ROUNDING * np.minimum.reduce([np.diff(np.r_[low, exact]), np.diff(np.r_[exact, high])])
    rounded = map(round, exact.tolist()) if whole else map(_rounded, exact.tolist(), room.tolist())
    edges = set(map(float, rounded))
    return tuple(sorted(edge for edge in edges if low < edge < high))


def _rounded(edge: float, room: float) -> float:
    """Return the number with the fewest digits within this distance of an edge."""
    shorter = (float(f"{edge:.{digits}g}") for digits in range(1, 18))
    return next((number for number in (0.0, *shorter) if abs(number - edge) <= room), edge)
