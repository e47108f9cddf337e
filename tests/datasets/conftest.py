import http.server
import os
import threading
from pathlib import Path

import pytest

from privfit.datasets import download, sources

REFERENCE = os.environ.get("PRIVFIT_DATA")


@pytest.fixture
def reference():
    if REFERENCE is None:
        pytest.skip("PRIVFIT_DATA, the directory of the reference data, is not set")
    return Path(REFERENCE)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, no directory of the user's, no pauses, and no proxy between us and the loopback."""
    monkeypatch.delenv("PRIVFIT_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.setattr(sources, "cache_directory", lambda: tmp_path / "cache")
    return tmp_path / "cache"


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers each request by the next act of the server's play, or by the last one again."""

    def do_GET(self):
        play = self.server
        play.requests.append((self.path, dict(self.headers)))
        act = play.acts[min(len(play.requests), len(play.acts)) - 1]
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/file")
            self.end_headers()
        elif "status" in act:
            self.send_error(act["status"])
        else:
            self._send(**act)

    def _send(self, content, *, etag='"1"', ranges=True, start=None, cut=None, length=True):
        asked = self.headers.get("Range")
        if asked and ranges and start is None and self.headers.get("If-Range", etag) == etag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
        body = content[start:]
        self.send_response(200 if start is None else 206)
        if start is not None:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("ETag", etag)
        if length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        sent = body[:cut]
        self.server.sent += len(sent)
        self.wfile.write(sent)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(cache):
    """A server on the loopback whose `acts` say what it does and whose `requests` what it was asked."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as play:
        play.acts, play.requests, play.sent = [], [], 0
        play.url = f"http://127.0.0.1:{play.server_port}/file"
        thread = threading.Thread(target=play.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield play
        play.shutdown()
        thread.join()
