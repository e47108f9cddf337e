"""Weights as a table for people: in the schema's words, each category against its column's reference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from textwrap import fill
from typing import Any, NamedTuple

from privfit.models.links import LOG
from privfit.models.published import Published
from privfit.printable import printable
from privfit.schema import Categorical, Label, Schema


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
        the lowest to the highest declared value.
    unit : str
        The same in words: what the category is compared with, or from where to where the number goes.
    reference : str
        The category with which the weight compares, "" for a number. The reference's own weight is 0.
    odds_ratio : float or None
        By what the odds of the positive class are multiplied: e^weight. None if the model's link has none.
    """

    column: str
    level: str
    weight: float
    unit: str
    reference: str = ""
    odds_ratio: float | None = None


class Weights(tuple[Weight, ...]):
    """The weights of a model: a tuple of `Weight` that prints as a table.

    Attributes
    ----------
    positive : object
        The class for which positive weights speak; None if numbers are predicted.
    intercept : float
        What a score is before any of these weights is added. With a schema, `intercept_` of the model and the
        references' entries of `coef_` add up to it.
    meaning : tuple of str
        Sentences that say what the numbers mean.
    """

    positive: Any
    intercept: float
    meaning: tuple[str, ...]

    def __new__(
        cls,
        rows: Iterable[Weight] = (),
        *,
        positive: Any = None,
        intercept: float = 0.0,
        meaning: tuple[str, ...] = (),
    ) -> Weights:
        """Make the table of its rows."""
        weights = super().__new__(cls, rows)
        weights.positive, weights.intercept, weights.meaning = positive, intercept, meaning
        return weights

    @property
    def has_odds(self) -> bool:
        """Whether the rows have odds ratios."""
        return any(row.odds_ratio is not None for row in self)

    def texts(self) -> list[tuple[str, ...]]:
        """Return the table as texts, the heading first.

        Returns
        -------
        rows : list of tuple of str
            Column, level, weight, the odds ratio if there are some, and the change in words.
        """
        heading = ("column", "level", "weight", *["odds ratio"] * self.has_odds, "change")
        return [
            heading,
            *(
                (
                    printable(row.column),
                    printable(row.level),
                    f"{row.weight:+.4g}" if row.weight else "0",
                    *([] if row.odds_ratio is None else [f"{row.odds_ratio:.3g}"]),
                    printable(row.unit),
                )
                for row in self
            ),
        ]

    def __repr__(self) -> str:
        rows = self.texts()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if 2 <= j < len(widths) - 1 else cell.ljust(width)
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


def weights_of(model: Published) -> Weights:
    """Return the weights of a model as a table; they speak for the schema's positive class, if it names one.

    Parameters
    ----------
    model : Published
        The model.

    Returns
    -------
    weights : Weights
        With a schema a row for each category and each number; otherwise one for each column.
    """
    if model.target.outputs > 1:
        raise ValueError("The weights of a model with several scores for each record have no table yet.")
    schema = None if model.schema is None else Schema.from_dict(model.schema)
    sign, positive = _positive(model, schema)
    raw, intercept = (sign * model.weights[0]).tolist(), sign * float(model.intercepts[0])
    if schema is not None:
        rows, added = _in_words(schema, raw)
        change = (
            "A weight is how much a score changes if the category applies instead of its column's reference "
            "or, for a number, when it goes from the lowest to the highest declared value."
        )
        start = "every reference category, and every number at its lowest declared value"
    elif model.bounds is not None:
        rows, added = _over_ranges(model, raw)
        change = (
            "A weight is how much a score changes when a column goes from the lowest to the highest value "
            "that it is clipped to."
        )
        start = "every column at the lowest value that it is clipped to"
    else:
        names = _names(model)
        rows = [Weight(name, "", weight, "one more") for name, weight in zip(names, raw, strict=True)]
        added = 0.0
        change, start = "A weight is how much a score changes when a column grows by one.", "zeros only"
    intercept += added
    return Weights(
        _with_odds(rows) if model.link.has_odds else rows,
        positive=positive,
        intercept=intercept + 0.0,  # not -0.0
        meaning=(
            change,
            *["The score is then divided by the norm of the record's columns."] * model.unit_rows,
            _spoken_for(model, positive),
            f"The intercept, {intercept:+.4g}, is the score of a record with {start}.",
        ),
    )


def _positive(model: Published, schema: Schema | None) -> tuple[float, Any]:
    """Return the class that positive weights speak for, and -1 if the weights have to be turned for it."""
    if not model.link.predicts_classes:
        return 1.0, None
    first, second = model.classes
    label = None if schema is None else schema.label
    turned = isinstance(label, Label) and label.positive is not None and label.positive == first
    return (-1.0, first) if turned else (1.0, second)


def _spoken_for(model: Published, positive: Any) -> str:
    if model.link.predicts_classes:
        return f"Positive weights speak for {printable(str(positive))}."
    predicted = "e to the power of the score" if model.link is LOG else "the score"
    return f"The predicted number is {predicted}."


def _in_words(schema: Schema, raw: Sequence[float]) -> tuple[list[Weight], float]:
    """Return a row for each level of each column, and what the references add to every score.

    The weights of a column's categories mean nothing alone, because one of them applies to each record: a
    number that is added to all of them and taken from the intercept changes no score. Their differences from
    the reference mean something, and the reference's weight goes into the intercept.
    """
    rows, added, left = [], 0.0, iter(raw)
    for fact in schema.features:
        own = {level: next(left) for level in fact.levels}
        reference, base = "", 0.0
        if isinstance(fact, Categorical):
            reference = fact.reference_level
            base = own[reference]
            if fact.missing == "fill" and fact.fill is None:
                own[""] = 0.0  # no category applies
        added += base
        rows += [
            Weight(fact.name, level, weight - base + 0.0, fact.step(level), reference)
            for level, weight in own.items()
        ]
    return rows, added


def _over_ranges(model: Published, raw: Sequence[float]) -> tuple[list[Weight], float]:
    """Return a row for each column that is clipped to bounds, and what the lowest values add to a score."""
    assert model.bounds is not None
    low, high = (side.tolist() for side in model.bounds)
    rows = [
        Weight(name, "", weight * (end - start) + 0.0, f"from {start:.6g} to {end:.6g}")
        for name, weight, start, end in zip(_names(model), raw, low, high, strict=True)
    ]
    return rows, math.fsum(weight * start for weight, start in zip(raw, low, strict=True))


def _names(model: Published) -> Sequence[str]:
    return model.weight_names or [f"column {i}" for i in range(model.n_columns)]


def _with_odds(rows: Iterable[Weight]) -> Iterator[Weight]:
    for row in rows:
        yield row._replace(odds_ratio=math.exp(row.weight) if row.weight < 700.0 else math.inf)
