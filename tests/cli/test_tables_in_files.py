"""Tables that commands read: one file, several, a directory of Parquet files, or standard input."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pytest
from pyarrow import parquet
from running import privfit

from privfit import Schema
from privfit.cli.tables import read_table
from privfit.schema import encode

HEAD = "person,born,city,income,smoker\n"
WAYS = {"several files": ("a.csv", "b.csv"), "a directory": ("folder",), "standard input": ("-",)}


@pytest.fixture
def parts(desk):
    """The desk with the people who were held out in two files, and in a directory of Parquet files."""
    head, *lines = (desk / "held-out.csv").read_text().splitlines(keepends=True)
    (desk / "a.csv").write_text(head + "".join(lines[:400]))
    (desk / "b.csv").write_text(head + "".join(lines[400:]))
    (desk / "folder").mkdir()
    text = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(head.strip().split(","), pyarrow.string()))
    for name in "ab":
        table = pyarrow.csv.read_csv(desk / f"{name}.csv", convert_options=text)
        parquet.write_table(table, desk / "folder" / f"{name}.parquet")
    return desk


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_name_a_table_reads_the_same_records(way, parts, monkeypatch):
    content = (parts / "held-out.csv").read_bytes()
    for command in (
        ("predict", "model.json", "held-out.csv", "--out", "p.csv", "--probabilities"),
        ("evaluate", "model.json", "held-out.csv", "--public-data"),
        ("schema", "check", "held-out.csv", "--schema", "schema.toml"),
    ):
        once, written = privfit(*command), (parts / "p.csv").read_text()
        place = command.index("held-out.csv")
        again = privfit(*command[:place], *WAYS[way], *command[place + 1 :], typed=content)
        assert again.stdout == once.stdout
        assert (parts / "p.csv").read_text() == written
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    schema = Schema.from_toml(parts / "schema.toml")
    facts = (*schema.features, schema.label)
    one, other = (read_table([*map(Path, data)], facts) for data in (["held-out.csv"], WAYS[way]))
    np.testing.assert_array_equal(encode(one, schema, sparse=False), encode(other, schema, sparse=False))


@pytest.mark.parametrize("way", WAYS)
def test_a_model_is_trained_and_scored_on_every_kind_of_table(way, parts):
    content = (parts / "held-out.csv").read_bytes()
    options = ("--schema", "schema.toml", "--epsilon", 9, "--out", "new.json")
    privfit("train", *WAYS[way], *options, typed=content)
    scored = privfit("evaluate", "new.json", *WAYS[way], "--rho", 1, "--json", typed=content)
    assert json.loads(scored.stdout)["accuracy"]["value"] > 0.5


def test_a_model_is_trained_and_scored_on_a_query(parts):
    pytest.importorskip("duckdb")
    query = "duckdb:SELECT * FROM 'folder//*.parquet' WHERE 5 // 2 = 2"  # which is no path
    options = ("--schema", "schema.toml", "--epsilon", 9, "--out", "new.json")
    for command in (
        ("train", query, *options),
        ("evaluate", "new.json", query, "--rho", 1, "--out", "s.json"),
    ):
        privfit(*command)
    for document in ("new.json", "s.json"):
        assert "the rows are the answer to a query" in (parts / document).read_text()
    checked = privfit("schema", "check", query, "--schema", "schema.toml").stdout
    assert checked == privfit("schema", "check", "folder", "--schema", "schema.toml").stdout
    alone = privfit("train", query, "a.csv", *options, code=2)
    assert "A query gives the whole table; give it alone." in alone.stderr


def test_a_draft_of_standard_input_is_that_of_the_file(desk):
    content = (desk / "people.csv").read_bytes()
    for options in (("--label", "sick"), ("--leak",)):
        drafted = privfit("schema", "draft", "people.csv", *options).stdout
        assert privfit("schema", "draft", "-", *options, typed=content).stdout == drafted


def test_predictions_begin_with_the_id_as_it_was_read(desk):
    rows = ["007,1950-01-15,Bern,1000,no", "-1,1950-01-15,Bern,1000,no", "=1+1,1950-01-15,Bern,1000,no"]
    odd = b"\xff\xfe,1950-01-15,Bern,1000,no\n"
    (desk / "ids.csv").write_bytes((HEAD + "\n".join(rows) + "\n").encode() + odd)
    privfit("predict", "model.json", "ids.csv", "--out", "p.csv", "--probabilities")
    with (desk / "p.csv").open(newline="", encoding="utf-8", errors="surrogateescape") as file:
        head, *written = csv.reader(file)
    assert head == ["person", "sick", "probability of no", "probability of yes"]
    ids = [row[0].encode("utf-8", "surrogateescape") for row in written]
    assert ids == [b"007", b"-1", b"'=1+1", b"\xff\xfe"]


def test_predictions_of_a_table_without_ids_have_none(desk):
    (desk / "ids.csv").write_text("born,city,income,smoker\n1950-01-15,Bern,1000,no\n")
    privfit("predict", "model.json", "ids.csv", "--out", "p.csv")
    assert (desk / "p.csv").read_text().splitlines()[0] == "sick"


MISTAKES = {
    "input twice": (("-", "-"), "Standard input can be read only once; give - once."),
    "input that is empty": (("-",), "The first line of standard input must name every column once"),
    "a directory without tables": ((".",), "has no Parquet files; name CSV files one by one."),
    "other columns": (("a.csv", "narrow.csv"), "a.csv and narrow.csv must have the same columns; 'person'"),
    "one that is not there": (("a.csv", "none.csv"), "There is no file none.csv."),
    "one of another kind": (("a.csv", "n.parquet"), "n.parquet stores column 'person' in another type than"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_tables_that_cannot_be_read_are_refused_in_one_sentence(mistake, parts):
    data, sentence = MISTAKES[mistake]
    (parts / "folder" / "a.parquet").rename(parts / "folder" / "a.txt")
    (parts / "folder" / "b.parquet").unlink()
    (parts / "narrow.csv").write_text("city,income,smoker,sick\nBern,1,no,no\n")
    numbers = {name: [1] for name in ("person", "born", "city", "income", "smoker", "sick")}
    if "n.parquet" in data:
        parquet.write_table(pyarrow.table(numbers), parts / "n.parquet")
    refused = privfit("train", *data, "--schema", "schema.toml", "--out", "new.json", code=2, typed="")
    assert sentence in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_no_file_of_the_table_is_overwritten(parts):
    refused = privfit("predict", "model.json", "folder", "--out", "folder/a.parquet", code=2)
    assert "folder/a.parquet is also an input, or named twice" in refused.stderr


def run(*arguments, **streams):
    command = [sys.executable, "-m", "privfit", *arguments]
    return subprocess.run(command, text=True, check=False, **streams)


def test_a_terminal_is_not_waited_for(desk):
    leader, follower = pty.openpty()
    done = run("schema", "check", "-", "--schema", "schema.toml", stdin=follower, capture_output=True)
    os.close(follower), os.close(leader)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: Standard input is a terminal; give it a CSV file: privfit")


def test_a_terminal_sees_how_much_was_read(desk):
    leader, follower = pty.openpty()
    streams = {"stdout": subprocess.PIPE, "stderr": follower}
    done = run("schema", "check", "people.csv", "--schema", "schema.toml", **streams)
    told = os.read(leader, 100_000).decode()
    os.close(follower), os.close(leader)
    size = (desk / "people.csv").stat().st_size / 1000
    assert "Reading people.csv" in told
    assert f"{size:.1f}/{size:.1f} kB" in told
    assert "Reading" not in done.stdout
