"""The one door to the data.

A solver never sees a record. It asks the curator priced questions, and every answer is made in the same
order: check the question, charge the ledger, look at the data, blur, return. If the charge does not fit,
`BudgetExceeded` is raised and nothing is looked at. Points and lines are handed out sealed: a solver can
hold and move them but not look inside. The claims Q1, Q2, ... are proved in docs/privacy.md.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from privfit.accounting import Ledger
from privfit.engine.base import Engine, Line, Point
from privfit.engine.rounding import MAX_CANDIDATES, gradient_bound, loss_slack
from privfit.mechanisms.gaussian import Measurement, measure
from privfit.mechanisms.noise import NoiseSource, Shape
from privfit.mechanisms.selection import Relation, select_min, selection_scale, width

Vector = NDArray[np.float64]


class SealedPoint:
    """A weight vector w whose margins stay with the curator."""

    def __init__(self, w: Vector) -> None:
        self.w = w


class SealedLine:
    """All points w - step * direction, whose margins stay with the curator."""

    def __init__(self, origin: SealedPoint, direction: Vector) -> None:
        self.origin = origin
        self.direction = direction


class Curator:
    """Answers a solver's questions about the records, for a price.

    Parameters
    ----------
    engine : Engine
        Exact sums over the records.
    ledger : Ledger
        The account that every question is charged to.
    noise : NoiseSource
        Where the noise comes from.
    epsilon, delta : float
        The promise the ledger's budget was made from; public, for solvers whose constants depend on it.
    alpha : float
        Strength of the regulariser alpha/2 ||w||^2; public.
    n_records : int, optional
        The number of records if it was declared public. Otherwise it has to be bought with `count`.
    relation : {"add-remove", "replace-one"}
        Which tables count as neighbours. Replacing one record is removing one and adding one, so every
        sensitivity doubles; the number of records is then the same for both.
    on_answer : callable, optional
        Called with the ledger after every answer, to show progress.
    """

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        noise: NoiseSource,
        *,
        epsilon: float,
        delta: float,
        alpha: float = 0.0,
        n_records: float | None = None,
        relation: Relation = "add-remove",
        on_answer: Callable[[Ledger], None] = lambda ledger: None,
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._noise = noise
        self._on_answer = on_answer
        self._changes = 1.0 if relation == "add-remove" else 2.0
        self._points: WeakKeyDictionary[SealedPoint, Point] = WeakKeyDictionary()
        self._lines: WeakKeyDictionary[SealedLine, Line] = WeakKeyDictionary()
        self._refinable: tuple[Measurement, Vector] | None = None
        self.epsilon, self.delta = epsilon, delta
        self.alpha = alpha
        self.n_records = n_records
        self.relation: Relation = relation
        self.n_weights = engine.n_weights
        self.intercept = engine.intercept
        self.loss = engine.loss.name

    @property
    def remaining(self) -> float:
        """What is left of the budget, in rho."""
        return self._ledger.remaining

    # -- places: nothing is released, so nothing is charged -------------------------------------------

    def at(self, w: Vector) -> SealedPoint:
        """Return the point w, sealed. One pass over the data."""
        return self._seal_point(self._engine.at(w))

    def along(self, point: SealedPoint, direction: Vector) -> SealedLine:
        """Return the line w - step * direction, sealed. One pass over the data."""
        sealed = SealedLine(point, direction)
        self._lines[sealed] = self._points[point].along(direction)
        return sealed

    def move(self, line: SealedLine, step: float) -> SealedPoint:
        """Return the point w - step * direction, sealed. No pass: margins are linear."""
        return self._seal_point(self._lines[line].move(step))

    def _seal_point(self, point: Point) -> SealedPoint:
        sealed = SealedPoint(point.w)
        self._points[sealed] = point
        return sealed

    def sample(self, probability: float) -> Curator:
        """Return a curator over a fresh random subset that draws on the same account.

        Each record is in the subset independently with this probability, so a neighbouring table's
        subset differs by at most that one record and every question costs what it costs on the whole
        table (Q5). No amplification is claimed. (Under add/remove a subset of *fixed* size would not do:
        one record more in the table may replace a record of the subset, which doubles sensitivities.)
        """
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"probability must lie between 0 and 1, got {probability!r}.")
        rows = self._noise.poisson_rows(self._engine.n_records, probability)
        return Curator(
            self._engine.subset(rows),
            self._ledger,
            self._noise,
            epsilon=self.epsilon,
            delta=self.delta,
            alpha=self.alpha,
            n_records=None if self.n_records is None else probability * self.n_records,
            relation=self.relation,
            on_answer=self._on_answer,
        )

    # -- questions: check, charge, look, blur, return ---------------------------------------------------

    def gradient(self, point: SealedPoint, clip: float, rho: float) -> Measurement:
        """Measure the sum over records of the loss gradient, each clipped to L2 norm `clip` (Q1).

        Sensitivity: `clip` plus rounding (engine.rounding), add/remove; twice that for replace-one.
        Mechanism: Gaussian. Cost: rho. One pass over the data.
        """
        sensitivity = self._changes * gradient_bound(clip, self.n_weights)
        self._ledger.charge(rho, what="gradient", mechanism=f"gaussian, sensitivity {sensitivity:.6g}")
        exact = self._points[point].gradient_sum(clip)
        return self._release(exact, measure(exact, sensitivity, rho, self._noise))

    def refine(self, measurement: Measurement, rho: float) -> Measurement:
        """Measure the last gradient once more and average the two, weighted by rho (Q2).

        Sensitivity, relation and mechanism are those of `gradient`. Cost: rho more. No pass over the data.
        """
        if self._refinable is None or self._refinable[0] is not measurement:
            raise ValueError("Only the gradient measured last can be refined.")
        exact = self._refinable[1]
        sensitivity = measurement.sensitivity
        self._ledger.charge(
            rho, what="gradient, refined", mechanism=f"gaussian, sensitivity {sensitivity:.6g}"
        )
        return self._release(exact, measurement.average(measure(exact, sensitivity, rho, self._noise)))

    def _release(self, exact: Vector, measurement: Measurement) -> Measurement:
        self._refinable = (measurement, exact)
        self._on_answer(self._ledger)
        return measurement

    def choose_step(
        self,
        line: SealedLine,
        steps: Vector,
        clip: float,
        rho: float,
        *,
        shape: Shape = "gumbel",
        penalties: Vector | float = 0.0,
    ) -> int:
        """Choose privately among equally spaced steps 0, h, 2h, ... the one with the least loss (Q3).

        A step's score is the sum over records of the loss at w - step * direction, clipped to
        [0, `clip`], plus a public penalty. One more record adds between 0 and `clip` to every score, plus
        rounding: scores of width `clip` under add/remove, twice that under replace-one.
        Mechanism: noisy argmin with noise of this shape. Cost: rho. No pass over the data.
        """
        count = len(steps) - 1
        if not (
            1 <= count <= MAX_CANDIDATES and np.allclose(steps, steps[-1] * np.arange(count + 1) / count)
        ):
            raise ValueError(f"steps must be 0, h, 2h, ... with at most {MAX_CANDIDATES} of them beyond 0.")
        score_width = width(clip + 2.0 * loss_slack(clip), monotone=True, relation=self.relation)
        scale = selection_scale(score_width, rho, shape)
        self._ledger.charge(rho, what="step size", mechanism=f"noisy min, {shape}, scale {scale:.6g}")
        # only differences between penalties matter; small numbers add less rounding to the scores
        scores = self._lines[line].loss_sums(steps[-1] / count, count, clip) + (penalties - np.min(penalties))
        chosen = select_min(scores, score_width, rho, shape, self._noise)
        self._on_answer(self._ledger)
        return chosen

    def count(self, rho: float) -> Measurement:
        """Measure the number of records (Q4).

        Sensitivity: 1, add/remove. (Under replace-one the number is the same for all neighbours and
        should be declared.) Mechanism: Gaussian. Cost: rho.
        """
        self._ledger.charge(rho, what="number of records", mechanism="gaussian, sensitivity 1")
        noisy = measure(np.array([float(self._engine.n_records)]), 1.0, rho, self._noise)
        self._on_answer(self._ledger)
        return noisy

    def open(self, rho: float, delta: float = 0.0, *, why: str) -> tuple[Engine, NoiseSource]:
        """Charge the whole cost of a mechanism with a proof of its own, then hand over what it needs.

        `why` names the theorem. The few calls of this method are what a privacy review reads.
        """
        self._ledger.charge(rho, delta, what=why, mechanism="one release")
        return self._engine, self._noise

    def open_without_privacy(self) -> Engine:
        """Hand the data to a baseline that promises nothing. The estimator's statement says so."""
        return self._engine
