import json
import re

import pytest
from typer.testing import CliRunner

from privfit import DPLogisticRegression
from privfit.cli import app
from privfit.cli.demo import COMMONER, ODDS_RATIOS, WITH_CURVES


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*options, **environment):
    return CliRunner().invoke(app, ["demo", *options], env={"COLUMNS": "120", **environment})


def test_demo_shows_curves_odds_ratios_budget_and_promise_and_writes_the_report(somewhere):
    result = run(FORCE_COLOR="1", NO_COLOR="1")
    assert result.exit_code == 0, result.output
    assert not re.search(r"\x1b\[[0-9;]*[34][0-9]", result.output)  # no colour, not even of progress bars
    for expected in (
        "with privacy",
        "without privacy",
        "AUC",
        "age, from 17 to 90",
        "odds ratio",
        "hours-per-week (hours), +10",
        "What the privacy budget of both models was spent on",
        "differentially private",
    ):
        assert expected in result.stdout
    assert "█" in result.stdout
    age = next(line for line in result.stdout.split("\n") if "age (years), +10" in line)
    assert len({len(number) for number in re.findall(r"\d\.(\d+)", age)}) == 1  # 1.40 is not written as 1.4
    assert "SEEDED" not in result.output
    assert "for your browser:\n" in result.stdout
    assert "privfit-demo.html" in result.stdout
    assert [path.name for path in somewhere.iterdir()] == ["privfit-demo.html"]
    page = (somewhere / "privfit-demo.html").read_text()
    for named in ("<td>Exec-managerial</td>", "Curve of hours-per-week", "&gt;50K", "AUC", "A demonstration"):
        assert named in page
    assert "column 1" not in page
    assert "No private scores" not in page


def fitting_every_hundredth(fit):
    def shortened(model, X, y):
        if isinstance(X, dict):
            return fit(model, {name: column[::100] for name, column in X.items()}, y[::100])
        return fit(model, X[::100], y[::100])

    return shortened


def test_json_is_all_that_is_printed_and_the_report_goes_where_it_is_told(somewhere, monkeypatch):
    monkeypatch.setattr(DPLogisticRegression, "fit", fitting_every_hundredth(DPLogisticRegression.fit))
    result = run("--json", "--epsilon", "0.5", "--report", "census.html")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["report"] == "census.html"
    curves, ratios = facts["models"]
    assert [curves["model"], ratios["model"]] == [WITH_CURVES, ODDS_RATIOS]
    assert curves["accuracy"]["without privacy"] > curves["accuracy"][COMMONER] > 0.7
    assert curves["auc"]["without privacy"] > curves["auc"][COMMONER] == 0.5
    # each model is half of one ledger, whose epsilon is the one that was asked for
    assert all(0.3 < entry["privacy"]["promise"]["epsilon"] < 0.5 for entry in facts["models"])
    assert [path.name for path in somewhere.iterdir()] == ["census.html"]


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_trained():
    result = run("--report", "nowhere/census.html")
    assert result.exit_code == 2
    assert result.output == "Error: There is no directory nowhere; make it first.\n"


def test_demo_is_whole_on_a_narrow_terminal_that_knows_ascii_only():
    narrow_ascii = CliRunner(charset="ascii").invoke(app, ["demo"], env={"COLUMNS": "40"})
    assert narrow_ascii.exit_code == 0, narrow_ascii.output
    assert narrow_ascii.stdout.isascii()
    assert "\\u" not in narrow_ascii.stdout  # nothing had to be escaped either
    assert max(map(len, narrow_ascii.stdout.splitlines())) <= 40
    assert re.search(r"gradients: the training #{5,} ", narrow_ascii.stdout)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--epsilon", "-1"], "epsilon must be a positive finite number, got -1.0."),
        (["--epsilon", "nan"], "epsilon must be a positive finite number, got nan."),
        (["--delta", "2"], "delta must lie between"),
    ],
)
def test_a_bad_budget_is_refused_in_one_sentence_before_anything_is_shown(options, sentence):
    result = run(*options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {sentence}")
    assert result.stderr.count("\n") == 1


def test_ctrl_c_in_the_second_private_fit_says_what_is_paid_for(monkeypatch):
    shortened = fitting_every_hundredth(DPLogisticRegression.fit)

    def interrupted(model, X, y):
        if model.inference:
            raise KeyboardInterrupt
        return shortened(model, X, y)

    monkeypatch.setattr(DPLogisticRegression, "fit", interrupted)
    result = run()
    assert result.exit_code == 130
    assert f"Interrupted. Finished, and charged in full: {WITH_CURVES}." in result.stderr
    assert "differentially private" not in result.stdout
