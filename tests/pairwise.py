"""Cases in which any two values of any two factors meet: far fewer than all combinations.

Most faults show as soon as two factors have certain values, such as a layout with a loss, whatever the others
are (Kuhn, Wallace and Gallo, 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any


def pairwise(factors: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return combinations of one value of each factor that hold every pair of values of two factors.

    They are chosen greedily, each the first that holds most of the pairs still missing, so they are the same
    in every run. A single factor gives each of its values.
    """
    tied = list(combinations(range(len(factors)), min(2, len(factors))))

    def held(case: tuple[int, ...]) -> set[tuple[Any, ...]]:
        return {(together, *(case[number] for number in together)) for together in tied}

    candidates = {case: held(case) for case in product(*(range(len(values)) for values in factors))}
    missing = set().union(*candidates.values())
    chosen = []
    while missing:
        best = max(candidates, key=lambda case: len(candidates[case] & missing))
        missing -= candidates.pop(best)
        chosen.append(best)
    return [tuple(values[number] for values, number in zip(factors, case, strict=True)) for case in chosen]
