"""Queries that arithmetic or the draws of Table 1 decide."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median

import numpy as np

from privfit.accounting.subsampled import sgd_epsilon
from privfit.experiments.authors.sgd import authors_epsilon, batch_size
from privfit.experiments.claims.claim import Finding, Verdict, graded
from privfit.experiments.claims.evidence import Evidence, NotRun, number, over, table
from privfit.experiments.designs import EXPERIMENTS
from privfit.experiments.table1 import DELTA, SHOWN, Iteration
from privfit.mechanisms.gaussian import Measurement

PUBLISHED_PRICE, NOISE = 0.5756, 4.0
TRAINING_RECORDS = 39_073  # of Adult
PUBLISHED_OBJECTIVE = 0.37542  # f(w10) in the paper's Table 1
TENFOLD, NEARLY_TENFOLD = 10.0, 8.0  # the second to a tenth of an order of magnitude
Run = list[Iteration]


def drowned(run: Run) -> bool:
    """Say whether ten iterations shrink the true gradient tenfold and the noisy one by less than half."""
    first, late = run[0], run[SHOWN - 1]
    return (
        TENFOLD * late.gradient_norm <= first.gradient_norm
        and 2 * late.noisy_gradient_norm > first.noisy_gradient_norm
        and late.noisy_gradient_norm >= NEARLY_TENFOLD * late.gradient_norm
    )


def descending(run: Run) -> bool:
    """Say whether the objective falls in each of the first ten iterations."""
    return all(b.objective < a.objective for a, b in pairwise(run[:SHOWN]))


STATEMENTS: dict[str, Callable[[Run], bool]] = {"drowned": drowned, "descending": descending}


@dataclass(frozen=True, kw_only=True)
class Table1:
    """Judge a statement about the run of Table 1 by all draws of it."""

    statement: str

    def __call__(self, evidence: Evidence) -> Finding:
        """Count the draws of which it is true."""
        runs = [run for run in evidence.table1 if len(run) >= SHOWN]
        if len(runs) < 2:
            raise NotRun("more than one draw in table1.csv")
        true = sum(map(STATEMENTS[self.statement], runs))
        lines = []
        for t in (0, 1, 2, 5, 10):
            columns = zip(*(run[t][1:] for run in runs), strict=True)
            lines.append([str(t), *(f"{number(mean(c), 4)}±{number(float(np.std(c)), 4)}" for c in columns)])
        last = [run[SHOWN - 1].objective for run in runs]
        falls = [sum(b.objective < a.objective for a, b in pairwise(run[:SHOWN])) for run in runs]
        lower = sum(objective <= PUBLISHED_OBJECTIVE for objective in last)
        text = table(["t", "true gradient", "noisy gradient", "expected noise", "objective"], *lines)
        text += (
            f"\n\nMeans and standard deviations over the draws; norms per record. True norms and objectives "
            f"are NOT PRIVATE: no fit releases them. Of the first ten iterations the objective falls in "
            f"{mean(falls):.1f} on average. The paper's objective after ten, {PUBLISHED_OBJECTIVE:g}, is "
            f"reached in {lower} draws."
        )
        return Finding(graded(true, len(runs)), f"True of {true} of {len(runs)} draws.\n\n{text}")


def noise_where_gradients_are_long(evidence: Evidence) -> Finding:
    """Judge whether gradients that got less budget are longer, in whole draws of Table 1."""
    runs = [run for run in evidence.table1 if len(run) > SHOWN]
    if not runs:
        raise NotRun("whole draws in table1.csv")
    cases, norms = [], []
    for run in runs:
        middle = median(row.expected_noise_norm for row in run)
        noisier = [row.gradient_norm for row in run if row.expected_noise_norm > middle]
        others = [row.gradient_norm for row in run if row.expected_noise_norm <= middle]
        cases.append(bool(noisier) and median(noisier) > median(others))
        norms.append((median(noisier) if noisier else math.nan, median(others)))
    text = (
        f"True of {sum(cases)} of {len(cases)} draws. Median norms, averaged over the draws: "
        f"{number(float(np.nanmean([a for a, _ in norms])))} of the gradients with more noise, "
        f"{number(mean(b for _, b in norms))} of the others. A share never falls, so this says whether it "
        "has grown by the time gradients are short."
    )
    return Finding(graded(sum(cases), len(cases)), text)


def variance_of_an_average(evidence: Evidence) -> Finding:
    """Judge the weights with which `Measurement` averages."""
    del evidence  # arithmetic decides
    parts = (0.2, 0.3)
    units = (np.array([1.0, 0.0]), np.array([0.0, 1.0]))  # of which the average shows the weights
    first, second = (Measurement(unit, 1.0, rho) for unit, rho in zip(units, parts, strict=True))
    average = first.average(second)
    weights = average.value
    found = float(weights[0] ** 2 * first.sigma**2 + weights[1] ** 2 * second.sigma**2)
    wanted = 1.0 / (2.0 * sum(parts))
    text = (
        f"Sensitivity 1, budgets {parts[0]:g} and {parts[1]:g}: weights {number(weights[0])} and "
        f"{number(weights[1])}, with which the variance is {number(found, 6)}; the average says "
        f"{number(average.sigma**2, 6)}, and {number(wanted, 6)} is that of both at once. The printed "
        "pseudo-code normalises before it averages, for which this is not true (erratum E1)."
    )
    holds = np.allclose([weights.sum(), found, average.sigma**2], [1.0, wanted, wanted], atol=1e-6)
    return Finding(Verdict.HOLDS if holds else Verdict.FAILS, text)


def price_of_a_step(evidence: Evidence) -> Finding:
    """Judge the paper's price of one step of SGD by the accountant as published, and with all orders."""
    del evidence  # the accountants decide
    share = 1.0 / math.sqrt(TRAINING_RECORDS)
    moments, pld = (sgd_epsilon(NOISE, share, 1, DELTA, kind) for kind in ("rdp", "pld"))
    published = authors_epsilon(batch_size(TRAINING_RECORDS) / TRAINING_RECORDS, NOISE, 1, DELTA)
    parts = [math.isclose(price, PUBLISHED_PRICE, rel_tol=0.01) for price in (published, moments)]
    text = (
        f"The published accountant, which looks at moments up to order 32, charges {number(published, 4)}. "
        f"With all orders it charges {number(moments)} (erratum E9). PLD accounting, a later method, charges "
        f"{number(pld)}."
    )
    return Finding(graded(sum(parts), len(parts)), text)


def iterations_under_naive_composition(evidence: Evidence) -> Finding:
    """Judge that the first shares of so many iterations add up to epsilon; show how often DP-AGD moves."""
    cases = []
    for splits in EXPERIMENTS["splits"].values:
        share = 1.0 / (2 * splits)  # of epsilon, for the gradient and again for the choice
        cases.append(math.isclose(splits * 2 * share, 1.0))
    text = (
        "An iteration first gets epsilon / (2 splits) for its gradient and as much for its choice. If "
        "epsilons add up, that is all of epsilon after as many iterations as there are splits. DP-AGD adds "
        "up rhos, which go with the square of epsilon, so that it moves more often:"
    )
    try:
        (task,) = evidence.tasks("splits")
        lines = []
        for epsilon in EXPERIMENTS["splits"].epsilons:
            moves = [
                evidence.mean("steps", "splits", task, "dpagd", epsilon, value)
                for value in EXPERIMENTS["splits"].values
            ]
            lines.append([f"{epsilon:g}", *over(moves, lambda x: f"{x:.0f}")])
        head = ["moves, ε", *(f"splits {value:g}" for value in EXPERIMENTS["splits"].values)]
        text += f"\n\n{table(head, *lines)}"
    except NotRun:
        text += " no rows yet."
    return Finding(graded(sum(cases), len(cases)), text)
