"""The tables of docs/comparison.md that name classes, settings and methods side by side."""

import inspect
import re
from pathlib import Path

import pytest
import sklearn.linear_model
import sklearn.svm

import privfit
import privfit.estimators
from privfit.models.registry import MODELS
from privfit.schema import Numeric

PAGE = Path(__file__).parents[1] / "docs" / "comparison.md"
SECTION = PAGE.read_text().split("## Side by side\n")[1].split("\n## ")[0]
TABLES = [
    [[cell.strip() for cell in line.split("|")[1:-1]] for line in block.splitlines()]
    for block in re.findall(r"(?:^\|.*\n)+", SECTION, re.MULTILINE)
]


def named(column, first):
    """Return the names in code font in a column of the table whose head begins with `first`."""
    (table,) = (table for table in TABLES if table[0][0] == first)
    place = table[0].index(column)
    return {name for row in table[2:] for name in re.findall(r"`([^`]+)`", row[place])}


def settings_and_methods(classes):
    for kind in classes:
        yield from inspect.signature(kind).parameters
        yield from inspect.signature(kind.fit).parameters
        yield from (name for name in dir(kind) if not name.startswith("_"))


OURS = [model.estimator for model in MODELS.values()]
THEIRS = [
    getattr(module, name)
    for module in (sklearn.linear_model, sklearn.svm)
    for name in module.__all__
    if inspect.isclass(getattr(module, name)) and hasattr(getattr(module, name), "fit")
]


def test_every_row_has_a_cell_for_every_library():
    assert [table[0][0] for table in TABLES] == ["model", "option", "method"]
    assert all(len(row) == 5 for table in TABLES for row in table)


def test_the_models_are_those_that_there_are():
    models = {name for name in privfit.__all__ if name.startswith("DP")} - {"DPSearchCV"}
    assert named("privfit", "model") == models
    assert named("scikit-learn", "model") <= {kind.__name__ for kind in THEIRS}


@pytest.mark.parametrize("table", ["option", "method"])
def test_settings_and_methods_have_these_names(table):
    schema = set(inspect.signature(Numeric).parameters)
    known = {*settings_and_methods(OURS), *schema, "privfit.metrics"}
    assert named("privfit", table) <= known
    classes = {kind.__name__ for kind in THEIRS}
    assert named("scikit-learn", table) <= {*settings_and_methods(THEIRS), *classes}


def test_every_setting_of_ours_that_is_about_the_model_is_in_the_table():
    """Those that name the privacy budget, the algorithm and what is shown are not for comparing."""
    left_out = {"epsilon", "rho", "solver", "noise", "random_state", "verbose", "n_records"}
    of_the_loss = {"quantile", "tau", "loss"}
    settings = {name for kind in OURS for name in inspect.signature(kind).parameters}
    assert settings - left_out - of_the_loss <= named("privfit", "option")
