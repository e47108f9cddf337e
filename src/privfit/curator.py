"""The one door to the data.

A solver never sees a record. It asks the curator priced questions, and every answer is made in the same
order: check the question, charge the ledger, look at the data, blur, return. If the charge does not fit,
`BudgetExceeded` is raised and nothing is looked at. Points and lines are handed out sealed: a solver can
hold and move them but not look inside. The claims Q1, Q2, ... are proved in docs/privacy.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from privfit.accounting import Ledger
from privfit.engine.base import Engine, Line, Point
from privfit.engine.rounding import MAX_CANDIDATES, loss_slack, rise_bound, rise_slack
from privfit.losses import Loss
from privfit.mechanisms.gaussian import Measurement, measure
from privfit.mechanisms.noise import NoiseSource, Shape
from privfit.mechanisms.selection import Relation, select_min, selection_scale, width

__all__ = ["Curator", "Engine", "Measurement", "NoiseSource", "SealedLine", "SealedPoint", "Vector"]

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
    bounds : pair of arrays, optional
        Lowest and highest value of every column if declared public; the engine's features obey them.
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
        bounds: tuple[Vector, Vector] | None = None,
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
        self._last: tuple[Measurement, str, Vector] | None = None
        self.epsilon, self.delta = epsilon, delta
        self.alpha = alpha
        self.n_records = n_records
        self.bounds = bounds
        self.relation: Relation = relation

    def _over(self, engine: Engine, **changed: Any) -> Curator:
        """Return a curator over another view of the records that draws on the same account."""
        public = {
            name: getattr(self, name)
            for name in ("epsilon", "delta", "alpha", "n_records", "bounds", "relation")
        }
        return Curator(engine, self._ledger, self._noise, on_answer=self._on_answer, **(public | changed))

    # -- what is public -------------------------------------------------------------------------------

    @property
    def n_weights(self) -> int:
        """Number of weights, the intercept's included."""
        return self._engine.n_weights

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._engine.n_weights - self._engine.intercept

    @property
    def intercept(self) -> bool:
        """Whether the last weight is an intercept."""
        return self._engine.intercept

    @property
    def loss(self) -> Loss:
        """The loss whose sum is asked about."""
        return self._engine.loss

    @property
    def loss_slope(self) -> float:
        """How steep the loss is at margin 0, where every walk starts."""
        return abs(self._engine.loss.derivative(0.0))

    def raw_weights(self, w: Vector) -> Vector:
        """Return the weights of the columns that say what w says of this curator's features."""
        return self._engine.raw_weights(w)

    def penalty_gradient(self, w: Vector) -> Vector:
        """Return the gradient of the regulariser alpha/2 ||raw weights||^2 at w."""
        if not self.alpha:
            return np.zeros_like(w)
        return self.alpha * self._engine.pulled_back(self._engine.raw_weights(w))

    @property
    def longest_regular_step(self) -> float:
        """The longest gradient step on the regulariser alone that surely does not overshoot."""
        strength = self.alpha * self._engine.stretch**2
        return 1.0 / strength if strength > 0.0 else math.inf

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
        expected = None if self.n_records is None else probability * self.n_records
        return self._over(self._engine.subset(rows), n_records=expected)

    def clipped(self, low: Vector, high: Vector) -> Curator:
        """Return a curator over the columns clipped to [low, high]. Nothing is released."""
        return self._over(self._engine.clipped(low, high), bounds=(low, high))

    def transformed(self, center: Vector, scale: Vector, bias: float = 1.0) -> Curator:
        """Return a curator over scale * (features - center), the intercept's column holding `bias`.

        Nothing is released. The records are shared, and the map is applied on the fly.
        """
        return self._over(self._engine.transformed(center, scale, bias))

    def projected(self, w: Vector) -> Curator:
        """Return a curator over records with a single feature, their scores z.w; the intercept is kept (Q13).

        Nothing is released. A record's score is a function of that record and of w alone (S1), so tables of
        scores are neighbours where the tables are. One pass over the data.
        """
        from privfit.engine.local import LocalEngine  # here, because numba takes long to import

        engine = cast(LocalEngine, self._engine)
        direction = np.append(w[: self.n_features], np.zeros(self.n_weights - self.n_features))
        scores: Vector = np.multiply(engine.y, engine.at(direction).margins)
        alone = LocalEngine(scores[:, None], engine.y, self.loss, intercept=self.intercept)
        return self._over(alone, bounds=None, alpha=0.0)  # the regulariser is about the features' weights

    # -- questions: check, charge, look, blur, return ---------------------------------------------------

    def gradient(self, point: SealedPoint, clip: float, rho: float) -> Measurement:
        """Measure the sum over records of the loss gradient, each clipped to L2 norm `clip` (Q1).

        Sensitivity: `clip` plus rounding (engine.gradient_bound), add/remove; twice that for replace-one.
        Mechanism: Gaussian. Cost: rho. One pass over the data.
        """
        bound = self._engine.gradient_bound(clip)
        return self._measure("gradient", lambda: self._points[point].gradient_sum(clip), bound, rho)

    def gradient_at(self, w: Vector, clip: float, rho: float) -> Measurement:
        """Measure the sum of clipped gradients at w: `gradient(at(w), ...)` in a single pass (Q1)."""
        bound = self._engine.gradient_bound(clip)
        return self._measure("gradient", lambda: self._engine.gradient_at(w, clip), bound, rho)

    def refine(self, measurement: Measurement, rho: float) -> Measurement:
        """Measure the same once more and average the two, weighted by rho (Q2).

        Sensitivity, relation and mechanism are those of the first time. Cost: rho more. No pass.
        """
        if self._last is None or self._last[0] is not measurement:
            raise ValueError("Only what was measured last can be refined.")
        what, exact = self._last[1:]
        bound = measurement.sensitivity / self._changes
        again = self._measure(f"{what}, refined", lambda: exact, bound, rho)
        refined = measurement.average(again)
        self._last = (refined, what, exact)
        return refined

    def _measure(self, what: str, look: Callable[[], Vector], sensitivity: float, rho: float) -> Measurement:
        """Charge, look, blur with Gaussian noise for this add/remove sensitivity, and return (P1)."""
        sensitivity *= self._changes
        self._ledger.charge(rho, what=what, mechanism=f"gaussian, sensitivity {sensitivity:.6g}")
        exact = look()
        noisy = measure(exact, sensitivity, rho, self._noise)
        self._last = (noisy, what, exact)
        self._on_answer(self._ledger)
        return noisy

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
        spacing, count = _spacing(steps)
        (chosen,) = self._choose(
            "step size",
            lambda: self._lines[line].loss_sums(spacing, count, clip),
            clip + 2.0 * loss_slack(clip),
            rho,
            shape,
            penalties,
        )
        return chosen

    def choose_step_by_rise(
        self,
        line: SealedLine,
        steps: Vector,
        slope_clip: float,
        rho: float,
        *,
        penalties: Vector | float = 0.0,
    ) -> int:
        """Choose the same by how much each record's loss rises above its least along the line (Q10).

        With its slope clipped to `slope_clip`, a record's loss changes by at most L * (largest step) *
        `slope_clip` along the line, L being the loss's Lipschitz constant. That is the scores' width, however
        large losses are. Mechanism: noisy argmin with Gumbel noise. Cost: rho. No pass over the data.
        """
        spacing, count = _spacing(steps)
        bound = rise_bound(self._engine.loss.lipschitz, spacing, count, slope_clip)
        (chosen,) = self._choose(
            "step size",
            lambda: self._lines[line].rise_sums(spacing, count, slope_clip),
            bound + 2.0 * rise_slack(bound),
            rho,
            "gumbel",
            penalties,
        )
        return chosen

    def choose_weights(
        self,
        point: SealedPoint,
        candidates: Vector,
        reach: float,
        rho: float,
        *,
        winners: int = 1,
        penalties: Vector | float = 0.0,
    ) -> list[int]:
        """Choose privately among weight vectors, one in each row, those with the least loss (Q12).

        A vector v is scored by the sum over records of how the loss changes from the point w to v, the
        change x.(v - w) of a record's margin being clipped to +-`reach`. One more record changes a score by
        at most L * `reach` either way, L being the loss's Lipschitz constant, plus rounding: scores of
        width 2 L `reach`. Mechanism: noisy argmin with Gumbel noise; further winners are chosen from what
        is left, at rho / `winners` each. Cost: rho. One pass over the data for every candidate.
        """
        if not 1 <= winners <= len(candidates):
            raise ValueError(f"winners must be between 1 and {len(candidates)} candidates, got {winners}.")
        bound = rise_bound(self._engine.loss.lipschitz, 1.0, 1, reach)

        def change(v: Vector) -> float:
            here, there = self._points[point].along(point.w - v).rise_sums(1.0, 1, reach)
            return float(there - here)  # of each record, one of the two rises is 0

        return self._choose(
            "weights",
            lambda: np.array([change(v) for v in candidates]),
            2.0 * (bound + rise_slack(bound)),
            rho,
            "gumbel",
            penalties,
            winners,
        )

    def _choose(
        self,
        what: str,
        look: Callable[[], Vector],
        sensitivity: float,
        rho: float,
        shape: Shape,
        penalties: Vector | float,
        winners: int = 1,
    ) -> list[int]:
        """Charge, look, and name winners one after the other; scores move within `sensitivity` (P2, P3)."""
        score_width = width(sensitivity, monotone=True, relation=self.relation)
        scale = selection_scale(score_width, rho / winners, shape)
        self._ledger.charge(rho, what=what, mechanism=f"noisy min, {shape}, scale {scale:.6g}")
        # only differences between penalties matter; small numbers add less rounding to the scores
        scores = look() + (penalties - np.min(penalties))
        left = list(range(len(scores)))
        chosen = [
            left.pop(select_min(scores[left], score_width, rho / winners, shape, self._noise))
            for _ in range(winners)
        ]
        self._on_answer(self._ledger)
        return chosen

    def count(self, rho: float) -> Measurement:
        """Measure the number of records (Q4).

        Sensitivity: 1, add/remove. (Under replace-one the number is the same for all neighbours and
        should be declared.) Mechanism: Gaussian. Cost: rho.
        """
        return self._measure("number of records", lambda: np.array([float(self._engine.n_records)]), 1.0, rho)

    def norms(self, edges: Vector, rho: float) -> Measurement:
        """Measure how many records' feature norms lie between each two of the descending edges (Q7).

        Every record is in one bin. Sensitivity: 1, add/remove. Mechanism: Gaussian. Cost: rho.
        """
        return self._measure("norms", lambda: self._engine.norm_counts(edges), 1.0, rho)

    def curve_norms(self, edges: Vector, folds: Vector, rho: float) -> Measurement:
        """Measure the same for the norms of the curves z (z - fold) (Q7)."""
        return self._measure("norms", lambda: self._engine.curve_counts(edges, folds), 1.0, rho)

    def magnitudes(self, rho: float) -> Measurement:
        """Measure how many values of each column lie between each two powers of two (Q8).

        A record with k values that are not zero counts 1 / sqrt(k) in the bin of each, so its share has
        norm 1 however many columns there are. Sensitivity: 1 plus rounding, add/remove. Mechanism:
        Gaussian. Cost: rho. One pass over the data.
        """
        sensitivity = self._engine.magnitude_bound()
        return self._measure("column scales", lambda: self._engine.magnitude_sums().ravel(), sensitivity, rho)

    def histograms(self, edges: Vector, rho: float) -> Measurement:
        """Measure how many values of each column lie between each two of its ascending edges (Q11).

        Row j of `edges` is column j's; the outer bins take all beyond. Every record is in one bin of every
        column. Sensitivity: the root of the number of columns, add/remove. Mechanism: Gaussian. Cost: rho.
        One pass over the data.
        """
        sensitivity = math.sqrt(self.n_features)
        return self._measure("histograms", lambda: self._engine.value_counts(edges).ravel(), sensitivity, rho)

    def moments(
        self, radius: float, curve_radius: float, folds: Vector, weight: float, rho: float
    ) -> Measurement:
        """Measure the sums of z and of `weight` times the curves z (z - fold), as one vector (Q9).

        A record is shrunk until its z is no longer than `radius` and its curve than `curve_radius`.
        Sensitivity: the length of (radius, weight * curve_radius), plus rounding, add/remove. Mechanism:
        Gaussian. Cost: rho. One pass over the data.
        """
        straight, curved = self._engine.moment_bounds(radius, curve_radius, folds)
        sensitivity = float(np.hypot(straight, weight * curved))

        def look() -> Vector:
            first, curve = self._engine.moment_sums(radius, curve_radius, folds)
            return np.concatenate([first, weight * curve])

        return self._measure("moments", look, sensitivity, rho)

    def open(self, rho: float, delta: float = 0.0, *, why: str) -> tuple[Engine, NoiseSource]:
        """Charge the whole cost of a mechanism with a proof of its own, then hand over what it needs.

        `why` names the theorem. The few calls of this method are what a privacy review reads.
        """
        self._ledger.charge(rho, delta, what=why, mechanism="one release")
        return self._engine, self._noise

    def open_without_privacy(self) -> Engine:
        """Hand the data to a baseline that promises nothing. The estimator's statement says so."""
        return self._engine


def _spacing(steps: Vector) -> tuple[float, int]:
    """Return h and the number of steps beyond 0 of 0, h, 2h, ...; anything else is refused."""
    count = len(steps) - 1
    if not (1 <= count <= MAX_CANDIDATES and np.allclose(steps, steps[-1] * np.arange(count + 1) / count)):
        raise ValueError(f"steps must be 0, h, 2h, ... with at most {MAX_CANDIDATES} of them beyond 0.")
    return float(steps[-1]) / count, count
