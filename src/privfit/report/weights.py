"""The page's section about the weights, in the words of the schema if the model has one."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from privfit.models.curves import Curves, curves_of
from privfit.models.links import LOG
from privfit.models.published import Published
from privfit.models.weight_table import Weight, WeightTable, signed
from privfit.printable import printable
from privfit.report.charts import bars, table
from privfit.report.curves import pictures, reading_curves
from privfit.report.effects import effects_charts, effects_table

WEIGHTS_DRAWN, WEIGHTS_LISTED = 20, 5_000  # so that the page stays below a megabyte
CURVES_DRAWN = 60
CLASSES_DRAWN, DRAWN_OF_A_CLASS = 20, 10
NOISE = "These numbers contain the noise of the fit, so small ones may be nothing but noise."
CLASSES_SIDE_BY_SIDE = 6  # with more classes, all charts but the first are collapsed


def weights_section(model: Published, weights: WeightTable) -> str:
    """Return the weights as bars and as a table: those of the positive class, or those of each class."""
    *meaning, of_the_intercept = map(escape, weights.meaning)
    curves = curves_of(model)
    # columns with a picture get no bars
    barred = weights.with_lines(
        line for line in weights.lines if not (line[0].is_number and line[0].column in curves)
    )
    intro = (
        f"<p>{' '.join(meaning)} {_directions(model, weights) if barred else ''} {of_the_intercept} "
        f"{_doubled(model, weights)}"
        f"{NOISE if model.inference is None else ''}</p>"
    )
    charts = reading_curves(curves, model.link)
    if weights.classes:
        charts += _of_classes(model, barred, curves)
    else:
        charts += pictures(list(curves.values()), curves.scale, CURVES_DRAWN)
        if model.inference is not None:
            charts += "".join(effects_charts(model, WEIGHTS_DRAWN, curves).values())
            return f"{intro}{charts}{effects_table(model)}"
        charts += _drawn(barred, WEIGHTS_DRAWN, _title(curves))
    regression = "" if model.inference is None else effects_table(model)
    return f"{intro}{charts}{regression}{_listed(model, weights)}"


def _title(curves: Curves) -> str:
    """Return the title of the bars."""
    return "Weights besides the curves" if curves else "Weights"


def _directions(model: Published, weights: WeightTable) -> str:
    """Say what bars, or dots of effects, to the right and to the left mean."""
    if weights.classes and model.inference is not None:
        first = escape(str(model.classes[0]))
        return (
            f"The charts compare each class with <b>{first}</b>, because only differences between classes "
            f"have intervals: dots to the right favour the class, dots to the left favour <b>{first}</b>."
        )
    if weights.classes:
        return "Bars to the right raise the score of the class, bars to the left lower it."
    others = [value for value in model.classes if value != weights.positive]
    marks = "bars" if model.inference is None else "dots"
    if not others:
        return f"{marks.capitalize()} to the right raise the prediction, {marks} to the left lower it."
    return f"Their {marks} go to the right; {marks} to the left favour <b>{escape(str(others[0]))}</b>."


def _doubled(model: Published, weights: WeightTable) -> str:
    if weights.has_odds:
        return "A weight of 0.69 doubles the odds. "
    return "A weight of 0.69 doubles the prediction. " if model.link is LOG and weights.has_rates else ""


def _drawn(weights: WeightTable, most: int, title: str, scale: Sequence[float] = ()) -> str:
    """Draw the largest weights of one score as bars; references have none."""
    compared = [row for row in weights.by_size() if row.weight]
    rows = [(_label(row), row.weight, _short(row.weight)) for row in compared[:most]]
    if not weights:
        return ""
    shown = f"the largest of {len(compared):,}" if len(compared) > len(rows) else "all of them"
    return bars(rows, caption=f"{title}, {shown}", scale=scale)


def _of_classes(model: Published, weights: WeightTable, curves: Curves) -> str:
    """Draw a chart for each class of the table, all to one scale, and its curves, all to another.

    With intervals the first class has no chart of its own, because the others are compared with it.
    """
    scale, height = [row.weight for row in weights], curves.scale
    effects = None if model.inference is None else effects_charts(model, DRAWN_OF_A_CLASS, curves)
    charts = dict[str, str]()
    for label in weights.classes:
        name = str(label)
        chart = pictures([curve.of_class(label) for curve in curves.values()], height, DRAWN_OF_A_CLASS)
        if effects is None:
            chart += _drawn(weights.of_class(label), DRAWN_OF_A_CLASS, f"{_title(curves)} for {label}", scale)
        else:
            chart += effects.get(printable(name), "")
        if chart:
            charts[name] = chart
    if len(weights.classes) > CLASSES_SIDE_BY_SIDE:
        for name, chart in charts.items():
            is_open = " open" if name == next(iter(charts)) else ""
            charts[name] = f"<details{is_open}><summary>{escape(name)}</summary>{chart}</details>"
    elif curves:
        charts = {name: f"<h3>{escape(name)}</h3>{chart}" for name, chart in charts.items()}
    left = len(model.classes) - len(weights.classes)
    more = f"<p>The weights of {left:,} more classes are in the model file only.</p>" if left else ""
    return "".join(charts.values()) + more


def _listed(model: Published, weights: WeightTable) -> str:
    """Return the weights as a table, without the smallest ones if there are too many."""
    most = max(WEIGHTS_LISTED // max(len(weights.classes), 1), 1)
    lines = weights.lines
    by_size = sorted(range(len(lines)), key=lambda place: -max(abs(row.weight) for row in lines[place]))
    kept = [lines[place] for place in sorted(by_size[:most])]
    shown = weights.with_lines(kept)
    caption = "In the order of the schema." if model.schema is not None else "In the order of the columns."
    if len(kept) < len(lines):
        caption += f" The {len(lines) - len(kept):,} smallest weights are in the model file only."
    heading, *rows = shown.texts()
    return f"<details><summary>All weights as a table</summary>{table(heading, rows, caption)}</details>"


def _label(row: Weight) -> str:
    """Return the name of a weight beside its bar."""
    return f"{row.name}, {row.unit}" if row.unit else row.name


def _short(weight: float) -> str:
    """Write a weight beside its bar with few digits, because there is little room."""
    return f"{weight:+.2f}" if abs(weight) < 100.0 else signed(weight)
