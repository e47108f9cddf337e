"""`make compare` without any rival: scores, the file of rows, and the page that is made of it."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from privfit.schema import Label, Numeric, Schema

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def comparison(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    names = ("learners", "measures", "page", "pictures", "results", "rows", "tables")
    parts = {name: importlib.import_module(f"comparison.{name}") for name in names}
    return SimpleNamespace(**parts, main=importlib.import_module("comparison.__main__"))


@pytest.fixture
def toy(comparison, monkeypatch):
    """A table of one column in the place of Adult."""
    x = np.linspace(0.0, 1.0, 400)
    y = (x + 0.3 * np.sin(50.0 * x) > 0.5).astype(int)
    table = comparison.tables.Table(
        name="adult",
        kind=comparison.tables.TWO_CLASSES,
        matrix=x[:, None],
        independent=np.arange(1),
        columns=x[:, None],
        nominal=(),
        low=np.zeros(1),
        high=np.ones(1),
        frame={"x": x},
        schema=Schema((Numeric("x", 0, 1),), Label("y", (0, 1))),
        y=y,
    )
    monkeypatch.setattr(comparison.tables, "table", lambda name: table)
    return table


def started(comparison, monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["comparison", "--tables", "adult", *map(str, options)])
    comparison.main.main()


@pytest.mark.parametrize(
    ("learner", "epsilons"),
    [
        ("without privacy", [""]),
        pytest.param("privfit", ["0.1", "0.5", "1", "4"], marks=pytest.mark.slow),
    ],
)
def test_a_run_goes_on_where_it_stopped_and_replaces_rows_if_asked(
    comparison, toy, monkeypatch, tmp_path, capsys, learner, epsilons
):
    options = ("--csv", tmp_path / "rows.csv", "--learners", learner, "--splits", 1)
    started(comparison, monkeypatch, *options)
    first = comparison.rows.read(tmp_path / "rows.csv")
    assert [(cell.learner, cell.epsilon, cell.split) for cell in first] == [(learner, e, 0) for e in epsilons]
    assert all(0.0 <= row.auc <= 1.0 and row.seconds >= 0.0 for row in first.values())
    assert {row.version.split()[0] for row in first.values()} <= {"privfit", "scikit-learn"}
    capsys.readouterr()
    started(comparison, monkeypatch, *options)
    assert not capsys.readouterr().out
    assert comparison.rows.read(tmp_path / "rows.csv") == first
    started(comparison, monkeypatch, *options, "--again", learner)
    assert capsys.readouterr().out.count("\n") == len(epsilons)
    assert comparison.rows.read(tmp_path / "rows.csv").keys() == first.keys()


def test_a_calibration_error_is_the_mean_gap_of_bins(comparison):
    error = comparison.measures.calibration_error
    stated = np.array([0.05, 0.05, 0.95, 0.95])
    assert error(stated, np.array([0, 0, 1, 1])) == pytest.approx(0.05)
    assert error(stated, np.array([1, 1, 0, 0])) == pytest.approx(0.95)
    assert error(np.full(4, 0.25), np.array([1, 0, 0, 0])) == 0.0
    assert error(np.array([1.0]), np.array([1])) == 0.0  # 1 is in the last bin


def test_scores_of_classes_and_numbers_have_their_usual_values(comparison):
    found = comparison.measures.of_classes(np.array([0, 1]), np.array([[0.9, 0.1], [0.8, 0.2]]))
    assert found["score"] == 0.5
    assert found["auc"] == 1.0
    assert found["log_loss"] == pytest.approx(-(np.log(0.9) + np.log(0.2)) / 2)
    sure = comparison.measures.of_classes(np.array([0, 1, 2]), np.eye(3)[[1, 1, 2]])
    assert sure["log_loss"] == pytest.approx(-np.log(1e-6) / 3)
    numbers = comparison.measures.of_numbers(np.array([0.0, 10.0]), np.array([-5.0, 99.0]), (0.0, 10.0))
    assert numbers == {"score": 1.0}


def rows_of(comparison, values):
    """Rows of Adult at epsilon 1 with these AUCs: learner, setting, and one number for each split."""
    return {
        comparison.rows.Cell("adult", learner, setting, "1", split): comparison.rows.Row(
            "1.0", 0.8, auc, 0.4, 0.02, 1.0
        )
        for (learner, setting), aucs in values.items()
        for split, auc in enumerate(aucs)
    }


def test_opacus_best_setting_is_chosen_on_the_splits_that_all_settings_have(comparison):
    results = comparison.results.Results(
        rows_of(
            comparison,
            {
                ("Opacus", "fixed"): [0.80, 0.80, 0.99],
                ("Opacus, grid", "slow"): [0.70, 0.70],
                ("Opacus, grid", "fast"): [0.83, 0.81],
            },
        )
    )
    place = comparison.results.Place("adult", "1", "Opacus", "auc")
    assert results.mean(place) == pytest.approx(0.8633, abs=1e-4)
    assert results.values(place._replace(learner=comparison.results.BEST)) == {0: 0.83, 1: 0.81}


def shown(table):
    """Return a table with ordinary spaces."""
    return table.replace("\N{NO-BREAK SPACE}", " ")


def test_losses_are_listed_and_counted(comparison):
    values = {("privfit", ""): [0.90, 0.90, 0.90], ("DP-EBM", ""): [0.92, 0.921, 0.919]}
    values["privfit, curves", ""] = [0.92, 0.921, 0.919]
    results = comparison.results.Results(rows_of(comparison, values))
    line = "| adult | 1 | AUC | DP-EBM | .920 | .900 | .020 ± .001 | .920 |  |"
    assert line in comparison.page.losses(results)
    assert "| AUC | DP-EBM | 0 / 0 / 1 |" in shown(comparison.page.tally(results))
    values["DP-EBM", ""] = [0.80, 0.90, 1.02]  # ahead on average, by luck
    results = comparison.results.Results(rows_of(comparison, values))
    assert "(uncertain)" in comparison.page.losses(results)
    assert "| AUC | DP-EBM | 0 / 1 / 0 |" in shown(comparison.page.tally(results))


def test_the_page_and_the_charts_are_made_of_the_published_rows(comparison):
    page = comparison.page.PAGE.read_text()
    results = comparison.results.Results(comparison.rows.read())
    assert {mark[1] for mark in comparison.page.MARK.findall(page)} == set(comparison.page.PARTS)
    assert comparison.page.filled(page, results) == page, "run `make compare`"
    for name in comparison.pictures.CHARTS:
        assert comparison.pictures.digest() in (comparison.pictures.FOLDER / name).read_text()


def test_every_learner_was_run_on_the_tables_splits_and_budgets_that_the_page_says(comparison):
    published = comparison.rows.read()
    wanted = {
        cell
        for learner in comparison.learners.LEARNERS
        for name in learner.tables
        if learner.takes(comparison.tables.OTHER_TARGETS.get(name, comparison.tables.TWO_CLASSES))
        for cell in comparison.main.cells(learner, name, learner.splits)
    }
    assert published.keys() == wanted
    ours = {row.version for cell, row in published.items() if cell.learner.startswith("privfit")}
    assert len(ours) == 1  # one state of the code, which the column names
