# ruff: noqa: RUF001 because letters that look like others are what this file is about
"""Another name is another ledger: names that nobody can tell apart are refused, a second one is warned of."""

import pickle
import sqlite3

import pytest

from privfit.accounting import Ledger
from privfit.accounting.stores.names import look_alike


@pytest.fixture
def ledger(tmp_path):
    return Ledger.open(f"sqlite:///{tmp_path}/people.db", dataset="census-2026", rho=0.5)


ALIKE = [
    *(
        "census-2026",
        "Census-2026",
        "CENSUS-2026",
        " census-2026",
        "census-2026 ",
        "census\u20112026",
        "census–2026",
    ),
    *("census−2026", "сеnѕuѕ-2026", "cεnsυs-2026", "census-2O26", "ｃｅｎｓｕｓ-2026", "census\ufe0f-2026"),
    *("СЕNSUS-2026", "CΕNSUS-2026", "cen\u034fsus-2026"),
    *("cen\u180bsus-2026", "census-2026\u180f", "census-2026\u2800", "cen\U0001d159sus-2026"),
    *(f"cen{hidden}sus-2026" for hidden in "\u115f\u1160\u17b4\u17b5\u180c\u180d\ufe00\U000e0100\U000e01ef"),
]
OTHERS = [
    "census-2027",
    "census 2026",
    "census",
    "zensus-2026",
    "perepis-2026",
    "перепись-2026",
    "人口",
    "césure",
    *(f"cen{drawn}sus-2026" for drawn in "\u17b6\ufe10\U0001d15a"),
]


@pytest.mark.parametrize("name", ALIKE)
def test_names_that_differ_by_what_nobody_sees_look_alike(name):
    assert look_alike("census-2026", name)
    assert look_alike(name, "census-2026")


@pytest.mark.parametrize("name", OTHERS)
def test_names_that_can_be_told_apart_do_not_look_alike(name):
    assert look_alike(name, name)
    assert not [other for other in (*OTHERS, *ALIKE) if other != name and look_alike(name, other)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *[
            ("ΝΗΣΟΣ", "νησος"),
            ("νησος", "NHΣOΣ"),
            ("ΝΗΣΟΣ", "NHΣOΣ"),
            ("Straße", "STRASSE"),
            ("wave I", "wave l"),
        ],
        *[("wave  1", "WAVE I"), ("a\u0301", "\xe1"), ("TGF-β", "tgf-Β"), ("САО", "cao")],
        *[("ﬁles", "files"), ("a\xa0b", "a b")],
    ],
)
def test_case_alphabets_and_spaces_may_come_together(first, second):
    assert look_alike(first, second)


@pytest.mark.parametrize("name", ["Census-2026", "census-2026 ", "сеnѕuѕ-2026"])
@pytest.mark.parametrize("budget", [{}, {"rho": 1.0}], ids=["to read", "to open"])
def test_a_name_that_looks_like_another_is_refused(ledger, name, budget):
    message = (
        "There is a ledger of 'census-2026' at sqlite:.* differs from it only in case, spaces or letters"
    )
    with pytest.raises(ValueError, match=message):
        Ledger.open(ledger.url, dataset=name, **budget)
    assert Ledger.open(ledger.url, dataset="census-2026").identifier == ledger.identifier


def test_a_second_ledger_is_another_budget_and_says_so(ledger):
    message = "has another ledger already: the ledger of 'clinic' is a privacy budget of its own, and people"
    with pytest.warns(UserWarning, match=message) as told:
        Ledger.open(ledger.url, dataset="clinic", epsilon=1.0, delta=1e-6)
    assert told[0].filename == __file__
    assert "census-2026" not in str(told[0].message)


@pytest.mark.filterwarnings("error")
def test_the_first_ledger_of_a_store_and_one_that_is_there_are_not_warned_of(ledger):
    Ledger.open(ledger.url, dataset="census-2026", rho=0.5)
    pickle.loads(pickle.dumps(ledger))


def test_names_that_were_alike_before_are_all_still_found(ledger, tmp_path):
    other = Ledger.open(f"sqlite:///{tmp_path}/other.db", dataset="Census-2026", rho=2.0)
    with sqlite3.connect(tmp_path / "people.db") as connection:
        connection.execute(f"ATTACH '{tmp_path}/other.db' AS other")
        connection.execute("INSERT INTO privfit_accounts SELECT * FROM other.privfit_accounts")
    connection.close()
    assert Ledger.open(ledger.url, dataset="Census-2026").identifier == other.identifier
    assert Ledger.open(ledger.url, dataset="census-2026").identifier == ledger.identifier
