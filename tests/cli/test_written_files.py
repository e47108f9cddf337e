import os
from pathlib import Path

import pytest

from privfit.accounting import Ledger
from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake


def test_a_file_is_replaced_when_it_is_whole(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    with replacing(path) as beside:
        beside.write_text("new")
        assert beside.suffix == ".json"
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["model.json"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_what_fails_halfway_leaves_the_old_file_and_no_trace(tmp_path, failure):
    path = tmp_path / "model.json"
    path.write_text("old")

    def write_half():
        with replacing(path) as beside:
            beside.write_text("ne")
            raise failure

    with pytest.raises(failure):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_link_stays_a_link_and_a_device_a_device(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    check_outputs(tmp_path / "link.json")
    with replacing(tmp_path / "link.json") as beside:
        beside.write_text("new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"
    check_outputs(Path("/dev/null"))
    with replacing(Path("/dev/null")) as device:
        assert device == Path("/dev/null")
    assert Path("/dev/null").is_char_device()


def test_checking_changes_nothing(tmp_path):
    (tmp_path / "empty.json").touch()
    check_outputs(tmp_path / "empty.json", tmp_path / "new.json", None)
    assert os.listdir(tmp_path) == ["empty.json"]


def test_a_link_to_an_input_is_that_input(tmp_path):
    (tmp_path / "people.csv").touch()
    (tmp_path / "out.json").symlink_to("people.csv")
    with pytest.raises(Mistake, match="or named twice"):
        check_outputs(tmp_path / "out.json", inputs=(tmp_path / "people.csv",))


def test_a_directory_that_takes_no_files_is_refused(tmp_path, monkeypatch):
    def full(path, **_settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "touch", full)
    with pytest.raises(Mistake, match=r"model.json cannot be written: No space left on device\."):
        check_outputs(tmp_path / "model.json")


def test_a_ledger_is_not_replaced(tmp_path):
    Ledger.open(f"sqlite:///{tmp_path}/people.db", dataset="census", rho=1.0)
    with pytest.raises(Mistake, match=r"people\.db is a database, which may hold ledgers; name another file"):
        check_outputs(tmp_path / "people.db")
    (tmp_path / "new.db").touch()
    check_outputs(tmp_path / "new.db")
