import gzip
import hashlib
import sys
from pathlib import Path

import pytest

from privfit.datasets import DownloadError, sources
from privfit.datasets.sources import Source, locate, reading

CONTENT = b"1 2 3\n"
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "mine"
    path.mkdir()
    return path


@pytest.mark.parametrize("official", ["table.csv", "table.csv.gz"])
@pytest.mark.parametrize("present", ["table.csv", "table.csv.gz"])
def test_directory_is_searched_for_the_file_plain_or_packed(official, present, directory, cache):
    (directory / present).write_bytes(b"anything")
    assert locate(Source(file=official, sha256=SHA), directory) == directory / present


def test_data_dir_goes_before_the_environment_and_that_before_the_cache(directory, cache, monkeypatch):
    source = Source(file="table.csv", sha256=SHA)
    cache.mkdir()
    (cache / "table.csv").write_bytes(CONTENT)
    assert locate(source, directory) == cache / "table.csv"

    named = directory / "named"
    named.mkdir()
    (named / "table.csv").write_bytes(b"anything")
    monkeypatch.setenv("PRIVFIT_DATA", str(named))
    assert locate(source) == named / "table.csv"

    (directory / "table.csv").write_bytes(b"anything")
    assert locate(source, directory) == directory / "table.csv"


def test_directory_that_is_not_there_is_refused(directory, cache, monkeypatch):
    source = Source(file="table.csv", sha256=SHA)
    with pytest.raises(NotADirectoryError, match=r"^data_dir is '.*/no', which is not a directory\.$"):
        locate(source, directory / "no")
    monkeypatch.setenv("PRIVFIT_DATA", str(directory / "no"))
    with pytest.raises(NotADirectoryError, match=r"^the environment variable PRIVFIT_DATA is '.*/no', which"):
        locate(source)


def test_file_without_an_address_says_where_to_put_it(cache):
    with pytest.raises(
        FileNotFoundError,
        match=r"^table\.csv cannot be downloaded, because it is secret; put it, plain or as \.gz, in a "
        r"directory and name this directory with data_dir= or the environment variable PRIVFIT_DATA\.$",
    ):
        locate(Source(file="table.csv", why="it is secret"))


def test_file_is_downloaded_once(server, cache):
    server.acts = [{"content": CONTENT}]
    source = Source(file="table.csv", sha256=SHA, urls=(server.url,))
    assert locate(source) == locate(source) == cache / "table.csv"
    assert (cache / "table.csv").read_bytes() == CONTENT
    assert len(server.requests) == 1


def test_damaged_file_in_the_cache_is_downloaded_again(server, cache):
    cache.mkdir()
    (cache / "table.csv").write_bytes(CONTENT[:-2])
    server.acts = [{"content": CONTENT}]
    assert locate(Source(file="table.csv", sha256=SHA, urls=(server.url,))).read_bytes() == CONTENT


def test_second_address_is_tried_when_the_first_fails(server, cache):
    server.acts = [{"content": b"wrong"}, {"content": CONTENT}]
    source = Source(file="table.csv", sha256=SHA, urls=(server.url, server.url))
    assert locate(source).read_bytes() == CONTENT


def test_failure_is_one_sentence_with_reasons_and_remedy(server, cache):
    server.acts = [{"content": b"wrong"}, {"status": 404}]
    wrong = hashlib.sha256(b"wrong").hexdigest()
    with pytest.raises(DownloadError) as caught:
        locate(Source(file="table.csv", sha256=SHA, urls=(server.url, server.url)))
    assert str(caught.value) == (
        f"table.csv could not be downloaded from {server.url} (its sha256 is {wrong} instead of {SHA}) "
        f"nor from {server.url} (the server answers 404 Not Found); nothing was kept; try again, or put it, "
        "plain or as .gz, in a directory and name this directory with data_dir= or the environment variable "
        "PRIVFIT_DATA."
    )
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "/chosen/privfit"),
        ("linux", None, "~/.cache/privfit"),
        ("darwin", None, "~/Library/Caches/privfit"),
        ("win32", "LOCALAPPDATA", "/chosen/privfit"),
        ("win32", None, "~/AppData/Local/privfit"),
    ],
)
def test_cache_is_where_the_system_wants_it(platform, variable, expected, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, "/chosen")
    assert sources.cache_directory() == Path(expected).expanduser()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.gz", gzip.compress(CONTENT, mtime=0)[:-9]),
        ("changed.gz", gzip.compress(CONTENT, mtime=0)[:-8] + bytes(8)),
        ("garbled.gz", gzip.compress(CONTENT, mtime=0)[:10] + b"\xff" * 20),
        ("plain.gz", CONTENT),
        ("binary.csv", b"\xff\xfe"),
    ],
)
def test_damaged_file_is_reported_in_one_sentence(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with (
        pytest.raises(
            ValueError, match=rf"{name} is damaged and cannot be read; replace it with a good copy\.$"
        ),
        reading(path) as file,
    ):
        file.read()
