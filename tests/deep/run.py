"""Run the deep tests one after the other, and write what became of each to results.csv.

A run that was stopped goes on where it stopped: a test is due until it has passed with the package, and the
test's own file, as they are now. Tests that were never run come first, then those whose last run is longest
ago. The output of a test that failed is in .deep/.

    make test-deep                                        all that is due
    make test-deep DEEP="-k crashes"                      some of it
    make test-deep DEEP=--again                           everything once more
"""

from __future__ import annotations

import argparse
import csv
import datetime
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("results.csv")
LOGS = ROOT / ".deep"


@dataclass(frozen=True)
class Row:
    """What became of one test, which may count its cases; `sources` is a hash of the package and its file."""

    test: str
    outcome: str
    cases: str
    seconds: str
    date: str
    version: str
    commit: str
    sources: str


def read(path: Path) -> dict[str, Row]:
    """Return the rows of a file by their tests; there are none if there is no file."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {row["test"]: Row(**row) for row in csv.DictReader(file)}


def write(path: Path, rows: dict[str, Row]) -> None:
    """Write the rows in the order of their tests; the file is replaced when it is whole."""
    draft = path.with_suffix(".draft")
    with draft.open("w", newline="") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(rows[test]) for test in sorted(rows))
    os.replace(draft, path)


def due(tests: list[str], rows: dict[str, Row], sources: dict[str, str], *, again: bool) -> list[str]:
    """Return the tests to run, those that have waited longest first."""
    waiting = [
        test
        for test in tests
        if again or test not in rows or rows[test].outcome != "passed" or rows[test].sources != sources[test]
    ]
    return sorted(waiting, key=lambda test: rows[test].date if test in rows else "")


def sources_of(test: str) -> str:
    """Return a hash of what a test depends on: the package and its own file."""
    files = [*sorted((ROOT / "src").rglob("*.py")), ROOT / test.partition("::")[0]]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def collect(selection: list[str]) -> list[str]:
    """Return the names of the deep tests; only files that mention the marker are collected, to save time."""
    files = [
        path for path in sorted((ROOT / "tests").rglob("test_*.py")) if "pytest.mark.deep" in path.read_text()
    ]
    command = [sys.executable, "-m", "pytest", "--deep", "--collect-only", "-q", *selection, *files]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode not in (0, 5):  # 5: none is selected
        sys.exit(told.stdout + told.stderr)
    return [line for line in told.stdout.splitlines() if "::" in line and not line.startswith(" ")]


def run(test: str) -> tuple[str, str, float]:
    """Run one test, and return what became of it, how many cases it counted, and how many seconds it took."""
    LOGS.mkdir(exist_ok=True)
    log = LOGS / (re.sub(r"[^\w.-]+", "-", test) + ".log")
    with tempfile.TemporaryDirectory() as folder, log.open("w") as output:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "--deep", "-q", f"--junitxml={report}", test]
        started = time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, stdout=output, stderr=output, check=False)
        seconds = time.perf_counter() - started
        if done.returncode != 0:
            return "failed", "", seconds
        told = ET.parse(report)
    log.unlink()
    counted = told.find(".//property[@name='cases']")
    outcome = "passed" if told.find(".//skipped") is None else "skipped"
    return outcome, "" if counted is None else counted.get("value", ""), seconds


def version_and_commit() -> tuple[str, str]:
    """Return the version of the package, and the last commit that changed it; + if files differ from it."""
    text = (ROOT / "src" / "privfit" / "version.py").read_text()
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)

    def git(*words: str) -> str:
        told = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return told.stdout.strip()

    changed = "+" if git("status", "--porcelain", "--", "src") else ""
    return version, git("log", "-1", "--format=%h", "--", "src") + changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--again", action="store_true", help="run what has passed as well")
    parser.add_argument("-k", metavar="EXPRESSION", help="run the tests whose names match, as pytest does")
    options = parser.parse_args()
    everything = collect([])
    chosen = collect(["-k", options.k]) if options.k else everything
    waiting = due(chosen, read(RESULTS), {test: sources_of(test) for test in chosen}, again=options.again)
    print(f"{len(chosen)} deep tests, {len(waiting)} of them due", flush=True)
    failed = 0
    for place, test in enumerate(waiting, 1):
        print(f"[{place}/{len(waiting)}] {test}", end=" ", flush=True)
        started, sources = datetime.datetime.now(datetime.UTC), sources_of(test)
        try:
            outcome, cases, seconds = run(test)
        except KeyboardInterrupt:
            sys.exit("stopped; `make test-deep` goes on with this test")
        failed += outcome == "failed"
        print(f"{outcome} in {seconds:.0f} s", flush=True)
        row = Row(
            test,
            outcome,
            cases,
            f"{seconds:.0f}",
            f"{started:%Y-%m-%dT%H:%MZ}",
            *version_and_commit(),
            sources,
        )
        # read again, because another run may have written since
        write(
            RESULTS,
            {name: known for name, known in read(RESULTS).items() if name in everything} | {test: row},
        )
    sys.exit(f"{failed} deep tests failed; their output is in .deep/" if failed else 0)


if __name__ == "__main__":
    main()
