"""Write what was run, when and with which outcome into docs/audit.md and docs/security.md.

Every such part of a page stands between the marks `<!-- deep: NAME -->` and `<!-- end of deep -->`. It is
made of the rows of results.csv, mutants.csv and benchmarks/audit.csv, and of planted_bugs.toml.

    python tests/deep/audit_page.py
"""

from __future__ import annotations

import csv
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
import run
from mutation import COUNT
from mutation import read as read_mutants
from test_long_fuzzing import TARGETS
from weak_attacks import WEAK

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
PAGES = (ROOT / "docs" / "audit.md", ROOT / "docs" / "security.md")
MARK = re.compile(r"(<!-- deep: ([\w-]+) -->\n).*?(<!-- end of deep -->)", re.DOTALL)
BUGS = tomllib.loads((HERE / "planted_bugs.toml").read_text())["bug"]
PLANTED = "tests/deep/test_planted_bugs.py::test_a_planted_bug_is_noticed[{}]".format
FUZZED = "tests/deep/test_long_fuzzing.py::test_damaged_input_does_no_harm[{}-".format
POINTS = "tests/hostile/test_faults.py::test_at_any_of_many_points_"
FAULT = f"{POINTS}looks_are_paid_for_and_files_are_whole[{{}}-{{}}]".format
LOST = f"{POINTS}lost_connections_lose_no_look"
KILLED = "tests/accounting/test_crashes.py::test_however_often_processes_are_killed_every_look_was_paid_for["
DASK = "tests/estimators/test_killed_workers.py::test_at_any_of_many_points_"
RELEASE = "tests/deep/test_release.py::test_{}".format
# how a fault is made, the required result, and in how many cases `make test-all` tries it
FAULTS = {
    "killed": ("kill -9", "SIGKILL at a random moment of the first 0.35 s", "the reservation stays spent"),
    "interrupted": ("interruption", "SIGINT at such a moment", "the same, said in a sentence"),
    "no room in a file": (
        "no room in a file",
        "no file may grow beyond a random size",
        "a sentence, before a look or after its charge",
    ),
    "a full disk": (
        "full disk",
        "a disk of its own (tmpfs, as root) with room for 0 to 16 pages",
        "a sentence, before a look or after its charge",
    ),
    "no memory": (
        "out of memory",
        "a table of 300,300 records, and 1 to 32 MB more than is in use at the start",
        "a sentence with the state of the ledger, or the output; a library may end the process",
    ),
    "a jumping clock": (
        "clock",
        "the day of entries jumps between 1971 and 2090",
        "the output, as if nothing had happened",
    ),
    "a locked store": (
        "locked store",
        "another process holds the store for longer than anybody waits",
        "a sentence, or the output with the reservation spent",
    ),
    "a read-only store": ("read-only store", "from a random connection on", "the same"),
    "a read-only disk": (
        "read-only disk",
        "a disk of its own (tmpfs, as root) is mounted read-only at a random moment",
        "the same",
    ),
    "a corrupted store": (
        "corrupted store",
        "1, 4 or 64 random bytes of the file",
        "a refusal, before or after the output, or bytes that were not in use",
    ),
}
COMMANDS = ("train", "evaluate")
MOST_NAMED = 12  # bugs that are named if they are not planted yet


class Dated(Protocol):
    """A row of any of the files."""

    date: str
    version: str
    commit: str


class Finding(NamedTuple):
    """A row of benchmarks/audit.csv."""

    name: str
    kind: str
    sees: str
    claimed_epsilon: str
    proven_epsilon: str
    claimed_mu: str
    shift: str
    control: str
    control_epsilon: str
    runs: str
    seconds: str
    date: str
    version: str
    commit: str


class Results:
    """The rows of results.csv, and sums of them."""

    def __init__(self, rows: dict[str, run.Row]) -> None:
        self.rows = rows

    def of(self, start: str) -> list[run.Row]:
        """Return the rows of tests whose names start so."""
        return [row for test, row in self.rows.items() if test.startswith(start)]


def paragraph(*sentences: str) -> str:
    """Return sentences in lines that are short enough for a page."""
    return textwrap.fill(" ".join(sentences), 100, break_on_hyphens=False, break_long_words=False)


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))


def when(rows: Sequence[run.Row]) -> str:
    """Return the day, or the first and the last one, on which tests were run, and what they tested."""
    return f"{days(rows)}, {tested(rows)}" if rows else "never"


def days(rows: Sequence[Dated]) -> str:
    """Return the first and the last day of rows, or their only one."""
    found = sorted({row.date[:10] for row in rows})
    return " to ".join(dict.fromkeys((found[0], found[-1])))


def tested(rows: Sequence[Dated]) -> str:
    """Return the versions of the package that rows are about, and the commits that last changed it."""
    commits: dict[str, set[str]] = {}
    for row in rows:
        commits.setdefault(row.version, set()).add(row.commit)
    return ", ".join(f"{version} ({', '.join(sorted(commits[version]))})" for version in sorted(commits))


def cases(rows: Sequence[run.Row]) -> str:
    """Return how many cases tests tried, and that some of them failed or were skipped if so."""
    tried = f"{sum(int(row.cases or 0) for row in rows if row.outcome == 'passed'):,}"
    bad = sorted({row.outcome for row in rows} - {"passed"})
    return f"{tried}, some {' and '.join(bad)}" if bad else tried


def findings() -> list[Finding]:
    """Return the rows of the committed run of the audit."""
    with (ROOT / "benchmarks" / "audit.csv").open(newline="") as file:
        return [Finding(**row) for row in csv.DictReader(file)]


def audit(_results: Results) -> str:
    """Return the findings of the committed run of the audit."""
    found = findings()
    minutes = sum(float(row.seconds) for row in found) / 60.0
    runs = {
        number: sum(row.runs == number for row in found) for number in sorted({row.runs for row in found})
    }
    shares = ", ".join(f"{count} with {int(number):,} runs on each table" for number, count in runs.items())
    bad = [row.name for row in found if float(row.proven_epsilon) > float(row.claimed_epsilon)]
    missed = [row.name for row in found if float(row.control_epsilon) <= float(row.claimed_epsilon)]
    said = paragraph(
        f"A run of {days(found)}, version {tested(found)}: {len(found)} cases, {shares}, in {minutes:.0f}",
        "minutes of one core.",
        f"More than the claim was proven in {len(bad)} cases{': ' * bool(bad)}{', '.join(bad)};",
        f"the control was missed in {len(missed)}{': ' * bool(missed)}{', '.join(missed)}.",
        f"Every case claims epsilon = {' or '.join(sorted({row.claimed_epsilon for row in found}))} at",
        "delta = 0.05; proven and control are epsilons, too. The control adds the share of the noise",
        "that is in brackets. The last column is shift / mu. An empty kind is that of the line above.",
    )
    lines = [
        [
            row.name,
            row.kind if before is None or row.kind != before.kind else "",
            f"{float(row.proven_epsilon):.2f}",
            f"{float(row.control_epsilon):.2f} ({float(row.control):g})",
            f"{float(row.claimed_mu):.2f}",
            f"{float(row.shift):.2f}",
            f"{float(row.shift) / float(row.claimed_mu):.0%}",
        ]
        for before, row in pairwise([None, *found])
        if row is not None
    ]
    head = ("audited", "kind", "proven", "control", "mu", "shift", "share")
    return f"{said}\n\n{table(head, lines)}"


def weak(_results: Results) -> str:
    """Return the reasons of the cases whose attack has little power."""
    return table(("case", "why its shift is below half of mu"), list(WEAK.items()))


def bugs(results: Results) -> str:
    """Return how many bugs were planted and noticed."""
    rows = {bug["name"]: results.rows.get(PLANTED(bug["name"])) for bug in BUGS}
    planted = [row for row in rows.values() if row]
    missed = [name for name, row in rows.items() if row and row.outcome != "passed"]
    waiting = [name for name, row in rows.items() if row is None]
    return paragraph(
        f"The catalogue has {len(BUGS)} bugs in {len({bug['place'] for bug in BUGS})} places of the package;",
        f"{sum(bug.get('quick', False) for bug in BUGS)} of them are quick.",
        f"On record are {len(planted)} of them ({when(planted)}): a test noticed",
        f"{len(planted) - len(missed)}{', and none noticed: ' * bool(missed)}{'; '.join(missed)}.",
        f"Not planted yet: {'; '.join(waiting) if len(waiting) <= MOST_NAMED else len(waiting)}."
        if waiting
        else "",
    )


def mutants(_results: Results) -> str:
    """Return how many changes were tried and noticed, and which survived."""
    judged = [row for row in read_mutants().values() if row.outcome not in ("", "unclear")]
    noticed = [row for row in judged if row.outcome.startswith("noticed")]
    survived = [row for row in judged if row.outcome == "survived"]
    said = paragraph(
        f"Of the {COUNT} changes of the sample {len(judged)} were tried",
        f"({days(judged)}, version {tested(judged)});",
        f"{COUNT - len(judged)} are waiting.",
        f"Tests noticed {len(noticed)} of the {len(judged)}, which is {len(noticed) / len(judged):.0%}.",
        f"{len(survived)} survived:" if survived else "None survived.",
    )
    places: dict[str, list[str]] = {}
    for row in survived:
        places.setdefault(row.why or "not looked at yet", []).append(f"`{row.file}:{row.line}`")
    lines = [[", ".join(dict.fromkeys(found)), why] for why, found in places.items()]
    if not lines:
        return said
    return f"{said}\n\n{table(('places', 'why no test notices'), lines)}"


def fuzzing(results: Results) -> str:
    """Return how many cases of each target were tried."""
    lines = []
    for target, tests in TARGETS.items():
        rows = results.of(FUZZED(target))
        files = ", ".join(dict.fromkeys(f"`{test.partition('::')[0]}`" for test in tests))
        lines.append([target, files, f"{usual_examples(tests)}", cases(rows), when(rows)])
    total = sum(int(row.cases or 0) for target in TARGETS for row in results.of(FUZZED(target)))
    head = ("what is damaged", "test", "cases in `test-all`", "recorded in `test-deep`", "when, version")
    return f"{table(head, lines)}\n\n{paragraph(f'Recorded cases of all: {total:,}.')}"


def usual_examples(tests: Sequence[str]) -> int:
    """Return how many examples tests try every day, for each set of their parameters."""
    found = 0
    for test in tests:
        file, name = test.split("::")
        before = (ROOT / file).read_text().partition(f"\ndef {name}(")[0]
        found += int(re.findall(r"max_examples=(\d+)", before)[-1])
    return found


def faults(results: Results) -> str:
    """Return how many points of each fault were tried."""
    lines = []
    for name, (short, how, required) in FAULTS.items():
        rows = [results.of(FAULT(name, command)) for command in COMMANDS]
        lines.append([short, how, "3", *map(cases, rows), when([*rows[0], *rows[1]]), required])
    lost, killed = results.of(LOST), results.of(KILLED)
    how = "PostgreSQL ends all connections at 10 random moments"
    lines.append(["lost connection", how, "1", cases(lost), "", when(lost), "a sentence, or a model"])
    how = "eight share a ledger, up to twelve are killed (`tests/accounting/test_crashes.py`)"
    required = "the budget is never exceeded"
    lines.append(["killed processes", how, "2", cases(killed), "", when(killed), required])
    how = "Dask workers are taken away between two answers, or while the table is read (`{}`)"
    required = "the same model at the same price, or an end"
    file = "tests/estimators/test_lost_workers.py"
    lines.append(["lost worker", how.format(file), "7", "", "", "in every `test-all`", required])
    how = "one or both processes of a Dask cluster are killed as they read or answer (`{}`)"
    file, rows = DASK.partition("::")[0], results.of(DASK)
    lines.append(["killed worker", how.format(file), "3", cases(rows), "", when(rows), required])
    head = ("fault", "how it is made", "in `test-all`", *(f"recorded, `{c}`" for c in COMMANDS))
    return table((*head, "when, version", "required result"), lines)


def release(results: Results) -> str:
    """Return what became of the tests of what is released."""
    tests = {
        "two_builds_are_the_same_bytes[*.whl]": "two builds of the wheel are the same bytes",
        "two_builds_are_the_same_bytes[*.tar.gz]": "two builds of the source distribution are the same bytes",
        "what_is_released_works_where_nothing_else_is_installed[*.whl]": (
            "the wheel works in an empty environment"
        ),
        "what_is_released_works_where_nothing_else_is_installed[*.tar.gz]": (
            "the source distribution works in an empty environment"
        ),
        "lowest_and_newest_versions_of_what_privfit_needs[lowest]": (
            "tests pass with the lowest versions of all dependencies"
        ),
        "lowest_and_newest_versions_of_what_privfit_needs[newest]": (
            "tests pass with the newest versions of all dependencies"
        ),
    }
    lines = []
    for test, said in tests.items():
        row = results.rows.get(RELEASE(test))
        lines.append([said, row.outcome if row else "not recorded", when([row] if row else [])])
    return table(("recorded run of `tests/deep/test_release.py`", "outcome", "when, version"), lines)


PARTS: dict[str, Callable[[Results], str]] = {
    "audit": audit,
    "weak": weak,
    "bugs": bugs,
    "mutants": mutants,
    "fuzzing": fuzzing,
    "faults": faults,
    "release": release,
}


def filled(page: str, results: Results) -> str:
    """Return a page with every part made anew."""
    return MARK.sub(lambda mark: f"{mark[1]}\n{PARTS[mark[2]](results)}\n\n{mark[3]}", page)


def main() -> None:
    results = Results(run.read(run.RESULTS))
    for page in PAGES:
        page.write_text(filled(page.read_text(), results))


if __name__ == "__main__":
    main()
