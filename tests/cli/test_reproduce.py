import io
import math
import sys
from urllib.error import URLError

import pytest
from rich.console import Console
from typer.testing import CliRunner

from privfit.cli import app
from privfit.experiments.designs import EXPERIMENTS, SEED
from privfit.experiments.fit import Outcome
from privfit.experiments.provenance import read
from privfit.experiments.results import Results
from privfit.experiments.run import run
from privfit.experiments.table1 import read_table1

MODULE = sys.modules["privfit.cli.reproduce"]


def reproduce(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)], env={"COLUMNS": "500"})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--quick", "--full"], "Give one of --quick, --full, --repeats and --smoke."),
        (["--repeats", 0], "'--repeats'"),
        (["--jobs", "many"], "'--jobs'"),
        (["--seed", -1], "'--seed'"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(tmp_path, options, sentence):
    result = reproduce("splits", "--out", tmp_path / "new", *options)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not (tmp_path / "new").exists()


def test_without_matplotlib_it_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr(MODULE, "find_spec", lambda name: None)
    result = reproduce("splits", "--out", tmp_path / "new")
    assert result.exit_code == 2
    assert result.output == "Error: Figures need matplotlib; install it with: pip install 'privfit[report]'\n"
    assert not (tmp_path / "new").exists()


def test_a_directory_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    is_file = reproduce("splits", "--out", tmp_path / "file")
    assert is_file.exit_code == 2
    assert "is a file" in is_file.stderr
    below = reproduce("splits", "--out", tmp_path / "file" / "new")
    assert below.exit_code == 2
    assert below.output == f"Error: {tmp_path / 'file' / 'new'}: Not a directory.\n"


@pytest.mark.parametrize("what", ["kddcup99", "all"])
def test_missing_data_are_one_sentence_before_anything_runs(tmp_path, monkeypatch, what):
    monkeypatch.setenv("PRIVFIT_DATA", str(tmp_path / "nowhere"))
    result = reproduce(what, "--dataset", "kddcup99", "--out", tmp_path)
    assert result.exit_code == 2
    assert result.output.startswith("Error: KDDCup99 cannot be had: the environment variable PRIVFIT_DATA is")
    assert result.output.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_missing_data_are_an_error_although_there_are_rows_of_an_earlier_run(tmp_path, monkeypatch):
    cell = next(EXPERIMENTS["kddcup99"].cells(1))
    results = Results(tmp_path / "kddcup99.csv", SEED)
    with results.appending():
        results.append(cell, Outcome(0.9, 0.1, 1.0, 10, 395_216))
    before = results.path.read_bytes()
    monkeypatch.setenv("PRIVFIT_DATA", str(tmp_path / "nowhere"))
    assert reproduce("kddcup99", "--out", tmp_path).exit_code == 2
    assert results.path.read_bytes() == before


def test_a_data_set_that_nobody_may_pass_on_is_missed_only_if_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVFIT_DATA", str(tmp_path))
    result = reproduce("svm", "--dataset", "ipums-us", "--out", tmp_path / "new")
    assert result.exit_code == 2
    assert "IPUMS-US cannot be had: IPUMS-US.dat cannot be downloaded, because the terms" in result.stderr
    assert "dataset/IPUMS-US.dat of github.com/ppmlguy/DP-AGD" in result.stderr
    assert run([], tmp_path, seed=1, jobs=1, console=Console(quiet=True)) == {}
    us = [cell for cell in EXPERIMENTS["svm"].cells(1) if cell.dataset == "ipums-us"]
    said = io.StringIO()
    assert run(us, tmp_path, seed=1, jobs=1, console=Console(file=said, width=500)) == {}
    assert said.getvalue().startswith("IPUMS-US is left out: ")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--dataset", "aduld"], "--dataset aduld is not part of this; there are: adult."),
        (["--algorithm", "sgd-ma"], "--algorithm sgd-ma is not part of this; there are: dpagd"),
        (["--epsilon", 0.3], "--epsilon 0.3 is not part of this; there are: 0.1, 0.2, 0.4, 0.8."),
    ],
)
def test_a_filter_that_nothing_passes_is_one_sentence(tmp_path, options, sentence):
    result = reproduce("splits", "--out", tmp_path / "new", *options)
    assert result.exit_code == 2
    assert result.output.startswith(f"Error: {sentence}")
    assert result.output.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_filters_that_exclude_each_other_are_one_sentence():
    with pytest.raises(
        MODULE.Mistake, match="No experiment has all that --dataset, --algorithm and --epsilon"
    ):
        MODULE._cells(["splits", "kddcup99"], ["adult"], ["privgene"], [], 1)


def test_filters_keep_what_they_name_and_references_at_every_epsilon():
    kept = MODULE._cells(["logistic"], ["adult"], ["dpagd", "majority"], [0.1, 0.4], 1)
    assert {(c.dataset, c.algorithm, c.epsilon) for c in kept} == {
        ("adult", "dpagd", 0.1),
        ("adult", "dpagd", 0.4),
        ("adult", "majority", math.inf),
    }
    assert len(kept) == 3 * 5


def test_a_smoke_test_has_one_fit_of_everything():
    every = MODULE._cells(list(EXPERIMENTS), (), (), (), 1)
    once = MODULE._once(every, ())

    def kinds(cells):
        return [cell._replace(epsilon=0.0, value=None, fold=0) for cell in cells]

    assert set(kinds(once)) == set(kinds(every))
    assert len(once) == len(set(kinds(once)))


@pytest.mark.parametrize("what", ["adopt", "summary", "claims"])
def test_results_that_are_not_there_are_one_sentence(tmp_path, what):
    result = reproduce(what, "--out", tmp_path / "none")
    assert result.exit_code == 2
    assert result.output == f"Error: There are no results in {tmp_path / 'none'}: it is not a directory.\n"


def test_rows_are_adopted_from_a_directory_that_is_named(tmp_path):
    result = reproduce("adopt", "--out", tmp_path)
    assert result.exit_code == 2
    assert result.output.startswith("Error: `privfit reproduce adopt` needs --source, the directory whose")


def test_a_smoke_test_takes_no_rows_for_results(tmp_path):
    done = reproduce("gamma", "--smoke", "--algorithm", "dpagd", "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0
    page = (tmp_path / "smoke" / "summary.md").read_text()
    assert "Nothing on this page is a result." in page
    assert (tmp_path / "smoke" / "environment.txt").read_text().startswith("# Python 3.")
    assert not (tmp_path / "smoke" / "provenance.json").exists()


def test_repetitions_of_all_experiments_come_one_after_the_other():
    cells = MODULE._cells(["logistic", "gamma"], ["adult"], (), (), None)
    repetitions = [cell.repetition for cell in cells]
    assert repetitions == sorted(repetitions)
    assert {cell.experiment for cell in cells if cell.repetition == 0} == {"logistic", "gamma"}
    assert max(repetitions) == 19


@pytest.mark.parametrize("what", ["adopt", "summary", "claims"])
@pytest.mark.parametrize("options", [["--dataset", "adult"], ["--algorithm", "nonsense"], ["--smoke"]])
def test_what_runs_nothing_takes_no_filter(tmp_path, what, options):
    result = reproduce(what, "--out", tmp_path, "--docs", tmp_path, *options)
    assert result.exit_code == 2
    assert result.output == (
        f"Error: `privfit reproduce {what}` uses all existing results; leave out {options[0]}.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_no_rows_decide_no_claims(tmp_path):
    (tmp_path / "claims.md").write_text("as it was")
    result = reproduce("claims", "--out", tmp_path, "--docs", tmp_path, "--seed", 7)
    assert result.exit_code == 2
    assert result.output.startswith("Error: There are no results of seed 7 in ")
    assert (tmp_path / "claims.md").read_text() == "as it was"


def test_claims_are_decided_by_a_directory_and_written_to_another(tmp_path):
    missing = reproduce("claims", "--out", tmp_path, "--docs", tmp_path / "none")
    assert missing.exit_code == 2
    assert missing.output == f"Error: There are no documents in {tmp_path / 'none'}: it is not a directory.\n"
    (tmp_path / "docs").mkdir()
    results = Results(tmp_path / "splits.csv", SEED)
    with results.appending():
        results.append(next(EXPERIMENTS["splits"].cells(1)), Outcome(0.75, 0.5, 1.0, 10, 39_073))
    done = reproduce("claims", "--out", tmp_path, "--docs", tmp_path / "docs")
    assert done.exit_code == 0
    assert "claims.md" in done.stderr
    assert "- **Not run** (" in (tmp_path / "docs" / "claims.md").read_text()


def test_ctrl_c_says_that_what_is_finished_is_kept(tmp_path, monkeypatch):
    def interrupted(*_cells, **_settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("privfit.experiments.run.run", interrupted)
    result = reproduce("splits", "--out", tmp_path)
    assert result.exit_code == 130
    assert f"Interrupted. Finished cells are in {tmp_path}; run the same command again" in result.stderr


@pytest.mark.slow
def test_table_1_is_recorded_with_its_seed(tmp_path):
    assert reproduce("table1", "--out", tmp_path, "--seed", 3).exit_code == 0
    (run,) = read(tmp_path)
    assert (run.seed, run.experiments) == (3, {"table1": ["dpagd"]})
    assert len(read_table1(tmp_path)) == 100


@pytest.mark.slow
def test_everything_runs_once_for_somebody_without_data(tmp_path, monkeypatch):
    """Takes about 40 s of one core. Adult is shipped with the package; all others are left out."""

    def no_network(*_arguments, **_settings):
        raise URLError("no network")

    monkeypatch.setattr("privfit.datasets.download.urlopen", no_network)
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("PRIVFIT_DATA", str(tmp_path / "data"))
    done = reproduce("all", "--smoke", "--jobs", 2, "--out", tmp_path / "new")
    assert done.exit_code == 0, done.output
    for name in ("BANK", "IPUMS-US", "IPUMS-BR", "KDDCup99"):
        assert f"{name} is left out: " in done.stderr
    assert "Failed: " not in done.stderr
    smoke = tmp_path / "new" / "smoke"
    written = {path.name for path in smoke.iterdir()}
    assert {"summary.md", "environment.txt", "table1.csv", "table2.csv"} <= written
    for name, experiment in EXPERIMENTS.items():
        rows = Results(smoke / f"{name}.csv", SEED).finished()
        on_adult = {cell.algorithm for cell in experiment.cells(1) if cell.dataset == "adult"}
        assert {cell.algorithm for cell in rows} == on_adult
        assert {cell.dataset for cell in rows} <= {"adult"}
        assert (f"{name}.png" in written) == bool(on_adult)
    assert not EXPERIMENTS["kddcup99-time"].has_figure  # one epsilon, and no parameter
    assert not list((tmp_path / "data").iterdir())
