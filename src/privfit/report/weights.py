"""The page's section about the weights, in the words of the schema if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from privfit.publication.published import Published
from privfit.publication.weights import positive_is_first, weights_in_words
from privfit.report.charts import bars, table
from privfit.schema import Schema

WEIGHTS_DRAWN, WEIGHTS_LISTED = 20, 5_000  # of a page that stays below a megabyte


@dataclass(frozen=True)
class _Line:
    """A weight as the page shows it: what it is called, and what it adds over which way."""

    name: str
    weight: float
    effect: float
    about: tuple[str, ...]

    @property
    def label(self) -> str:
        """The name, with the range or the unit that a schema declares."""
        return f"{self.name}, {self.about[0]}" if len(self.about) == 1 and self.about[0] else self.name


def weights_section(model: Published) -> str:
    """Return the weights as bars and as a table, for the class whose odds are spoken of."""
    lines, head, meaning = _declared(model) if model.schema is not None else _numbered(model)
    positive, negative = spoken_of(model)
    lines.sort(key=lambda shown: -abs(shown.effect))
    drawn = [(shown.label, shown.effect, f"{shown.effect:+.2f}") for shown in lines[:WEIGHTS_DRAWN]]
    intro = (
        f"<p>What the model adds to a record's score {meaning}; to the right it speaks for "
        f"<b>{escape(positive)}</b>, to the left for <b>{escape(negative)}</b>"
        + (", and 0.69 doubles the odds" if model.kind == "logistic" else "")
        + ". The noise of the fit is in these numbers, so small ones may be nothing but noise.</p>"
    )
    largest = f"the largest of {len(lines):,}" if len(lines) > len(drawn) else "all of them"
    rows = [(shown.name, f"{shown.weight:.6g}", *shown.about) for shown in lines[:WEIGHTS_LISTED]]
    left_out = len(lines) - len(rows)
    intercept = model.intercept if positive == str(model.classes[1]) else 0.0 - model.intercept
    caption = f"Intercept {intercept:.6g}." + (
        f" The {left_out:,} smallest weights are in the model file only." if left_out else ""
    )
    return (
        intro
        + bars(drawn, caption=f"Weights, {largest}")
        + "<details><summary>All weights as a table</summary>"
        + f"{table(('column', 'weight', *head), rows, caption)}</details>"
    )


def _declared(model: Published) -> tuple[list[_Line], tuple[str, ...], str]:
    """Return the weights in the schema's words: a feature goes from 0 to 1 over a column's declared range."""
    words = weights_in_words(Schema.from_dict(model.schema or {}), model.weights, model.classes)
    lines = [
        _Line(
            f"{word.column} = {word.level}" if word.level else word.column,
            word.weight,
            word.weight,
            (word.unit,),
        )
        for word in words
    ]
    meaning = "if it has a category, or on the way of a number through all of its declared range"
    return lines, ("range or unit",), meaning


def _numbered(model: Published) -> tuple[list[_Line], tuple[str, ...], str]:
    """Return the weights of columns of numbers, clipped to bounds or not."""
    names = model.weight_names or [f"column {i}" for i in range(len(model.weights))]
    weights = model.weights.tolist()
    if model.bounds is None:
        lines = [_Line(name, weight, weight, ()) for name, weight in zip(names, weights, strict=True)]
        return lines, (), "for one more of a column's unit"
    ends = zip(*(side.tolist() for side in model.bounds), strict=True)
    lines = [
        _Line(name, weight, weight * (high - low), (f"{low:.6g}", f"{high:.6g}"))
        for name, weight, (low, high) in zip(names, weights, ends, strict=True)
    ]
    return lines, ("clipped below", "clipped above"), "over a column's whole range"


def spoken_of(model: Published) -> tuple[str, str]:
    """Return the class whose odds are spoken of, and the other one."""
    first, second = map(str, model.classes)
    if model.schema is not None and positive_is_first(Schema.from_dict(model.schema), model.classes):
        return first, second
    return second, first
