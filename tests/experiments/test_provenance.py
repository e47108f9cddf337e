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
from privfit.experiments.designs import ALGORITHMS, EXPERIMENTS, SEED, Cell
from privfit.experiments.fingerprints import fingerprint
from privfit.experiments.fit import Outcome
from privfit.experiments.provenance import (
    FINGERPRINTS,
    begin,
    is_outdated,
    present,
    read,
    record,
    stamped,
    this_run,
    unfit,
    write_fingerprints,
)
from privfit.experiments.results import Results
from privfit.experiments.run import run
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


def ours(algorithm):
    """An outcome that carries the fingerprint of this version."""
    return OUTCOME._replace(fingerprint=fingerprint(algorithm))


def another_version(monkeypatch, *changed):
    """Let some algorithms compute something else from now on."""
    real = fingerprint
    for module in (provenance, summary, adoption):
        monkeypatch.setattr(module, "fingerprint", lambda name: "changed" if name in changed else real(name))


def test_a_run_is_recorded_before_its_rows_and_goes_on_in_one_record(tmp_path):
    begin([CELL], tmp_path, seed=1)
    begin([CELL, MAJORITY], tmp_path, seed=1)
    (only,) = read(tmp_path)
    assert only.experiments == {"splits": ["dpagd"], "svm": ["majority"]}
    assert only.fingerprints == {name: fingerprint(name) for name in ("dpagd", "majority")}
    assert (only.seed, only.clock) == (1, "CPU time of one thread")
    assert only.versions["numpy"]
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
        ValueError, match=r"Rows of dpagd in .*splits\.csv come from a version of the algorithm"
    ):
        begin([CELL._replace(fold=1)], tmp_path, seed=1)
    begin([MAJORITY._replace(fold=1)], tmp_path, seed=1)
    assert (
        "**Outdated:** not known to come from this version are the rows of dpagd in splits.csv."
        in summarise(tmp_path, 1)
    )


def test_outdated_rows_are_replaced_one_by_one_and_stand_until_then(tmp_path):
    """What is not run again stays and is called outdated, and what is already this version's is not run."""
    outdated = OUTCOME._replace(fingerprint="of another")
    first, second, whole = (MAJORITY._replace(fold=fold) for fold in range(3))
    record(tmp_path, dataclasses.replace(this_run([("svm", "majority")], 1), fingerprints={"majority": "x"}))
    write(tmp_path, first, second, outcome=outdated)
    write(tmp_path, whole, outcome=ours("majority"))
    write(tmp_path, CELL)
    write(tmp_path, first, outcome=outdated, seed=2)
    how = {"seed": 1, "jobs": 1, "console": Console(quiet=True)}
    with pytest.raises(ValueError, match="come from 2 versions"):
        run([MAJORITY._replace(fold=3)], tmp_path, **how)
    assert run([first, whole], tmp_path, **how, replace=True) == {}
    rows = Results(tmp_path / "svm.csv", 1).finished()
    assert list(rows) == [first, second, whole]
    assert rows[first].fingerprint == fingerprint("majority")
    assert (rows[second], rows[whole]) == (outdated, ours("majority"))
    assert list(unfit(tmp_path, seed=1)) == [("splits", "dpagd"), ("svm", "majority")]
    assert run([first, second, whole], tmp_path, **how, replace=True) == {}
    assert list(unfit(tmp_path, seed=1)) == [("splits", "dpagd")]
    assert Results(tmp_path / "svm.csv", 2).finished() == {first: outdated}
    assert [run.fingerprints["majority"] for run in read(tmp_path)] == [fingerprint("majority")]


def test_rows_without_a_fingerprint_are_not_taken_for_this_versions(tmp_path):
    write(tmp_path, CELL)
    assert unfit(tmp_path, seed=1) == {
        ("splits", "dpagd"): "carry no fingerprint, and no record of a run has one for them"
    }
    with pytest.raises(ValueError, match="carry no fingerprint"):
        begin([CELL._replace(fold=1)], tmp_path, seed=1)


def test_a_recent_run_does_not_hide_the_rows_of_an_older_version(tmp_path, monkeypatch):
    """The record has two versions for a kind of rows: older rows stay outdated beside those of this one."""
    another_version(monkeypatch, "dpagd")
    record(tmp_path, this_run([("splits", "dpagd")], 1))
    monkeypatch.undo()
    record(tmp_path, this_run([("splits", "dpagd")], 1))
    write(tmp_path, CELL)
    assert unfit(tmp_path, seed=1) == {
        ("splits", "dpagd"): "come from 2 versions of the algorithm whose outputs differ"
    }
    write(tmp_path, CELL, outcome=ours("dpagd"))
    assert unfit(tmp_path, seed=1) == {}
    write(tmp_path, CELL._replace(fold=1), outcome=OUTCOME._replace(fingerprint="of another"))
    assert list(unfit(tmp_path, seed=1)) == [("splits", "dpagd")]


def test_a_run_stamps_its_rows(tmp_path):
    console = Console(quiet=True)
    assert run([MAJORITY], tmp_path, seed=1, jobs=1, console=console) == {}
    (outcome,) = Results(tmp_path / "svm.csv", 1).finished().values()
    assert outcome.fingerprint == fingerprint("majority")
    assert unfit(tmp_path, seed=1) == {}


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
    here, there = tmp_path / "here", tmp_path / "there"
    begin([CELL], here, seed=1)
    write(here, CELL, outcome=ours("dpagd"))
    begin([CELL, MAJORITY], there, seed=1)
    write(there, CELL, CELL._replace(fold=1), outcome=ours("dpagd"))
    write(there, MAJORITY, outcome=ours("majority"))
    console = Console(quiet=True)
    adopt(here, source=there, seed=1, console=console)
    assert set(Results(here / "splits.csv", 1).finished()) == {CELL, CELL._replace(fold=1)}
    assert unfit(here, seed=1) == {}
    (only,) = read(here)
    assert only.experiments == {"splits": ["dpagd"], "svm": ["majority"]}


def test_no_row_is_adopted_without_the_fingerprint_of_this_version(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    second, third = CELL._replace(fold=1), CELL._replace(fold=2)
    begin([CELL], there, seed=1)
    write(there, CELL, outcome=ours("dpagd"))
    write(there, second)  # an earlier version's, without a fingerprint
    write(there, third, outcome=OUTCOME._replace(fingerprint="of another"))
    with pytest.raises(ValueError, match=r"were not taken: 2 of dpagd in splits\.csv; run them again"):
        adopt(here, source=there, seed=1, console=Console(quiet=True))
    assert list(Results(here / "splits.csv", 1).finished()) == [CELL]


def test_rows_are_not_adopted_beside_those_of_a_version_that_differs(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    write(here, CELL)
    write(there, CELL._replace(fold=1), outcome=ours("dpagd"))
    with pytest.raises(ValueError, match=r"were not taken: 1 of dpagd in splits\.csv"):
        adopt(here, source=there, seed=1, console=Console(quiet=True))
    assert list(Results(here / "splits.csv", 1).finished()) == [CELL]


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
    current = {
        algorithm: fingerprint(algorithm) for algorithm in sorted({a for _, a in present(RESULTS, SEED)})
    }
    assert json.loads((RESULTS / FINGERPRINTS).read_text()) == current, "run `privfit reproduce summary`"


def test_a_row_is_outdated_if_its_kind_is_for_that_row():
    """The rule for rows and the rule for kinds of rows agree on the published rows."""
    rule = is_outdated(RESULTS, SEED)
    kinds = {kind for kind, stamps in stamped(RESULTS, SEED).items() if any(rule(kind, s) for s in stamps)}
    page = (RESULTS / "summary.md").read_text().replace("\n", " ")
    declared = re.search(r"are the rows of (.*?csv)\.\s", page)
    assert {f"{algorithm} in {name}.csv" for name, algorithm in kinds} == set(declared[1].split(", "))


def test_rows_without_a_fingerprint_are_of_this_version_if_the_record_has_no_other(tmp_path, monkeypatch):
    assert is_outdated(tmp_path, 1) is None  # nobody wrote down what is current
    write(tmp_path, MAJORITY)
    write_fingerprints(tmp_path, 1)
    kind, digits = ("svm", "majority"), fingerprint("majority")
    assert json.loads((tmp_path / FINGERPRINTS).read_text()) == {"majority": digits}
    assert is_outdated(tmp_path, 1)(kind, "")  # there is no record
    record(tmp_path, this_run([kind], 1))
    rule = is_outdated(tmp_path, 1)
    assert [rule(kind, stamp) for stamp in ("", digits, "of another")] == [False, False, True]
    assert is_outdated(tmp_path, 2)(kind, "")  # of another seed
    another_version(monkeypatch, "majority")
    record(tmp_path, this_run([kind], 1))
    rule = is_outdated(tmp_path, 1)
    assert [rule(kind, stamp) for stamp in ("", digits, "changed")] == [True, False, True]
    write_fingerprints(tmp_path, 1)
    rule = is_outdated(tmp_path, 1)
    assert [rule(kind, stamp) for stamp in ("", digits, "changed")] == [True, True, False]


def test_published_rows_are_of_known_algorithms_and_the_lock_file_is_there():
    for name, algorithm in present(RESULTS, SEED):
        assert algorithm in EXPERIMENTS[name].algorithms
    assert (RESULTS / environment.LOCK_FILE).read_text().startswith("# Python 3.")


def test_a_fingerprint_notices_a_change_that_ample_budgets_alone_show(monkeypatch):
    before, other = fingerprint("adaptive"), fingerprint("gradient-descent")
    monkeypatch.setattr("privfit.solvers.descent.MOMENTUM_GROWTH", 0.3)
    assert fingerprint.__wrapped__("adaptive") != before
    assert fingerprint.__wrapped__("gradient-descent") == other
