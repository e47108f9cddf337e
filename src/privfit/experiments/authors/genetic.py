"""The authors' PrivGene: private, but without crossover, so it is not the algorithm of that name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import coo_array, hstack

from privfit.accounting import rho_from_epsilon
from privfit.engine.exact.grids import FloatArray
from privfit.experiments.authors.program import Given, Program
from privfit.losses.loss import Loss


@dataclass(frozen=True, kw_only=True)
class AuthorsPrivGene(Program):
    """`privgene`: each candidate is the last winner with one weight moved, up or down.

    Their program keeps a view of the winner's place in the array of candidates, not a copy. When this place
    is overwritten, the new content becomes the winner. So the candidates after it, and the answer, have moved
    once more in the same direction. The losses of a record under any two candidates then differ by up to
    three times the mutation instead of two times. The noise is for four times, so the selection stays private
    if a record is added or removed.
    """

    private: ClassVar[bool] = True

    mutation: float = 0.5
    decay: float = 0.95

    def learn(self, given: Given) -> tuple[FloatArray, int]:
        """Run n epsilon / 800 generations."""
        signs, loss, epsilon, delta, rng = given.signs, given.loss, given.epsilon, given.delta, given.rng
        n, factor = len(signs), 1.0 if loss.name == "logistic" else 10.0
        # the column of the bias is first, because the order matters
        Z = coo_array(hstack([np.ones((n, 1)), given.X]))
        generations = max(round(n * epsilon / 800), 1)
        share = math.sqrt(2 * rho_from_epsilon(epsilon, delta, "classic") / generations)
        brood = Brood(np.zeros(Z.shape[1]), np.zeros(Z.shape[1]), self.mutation, 0)
        for _ in range(generations):
            fitness = -factor * brood.losses(Z, signs, loss)
            if loss.name != "logistic":
                fitness -= np.square(brood.candidates()[:, 1:]).sum(axis=1) / 2
            weights = share / (4 * factor * brood.scale) * fitness
            chances = np.exp(weights - weights.max())
            brood = brood.next(int(rng.choice(len(chances), p=chances / chances.sum())), self.decay)
        return np.roll(brood.moved, -1), generations


class Brood(NamedTuple):
    """Candidates 2j and 2j + 1 with weight j moved up and down by `scale`.

    Candidates up to the place of the last winner are derived from the winner. Later ones are derived from the
    new content of that place, which is the winner `moved` once more.
    """

    winner: FloatArray
    moved: FloatArray
    scale: float
    place: int

    def candidates(self) -> FloatArray:
        """Return the candidates as rows."""
        d = len(self.winner)
        moves = self.scale * np.repeat(np.eye(d), 2, axis=0) * np.tile([1.0, -1.0], d)[:, None]
        bases = np.where((np.arange(2 * d) <= self.place)[:, None], self.winner, self.moved)
        candidates: FloatArray = bases + moves
        return candidates

    def losses(self, Z: Any, signs: FloatArray, loss: Loss) -> FloatArray:
        """Sum the losses of each candidate, by the change of the base's loss for each entry of a record."""
        each = _logistic if loss.name == "logistic" else _hinge
        margins = [signs * (Z @ base) for base in (self.winner, self.moved)]
        there = [each(margin) for margin in margins]
        sums = np.empty(2 * Z.shape[1])
        for offset, sign in enumerate((1.0, -1.0)):
            of_moved = 2 * Z.col + offset > self.place
            before, loss_before = (
                np.where(of_moved, moved[Z.row], winner[Z.row]) for winner, moved in (margins, there)
            )
            changes = each(before + sign * self.scale * signs[Z.row] * Z.data) - loss_before
            bases = np.where(2 * np.arange(Z.shape[1]) + offset > self.place, there[1].sum(), there[0].sum())
            sums[offset::2] = bases + np.bincount(Z.col, changes, Z.shape[1])
        return sums

    def next(self, i: int, decay: float) -> Brood:
        """Return the next generation, which descends from candidate i."""
        winner, scale = self.candidates()[i], decay * self.scale
        move = scale * (np.arange(len(winner)) == i // 2)
        return Brood(winner, winner - move if i % 2 else winner + move, scale, i)


def _logistic(margins: FloatArray) -> FloatArray:
    return np.log1p(np.exp(-margins))


def _hinge(margins: FloatArray) -> FloatArray:
    return np.maximum(1.0 - margins, 0.0)
