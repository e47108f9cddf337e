"""Scores whose promise is about people with several records: what is used, stated and refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from privfit import DPLogisticRegression, Ledger, Schema, metrics
from privfit.accounting.relation import Relation
from privfit.metrics.held_out import HeldOut
from privfit.schema.people import people_in

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning"),
    pytest.mark.filterwarnings("ignore:Beware. :privfit.PrivacyLeakWarning"),
]

AMPLE = {"rho": 1e3, "noise": "seeded", "random_state": 0}
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 2))
Y = (X[:, 0] + rng.logistic(size=2000) > 0).astype(int)
IDS = np.arange(2000) // 4  # four records each
MODEL = LogisticRegression().fit(X, Y)
THREE = Relation(records_per_person=3, person_id="groups")


def used(columns, ids, relation=THREE, weights=None):
    held = HeldOut(None, None, weights, people_in(np.asarray(ids), "groups"))
    return held.used(np.asarray(columns, dtype=np.float64), relation)


def test_at_most_so_many_records_of_a_person_count_and_noise_grows_with_them():
    found = metrics.evaluate(MODEL, X, Y, groups=IDS, rows_per_person=3, **AMPLE)
    assert found.confusion_matrix.counts.sum() == pytest.approx(1500, abs=2)
    assert found.privacy.promise.person_id == "groups"
    assert "adding or removing all records of one person" in found.privacy.text
    assert "of each person at most 3 records are used" in found.privacy.text
    each = metrics.evaluate(MODEL, X, Y, **AMPLE)
    assert found.confusion_matrix.noise == pytest.approx(3 * each.confusion_matrix.noise)


def test_all_records_of_people_with_few_are_used():
    few = metrics.evaluate(MODEL, X, Y, groups=IDS, rows_per_person=4, **AMPLE)
    assert few.accuracy.value == pytest.approx(MODEL.score(X, Y), abs=2e-3)


def test_which_records_are_used_depends_on_the_person_alone():
    columns = rng.integers(0, 3, (40, 2)).astype(float)
    ids = np.repeat(np.arange(5), 8)
    weights = rng.integers(0, 2, 40).astype(float)
    chosen = used(columns, ids, weights=weights)
    for person in range(5):
        rows = np.flatnonzero(ids == person)
        alone = rows[used(columns[rows], ids[rows], weights=weights[rows])]
        among = chosen[ids[chosen] == person]
        assert len(among) == 3
        shuffled = rows[::-1][used(columns[rows[::-1]], ids[rows[::-1]], weights=weights[rows[::-1]])]
        said = [
            np.sort(np.column_stack([columns, weights])[some], axis=0) for some in (among, alone, shuffled)
        ]
        np.testing.assert_array_equal(said[0], said[1])
        np.testing.assert_array_equal(said[0], said[2])


def test_records_that_say_the_same_have_the_chances_of_others():
    """Of 9 records in one cell and 1 in another, one is used: the other one in a tenth of the people.

    Of 3000 people between 221 and 379, five standard deviations: a false alarm in a million; if copies shared
    one rank, it would be half of them.
    """
    ids, cells = np.repeat(np.arange(3000), 10), np.tile([0.0] * 9 + [1.0], 3000)
    chosen = used(cells[:, None], ids, Relation(records_per_person=1, person_id="groups"))
    assert len(chosen) == 3000
    assert 221 < cells[chosen].sum() < 379


def test_records_without_an_id_are_left_out():
    ids = np.where(IDS < 100, np.nan, IDS.astype(float))
    found = metrics.evaluate(MODEL, X, Y, groups=ids, rows_per_person=4, **AMPLE)
    assert found.confusion_matrix.counts.sum() == pytest.approx(1600, abs=2)
    with pytest.raises(ValueError, match="No record has an id"):
        metrics.evaluate(MODEL, X, Y, groups=np.full(2000, np.nan), rows_per_person=4, **AMPLE)


def test_the_model_says_how_many_and_its_ledger_pays_for_people_only():
    ledger = Ledger(rho=10.0, person_id="patient")
    settings = {"classes": (0, 1), "feature_bounds": (-4, 4), "ledger": ledger}
    patients = pd.Series(IDS, name="patient")
    model = DPLogisticRegression(rho=0.5, rows_per_person=2, **settings).fit(X, Y, groups=patients)
    found = metrics.evaluate(model, X, Y, groups=patients, rho=0.5)
    assert found.privacy.records_per_person == 2
    spent = ledger.spent
    with pytest.raises(ValueError, match="The ledger's promise is about all records of one person"):
        metrics.evaluate(model, X, Y, rho=0.5)
    with pytest.raises(ValueError, match="set rows_per_person, and tell people apart by 'patient'"):
        metrics.evaluate(model, X, Y, groups=IDS, rho=0.5)
    assert ledger.spent == spent


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": IDS}, "groups= tells people apart, but does not say how many"),
        ({"rows_per_person": 3}, "no id tells people apart"),
        ({"groups": IDS[:5], "rows_per_person": 3}, "X and groups have inconsistent numbers of samples"),
        ({"groups": IDS, "rows_per_person": 0}, "rows_per_person must be a positive whole number"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_charge(given, message):
    ledger = Ledger(rho=1.0, person_id="groups")
    with pytest.raises(ValueError, match=message):
        metrics.evaluate(MODEL, X, Y, rho=0.1, ledger=ledger, **given)
    assert ledger.spent == 0.0


SCHEMA = Schema.from_toml("""
[[columns]]
name = "patient"
type = "id"
rows_per_person = 2

[[columns]]
name = "age"
type = "numeric"
low = 0
high = 100

[label]
name = "outcome"
classes = ["ill", "well"]
missing = "drop"
""")


def visits(n=900):
    rng = np.random.default_rng(4)
    age = rng.uniform(0, 100, n).round(1)
    outcome = np.where(age + 20 * rng.logistic(size=n) > 50, "ill", "well")
    return {"patient": [f"p{k // 3}" for k in range(n)], "age": age.tolist(), "outcome": outcome.tolist()}


@pytest.mark.parametrize("form", ["frame", "dict", "path"])
def test_a_schema_says_who_is_who_and_what_the_labels_are(tmp_path, form):
    table = visits()
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "visits.csv", index=False)
    given = {"frame": frame, "dict": table, "path": tmp_path / "visits.csv"}[form]
    ledger = Ledger(rho=1e5, person_id="patient")
    model = DPLogisticRegression(rho=1.0, schema=SCHEMA, ledger=ledger).fit(given)
    found = metrics.evaluate(model, given, rho=1e3)
    assert found.confusion_matrix.counts.sum() == pytest.approx(600, abs=2)
    assert "of each person at most 2 records are used" in found.privacy.text
    assert "records without a label are left out" in found.privacy.text


def test_the_population_allows_for_people_whose_records_are_alike():
    """Four copies of each record say no more than one: the interval for the population is twice as wide."""
    copies = np.repeat(np.arange(500), 4)
    one = metrics.evaluate(MODEL, X[copies], Y[copies], **AMPLE).accuracy
    clustered = metrics.evaluate(
        MODEL, X[copies], Y[copies], groups=copies, rows_per_person=4, **AMPLE
    ).accuracy
    widths = [score.population[1] - score.population[0] for score in (one, clustered)]
    assert widths[1] == pytest.approx(2.0 * widths[0], rel=0.02)
