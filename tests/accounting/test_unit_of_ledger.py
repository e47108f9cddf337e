"""Whom a ledger makes its promise to is a part of the promise: records, or people by one id."""

import json
import math
import pickle
from dataclasses import replace

import pytest
import sqlalchemy as sa

from privfit.accounting import Concentrated, Direct, Gaussian, Ledger, change_promise
from privfit.accounting.composition import composed
from privfit.accounting.promise import from_dict, to_dict
from privfit.accounting.relation import ONE_RECORD, Relation

OF_PEOPLE = [
    Gaussian.of(epsilon=1.0, delta=1e-6),
    Concentrated.of(epsilon=1.0, delta=1e-6),
    Direct.of(epsilon=1.0, delta=1e-6),
]


def opened(tmp_path, name="people", **terms):
    return Ledger.open(f"sqlite:///{tmp_path}/{name}.db", dataset=name, **terms)


@pytest.fixture(params=["memory", "file"])
def ledgers(request, tmp_path):
    """Make ledgers in memory, or in files."""
    if request.param == "memory":
        return lambda name="people", **terms: Ledger(**terms)
    return lambda name="people", **terms: opened(tmp_path, name, **terms)


@pytest.mark.parametrize("kept", [None, "patient", "household"])
@pytest.mark.parametrize("asked", [None, "patient"])
def test_a_charge_in_another_unit_is_refused_and_leaves_the_ledger_as_it_was(ledgers, kept, asked):
    ledger = ledgers(epsilon=1.0, person_id=kept)
    if kept == asked:
        ledger.charge(ledger.rho / 2, what="a mean", kind="gaussian", person_id=asked)
        ledger.portion(ledger.rho / 4)
        return
    advice = "open a ledger about people" if kept is None else "set rows_per_person"
    with pytest.raises(
        ValueError, match=rf"The ledger's promise is about .*, and a mean is about .*{advice}"
    ):
        ledger.charge(ledger.rho / 2, what="a mean", kind="gaussian", person_id=asked)
    with pytest.raises(ValueError, match=r"The ledger's promise is about .*, and a fit is about"):
        ledger.portion(Gaussian(ledger.rho / 2, 1.0, 1e-6, person_id=asked), what="a fit")
    assert ledger.spent == 0.0
    assert not ledger.entries


def test_a_portion_named_by_rho_has_the_unit_of_its_ledger(ledgers):
    for number, terms in enumerate(({"epsilon": 1.0}, {"rho": 1.0})):
        ledger = ledgers(f"people-{number}", person_id="patient", **terms)
        assert ledger.portion(0.01).promise.person_id == "patient"


def test_how_many_records_a_person_may_have_can_differ_between_fits():
    ledger = Ledger(epsilon=1.0, person_id="patient")
    for k in (1, 5, 20):
        relation = Relation(records_per_person=k, person_id="patient")
        ledger.charge(ledger.rho / 4, kind="gaussian", person_id=relation.person_id)
    assert len(ledger.entries) == 3


@pytest.mark.parametrize("promise", OF_PEOPLE)
def test_a_promise_to_records_is_written_as_earlier_versions_wrote_it(promise):
    assert "person_id" not in to_dict(promise)
    assert from_dict(to_dict(promise)) == promise
    of_people = from_dict(to_dict(promise) | {"person_id": "patient"})
    assert of_people != promise
    assert from_dict(json.loads(json.dumps(to_dict(of_people)))) == of_people
    assert (promise.unit, of_people.unit) == ("record", "person")


def test_a_ledger_in_a_file_keeps_its_unit_and_seals_it(tmp_path):
    opened(tmp_path, epsilon=1.0, person_id="patient").charge(0.001, kind="gaussian", person_id="patient")
    again = opened(tmp_path)
    assert again.promise.person_id == "patient"
    assert "all records of one person (by the id 'patient')" in again.statement()
    assert pickle.loads(pickle.dumps(again)).promise.person_id == "patient"
    with pytest.raises(ValueError, match=r"person_id = 'patient', not with .*person_id = 'home'"):
        opened(tmp_path, epsilon=1.0, person_id="home")
    engine = sa.create_engine(f"sqlite:///{tmp_path}/people.db")
    with engine.begin() as connection:
        connection.execute(
            sa.text("UPDATE privfit_accounts SET promise = replace(promise, '\"patient\"', '\"home\"')")
        )
    engine.dispose()
    with pytest.raises(ValueError, match="was changed, removed or inserted"):
        opened(tmp_path)


def test_a_change_of_the_kind_of_promise_keeps_the_unit(tmp_path):
    opened(tmp_path, epsilon=1.0, person_id="patient")
    changed = change_promise(f"sqlite:///{tmp_path}/people.db", dataset="people", promise="concentrated")
    assert changed.person_id == "patient"


@pytest.mark.parametrize("wrong", ["", "  ", 3, "a\nb"])
def test_an_id_has_a_name(wrong):
    with pytest.raises(ValueError, match="person_id must be the name of an id"):
        Ledger(epsilon=1.0, person_id=wrong)


def test_one_record_each_is_about_the_number_of_records():
    assert ONE_RECORD.is_one_record_each
    assert Relation(records_per_person=1, person_id="patient").is_one_record_each
    assert not Relation(records_per_person=2, person_id="patient").is_one_record_each


@pytest.mark.parametrize("promise", OF_PEOPLE, ids=lambda promise: type(promise).__name__)
def test_promises_to_records_and_to_people_do_not_add_up(promise):
    """They are about different neighbours, so nothing is promised of both together."""
    to_people = replace(promise, person_id="patient")
    assert composed([promise, to_people]) == (math.inf, 1.0)
    assert composed([to_people, to_people]) == composed([promise, promise]) < (math.inf, 1.0)
