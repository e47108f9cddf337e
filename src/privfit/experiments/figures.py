"""The figures in the paper's layout: accuracy and objective, one legend for all panels, error bars."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from privfit.experiments.cells import DATASETS, FAULTY, MODELS, Cell, Experiment
from privfit.experiments.curves import METRICS, Curve, Line, Metric, curves, label
from privfit.experiments.fit import Outcome

# Paul Tol's "muted" colours, which people with any colour vision can tell apart, each with a shape.
_STYLES: dict[str | float, tuple[str, str]] = {
    "adaptive": ("#000000", "o"),
    "gradient-descent": ("#882255", "D"),
    "dpagd": ("#332288", "s"),
    "dpagd-capped": ("#332288", "*"),
    FAULTY: ("#332288", "s"),
    "objective-perturbation": ("#117733", "v"),
    "approximate-minima-perturbation": ("#44AA99", "^"),
    "output-perturbation": ("#DDCC77", "P"),
    "privgene": ("#CC6677", "X"),
    "sgd-adv": ("#88CCEE", "<"),
    "sgd-ma": ("#AA4499", ">"),
    "sgd-pld": ("#AA4499", "d"),
    0.1: ("#332288", "o"),
    0.2: ("#44AA99", "s"),
    0.4: ("#CC6677", "^"),
    0.8: ("#882255", "D"),
}
_LOOKS: dict[Any, Any] = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "svg.fonttype": "none"}
_REFERENCE_DASHES = {"nonprivate": "--", "majority": ":"}
_DASHES = {FAULTY: "--", "dpagd-capped": ":", "sgd-pld": ":"}  # of those that share a colour with another
HIGHEST = {"logistic": 1.0, "hinge": 1.5}  # objective at which panels end, about 1.5 times the zero model's


def draw(experiment: Experiment, rows: Mapping[Cell, Outcome], out: Path) -> None:
    """Draw one experiment as PNG and as SVG."""
    with mpl.rc_context(_LOOKS | {"svg.hashsalt": experiment.name}):
        figure = compose(experiment, rows)
        figure.savefig(out / f"{experiment.name}.svg", metadata={"Date": None})
        pixels = BytesIO()
        figure.savefig(pixels, dpi=120)
    # a palette makes the file three times smaller
    Image.open(pixels).convert("RGB").quantize(128).save(out / f"{experiment.name}.png", optimize=True)


def compose(experiment: Experiment, rows: Mapping[Cell, Outcome]) -> Figure:
    """Lay the panels out as the paper does."""
    tasks = experiment.tasks
    if len(tasks) > 2:  # accuracy on top, objective below
        figure = Figure(figsize=(3.4 * len(tasks), 6.4), layout="constrained")
        axes = figure.subplots(2, len(tasks))
    else:  # accuracy to the left, objective to the right
        figure = Figure(figsize=(6.8 * len(tasks), 3.7), layout="constrained")
        axes = figure.subplots(1, 2 * len(tasks)).reshape(len(tasks), 2).T
    for row, metric in zip(axes, METRICS, strict=True):
        for ax, task in zip(row, tasks, strict=True):
            _panel(ax, experiment, curves(experiment, rows, task, metric), task, metric)
    entries = {
        text: key for ax in axes.flat for key, text in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    columns = min(len(entries), 6)
    figure.legend(entries.values(), entries, loc="outside upper center", ncols=columns, frameon=False)
    return figure


def _panel(
    ax: Axes, experiment: Experiment, found: Mapping[Line, Curve], task: tuple[str, str], metric: Metric
) -> None:
    dataset, loss = task
    several_losses = len({loss for _, loss in experiment.tasks}) > 1
    ax.set_title(f"{DATASETS[dataset]}, {MODELS[loss]}" if several_losses else DATASETS[dataset])
    ax.set_ylabel("test accuracy" if metric == "accuracy" else "objective")
    ax.set_xlabel("ε" if experiment.parameter is None else experiment.parameter)
    if not found:
        ax.text(
            0.5,
            0.5,
            f"no {DATASETS[dataset]} data here:\nput your own into the directory\nthat PRIVFIT_DATA names",
            ha="center",
            va="center",
            transform=ax.transAxes,
        )
        ax.set_xticks([])
        ax.set_yticks([])
        return
    for line, curve in found.items():
        means = [point.mean for point in curve.values()]
        if line in _REFERENCE_DASHES:
            ax.axhline(means[0], ls=_REFERENCE_DASHES[line], color="#777777", lw=1.5, label=label(line))
            continue
        algorithm, style = (line, line) if isinstance(line, str) else line
        colour, shape = _STYLES[style]
        ax.errorbar(
            list(curve),
            means,
            [point.error for point in curve.values()],
            label=label(line),
            color=colour,
            marker=shape,
            markersize=5,
            mfc="white" if line == FAULTY else colour,
            ls=_DASHES.get(algorithm, "-"),
            lw=2.2 if line == "adaptive" else 1.2,
            zorder=3 if line == "adaptive" else 2,
            capsize=2,
        )
    xs = experiment.values or experiment.epsilons
    if all(b == 2 * a for a, b in pairwise(xs)):
        ax.set_xscale("log", base=2)
    ax.set_xticks(xs, [f"{x:g}" for x in xs])
    ax.minorticks_off()
    if metric == "objective":
        if dataset == "kddcup99":  # separable but for a few records: objectives differ by orders of magnitude
            ax.set_yscale("log")
        if ax.get_ylim()[1] > HIGHEST[loss]:
            ax.set_ylim(top=HIGHEST[loss])
