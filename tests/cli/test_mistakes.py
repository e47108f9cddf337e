"""What a user can put right is one sentence and exit code 2; nothing is paid for or overwritten."""

import json
import os

import pytest
from running import privfit

TRAIN = ("train", "people.csv", "--schema", "schema.toml", "--out", "new.json")
PAID = ("--ledger", "people.db")
MISTAKES = {
    "no table": (("train", "none.csv", *TRAIN[2:]), "There is no file none.csv."),
    "a table of another kind": (
        ("train", "people.xlsx", *TRAIN[2:]),
        "people.xlsx is not the path of a table: its name must end in .csv, .csv.gz, .tsv or .parquet.",
    ),
    "a CSV file that is none": (
        ("train", "binary.csv", *TRAIN[2:]),
        "The first line of binary.csv must name every column",
    ),
    "a Parquet file that is none": (
        ("train", "text.parquet", *TRAIN[2:]),
        "text.parquet is not a Parquet file that can be read.",
    ),
    "a ragged CSV file": (("train", "ragged.csv", *TRAIN[2:]), "ragged.csv has a line that does not have as"),
    "an empty CSV file": (("train", "empty.csv", *TRAIN[2:]), "The first line of empty.csv must name every"),
    "a directory for a table": (("train", "folder", *TRAIN[2:]), "The directory folder has no Parquet"),
    "a table without records": (("train", "header.csv", *TRAIN[2:]), "Error: The table has no records."),
    "a column too few": (
        ("train", "narrow.csv", *TRAIN[2:]),
        "The data have no column 'city', which the schema declares.",
    ),
    "a column of another type": (
        ("train", "typed.parquet", *TRAIN[2:]),
        "typed.parquet: Column 'born' is declared date but arrives with dtype int64",
    ),
    "no label to train on": (("train", "new-people.csv", *TRAIN[2:]), "The data have no column 'sick'"),
    "no label to score": (("evaluate", "model.json", "new-people.csv"), "The data have no column 'sick'"),
    "several records of a person": (
        ("train", "visits.csv", *TRAIN[2:], *PAID),
        "visits.csv: some ids in column 'person' repeat, so some people have several records",
    ),
    "several records of a person to score": (
        ("evaluate", "model.json", "visits.csv", *PAID),
        "visits.csv: some ids in column 'person' repeat, so some people have several records",
    ),
    "no schema": ((*TRAIN[:3], "none.toml", *TRAIN[4:]), "none.toml: No such file or directory."),
    "a schema that is no TOML": ((*TRAIN[:3], "bad.toml", *TRAIN[4:]), "bad.toml is not valid TOML: "),
    "a budget that is none, before the table is read": (
        ("train", "none.csv", *TRAIN[2:], "--epsilon", "nan"),
        "--epsilon must be a positive finite number, got nan.",
    ),
    "a delta that is none, before the table is read": (
        ("train", "none.csv", *TRAIN[2:], "--delta", "-1"),
        "--delta must be a non-negative finite number, got -1.0.",
    ),
    "a budget that is none": ((*TRAIN, "--epsilon", "-1"), "epsilon must be a positive finite number"),
    "too few passes": (
        (*TRAIN, "--max-passes", "5"),
        "--max-passes must be at least 13 for this model, got 5.",
    ),
    "passes of another solver": (
        (*TRAIN, "--max-passes", "20", "--solver", "newton"),
        "The solver 'newton' has no limit of passes over the data; leave --max-passes out, or --solver.",
    ),
    "a solver that is none": (
        (*TRAIN, "--solver", "adam"),
        "--solver must be one of the private solvers adaptive, approximate-minima-perturbation, dpagd,",
    ),
    "a solver without privacy": (
        (*TRAIN, "--solver", "nonprivate"),
        "not nonprivate.",
    ),
    "a regulariser that is none": ((*TRAIN, "--alpha", "-1"), "alpha must be a non-negative finite number"),
    "records said twice": (
        (*TRAIN[:3], "counted.toml", *TRAIN[4:], "--records", "1500"),
        "counted.toml declares the number of records already; leave --records out.",
    ),
    "no records": ((*TRAIN, "--records", "0"), "Invalid value for '--records'"),
    "too many records": (
        (*TRAIN, "--records", str(10**15)),
        "--records must be a positive whole number",
    ),
    "no directory for the model": (
        (*TRAIN[:-1], "nowhere/new.json"),
        "There is no directory nowhere; make it first.",
    ),
    "a directory for the model": ((*TRAIN[:-1], "folder"), "'folder' is a directory."),
    "a model over the table": (
        (*TRAIN[:-1], "./people.csv"),
        "people.csv is also an input, or named twice; choose",
    ),
    "a page over the model": ((*TRAIN, "--report", "new.json"), "new.json is also an input, or named twice"),
    "predictions over the table": (
        ("predict", "model.json", "new-people.csv", "--out", "new-people.csv"),
        "new-people.csv is also an input, or named",
    ),
    "no ledger": ((*TRAIN, "--ledger", "none.db"), "none.db does not exist; open a ledger with: privfit"),
    "no such ledger": (
        (*TRAIN, *PAID, "--dataset", "census-1999"),
        "There is no ledger of 'census-1999' in sqlite:///",
    ),
    "a ledger without its store": (
        (*TRAIN, "--dataset", "census-2026"),
        "name the store, too, by --ledger",
    ),
    "more than the ledger has": (
        (*TRAIN, *PAID, "--epsilon", "100"),
        "this fit of a logistic regression needs epsilon = 100",
    ),
    "a server that is not there": (
        (*TRAIN, "--ledger", "postgresql://nobody:secret@127.0.0.1:1/none"),
        "The store at postgresql://nobody@127.0.0.1:1/none cannot be used: the server cannot be reached",
    ),
    "a store of another kind": ((*TRAIN, "--ledger", "mysql://host/x"), "Ledgers cannot be kept by mysql"),
    "a store that is no database": ((*TRAIN, "--ledger", "bad.toml"), "the file is no SQLite database"),
    "another budget": (
        ("ledger", "open", "people.db", "--dataset", "census-2026", "--epsilon", "9"),
        "not with epsilon = 9.0; --ledger uses it as it is.",
    ),
    "a kind of model that there is not": (
        (*TRAIN, "--model", "forest"),
        "--model must be one of huber, linear, logistic, poisson, quantile, svm, not forest.",
    ),
    "no model": (("explain", "none.json"), "none.json: No such file or directory."),
    "a model that is none": (("explain", "scores.json"), "scores.json is no model file: it holds no privfit"),
    "a model that is a table": (
        ("predict", "people.csv", "people.csv", "--out", "o.csv"),
        "is no model file",
    ),
    "a model cut off": (("explain", "cut.json"), "cut.json is no model file: it is not whole JSON"),
    "probabilities of an SVM": (
        ("predict", "svm.json", "new-people.csv", "--probabilities", "--out", "o.csv"),
        "This model gives no probabilities; leave --probabilities out.",
    ),
    "a price for what is public": (
        ("evaluate", "model.json", "held-out.csv", "--public-data", *PAID),
        "Scores of public data cost nothing",
    ),
    "two prices": (
        ("evaluate", "model.json", "held-out.csv", "--rho", "1", "--epsilon", "1"),
        "Give one of --rho and --epsilon.",
    ),
    "scores that are none": (
        ("report", "model.json", "--scores", "model.json", "--out", "r.html"),
        "model.json holds no scores; write some with: privfit evaluate MODEL TABLE --out SCORES",
    ),
    "scores of another kind": (
        ("report", "model.json", "--scores", "cut.json", "--out", "r.html"),
        "cut.json holds no scores; write some with: privfit evaluate MODEL TABLE --out SCORES",
    ),
    "scores of another model": (
        ("report", "model.json", "--scores", "others.json", "--out", "r.html"),
        "These are scores of a model with other classes; give the scores of this model.",
    ),
    "a card that is no TOML": (
        ("report", "model.json", "--card", "bad.toml", "--out", "r.html"),
        "bad.toml is not valid TOML: ",
    ),
    "nothing to export": (
        ("export", "model.json"),
        "Say what to write: --numpy FILE, --onnx FILE or --skops",
    ),
    "nothing to plan": (("plan", "--features", "3"), "Give one of --people, --accuracy and"),
    "a picture of another kind": (
        ("plan", "--features", "3", "--people", "99", "--plot", "plan.doc"),
        "plan.doc must end in .png, .svg or .pdf.",
    ),
    "nothing to convert": (("convert",), "Give one of --epsilon, --rho and --mu."),
    "a label that is no column": (("schema", "draft", "people.csv", "--label", "ill"), "'ill'"),
}


@pytest.fixture
def untidy(desk):
    """The desk with files on it that are not what their names say."""
    (desk / "folder").mkdir()
    (desk / "binary.csv").write_bytes(b"\xff\xfe\x00\x80\n")
    (desk / "empty.csv").write_bytes(b"")
    (desk / "text.parquet").write_text("no table")
    lines = (desk / "people.csv").read_text().splitlines()
    (desk / "header.csv").write_text(lines[0] + "\n")
    (desk / "ragged.csv").write_text("\n".join([*lines[:5], "a,b"]))
    (desk / "visits.csv").write_text("\n".join([*lines, lines[1]]))
    (desk / "narrow.csv").write_text("born,sick\n1999-01-01,yes\n")
    (desk / "counted.toml").write_text("records = 1500\n" + (desk / "schema.toml").read_text())
    (desk / "bad.toml").write_text("[[columns]\n" * 40)
    model = (desk / "model.json").read_text()
    (desk / "cut.json").write_text(model[:200])
    others = (desk / "scores.json").read_text().replace('"no"', '"healthy"')
    (desk / "others.json").write_text(others)
    document = json.loads(model)
    (desk / "svm.json").write_text(json.dumps(document | {"kind": "svm", "link": "sign"}))
    import pyarrow
    from pyarrow import parquet

    columns = {"born": [1], "city": ["Bern"], "income": [1.0], "smoker": ["no"], "sick": ["no"]}
    parquet.write_table(pyarrow.table(columns), desk / "typed.parquet")
    return desk


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_that_costs_nothing(mistake, untidy):
    arguments, sentence = MISTAKES[mistake]
    before = contents(untidy)
    result = privfit(*arguments, code=2)
    said = " ".join(line.strip("│╭╰─╮╯ ") for line in result.stderr.splitlines())
    assert sentence in said
    assert "Error: " in said
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert "secret" not in result.output
    assert contents(untidy) == before


def test_a_file_that_may_not_be_written_is_refused_before_the_ledger_is_charged(desk, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    (desk / "new.json").write_text("kept")
    before = contents(desk)
    refused = privfit(*TRAIN, *PAID, code=2)
    assert (
        refused.stderr == "Error: new.json may not be written; change its permissions or name another file.\n"
    )
    assert contents(desk) == before


def test_a_used_up_ledger_says_what_is_left(desk):
    privfit("ledger", "open", "small.db", "--dataset", "few", "--epsilon", 0.2)
    privfit(*TRAIN, "--ledger", "small.db", "--epsilon", 0.2)
    refused = privfit(*TRAIN[:-1], "second.json", "--ledger", "small.db", "--epsilon", 0.2, code=2)
    assert "needs epsilon = 0.2 (rho = 0.001387) at delta = 1e-06, and epsilon = 0 " in refused.stderr
    assert "left of epsilon = 0.2 (rho = 0.001387); nothing more can be asked for." in refused.stderr
    assert not (desk / "second.json").exists()
    facts = json.loads(privfit("ledger", "status", "small.db", "--json").stdout)
    assert facts["remaining"] < 1e-6


def test_several_ledgers_in_a_store_have_to_be_named(desk):
    privfit("ledger", "open", "people.db", "--dataset", "census-2016", "--epsilon", 1)
    refused = privfit("ledger", "status", "people.db", code=2)
    assert refused.stderr.startswith("Error: Say which ledger it is in sqlite:///")
    assert refused.stderr.endswith("; --dataset can be census-2016, census-2026.\n")
    named = privfit("ledger", "status", "people.db", "--dataset", "census-2016")
    assert named.stdout.startswith("The ledger of 'census-2016' in sqlite:///")


def test_a_promise_that_is_worth_little_is_warned_of_without_a_word_of_python(desk):
    """The number of records is bought, and its noise is far smaller than it."""
    said = privfit(*TRAIN, "--epsilon", 10.5, "--delta", 0.01).stderr
    warned = [line for line in said.splitlines() if line.startswith("Warning: ")]
    assert len(warned) == 2
    assert warned[0].startswith("Warning: epsilon = 10.5 lets the odds about a record change by a factor of")
    assert warned[1].startswith("Warning: delta = 0.01 is above 1 divided by the number of records")
    assert not any(word in line for line in warned for word in ("_", "()", "Ledger", "None"))


def test_a_ledger_for_people_warns_of_a_large_epsilon_about_a_person(desk):
    opening = ("ledger", "open", "visits.db", "--dataset", "visits", "--epsilon", 11)
    said = " ".join(privfit(*opening, "--person-id", "patient").stderr.split())
    assert "lets the odds about a person change by a factor of e^11" in said


def test_without_the_check_ids_are_not_looked_at_and_the_promise_is_about_records(untidy):
    said = privfit("train", "visits.csv", *TRAIN[2:], "--no-check")
    assert "This is a promise about one record, not about one person" in " ".join(said.stdout.split())
    assert "repeat" not in said.output
    privfit("evaluate", "new.json", "visits.csv", "--no-check")
