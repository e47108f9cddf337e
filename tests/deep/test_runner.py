"""The runner of deep tests: it goes on where it stopped, and its table says what became of each test."""

from dataclasses import replace
from pathlib import Path

import pytest
import run

ROW = run.Row("a.py::one", "passed", "300", "12", "2026-11-17T09:00Z", "0.1.0", "abc1234", "now")
SOURCES = {"a.py::one": "now", "a.py::two": "now", "b.py::three": "now"}
TESTS = list(SOURCES)


def test_what_was_never_run_comes_first_and_then_what_has_waited_longest():
    rows = {
        "a.py::one": replace(ROW, sources="before", date="2026-11-17T10:00Z"),
        "a.py::two": replace(ROW, sources="before", date="2026-11-17T09:00Z"),
    }
    assert run.due(TESTS, rows, SOURCES, again=False) == ["b.py::three", "a.py::two", "a.py::one"]


@pytest.mark.parametrize(
    ("row", "is_due"),
    [
        (ROW, False),
        (replace(ROW, sources="before"), True),
        (replace(ROW, outcome="failed"), True),
        (replace(ROW, outcome="skipped"), True),
    ],
)
def test_only_what_passed_with_the_present_sources_is_not_run_again(row, is_due):
    rows = {ROW.test: row}
    assert (ROW.test in run.due(TESTS, rows, SOURCES, again=False)) == is_due
    assert ROW.test in run.due(TESTS, rows, SOURCES, again=True)


def test_rows_are_read_as_they_were_written(tmp_path):
    rows = {name: replace(ROW, test=name) for name in ("b.py::x[a,b]", 'a.py::y["]')}
    run.write(tmp_path / "results.csv", rows)
    assert run.read(tmp_path / "results.csv") == rows
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]
    assert run.read(tmp_path / "none.csv") == {}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Let the runner find three deep tests and keep its table elsewhere."""
    monkeypatch.setattr(run, "RESULTS", tmp_path / "results.csv")
    monkeypatch.setattr(run, "collect", lambda selection: TESTS)
    monkeypatch.setattr(run, "sources_of", SOURCES.get)
    monkeypatch.setattr("sys.argv", ["run.py"])


@pytest.mark.usefixtures("project")
def test_a_stopped_run_goes_on_with_the_test_that_it_was_stopped_in(monkeypatch, capsys):
    ran = []

    def stopped_in_the_second(test):
        ran.append(test)
        if len(ran) == 2:
            raise KeyboardInterrupt
        return ("failed" if test == "b.py::three" else "passed"), "", 3.0

    monkeypatch.setattr(run, "run", stopped_in_the_second)
    with pytest.raises(SystemExit, match="goes on with this test"):
        run.main()
    with pytest.raises(SystemExit, match="1 deep tests failed"):
        run.main()
    assert ran == ["a.py::one", "a.py::two", "a.py::two", "b.py::three"]
    rows = run.read(run.RESULTS)
    assert [rows[test].outcome for test in TESTS] == ["passed", "passed", "failed"]
    assert "3 deep tests, 2 of them due" in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_rows_of_another_run_are_kept_and_those_of_tests_that_are_gone_are_not(monkeypatch):
    def passed_elsewhere(test):
        if run.RESULTS.exists():
            raise KeyboardInterrupt
        rows = [replace(ROW, test=name) for name in ("b.py::three", "gone.py::four")]
        run.write(run.RESULTS, {row.test: row for row in rows})
        return "passed", "", 3.0

    monkeypatch.setattr(run, "run", passed_elsewhere)
    with pytest.raises(SystemExit):
        run.main()
    assert list(run.read(run.RESULTS)) == ["a.py::one", "b.py::three"]


DEEP = """
import pytest

@pytest.mark.deep
def test_good(record_property): record_property("cases", 7)

@pytest.mark.deep
def test_bad(): assert False

@pytest.mark.deep
def test_elsewhere(): pytest.skip("no server")

def test_plain(): pass
"""


@pytest.mark.slow
def test_deep_tests_are_found_run_and_told_apart(tmp_path, monkeypatch):
    """With a project of one test file and the conftest of this one."""
    real = Path(__file__).parents[1]
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "LOGS", tmp_path / ".deep")
    monkeypatch.setenv("PYTHONPATH", str(real), prepend=":")
    (tmp_path / "conftest.py").write_text((real / "conftest.py").read_text())
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(DEEP)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  deep: x\n")
    tests = run.collect([])
    assert tests == [f"tests/test_it.py::test_{name}" for name in ("good", "bad", "elsewhere")]
    assert run.collect(["-k", "good"]) == tests[:1]
    assert [run.run(test)[:2] for test in tests] == [("passed", "7"), ("failed", ""), ("skipped", "")]
    assert [path.name for path in run.LOGS.iterdir()] == ["tests-test_it.py-test_bad.log"]
