"""The waterfall: what each correction of the authors' program is worth, from their numbers to ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from privfit.experiments.cells import DATASETS, REFERENCES, WATERFALL, Cell, Experiment
from privfit.experiments.curves import METRICS, Curve, Line, Metric, curves
from privfit.experiments.fit import Outcome
from privfit.experiments.styles import INK, PAPER

BETTER, WORSE, WHOLE = "#4477AA", "#EE7733", "#BBBBBB"  # told apart by people with any colour vision
_WHOLE = ("authors-dpagd-NOT-PRIVATE", "dpagd", "dpagd-modern", "adaptive")  # algorithms in their own right
_DASHES = {"nonprivate": "--", "majority": ":"}


def waterfalls(experiment: Experiment, rows: Mapping[Cell, Outcome]) -> dict[str, Figure]:
    """Return a figure for each metric by the name of its file."""
    names = {"accuracy": experiment.name, "objective": f"{experiment.name}-objective"}
    return {names[metric]: compose_waterfall(experiment, rows, metric) for metric in METRICS}


def compose_waterfall(experiment: Experiment, rows: Mapping[Cell, Outcome], metric: Metric) -> Figure:
    """Draw a column for each data set and a row for each epsilon, of bars from one stage to the next.

    A black line is a standard error either way.
    """
    tasks, epsilons = experiment.tasks, experiment.epsilons
    figure = Figure(figsize=(8.0, 2.45 * len(epsilons) + 0.6), layout="constrained")
    axes = figure.subplots(len(epsilons), len(tasks), sharey=True, squeeze=False)
    for column, task in enumerate(tasks):
        found = curves(experiment, rows, task, metric)
        for ax, epsilon in zip(axes[:, column], epsilons, strict=True):
            _panel(ax, found, epsilon, metric)
            ax.set_title(f"{DATASETS[task[0]]}, ε = {epsilon:g}", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("test accuracy" if metric == "accuracy" else "objective (training)")
    keys: list[Artist] = [
        Patch(facecolor=WHOLE, edgecolor=INK, label="an algorithm"),
        Patch(facecolor=BETTER, edgecolor=INK, label="makes it better"),
        Patch(facecolor=WORSE, edgecolor=INK, label="makes it worse"),
        Patch(facecolor=PAPER, edgecolor=INK, hatch="////", label="NOT PRIVATE"),
        *(Line2D([], [], color=INK, ls=dashes, label=REFERENCES[name]) for name, dashes in _DASHES.items()),
    ]
    figure.legend(handles=keys, loc="outside upper center", ncols=len(keys), frameon=False, fontsize=8)
    return figure


def _panel(ax: Axes, found: Mapping[Line, Curve], epsilon: float, metric: Metric) -> None:
    stages = {name: found[name][epsilon] for name in WATERFALL if epsilon in found.get(name, {})}
    if not stages:
        return
    limits = [stage.mean for stage in stages.values()]
    for name, dashes in _DASHES.items():
        if name in found:
            ax.axvline(found[name][math.inf].mean, ls=dashes, color=INK, lw=1.0)
    if "nonprivate" in found:  # the majority may lie far outside
        limits.append(found["nonprivate"][math.inf].mean)
    width = max(limits) - min(limits)
    low, high = min(limits) - 0.08 * width, max(limits) + 0.9 * width  # room for the numbers
    before = math.nan
    for name, stage in stages.items():
        place, whole = list(WATERFALL).index(name), name in _WHOLE
        start = low if whole or math.isnan(before) else before
        better = (stage.mean > before) == (metric == "accuracy")
        looks: dict[str, Any] = {
            "color": WHOLE if whole else BETTER if better else WORSE,
            "hatch": "////" if name.endswith("NOT-PRIVATE") else None,
        }
        ax.barh(place, stage.mean - start, left=start, height=0.7, edgecolor=INK, lw=0.5, **looks)
        ax.plot([stage.mean - stage.error, stage.mean + stage.error], [place, place], color=INK, lw=1.2)
        change = "" if math.isnan(before) else _short(stage.mean - before, sign="+")
        ax.text(
            max(stage.mean + np.nan_to_num(stage.error), start) + 0.03 * width,
            place,
            f"{_short(stage.mean)} ({change})" if whole and change else change or _short(stage.mean),
            va="center",
            fontsize=7.5,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
        )
        before = stage.mean
    ax.set_axisbelow(True)
    ax.set_xlim(low, high)
    ax.set_yticks(range(len(WATERFALL)), [*WATERFALL.values()], fontsize=8)
    ax.set_ylim(len(WATERFALL) - 0.4, -0.6)
    ax.tick_params(axis="x", labelsize=8)
    ax.locator_params(axis="x", nbins=4)


def _short(number: float, sign: str = "") -> str:
    return f"{number:{sign}.3f}".replace("0.", ".", 1)
