"""Audit everything as `privfit audit` does, and write each finding to benchmarks/audit.csv.

    PYTHONPATH=src python benchmarks/audit.py                  what is not in the file yet
    PYTHONPATH=src python benchmarks/audit.py --again          everything once more
    PYTHONPATH=src python benchmarks/audit.py solver score     only some kinds
    PYTHONPATH=src python benchmarks/audit.py --runs 600       with fewer runs

The noise is secure, as in a release, so every audit gives different numbers. docs/audit.md shows the file as
a table (tests/deep/audit_page.py), and tools/pictures.py draws it.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

from privfit import __version__
from privfit.auditing.run import ALPHA, catalogue, finding_of

RESULTS = Path(__file__).with_name("audit.csv")
MEASURED = ("claimed_epsilon", "proven_epsilon", "claimed_mu", "shift", "control", "control_epsilon")
COLUMNS = ("name", "kind", "sees", *MEASURED, "runs", "seconds", "date", "version", "commit")


def read() -> dict[str, dict[str, str]]:
    """Return the rows of the file by the names of their cases."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def write(rows: dict[str, dict[str, str]], order: list[str]) -> None:
    """Write the rows of the existing cases; the file is replaced when it is complete."""
    draft = RESULTS.with_suffix(".draft")
    with draft.open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows[name] for name in order if name in rows)
    os.replace(draft, RESULTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kinds", nargs="*", help="audit only these kinds")
    parser.add_argument("--runs", type=int, default=1000, help="runs on each of the two tables")
    parser.add_argument("--again", action="store_true", help="audit what is in the file as well")
    options = parser.parse_args()
    cases, known = catalogue(), {} if options.again else read()
    git = ["git", "log", "-1", "--format=%h", "--", "src"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    kinds = options.kinds or [case.kind for case in cases.values()]
    waiting = [name for name, case in cases.items() if name not in known and case.kind in kinds]
    for place, name in enumerate(waiting, 1):
        started, now = time.process_time(), datetime.now(UTC)
        found = finding_of(cases[name], options.runs, ALPHA / len(cases))
        seconds = time.process_time() - started
        row = {column: str(getattr(found, column)) for column in ("name", "kind", "sees")}
        row |= {column: f"{getattr(found, column):.4f}" for column in MEASURED}
        row |= {"runs": str(options.runs), "seconds": f"{seconds:.1f}", "date": f"{now:%Y-%m-%d}"}
        row |= {"version": __version__, "commit": commit}
        write(read() | {name: row}, list(cases))  # read again, because another process may have written since
        print(f"[{place}/{len(waiting)}] {name}: {found.verdict}, {found.power:.2f} of mu", flush=True)


if __name__ == "__main__":
    main()
