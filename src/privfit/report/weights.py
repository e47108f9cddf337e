"""The page's section about the weights, in the words of the schema if there is one."""

from __future__ import annotations

from html import escape

from privfit.models.published import Published
from privfit.models.weights import Weight, Weights
from privfit.report.charts import bars, table

WEIGHTS_DRAWN, WEIGHTS_LISTED = 20, 5_000  # of a page that stays below a megabyte


def weights_section(model: Published, weights: Weights) -> str:
    """Return the weights as bars and as a table, for the class whose odds are spoken of."""
    by_size = sorted(range(len(weights)), key=lambda i: -abs(weights[i].weight))
    compared = [weights[i] for i in by_size if weights[i].weight]  # not the references
    drawn = [(_label(row), row.weight, f"{row.weight:+.2f}") for row in compared[:WEIGHTS_DRAWN]]
    others = [value for value in model.classes if value != weights.positive]
    left = f"speak for <b>{escape(str(others[0]))}</b>" if others else "lower it"
    to_the_right = "Their bars go" if others else "Bars of positive weights go"
    intro = (
        f"<p>{escape(' '.join(weights.meaning[:-1]))} {to_the_right} to the right; bars to the left {left}. "
        f"{escape(weights.meaning[-1])} "
        + ("A weight of 0.69 doubles the odds. " if weights.has_odds else "")
        + "The noise of the fit is in these numbers, so small ones may be nothing but noise.</p>"
    )
    shown = f"the largest of {len(compared):,}" if len(compared) > len(drawn) else "all of them"
    heading, *rows = Weights(weights[i] for i in sorted(by_size[:WEIGHTS_LISTED])).texts()
    left_out = len(weights) - len(rows)
    caption = "In the order of the schema." if model.schema is not None else "In the order of the columns."
    if left_out:
        caption += f" The {left_out:,} smallest weights are in the model file only."
    return (
        intro
        + bars(drawn, caption=f"Weights, {shown}")
        + "<details><summary>All weights as a table</summary>"
        + f"{table(heading, rows, caption)}</details>"
    )


def _label(row: Weight) -> str:
    """Return what a weight is called beside its bar."""
    name = f"{row.column} = {row.level}" if row.level else row.column
    return f"{name}, {row.unit}" if row.unit else name
