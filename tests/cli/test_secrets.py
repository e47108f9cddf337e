"""Nothing unreleased is printed or written: canaries in the cells, and the number of records."""

import csv
import io
import re

import pytest
from people import HEADER, rows_of
from running import privfit

N = 1237  # a number that turns up nowhere by itself
CANARY = "Kanarienvogel"
SEVEN = "7770777"  # in cells that hold numbers
COMMANDS = {
    "train": ("train", "people.csv", "--schema", "schema.toml", "--out", "out.json", "--report", "out.html"),
    "train with intervals": (
        *("train", "people.csv", "--schema", "schema.toml", "--out", "out.json", "--report", "out.html"),
        *("--inference", "--epsilon", "8"),
    ),
    "train from an account": (
        *("train", "people.csv", "--schema", "schema.toml", "--out", "out.json", "--json"),
        *("--ledger", "people.db"),
    ),
    "tune": (
        *("tune", "people.csv", "--schema", "schema.toml", "--out", "out.json", "--report", "out.html"),
        *("--try", "alpha=0,0.1", "--ledger", "people.db"),
    ),
    "evaluate": ("evaluate", "model.json", "people.csv", "--out", "scores.json", "--ledger", "people.db"),
    "predict": ("predict", "model.json", "people.csv", "--probabilities", "--out", "predictions.csv"),
    "explain": ("explain", "model.json"),
    "evidence": ("evidence", "model.json", "--out", "evidence.json"),
    "verify": ("verify", "model.json", "--ledger", "people.db"),
    "draft": ("schema", "draft", "people.csv", "--label", "sick"),
    "a label that is no class": ("train", "odd.csv", "--schema", "schema.toml", "--out", "out.json"),
    "a cell that is refused": ("train", "people.csv", "--schema", "strict.toml", "--out", "out.json"),
    "a ragged line": ("train", "ragged.csv", "--schema", "schema.toml", "--out", "out.json"),
    "a bad label to score": ("evaluate", "model.json", "odd.csv", "--ledger", "people.db"),
}
REFUSED = {"a label that is no class", "a cell that is refused", "a ragged line", "a bad label to score"}
COUNTING = {"predict"}  # a file with a row for each person and the ids, to be treated as the table
ID = "p4-"


def written(header, rows):
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    return text.getvalue()


@pytest.fixture
def canaries(desk):
    rows = list(rows_of(N, 4))
    for i, cell in ((1, CANARY), (2, CANARY), (3, f"${SEVEN}"), (4, CANARY)):
        rows[i][i] = cell
    (desk / "people.csv").write_text(written(HEADER, rows))
    (desk / "odd.csv").write_text(written(HEADER, [*rows, [*rows[0][:-1], CANARY]]))
    (desk / "ragged.csv").write_text(written(HEADER, rows) + f"{CANARY},{SEVEN}\n")
    schema = (desk / "schema.toml").read_text()
    (desk / "strict.toml").write_text(schema.replace('name = "city"', 'name = "city"\nmissing = "refuse"'))
    return desk


@pytest.mark.parametrize("name", COMMANDS)
def test_no_cell_and_no_number_of_records_is_printed_or_written(name, canaries):
    before = {path.name: path.stat().st_mtime_ns for path in canaries.iterdir()}
    result = privfit(*COMMANDS[name], code=2 if name in REFUSED else 0)
    new = [path for path in canaries.iterdir() if before.get(path.name) != path.stat().st_mtime_ns]
    assert name in REFUSED or new or name in ("explain", "draft", "verify")
    for text in (result.stdout, result.stderr, *(path.read_bytes().decode("latin-1") for path in new)):
        assert CANARY not in text
        assert SEVEN not in text.replace(",", "")
        if name not in COUNTING:
            assert ID not in text
            assert not re.search(rf"\b{N}\b|\b{N // 1000},{N % 1000}\b", text)


def test_predict_does_not_print_how_many_rows_there_were(canaries):
    assert str(N) not in privfit(*COMMANDS["predict"], "--json").output
