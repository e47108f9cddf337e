"""Scores of records with weights, and of people with several records, replayed on neighbours."""

import dataclasses

import numpy as np
import pytest
from neighbours import base_table, hostile_records, strange_tables
from replay import Request, assert_paid_for, assert_same, run
from test_score_replay import KINDS, model, replay_on_all_tables

from privfit import metrics
from privfit.accounting.relation import Relation
from privfit.estimators.weighting import Weighting
from privfit.metrics.held_out import HeldOut

pytestmark = pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")

OF = {"two labels": (lambda: model(True), lambda table: table, {})} | {
    name: KINDS[name] for name in ("classes", "numbers", "counts")
}
PRICE = {"delta": 1e-3, "epsilon": 5.0}
ONE_GAUSSIAN = ["gaussian"]


def requests(original):
    return [event.kind for event in original.tape.events if isinstance(event, Request)]


# -- weights: as extreme as the features -------------------------------------------------------------------


def weights(X):
    """Return weights of which some are negative, some above every bound, and some no numbers."""
    found = 1.0 + X[:, 1]
    found[np.abs(X[:, 2]) < 1e-200] = np.nan
    return found


def replay_weighted(kind, **settings):
    make, of, known = OF[kind]
    given = PRICE | known | {"max_weight": 2.0} | settings

    def score(table):
        X, y = of(table)
        return lambda: metrics.evaluate(make(), X, y, weights(X), **given)

    return replay_on_all_tables(score)


@pytest.mark.parametrize("kind", OF)
def test_weighted_scores_tell_neighbours_apart_by_nothing_but_what_was_released(kind):
    assert requests(replay_weighted(kind)) == ONE_GAUSSIAN


def test_a_largest_weight_that_is_read_off_the_records_is_noticed():
    """It is warned of, too; but the replay shows that it is not covered."""
    with pytest.raises(AssertionError, match=r"(cells|event 0|is paid for|depends on the records)"):
        replay_weighted("two labels", max_weight=None)


def test_weights_that_are_not_clipped_are_noticed(monkeypatch):
    """They are clipped twice, and either suffices; here both let a thousand times more pass."""
    clip, honest = np.clip, Weighting.of

    def unclipped(self, weights, *known):
        found = honest(self, weights, *known)
        return dataclasses.replace(found, given=clip(np.nan_to_num(weights), 0.0, 1e3))

    monkeypatch.setattr(np, "clip", lambda values, low, high: clip(values, low, 1e3 * high))
    monkeypatch.setattr(Weighting, "of", unclipped)
    with pytest.raises(AssertionError, match="is paid for"):
        replay_weighted("classes")


# -- people: neighbours differ in all records of a person --------------------------------------------------

MOST = 2


def tables_of_people():
    """Return a base of people with three records each, and neighbours, each with ids.

    Of the neighbours one lacks a person, one has a person more with many hostile records, and one has further
    records of nobody.
    """
    X, y = base_table()
    ids = np.repeat(np.arange(20.0), 3)
    hostile = list(hostile_records(X, y, np.float64).values())
    more = np.vstack([X, *(x for x, _ in hostile)]), np.append(y, [label for _, label in hostile])
    return (X, y, ids), {
        "a person less": (X[:-3], y[:-3], ids[:-3]),
        "a person more": (*more, np.append(ids, np.full(len(hostile), 77.0))),
        "records of nobody": (*more, np.append(ids, np.full(len(hostile), np.nan))),
        "another order": (X[::-1], y[::-1], ids[::-1]),
    }


def score_of_people(kind, table, **settings):
    make, of, known = OF[kind]
    X, y, ids = table
    given = PRICE | known | {"rows_per_person": MOST} | settings
    return lambda: metrics.evaluate(make(), *of((X, y)), groups=ids, **given)


def replay_people(kind):
    base, others = tables_of_people()
    original = run(score_of_people(kind, base))
    assert "refusal" not in original.visible, original.visible["refusal"]
    for name, table in others.items():
        again = run(score_of_people(kind, table), original=original)
        try:
            assert_same(original, again)
            assert_paid_for(original, again)
        except AssertionError as difference:
            difference.add_note(f"on the table with {name}")
            raise
        if name in ("records of nobody", "another order"):
            np.testing.assert_array_equal(original.tape.fed[0], again.tape.fed[0])
    for X, y in strange_tables():
        ids = np.arange(len(y)) // 4
        assert_same(original, run(score_of_people(kind, (X, y, ids)), original=original))
    return original


@pytest.mark.parametrize("kind", OF)
def test_scores_of_people_tell_neighbours_apart_by_nothing_but_what_was_released(kind):
    original = replay_people(kind)
    assert requests(original) == ONE_GAUSSIAN


def test_sensitivities_of_one_record_for_a_person_are_noticed(monkeypatch):
    monkeypatch.setattr(Relation, "times", lambda self, unit: 1)
    with pytest.raises(AssertionError, match="is paid for"):
        replay_people("two labels")


def test_people_with_more_records_than_are_paid_for_are_noticed(monkeypatch):
    monkeypatch.setattr(HeldOut, "used", lambda self, columns, relation: slice(None))
    with pytest.raises(AssertionError, match="is paid for"):
        replay_people("numbers")
