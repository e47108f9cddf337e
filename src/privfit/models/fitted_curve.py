"""The curve of one column: the amount that each value of a number adds to a score."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from privfit.models.curve_picture import picture
from privfit.models.published import Matrix, Vector
from privfit.models.separators import with_separators
from privfit.models.stretches import halfway, turning_points
from privfit.printable import printable
from privfit.schema.curved import Curved
from privfit.schema.numbers import Date

OFF_CENTRE = 0.1  # share of a stretch: the point of half the change is named if it is farther from the middle


class Stretch(NamedTuple):
    """A part of a curve over which it rises or falls, apart from small wiggles.

    Attributes
    ----------
    start, end : str
        The first and the last point, in words.
    changes : tuple of float
        How much each score changes from the first point to the last.
    words : str
        The first and the last point and, for a single score, the point at which half of the change is
        reached.
    """

    start: str
    end: str
    changes: tuple[float, ...]
    words: str


@dataclass(frozen=True, eq=False, repr=False)
class FittedCurve:
    """The amount that a column adds to the scores of a model, compared with its lowest declared value.

    Between two points the effect is a straight line. The curve contains the privacy noise of the fit, so
    small wiggles mean nothing. A curve prints as words, and notebooks draw it.

    Attributes
    ----------
    fact : Curved
        The schema's facts about the column.
    knots : array
        The points where the curve may bend, from the lowest to the highest declared value. Dates are day
        numbers, counted like Python's.
    heights : array of shape (number of scores, number of knots)
        The difference of each score at each knot from the score at the first knot.
    wiggle : float
        The least height of a part that counts as a stretch; lower parts are wiggles.
    classes : tuple
        If every class has a score: the classes.
    """

    fact: Curved
    knots: Vector
    heights: Matrix
    wiggle: float
    classes: tuple[Any, ...] = ()

    @property
    def column(self) -> str:
        """The column of the table."""
        return self.fact.name

    @property
    def at(self) -> list[Any]:
        """The knots in the form of the column: numbers or dates."""
        numbers: list[float] = self.knots.tolist()
        return list(map(_day, numbers)) if isinstance(self.fact, Date) else numbers

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the curve as columns of a table, for pandas or polars.

        Returns
        -------
        columns : dict of list
            "at", the knots, and "effect", the amount that the column adds to the score there, compared with
            its lowest declared value. If every class has a score, there is an "effect on" column for each.
        """
        names = [f"effect on {label}" for label in self.classes] or ["effect"]
        return {"at": self.at, **dict(zip(names, self.heights.tolist(), strict=True))}

    def to_json(self) -> dict[str, Any]:
        """Return the curve as JSON can hold it.

        Returns
        -------
        curve : dict
            "at", the knots, with dates in ISO format; "effects", a list of heights for each score; the
            "classes" that the scores are of, if there are several; and "monotone", as it is declared.
        """
        return {
            "at": list(map(str, self.at)) if isinstance(self.fact, Date) else self.at,
            "effects": self.heights.tolist(),
            "classes": list(self.classes),
            "monotone": self.fact.monotone,
        }

    @property
    def height(self) -> float:
        """How far the curve goes up and down: the largest difference between two of its heights."""
        return height_of(self.heights)

    @property
    def stretches(self) -> list[Stretch]:
        """Where the curve rises and falls, without small wiggles."""
        places = turning_points(self.heights, self.wiggle)
        return [self._stretch(first, last) for first, last in pairwise(places)]

    def _stretch(self, first: int, last: int) -> Stretch:
        inside = slice(first, last + 1)
        changes = tuple((self.heights[:, last] - self.heights[:, first]).tolist())
        start, end = self.word(first), self.word(last)
        words = f"from {start} to {end} {self.fact.unit}".rstrip()
        if len(changes) == 1 and changes[0] and math.isfinite(changes[0]):
            points = self.knots[inside]
            half = halfway(points, self.heights[0, inside])
            if abs(half - (points[0] + points[-1]) / 2.0) > OFF_CENTRE * (points[-1] - points[0]):
                words += f", half of that by {self._rounded(half, points[-1] - points[0])}"
        words += {"up": ", never falling, as declared", "down": ", never rising, as declared"}.get(
            self.fact.monotone, ""
        )
        return Stretch(start, end, changes, words)

    def word(self, place: int) -> str:
        """Return a knot in words.

        Parameters
        ----------
        place : int
            The number of the knot.

        Returns
        -------
        words : str
            A date in ISO format, or a number.
        """
        knot = float(self.knots[place])
        return str(_day(knot)) if isinstance(self.fact, Date) else with_separators(f"{knot:.15g}")

    def _rounded(self, point: float, length: float) -> str:
        """Write a number to about a hundredth of a stretch's length, or a date."""
        if isinstance(self.fact, Date):
            return str(_day(point))
        digits = 1 - math.floor(math.log10(length))
        return with_separators(f"{round(point, digits):.15g}")

    def of_class(self, label: Any) -> FittedCurve:
        """Return the curve of one class.

        Parameters
        ----------
        label : object
            One of `classes`.

        Returns
        -------
        curve : FittedCurve
            The curve for the score of this class.
        """
        place = self.classes.index(label)
        return replace(self, heights=self.heights[[place]], classes=())

    def in_words(self) -> str:
        """Say where the curve of one score rises and falls, and by how much.

        Returns
        -------
        words : str
            A clause for each stretch, without small wiggles.
        """
        clauses: list[str] = []
        for stretch in self.stretches:
            (change,) = stretch.changes
            where = stretch.words.removeprefix(f"from {stretch.start} ") if clauses else stretch.words
            verb = f"{'rises' if change > 0.0 else 'falls'} by {abs(change):.3g}" if change else "is level"
            clauses.append(f"{verb} {where}")
        return ", then ".join(clauses)

    def svg(self, scale: tuple[float, float]) -> str:
        """Draw the curve of one score.

        Parameters
        ----------
        scale : pair of float
            The ends of the vertical axis, which other pictures may share.

        Returns
        -------
        picture : str
            A complete SVG picture.
        """
        (effect,) = self.heights
        title = printable(f"Curve of {self.column}: it {self.in_words()}.")
        return picture(self.knots, effect, scale, (self.word(0), self.word(-1)), title)

    def by_class(self) -> list[tuple[str, FittedCurve]]:
        """Return the curve of each score, with its title.

        Returns
        -------
        curves : list of pairs
            The title of a picture, and a curve of one score.
        """
        if not self.classes:
            return [(self.column, self)]
        return [(f"{self.column}, score of {label}", self.of_class(label)) for label in self.classes]

    def __repr__(self) -> str:
        lines = (f"{title}: {curve.in_words()}." for title, curve in self.by_class())
        return "\n".join(
            fill(printable(line), 100, break_long_words=False, subsequent_indent="  ") for line in lines
        )

    def figures(self, scale: tuple[float, float]) -> str:
        """Draw the curve of each score, with its words, for a notebook.

        Parameters
        ----------
        scale : pair of float
            The ends of the vertical axis, which other pictures may share.

        Returns
        -------
        html : str
            A figure for each score.
        """
        return "".join(
            f'<figure style="display:inline-block;margin:0 1em 1em 0;max-width:22em">{curve.svg(scale)}'
            f"<figcaption>{escape(printable(title))}: {escape(printable(curve.in_words()))}.</figcaption>"
            "</figure>"
            for title, curve in self.by_class()
        )

    def _repr_html_(self) -> str:
        return self.figures((float(self.heights.min()), float(self.heights.max())))


def _day(number: float) -> datetime.date:
    return datetime.date.fromordinal(round(number))


def height_of(heights: Matrix) -> float:
    """Return the largest difference between two heights of one score.

    Parameters
    ----------
    heights : array of shape (number of scores, number of knots)
        The heights at the knots.

    Returns
    -------
    height : float
        0 of a level curve.
    """
    return float(np.ptp(heights, axis=1).max())
