"""The curator: the only code that reads the data for a solver.

A solver never sees a record. It asks the curator questions, each at a price. The curator checks a question,
charges the ledger, reads the data, adds noise and returns the noisy answer. If the charge does not fit, the
ledger raises `BudgetExceeded` before any record is read. A solver can hold sealed points and lines, but not
see what is in them. `privfit.questions` defines sums and sensitivities; docs/privacy.md proves Q1, Q2, ...
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from privfit.accounting import Ledger, zcdp
from privfit.accounting.relation import Relation
from privfit.losses import Loss
from privfit.mechanisms.gaussian import Measurement, measure
from privfit.mechanisms.noise import NoiseSource, Shape
from privfit.mechanisms.selection import select_min, selection_scale, width
from privfit.penalties import NO_PENALTY, Penalty, Regulariser
from privfit.questions.question import Question, asked

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table

__all__ = ["Curator", "Measurement", "NoiseSource", "Problem", "SealedLine", "SealedPoint", "Vector"]

Vector = NDArray[np.float64]
Look = Callable[[], Vector]


class SealedPoint:
    """A weight vector w whose predictions stay with the curator."""

    def __init__(self, w: Vector) -> None:
        self.w = w


class SealedLine:
    """All points w - step * direction, whose predictions stay with the curator."""

    def __init__(self, origin: SealedPoint, direction: Vector) -> None:
        self.origin, self.direction = origin, direction


class Curator:
    """Answers a solver's questions for a price. A `Relation` says which tables are neighbours.

    Parameters
    ----------
    records : Problem or Table
        The records; a table suffices if no question is about losses.
    ledger : Ledger
        The ledger that pays for every question.
    noise : NoiseSource
        The source of the noise.
    epsilon, delta : float
        The ledger's promise; public, for solvers whose constants depend on it.
    relation : Relation
        How many records one person may have. The sensitivity to one record is multiplied by this (Q0).
    penalty : Penalty
        The regulariser that is added to the mean loss, and the set in which the weights must stay; public.
    n_records, bounds : optional
        The number of records, and the lowest and highest value of every column, if they were declared public.
    on_answer : callable, optional
        Called with the ledger after every answer, to show progress.
    """

    def __init__(
        self,
        records: Problem | Table,
        ledger: Ledger,
        noise: NoiseSource,
        *,
        epsilon: float,
        delta: float,
        relation: Relation,
        penalty: Penalty = NO_PENALTY,
        n_records: float | None = None,
        bounds: tuple[Vector, Vector] | None = None,
        on_answer: Callable[[Ledger], None] = lambda ledger: None,
    ) -> None:
        self._records: Any = records
        self._table: Table = records.table
        self._ledger, self._noise, self._on_answer = ledger, noise, on_answer
        self._places: WeakKeyDictionary[SealedPoint | SealedLine, Any] = WeakKeyDictionary()
        self._last: tuple[Measurement, str, Vector] | None = None
        self.epsilon, self.delta, self.relation, self.penalty = epsilon, delta, relation, penalty
        self.n_records, self.bounds = n_records, bounds
        self.weighted, self.in_parts = (getattr(records, name, False) for name in ("weighted", "in_parts"))
        relation.require_of(getattr(records, "persons", None))
        self.regulariser = Regulariser(penalty, self._table.view)  # public, because it holds no records

    def _over(self, records: Problem | Table, **changed: Any) -> Curator:
        """Return a curator over another view of the records; it charges the same ledger."""
        kept = ("epsilon", "delta", "relation", "penalty", "n_records", "bounds")
        public = {name: getattr(self, name) for name in kept} | changed
        return Curator(records, self._ledger, self._noise, on_answer=self._on_answer, **public)

    # -- what is public -------------------------------------------------------------------------------

    @property
    def n_weights(self) -> int:
        """Number of weights, the intercept's included."""
        return self._table.n_weights

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._table.n_columns

    @property
    def intercept(self) -> bool:
        """Whether the last weight is an intercept."""
        return self._table.intercept

    @property
    def loss(self) -> Loss:
        """The loss that questions are about."""
        return cast(Loss, self._records.loss)

    @property
    def remaining(self) -> float:
        """The rho that is left of this fit's privacy budget; a shared ledger may have less left."""
        return self._ledger.unspent

    def raw_weights(self, w: Vector) -> Vector:
        """Return the weights of the columns with the same predictions as w for this curator's features."""
        return self._table.raw_weights(w)

    def reach(self, n: float, rho: float | None = None) -> float:
        """Return the reach of a budget, by default what is left: n sqrt(2 rho) / records per person."""
        return n * math.sqrt(2.0 * (self.remaining if rho is None else rho)) / self.relation.times("record")

    # -- points, lines and other views: nothing is released, so nothing is charged -------------------

    def at(self, w: Vector) -> SealedPoint:
        """Return the point w, sealed. One pass over the data."""
        return self._sealed(self._records.at(w))

    def along(self, point: SealedPoint, direction: Vector) -> SealedLine:
        """Return the line w - step * direction, sealed. One pass over the data."""
        self._places[line := SealedLine(point, direction)] = self._places[point].along(direction)
        return line

    def move(self, line: SealedLine, step: float) -> SealedPoint:
        """Return the point w - step * direction, sealed. No pass: predictions are linear."""
        return self._sealed(self._places[line].move(step))

    def _sealed(self, place: Any) -> SealedPoint:
        self._places[point := SealedPoint(place.w)] = place
        return point

    def sample(self, probability: float) -> Curator:
        """Return a curator over a Poisson sample of records or persons; no amplification is claimed (Q5)."""
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"probability must lie between 0 and 1, got {probability!r}.")
        drawn = self._records.sampled(lambda count: self._noise.poisson_rows(count, probability))
        expected = None if self.n_records is None else probability * self.n_records
        return self._over(drawn, n_records=expected)

    def clipped(self, low: Vector, high: Vector) -> Curator:
        """Return a curator over the columns clipped to [low, high]. Nothing is released."""
        return self._over(self._records.clipped(low, high), bounds=(low, high))

    def transformed(self, center: Vector, scale: Vector, bias: float = 1.0) -> Curator:
        """Return a curator over scale * (features - center), the intercept's column holding `bias`."""
        return self._over(self._records.transformed(center, scale, bias))

    def retargeted(self, center: float, scale: float, loss: Loss) -> Curator:
        """Return a curator over (targets - center) / scale and another loss. Nothing is released."""
        penalty = self.penalty.retargeted(*loss.unit_of_weights(center, scale))
        return self._over(self._records.retargeted(center, scale, loss), penalty=penalty)

    def projected(self, w: Vector) -> Curator:
        """Return a curator over records whose only feature is their score z.w, unregularised (Q13)."""
        return self._over(self._records.projected(w), bounds=None, penalty=NO_PENALTY)

    # -- answers: check, charge, read, add noise, return -----------------------------------------------

    def _bounded(self, question: Question, of: SealedPoint | SealedLine | None) -> Any:
        """Return what a question asks for at a point, on a line or of the records, without reading them."""
        return asked(question, self._records if of is None else self._places[of]).under(self.relation)

    def _charge(self, rho: float, delta: float = 0.0, /, **entry: Any) -> None:
        self._ledger.charge(rho, delta, person_id=self.relation.person_id, **entry)

    def measure(self, question: Question, rho: float, *, of: SealedPoint | None = None) -> Measurement:
        """Release the answer to a question about a point, or about the records, with Gaussian noise (P1)."""
        bounded = self._bounded(question, of)
        return self._with_noise(question.what, bounded.claim, bounded.look, bounded.sensitivity, rho)

    def refine(self, measurement: Measurement, rho: float) -> Measurement:
        """Measure the same once more for rho, and return the average weighted by rho (Q2). No pass."""
        if self._last is None or self._last[0] is not measurement:
            raise ValueError("Only what was measured last can be refined.")
        _, what, exact = self._last
        again = self._with_noise(f"{what}, refined", "Q2", lambda: exact, measurement.sensitivity, rho)
        self._last = (refined := measurement.average(again), what, exact)
        return refined

    def _with_noise(self, what: str, claim: str, look: Look, sensitivity: float, rho: float) -> Measurement:
        sigma = zcdp.gaussian_sigma(sensitivity, rho)  # raises before the charge if no noise could hide it
        entry = dict(kind="gaussian", claim=claim, noise="gaussian", sensitivity=sensitivity, scale=sigma)
        self._charge(rho, what=what, mechanism=f"gaussian, sensitivity {sensitivity:.6g}", **entry)
        exact = look()
        self._last = (noisy := measure(exact, sensitivity, rho, self._noise), what, exact)
        self._on_answer(self._ledger)
        return noisy

    def choose(
        self,
        question: Question,
        rho: float,
        *,
        of: SealedPoint | SealedLine | None = None,
        shape: Shape = "gumbel",
        penalties: Vector | float = 0.0,
        winners: int = 1,
    ) -> list[int]:
        """Return the candidates with the least scores plus public penalties, by noisy argmin (P2, P3)."""
        scores = self._bounded(question, of).penalised(penalties)
        if not 1 <= winners <= scores.count:
            raise ValueError(f"winners must be between 1 and {scores.count} candidates, got {winners}.")
        span = width(scores.sensitivity, monotone=scores.monotone)
        scale = selection_scale(span, rho / winners, shape)
        entry = dict(claim=scores.claim, noise=shape, sensitivity=math.sqrt(winners) * span, scale=scale)
        self._charge(rho, what=question.what, mechanism=f"noisy min, {shape}, scale {scale:.6g}", **entry)
        left, price = list(range(len(totals := scores.look()))), rho / winners
        chosen = [left.pop(select_min(totals[left], span, price, shape, self._noise)) for _ in range(winners)]
        self._on_answer(self._ledger)
        return chosen

    def open(self, rho: float, delta: float = 0.0, *, why: str, claim: str = "Q6") -> tuple[Any, NoiseSource]:
        """Charge the whole cost of a mechanism with a proof of its own, named by `claim`, then open (Q6)."""
        if not self.relation.is_one_record_each:
            raise ValueError(f"{why} is proved for people with one record each; choose another solver.")
        self._charge(rho, delta, what=why, mechanism="one release", kind="release", claim=claim)
        return self._records, self._noise

    def open_without_privacy(self) -> Any:
        """Return the data to a baseline without privacy. The estimator's statement says so."""
        return self._records
