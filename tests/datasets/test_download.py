import hashlib
import io
import socket
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from rich.console import Console

from privfit.datasets import DownloadError, download
from privfit.datasets.download import download as fetch

CONTENT = np.random.default_rng(0).bytes(300_000)


def sha(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def target(cache):
    return cache / "file.dat"


def assert_nothing_kept(target):
    assert list(target.parent.iterdir()) == []


def test_file_arrives_whole_and_alone(server, target):
    server.acts = [{"content": CONTENT}]
    fetch(server.url, target, sha256=sha(CONTENT))
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]


def test_cut_connection_is_resumed_where_it_was_cut(server, target):
    server.acts = [
        {"content": CONTENT, "cut": 100_000},
        {"content": CONTENT, "cut": 50_000},
        {"content": CONTENT},
    ]
    fetch(server.url, target, sha256=sha(CONTENT))
    assert target.read_bytes() == CONTENT
    asked = [(headers.get("Range"), headers.get("If-Range")) for _, headers in server.requests]
    assert asked == [(None, None), ("bytes=100000-", '"1"'), ("bytes=150000-", '"1"')]
    assert server.sent == len(CONTENT)  # nothing was sent twice


def test_server_without_ranges_is_asked_from_the_beginning(server, target):
    server.acts = [
        {"content": CONTENT, "cut": 100_000, "ranges": False},
        {"content": CONTENT, "ranges": False},
    ]
    fetch(server.url, target, sha256=sha(CONTENT))
    assert target.read_bytes() == CONTENT


def test_file_that_changed_meanwhile_is_not_patched_together(server, target):
    shorter = CONTENT[200_000:250_000]
    server.acts = [{"content": CONTENT, "cut": 100_000}, {"content": shorter, "etag": '"2"'}]
    fetch(server.url, target, sha256=sha(shorter))
    assert target.read_bytes() == shorter


def test_another_range_than_the_wanted_is_not_appended(server, target):
    server.acts = [{"content": CONTENT, "cut": 100_000}, {"content": CONTENT, "start": 0}]
    fetch(server.url, target, sha256=sha(CONTENT))
    assert target.read_bytes() == CONTENT


def test_weak_tag_is_not_used_to_resume(server, target):
    server.acts = [{"content": CONTENT, "cut": 100_000, "etag": 'W/"1"'}, {"content": CONTENT}]
    fetch(server.url, target, sha256=sha(CONTENT))
    assert "If-Range" not in server.requests[1][1]


def test_resuming_survives_a_redirection(server, target):
    # The first of the four requests is for /moved, as is the third.
    server.acts = [{"content": CONTENT, "cut": 100_000}] * 2 + [{"content": CONTENT}] * 2
    fetch(server.url.replace("/file", "/moved"), target, sha256=sha(CONTENT))
    assert target.read_bytes() == CONTENT
    assert [path for path, _ in server.requests] == ["/moved", "/file"] * 2
    assert server.requests[-1][1]["Range"] == "bytes=100000-"


def test_connection_cut_every_time_is_given_up(server, target):
    server.acts = [{"content": CONTENT, "cut": 1_000}]
    with pytest.raises(DownloadError, match=r"cut after 5,000 of 300,000 bytes, at the last of 5 attempts$"):
        fetch(server.url, target, sha256=sha(CONTENT))
    assert len(server.requests) == 5
    assert_nothing_kept(target)


def test_length_is_not_needed(server, target):
    server.acts = [{"content": CONTENT, "length": False}]
    fetch(server.url, target, sha256=sha(CONTENT))
    assert target.read_bytes() == CONTENT


def test_silent_server_counts_as_cut(target):
    # A bare socket accepts connections and says nothing.
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.MonkeyPatch.context() as patch:
        patch.setattr(download, "TIMEOUT", 0.05)
        with pytest.raises(DownloadError, match="cut after 0 bytes: timed out, at the last of 5 attempts"):
            fetch(f"http://127.0.0.1:{mute.getsockname()[1]}/", target, sha256=sha(CONTENT))
    assert_nothing_kept(target)


def test_wrong_hash_is_refused_at_once(server, target):
    server.acts = [{"content": b"something else"}]
    with pytest.raises(
        DownloadError, match=f"its sha256 is {sha(b'something else')} instead of {sha(CONTENT)}$"
    ):
        fetch(server.url, target, sha256=sha(CONTENT))
    assert len(server.requests) == 1
    assert_nothing_kept(target)


def test_earlier_file_survives_a_failure(server, target):
    target.parent.mkdir()
    target.write_bytes(b"earlier")
    server.acts = [{"content": b"something else"}]
    with pytest.raises(DownloadError):
        fetch(server.url, target, sha256=sha(CONTENT))
    assert target.read_bytes() == b"earlier"
    assert list(target.parent.iterdir()) == [target]


def test_missing_file_is_not_asked_for_again(server, target):
    server.acts = [{"status": 404}]
    with pytest.raises(DownloadError, match=r"the server answers 404 Not Found$"):
        fetch(server.url, target, sha256=sha(CONTENT))
    assert len(server.requests) == 1
    assert_nothing_kept(target)


def test_overloaded_server_is_asked_again(server, target):
    server.acts = [{"status": 503}, {"content": CONTENT, "cut": 1_000}, {"status": 503}, {"content": CONTENT}]
    fetch(server.url, target, sha256=sha(CONTENT))
    assert target.read_bytes() == CONTENT
    assert server.sent == len(CONTENT)


def test_no_network_is_said_at_once(target):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(DownloadError, match=r"the server cannot be reached: .*refused"):
        fetch(f"http://127.0.0.1:{port}/", target, sha256=sha(CONTENT))
    assert_nothing_kept(target)


def test_cache_that_cannot_be_written_is_said(server, target):
    target.parent.write_text("a file where the directory should be")
    with pytest.raises(DownloadError, match=r"cache cannot be written: "):
        fetch(server.url, target, sha256=sha(CONTENT))


def test_interruption_leaves_nothing(server, target, monkeypatch):
    @contextmanager
    def interrupted(name):
        def show(done, total):
            raise KeyboardInterrupt

        yield show

    monkeypatch.setattr(download, "_bar", interrupted)
    server.acts = [{"content": CONTENT}]
    with pytest.raises(KeyboardInterrupt):
        fetch(server.url, target, sha256=sha(CONTENT))
    assert_nothing_kept(target)


def test_simultaneous_downloads_do_not_disturb_each_other_or_a_reader(server, target):
    server.acts = [{"content": CONTENT, "cut": 100_000}] * 8 + [{"content": CONTENT}]
    finished, seen = threading.Event(), set()

    def watch():
        while not finished.is_set():
            if target.exists():
                seen.add(target.read_bytes() == CONTENT)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(8) as workers:
        list(workers.map(lambda _: fetch(server.url, target, sha256=sha(CONTENT)), range(8)))
    finished.set()
    watcher.join()
    assert seen <= {True}
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]


def zipped(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def test_zip_within_zip_is_unpacked_and_its_content_checked(server, target):
    server.acts = [{"content": zipped(inner=zipped(wanted=b"records", other=b"-"), other=b"-")}]
    fetch(server.url, target, sha256=sha(b"records"), members=("inner", "wanted"))
    assert target.read_bytes() == b"records"
    assert list(target.parent.iterdir()) == [target]
    with pytest.raises(DownloadError, match="its sha256 is"):
        fetch(server.url, target, sha256=sha(b"other"), members=("inner", "wanted"))


GOOD_ZIP = zipped(inner=zipped(wanted=CONTENT))


@pytest.mark.parametrize(
    "packed",
    [
        b"<html>not a zip file</html>",
        zipped(other=b"-"),
        zipped(inner=b"not a zip file"),
        zipped(inner=zipped(other=b"-")),
        GOOD_ZIP[:1000] + bytes(200_000) + GOOD_ZIP[201_000:],
    ],
    ids=["no zip", "no inner", "inner is no zip", "no member", "damaged"],
)
def test_corrupt_zip_is_refused(packed, server, target):
    server.acts = [{"content": packed}]
    with pytest.raises(DownloadError, match=r"it is not a zip file with inner / wanted in it$"):
        fetch(server.url, target, sha256=sha(CONTENT), members=("inner", "wanted"))
    assert_nothing_kept(target)


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_on_a_terminal_only(terminal, server, target, monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(download, "Console", lambda stderr: Console(file=screen, force_terminal=terminal))
    server.acts = [{"content": CONTENT}]
    fetch(server.url, target, sha256=sha(CONTENT))
    if terminal:
        assert "file.dat" in screen.getvalue()
        assert "300.0/300.0 kB" in screen.getvalue()
    else:
        assert screen.getvalue() == ""
