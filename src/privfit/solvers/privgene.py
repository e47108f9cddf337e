"""PrivGene: a genetic algorithm that privately chooses the fittest weight vectors (Zhang et al. 2013)."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import ClassVar, Literal

import numpy as np

from privfit.accounting import Concentrated
from privfit.curator import Curator, Vector
from privfit.leaks import warn_of_earlier_name
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

# numbers of generations; after 200 a mutation has shrunk to 1/30000
FEWEST_GENERATIONS, MOST_GENERATIONS = 8, 200


@register
@dataclass(frozen=True, kw_only=True)
class PrivGene:
    """Breed weight vectors, choose the fittest privately, and breed the next generation from those.

    Use it as a baseline without gradients, for features of size 1. All solvers with gradients are better.

    Parameters
    ----------
    variant : {"paper", "authors"}
        "paper": the first vectors are random. Each child is a crossover of two parents at a random position,
        with one random weight moved up or down. "authors", as in the code of the DP-AGD authors: there is one
        parent, at first zero, which has a child for each weight and direction.
    population, parents : int
        Size of a generation, and how many are chosen from it, for the variant "paper".
    mutation, decay : float
        How far a child's weight moves in the first generation, and the factor for each later generation.
    c : float
        There are c * n * epsilon generations, but at least 8 and at most 200.
    relative_clip : float
        The change of a record's margin is clipped to `relative_clip` times the largest move of a weight. For
        "authors" this changes nothing if no feature is larger than `relative_clip`.
    seed : int
        Seed of the breeding, which is public.
    reach : float, optional
        The name of `relative_clip` in privfit 0.1.
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
    relative_clip: float = 1.0
    seed: int = 0
    reach: InitVar[float | None] = None

    def __post_init__(self, reach: float | None) -> None:
        if reach is not None:
            warn_of_earlier_name("PrivGene(reach=...)", "relative_clip")
            object.__setattr__(self, "relative_clip", reach)
        check_choice(self, "variant", ("paper", "authors"))
        check_positive(self, "mutation", "decay", "c", "relative_clip")
        check_whole(self, "population", "parents", least=2)
        check_whole(self, "seed", least=0)
        if self.parents > self.population:
            raise ValueError(
                f"PrivGene needs parents <= population, got {self.parents!r} and {self.population!r}."
            )

    def solve(self, curator: Curator) -> Solution:
        """Breed generations, each for the same price, and return the fittest of the last one."""
        n = number_of_records(curator)
        generations = min(max(FEWEST_GENERATIONS, round(self.c * n * curator.epsilon)), MOST_GENERATIONS)
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
                ChangesOfLoss(candidates, self.relative_clip * farthest),
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
