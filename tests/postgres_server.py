"""A real PostgreSQL server for tests: private, in a temporary directory, gone when they are done."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PASSWORD = "correct-horse"
HOW_TO_INSTALL = "no PostgreSQL server is installed; as root: tools/system_packages.sh postgresql"


def find_binaries() -> Path | None:
    """Return the directory of the newest server's programs; Debian keeps them off the path."""
    on_path = shutil.which("initdb")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@contextmanager
def running_server(binaries: Path, *, standby: bool = False) -> Iterator[str]:
    """Run a server that listens on a socket in its own directory only, and yield its URL.

    A standby waits for another server that never comes, and can be read meanwhile.
    """
    account = _unprivileged_user()
    directory = Path(tempfile.mkdtemp(prefix="privfit-pg-"))
    as_user = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": ()}
    try:
        (directory / "password").write_text(PASSWORD)
        if account is not None:
            for path in (directory, directory / "password"):
                os.chown(path, account.pw_uid, account.pw_gid)
        data = directory / "data"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": directory}
        options = ["--username=privfit", "--auth=scram-sha-256", "--no-sync", "--encoding=UTF8", "--locale=C"]
        options += ["--pgdata", data, "--pwfile", directory / "password"]
        subprocess.run([binaries / "initdb", *options], check=True, **quiet, **as_user)
        if standby:
            (data / "standby.signal").touch()
        # clients are killed in the tests, not the machine, so nothing is gained by waiting for the disk
        settings = {"listen_addresses": "", "unix_socket_directories": directory, "fsync": "off"}
        options = [option for name, value in settings.items() for option in ("-c", f"{name}={value}")]
        server = subprocess.Popen([binaries / "postgres", "-D", data, *options], **quiet, **as_user)
        try:
            _wait_for(server, directory / ".s.PGSQL.5432")
            yield f"postgresql://privfit:{PASSWORD}@/postgres?host={directory}"
        finally:
            server.send_signal(3)  # SIGQUIT: at once
            server.communicate(timeout=30)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _unprivileged_user() -> pwd.struct_passwd | None:
    """Return whom to run the server as, because it refuses to be run by root; None for oneself."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def _wait_for(server: subprocess.Popen[bytes], socket: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError(f"the server ended: {server.communicate()[1].decode()}")
        if socket.exists() and "ready" in _status(socket.parent / "data" / "postmaster.pid"):
            return
        time.sleep(0.05)
    raise RuntimeError("the server did not start within 30 seconds")


def _status(pid_file: Path) -> str:
    """Return the last line of the server's own file, which says whether it takes connections."""
    try:
        return pid_file.read_text().splitlines()[-1]
    except (OSError, IndexError):
        return ""
