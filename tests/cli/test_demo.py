import re

import numpy as np
import pytest
from typer.testing import CliRunner

from privfit import DPLinearSVC
from privfit.cli import app


def run(*options, **environment):
    return CliRunner().invoke(app, ["demo", *options], env={"COLUMNS": "120", **environment})


def test_demo_shows_accuracies_budget_and_promise():
    result = run(FORCE_COLOR="1", NO_COLOR="1")
    assert result.exit_code == 0, result.output
    assert not re.search(r"\x1b\[[0-9;]*[34][0-9]", result.output)  # no colour, not even of progress bars
    for expected in (
        "logistic regression",
        "linear SVM",
        "with privacy",
        "majority class",
        "What the budget bought",
        "differentially private",
    ):
        assert expected in result.stdout
    assert "█" in result.stdout
    assert "SEEDED" not in result.output


def test_demo_is_whole_on_a_narrow_terminal_that_knows_ascii_only():
    narrow_ascii = CliRunner(charset="ascii").invoke(app, ["demo"], env={"COLUMNS": "40"})
    assert narrow_ascii.exit_code == 0, narrow_ascii.output
    assert narrow_ascii.stdout.isascii()
    assert "\\u" not in narrow_ascii.stdout  # nothing had to be escaped either
    assert max(map(len, narrow_ascii.stdout.splitlines())) <= 40
    assert re.search(r"gradient +#{8,} ", narrow_ascii.stdout)


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


def test_ctrl_c_in_the_second_fit_says_what_both_spent(monkeypatch):
    fit = DPLinearSVC.fit

    def interrupted(model, X, y):
        raise KeyboardInterrupt

    def shortened(model, X, y):
        rows = np.arange(0, len(y), 100)
        return fit(model, X[rows], y[rows])

    monkeypatch.setattr("privfit.DPLogisticRegression.fit", shortened)
    monkeypatch.setattr("privfit.DPLinearSVC.fit", interrupted)
    result = run()
    assert result.exit_code == 130
    assert "Interrupted. Finished, and paid for in full: logistic regression." in result.stderr
    assert "differentially private" not in result.stdout
