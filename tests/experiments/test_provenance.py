import dataclasses
import json
import platform
import re
import socket
from pathlib import Path

import pytest
from rich.console import Console

from privfit.experiments import adoption, environment, fingerprints, provenance, summary
from privfit.experiments.adoption import KINKED, adopt, agree
from privfit.experiments.cells import ALGORITHMS, SEED, Cell
from privfit.experiments.fingerprints import fingerprint
from privfit.experiments.fit import Outcome, fit_cell
from privfit.experiments.provenance import begin, drop, present, read, record, this_run, unfit
from privfit.experiments.results import Results
from privfit.experiments.summary import summarise
from privfit.solvers import DPAGD

RESULTS = Path(__file__).parents[2] / "results"
CELL = Cell("splits", "adult", "logistic", "dpagd", 0.4, 6.0, 0, 0)
MAJORITY = Cell("svm", "adult", "hinge", "majority", float("inf"), None, 0, 0)
OUTCOME = Outcome(0.75, 0.5, 1.0, 10, 39_073)


def write(out, *cells, outcome=OUTCOME, seed=1):
    for cell in cells:
        results = Results(out / f"{cell.experiment}.csv", seed)
        with results.appending():
            results.append(cell, outcome)


def another_version(monkeypatch, *changed):
    """Let some algorithms compute something else from now on."""
    real = fingerprint
    for module in (provenance, summary, adoption):
        monkeypatch.setattr(module, "fingerprint", lambda name: "changed" if name in changed else real(name))


def test_a_run_is_recorded_before_its_rows_and_goes_on_in_one_record(tmp_path):
    begin([CELL], tmp_path, seed=1)
    begin([CELL, MAJORITY], tmp_path, seed=1)
    (run,) = read(tmp_path)
    assert run.experiments == {"splits": ["dpagd"], "svm": ["majority"]}
    assert run.fingerprints == {name: fingerprint(name) for name in ("dpagd", "majority")}
    assert (run.seed, run.clock) == (1, "CPU time of one thread")
    assert run.versions["numpy"]
    begin([CELL], tmp_path, seed=2)
    assert [run.seed for run in read(tmp_path)] == [1, 2]


def test_rows_of_a_solver_that_has_changed_are_not_mixed_with_new_ones(tmp_path, monkeypatch):
    begin([CELL, MAJORITY], tmp_path, seed=1)
    write(tmp_path, CELL, MAJORITY)
    assert unfit(tmp_path, seed=1) == {}
    another_version(monkeypatch, "dpagd")
    (kind,) = unfit(tmp_path, seed=1)
    assert kind == ("splits", "dpagd")
    with pytest.raises(
        ValueError, match=r"Rows of dpagd in .*splits\.csv come from a solver whose output has ch"
    ):
        begin([CELL._replace(fold=1)], tmp_path, seed=1)
    begin([MAJORITY._replace(fold=1)], tmp_path, seed=1)
    assert (
        "**Outdated:** not known to come from this version are the rows of dpagd in splits.csv."
        in summarise(tmp_path, 1)
    )


def test_replacing_drops_outdated_rows_and_nothing_else(tmp_path, monkeypatch):
    begin([CELL, MAJORITY], tmp_path, seed=1)
    write(tmp_path, CELL, CELL._replace(fold=1), MAJORITY)
    write(tmp_path, CELL, seed=2)
    another_version(monkeypatch, "dpagd")
    drop(tmp_path, 1, unfit(tmp_path, seed=1))
    assert present(tmp_path, seed=1) == [("svm", "majority")]
    assert list(Results(tmp_path / "splits.csv", seed=2).finished()) == [CELL]
    (run,) = read(tmp_path)
    assert run.experiments == {"svm": ["majority"]}
    begin([CELL], tmp_path, seed=1)
    assert unfit(tmp_path, seed=1) == {}


def test_rows_without_a_record_are_adopted_only_if_they_can_be_computed_again(tmp_path):
    write(tmp_path, CELL, outcome=fit_cell(CELL, 1))
    write(tmp_path, MAJORITY, outcome=fit_cell(MAJORITY, 1)._replace(objective=0.4))
    with pytest.raises(ValueError, match="are in no record of a run"):
        begin([CELL._replace(fold=1)], tmp_path, seed=1)
    with pytest.raises(
        ValueError, match=r"other rows than there are of majority in svm\.csv; run them again"
    ):
        adopt(tmp_path, seed=1, console=Console(quiet=True))
    assert list(unfit(tmp_path, seed=1)) == [("svm", "majority")]
    (run,) = read(tmp_path)
    assert "adopted" in run.clock


def test_fits_are_the_same_if_all_but_their_time_is():
    assert agree(CELL, OUTCOME, OUTCOME._replace(objective=0.5 * (1 + 1e-7), seconds=7.0))
    assert not agree(CELL, OUTCOME, OUTCOME._replace(objective=0.5 * (1 + 4e-6)))
    assert not agree(CELL, OUTCOME, OUTCOME._replace(accuracy=OUTCOME.accuracy + 1e-4))
    assert not agree(CELL, OUTCOME, OUTCOME._replace(steps=11))


def test_a_minimiser_of_the_hinge_may_stop_elsewhere_on_another_processor():
    reference = MAJORITY._replace(algorithm="nonprivate", loss="hinge")
    elsewhere = OUTCOME._replace(objective=0.5 * (1 + 2e-3), accuracy=OUTCOME.accuracy + 3e-4, steps=11)
    assert agree(reference, OUTCOME, elsewhere)
    assert not agree(reference._replace(loss="logistic"), OUTCOME, elsewhere)
    assert not agree(reference._replace(algorithm="objective-perturbation"), OUTCOME, elsewhere)
    assert not agree(reference, OUTCOME, OUTCOME._replace(objective=0.5 * 1.02))
    assert not agree(reference, OUTCOME, OUTCOME._replace(records=OUTCOME.records + 1))
    assert set(KINKED) < set(ALGORITHMS)


def test_rows_of_another_directory_are_taken_over_with_their_record(tmp_path):
    here, there, unrecorded = tmp_path / "here", tmp_path / "there", tmp_path / "unrecorded"
    begin([CELL], here, seed=1)
    write(here, CELL)
    begin([CELL, MAJORITY], there, seed=1)
    write(there, CELL, CELL._replace(fold=1), MAJORITY)
    console = Console(quiet=True)
    adopt(here, seed=1, console=console, source=there)
    assert set(Results(here / "splits.csv", 1).finished()) == {CELL, CELL._replace(fold=1)}
    assert unfit(here, seed=1) == {}
    (run,) = read(here)
    assert run.experiments == {"splits": ["dpagd"], "svm": ["majority"]}

    second, third = MAJORITY._replace(fold=1), CELL._replace(fold=2)
    write(unrecorded, second, outcome=fit_cell(second, 1))
    write(unrecorded, third)  # which is not what comes out
    with pytest.raises(
        ValueError, match=r"other rows than there are of dpagd in splits\.csv; run them again"
    ):
        adopt(here, seed=1, console=console, source=unrecorded)
    assert second in Results(here / "svm.csv", 1).finished()
    assert third not in Results(here / "splits.csv", 1).finished()
    assert len(read(here)) == 2


def test_rows_of_a_version_that_differs_are_not_taken_over(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    begin([MAJORITY], there, seed=1)
    write(there, MAJORITY)
    another_version(monkeypatch, "majority")
    begin([MAJORITY], here, seed=1)
    with pytest.raises(ValueError, match=r"other rows than there are of majority in svm\.csv"):
        adopt(here, seed=1, console=Console(quiet=True), source=there)
    assert not (here / "svm.csv").exists()


def test_a_damaged_record_is_named(tmp_path):
    (tmp_path / "provenance.json").write_text("[{]")
    with pytest.raises(ValueError, match=r"provenance\.json is damaged; restore it, or delete it"):
        read(tmp_path)


@pytest.mark.slow
def test_a_fingerprint_changes_with_the_solver_and_not_with_the_last_bits(monkeypatch):
    assert fingerprint.__wrapped__("dpagd") == fingerprint("dpagd")
    defaults = DPAGD.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "gamma", 0.1 * (1 + 1e-13))
    assert fingerprint.__wrapped__("dpagd") == fingerprint("dpagd")
    monkeypatch.setitem(defaults, "gamma", 0.11)
    assert fingerprint.__wrapped__("dpagd") != fingerprint("dpagd")


@pytest.mark.parametrize("affected", [lambda epsilon: epsilon < 0.5, lambda epsilon: epsilon > 5.0])
def test_a_fingerprint_notices_a_change_for_small_or_ample_budgets_alone(monkeypatch, affected):
    before, shares = fingerprint("dpagd"), DPAGD.shares

    def changed(self, curator):
        rho_ng, rho_nmax = shares(self, curator)
        return (2 * rho_ng if affected(curator.epsilon) else rho_ng), rho_nmax

    monkeypatch.setattr(DPAGD, "shares", changed)
    assert fingerprint.__wrapped__("dpagd") != before


def test_a_fingerprint_notices_a_change_of_batches_alone(monkeypatch):
    before = fingerprint("dpagd")
    monkeypatch.setattr(fingerprints, "BATCH", 900)
    assert fingerprint.__wrapped__("dpagd") != before
    assert fingerprint.__wrapped__("sgd-adv") == fingerprint("sgd-adv")


def test_a_record_names_the_processor_and_no_machine_or_path(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "node", lambda: "a-secret-name")
    monkeypatch.setattr(socket, "gethostname", lambda: "a-secret-name")
    run = this_run([("svm", "majority")], 1)
    text = json.dumps(dataclasses.asdict(run))
    assert re.fullmatch(r"[0-9a-f]{10}( with changes)?|privfit \S+", run.commit)
    assert re.search(r", \d+ cores$", run.machine)
    for secret in ("a-secret-name", str(Path.home()), str(Path(__file__).parents[2])):
        assert secret not in text
    record(tmp_path, run)
    page = summarise(tmp_path, 1)
    assert run.commit in page
    assert run.machine.split(",")[0].split()[0] in page
    assert f"numpy {run.versions['numpy']}" in page.replace("\n  ", " ")


def test_the_lock_file_pins_what_is_imported_and_what_that_needs():
    lines = environment.lock().splitlines()
    pinned = dict(line.split("==") for line in lines[1:])
    assert lines[0].startswith("# Python 3.")
    assert {"numpy", "scipy", "numba", "llvmlite", "scikit-learn", "matplotlib", "pillow", "typer"} <= set(
        pinned
    )
    assert not {"privfit", "pytest", "ruff"} & set(pinned)
    assert pinned["numpy"] == environment.versions()["numpy"]


@pytest.mark.slow
def test_published_rows_come_from_this_version_or_the_summary_says_which_do_not():
    """A change to a solver's output fails here until its rows are run again or are declared outdated."""
    outdated = {f"{algorithm} in {name}.csv": why for (name, algorithm), why in unfit(RESULTS, SEED).items()}
    summary = (RESULTS / "summary.md").read_text()
    page = summary.replace("\n", " ")
    declared = re.search(
        r"\*\*Outdated:\*\* not known to come from this version are the rows of (.*?csv)\.\s", page
    )
    assert set(outdated) == set(declared[1].split(", ") if declared else ()), (
        "run them again (`privfit reproduce all --replace --algorithm NAME`), or let the summary say which "
        f"are outdated (`privfit reproduce summary`): {outdated}"
    )
    assert summarise(RESULTS, SEED) == summary, "run `privfit reproduce summary`"


def test_published_rows_are_of_known_algorithms_and_the_lock_file_is_there():
    assert {algorithm for _, algorithm in present(RESULTS, SEED)} <= set(ALGORITHMS)
    assert (RESULTS / environment.LOCK_FILE).read_text().startswith("# Python 3.")


def test_a_fingerprint_notices_a_change_that_ample_budgets_alone_show(monkeypatch):
    before, other = fingerprint("adaptive"), fingerprint("gradient-descent")
    monkeypatch.setattr("privfit.solvers.descent.MOMENTUM_GROWTH", 0.3)
    assert fingerprint.__wrapped__("adaptive") != before
    assert fingerprint.__wrapped__("gradient-descent") == other
