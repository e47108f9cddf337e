"""Commands advise commands: nothing that they print has to be written in Python.

`running.privfit` looks for Python in what every command of these tests prints; here are messages for which
the library advises Python elsewhere.
"""

import datetime

import pyarrow
import pytest
from people import SCHEMA
from pyarrow import parquet
from running import PYTHON, privfit

from privfit.remedies import command_line, remedy

TRAIN = ("train", "people.csv", "--schema", "schema.toml", "--out", "new.json")
MISTAKES = {
    "strict without a ledger": (TRAIN, "Strict mode refuses a fit without a ledger; name one with --ledger."),
    "strict scores": (
        ("evaluate", "model.json", "held-out.csv"),
        "without a ledger; name one with --ledger.",
    ),
    "no delta": ((*TRAIN, "--delta", "0"), "The solver 'adaptive' needs a delta between"),
    "dates for others": (
        ("export", "model.json", "--skops", "model.skops"),
        "Column 'born' is a date, which only privfit and its NumPy file read; write the model with --numpy",
    ),
    "too many people": (
        ("plan", "--people", 10**9, "--features", 1000),
        "plan for 200,000 people: with more people the model only gets better.",
    ),
    "too much accuracy": (
        ("plan", "--accuracy", 0.99, "--features", 3, "--runs", 2),
        "An accuracy of 0.99 is out of reach",
    ),
    "an unused fill": (
        ("train", "people.csv", "--schema", "fill.toml", *TRAIN[4:]),
        "has a fill, which missing = 'refuse' does not use.",
    ),
    "a number for a truth": (
        ("train", "people.csv", "--schema", "taken.toml", *TRAIN[4:]),
        "taken_from_data must be true or false, not 1.",
    ),
    "cells that are refused": (
        ("train", "people.csv", "--schema", "refuse.toml", *TRAIN[4:], "--no-check"),
        '`privfit schema check` counts them, and missing = "fill" or "indicator" takes them.',
    ),
    "integers beyond doubles": (
        ("train", "large.parquet", "--schema", "large.toml", *TRAIN[4:], "--no-check"),
        "which may have rounded the integers beyond 2^53 that it lists; write it as text.",
    ),
    "another budget": (
        ("ledger", "open", "people.db", "--dataset", "census-2026", "--epsilon", "9"),
        "census-2026",
    ),
    "more than there is": ((*TRAIN, "--ledger", "people.db", "--epsilon", "9"), "left of"),
}


@pytest.fixture
def untidy(desk):
    city = 'categories = ["Basel", "Bern", "Genf"]'
    (desk / "fill.toml").write_text(SCHEMA.replace(city, f'{city}\nfill = "Bern"\nmissing = "refuse"'))
    (desk / "taken.toml").write_text(f"taken_from_data = 1\n{SCHEMA}")
    (desk / "refuse.toml").write_text(SCHEMA.replace('type = "date"', 'type = "date"\nmissing = "refuse"'))
    (desk / "large.toml").write_text(SCHEMA.replace(city, "categories = [9007199254740993, 1]"))
    columns = {"person": ["a"], "born": [datetime.date(1950, 1, 1)], "city": [1], "income": [1.0]}
    parquet.write_table(pyarrow.table(columns | {"smoker": ["no"], "sick": ["no"]}), desk / "large.parquet")
    return desk


@pytest.mark.parametrize("mistake", MISTAKES)
def test_advice_is_given_in_commands(mistake, untidy, monkeypatch):
    arguments, sentence = MISTAKES[mistake]
    if mistake.startswith("strict"):
        monkeypatch.setenv("PRIVFIT_STRICT", "1")
    assert sentence in " ".join(privfit(*arguments, code=2).stderr.split())


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        (("--solver", "sgd-ma", "--epsilon", 1e-4), "was left; choose a larger --epsilon."),
        (("--epsilon", 11), "Warning: epsilon = 11 lets the odds"),
        (("--delta", 0.01, "--records", 1500), "Warning: delta = 0.01 is above 1 divided by the number of"),
    ],
)
def test_warnings_of_the_library_are_shown_without_python(options, warning, desk):
    assert warning in privfit(*TRAIN, *options).stderr


def test_a_ledger_of_a_large_epsilon_is_warned_of(desk):
    opened = privfit("ledger", "open", "large.db", "--dataset", "few", "--epsilon", 11)
    assert opened.stderr.startswith("Warning: epsilon = 11 lets the odds")
    assert privfit("ledger", "open", "small.db", "--dataset", "few", "--epsilon", 10).stderr == ""


def test_python_is_recognised_where_it_is_advised():
    for advice in (
        "ledger=Ledger(epsilon=1.0)",
        "set noise='secure'",
        "call model.fit(X)",
        "privfit.strict()",
    ):
        assert PYTHON.search(advice)
    for text in (
        "epsilon = 3 at delta = 1e-06",
        "x>=1",
        "sqlite:///people.db",
        'missing = "fill"',
        "odds (1.2)",
    ):
        assert not PYTHON.search(text)


def test_advice_is_python_again_after_the_command():
    with command_line():
        assert remedy("a=1", "--a 1") == "--a 1"
    assert remedy("a=1", "--a 1") == "a=1"
