"""A run in real processes: tiny, killed, interrupted, and resumed."""

import csv
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from privfit.cli import app
from privfit.experiments.designs import EXPERIMENTS, Cell
from privfit.experiments.designs import SEED as SEED_OF_PAPER
from privfit.experiments.fit import Outcome
from privfit.experiments.provenance import read
from privfit.experiments.results import Results
from privfit.experiments.run import _check_size, run

SEED = 5
# With few splits DP-AGD takes few steps, so that a cell takes a tenth of a second.
CELLS = [
    Cell("splits", "adult", "logistic", "dpagd", epsilon, 6.0, repetition, fold)
    for repetition in range(2)
    for fold in range(2)
    for epsilon in (0.1, 0.4, 0.8)
]
PROGRAM = """
if __name__ == "__main__":
    import sys
    from pathlib import Path
    from rich.console import Console
    from test_run import CELLS, SEED
    from privfit.experiments.run import run
    try:
        run(CELLS, Path(sys.argv[1]), seed=SEED, jobs=2, console=Console(stderr=True))
    except KeyboardInterrupt:
        sys.exit(130)
"""


def start(tmp_path, out):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    return subprocess.Popen(
        [sys.executable, program, out],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish_some(process, out, rows=3):
    """Wait until some cells are finished, but not all."""
    while not (out / "splits.csv").exists() or (out / "splits.csv").read_bytes().count(b"\n") <= rows:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)


def results(out):
    with (out / "splits.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        del row["seconds"]
    return sorted(rows, key=lambda row: list(row.items()))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    out = tmp_path_factory.mktemp("uninterrupted")
    assert run(CELLS, out, seed=SEED, jobs=1, console=Console(quiet=True)) == {}
    return results(out)


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was_and_ends_the_same(tmp_path, uninterrupted):
    out = tmp_path / "results"
    killed = start(tmp_path, out)
    finish_some(killed, out)
    killed.kill()
    killed.communicate(timeout=30)  # stderr ends when the last worker, who holds it too, has ended
    before = (out / "splits.csv").read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    assert 3 <= whole.count(b"\n") - 1 < len(CELLS)
    (out / "splits.csv").write_bytes(whole + b"splits,adult,logi")  # as a kill within a write would leave it

    assert run(CELLS, out, seed=SEED, jobs=2, console=Console(quiet=True)) == {}
    after = (out / "splits.csv").read_bytes()
    assert after.startswith(whole)
    assert after.count(b"\n") == 1 + len(CELLS)
    assert results(out) == uninterrupted


@pytest.mark.slow
def test_ctrl_c_keeps_the_cells_in_progress(tmp_path):
    out = tmp_path / "results"
    process = start(tmp_path, out)
    finish_some(process, out, rows=1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, messages = process.communicate(timeout=60)  # returns when the workers have ended as well
    assert process.returncode == 130
    assert "Stopping after the cells in progress" in messages
    assert "Failed" not in messages
    assert "Traceback" not in messages
    content = (out / "splits.csv").read_bytes()
    assert content.endswith(b"\n")
    assert content.count(b"\n") - 1 < len(CELLS)


@pytest.mark.slow
def test_a_cell_that_fails_is_named_and_not_finished(tmp_path, capsys):
    good, bad = CELLS[0]._replace(algorithm="majority", value=None), CELLS[0]._replace(value=-1.0)
    failed = run([bad, good], tmp_path, seed=SEED, jobs=1, console=Console(stderr=True, width=500))
    assert list(failed) == [bad]
    assert "value -1.0, repetition 0, fold 0: ValueError: DPAGD needs a posi" in capsys.readouterr().err
    assert list(Results(tmp_path / "splits.csv", SEED).finished()) == [good]


@pytest.mark.slow
def test_reproduce_from_the_command_line(tmp_path, monkeypatch):
    tiny = replace(EXPERIMENTS["splits"], epsilons=(0.1,), values=(6.0,))
    monkeypatch.setitem(EXPERIMENTS, "splits", tiny)
    result = CliRunner().invoke(
        app, ["reproduce", "splits", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    )
    assert result.exit_code == 0, result.output
    assert len(results(tmp_path)) == 10
    for name in ("splits.png", "splits.svg"):
        assert (tmp_path / name).stat().st_size > 5000
    page = (tmp_path / "summary.md").read_text()
    assert "10 fits, 1 x 5-fold" in page
    assert len(read(tmp_path)) == 1
    assert (tmp_path / "environment.txt").exists()
    (row, *_) = Results(tmp_path / "splits.csv", SEED_OF_PAPER).finished().values()
    assert row.records == 39_073
    for name in ("DP-AGD", "DP-AGD, steps up to 2"):
        assert f"| {name}, ε = 0.1 | 0." in page


@pytest.mark.slow
def test_a_smoke_test_runs_on_few_records_in_a_directory_of_its_own_and_anew(tmp_path):
    stale = tmp_path / "smoke" / "splits.csv"
    stale.parent.mkdir()
    stale.write_text("what an earlier version left\n")
    arguments = ["reproduce", "splits", "--smoke", "--jobs", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert [path.name for path in tmp_path.iterdir()] == ["smoke"]
    rows = Results(stale, SEED_OF_PAPER).finished()
    assert {cell.algorithm for cell in rows} == set(EXPERIMENTS["splits"].algorithms)
    assert {(cell.epsilon, cell.value, cell.fold) for cell in rows} == {(0.4, 20.0, 0)}
    assert {outcome.records for outcome in rows.values()} == {3_200}


def test_fits_of_the_full_kddcup99_are_not_put_beside_those_of_a_tenth():
    cell = next(EXPERIMENTS["kddcup99"].cells(1))
    finished = {cell: Outcome(0.9, 0.1, 1.0, 10, 395_216)}
    _check_size("kddcup99", 494_021, finished)
    _check_size("adult", 48_842, finished)
    with pytest.raises(
        ValueError, match="on 395,216 records and the table here has 4,898,431: give another dir"
    ):
        _check_size("kddcup99", 4_898_431, finished)
