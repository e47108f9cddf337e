"""Solvers reach the records through the curator's public questions alone, as their source shows."""

import ast
from pathlib import Path

import pytest

SOLVERS = sorted((Path(__file__).parents[1] / "src" / "privfit" / "solvers").glob("*.py"))
REFLECTION = {
    "__dict__",
    "__getattribute__",
    "__getstate__",
    "__reduce__",
    "attrgetter",
    "delattr",
    "eval",
    "exec",
    "gc",
    "globals",
    "inspect",
    "locals",
    "methodcaller",
    "vars",
}


def trespasses(source: str) -> list[str]:
    """Return what in this source could reach behind a public interface, with its line.

    Allowed are methods of `self` with an underscore that the same file defines, and `getattr` of a solver.
    """
    tree = ast.parse(source)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Name | ast.Call | ast.alias) and _trespasses(node, own)
    ]


def _trespasses(node: ast.AST, own: set[str]) -> bool:
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr", "hasattr")
        return named and not _is_configuration(node.args[0])
    if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not _is_dunder(node.attr):
        return not (_is_self(node.value) and node.attr in own)
    name = {ast.Attribute: "attr", ast.Name: "id", ast.alias: "name"}[type(node)]
    return getattr(node, name) in REFLECTION


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_configuration(node: ast.expr) -> bool:
    """Tell whether it is a solver, which holds settings and no curator."""
    return isinstance(node, ast.Name) and node.id in ("self", "solver")


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def test_the_door_is_small_enough_to_be_read_at_once():
    assert len((SOLVERS[0].parents[1] / "curator.py").read_text().splitlines()) < 250


@pytest.mark.parametrize("path", SOLVERS, ids=lambda path: path.name)
def test_solvers_touch_nothing_that_is_not_public(path):
    assert trespasses(path.read_text()) == []


@pytest.mark.parametrize(
    "line",
    [
        "curator._records.n_records",
        "features.curator._noise",
        "self.features._ledger",
        "self._records",
        "curator.measure.__self__._records",
        "getattr(curator, '_records')",
        "getattr(curator, 'eng' + 'ine')",
        "vars(curator)['_records']",
        "curator.__dict__['_records']",
        "operator.attrgetter('_records')(curator)",
        "object.__getattribute__(curator, '_records')",
        "curator.__getstate__()",
        "eval('curator._records')",
        "gc.get_referents(curator)",
    ],
)
def test_ways_around_the_door_are_noticed(line):
    assert trespasses(f"def solve(self, curator):\n    return {line}\n")


def test_what_solvers_need_of_themselves_is_not_noticed():
    assert not trespasses(
        "class Solver:\n"
        "    def __post_init__(self):\n        getattr(self, 'steps'), super().__post_init__()\n"
        "    def solve(self, curator):\n        return self._walk(curator.n_weights)\n"
        "    def _walk(self, n):\n        return type(self).__name__\n"
    )


@pytest.mark.parametrize("path", SOLVERS, ids=lambda path: path.name)
def test_records_are_opened_without_privacy_only_by_solvers_that_promise_none(path):
    source = path.read_text()
    honest = [
        ast.unparse(node)
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and "private: ClassVar[bool] = False" in ast.unparse(node)
    ]
    asked = sum(text.count("open_without_privacy") for text in honest)
    assert asked == ast.unparse(ast.parse(source)).count("open_without_privacy")
