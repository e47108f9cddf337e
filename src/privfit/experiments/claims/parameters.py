"""Section 6.2, Figure 1: how DP-AGD's parameters matter, for logistic regression on Adult."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from privfit.experiments.cells import EXPERIMENTS
from privfit.experiments.claims.claim import Finding, claim, graded
from privfit.experiments.claims.evidence import (
    Evidence,
    NotRun,
    clearly,
    named,
    number,
    over,
    over_epsilons,
    table,
)

TASK = ("adult", "logistic")
LITTLE = {"accuracy": 0.01, "objective": 0.05}  # by which the paper's two measures may differ
ALMOST_NOTHING = {"accuracy": 0.005, "objective": 0.02}
FIGURES = ("splits", "gamma", "c-grad", "c-obj")
VARIANTS = ("dpagd", "dpagd-capped")  # the second is shown; the first decides
Curve = dict[float, float]
Limits = dict[str, float]


def by_at_most(limits: Limits) -> str:
    """Write limits for a rule."""
    return (
        f"accuracies differ by at most {limits['accuracy']:g}, objectives by at most {limits['objective']:g}"
    )


def curve(evidence: Evidence, figure: str, algorithm: str, epsilon: float, metric: str = "accuracy") -> Curve:
    """Return the means over the parameter's values."""
    return {
        value: evidence.mean(metric, figure, TASK, algorithm, epsilon, value)
        for value in EXPERIMENTS[figure].values
    }


def figure_table(evidence: Evidence, figure: str, metric: str) -> str:
    """Write a figure as a table."""
    values = EXPERIMENTS[figure].values
    lines = []
    for algorithm in VARIANTS:
        for epsilon in EXPERIMENTS[figure].epsilons:
            if evidence.has(figure, TASK, algorithm):
                means = curve(evidence, figure, algorithm, epsilon, metric)
                lines.append([named(algorithm), f"{epsilon:g}", *over(means.values(), number)])
    parameter = EXPERIMENTS[figure].parameter
    return table([metric, "ε", *(f"{parameter} {value:g}" for value in values)], *lines)


def range_over(means: Curve, among: Callable[[float], bool] = lambda value: True) -> float:
    """Return the distance between the best and the worst of some values."""
    some = [mean for value, mean in means.items() if among(value)]
    return max(some) - min(some)


def best_of(means: Curve, metric: str) -> float:
    """Return the value at which a curve is best."""
    return (max if metric == "accuracy" else min)(means, key=means.__getitem__)


def _ranges(
    evidence: Evidence,
    figures: tuple[str, ...],
    limits: Limits,
    among: Callable[[float], bool] = lambda value: True,
) -> Finding:
    """Decide that a range of values matters little, by both measures at every epsilon."""
    epsilons = EXPERIMENTS[figures[0]].epsilons
    lines, within = [], dict[str, list[bool]]()
    for metric, limit in limits.items():
        for figure, algorithm in product(figures, VARIANTS):
            if evidence.has(figure, TASK, algorithm):
                ranges = [range_over(curve(evidence, figure, algorithm, e, metric), among) for e in epsilons]
                lines.append(
                    [EXPERIMENTS[figure].parameter or "", metric, named(algorithm), *over(ranges, number)]
                )
                if algorithm == "dpagd":
                    within.setdefault(metric, []).extend(r <= limit for r in ranges)
    head = ["best less worst", "", "", *over_epsilons(epsilons)]
    return _counted(within, "Within the limit", table(head, *lines), figures[0])


def _ends_hurt(evidence: Evidence, figure: str, epsilons: tuple[float, ...], can: bool) -> Finding:
    """Decide that the smallest and the largest value are worse than the best, by both measures.

    What can be so need be so at one epsilon only; what is so, at each.
    """
    low, high = EXPERIMENTS[figure].values[0], EXPERIMENTS[figure].values[-1]
    lines, hurt = [], dict[str, list[bool]]()
    for metric, algorithm in product(LITTLE, VARIANTS):
        if not evidence.has(figure, TASK, algorithm):
            continue
        worse = [
            [_worse_than_best(evidence, figure, metric, end, e, algorithm) for e in epsilons]
            for end in (low, high)
        ]
        if algorithm == "dpagd":
            hurt[metric] = [any(end) for end in worse] if can else [*worse[0], *worse[1]]
        for e, *both in zip(epsilons, *worse, strict=True):
            means = curve(evidence, figure, algorithm, e, metric)
            best = best_of(means, metric)
            words = [
                f"{number(means[end])} ({'worse' if is_worse else 'not worse'})"
                for end, is_worse in zip((low, high), both, strict=True)
            ]
            best_text = f"{number(means[best])} (at {best:g})"
            lines.append([metric, named(algorithm), f"{e:g}", *words, best_text])
    head = ["", "", "ε", f"at {low:g}", f"at {high:g}", "best"]
    what = "Ends that are worse at some epsilon" if can else "Ends that are worse, epsilon by epsilon"
    return _counted(hurt, what, table(head, *lines), figure)


def _worse_than_best(
    evidence: Evidence, figure: str, metric: str, value: float, epsilon: float, algorithm: str
) -> bool:
    """Say whether a value is clearly worse than the best one of the grid."""
    best = best_of(curve(evidence, figure, algorithm, epsilon, metric), metric)
    if best == value:
        return False
    gap = evidence.gap(metric, figure, TASK, (algorithm, epsilon, value), (algorithm, epsilon, best))
    return clearly(gap) == (-1 if metric == "accuracy" else 1)


def _counted(cases: dict[str, list[bool]], what: str, text: str, figure: str) -> Finding:
    """Grade the cases of both measures together, and count those of each."""
    if not cases:
        raise NotRun(f"{figure}.csv")
    counts = ", ".join(f"by {metric} {sum(some)} of {len(some)}" for metric, some in cases.items())
    every = [case for some in cases.values() for case in some]
    return Finding(graded(sum(every), len(every)), f"{what}: {counts}.\n\n{text}")


@claim(
    "robust",
    where="Section 6.2, Figure 1",
    says="In general DP-AGD is rather robust to its parameters.",
    holds_if=f"over each parameter's grid, at every epsilon, {by_at_most(LITTLE)}",
)
def _robust(evidence: Evidence) -> Finding:
    return _ranges(evidence, FIGURES, LITTLE)


@claim(
    "splits-iterations",
    where="Section 6.2",
    says="The number of splits is roughly that of iterations. (Under naive composition, the paper adds, by "
    "which DP-AGD does not compose.)",
    holds_if="at every epsilon and every number of splits, DP-AGD moves between half and twice as often as "
    "there are splits, in the mean",
)
def _splits_iterations(evidence: Evidence) -> Finding:
    lines, roughly, cases = [], 0, 0
    for epsilon in EXPERIMENTS["splits"].epsilons:
        steps = curve(evidence, "splits", "dpagd", epsilon, "steps")
        roughly += sum(splits / 2 <= mean <= 2 * splits for splits, mean in steps.items())
        cases += len(steps)
        lines.append([f"{epsilon:g}", *over(steps.values(), lambda x: f"{x:.0f}")])
    text = table(["moves, ε", *(f"splits {value:g}" for value in EXPERIMENTS["splits"].values)], *lines)
    text += (
        "\n\nIf epsilons added up, that many shares would be all of the budget. DP-AGD adds rhos, which go "
        "with the square of an epsilon, so that its budget buys more shares."
    )
    return Finding(graded(roughly, cases), text)


@claim(
    "splits-large-epsilon",
    where="Section 6.2, Figure 1a",
    says="The choice of splits matters less when epsilon is large.",
    holds_if="both accuracies and objectives differ less over the grid at epsilon 0.8 than at 0.1",
)
def _splits_large_epsilon(evidence: Evidence) -> Finding:
    found = _ranges(evidence, ("splits",), LITTLE)
    less = 0
    for metric in LITTLE:
        small, large = (range_over(curve(evidence, "splits", "dpagd", e, metric)) for e in (0.1, 0.8))
        less += large < small
    return Finding(graded(less, len(LITTLE)), found.evidence.partition("\n\n")[2])


@claim(
    "splits-ends",
    where="Section 6.2, Figure 1a",
    says="At epsilon 0.1, far too small or far too large a number of splits can make the result worse.",
    holds_if="at 0.1 both 20 and 120 are clearly worse than the best number, in accuracy and in objective",
)
def _splits_ends(evidence: Evidence) -> Finding:
    return _ends_hurt(evidence, "splits", (0.1,), can=True)


@claim(
    "gamma-large",
    where="Section 6.2, Figure 1b",
    says="Above 0.2 gamma has almost no effect.",
    holds_if=f"between 0.3 and 0.5, at every epsilon, {by_at_most(ALMOST_NOTHING)}",
)
def _gamma_large(evidence: Evidence) -> Finding:
    return _ranges(evidence, ("gamma",), ALMOST_NOTHING, lambda value: value > 0.2)


@claim(
    "gamma-small",
    where="Section 6.2, Figure 1b",
    says="At 0.1 and 0.2 gamma has a slight effect.",
    holds_if=f"at every epsilon the accuracies at 0.1 and 0.2 are within {LITTLE['accuracy']:g} of the best, "
    f"the objectives within {LITTLE['objective']:g}",
)
def _gamma_small(evidence: Evidence) -> Finding:
    slight = {
        metric: [
            all(abs(means[value] - means[best_of(means, metric)]) <= limit for value in (0.1, 0.2))
            for means in (curve(evidence, "gamma", "dpagd", e, metric) for e in EXPERIMENTS["gamma"].epsilons)
        ]
        for metric, limit in LITTLE.items()
    }
    tables = "\n\n".join(figure_table(evidence, "gamma", metric) for metric in LITTLE)
    return _counted(slight, "Within the limit", tables, "gamma")


@claim(
    "c-grad-ends",
    where="Section 6.2, Figure 1c",
    says="Too large and too small a threshold for gradients can make the result worse.",
    holds_if="both 1 and 16 are clearly worse than the best threshold at some epsilon, in accuracy and in "
    "objective",
)
def _c_grad_ends(evidence: Evidence) -> Finding:
    return _ends_hurt(evidence, "c-grad", EXPERIMENTS["c-grad"].epsilons, can=True)


@claim(
    "c-obj-ends",
    where="Section 6.2, Figure 1d",
    says="Too large and too small a threshold for losses make the result worse.",
    holds_if="at every epsilon both 1 and 16 are clearly worse than the best threshold, in accuracy and in "
    "objective",
)
def _c_obj_ends(evidence: Evidence) -> Finding:
    return _ends_hurt(evidence, "c-obj", EXPERIMENTS["c-obj"].epsilons, can=False)


@claim(
    "c-obj-middle",
    where="Section 6.2, Figure 1d",
    says="Thresholds for losses between 2 and 8 matter little.",
    holds_if=f"between 2 and 8, at every epsilon, {by_at_most(LITTLE)}",
)
def _c_obj_middle(evidence: Evidence) -> Finding:
    return _ranges(evidence, ("c-obj",), LITTLE, lambda value: 2 <= value <= 8)
