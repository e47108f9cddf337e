"""The paper's figures: accuracy beside objective, a row for each data set, one legend, error bars.

They are eight inches wide, so that letters are legible on a page that shows them at 800 pixels.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping
from io import BytesIO, StringIO
from itertools import pairwise, product
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from PIL import Image

from privfit.experiments.curves import (
    ARROWS,
    AT_THE_EDGE,
    METRICS,
    NO_MAJORITY,
    Curve,
    Line,
    Metric,
    curves,
    defaults,
    label,
    notes,
    read_references,
    references,
    terms,
)
from privfit.experiments.designs import DATASETS, MODELS, PAPERS, Cell, Experiment
from privfit.experiments.fit import Outcome
from privfit.experiments.styles import (
    EPSILON_COLOURS,
    INK,
    LOOKS,
    OTHER,
    PAPER,
    STYLES,
    Style,
    adapt_to_dark_paper,
)
from privfit.experiments.waterfall import waterfalls

WIDTH, PANEL_HEIGHT, LEGEND_ROW, TITLE_ROW = 8.0, 2.5, 0.2, 0.4  # inches; titles of two lines are higher
NOTE_WIDTH = 120  # letters of a line below the panels
AS_PRINTED = ("logistic", "svm", "kddcup99")  # Figures 2 to 4
IN_ONE_ROW = ("kddcup99",)  # Figure 4
# the highest top of a panel as printed, in units of the objective of predicting the majority
MAJORITIES = 2.5
MARGIN = 0.05  # of a panel's range, above and below its curves
SYMBOLS = {
    "C_grad": r"$C_\mathrm{grad}$",
    "C_obj": r"$C_\mathrm{obj}$",
    "gamma": r"$\gamma$",
    "alpha": "step size",
    "step": "step size",
    "radius": "radius of the ball",
}
FEW_TIMES = 4  # ratio of the ends of an objective's range below which its axis is linear
MANY_TIMES = 7  # ratio of the ends of a parameter's range above which its axis is logarithmic
NARROW = 30  # ratio of the ends below which a logarithmic axis has room for more numbers
LOWEST, HIGHEST = 1e-4, 10.0  # objectives beyond these are marked at the edge of their panel


def draw(experiment: Experiment, rows: Mapping[Cell, Outcome], out: Path, seed: int) -> None:
    """Draw one experiment as PNG, and as an SVG that follows the reader's choice of light or dark.

    Rows of other experiments with which it is compared are read from the same directory.
    """
    with mpl.rc_context(LOOKS | {"svg.hashsalt": experiment.name}):
        figures = (
            waterfalls(experiment, rows)
            if experiment.waterfall
            else {experiment.name: compose(experiment, rows, read_references(experiment, out, seed))}
        )
        if experiment.name in AS_PRINTED:
            figures[f"{experiment.name}-as-printed"] = compose_as_printed(experiment, rows)
        for name, figure in figures.items():
            text, pixels = StringIO(), BytesIO()
            figure.savefig(text, format="svg", metadata={"Date": None})
            figure.savefig(pixels, dpi=200)
            (out / f"{name}.svg").write_text(adapt_to_dark_paper(text.getvalue()), encoding="utf-8")
            # with a palette the file has a third of the size
            Image.open(pixels).convert("RGB").quantize(128).save(out / f"{name}.png", optimize=True)


def compose(
    experiment: Experiment, rows: Mapping[Cell, Outcome], compared: Mapping[Cell, Outcome] | None = None
) -> Figure:
    """Draw a row of panels for each task that has rows, with the references."""
    present = {(cell.dataset, cell.loss) for cell in rows}
    tasks = [task for task in experiment.tasks if task in present]
    found = {
        (task, metric): references(compared or {}, task, metric) | curves(experiment, rows, task, metric)
        for task, metric in product(tasks, METRICS)
    }
    lines = {line: None for curves_of_panel in found.values() for line in curves_of_panel}
    # if a parameter is varied, each algorithm has a column of panels
    columns = 3 if experiment.parameter is None else min(math.ceil(len(lines) / len(experiment.epsilons)), 3)
    height = PANEL_HEIGHT * len(tasks) + LEGEND_ROW * math.ceil(len(lines) / columns)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(len(tasks), len(METRICS), squeeze=False)
    for row, task in zip(axes, tasks, strict=True):
        for ax, metric in zip(row, METRICS, strict=True):
            _panel(ax, experiment, found[task, metric], task, metric)
    _add_legend(figure, columns)
    _say_below(figure, [*terms(experiment, rows), *notes(experiment, rows)])
    return figure


def compose_as_printed(experiment: Experiment, rows: Mapping[Cell, Outcome]) -> Figure:
    """Draw the paper's curves in the paper's layout, with the objectives themselves.

    Figures 2 and 3 have accuracies above and objectives below; Figure 4 has all four panels in one row.
    """
    paper = {cell: row for cell, row in rows.items() if cell.algorithm in PAPERS}
    present = {(cell.dataset, cell.loss) for cell in paper}
    tasks = [task for task in experiment.tasks if task in present]
    in_one_row = experiment.name in IN_ONE_ROW
    rows_of_panels = 1 if in_one_row else len(METRICS)
    height = rows_of_panels * PANEL_HEIGHT + 3 * LEGEND_ROW + in_one_row * TITLE_ROW
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(rows_of_panels, len(tasks) * len(METRICS) // rows_of_panels, squeeze=False)
    panels = product(tasks, METRICS) if in_one_row else ((t, metric) for metric in METRICS for t in tasks)
    for ax, (task, metric) in zip(axes.flat, panels, strict=True):
        _panel_as_printed(ax, experiment, curves(experiment, paper, task, metric), task, metric)
        if in_one_row or task == tasks[0]:
            ax.set_ylabel("test accuracy" if metric == "accuracy" else "objective (training)")
        if in_one_row:  # panels of one data set are narrow, and have room for every other number
            ax.set_title(f"{DATASETS[task[0]]},\n{MODELS[task[1]]}")
            ax.set_xticks(
                experiment.epsilons, [f"{x:g}" * (i % 2 == 0) for i, x in enumerate(experiment.epsilons)]
            )
    _add_legend(figure, 4)
    _say_below(figure, [*terms(experiment, paper), *notes(experiment, paper)])
    return figure


def _panel_as_printed(
    ax: Axes, experiment: Experiment, found: dict[Line, Curve], task: tuple[str, str], metric: Metric
) -> None:
    ax.set_title(f"{DATASETS[task[0]]}, {MODELS[task[1]]}")
    ax.set_xlabel("ε", labelpad=1)
    ax.set_xscale("log")
    _draw_all(ax, _with_steps(found), experiment.epsilons)
    low, high = _range_as_printed(found)
    if metric == "objective":
        majority = found.get("majority", {}).get(math.inf)
        low, high = 0.0, min(high, MAJORITIES * majority.mean or high) if majority else high
    ax.set_ylim(low, high)
    _mark_outside(ax, _with_steps(found), lambda mean: mean)
    _mark_no_steps(ax, found, lambda mean: mean)
    ax.set_xticks(experiment.epsilons, [f"{x:g}" for x in experiment.epsilons], fontsize=8)
    ax.xaxis.minorticks_off()


def _range_as_printed(found: Mapping[Line, Curve]) -> tuple[float, float]:
    """Return the range of a panel: that of its curves and of NonPrivate, with a margin.

    Majority and fits without a step are in the range, too, unless a gap as wide as all curves would separate
    them from the curves. In that case the panel ends before the gap.
    """
    core, more = [], []
    for line, curve in found.items():
        for x, point in curve.items():
            if line == "majority" or point.no_step:
                more.append(point.mean)
            else:
                error = point.error if math.isfinite(point.error) and math.isfinite(x) else 0.0
                core += [point.mean - error, point.mean + error]
    low, high = min(core), max(core)
    span = high - low
    near = [y for y in more if low - span <= y <= high + span]
    low, high = min([low, *near]), max([high, *near])
    margin = MARGIN * (high - low) or MARGIN
    return low - margin, high + margin


def _say_below(figure: Figure, sentences: list[str]) -> None:
    """Write sentences below the panels, and explain arrows and other marks for values beyond a panel."""
    marks = [str(line.get_gid()) for ax in figure.axes for line in ax.lines]
    if any(mark.startswith("no step at the edge") for mark in marks):
        sentences = [*sentences, AT_THE_EDGE]
    if any(mark.startswith(("below", "above")) for mark in marks):
        sentences = [*sentences, ARROWS]
    if any(_beyond(ax, "Majority") for ax in figure.axes):
        sentences = [*sentences, NO_MAJORITY]
    figure.supxlabel(textwrap.fill(" ".join(sentences), NOTE_WIDTH, break_on_hyphens=False), fontsize=8.5)


def _beyond(ax: Axes, name: str) -> bool:
    """Return whether a reference's line is beyond the panel."""
    low, high = ax.get_ylim()
    heights = [np.asarray(line.get_ydata(), float)[0] for line in ax.lines if line.get_label() == name]
    return any(not low <= y <= high for y in heights)


def _add_legend(figure: Figure, columns: int) -> None:
    entries = {
        text: key for ax in figure.axes for key, text in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        entries.values(), entries, loc="outside upper center", ncols=columns, frameon=False, fontsize=8.5
    )


def _with_steps(found: Mapping[Line, Curve]) -> dict[Line, Curve]:
    """Return the curves without the points of fits that took no step."""
    return {
        line: {x: point for x, point in curve.items() if not point.no_step} for line, curve in found.items()
    }


def _panel(
    ax: Axes, experiment: Experiment, found: dict[Line, Curve], task: tuple[str, str], metric: Metric
) -> None:
    dataset, loss = task
    ax.set_title(f"{DATASETS[dataset]}, {MODELS[loss]}")
    parameter = experiment.parameter
    ax.set_xlabel("ε" if parameter is None else SYMBOLS.get(parameter, parameter), labelpad=1)
    xs = experiment.values or experiment.epsilons
    if xs[-1] >= MANY_TIMES * xs[0]:
        ax.set_xscale("log")
    fitted = _with_steps(found)
    height: Callable[[float], float] = lambda mean: mean  # noqa: E731
    if metric == "objective":
        reference = found.get("nonprivate")
        floor = reference[math.inf].mean if reference else 0.0
        height = lambda mean: mean - floor  # noqa: E731
        ax.set_ylabel("objective less NonPrivate's" if reference else "objective")
        shown = {line: curve for line, curve in found.items() if line != "nonprivate"}
        _choose_scale(ax, [height(point.mean) for curve in shown.values() for point in curve.values()])
        _draw_all(ax, _with_steps(shown), xs, offset=-floor)
        _mark_outside(ax, _with_steps(shown), height)
    elif dataset == "kddcup99":  # nearly separable, so error rates differ more visibly
        height = lambda mean: 1.0 - mean  # noqa: E731
        _draw_all(ax, fitted, xs, offset=1.0, sign=-1.0)
        ax.set_ylabel("test error")
        _use_logarithms(ax)
    else:
        _draw_all(ax, fitted, xs)
        ax.set_ylabel("test accuracy")
    _mark_no_steps(ax, found, height)
    names = {x: f"{x:g}" if any(x in curve for curve in found.values()) else f"{x:g}\nnot run" for x in xs}
    for default in {value for value in defaults(experiment).values() if value is not None}:
        names[default] = f"{default:g}\ndefault"
        ax.axvline(default, color=INK, lw=0.8, ls=(0, (1, 2)))
    ax.set_xticks(list(names), list(names.values()))
    ax.xaxis.minorticks_off()


def _mark_no_steps(ax: Axes, found: Mapping[Line, Curve], height: Callable[[float], float]) -> None:
    """Draw hollow marks for fits without a step, which are not on the curve.

    If the range of the panel is not fixed, it grows to contain them. Otherwise marks may be on its edge.
    """
    low, high = (-math.inf, math.inf) if ax.get_autoscaley_on() else ax.get_ylim()
    for line, curve in found.items():
        idle = {x: height(point.mean) for x, point in curve.items() if point.no_step}
        if idle:
            shown = [min(max(y, low), high) for y in idle.values()]
            beyond = "no step at the edge" if shown != list(idle.values()) else "no step"
            ax.plot(
                list(idle),
                shown,
                ls="none",
                marker=style_of(line).shape,
                markersize=6.5,
                mfc=PAPER,
                mec=style_of(line).colour,
                label=f"{label(line)}: no step",
                gid=f"{beyond} {label(line)}",
                clip_on=False,
                zorder=5,
            )


def _choose_scale(ax: Axes, heights: list[float]) -> None:
    """Use a logarithmic axis if heights differ by much, so that an outlier does not flatten others."""
    positive = [height for height in heights if height > 0.0]
    low = max(0.7 * min(positive, default=LOWEST), LOWEST)
    high = min(1.4 * max(positive, default=HIGHEST), HIGHEST)
    if high < FEW_TIMES * low:  # on such a short range, a logarithmic axis would have no numbers
        margin = 0.1 * (max(heights) - min(heights)) or 0.1
        ax.set_ylim(min(heights) - margin, max(heights) + margin)
        return
    _use_logarithms(ax)
    if high < NARROW * low:
        ax.yaxis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
    ax.set_ylim(low, high)


def _mark_outside(ax: Axes, found: Mapping[Line, Curve], height: Callable[[float], float]) -> None:
    """Draw arrows at the edge of a panel for values beyond it."""
    low, high = ax.get_ylim()
    for line, curve in found.items():
        for x, point in curve.items():
            y = height(point.mean)
            outside = "below" if y < low else "above" if y > high else None
            if outside and math.isfinite(x):
                edge, shape = (0.06, "$↓$") if outside == "below" else (0.94, "$↑$")
                ax.plot(
                    [x],
                    [edge],
                    transform=ax.get_xaxis_transform(),
                    marker=shape,
                    markersize=10,
                    color=style_of(line).colour,
                    gid=f"{outside} {label(line)}",
                    zorder=5,
                )


def _use_logarithms(ax: Axes) -> None:
    ax.set_yscale("log")
    ax.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    ax.yaxis.set_minor_formatter("{x:g}")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.tick_params(axis="y", which="minor", labelsize=7)


def _draw_all(
    ax: Axes, found: dict[Line, Curve], xs: tuple[float, ...], offset: float = 0.0, sign: float = 1.0
) -> None:
    """Draw every curve as offset + sign * mean; it is interrupted where a point of the grid is missing."""
    for line, curve in found.items():
        style, means = style_of(line), {x: offset + sign * point.mean for x, point in curve.items()}
        if math.inf in curve:
            ax.axhline(
                means[math.inf], ls=style.dashes, color=style.colour, lw=style.width, label=label(line)
            )
            continue
        places = sorted({*xs, *curve})
        ax.errorbar(
            places,
            [means.get(x, math.nan) for x in places],
            [curve[x].error if x in curve else math.nan for x in places],
            label=label(line),
            color=style.colour,
            marker=style.shape,
            markersize=4.5,
            mfc=PAPER if style.hollow else style.colour,
            ls=style.dashes,
            lw=style.width,
            zorder=4 if line == "adaptive" else 3,
            elinewidth=0.8,
            capsize=1.5,
        )
        for a, b in pairwise(means):
            if any(a < x < b for x in xs):  # a value in between was not measured
                ax.plot([a, b], [means[a], means[b]], color=style.colour, lw=0.7, ls=(0, (1, 4)), gid="gap")


def style_of(line: Line) -> Style:
    """Return the look of a curve: an algorithm's, or its marks and dashes in the colour of an epsilon."""
    if isinstance(line, str):
        return STYLES.get(line, OTHER)
    algorithm, epsilon = line
    relative = STYLES.get(algorithm, OTHER)
    hollow = relative.dashes != "-"
    return Style(EPSILON_COLOURS[epsilon], relative.shape, relative.dashes, 1.3, hollow)
