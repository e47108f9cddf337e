"""Whose record is whose, and which of a person's records are used (Q25)."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from privfit.schema import people as module
from privfit.schema.people import NOBODY, People, people_in, records_used


def groups(column):
    """Return the sets of rows that belong together; rows without an id are in none."""
    numbers = people_in(column, "id").numbers
    return {frozenset(np.flatnonzero(numbers == one)) for one in set(numbers) - {NOBODY}}


SAME = {frozenset({0, 2, 4}), frozenset({1}), frozenset({5})}  # row 3 has no id


@pytest.mark.parametrize(
    "column",
    [
        [7, 8, "007", None, 7.0, "a"],
        ["7", "8", " 7 ", "", "7.0", "a"],
        [b"7", b"8", b"007", b"", b"7", b"a"],
        np.array([7, 8, 7, np.nan, 7, 9]),
        np.array([7, 8, 7, np.nan, 7, 9], dtype=np.float32),
        pd.Series([7, 8, 7, None, 7, 9], dtype="Int64"),
        pd.Series(["7", "8", "7", None, "07", "a"], dtype="category"),
        pl.Series([7, 8, 7, None, 7, 9]),
        pl.Series(["7", "8", "7", None, "007", "a"]),
        pa.chunked_array([["7", "8"], ["7", None, "7", "a"]]),
        pa.array([7, 8, 7, None, 7, 9]),
        [Decimal(7), Decimal(8), Decimal("7.0"), None, Decimal(7), Decimal(9)],
    ],
    ids=lambda column: type(column).__name__,
)
def test_ids_are_told_apart_by_what_they_say_however_they_are_stored(column):
    assert groups(column) == SAME


def test_nobody_is_a_person_of_their_own():
    assert not groups([None, "", np.nan, float("nan"), "nan", pd.NA])
    assert not groups(pa.nulls(3))
    assert not groups(np.full(3, np.nan))


def test_long_whole_numbers_are_told_apart_unless_floats_have_rounded_them():
    long = [2**53, 2**53 + 1]
    for exact in (long, np.array(long), [str(one) for one in long], pd.Series([*long, None], dtype="Int64")):
        assert len(groups(exact)) == 2
    for rounded in (np.array(long, dtype=float), pd.Series([*long, None]), np.float32([2**24, 2**24 + 1])):
        with pytest.raises(ValueError, match="as floats, which round them"):
            people_in(rounded, "id")


# -- which records are used -------------------------------------------------------------------------------

VISITS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, 3), st.sampled_from([-1.0, 1.0])),
    max_size=30,
)


def used(visits, most, *, form=np.asarray):
    """Return the visits that are used, in any order."""
    people = people_in([person for person, _, _ in visits], "id")
    X = form(np.array([[float(x), 1.0 - x] for _, x, _ in visits]).reshape(len(visits), 2))
    rows = records_used(people, most, X, np.array([y for _, _, y in visits]))
    return sorted((visits[row] for row in rows), key=repr)


def of(person, visits):
    return [visit for visit in visits if visit[0] == person]


@settings(max_examples=100, deadline=None)
@given(VISITS, VISITS, st.integers(1, 4), st.randoms())
def test_one_person_more_adds_few_records_and_changes_nothing_for_others(visits, others, most, random):
    before = used(visits, most)
    added = [("new", x, y) for _, x, y in others]
    together = visits + added
    random.shuffle(together)
    after = used(together, most)
    assert len(of("new", after)) == min(most, len(added))
    assert [visit for visit in after if visit[0] != "new"] == before
    for person in "abc":
        assert len(of(person, before)) == min(most, len(of(person, visits)))
    assert not of(None, before)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array, np.float32])
def test_the_storage_of_the_table_decides_nothing(form):
    rng = np.random.default_rng(0)
    visits = [(str(i % 5), int(x), 1.0) for i, x in enumerate(rng.integers(0, 4, 60))]
    shuffled = [visits[i] for i in rng.permutation(60)]
    assert used(visits, 3, form=form) == used(shuffled, 3, form=form)
    if form is not sparse.csr_array:
        assert used(visits, 3, form=form) == used(visits, 3)


def test_records_of_a_person_come_one_after_the_other_and_those_of_others_are_ranked_differently():
    X, ids = np.repeat(np.arange(10.0), 20)[:, None], np.tile(np.arange(20), 10)
    rows = records_used(people_in(ids, "id"), 3, X)
    assert np.array_equal(np.sort(ids[rows]), ids[rows])
    # all people have the same ten records; if the id were not hashed, all would keep the same three
    kept = {tuple(sorted(X[rows[ids[rows] == one], 0])) for one in range(20)}
    assert len(kept) > 5


def test_a_later_or_an_earlier_record_is_as_likely_to_be_used():
    """A fair choice of 1 in 2 leaves 1000 +- 22 (one standard deviation): 200 off has odds below 1e-18."""
    ids, X = np.repeat(np.arange(2000), 2), np.random.default_rng(1).normal(size=(4000, 3))
    rows = records_used(people_in(ids, "id"), 1, X)
    assert abs(np.sum(rows % 2 == 0) - 1000) < 200


# -- planted mistakes, which the property above must notice -------------------------------------------------


def by_row_order(people, most, X, *columns):
    rows = np.argsort(people.numbers, kind="stable")
    rows = rows[people.numbers[rows] != NOBODY]
    first = np.searchsorted(people.numbers[rows], people.numbers[rows])
    return rows[np.arange(len(rows)) - first < most]


def by_a_key_from_the_data(people, most, X, *columns):
    original = module._KEY
    module._KEY = str(len(people)).encode()
    try:
        return module.records_used(people, most, X, *columns)
    finally:
        module._KEY = original


def by_row_number(people, most, X, *columns):
    return module.records_used(people, most, X, *columns, np.arange(len(people), dtype=float))


def with_nobody_as_people(people, most, X, *columns):
    alone = people.numbers == NOBODY
    numbers = people.numbers.copy()
    numbers[alone] = len(people.ids) + np.arange(alone.sum())
    return module.records_used(People(numbers, [*people.ids, *range(alone.sum())]), most, X, *columns)


@pytest.mark.parametrize(
    "wrong", [by_row_order, by_a_key_from_the_data, by_row_number, with_nobody_as_people]
)
def test_the_property_notices_a_wrong_choice(wrong, monkeypatch):
    monkeypatch.setitem(globals(), "records_used", wrong)
    with pytest.raises(AssertionError):
        _check_fixed_tables()


def _check_fixed_tables():
    """Check the property on tables of fixed random visits, as the test above does on drawn ones."""
    rng = np.random.default_rng(3)
    visits = [
        (person, int(x), 1.0)
        for person, x in zip(rng.choice(["a", "b", "c", None], 60), rng.integers(0, 50, 60), strict=True)
    ]
    before = used(visits, 3)
    assert not of(None, before)
    for size in (1, 2, 7):
        together = visits + [("new", 5, 1.0)] * size
        together = [together[i] for i in rng.permutation(len(together))]
        assert [visit for visit in used(together, 3) if visit[0] != "new"] == before


def test_the_rule_itself_passes_on_those_tables():
    _check_fixed_tables()
