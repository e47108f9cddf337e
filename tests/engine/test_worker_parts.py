"""Parts on workers: their fingerprints, what they refuse, and how many records they may have (Q39)."""

from __future__ import annotations

import pickle
import platform

import numpy as np
import pytest
from scipy import sparse

from privfit.engine.exact.grids import MAX_RECORDS
from privfit.engine.parallel.spark_worker import loaded
from privfit.engine.parallel.worker_parts import (
    Answer,
    KeptPart,
    WorkerParts,
    answer,
    attempted,
    fingerprint,
)
from privfit.engine.parts import Request
from privfit.engine.persons import Persons
from privfit.engine.problem import Problem
from privfit.losses import get_loss

KEY = b"key"
X, Y, WEIGHTS = np.arange(12.0).reshape(6, 2), np.array([1.0, -1.0] * 3), np.linspace(0.0, 1.0, 6)
PEOPLE = [0, 0, 1, 2, 2, 2]


def of(X=X, targets=Y, weights=WEIGHTS, people=PEOPLE, key=KEY, form=np.asarray):
    persons = Persons.of(np.array(people), 3)
    problem = Problem.of(form(X), targets, get_loss("logistic"), weights=weights, persons=persons)
    return fingerprint(problem, key)


def changed(values, place, value):
    found = values.copy()
    found[place] = value
    return found


CHANGES = {
    "a feature": {"X": changed(X, (5, 1), 11.5)},
    "the sign of a zero": {"X": changed(X, (0, 0), -0.0)},
    "the order": {"X": X[::-1]},
    "the precision": {"X": X.astype(np.float32)},
    "the width": {"X": X.reshape(6, 2)[:, :1]},
    "a target": {"targets": changed(Y, 2, -1.0)},
    "a weight": {"weights": changed(WEIGHTS, 2, 0.5)},
    "no weights": {"weights": None},
    "a person": {"people": [0, 0, 1, 1, 2, 2]},
    "the key": {"key": b"another"},
}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("name", CHANGES)
def test_any_change_of_the_records_changes_the_fingerprint(name, form):
    if form is sparse.csr_matrix and name == "the sign of a zero":
        pytest.skip("a sparse matrix holds no zeros")
    assert of(form=form) == of(form=form)
    assert of(form=form, **CHANGES[name]) != of(form=form)


def test_numbers_of_another_shape_are_other_records():
    one, other = (
        fingerprint(Problem.of(X, np.zeros(len(X)), get_loss("squared")), KEY)
        for X in (np.zeros((4, 2)), np.zeros((8, 1)))
    )
    assert one != other


def test_another_kind_of_machine_changes_the_fingerprint(monkeypatch):
    before = of()
    monkeypatch.setattr(platform, "machine", lambda: "another")
    assert of() != before


def test_a_part_that_was_sent_is_compared_by_the_rows_that_arrived():
    part = KeptPart(Problem.of(X, Y, get_loss("logistic")), [len(X)], KEY)
    before = part.fingerprint
    assert loaded(pickle.dumps(part), KEY).fingerprint == before
    part.records = Problem.of(X[::-1], Y, get_loss("logistic"))
    assert loaded(pickle.dumps(part), KEY).fingerprint != before


# -- refusals ----------------------------------------------------------------------------------------------

SECRET = "77310077"


class Broken:
    """A question that another library's error ends, which quotes a cell."""

    def bounded(self, of):
        return float(f"name {SECRET}")


def test_errors_of_others_are_not_quoted():
    part = KeptPart(Problem.of(X, Y, get_loss("logistic")), [len(X)], KEY)
    failed = attempted(lambda: float(f"name {SECRET}"))
    answered = answer(part, Request(None, (), Broken(), frozenset()))
    for refusal in (failed.refusal, answered.refusal):
        assert "(ValueError)" in refusal
        assert SECRET not in refusal
    assert SECRET not in repr(failed)


class Told(WorkerParts):
    """Parts that say how many records came of each of their blocks."""

    def __init__(self, *sizes):
        self.sizes = sizes
        self._read([range(k, k + 1) for k in range(len(sizes))])

    def _asked(self, request, parts):
        return {k: Answer(b"", (self.sizes[k],)) for k in parts}


def test_more_records_than_sums_are_exact_for_are_refused():
    assert Told(MAX_RECORDS, 0).stretches == [[slice(0, MAX_RECORDS)], [slice(MAX_RECORDS, MAX_RECORDS)]]
    with pytest.raises(ValueError, match="records are supported in all parts together"):
        Told(MAX_RECORDS, 1)
    with pytest.raises(ValueError, match="has no records"):
        Told(0, 0)
