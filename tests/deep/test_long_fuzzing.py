"""Every test that hypothesis feeds, with fifty times as many examples, and other ones in every run."""

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


@pytest.mark.deep
@pytest.mark.parametrize("file", FUZZED)
def test_fifty_times_as_many_examples_find_nothing(file):
    options = ["-q", "-p", "no:cacheprovider", "-m", "hypothesis", "--more-examples", "50"]
    ran = subprocess.run([sys.executable, "-m", "pytest", *options, file], cwd=ROOT, check=False)
    assert ran.returncode == 0


@pytest.mark.deep
@pytest.mark.parametrize("shift", [1, 2, 3])
@pytest.mark.parametrize("folder", ["estimators", "metrics", "preprocessing", "solvers", "statistical"])
def test_other_seeds_give_the_same_verdicts(folder, shift):
    options = ["-q", "-p", "no:cacheprovider", "--seed-shift", str(shift)]
    ran = subprocess.run([sys.executable, "-m", "pytest", *options, f"tests/{folder}"], cwd=ROOT, check=False)
    assert ran.returncode == 0
