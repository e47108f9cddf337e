"""What strangers may write is damaged 200,000 times; all else that hypothesis feeds, fifty times as often.

Examples are other ones in every run. Each kind of input gets the same number of the 200,000, or of as many as
the environment variable PRIVFIT_FUZZ_CASES says. How many were tried is the column `cases` of results.csv.
"""

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUZZED = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "tests").rglob("test_*.py")
    if re.search(r"^@given|^class .*RuleBasedStateMachine", path.read_text(), re.MULTILINE)
)
FILES = "tests/hostile/test_fuzzed_files.py::test_a_damaged_{}".format
EVIDENCE = "tests/verification/test_hostile_evidence.py::test_any_{}".format
PARQUET = "tests/hostile/test_fuzzed_files.py::test_any_parquet_{}".format
RECORDS = "tests/schema/test_hostile_record.py::test_record_{}".format
# what is damaged, and the tests that do so
TARGETS = {
    "schema files": (
        FILES("schema_is_read_or_refused_in_one_sentence"),
        FILES("schema_of_a_program_is_read_or_refused_in_one_sentence"),
    ),
    "model files": (FILES("model_file_is_read_or_refused_in_one_sentence"),),
    "evidence": (EVIDENCE("entry_may_hold_anything"), EVIDENCE("file_is_refused_in_a_sentence")),
    "CSV files": (FILES("csv_is_fitted_or_refused_for_free"),),
    "Parquet files": (PARQUET("file_is_fitted_or_refused_for_free"),),
    "single records": (
        RECORDS("of_a_text_file_changes_no_other_row"),
        RECORDS("in_memory_changes_no_other_row_unless_the_table_is_refused"),
    ),
    "rows of stores": ("tests/hostile/test_fuzzed_stores.py::test_damaged_rows_never_give_budget_back",),
    "command lines": (
        "tests/hostile/test_fuzzed_commands.py::test_a_damaged_command_line_does_its_work_or_says_why_not",
    ),
}
CASES, PARTS = int(os.environ.get("PRIVFIT_FUZZ_CASES", "200000")), 5
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-m", "hypothesis")


def told(*words):
    """Run pytest, and return what it prints."""
    ran = subprocess.run([*PYTEST, *words], cwd=ROOT, check=False, capture_output=True, text=True)
    print(ran.stdout, ran.stderr)
    assert ran.returncode == 0
    return ran.stdout


def number_of(tests):
    """Return how many tests these are, of which one may have several sets of parameters."""
    return sum("::" in line for line in told("--collect-only", *tests).splitlines())


def tried(statistics):
    """Return the number of examples that the statistics of hypothesis report."""
    return sum(map(int, re.findall(r"^ +- (\d+) passing", statistics, re.MULTILINE)))


def fuzz(tests, cases):
    """Try so many cases, the same number with each of the tests, and return how many were tried."""
    each = math.ceil(cases / number_of(tests))
    return tried(told("--examples", str(each), "--hypothesis-show-statistics", *tests))


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("target", TARGETS)
def test_damaged_input_does_no_harm(target, part, record_property):
    share = CASES / PARTS / len(TARGETS)
    cases = fuzz(TARGETS[target], share)
    assert cases >= share
    record_property("cases", cases)


def test_every_hostile_test_is_of_a_target():
    named = {test for tests in TARGETS.values() for test in tests}
    found = {
        f"{file}::{name}"
        for file in FUZZED
        if "hostile" in file
        for name in re.findall(r"^@given\((?:.|\n)*?^def (\w+)", (ROOT / file).read_text(), re.MULTILINE)
    }
    assert named == found


@pytest.mark.deep
@pytest.mark.parametrize("file", [file for file in FUZZED if "hostile" not in file])
def test_fifty_times_as_many_examples_find_nothing(file, record_property):
    record_property("cases", tried(told("--more-examples", "50", "--hypothesis-show-statistics", file)))


@pytest.mark.deep
@pytest.mark.parametrize("shift", [1, 2, 3])
@pytest.mark.parametrize("folder", ["estimators", "metrics", "preprocessing", "solvers", "statistical"])
def test_other_seeds_give_the_same_verdicts(folder, shift):
    options = ["-q", "-p", "no:cacheprovider", "--seed-shift", str(shift)]
    ran = subprocess.run([sys.executable, "-m", "pytest", *options, f"tests/{folder}"], cwd=ROOT, check=False)
    assert ran.returncode == 0
