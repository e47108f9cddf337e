"""`train`, `evaluate` and `predict` compare the table with the schema before anything is charged."""

import csv
import json

import numpy as np
import pytest
from people import HEADER, rows_of
from running import privfit

from privfit import Ledger
from privfit.estimators import private
from privfit.mechanisms.noise import noise_source

CANARY = "P000000"
TRAIN = ("train", "messy.csv", "--schema", "schema.toml", "--ledger", "people.db", "--out", "new.json")
EVALUATE = ("evaluate", "model.json", "messy.csv", "--ledger", "people.db", "--out", "new.json")
PREDICT = ("predict", "model.json", "messy.csv", "--out", "new.csv")
INCOME, CITY, SICK = HEADER.index("income"), HEADER.index("city"), HEADER.index("sick")
NOT_ON_THE_LIST = "have a value that is none of the categories"
MESSES = {
    "text in numbers": (
        INCOME,
        lambda cell: CANARY,
        "income: 60 records have a value that is no number (100.0% of the values)",
    ),
    "decimal commas": (
        INCOME,
        lambda cell: "1234,5",
        "income: 60 records have a value that is no number (100.0% of the values); "
        'decimal = "," without thousands reads most of them',
    ),
    "bounds far off": (INCOME, lambda cell: cell + ",000", "income: 60 records have a value above the high"),
    "another case": (
        CITY,
        str.upper,
        f"city: 60 records {NOT_ON_THE_LIST} (100.0% of the values); most of",
    ),
    "a sixth is lost": (CITY, None, f"city: 10 records {NOT_ON_THE_LIST} (16.7% of the values)"),
}


def spent():
    return Ledger.open("sqlite:///people.db", dataset="census-2026").spent


def write(change=None, column=INCOME, n=60, without=(), extra=()):
    kept = [i for i, name in enumerate(HEADER) if name not in without]
    with open("messy.csv", "w", newline="", encoding="utf-8") as file:
        rows = [HEADER, *([*row] for row in rows_of(n, 4)), *extra]
        for row in rows[1 : n + 1]:
            row[column] = row[column] if change is None else change(row[column])
        csv.writer(file).writerows([row[i] for i in kept] for row in rows)


@pytest.mark.parametrize("command", [TRAIN, EVALUATE, PREDICT], ids=lambda command: command[0])
@pytest.mark.parametrize("mess", MESSES)
def test_columns_that_would_be_lost_are_refused_before_a_charge(desk, mess, command):
    column, change, message = MESSES[mess]
    counter = iter(range(60))
    write(change or (lambda cell: CANARY if next(counter) % 6 == 0 else cell), column)
    before = spent()
    result = privfit(*command, code=2)
    assert f"Refused: {message}" in result.stderr
    assert "Error: The table does not fit the schema, so nothing was " in result.stderr
    assert "--no-check" in result.stderr
    assert CANARY not in result.output
    assert spent() == before
    assert not (desk / command[-1]).exists()


@pytest.mark.parametrize("command", [TRAIN, EVALUATE, PREDICT], ids=lambda command: command[0])
def test_the_check_can_be_skipped(desk, command):
    write(lambda cell: CANARY)
    result = privfit(*command, "--no-check")
    assert "Refused" not in result.stderr + result.stdout
    assert (desk / command[-1]).exists()


@pytest.mark.parametrize("command", [TRAIN, EVALUATE, PREDICT], ids=lambda command: command[0])
def test_a_few_cells_are_a_warning(desk, command):
    write(extra=[["p9", "1955-05-05", "Chur", "$999,000", "no", "no"]])
    result = privfit(*command)
    assert "Warning: income: 1 record has a value above the high bound (1.6% of the values)." in result.stderr
    assert "Warning: city: 1 record has a value that is none of the categories (1.6%" in result.stderr
    assert "born" not in result.stderr  # has gaps, which the schema provides for


def test_predictions_need_no_label_and_scores_no_declared_number(desk):
    schema = (desk / "schema.toml").read_text()
    (desk / "schema.toml").write_text("records = 1500\n" + schema)
    privfit("train", "people.csv", *TRAIN[2:-1], "model.json")
    write(lambda cell: CANARY, SICK)
    privfit(*PREDICT)
    assert "sick: 60 records have another label; correct the classes" in privfit(*EVALUATE, code=2).stderr
    write()
    privfit(*EVALUATE)
    assert "does not have as many records as are declared" in privfit(*TRAIN, code=2).stderr
    (desk / "schema.toml").write_text(schema)
    assert "does not have as many records as are" in privfit(*TRAIN, "--records", 61, code=2).stderr
    privfit(*TRAIN, "--records", 60)


def test_the_table_is_read_once_and_its_texts_are_told_apart_once(desk, monkeypatch):
    from privfit.schema import batches, taken

    counts = {"read": 0, "coded": 0}

    def count(module, name, key):
        function = getattr(module, name)

        def counted(table, *arguments, **settings):
            counts[key] += not hasattr(table, "num_rows") or table.num_rows > 0
            return function(table, *arguments, **settings)

        monkeypatch.setattr(module, name, counted)

    count(batches, "_of_csv", "read")
    count(taken, "coded", "coded")
    write()
    privfit(*TRAIN)
    assert counts == {"read": 1, "coded": 1}


# -- what the check finds is nobody else's


@pytest.fixture
def seeded(monkeypatch):
    """Let fits of the command line draw the same noise each time."""
    monkeypatch.setattr(private, "noise_source", lambda seed: noise_source(1))


def trained_on(extra, *options):
    write(extra=extra)
    privfit("train", "messy.csv", "--schema", "schema.toml", "--out", "new.json", *options)
    with open("new.json", encoding="utf-8") as file:
        return json.load(file)


ODD = ["p9", "1855-05-05", "Chur", "$999,000", "perhaps", "no"]
USUAL = ["p9", "1955-05-05", "Bern", "$9", "no", "no"]
NEIGHBOURS = {"fits": [], "is warned of": [ODD], "fits, too": [USUAL]}


@pytest.mark.parametrize("table", NEIGHBOURS)
def test_the_model_does_not_depend_on_the_check(desk, seeded, table):
    with_check, without = (trained_on(NEIGHBOURS[table], *options) for options in ((), ("--no-check",)))
    for made in (with_check, without):
        assert "findings of a check of the table, and error messages, are shown to" in made["privacy"]["text"]
        made["privacy"].pop("origin", None)
    assert with_check == without


def test_the_statement_does_not_depend_on_what_the_check_found(desk, seeded):
    statements = [trained_on(table)["privacy"] for table in NEIGHBOURS.values()]
    for statement in statements[1:]:
        assert statement["assumptions"] == statements[0]["assumptions"]
        assert statement["promise"] == statements[0]["promise"]
        assert set(statement) == set(statements[0])
    for word in ("Chur", "perhaps", "beyond", "bound (", "none of the categories"):
        assert word not in json.dumps(statements[1])


def test_nothing_of_the_check_is_in_the_ledger(desk):
    write(extra=[ODD])
    privfit(*TRAIN)
    log = privfit("ledger", "log", "people.db", "--json").stdout
    for word in ("check", "refus", "warn", "none of the"):
        assert word not in log


# -- labels as they come

FLOWERS = """
[[columns]]
name = "length"
type = "numeric"
low = 0
high = 10
decimal = ","

[[columns]]
name = "colour"
type = "categorical"
categories = ["blue", "other"]
missing = "indicator"

[label]
name = "species"
one_against_rest = "virginica"
missing = "drop"
"""


def test_labels_and_numbers_as_they_come(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.toml").write_text(FLOWERS)
    rng = np.random.default_rng(0)
    lines = ["length;colour;species"]
    for i in range(1200):
        kind = i % 3
        species = "" if i % 10 == 0 else ["setosa", "versicolor", "virginica"][kind]
        length = f"{2 + 2 * kind + rng.normal():.2f}".replace(".", ",")
        lines.append(f"{length};{['blue', 'other', 'red'][i % 3]};{species}")
    (tmp_path / "flowers.csv").write_text("\n".join(lines) + "\n")
    checked = privfit("schema", "check", "flowers.csv", "--schema", "schema.toml", code=1)
    assert "species: 120 records have no label; such records are left out" in checked.stdout
    assert "colour: 400 records have a value that is none of the categories" in checked.stdout
    privfit("train", "flowers.csv", "--schema", "schema.toml", "--epsilon", 4, "--out", "model.json")
    text = (tmp_path / "model.json").read_text()
    assert "120" not in text
    assert json.loads(text)["target"]["classes"] == ["not virginica", "virginica"]
    scores = json.loads(privfit("evaluate", "model.json", "flowers.csv", "--public-data", "--json").stdout)
    assert scores["accuracy"] > 0.8
    bought = json.loads(privfit("evaluate", "model.json", "flowers.csv", "--rho", 1, "--json").stdout)
    assert bought["accuracy"]["value"] == pytest.approx(scores["accuracy"], abs=0.02)
    privfit("predict", "model.json", "flowers.csv", "--out", "predictions.csv")
    predicted = (tmp_path / "predictions.csv").read_text().splitlines()
    assert len(predicted) == 1201
    assert set(predicted[1:]) == {"virginica", "not virginica"}
    assert "virginica" in privfit("explain", "model.json").stdout
    privfit("report", "model.json", "--out", "page.html")
    assert "not virginica" in (tmp_path / "page.html").read_text()
    privfit("export", "model.json", "--numpy", "scorer.py")
    scorer = {}
    exec((tmp_path / "scorer.py").read_text(), scorer)
    rows = [dict(zip(["length", "colour"], line.split(";"), strict=False)) for line in lines[1:]]
    assert scorer["predict"](rows).tolist() == predicted[1:]
