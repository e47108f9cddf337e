"""The chart of a plan: accuracy, or R², against epsilon, with a constant and a model without privacy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privfit.planning.forecast import Plan

BLUE, GREY = "#0072B2", "#555555"  # Okabe and Ito's blue, which colour-blind people can tell from grey


def draw(plan: Plan, path: Path) -> None:
    """Draw the plan to a file whose ending names the format."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ValueError("Drawing needs matplotlib; install it with: pip install 'privfit[report]'") from None
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    epsilons = [f.epsilon for f in plan.forecasts]
    axes.fill_between(
        epsilons,
        [f.low for f in plan.forecasts],
        [f.high for f in plan.forecasts],
        color=BLUE,
        alpha=0.2,
        linewidth=0,
        label="one fit, 90%",
    )
    axes.plot(epsilons, [f.score for f in plan.forecasts], "o-", color=BLUE, label="with privacy")
    axes.axhline(plan.without_privacy, color=GREY, linestyle="--", label="without privacy")
    axes.axhline(plan.constant, color=GREY, linestyle=":", label="a constant alone")
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{e:g}" for e in epsilons], minor=False)
    axes.minorticks_off()
    axes.set_xlabel("epsilon")
    axes.set_ylabel(f"{plan.score_name} on unseen people")
    axes.set_title(f"{plan.n:,} people, {plan.n_features} features (simulated)", loc="left")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
