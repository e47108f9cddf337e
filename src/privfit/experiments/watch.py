"""Record the private choices of DP-AGD during one fit. A diagnostic WITHOUT PRIVACY, for the rows alone."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from privfit.curator import Curator, SealedLine, Vector
from privfit.solvers import Solution
from privfit.solvers.dpagd import LineSearchDescent


class Counts(NamedTuple):
    """Counts of the answers of the selection (the paper's NoisyMax) during a fit.

    `choices` counts all answers, `rejected` the answers "step 0", and `stalled` the rejected ones after the
    last move. A direction is a descent direction if the exact loss falls along it at first. `descents` counts
    these among all answers, and `rejected_descents` among the rejected ones. `selection_share` is the share
    of the spent budget, in rho, that the selection cost.
    """

    choices: int
    rejected: int
    stalled: int
    descents: int
    rejected_descents: int
    selection_share: float


class Choice(NamedTuple):
    """One answer of the selection: was it step 0, and was the direction a descent direction."""

    rejected: bool
    descent: bool
    rho: float


@dataclass
class Watch:
    """The choices of one fit, the total charge, and the processor time of the recording."""

    choices: list[Choice] = field(default_factory=list)
    spent: float = 0.0  # in rho
    seconds: float = 0.0

    def see(self, curator: Curator, line: SealedLine, rho: float, chosen: int) -> None:
        """Record one choice, and whether the direction is a descent direction. NOT PRIVATE."""
        started = time.process_time()
        slope = curator.open_without_privacy().at(line.origin.w).gradient_sum()
        self.choices.append(Choice(chosen == 0, float(np.vdot(slope, line.direction)) > 0.0, rho))
        self.seconds += time.process_time() - started

    def counts(self) -> Counts:
        """Return the counts of the choices."""
        rejected = [choice for choice in self.choices if choice.rejected]
        moves = [place for place, choice in enumerate(self.choices, start=1) if not choice.rejected]
        selection = sum(choice.rho for choice in self.choices)
        return Counts(
            choices=len(self.choices),
            rejected=len(rejected),
            stalled=len(self.choices) - (moves[-1] if moves else 0),
            descents=sum(choice.descent for choice in self.choices),
            rejected_descents=sum(choice.descent for choice in rejected),
            selection_share=selection / self.spent if self.spent > 0.0 else 0.0,
        )


def watched(solver: LineSearchDescent) -> tuple[LineSearchDescent, Watch]:
    """Return a solver that acts like the given one, and the record of its choices."""
    watch = Watch()
    kind: Any = type(solver)

    class Watched(kind):  # type: ignore[misc]
        def solve(self, curator: Curator) -> Solution:
            before = curator.remaining  # a fit that is not private has no ledger after it
            solution: Solution = super().solve(curator)
            watch.spent = before - curator.remaining
            return solution

        def choose(
            self, curator: Curator, line: SealedLine, steps: Vector, rho: float, penalties: Vector
        ) -> int:
            chosen: int = super().choose(curator, line, steps, rho, penalties)
            watch.see(curator, line, rho, chosen)
            return chosen

    settings = {one.name: getattr(solver, one.name) for one in fields(kind)}
    return Watched(**settings), watch
