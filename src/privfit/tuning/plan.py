"""The plan of a search, which is made before the records are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privfit.accounting.relation import Relation
from privfit.estimators.declared import Declared
from privfit.estimators.private import Terms
from privfit.questions.scores import SHARE_GRID
from privfit.tuning.results import LEVEL_SHARE


@dataclass(frozen=True)
class Plan:
    """The numbers of a search, which are the same for every table.

    Attributes
    ----------
    settings : list of dict
        The settings that are tried.
    scoring : str
        The loss by which settings are compared.
    clip : float
        The norm to which the differences of a record's losses from their mean are clipped, as a share of the
        range of the loss.
    declared : Declared
        The public facts about the table.
    relation : Relation
        The adjacency of tables.
    terms : Terms
        The terms of the whole search.
    refit : float
        The rho of the refit, 0 without one.
    seeds : list
        A seed for each fit and for the refit; None for secure noise.
    """

    settings: list[dict[str, Any]]
    scoring: str
    clip: float
    declared: Declared
    relation: Relation
    terms: Terms
    refit: float
    seeds: list[int | None]

    @property
    def search(self) -> float:
        """The rho of the fits, and of the scores, which use other records."""
        assert self.terms.promise is not None
        return self.terms.promise.rho - self.refit

    @property
    def level(self) -> float:
        """How much a held-out record adds for its count and for its mean loss, on the grid of exact sums."""
        return max(round(LEVEL_SHARE * self.clip / SHARE_GRID), 1) * SHARE_GRID


def seeds(count: int, random_state: Any, *, secure: bool) -> list[int | None]:
    """Return a seed for each fit if noise is seeded, all different, and None for secure noise."""
    if secure:
        return [None] * count
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return [int(seed) for seed in random_state.integers(2**63, size=count)]
    drawn = np.random.SeedSequence([int(random_state), 1]).generate_state(count, np.uint64)
    return [int(seed) for seed in drawn]
