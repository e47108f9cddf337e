"""Plant every bug of planted_bugs.py in a copy of the package: the tests that are named there notice it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from planted_bugs import BUGS

ROOT = Path(__file__).parents[2]
PASSED, FAILED = 0, 1  # exit codes of pytest; others mean that it could not run the tests


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_has_its_place(bug):
    """Otherwise the code was changed: change `old` and `new` of this bug in tests/deep/planted_bugs.py."""
    file, old, new, tests = BUGS[bug]
    assert (ROOT / "src" / "privfit" / file).read_text().count(old) == 1
    assert old != new
    assert all((ROOT / test).exists() for test in tests)


def exit_code(tests, folder, change=None):
    """Return how tests of a copy of the package end, in one file of which a string is replaced."""
    shutil.copytree(
        ROOT / "src" / "privfit", folder / "privfit", ignore=shutil.ignore_patterns("__pycache__")
    )
    if change is not None:
        file, old, new = change
        path = folder / "privfit" / file
        path.write_text(path.read_text().replace(old, new))
    # a cache of its own, because compiled loops are not compiled anew when one that they call changes
    environment = os.environ | {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


@pytest.mark.deep
def test_the_package_itself_passes_the_tests_that_notice_bugs(tmp_path):
    assert exit_code(sorted({test for bug in BUGS.values() for test in bug.tests}), tmp_path) == PASSED


@pytest.mark.deep
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_noticed(bug, tmp_path):
    *change, tests = BUGS[bug]
    assert exit_code(tests, tmp_path, change) == FAILED
