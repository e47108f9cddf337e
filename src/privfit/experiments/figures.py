"""The paper's figures: accuracy beside objective, a row for each data set, one legend, error bars.

They are eight inches wide, so that letters are legible where a page shows them at 800 pixels.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from io import BytesIO, StringIO
from itertools import pairwise, product
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from PIL import Image

from privfit.experiments.cells import DATASETS, MODELS, Cell, Experiment
from privfit.experiments.curves import (
    METRICS,
    Curve,
    Line,
    Metric,
    curves,
    defaults,
    label,
    notes,
    read_references,
    references,
)
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

WIDTH, PANEL_HEIGHT, LEGEND_ROW = 8.0, 2.5, 0.2  # inches
NOTE_WIDTH = 120  # letters of a line below the panels
MANY_TIMES = 10  # wider ranges of a parameter get logarithms
NARROW = 30  # times: on such a logarithmic axis there is room for more numbers
LOWEST, HIGHEST = 1e-4, 10.0  # objectives beyond these are marked at the edge of their panel


def draw(experiment: Experiment, rows: Mapping[Cell, Outcome], out: Path, seed: int) -> None:
    """Draw one experiment as PNG, and as an SVG that follows the reader's choice of light or dark.

    Other rows of the seed that it is compared with are read from the same directory.
    """
    with mpl.rc_context(LOOKS | {"svg.hashsalt": experiment.name}):
        figures = (
            waterfalls(experiment, rows)
            if experiment.waterfall
            else {experiment.name: compose(experiment, rows, read_references(experiment, out, seed))}
        )
        for name, figure in figures.items():
            text, pixels = StringIO(), BytesIO()
            figure.savefig(text, format="svg", metadata={"Date": None})
            figure.savefig(pixels, dpi=200)
            (out / f"{name}.svg").write_text(adapt_to_dark_paper(text.getvalue()), encoding="utf-8")
            # a palette makes the file three times smaller
            Image.open(pixels).convert("RGB").quantize(128).save(out / f"{name}.png", optimize=True)


def compose(
    experiment: Experiment, rows: Mapping[Cell, Outcome], compared: Mapping[Cell, Outcome] | None = None
) -> Figure:
    """Lay out a row of panels for each task of which there are rows, with what they are compared with."""
    present = {(cell.dataset, cell.loss) for cell in rows}
    tasks = [task for task in experiment.tasks if task in present]
    found = {
        (task, metric): references(compared or {}, task, metric) | curves(experiment, rows, task, metric)
        for task, metric in product(tasks, METRICS)
    }
    lines = {line: None for curves_of_panel in found.values() for line in curves_of_panel}
    # where a parameter is varied, an algorithm has a column of its own
    columns = 3 if experiment.parameter is None else min(math.ceil(len(lines) / len(experiment.epsilons)), 3)
    height = PANEL_HEIGHT * len(tasks) + LEGEND_ROW * math.ceil(len(lines) / columns)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(len(tasks), len(METRICS), squeeze=False)
    for row, task in zip(axes, tasks, strict=True):
        for ax, metric in zip(row, METRICS, strict=True):
            _panel(ax, experiment, found[task, metric], task, metric)
    entries = {
        text: key for ax in axes.flat for key, text in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        entries.values(),
        entries,
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        fontsize=8.5,
    )
    note = textwrap.fill(" ".join(notes(experiment, rows)), NOTE_WIDTH)
    if note:
        figure.supxlabel(note, fontsize=8.5)
    return figure


def _panel(
    ax: Axes, experiment: Experiment, found: dict[Line, Curve], task: tuple[str, str], metric: Metric
) -> None:
    dataset, loss = task
    ax.set_title(f"{DATASETS[dataset]}, {MODELS[loss]}")
    ax.set_xlabel("ε" if experiment.parameter is None else experiment.parameter, labelpad=1)
    xs = experiment.values or experiment.epsilons
    if xs[-1] >= MANY_TIMES * xs[0]:
        ax.set_xscale("log")
    fitted = {
        line: {x: point for x, point in curve.items() if not point.no_step} for line, curve in found.items()
    }
    if metric == "objective":
        _draw_objectives(ax, fitted, xs)
    elif dataset == "kddcup99":  # nearly separable: the errors, not the accuracies, tell the curves apart
        _draw_all(ax, fitted, xs, offset=1.0, sign=-1.0)
        ax.set_ylabel("test error")
        _use_logarithms(ax)
    else:
        _draw_all(ax, fitted, xs)
        ax.set_ylabel("test accuracy")
    _mark_no_steps(ax, found, at_the_top=ax.get_ylabel() != "test accuracy")
    names = {x: f"{x:g}" if any(x in curve for curve in found.values()) else f"{x:g}\nnot run" for x in xs}
    for default in {value for value in defaults(experiment).values() if value is not None}:
        names[default] = f"{default:g}\ndefault"
        ax.axvline(default, color=INK, lw=0.8, ls=(0, (1, 2)))
    ax.set_xticks(list(names), list(names.values()))
    ax.xaxis.minorticks_off()


def _mark_no_steps(ax: Axes, found: dict[Line, Curve], *, at_the_top: bool) -> None:
    """Mark fits without a step on the worse edge of a panel, where nobody reads a value off them."""
    idle = {line: [x for x, point in curve.items() if point.no_step] for line, curve in found.items()}
    for place, line in enumerate(line for line, xs in idle.items() if xs):
        height = 0.08 * place
        ax.plot(
            idle[line],
            [1.0 - height if at_the_top else height] * len(idle[line]),
            transform=ax.get_xaxis_transform(),
            ls="none",
            marker=style_of(line).shape,
            markersize=6.5,
            mfc=PAPER,
            mec=style_of(line).colour,
            label=f"{label(line)}: no step",
            clip_on=False,
            zorder=5,
        )


def _draw_objectives(ax: Axes, found: dict[Line, Curve], xs: tuple[float, ...]) -> None:
    """Draw on a logarithmic axis, above the objective without privacy where that is known.

    Otherwise one curve that is far off would hide the others. Points beyond the panel become arrows at its
    edge.
    """
    reference = found.get("nonprivate")
    floor = reference[math.inf].mean if reference else 0.0
    shown = {line: curve for line, curve in found.items() if line != "nonprivate"}
    heights = [point.mean - floor for curve in shown.values() for point in curve.values()]
    positive = [height for height in heights if height > 0.0]
    low = max(0.7 * min(positive, default=LOWEST), LOWEST)
    high = min(1.4 * max(positive, default=HIGHEST), HIGHEST)
    _use_logarithms(ax)
    if high < NARROW * low:
        ax.yaxis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
    ax.set_ylim(low, high)
    ax.set_ylabel("objective less NonPrivate's" if reference else "objective")
    _draw_all(ax, shown, xs, offset=-floor)
    for line, curve in shown.items():
        for x, point in curve.items():
            outside = "below" if point.mean - floor < low else "above" if point.mean - floor > high else None
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
    """Draw every curve as offset + sign * mean; where a point of the grid is missing, it is interrupted."""
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
            if any(a < x < b for x in xs):  # not measured in between
                ax.plot([a, b], [means[a], means[b]], color=style.colour, lw=0.7, ls=(0, (1, 4)), gid="gap")


def style_of(line: Line) -> Style:
    """Return the look of a curve: an algorithm's, or an epsilon's colour with the algorithm's dashes."""
    if isinstance(line, str):
        return STYLES.get(line, OTHER)
    algorithm, epsilon = line
    colour, shape = EPSILON_COLOURS[epsilon]
    relative = STYLES.get(algorithm, OTHER)
    return Style(colour, shape, relative.dashes, 1.3, hollow=relative.dashes != "-")
