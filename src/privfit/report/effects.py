"""The page's picture of effects with intervals: significant effects stand out, and the others are faded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from privfit.models.contrast import TOO_LITTLE, Contrast, number_text, ratio_texts
from privfit.models.curve_picture import ticks
from privfit.models.effects import Effects
from privfit.models.published import Published
from privfit.models.summary import Summary
from privfit.models.weight_table import signed
from privfit.report.charts import table

EFFECTS_LISTED = 5_000  # so that the page stays below a megabyte


def effects_charts(model: Published, most: int, drawn_elsewhere: Iterable[str] = ()) -> dict[str, str]:
    """Draw the effects of a model with error bars, all to one scale.

    Parameters
    ----------
    model : Published
        A model with an inference.
    most : int
        How many effects of a class are drawn.
    drawn_elsewhere : iterable of str
        Columns that have a picture of their own.

    Returns
    -------
    charts : dict of str
        By class: a list with a line for each effect. Significant effects come first, from large to small, and
        then the others. With several classes there is a chart for each class but the first; otherwise there
        is one, whose name is "".
    """
    effects, curved = Effects(model), set(drawn_elsewhere)
    found = dict[str, list[tuple[str, Contrast]]]()
    for row in effects.over_ranges():
        if row.contrast is not None and not (row.column in curved and row.level.find(" to ") > 0):
            found.setdefault(row.label, []).append((row.name, row.contrast))
    shown = {label: sorted(each, key=lambda one: _order(one[1]))[:most] for label, each in found.items()}
    scale = _scale([contrast for each in shown.values() for _, contrast in each])
    percent = f"{100.0 * effects.level:g}%"
    charts = dict[str, str]()
    for label, each in shown.items():
        lines = "".join(_line(name, contrast, *scale) for name, contrast in each)
        count = len(found[label])
        counted = f"the first {len(each):,} of {count:,}" if count > len(each) else "all of them"
        on = f" on {escape(each[0][1].reading.changed)}" if label else ""
        caption = f"Effects{on} with {percent} intervals, {counted}."
        if not charts:
            caption += f" {_how_to_read(effects.reading.ratio)}"
        charts[label] = (
            f'<figure class="effects"><figcaption>{caption}</figcaption><ul>{lines}</ul>'
            f"{_axis(*scale)}</figure>"
        )
    return charts


def _how_to_read(ratio: str) -> str:
    numbers = f" The numbers are {ratio}s; the axis is that of their logarithms." if ratio else ""
    return (
        "The dot is the estimate. The thick bar is the interval for sampling error alone, and the thin line "
        "the interval for sampling error and the noise of the fit together. If the line crosses zero, the "
        f"effect is faded, because it may be nothing but noise.{numbers}"
    )


def effects_table(model: Published) -> str:
    """Return the regression table with intervals, and notes on how to read it.

    Parameters
    ----------
    model : Published
        A model with an inference.

    Returns
    -------
    html : str
        A table that gets a scroll bar of its own if it is too wide.
    """
    summary = Summary.of(model)
    heading, rows = ("effect", *summary.heading()), []
    for row in summary[:EFFECTS_LISTED]:
        texts = summary.cells(row)
        name = f"{row.label}: {row.name}" if row.label else row.name
        rows.append((name, *((texts,) if isinstance(texts, str) else texts)))
    filled = [(*row, *[""] * (len(heading) - len(row))) for row in rows]
    notes = "".join(f"<p>{escape(note)}</p>" for note in summary.notes)
    shown = table(heading, filled, f"Effects with {100.0 * summary.level:g}% intervals")
    return f'<details open class="regression"><summary>The regression table</summary>{shown}{notes}</details>'


def _order(contrast: Contrast) -> tuple[bool, bool, float]:
    return contrast.refused is not None, not contrast.is_sure, -abs(contrast.estimate)


def _scale(shown: Sequence[Contrast]) -> tuple[float, float]:
    """Return the ends of the axis: they hold the intervals of significant effects, and all estimates.

    The interval of an effect that is mostly noise may be far longer, and is cut off.
    """
    answered = [contrast for contrast in shown if contrast.refused is None]
    values = [0.0, *(contrast.estimate for contrast in answered)]
    sure = [contrast for contrast in answered if contrast.is_sure]
    for contrast in sure or answered:
        values += contrast.interval()
    values = [value for value in values if math.isfinite(value)]
    low, high = min(values), max(values)
    room = 0.03 * (high - low) or 1.0
    return low - room, high + room


def _line(name: str, contrast: Contrast, low: float, high: float) -> str:
    """Draw one effect."""
    name = escape(name)
    if contrast.refused is not None:
        return f'<li class="unsure"><span>{name}</span><i></i><span class="ends">{TOO_LITTLE}</span></li>'

    def place(value: float) -> float:
        return 100.0 * min(max((value - low) / (high - low), 0.0), 1.0)

    start, end = map(place, contrast.interval())
    share = contrast.sampling / contrast.std_err if contrast.std_err else 0.0
    ends = contrast.interval()
    inner = [place(contrast.estimate + share * (side - contrast.estimate)) for side in ends]
    cut = "".join(
        f" cut-{side}"
        for side, value, limit in (("left", ends[0], low), ("right", -ends[1], -high))
        if value < limit
    )
    kind = "sure" if contrast.is_sure else "unsure"
    kind += " minus" if contrast.estimate < 0.0 else ""
    return (
        f'<li class="{kind}"><span>{name}</span><i aria-hidden="true">'
        f'<b class="zero" style="left:{place(0.0):.2f}%"></b>'
        f'<b class="whole{cut}" style="left:{start:.2f}%;width:{max(end - start, 0.3):.2f}%"></b>'
        f'<b class="inner" style="left:{inner[0]:.2f}%;width:{max(inner[1] - inner[0], 0.3):.2f}%"></b>'
        f'<b class="dot" style="left:{place(contrast.estimate):.2f}%"></b></i>'
        f'<span class="ends">{escape(_ends(contrast))}</span></li>'
    )


def _ends(contrast: Contrast) -> str:
    """Write an estimate and its interval: the ratio, if there is one."""
    if contrast.ratio is not None:
        ratio, low, high = ratio_texts([contrast.ratio, *(contrast.ratio_interval() or ())], contrast.std_err)
        return f"{ratio} ({low} to {high})"
    found = (contrast.estimate, *contrast.interval())
    estimate, low, high = (number_text(number, contrast.std_err) for number in found)
    return f"{estimate} ({low} to {high})"


def _axis(low: float, high: float) -> str:
    """Return round numbers for the axis below the picture, on the scale of the score."""
    marks = "".join(
        f'<b style="left:{100.0 * (tick - low) / (high - low):.2f}%">{signed(tick)}</b>'
        for tick in ticks(low, high)
    )
    return f'<div class="axis" aria-hidden="true"><span></span><i>{marks}</i><span></span></div>'
