import math
from itertools import combinations, product

import pytest
from pairwise import pairwise

SIZES = [(2, 2), (6, 3, 2), (6, 3, 2, 5), (3, 3, 3, 3), (1, 4, 1), (2, 2, 2, 2, 2), (5, 1)]


def pairs(cases):
    """Return which values of which two factors meet in these cases."""
    return {(i, j, case[i], case[j]) for case in cases for i, j in combinations(range(len(case)), 2)}


@pytest.mark.parametrize("sizes", SIZES)
def test_any_two_values_of_two_factors_meet(sizes):
    factors = [
        [f"{name}{value}" for value in range(size)] for name, size in zip("abcde", sizes, strict=False)
    ]
    chosen = pairwise(factors)
    assert pairs(chosen) == pairs(product(*factors))
    assert all(value in values for case in chosen for value, values in zip(case, factors, strict=True))


@pytest.mark.parametrize("sizes", SIZES)
def test_cases_are_few_and_none_comes_twice(sizes):
    """There are at least as many as pairs of the two largest factors, and at most a third more."""
    chosen = pairwise([range(size) for size in sizes])
    assert len(set(chosen)) == len(chosen)
    least = math.prod(sorted(sizes)[-2:])
    assert least <= len(chosen) <= max(least + 2, least * 4 / 3, 1)


def test_a_single_factor_gives_each_of_its_values_in_order():
    assert pairwise([["a", "b", "c"]]) == [("a",), ("b",), ("c",)]


def test_equal_values_of_a_factor_are_cases_of_their_own():
    assert len(pairwise([[0.0, 0.0], [1.0]])) == 2


def test_cases_are_the_same_in_every_run():
    factors = [range(6), range(3), range(2), range(5)]
    assert pairwise(factors) == pairwise(factors)
    assert pairwise(factors)[:3] == [(0, 0, 0, 0), (0, 1, 1, 1), (1, 0, 1, 2)]
