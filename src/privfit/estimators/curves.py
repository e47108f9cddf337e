"""The rule for the number of edges of curves, which uses only public and released numbers.

Curves add weights. More weights mean more noise and, with few records, more overfitting. So a fit has curves
only if the reach of the budget, n sqrt(2 rho), is large enough for the number of curves, and the number of
records is large enough for the number of features. How many edges a curve has depends on both amounts, but
not on the number of other curves, because each record informs every curve. If one label is rare, both amounts
count less. docs/schema.md states the rule, and benchmarks/curves.py shows its results.
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

# Shares of the budget. The reach is then known with an error of 22, and a mean with an error of 7 / reach.
COUNT_SHARE_OF_CURVES, TARGET_SHARE_OF_CURVES = 0.002, 0.01
LEAST_FOR_A_CURVE = 4.0  # of both amounts; with less, noise and overfitting cost more than a curve gains
FEWEST_EDGES = 6  # per curve; fewer edges may miss the bend, and gave no better model on any table
AMOUNT_FOR_MORE = 150.0  # of the smaller amount; below it, more edges gave no better models
MOST_DECIDED = 16  # per curve; more edges gave no better models at any privacy budget
VALUE_OF_A_RECORD = 0.2  # how much a record adds to the amount against overfitting, in units of the reach


@dataclass(frozen=True)
class Information:
    """The numbers that decide how many edges curves have.

    Parameters
    ----------
    n : float
        The number of records, declared or bought.
    reach : float
        n sqrt(2 rho), divided by the records that a person may have.
    balance : float
        How informative a record's label is, compared with two equally frequent labels: 4 q (1 - q) for two
        labels of which one has the share q. 1 if nothing was bought about it.
    """

    n: float
    reach: float
    balance: float = 1.0

    def edges(self, schema: Schema) -> int:
        """Return how many edges each undecided curve of a schema gets; 0 if plain columns are better."""
        against_noise, against_chance = self._shares(schema)
        if min(against_noise, against_chance) < LEAST_FOR_A_CURVE:
            return 0
        finer = (self.balance * min(self.reach, VALUE_OF_A_RECORD * self.n) / AMOUNT_FOR_MORE) ** (1.0 / 3.0)
        return int(min(FEWEST_EDGES * max(finer, 1.0), MOST_DECIDED))

    def reason(self, schema: Schema) -> str:
        """Return the amount that decides the number of edges, in words; "" without privacy."""
        if math.isinf(self.reach):
            return ""
        amounts = self.reach, VALUE_OF_A_RECORD * self.n
        against_noise, against_chance = amounts if self.edges(schema) else self._shares(schema)
        name, amount = (
            ("n sqrt(2 rho)", amounts[0]) if against_noise <= against_chance else ("n / 5", amounts[1])
        )
        balance = f"{self.balance:.2g}"
        labels = "" if balance == "1" else f", times {balance} for the shares of the labels"
        return f"{name} is about {float(f'{amount:.3g}'):,g}{labels}"

    def _shares(self, schema: Schema) -> tuple[float, float]:
        """Return the reach for each curve, and the value of the records for each plain feature."""
        n_features = len(schema.without_curves().feature_names)
        return (
            self.balance * self.reach / n_undecided(schema),
            self.balance * VALUE_OF_A_RECORD * self.n / n_features,
        )


WITHOUT_PRIVACY = Information(math.inf, math.inf)


def with_setting(schema: Schema | None, curves: Any) -> Schema | None:
    """Return the schema with the curves that an estimator's setting asks for; raise if it is invalid."""
    number = isinstance(curves, int) and not isinstance(curves, bool)
    if curves is not None and not isinstance(curves, bool) and not (number and 0 <= curves <= MOST_EDGES):
        raise ValueError(
            f"curves must be None, True, False or a number of edges up to {MOST_EDGES}, got {shown(curves)}."
        )
    if schema is not None:
        return schema.with_curves(curves)
    if curves:
        raise ValueError("curves need columns with declared bounds, and nothing is declared; give a schema.")
    return None


def public_information(schema: Schema, terms: Terms, n_records: int | None) -> Information | None:
    """Return the information if all of it is public; None if something has to be bought."""
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
    """Return the information; buy the number of records and the shares of labels if they are not declared."""
    budget, n = curator.remaining, curator.n_records
    if n is None:
        n = max(float(curator.measure(Count(), COUNT_SHARE_OF_CURVES * budget).value[0]), 1.0)
    known = Information(n, curator.reach(n, budget))
    targets = curator.loss.targets
    if not isinstance(targets, TwoLabels | Classes) or not known.edges(schema):
        return known
    sums = curator.measure(TargetSums(), TARGET_SHARE_OF_CURVES * budget)
    error = sums.sigma / n
    mean = float(np.linalg.norm(targets.likely_mean(sums.value / n, error)))
    # one standard deviation farther from balanced labels, because curves for rare labels easily overfit
    balance = max(1.0 - (mean + error) ** 2, 0.0)
    if isinstance(targets, Classes):  # with K equal classes, each of which has weights of its own: 2 / K
        balance *= 2.0 / (targets.count - 1)
    return Information(known.n, known.reach, balance)


def n_undecided(schema: Schema) -> int:
    """Return how many curves leave the number of edges to the fit."""
    return sum(column.is_undecided for column in schema.columns if isinstance(column, Curved))


def possible_edges(schema: Schema) -> Sequence[int]:
    """Return numbers of edges for which settings are checked, so that they fit any number by the rule.

    These are the fewest and the most. If a column is named like a piece of such a curve, they are all numbers
    between.
    """
    cut = [column.name for column in schema.columns if isinstance(column, Curved) and column.is_undecided]
    named = schema.without_curves().feature_names
    alike = any(name.startswith(f"{column}[") for column in cut for name in named)
    return (0, *range(FEWEST_EDGES, MOST_DECIDED + 1)) if alike else (0, MOST_DECIDED)


def decided(schema: Schema, known: Information) -> tuple[Schema, str]:
    """Return a schema whose curves have the number of edges by the rule, and a note about it."""
    n_curves = n_undecided(schema)
    edges = known.edges(schema)
    columns = "1 column" if n_curves == 1 else f"{n_curves} columns"
    note = f"curves of {columns} have up to {edges} edges" if edges else f"{columns} have no curve"
    reason = known.reason(schema)
    return schema.with_edges(edges), f"{note}, because {reason}" if reason else note
