"""How many steps fit into a given number of passes over the data (`max_passes`).

A pass reads the features of every record once. The number of passes is computed from declared facts alone:
the kind of targets, weights, ids of people, a start. Every question that the solver may ask is counted, even
if a fit does not ask it. So the number of steps does not depend on the table, nor on how it is stored.
Reading a table, and checking it before the fit, is not counted.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from privfit.remedies import remedy
from privfit.solvers.people import are_people_clipped

if TYPE_CHECKING:  # these modules import this one
    from privfit.curator import Curator
    from privfit.solvers.base import Solver
    from privfit.solvers.requirements import Facts

MOST_PASSES = 600  # the largest number of steps, with one pass each
# passes for sizes of columns, for clipping them, for norms of records, and for moments, which need norms
SIZES, CLIP, NORMS, MOMENTS = 1, 2, 1, 2
GEOMETRY = SIZES + CLIP + NORMS + MOMENTS + NORMS + NORMS  # the norms change twice
LAST_LOOK = 1  # for second moments, or for the scale of margins or residuals
START = 1  # for the margins of declared weights
ANGLES = 1  # for the angles between records of a person
FEWEST_STEPS = 4  # with fewer steps, a model is no better than a constant on most tables


def passes_of_a_step(facts: Facts | Curator) -> int:
    """Return how many passes the sum of the clipped gradients takes.

    Predictions need a pass of their own if each person's sum is clipped, or if a model with one output has
    weights of records.
    """
    separate = are_people_clipped(facts.relation) or (facts.weighted and facts.loss.outputs == 1)
    return 2 if separate else 1


def passes_before_steps(facts: Facts | Curator) -> int:
    """Return how many passes the default solver may take for everything but the gradients of its steps."""
    declared = START if facts.penalty.start is not None else 0
    return GEOMETRY + LAST_LOOK + declared + (ANGLES if are_people_clipped(facts.relation) else 0)


def least_passes(facts: Facts | Curator) -> int:
    """Return the smallest number of passes that the default solver takes."""
    return passes_before_steps(facts) + FEWEST_STEPS * passes_of_a_step(facts)


def most_steps(max_passes: int | None, facts: Facts | Curator) -> int:
    """Return how many steps fit into a number of passes; without a limit, the largest number of steps."""
    if max_passes is None:
        return MOST_PASSES
    return min((max_passes - passes_before_steps(facts)) // passes_of_a_step(facts), MOST_PASSES)


def limited(solver: Solver, max_passes: Any) -> Solver:
    """Return the solver with this limit of passes; raise ValueError if it has no such setting."""
    if max_passes is None:
        return solver
    if "max_passes" not in {field.name for field in fields(solver)}:  # type: ignore[arg-type]  # all are dataclasses
        raise ValueError(
            f"The solver {solver.name!r} has no limit of passes over the data; "
            + remedy("leave max_passes out or use the default", "leave --max-passes out, or --solver")
            + "."
        )
    return replace(solver, max_passes=max_passes)  # type: ignore[type-var]  # the same


def check_passes(solver: Solver, facts: Facts | Curator) -> None:
    """Raise ValueError if the limit of passes is too small for the shortest fit."""
    max_passes, least = getattr(solver, "max_passes", None), least_passes(facts)
    if max_passes is not None and max_passes < least:
        name = remedy("max_passes", "--max-passes")
        raise ValueError(f"{name} must be at least {least} for this model, got {max_passes}.")
