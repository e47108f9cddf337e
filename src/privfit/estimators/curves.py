"""How many edges the curves of a fit have: a rule of public and bought numbers alone.

Curves add weights, and with them noise and, where records are few, chance. So there are curves only if the
reach of the budget, n sqrt(2 rho), is large enough for their number, and the number of records for that of
the features. How fine a curve may be depends on both, but not on how many other curves there are, because
every record tells of each. All count less where one label is rare. docs/schema.md says the rule, and
benchmarks/curves.py shows what it does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privfit.accounting import Direct
from privfit.estimators.validation import shown
from privfit.losses.targets import Classes, TwoLabels
from privfit.questions import Count, TargetSums
from privfit.schema import Schema
from privfit.schema.curve import MOST_EDGES
from privfit.schema.curved import Curved

if TYPE_CHECKING:
    from privfit.curator import Curator
    from privfit.estimators.private import Terms

COUNT_SHARE, TARGET_SHARE = 0.002, 0.01  # of the budget: the reach is then known to 22, a mean to 7 / reach
LEAST_FOR_A_CURVE = 4.0  # of the smaller of the two: with less, noise and chance cost more than a curve tells
FEWEST_EDGES = 6  # of a curve: fewer may lie where the curve does not bend, and were no better anywhere
AMOUNT_FOR_MORE = 150.0  # from here on, more edges: with less, they gained nothing
MOST_DECIDED = 16  # edges that the rule gives a curve: more gained nothing at any budget
RECORD = 0.2  # what a record counts for against chance, in the unit of the reach


@dataclass(frozen=True)
class Information:
    """What decides how many edges curves have.

    Parameters
    ----------
    n : float
        The number of records, declared or bought.
    reach : float
        n sqrt(2 rho), divided by the records that a person may have.
    balance : float
        How much a record's label tells, compared with two labels that are as frequent: 4 q (1 - q) of two
        labels, of which one has the share q. 1 where nothing was bought about it.
    """

    n: float
    reach: float
    balance: float = 1.0

    def edges(self, schema: Schema) -> int:
        """Return how many edges each undecided curve of a schema has; 0 where plain columns are better."""
        against_noise, against_chance = self._shares(schema)
        if min(against_noise, against_chance) < LEAST_FOR_A_CURVE:
            return 0
        finer = (self.balance * min(self.reach, RECORD * self.n) / AMOUNT_FOR_MORE) ** (1.0 / 3.0)
        return int(min(FEWEST_EDGES * max(finer, 1.0), MOST_DECIDED))

    def reason(self, schema: Schema) -> str:
        """Return the amount that decides how many edges there are, in words; "" without privacy."""
        if math.isinf(self.reach):
            return ""
        amounts = self.reach, RECORD * self.n
        against_noise, against_chance = amounts if self.edges(schema) else self._shares(schema)
        name, amount = (
            ("n sqrt(2 rho)", amounts[0]) if against_noise <= against_chance else ("n / 5", amounts[1])
        )
        balance = f"{self.balance:.2g}"
        labels = "" if balance == "1" else f", times {balance} for the shares of the labels"
        return f"{name} is about {float(f'{amount:.3g}'):,g}{labels}"

    def _shares(self, schema: Schema) -> tuple[float, float]:
        """Return what there is against noise for each curve, and against chance for each plain feature."""
        n_features = len(schema.without_curves().feature_names)
        return (
            self.balance * self.reach / n_undecided(schema),
            self.balance * RECORD * self.n / n_features,
        )


WITHOUT_PRIVACY = Information(math.inf, math.inf)


def with_setting(schema: Schema | None, curves: Any) -> Schema | None:
    """Return the schema with the curves that an estimator's setting asks for, or refuse the setting."""
    number = isinstance(curves, int) and not isinstance(curves, bool)
    if curves is not None and not isinstance(curves, bool) and not (number and 0 <= curves <= MOST_EDGES):
        raise ValueError(
            f"curves must be None, True, False or a number of edges up to {MOST_EDGES}, got {shown(curves)}."
        )
    if schema is not None:
        return schema.with_curves(curves)
    if curves:
        raise ValueError(
            "curves cut columns at edges between declared bounds, and nothing is declared; give a schema."
        )
    return None


def public_information(schema: Schema, terms: Terms, n_records: int | None) -> Information | None:
    """Return what is known before anything is bought; None if something has to be bought."""
    if not terms.private or terms.promise is None:
        return WITHOUT_PRIVACY
    one_release = isinstance(terms.promise, Direct)
    if n_records is None or terms.relation.unit != "record":
        if one_release:
            raise ValueError(
                "This solver cannot buy the number of records, which decides how many edges curves have; "
                "declare n_records, or a number of edges instead of true."
            )
        return None
    known = Information(n_records, n_records * math.sqrt(2.0 * terms.promise.rho))
    has_classes = getattr(schema.label, "classes", None) is not None
    nothing_to_buy = one_release or not has_classes or not known.edges(schema)
    return known if nothing_to_buy else None


def bought_information(curator: Curator, schema: Schema) -> Information:
    """Return what is declared, and buy what is not: the number of records, and how rare labels are."""
    budget, n = curator.remaining, curator.n_records
    if n is None:
        n = max(float(curator.measure(Count(), COUNT_SHARE * budget).value[0]), 1.0)
    known = Information(n, curator.reach(n, budget))
    targets = curator.loss.targets
    if not isinstance(targets, TwoLabels | Classes) or not known.edges(schema):
        return known
    sums = curator.measure(TargetSums(), TARGET_SHARE * budget)
    error = sums.sigma / n
    mean = float(np.linalg.norm(targets.likely_mean(sums.value / n, error)))
    # one standard deviation farther from balanced labels: curves of rare ones are mostly chance
    balance = max(1.0 - (mean + error) ** 2, 0.0)
    if isinstance(targets, Classes):  # of K equal classes, each of which has weights of its own, 2 / K
        balance *= 2.0 / (targets.count - 1)
    return Information(known.n, known.reach, balance)


def n_undecided(schema: Schema) -> int:
    """Return how many curves have a number of edges that a fit decides."""
    return sum(column.is_undecided for column in schema.columns if isinstance(column, Curved))


def possible_edges(schema: Schema) -> Sequence[int]:
    """Return numbers of edges that the rule may give: what suits them suits every number that it may give.

    These are the fewest and the most or, if a column is named like a piece of an undecided curve, all.
    """
    cut = [column.name for column in schema.columns if isinstance(column, Curved) and column.is_undecided]
    named = schema.without_curves().feature_names
    alike = any(name.startswith(f"{column}[") for column in cut for name in named)
    return (0, *range(FEWEST_EDGES, MOST_DECIDED + 1)) if alike else (0, MOST_DECIDED)


def decided(schema: Schema, known: Information) -> tuple[Schema, str]:
    """Return a schema whose curves have as many edges as the rule gives them, and a note that says so."""
    n_curves = n_undecided(schema)
    edges = known.edges(schema)
    columns = "1 column" if n_curves == 1 else f"{n_curves} columns"
    note = f"curves of {columns} have up to {edges} edges" if edges else f"{columns} have no curve"
    reason = known.reason(schema)
    return schema.with_edges(edges), f"{note}, because {reason}" if reason else note
