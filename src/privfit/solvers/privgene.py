"""PrivGene: genetic search in which the fittest are chosen privately (Zhang et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from privfit.accounting import Concentrated
from privfit.curator import Curator, Vector
from privfit.questions import ChangesOfLoss
from privfit.solvers.base import Solution, Step, register
from privfit.solvers.kit import check_choice, check_positive, check_whole, number_of_records
from privfit.solvers.requirements import (
    BOUNDED_SLOPE,
    LABELS_NOT_NUMBERS,
    OWN_LOSS,
    PLAIN,
    POSITIVE_DELTA,
    Requirement,
)

FEWEST, MOST = 8, 200  # generations; after 200 a mutation has shrunk to 1/30000


@register
@dataclass(frozen=True, kw_only=True)
class PrivGene:
    """Breed weight vectors, choose the fittest privately, breed again from those.

    Use it as a baseline that needs no gradient, for features of size 1; every solver with one is better.

    Parameters
    ----------
    variant : {"paper", "authors"}
        "paper": vectors are random at first; then, for each child, two parents are crossed over at a random
        place and a random weight moves up or down. "authors", the code of the DP-AGD authors: the only
        parent, zero at first, has a child for each weight and direction.
    population, parents : int
        Size of a generation, and how many are chosen from it, for the variant "paper".
    mutation, decay : float
        How far a child's weight moves at first, and the factor by which that shrinks with each generation.
    c : float
        There are c * n * epsilon generations, but at least 8 and at most 200.
    reach : float
        A record's margin counts as changed by at most `reach` times the farthest that any weight moves.
        For "authors" that changes nothing where no feature is larger than `reach`.
    seed : int
        Of the breeding, which is public.
    """

    name: ClassVar[str] = "privgene"
    private: ClassVar[bool] = True
    requires: ClassVar[tuple[Requirement, ...]] = (
        *PLAIN,
        BOUNDED_SLOPE,
        POSITIVE_DELTA,
        OWN_LOSS,
        LABELS_NOT_NUMBERS,
    )
    promise = staticmethod(Concentrated.of)

    variant: Literal["paper", "authors"] = "paper"
    population: int = 200
    parents: int = 10
    mutation: float = 0.5
    decay: float = 0.95
    c: float = 1 / 800
    reach: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice(self, "variant", ("paper", "authors"))
        check_positive(self, "mutation", "decay", "c", "reach")
        check_whole(self, "population", "parents", least=2)
        check_whole(self, "seed", least=0)
        if self.parents > self.population:
            raise ValueError(
                f"PrivGene needs parents <= population, got {self.parents!r} and {self.population!r}."
            )

    def solve(self, curator: Curator) -> Solution:
        """Let generation follow generation, each for the same price; the fittest of the last is released."""
        n = number_of_records(curator)
        generations = min(max(FEWEST, round(self.c * n * curator.epsilon)), MOST)
        rng = np.random.default_rng(self.seed)
        fittest: Vector = np.empty((0, curator.n_weights))
        trace: list[Step] = []
        for left in range(generations, 0, -1):
            scale = self.mutation * self.decay ** len(trace)
            candidates = self._breed(fittest, scale, rng)
            center = candidates.mean(axis=0)
            farthest = max(scale, float(np.abs(candidates - center).max()))
            price = curator.remaining / left
            winners = curator.choose(
                ChangesOfLoss(candidates, self.reach * farthest),
                price,
                of=curator.at(center),
                winners=self.parents if self.variant == "paper" and left > 1 else 1,
                penalties=n * curator.penalty.alpha / 2 * np.einsum("ij,ij->i", candidates, candidates),
            )
            trace.append(Step(len(trace) + 1, scale, 0.0, price, 0.0))
            fittest = candidates[winners]
        return Solution(fittest[0], tuple(trace))

    def _breed(self, parents: Vector, scale: float, rng: np.random.Generator) -> Vector:
        """Return a generation of vectors, the first if there are no parents yet."""
        n_parents, d = parents.shape
        moves = scale * np.concatenate([np.eye(d), -np.eye(d)])
        if self.variant == "authors":
            return parents + moves if n_parents else moves
        if not n_parents:
            return rng.uniform(-scale, scale, (self.population, d))
        pairs = [rng.choice(n_parents, 2, replace=False) for _ in range(self.population)]
        mothers, fathers = parents[np.array(pairs).T]
        cuts = rng.integers(d + 1, size=(self.population, 1))
        crossed: Vector = np.where(np.arange(d) < cuts, mothers, fathers)
        return crossed + moves[rng.integers(2 * d, size=self.population)]
