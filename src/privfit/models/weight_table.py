"""Weights as a table for people, on a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from textwrap import fill
from typing import Any, NamedTuple

from privfit.models.separators import with_separators
from privfit.printable import padded, printable, terminal_width


def signed(weight: float) -> str:
    """Write a weight with its sign, and without an exponent if it is in the thousands.

    Parameters
    ----------
    weight : float
        The weight.

    Returns
    -------
    text : str
        "0" for the weight of a reference.
    """
    if not weight:
        return "0"
    return with_separators(f"{weight:+.0f}") if 1e4 <= abs(weight) < 1e15 else f"{weight:+.4g}"


class Weight(NamedTuple):
    """How much a category or a number changes a score.

    Attributes
    ----------
    column : str
        The column of the table.
    level : str
        The category, or "other" for the indicator of cells that are missing or do not fit. "" for a number,
        and for such cells of a column of categories if no category and no indicator applies to them.
    weight : float
        The change of the score: for a category, if it applies instead of the reference; for a number, from
        the lowest to the highest declared value, or over a stretch of its curve.
    unit : str
        The change in words: the category to compare with, or the two values of the number.
    reference : str
        The category with which the weight compares, "" for a number. The reference's own weight is 0.
    odds_ratio : float or None
        The factor for the odds of the positive class, e^weight. None if the model has no odds.
    rate_ratio : float or None
        The factor for the predicted count, e^weight. None if the model predicts no counts.
    label : object
        The class whose score it changes; None if a record has one score.
    """

    column: str
    level: str
    weight: float
    unit: str
    reference: str = ""
    odds_ratio: float | None = None
    rate_ratio: float | None = None
    label: Any = None

    @property
    def is_number(self) -> bool:
        """Whether it is the weight of a number, or of a stretch of its curve."""
        return not self.level and not self.reference

    @property
    def name(self) -> str:
        """The column and the level."""
        return f"{self.column} = {self.level}" if self.level else self.column


class WeightTable(tuple[Weight, ...]):
    """The weights of a model: a tuple of `Weight` that prints as a table.

    Attributes
    ----------
    positive : object
        The class whose score positive weights raise; None if there are several classes, or none.
    classes : tuple
        If every class has a score: the classes. The weights of all classes then follow one another for each
        column and level, in this order.
    intercept : float or dict
        The score of a record to which none of the weights applies; with several classes, a dict by class.
        With a schema it is the sum of the model's `intercept_` and the entries of `coef_` for references.
    meaning : tuple of str
        Sentences about the meaning of the numbers; the last one is about the intercept.
    """

    positive: Any
    classes: tuple[Any, ...]
    intercept: float | dict[Any, float]
    meaning: tuple[str, ...]

    def __new__(
        cls,
        rows: Iterable[Weight] = (),
        *,
        positive: Any = None,
        classes: tuple[Any, ...] = (),
        intercept: float | dict[Any, float] = 0.0,
        meaning: tuple[str, ...] = (),
    ) -> WeightTable:
        """Make the table of its rows."""
        weights = super().__new__(cls, rows)
        weights.positive, weights.classes = positive, classes
        weights.intercept, weights.meaning = intercept, meaning
        return weights

    @property
    def lines(self) -> list[tuple[Weight, ...]]:
        """The weights in each line of the table: one, or one for each class."""
        width = max(len(self.classes), 1)
        return [self[start : start + width] for start in range(0, len(self), width)]

    def with_lines(self, lines: Iterable[Sequence[Weight]]) -> WeightTable:
        """Return a table with some of the lines, or with all in another order.

        Parameters
        ----------
        lines : iterable of sequences of Weight
            Entries of `lines`.

        Returns
        -------
        weights : WeightTable
            A table with the same sentences.
        """
        return WeightTable(
            (row for line in lines for row in line),
            positive=self.positive,
            classes=self.classes,
            intercept=self.intercept,
            meaning=self.meaning,
        )

    def of_class(self, label: Any) -> WeightTable:
        """Return the weights of one class, as a table of their own.

        Parameters
        ----------
        label : object
            One of `classes`.

        Returns
        -------
        weights : WeightTable
            The weights that change the score of this class.
        """
        place = self.classes.index(label)
        assert isinstance(self.intercept, dict)
        return WeightTable(
            (line[place] for line in self.lines),
            positive=label,
            intercept=self.intercept[label],
            meaning=self.meaning,
        )

    def by_size(self) -> WeightTable:
        """Return the same table, the line with the largest weight first; a curve's lines stay together."""
        lines = self.lines
        sizes = [max(abs(row.weight) for row in line) for line in lines]
        highest: dict[str, float] = {}
        for (row, *_), size in zip(lines, sizes, strict=True):
            if row.is_number:
                highest[row.column] = max(size, highest.get(row.column, 0.0))
        sizes = [
            highest[row.column] if row.is_number else size
            for (row, *_), size in zip(lines, sizes, strict=True)
        ]
        order = sorted(range(len(lines)), key=lambda place: -sizes[place])
        return self.with_lines(lines[place] for place in order)

    @property
    def has_odds(self) -> bool:
        """Whether the rows have odds ratios."""
        return any(row.odds_ratio is not None for row in self)

    @property
    def has_rates(self) -> bool:
        """Whether the rows have rate ratios."""
        return any(row.rate_ratio is not None for row in self)

    def texts(self) -> list[tuple[str, ...]]:
        """Return the table as texts, the heading first.

        Returns
        -------
        rows : list of tuple of str
            Column, level, the weight or one for each class, the odds or rate ratio if there are some, and the
            change in words.
        """
        ratio = ["odds ratio"] * self.has_odds + ["rate ratio"] * self.has_rates
        heads = [printable(str(label)) for label in self.classes] or ["weight", *ratio]
        return [
            ("column", "level", *heads, "change"),
            *(
                (
                    printable(line[0].column),
                    printable(line[0].level),
                    *(signed(row.weight) for row in line),
                    *(
                        f"{ratio:.3g}"
                        for ratio in (line[0].odds_ratio, line[0].rate_ratio)
                        if ratio is not None
                    ),
                    printable(line[0].unit),
                )
                for line in self.lines
            ),
        ]

    def __repr__(self) -> str:
        rows = self.texts()
        widths = [max(map(terminal_width, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                padded(cell, width, right=2 <= j < len(widths) - 1)
                for j, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, "", fill(" ".join(self.meaning), 100, break_long_words=False)])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        heading, *rows = self.texts()
        heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in heading)
        lines = "".join(
            "".join(
                [f'<tr><th scope="row">{escape(first)}</th>', *(f"<td>{escape(text)}</td>" for text in rest)]
            )
            + "</tr>"
            for first, *rest in rows
        )
        return (
            f"<table><caption>Weights</caption><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
            f"<p>{escape(' '.join(self.meaning))}</p>"
        )
