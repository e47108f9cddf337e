"""Tables in which people have several rows, from the command line."""

import json

import pytest
from people import SCHEMA, write_table
from running import privfit

WITH_K = SCHEMA.replace('type = "id"', 'type = "id"\nrows_per_person = 2')
TRAIN = ("train", "visits.csv", "--schema", "schema.toml", "--out", "model.json")


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """A table with three rows of each person."""
    write_table(tmp_path / "once.csv", 900, 1)
    head, *rows = (tmp_path / "once.csv").read_text().splitlines()
    renamed = [f"p{i % 300}," + row.split(",", 1)[1] for i, row in enumerate(rows)]
    (tmp_path / "visits.csv").write_text("\n".join([head, *renamed]) + "\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_option_makes_the_promise_about_people(visits):
    refused = privfit(*TRAIN, code=2).stderr
    assert "some ids in column 'person' repeat" in refused
    assert "rows_per_person" in refused
    out = privfit(*TRAIN, "--rows-per-person", 2).stdout
    assert "all records of one person" in " ".join(out.split())
    assert json.loads((visits / "model.json").read_text())["privacy"]["records_per_person"] == 2


def test_the_schema_can_say_it_and_a_ledger_of_people_pays(visits):
    (visits / "schema.toml").write_text(WITH_K)
    privfit("ledger", "open", "people.db", "--dataset", "visits", "--epsilon", 3, "--person-id", "person")
    privfit(*TRAIN, "--ledger", "people.db")
    status = json.loads(privfit("ledger", "status", "people.db", "--json").stdout)
    assert (status["unit"], status["person_id"]) == ("person", "person")
    assert "all records of one person (by the id 'person')" in status["statement"]
    twice = privfit(*TRAIN, "--rows-per-person", 2, code=2).stderr
    assert "schema.toml declares rows_per_person already; leave --rows-per-person out" in twice


def test_a_ledger_of_another_unit_is_left_alone(visits):
    privfit("ledger", "open", "people.db", "--dataset", "visits", "--epsilon", 3)
    refused = privfit(*TRAIN, "--rows-per-person", 2, "--ledger", "people.db", code=2).stderr
    advice = (
        "leave --rows-per-person out, and rows_per_person in the schema, or open a ledger about people by"
    )
    assert advice in " ".join(refused.split())
    assert json.loads(privfit("ledger", "status", "people.db", "--json").stdout)["spent"] == 0.0


def test_without_an_id_column_nobody_can_be_told_apart(visits):
    (visits / "schema.toml").write_text(SCHEMA.replace('type = "id"', 'type = "ignored"'))
    refused = " ".join(privfit(*TRAIN, "--rows-per-person", 2, code=2).stderr.split())
    assert 'declare a column of the schema with type = "id"' in refused


def test_scores_are_about_people_as_the_model_is(visits):
    (visits / "schema.toml").write_text(WITH_K)
    privfit("ledger", "open", "people.db", "--dataset", "visits", "--epsilon", 3, "--person-id", "person")
    privfit(*TRAIN, "--epsilon", 1, "--ledger", "people.db")
    evaluate = ("evaluate", "model.json", "visits.csv", "--ledger", "people.db")
    told = " ".join(privfit(*evaluate, "--out", "scores.json").stdout.split())
    assert "for all records of one person (by the id 'person')" in told
    scores = json.loads((visits / "scores.json").read_text())
    assert scores["privacy"]["records_per_person"] == 2
    twice = privfit(*evaluate, "--rows-per-person", 2, code=2).stderr
    assert "declares rows_per_person already; leave --rows-per-person out" in " ".join(twice.split())


def test_scores_use_as_many_records_of_a_person_as_training_did_or_as_the_option_says(visits):
    privfit(*TRAIN, "--rows-per-person", 2)
    for option, most in (((), 2), (("--rows-per-person", 3), 3)):
        found = json.loads(privfit("evaluate", "model.json", "visits.csv", *option, "--json").stdout)
        assert found["privacy"]["records_per_person"] == most
