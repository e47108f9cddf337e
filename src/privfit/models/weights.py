"""The weights of a model in the words of the schema: each category against the reference of its column."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from privfit.models.curves import WIGGLE_OF_ITS_HEIGHT, WIGGLE_OF_THE_HIGHEST, curves_in
from privfit.models.fitted_curve import Stretch
from privfit.models.links import LOG, SOFTMAX
from privfit.models.published import Published
from privfit.models.separators import in_words, with_separators
from privfit.models.shown_scores import ShownScores, shown_scores
from privfit.models.weight_table import Weight, WeightTable, signed
from privfit.printable import printable
from privfit.schema import Categorical, Date, Numeric, Schema
from privfit.schema.column import OTHER, Feature
from privfit.schema.quantities import Quantity

MOST_INTERCEPTS = 6  # the largest number of intercepts in a sentence


def weights_of(model: Published, most_classes: int | None = None) -> WeightTable:
    """Return the weights of a model as a table, for the schema's positive class if it has one.

    Parameters
    ----------
    model : Published
        The model.
    most_classes : int, optional
        If every class has a score: the largest number of classes to show, the first ones.

    Returns
    -------
    weights : WeightTable
        With a schema a line for each category and each number; otherwise one for each column. If every class
        has a score, a line has a weight for each class.
    """
    schema = None if model.schema is None else Schema.from_dict(model.schema)
    shown = shown_scores(model, schema, most_classes)
    tables, added = _tables(model, schema, shown)
    own = [base + more + 0.0 for base, more in zip(shown.intercepts.tolist(), added, strict=True)]  # not -0.0
    if shown.classes:
        return _of_classes(model, schema, tables, dict(zip(shown.classes, own, strict=True)))
    (rows,), (intercept,) = tables, own
    return WeightTable(
        _with_ratios(model, rows),
        positive=shown.positive,
        intercept=intercept,
        meaning=(
            f"A weight is {_change(model, schema)} {_when(model, schema)}.",
            *_of_curves(schema),
            *_of_the_norm(model),
            *_spoken_for(model, schema, shown.positive),
            _of_the_intercept(model, schema, intercept),
        ),
    )


def _of_classes(
    model: Published, schema: Schema | None, tables: Sequence[Sequence[Weight]], own: dict[Any, float]
) -> WeightTable:
    """Return the table of a model with a score for each class, with the intercepts by class."""
    compared = ", compared with the mean of all classes," if model.link is SOFTMAX else ""
    doubled = "Where the scores of two classes differ by 0.69, one is twice as probable as the other."
    start = f"The intercepts are the scores of a record with {_start(model, schema)}"
    if len(own) <= MOST_INTERCEPTS:
        scores = (f"{value:+.4g} for {printable(str(label))}" for label, value in own.items())
        start += f": {', '.join(scores)}"
    return WeightTable(
        (
            row._replace(label=label)
            for line in zip(*tables, strict=True)
            for label, row in zip(own, line, strict=True)
        ),
        classes=tuple(own),
        intercept=own,
        meaning=(
            f"A weight is how much a person's score for a class changes{compared} {_when(model, schema)}.",
            *_of_curves(schema),
            *_of_the_norm(model),
            "The class with the largest score is predicted.",
            *[doubled] * (model.link.probabilities is not None),
            f"{start}.",
        ),
    )


# -- words --------------------------------------------------------------------------------------------------


def _change(model: Published, schema: Schema | None) -> str:
    """Return what a weight changes, in words; for numbers in the units of the target."""
    if model.link.predicts_classes or model.unit_rows:
        return "how much a person's score changes"
    if model.link is LOG:
        return f"how much the logarithm of {_predicted(schema)} changes"
    unit = schema.label.unit if schema is not None and isinstance(schema.label, Quantity) else ""
    return f"how {f'many {printable(unit)}' if unit else 'much'} {_predicted(schema)} changes"


def _predicted(schema: Schema | None) -> str:
    return "the prediction" if schema is None else f"the prediction of {printable(schema.label.name)}"


def _when(model: Published, schema: Schema | None) -> str:
    if schema is not None:
        return (
            "if the category applies instead of its column's reference or, for a number, when it goes from "
            "the lowest to the highest declared value"
        )
    if model.bounds is not None:
        return "when a column goes from the lowest to the highest value that it is clipped to"
    return "when a column grows by one"


def _start(model: Published, schema: Schema | None) -> str:
    """Return in words the record whose score is the intercept alone."""
    if schema is not None:
        return "every reference category, and every number at its lowest declared value"
    if model.bounds is not None:
        return "every column at the lowest value that it is clipped to"
    return "zeros only"


def _of_curves(schema: Schema | None) -> list[str]:
    has_curves = schema is not None and schema.has_curves
    return [
        "A number with a curve has a row for each stretch over which the curve rises or falls. Left out are "
        f"wiggles smaller than {WIGGLE_OF_ITS_HEIGHT:.0%} of the curve's height, or than "
        f"{WIGGLE_OF_THE_HIGHEST:.0%} of the highest curve's, because they may be noise."
    ] * has_curves


def _of_the_norm(model: Published) -> list[str]:
    return ["The score is then divided by the norm of the record's columns."] * model.unit_rows


def _spoken_for(model: Published, schema: Schema | None, positive: Any) -> list[str]:
    if model.link.predicts_classes:
        return [f"Positive weights favour {printable(str(positive))}."]
    if "quantile" in model.settings:
        share = f"{100.0 * model.settings['quantile']:g}%"
        return [f"The prediction is the number that {share} of such records are expected to stay below."]
    if model.unit_rows:
        number = "e to the power of the score" if model.link is LOG else "the score"
        return [f"{_predicted(schema).capitalize()} is {number}."]
    ratio = f"The rate ratio is the factor by which {_predicted(schema)} is multiplied."
    return [ratio] * (model.link is LOG)


def _of_the_intercept(model: Published, schema: Schema | None, intercept: float) -> str:
    record = f"a record with {_start(model, schema)}"
    if model.link.predicts_classes or model.unit_rows:
        return f"The intercept, {intercept:+.4g}, is the score of {record}."
    if model.link is LOG:
        return f"For {record}, {_predicted(schema)} is {_unsigned(_exp(intercept))}."
    unit = schema.label.unit if schema is not None and isinstance(schema.label, Quantity) else ""
    return f"For {record}, {_predicted(schema)} is {_unsigned(intercept)} {printable(unit)}".rstrip() + "."


def _unsigned(number: float) -> str:
    """Return a number as the table shows weights, without a plus: 18,850, not 1.885e+04."""
    return signed(number).removeprefix("+")


def _exp(x: float) -> float:
    return math.exp(x) if x < 700.0 else math.inf


# -- numbers ------------------------------------------------------------------------------------------------


def _tables(
    model: Published, schema: Schema | None, shown: ShownScores
) -> tuple[list[list[Weight]], list[float]]:
    """Return the rows of each score, and the number to add to its intercept."""
    if schema is not None:
        curves = curves_in(schema, shown)
        stretches = {name: curve.stretches for name, curve in curves.items()}
        ends = shown.ends.tolist()
        parts = [_in_words(schema, stretches, k, raw, ends) for k, raw in enumerate(shown.weights.tolist())]
    elif model.bounds is not None:
        parts = [_over_ranges(model, raw) for raw in shown.weights.tolist()]
    else:
        names = _names(model)
        parts = [
            ([Weight(name, "", weight, "one more") for name, weight in zip(names, raw, strict=True)], 0.0)
            for raw in shown.weights.tolist()
        ]
    return [rows for rows, _ in parts], [added for _, added in parts]


def _in_words(
    schema: Schema,
    stretches: Mapping[str, Sequence[Stretch]],
    score: int,
    raw: Sequence[float],
    ends: Sequence[float],
) -> tuple[list[Weight], float]:
    """Return a row for each level of each column, and the amounts that references add to every score.

    The weights of a column's categories have no meaning by themselves: one category applies to each record,
    so adding a number to all of them and subtracting it from the intercept changes no score. Differences from
    the reference have a meaning, and the weight of the reference is added to the intercept. A curve is 0 at
    the lowest declared value, and has a row for each stretch over which it rises or falls.
    """
    rows, added, left = [], 0.0, zip(raw, ends, strict=True)
    for fact in schema.features:
        own, end_of = {}, {"": 1.0}
        for level in fact.levels:
            own[level], end_of[level] = next(left)
        reference, base = "", 0.0
        if isinstance(fact, Categorical):
            reference = fact.reference_level
            base = own[reference]
            if fact.missing == "fill" and fact.fill is None:
                own[""] = 0.0  # no category applies
        elif fact.name in stretches:
            own = {OTHER: own[OTHER]} if fact.has_indicator else {}
            rows += [
                Weight(fact.name, "", stretch.changes[score], stretch.words)
                for stretch in stretches[fact.name]
            ]
        added += base
        rows += [
            Weight(
                fact.name,
                level,
                weight - base + 0.0,
                in_words(fact, level) + _until(fact, end_of[level]),
                reference,
            )
            for level, weight in own.items()
        ]
    return rows, added


def _until(fact: Feature, end: float) -> str:
    """Return in words the value above which a number no longer changes a score, if there is one."""
    if end >= 1.0 or not isinstance(fact, Numeric | Date):
        return ""
    low, high = fact.ends
    value = low + end * (high - low)
    if isinstance(fact, Date):
        return f", all of that by {datetime.date.fromordinal(round(value))}"
    return with_separators(f", all of that by {value:.6g}")


def _over_ranges(model: Published, raw: Sequence[float]) -> tuple[list[Weight], float]:
    """Return a row for each column that is clipped to bounds, and the score of the lowest values."""
    assert model.bounds is not None
    low, high = (side.tolist() for side in model.bounds)
    rows = [
        Weight(name, "", weight * (end - start) + 0.0, with_separators(f"from {start:.6g} to {end:.6g}"))
        for name, weight, start, end in zip(_names(model), raw, low, high, strict=True)
    ]
    return rows, math.fsum(weight * start for weight, start in zip(raw, low, strict=True))


def _names(model: Published) -> Sequence[str]:
    return model.weight_names or [f"column {i}" for i in range(model.n_columns)]


def _with_ratios(model: Published, rows: Iterable[Weight]) -> Iterator[Weight]:
    for row in rows:
        if model.link.has_odds:
            yield row._replace(odds_ratio=_exp(row.weight))
        elif model.link is LOG and not model.unit_rows:
            yield row._replace(rate_ratio=_exp(row.weight))
        else:
            yield row
