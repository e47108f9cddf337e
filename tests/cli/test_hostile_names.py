"""Names that a stranger chose: nothing in them reaches the terminal as a command, and no page runs them."""

import json
import random

import pytest
from running import privfit
from typer.testing import CliRunner

from privfit.cli import app

# escape sequences (7 and 8 bit), a bell, a backspace, a changed direction of writing, and a line separator
EVIL = "a\x1b[31m\x9b2J\x07\b\u202e\u2028[/red]"
TWO_LINES = EVIL + "\r\nAll is well."
SCHEMA = f"""
[[columns]]
name = {json.dumps(EVIL)}
type = "categorical"
categories = [{json.dumps(EVIL + "1")}, {json.dumps(TWO_LINES)}]
unit = {json.dumps(TWO_LINES)}

[[columns]]
name = "n"
type = "numeric"
low = 0
high = 1
unit = {json.dumps(EVIL)}

[label]
name = {json.dumps("y" + EVIL)}
classes = [{json.dumps(EVIL + "no")}, {json.dumps(EVIL + "yes")}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    chance, quoted = random.Random(0), lambda text: f'"{text}"'
    lines = [",".join([quoted(EVIL), "n", quoted("y" + EVIL), quoted("more" + EVIL)])]
    for _ in range(200):
        label = EVIL + chance.choice(["no", "yes"])
        lines.append(",".join([quoted(EVIL + "1"), str(chance.random()), quoted(label), "x"]))
    (folder / "people.csv").write_text("\n".join(lines) + "\n", newline="")
    (folder / "schema.toml").write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        privfit(
            "train", "people.csv", "--schema", "schema.toml", "--out", "model.json", "--report", "card.html"
        )
        privfit(
            *("train", "people.csv", "--schema", "schema.toml", "--out", "sure.json", "--epsilon", "80"),
            *("--inference", "--report", "sure.html"),
        )
        yield folder


COMMANDS = {
    "draft": ("schema", "draft", "people.csv"),
    "leaking draft": ("schema", "draft", "people.csv", "--leak"),
    "check": ("schema", "check", "people.csv", "--schema", "schema.toml"),
    "train": ("train", "people.csv", "--schema", "schema.toml", "--out", "again.json"),
    "explain": ("explain", "model.json"),
    "intervals": ("explain", "sure.json", "--intervals"),
    "no column to show per unit": ("explain", "sure.json", "--intervals", "--per", f"{EVIL}:1"),
    "evaluate": ("evaluate", "model.json", "people.csv", "--public-data"),
    "predict": ("predict", "model.json", "people.csv", "--out", f"{EVIL.replace('/', '')}.csv"),
    "no such label": ("schema", "draft", "people.csv", "--label", EVIL + "?"),
    "no such file": ("train", f"{EVIL}.csv", "--schema", "schema.toml", "--out", "again.json"),
    "no such model": ("explain", f"{EVIL}.json"),
    "no such schema": ("train", "people.csv", "--schema", f"{EVIL}.toml", "--out", "again.json"),
    "a directory that is not there": ("predict", "model.json", "people.csv", "--out", f"{EVIL}/p.csv"),
    "a data set": ("ledger", "open", "people.db", "--dataset", EVIL, "--epsilon", "1"),
    "its status": ("ledger", "status", "people.db"),
    "another data set": ("ledger", "status", "people.db", "--dataset", EVIL + "?"),
    "a store that is not there": ("ledger", "status", f"{EVIL}.db"),
    "its log": ("ledger", "log", "people.db"),
}


@pytest.mark.parametrize("how", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_shows_names_and_obeys_none(folder, command, how):
    result = CliRunner().invoke(app, [*COMMANDS[command], *how], env={"COLUMNS": "100"})
    assert result.exit_code in (0, 1, 2)
    assert not isinstance(result.exception, Exception) or isinstance(result.exception, SystemExit)
    for text in (result.stdout, result.stderr):
        assert {c for c in text if not c.isprintable()} <= {"\n"}, command
    if how and result.exit_code == 0:
        json.loads(result.stdout)


def test_names_in_json_are_the_names(folder):
    written = privfit("explain", "model.json", "--json").stdout
    assert {weight["column"] for weight in json.loads(written)["weights"]} == {EVIL, "n"}


def test_a_draft_of_any_names_is_toml(folder):
    import tomllib

    drafted = tomllib.loads(privfit("schema", "draft", "people.csv", "--label", "y" + EVIL).stdout)
    assert [column["name"] for column in drafted["columns"]] == [EVIL, "n", "more" + EVIL]
    assert drafted["label"]["name"] == "y" + EVIL


@pytest.mark.parametrize("name", ["[/red]", "[bold", "]", EVIL])
def test_the_name_of_a_file_is_no_markup_where_progress_is_shown(folder, name):
    on_a_terminal = {"FORCE_COLOR": "1", "COLUMNS": "100"}
    name = name.replace("/", "")
    (folder / f"{name}.csv").write_bytes((folder / "people.csv").read_bytes())
    for command in (
        ["explain", f"{name}[/]"],
        ["train", f"{name}.csv", "--schema", "schema.toml", "--out", "again.json"],
    ):
        result = CliRunner().invoke(app, command, env=on_a_terminal)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert not set(result.stderr) & set("\x9b\x07\b\u202e\u2028")


def test_progress_is_shown_at_all(folder):
    shown = CliRunner().invoke(app, ["explain", "model.json"], env={"FORCE_COLOR": "1"}).stderr
    assert "Reading model.json" in shown


SCORES = '{"accuracy": {"value": 0.5, "interval": [0, 1], "population": [0, 1]}, "privacy": {"text": ""}}'


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        SCORES.replace("0.5", "9" * 400),
        SCORES.replace("0.5", "NaN"),
        '{"accuracy": {"value": 1}, "privacy": {"text": ""}}',
        '{"accuracy": 1}',
        "[]",
    ],
    ids=["nested", "endless", "no number", "no interval", "no score", "a list"],
)
def test_scores_that_are_none_get_one_sentence(folder, text):
    (folder / "scores.json").write_text(text)
    refused = privfit("report", "model.json", "--scores", "scores.json", "--out", "c.html", code=2)
    assert refused.stderr.startswith("Error: scores.json holds no scores; write some with: privfit evaluate")


@pytest.mark.parametrize("text", ["x = " + 100_000 * "[", "a" + 100_000 * ".a" + " = 1", "x ="])
def test_a_card_that_is_no_toml_gets_one_sentence(folder, text):
    (folder / "card.toml").write_text(text)
    refused = privfit("report", "model.json", "--card", "card.toml", "--out", "c.html", code=2)
    assert refused.stderr.startswith("Error: card.toml ")
    assert refused.stderr.count("\n") == 1
