"""Change one operator, number or statement of the accounting or the curator at a time: do tests notice?

Of all such changes a seeded sample is tried. Every outcome is a row of mutants.csv, and a run that was
stopped goes on where it stopped. Rows of changes that are no longer in the sample, because the code was
changed, are removed. A change is noticed if a test fails with it, and the same test fails with it
once more and passes without it; else it is unclear, and tried again by the next run. A change that no test
notices survives; the column `why` of its row says what follows from that.

    python tests/deep/mutation.py               300 changes
    python tests/deep/mutation.py --count 50    the first 50 of them
"""

from __future__ import annotations

import argparse
import ast
import csv
import datetime
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import warm
from planting import FAILED, NO_END, PACKAGE, PASSED, Runner
from run import version_and_commit

RESULTS = Path(__file__).with_name("mutants.csv")
SEED, COUNT = 2026, 300
SECONDS = 60.0  # of computing, after which a test is said to have no end, which somebody would notice
GROUPS = ("accounting/**/*.py", "curator.py")

A, C = "tests/accounting/test_{}.py".format, "tests/contracts/test_{}.py".format
LEDGERS = (A("ledger"), A("promise_kinds"), A("unit_of_ledger"))
CURATOR = ("tests/test_curator.py", "tests/test_relation.py")
# the tests of each file, those first that are about it; a change is noticed by the first that fails
TESTS = {
    "accounting/amounts.py": (A("ledger"), A("chain")),
    "accounting/budget.py": (A("ledger"), A("promise_kinds"), A("lasting"), A("change_of_promise")),
    "accounting/composition.py": (
        A("promise_kinds"),
        A("unit_of_ledger"),
        "tests/estimators/test_families.py",
    ),
    "accounting/gdp.py": (A("gdp"), A("margins"), A("promise_kinds")),
    "accounting/group.py": (A("margins"), "tests/estimators/test_several_records.py"),
    "accounting/lasting.py": (A("lasting"), A("names")),
    "accounting/ledger.py": (A("ledger"), A("lasting"), A("unit_of_ledger")),
    "accounting/parts.py": ("tests/tuning/test_parts_by_coins.py",),
    "accounting/promise.py": (A("ledger"), A("promise_kinds"), A("lasting")),
    "accounting/promises/concentrated.py": (A("ledger"), A("promise_kinds"), A("zcdp")),
    "accounting/promises/direct.py": (A("promise_kinds"), A("ledger"), A("subsampled")),
    "accounting/promises/gaussian.py": (A("promise_kinds"), A("gdp"), A("ledger")),
    "accounting/promises/kinds.py": (A("promise_kinds"), A("ledger")),
    "accounting/readable.py": (A("ledger"), A("promise_kinds"), A("lasting"), A("ledger_in_notebooks")),
    "accounting/refusal.py": (A("ledger"),),
    "accounting/relation.py": ("tests/test_relation.py", A("unit_of_ledger")),
    "accounting/reservation.py": (A("lasting"), A("chain")),
    "accounting/stores/chain.py": (A("chain"), A("migration"), A("lasting")),
    "accounting/stores/database.py": (A("lasting"), C("store_contract"), A("names")),
    "accounting/stores/ledgers.py": (A("lasting"), A("migration"), A("names"), A("chain")),
    "accounting/stores/memory.py": (C("store_contract"), A("ledger")),
    "accounting/stores/migration.py": (A("migration"),),
    "accounting/stores/names.py": (A("names"),),
    "accounting/stores/promises.py": (A("change_of_promise"), A("promise_kinds")),
    "accounting/stores/signing.py": (A("lasting"), C("store_contract")),
    "accounting/stores/sql.py": (A("chain"), C("store_contract"), A("lasting"), A("migration")),
    "accounting/stores/tables.py": (A("chain"), A("lasting"), A("migration")),
    "accounting/subsampled.py": (A("subsampled"), A("margins")),
    "accounting/upkeep.py": (A("migration"), A("change_of_promise")),
    "accounting/zcdp.py": (A("zcdp"), A("margins"), A("ledger")),
    "curator.py": (*CURATOR, "tests/solvers/test_privgene.py", C("parts_contract")),
}
# a server takes long to start, and stores on it share all code but a few lines with those in files; the
# others fit models for longer than all the rest takes
LEFT_OUT = (
    *("postgres", "server", "crashes", "a_constrained_walk", "a_solver_takes_it_or_says_so", "a_wide_model"),
    *("solvers_that_ask_gaussian_questions", "seeded_noise_and_no_privacy", "grid_search_never_looks"),
)
OPTIONS = ("-m", "not slow", "-k", " and ".join(f"not {name}" for name in LEFT_OUT))


@dataclass(frozen=True)
class Mutant:
    """A change of one place, and what became of it."""

    file: str
    line: int
    old: str
    new: str
    outcome: str = ""
    why: str = ""
    date: str = ""
    version: str = ""
    commit: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.file, self.old, self.new


COMPARISONS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is not": "is", "is": "is not",
    "not in": "in", "in": "not in",
}  # fmt: skip
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "**": "*", "%": "*", "<<": ">>", ">>": "<<"}


def edits(tree: ast.AST, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, new text) of every change that is tried."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    content = text.encode()

    def span(node: ast.AST) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def between(left: ast.AST, right: ast.AST, names: dict[str, str]) -> Iterator[tuple[int, int, str]]:
        begin, end = span(left)[1], span(right)[0]
        found = re.search(
            r"is not|not in|\bis\b|\bin\b|\band\b|\bor\b|[<>=!*/+%-]+", content[begin:end].decode()
        )
        if found and found[0] in names:
            yield begin + found.start(), begin + found.end(), names[found[0]]

    def source(node: ast.AST) -> str:
        begin, end = span(node)
        return content[begin:end].decode()

    for node in _code(tree):
        match node:
            case ast.Compare():
                for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
                    yield from between(left, right, COMPARISONS)
            case ast.BinOp():
                yield from between(node.left, node.right, ARITHMETIC)
            case ast.BoolOp():
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from between(left, right, {"and": "or", "or": "and"})
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                yield *span(node), source(node.operand)
            case ast.Constant(value=bool()):
                yield *span(node), str(not node.value)
            case ast.Constant(value=int() | float()):
                yield (
                    *span(node),
                    repr(node.value + 1 if isinstance(node.value, int) else 2 * node.value or 1.0),
                )
            case ast.Return(value=ast.expr()) if not isinstance(node.value, ast.Constant):
                yield *span(node), "return None"
            case ast.If() | ast.IfExp():
                yield *span(node.test), f"not ({source(node.test)})"
            case ast.Expr(value=ast.Call()) | ast.Raise():
                yield *span(node), "pass"


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are run: no annotations, and nothing for type checkers alone."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST):
                continue
            if isinstance(node, ast.JoinedStr) or (
                isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            ):
                continue
            yield node
            yield from _code(node)


def all_mutants() -> dict[Mutant, str]:
    """Return every change, and the whole text of its file after it."""
    found = {}
    for path in sorted(path for group in GROUPS for path in PACKAGE.glob(group)):
        text = path.read_text()
        content, file = text.encode(), str(path.relative_to(PACKAGE))
        for begin, end, new in edits(ast.parse(text), text):
            changed = (content[:begin] + new.encode() + content[end:]).decode()
            first = content.rfind(b"\n", 0, begin) + 1
            last = len(content) if (last := content.find(b"\n", end)) < 0 else last
            after = changed.encode()[first : len(changed.encode()) - (len(content) - last)].decode()
            before, after = (" ".join(part.split()) for part in (content[first:last].decode(), after))
            found[Mutant(file, text[: len(content[:begin].decode())].count("\n") + 1, before, after)] = (
                changed
            )
    return found


def read() -> dict[tuple[str, str, str], Mutant]:
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as file:
        rows = [Mutant(**row | {"line": int(row["line"])}) for row in csv.DictReader(file)]
    return {row.key: row for row in rows}


def write(rows: dict[tuple[str, str, str], Mutant]) -> None:
    draft = RESULTS.with_suffix(".draft")
    with draft.open("w", newline="") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Mutant)], lineterminator="\n")
        table.writeheader()
        table.writerows(
            asdict(row) for row in sorted(rows.values(), key=lambda row: (row.file, row.line, row.new))
        )
    os.replace(draft, RESULTS)


def sample(count: int) -> dict[Mutant, str]:
    """Return the first so many of the seeded sample, which stays the same where the code does."""
    everything = all_mutants()

    def drawn(mutant: Mutant) -> bytes:
        return hashlib.sha256(repr((SEED, mutant.key)).encode()).digest()

    return {mutant: everything[mutant] for mutant in sorted(everything, key=drawn)[:count]}


class Trials(ExitStack):
    """Try changes in a process that has collected all tests and, if need be, in one that imports anew."""

    def __init__(self) -> None:
        super().__init__()
        everything = sorted({test for tests in (*TESTS.values(), LEDGERS) for test in tests})
        self.warm = self.enter_context(Runner(SECONDS, *everything, *OPTIONS, script=warm.__file__))
        self.cold = self.enter_context(Runner(SECONDS))

    def of(self, mutant: Mutant, text: str) -> str:
        """Say what becomes of a change."""
        tests = TESTS.get(mutant.file, LEDGERS)
        change = {"file": mutant.file, "text": text, "tests": tests, "options": OPTIONS}
        runner, end = self.warm, self.warm.outcome(change)
        if end.code == warm.UNCHANGED:
            runner, end = self.cold, self.cold.outcome(change)
        if end.code == FAILED and not self._is_to_blame(change | {"tests": [end.failed]}, runner):
            return "unclear"
        # what cannot even be collected is noticed, too: pytest then ends with 2, 3 or 4
        return {PASSED: "survived", NO_END: "noticed, without end"}.get(end.code, "noticed")

    def _is_to_blame(self, change: dict[str, Any], runner: Runner) -> bool:
        """Tell whether a test fails with the change once more, and not without it."""
        again, without = runner.outcome(change), self.warm.outcome({"tests": change["tests"]})
        return (again.code, without.code) == (FAILED, PASSED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT, help="how many changes of the sample")
    parser.add_argument("--most", type=int, default=None, help="try at most so many of them now")
    options = parser.parse_args()
    whole = {mutant.key for mutant in sample(max(options.count, COUNT))}
    chosen, rows = sample(options.count), read()
    tried = {key for key, row in rows.items() if row.outcome not in ("", "unclear")}
    waiting = [mutant for mutant in chosen if mutant.key not in tried][: options.most]
    print(f"{len(chosen)} changes, {len(waiting)} not tried yet", flush=True)
    with Trials() as trials:
        for place, mutant in enumerate(waiting, 1):
            outcome = trials.of(mutant, chosen[mutant])
            print(f"[{place}/{len(waiting)}] {outcome}: {mutant.file}:{mutant.line} {mutant.new}", flush=True)
            known = read()  # again, because somebody may have written why
            why = known[mutant.key].why if mutant.key in known else ""
            date, (version, commit) = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}", version_and_commit()
            row = replace(mutant, outcome=outcome, why=why, date=date, version=version, commit=commit)
            write({key: kept for key, kept in known.items() if key in whole} | {mutant.key: row})
    rows = [row for key, row in read().items() if key in {mutant.key for mutant in chosen} and row.outcome]
    noticed = sum(row.outcome.startswith("noticed") for row in rows)
    print(f"{noticed} of {len(rows)} changes were noticed: {noticed / max(len(rows), 1):.1%}")


if __name__ == "__main__":
    main()
