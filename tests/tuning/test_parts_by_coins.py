"""Which records are held out: a coin of each record, or person, alone; and what the two parts cost."""

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.model_selection import train_test_split

from privfit import Ledger
from privfit.accounting import BudgetExceeded, Gaussian
from privfit.accounting.parts import ledgers_of_parts
from privfit.estimators.records import Records
from privfit.mechanisms.noise import SecureNoise, SeededNoise
from privfit.schema.people import people_in
from privfit.tuning.parts import held_out_rows, rows_in, split

N = 10_000


def numbered(n, groups=None):
    rows = np.arange(float(n))
    return Records.given(rows[:, None], rows, None, groups)


def parts_of(records, people, share, noise):
    """Return the records that are trained on, and those that are held out."""
    held = split(len(records.y), people, share, noise)
    return tuple(rows_in(records, np.flatnonzero(rows)) for rows in (~held, held))


def difference(one, other):
    return set(one.X[:, 0]) ^ set(other.X[:, 0])


def test_one_more_record_changes_one_part_by_that_record_alone():
    changes = []
    for seed in range(20):
        parts = [parts_of(numbered(n), None, 0.2, SeededNoise(seed)) for n in (N, N + 1)]
        changes.append([difference(*pair) for pair in zip(*parts, strict=True)])
    assert all(sorted(map(len, change)) == [0, 1] for change in changes)
    assert {frozenset(one | other) for one, other in changes} == {frozenset({float(N)})}
    assert {len(training) for training, _ in changes} == {0, 1}


def test_a_seeded_shuffle_changes_more_than_a_thousand_records():
    """So this test is not one that any split passes."""
    parts = [set(train_test_split(np.arange(n), test_size=0.2, random_state=0)[0]) for n in (N, N + 1)]
    assert len(parts[0] ^ parts[1]) > 1000


def test_one_more_person_changes_one_part_by_that_persons_rows_alone():
    """Coins are of persons; a person with a new highest id leaves the numbers of the others as they are."""
    ids = np.arange(3 * 1000) // 3
    for seed in range(10):
        few, many = (
            parts_of(numbered(n, ids[:n]), people_in(ids[:n], "groups"), 0.3, SeededNoise(seed))
            for n in (2997, 3000)
        )
        changes = [difference(*pair) for pair in zip(few, many, strict=True)]
        assert sorted(map(len, changes)) == [0, 3]
        assert changes[0] | changes[1] == {2997.0, 2998.0, 2999.0}


def test_all_rows_of_a_person_are_in_one_part():
    ids = np.random.default_rng(0).integers(0, 300, 2000)
    held = held_out_rows(2000, people_in(ids, "groups"), 0.4, SecureNoise())
    assert not set(ids[held]) & set(ids[~held])
    assert 60 < len(set(ids[held])) < 180  # of 300; a false alarm in one of 10^12 runs


def test_rows_of_nobody_break_nothing():
    held = held_out_rows(
        3, people_in(np.array([None, "a", None], dtype=object), "groups"), 0.5, SeededNoise(1)
    )
    assert held.shape == (3,)
    assert held_out_rows(
        2, people_in(np.array([None, None], dtype=object), "groups"), 0.5, SeededNoise(1)
    ).size


@pytest.mark.parametrize("noise", ["secure", "seeded"])
def test_coins_have_their_probability(noise):
    """A false alarm in one of 10^6 runs; a share that is off by 2% is noticed."""
    n, share = 200_000, 0.2
    held = held_out_rows(n, None, share, SecureNoise() if noise == "secure" else SeededNoise(5)).sum()
    low, high = stats.binom.interval(1 - 1e-6, n, share)
    assert low <= held <= high
    assert not low <= 1.03 * share * n <= high


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, np.ndarray.tolist])
def test_parts_of_any_table_hold_its_rows(form):
    X, y = np.arange(12.0).reshape(6, 2), ["a", "b", "c", "d", "e", "f"]
    training, held = parts_of(Records.given(form(X), y, np.arange(6.0), None), None, 0.5, SeededNoise(3))
    for part in (training, held):
        rows = part.X.toarray() if sparse.issparse(part.X) else np.asarray(part.X)
        assert ["abcdef"[int(row[0]) // 2] for row in rows] == list(part.y)
        np.testing.assert_array_equal(part.sample_weight, rows[:, 0] / 2)
    assert sorted([*training.y, *held.y]) == y


@pytest.mark.parametrize("share", [1e-9, 0.5])
def test_a_part_without_records_is_refused(share):
    with pytest.raises(ValueError, match="too few records"):
        split(1, None, share, SeededNoise(0))


# -- what they cost ---------------------------------------------------------------------------------------


def test_parts_are_charged_once_and_each_may_spend_all_of_it():
    ledger = Ledger(epsilon=1.0)
    parts = ledgers_of_parts(ledger, 0.6 * ledger.rho, 2, what="fits and scores")
    assert ledger.spending() == {"fits and scores": pytest.approx(0.6 * ledger.rho)}
    for part in parts:
        part.charge(part.rho / 3, kind="gaussian")
        part.charge(part.unspent, kind="gaussian")
        with pytest.raises(BudgetExceeded):
            part.charge(1e-9, kind="gaussian")
    assert ledger.spent == pytest.approx(0.6 * ledger.rho)


def test_parts_keep_the_promise_of_their_ledger():
    ledger = Ledger(epsilon=1.0, person_id="patient")
    (part,) = ledgers_of_parts(ledger, ledger.rho, 1, what="all")
    assert isinstance(part.promise, Gaussian)
    assert part.promise.person_id == "patient"
    with pytest.raises(ValueError, match="Gaussian noise only"):
        part.charge(1e-4, kind="concentrated", person_id="patient")
    with pytest.raises(ValueError, match="about all records of one person"):
        part.charge(1e-4, kind="gaussian")


def test_parts_that_do_not_fit_are_refused_and_nothing_is_charged():
    ledger = Ledger(epsilon=1.0)
    ledger.charge(0.5 * ledger.rho, kind="gaussian")
    with pytest.raises(BudgetExceeded):
        ledgers_of_parts(ledger, 0.6 * ledger.rho, 2, what="fits and scores")
    assert ledger.spent == pytest.approx(0.5 * ledger.rho)
