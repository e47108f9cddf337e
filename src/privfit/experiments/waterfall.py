"""The waterfall chart: the effect of each correction of the authors' program."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from privfit.experiments.curves import METRICS, Curve, Estimate, Line, Metric, curves, paired, terms
from privfit.experiments.designs import DATASETS, REFERENCES, WATERFALL, Cell, Experiment
from privfit.experiments.fit import Outcome
from privfit.experiments.styles import INK, PAPER

# colours that people with any colour vision can distinguish
BETTER, WORSE, WHOLE = "#4477AA", "#EE7733", "#BBBBBB"
# stages that are complete algorithms
_WHOLE = ("authors-dpagd-NOT-PRIVATE", "dpagd", "dpagd-modern", "adaptive")
_DASHES = {"nonprivate": "--", "majority": ":"}


def waterfalls(experiment: Experiment, rows: Mapping[Cell, Outcome]) -> dict[str, Figure]:
    """Return a figure for each metric by the name of its file."""
    names = {"accuracy": experiment.name, "objective": f"{experiment.name}-objective"}
    return {names[metric]: compose_waterfall(experiment, rows, metric) for metric in METRICS}


def compose_waterfall(experiment: Experiment, rows: Mapping[Cell, Outcome], metric: Metric) -> Figure:
    """Draw a column for each data set and a row for each epsilon, of bars from one stage to the next.

    A change is the mean over the folds that both stages were fitted to, as in the table of changes. A black
    line is a standard error either way: of the change or, where a bar is an algorithm, of its mean.
    """
    tasks, epsilons = experiment.tasks, experiment.epsilons
    figure = Figure(figsize=(8.0, 2.6 * len(epsilons) + 0.8), layout="constrained")
    axes = figure.subplots(len(epsilons), len(tasks), sharey=True, squeeze=False)
    for column, task in enumerate(tasks):
        found = curves(experiment, rows, task, metric)
        for ax, epsilon in zip(axes[:, column], epsilons, strict=True):
            stages = [name for name in WATERFALL if epsilon in found.get(name, {})]
            changes = {
                after: change
                for before, after in pairwise(stages)
                if (change := paired(rows, task, metric, epsilon, after, before))
            }
            if stages:
                aim = [point.mean for point in found.get("nonprivate", {}).values()]
                _panel(ax, {name: found[name][epsilon] for name in stages}, changes, metric, aim)
                _mark_references(ax, found)
            ax.set_title(f"{DATASETS[task[0]]}, ε = {epsilon:g}", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("test accuracy" if metric == "accuracy" else "objective (training)")
    keys: list[Artist] = [
        Patch(facecolor=WHOLE, edgecolor=INK, label="an algorithm"),
        Patch(facecolor=BETTER, edgecolor=INK, label="makes it better"),
        Patch(facecolor=WORSE, edgecolor=INK, label="makes it worse"),
        Patch(facecolor=PAPER, edgecolor=INK, hatch="////", label="NOT PRIVATE"),
        *(Line2D([], [], color=INK, ls=dashes, label=REFERENCES[name]) for name, dashes in _DASHES.items()),
        Line2D([], [], color=INK, lw=1.2, label="± standard error"),
    ]
    figure.legend(handles=keys, loc="outside upper center", ncols=4, frameon=False, fontsize=8.5)
    figure.supxlabel(textwrap.fill(" ".join(terms(experiment, rows)), 120), fontsize=8.5)
    return figure


def _panel(
    ax: Axes,
    stages: Mapping[str, Estimate],
    changes: Mapping[str, Estimate],
    metric: Metric,
    aim: list[float],
) -> None:
    """Draw the stages of one panel, wide enough to show all errors and the references."""
    errors = {name: _error(name, stage, changes) for name, stage in stages.items()}
    ends = [stage.mean + side * errors[name] for name, stage in stages.items() for side in (-1, 1)]
    ends += aim + [stages[name].mean - change.mean for name, change in changes.items() if name not in _WHOLE]
    width = max(ends) - min(ends)
    low, high = min(ends) - 0.15 * width, max(ends) + 0.9 * width  # room for the smallest bar and the numbers
    for name, stage in stages.items():
        place, change = list(WATERFALL).index(name), changes.get(name)
        start = low if change is None or name in _WHOLE else stage.mean - change.mean
        better = change is not None and (change.mean > 0) == (metric == "accuracy")
        looks: dict[str, Any] = {
            "color": WHOLE if name in _WHOLE else BETTER if better else WORSE,
            "hatch": "////" if name.endswith("NOT-PRIVATE") else None,
        }
        ax.barh(place, stage.mean - start, left=start, height=0.7, edgecolor=INK, lw=0.5, **looks)
        ax.plot(
            [stage.mean - errors[name], stage.mean + errors[name]],
            [place, place],
            color=INK,
            lw=1.2,
            gid="error",
        )
        ax.text(
            max(stage.mean + errors[name], start) + 0.03 * width,
            place,
            _text(stage, change, whole=name in _WHOLE),
            va="center",
            fontsize=7.5,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
        )
    ax.set_axisbelow(True)
    ax.set_xlim(low, high)
    ax.set_yticks(range(len(WATERFALL)), [*WATERFALL.values()], fontsize=8)
    ax.set_ylim(len(WATERFALL) + 0.4, -0.6)  # the last line is for references beyond the panel
    ax.tick_params(axis="x", labelsize=8)
    ax.locator_params(axis="x", nbins=4)


def _error(name: str, stage: Estimate, changes: Mapping[str, Estimate]) -> float:
    """Return the standard error of a bar, 0 if there is a single fit."""
    shown = stage if name in _WHOLE else changes.get(name, stage)
    return 0.0 if math.isnan(shown.error) else shown.error


def _text(stage: Estimate, change: Estimate | None, *, whole: bool) -> str:
    if change is None:
        return _short(stage.mean)
    return f"{_short(stage.mean)} ({_short(change.mean, '+')})" if whole else _short(change.mean, "+")


def _mark_references(ax: Axes, found: Mapping[Line, Curve]) -> None:
    """Draw lines at the references; arrows in the last line stand for those beyond the panel."""
    low, high = ax.get_xlim()
    margin = 0.02 * (high - low)
    for name, dashes in _DASHES.items():
        if name not in found:
            continue
        mean = found[name][math.inf].mean
        if low + margin < mean < high - margin:
            ax.axvline(mean, ls=dashes, color=INK, lw=1.0)
            continue
        left = mean <= low + margin
        words = f"{REFERENCES[name]} {_short(mean)}"
        ax.text(
            0.02 if left else 0.98,
            len(WATERFALL) - 0.15,
            f"← {words}" if left else f"{words} →",
            transform=ax.get_yaxis_transform(),
            ha="left" if left else "right",
            va="center",
            fontsize=7.5,
        )


def _short(number: float, plus: str = "") -> str:
    """Write a number without the zero before the point; numbers that round to 0 become "0"."""
    digits = f"{abs(number):.3f}".removeprefix("0")
    if digits == ".000":
        return "0"
    return ("\N{MINUS SIGN}" if number < 0 else plus) + digits
