import sys

import pytest
from typer.testing import CliRunner

from privfit.cli import app

MODULE = sys.modules["privfit.cli.reproduce"]


def reproduce(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)], env={"COLUMNS": "500"})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--quick", "--full"], "Give one of --quick, --full and --repeats."),
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


def test_an_experiment_whose_data_are_missing_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVFIT_DATA", str(tmp_path / "nowhere"))
    result = reproduce("kddcup99", "--out", tmp_path)
    assert result.exit_code == 2
    assert "KDDCup99 is left out: the environment variable PRIVFIT_DATA is" in result.stderr
    assert "Error: Nothing of kddcup99 could be run, because its data could not be had." in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_says_that_what_is_finished_is_kept(tmp_path, monkeypatch):
    def interrupted(*_cells, **_settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("privfit.experiments.run.run", interrupted)
    result = reproduce("splits", "--out", tmp_path)
    assert result.exit_code == 130
    assert f"Interrupted. Finished cells are in {tmp_path}; run the same command again" in result.stderr
