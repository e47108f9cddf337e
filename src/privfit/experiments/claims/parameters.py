"""Section 6.1, Figure 1: how DP-AGD's parameters matter, for logistic regression on Adult."""

from __future__ import annotations

from collections.abc import Callable

from privfit.experiments.cells import EXPERIMENTS
from privfit.experiments.claims.claim import Finding, Verdict, claim, graded
from privfit.experiments.claims.evidence import Evidence, NotRun, clearly, named, number, over, table

TASK = ("adult", "logistic")
LITTLE, ALMOST_NOTHING = 0.01, 0.005  # in accuracy
FIGURES = ("splits", "gamma", "c-grad", "c-obj")
VARIANTS = ("dpagd", "dpagd-capped")
Curve = dict[float, float]


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


def _ranges(
    evidence: Evidence, figure: str, among: Callable[[float], bool], limit: float, what: str
) -> Finding:
    """Decide that a range of values matters little, at every epsilon."""
    epsilons = EXPERIMENTS[figure].epsilons
    lines, verdict = [], None
    for algorithm in VARIANTS:
        if evidence.has(figure, TASK, algorithm):
            ranges = [range_over(curve(evidence, figure, algorithm, e), among) for e in epsilons]
            verdict = verdict or graded(sum(r <= limit for r in ranges), len(ranges))
            lines.append([named(algorithm), *over(ranges, number)])
    if verdict is None:
        raise NotRun(f"{figure}.csv")
    return Finding(verdict, table([what, *over(epsilons, lambda e: f"ε {e:g}")], *lines))


def _worse_than_best(evidence: Evidence, figure: str, value: float, epsilon: float, algorithm: str) -> bool:
    """Say whether a value is clearly less accurate than the best one of the grid."""
    means = curve(evidence, figure, algorithm, epsilon)
    best = max(means, key=means.__getitem__)
    if best == value:
        return False
    gap = evidence.gap("accuracy", figure, TASK, (algorithm, epsilon, value), (algorithm, epsilon, best))
    return clearly(gap) < 0


def _ends_hurt(evidence: Evidence, figure: str, epsilons: tuple[float, ...]) -> Finding:
    """Decide that both the smallest and the largest value are worse than the best."""
    low, high = EXPERIMENTS[figure].values[0], EXPERIMENTS[figure].values[-1]
    lines, verdict = [], None
    for algorithm in VARIANTS:
        if not evidence.has(figure, TASK, algorithm):
            continue
        hurt = {
            end: [_worse_than_best(evidence, figure, end, e, algorithm) for e in epsilons]
            for end in (low, high)
        }
        verdict = verdict or graded(sum(map(sum, hurt.values())), 2 * len(epsilons))
        for e, *both in zip(epsilons, *hurt.values(), strict=True):
            means = curve(evidence, figure, algorithm, e)
            best = max(means, key=means.__getitem__)
            words = [
                f"{number(means[end])} ({'worse' if b else 'not worse'})"
                for end, b in zip(hurt, both, strict=True)
            ]
            lines.append([named(algorithm), f"{e:g}", *words, f"{number(means[best])} (at {best:g})"])
    if verdict is None:
        raise NotRun(f"{figure}.csv")
    return Finding(verdict, table(["accuracy", "ε", f"at {low:g}", f"at {high:g}", "best"], *lines))


@claim(
    "robust",
    where="Section 6.1, Figure 1",
    says="In general DP-AGD is rather robust to its parameters.",
    holds_if=f"over each parameter's grid, at every epsilon, accuracies differ by at most {LITTLE:g}",
)
def _robust(evidence: Evidence) -> Finding:
    lines, little, cases = [], 0, 0
    for figure in FIGURES:
        for algorithm in VARIANTS:
            if evidence.has(figure, TASK, algorithm):
                ranges = [
                    range_over(curve(evidence, figure, algorithm, e)) for e in EXPERIMENTS[figure].epsilons
                ]
                lines.append([EXPERIMENTS[figure].parameter or "", named(algorithm), *over(ranges, number)])
                if algorithm == "dpagd":
                    little, cases = little + sum(r <= LITTLE for r in ranges), cases + len(ranges)
    if not cases:
        raise NotRun("the parameter figures")
    head = ["best less worst accuracy", "", *over(EXPERIMENTS["splits"].epsilons, lambda e: f"ε {e:g}")]
    return Finding(
        graded(little, cases), f"At most .01 in {little} of {cases} cases.\n\n{table(head, *lines)}"
    )


@claim(
    "splits-large-epsilon",
    where="Section 6.1, Figure 1a",
    says="The choice of splits matters less when epsilon is large.",
    holds_if="accuracies differ less over the grid at epsilon 0.8 than at 0.1",
)
def _splits_large_epsilon(evidence: Evidence) -> Finding:
    found = _ranges(evidence, "splits", lambda value: True, LITTLE, "best less worst accuracy")
    small, large = (range_over(curve(evidence, "splits", "dpagd", e)) for e in (0.1, 0.8))
    return Finding(Verdict.HOLDS if large < small else Verdict.FAILS, found.evidence)


@claim(
    "splits-ends",
    where="Section 6.1, Figure 1a",
    says="At epsilon 0.1, far too small or far too large a number of splits makes the result worse.",
    holds_if="at 0.1 both 20 and 120 are clearly less accurate than the best number",
)
def _splits_ends(evidence: Evidence) -> Finding:
    found = _ends_hurt(evidence, "splits", (0.1,))
    steps = curve(evidence, "splits", "dpagd", 0.1, "steps")
    text = ", ".join(f"{mean:.0f} at {value:g}" for value, mean in steps.items())
    objective = figure_table(evidence, "splits", "objective")
    return Finding(found.verdict, f"{found.evidence}\n\nSteps at ε 0.1: {text}.\n\n{objective}")


@claim(
    "gamma-large",
    where="Section 6.1, Figure 1b",
    says="Above 0.2 gamma has almost no effect.",
    holds_if=f"between 0.3 and 0.5, at every epsilon, accuracies differ by at most {ALMOST_NOTHING:g}",
)
def _gamma_large(evidence: Evidence) -> Finding:
    return _ranges(
        evidence, "gamma", lambda value: value > 0.2, ALMOST_NOTHING, "best less worst, 0.3 to 0.5"
    )


@claim(
    "gamma-small",
    where="Section 6.1, Figure 1b",
    says="At 0.1 and 0.2 gamma has a slight effect.",
    holds_if=f"at every epsilon the accuracies at 0.1 and 0.2 are within {LITTLE:g} of the best",
)
def _gamma_small(evidence: Evidence) -> Finding:
    epsilons = EXPERIMENTS["gamma"].epsilons
    slight = 0
    for epsilon in epsilons:
        means = curve(evidence, "gamma", "dpagd", epsilon)
        slight += max(means.values()) - min(means[0.1], means[0.2]) <= LITTLE
    return Finding(graded(slight, len(epsilons)), figure_table(evidence, "gamma", "accuracy"))


@claim(
    "c-grad-ends",
    where="Section 6.1, Figure 1c",
    says="Too large and too small a threshold for gradients make the result worse.",
    holds_if="at every epsilon both 1 and 16 are clearly less accurate than the best threshold",
)
def _c_grad_ends(evidence: Evidence) -> Finding:
    return _ends_hurt(evidence, "c-grad", EXPERIMENTS["c-grad"].epsilons)


@claim(
    "c-obj-ends",
    where="Section 6.1, Figure 1d",
    says="Too large and too small a threshold for losses make the result worse.",
    holds_if="at every epsilon both 1 and 16 are clearly less accurate than the best threshold",
)
def _c_obj_ends(evidence: Evidence) -> Finding:
    return _ends_hurt(evidence, "c-obj", EXPERIMENTS["c-obj"].epsilons)


@claim(
    "c-obj-middle",
    where="Section 6.1, Figure 1d",
    says="Thresholds for losses between 2 and 8 matter little.",
    holds_if=f"between 2 and 8, at every epsilon, accuracies differ by at most {LITTLE:g}",
)
def _c_obj_middle(evidence: Evidence) -> Finding:
    return _ranges(evidence, "c-obj", lambda value: 2 <= value <= 8, LITTLE, "best less worst, 2 to 8")
