"""Bugs that are planted in the package, each with the tests of which one has to notice it.

Every bug of planted_bugs.toml breaks a promise of docs/privacy.md: a wrong constant, a look that is not paid
for, a bound that is too small. `old` stands once in its file. Whoever changes such a line changes it there,
too. Ten of those that a single test notices in seconds are tried every day: other ones after each change of
the package, and the same ones as long as it stays the same.
"""

import hashlib
import tomllib
from pathlib import Path

import numpy as np
import pytest
from planting import FAILED, PACKAGE, PASSED, ROOT, changed_text, outcomes

BUGS = {
    bug.pop("name"): bug
    for bug in tomllib.loads(Path(__file__).with_name("planted_bugs.toml").read_text())["bug"]
}
PLACES = {
    "accounting", "ledgers", "stores", "curator", "mechanisms", "questions", "solvers", "classes",
    "regression", "weights", "people", "intervals", "curves", "scores", "search", "blocks", "parts", "pages",
    "files", "evidence", "audits",
}  # fmt: skip
SAMPLE = 10
SEED = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(PACKAGE.rglob("*.py")))).hexdigest()[:8]


def planted(bug):
    """Return the change that plants a bug, with the test that has to notice it."""
    return {
        "file": bug["file"],
        "text": changed_text(bug["file"], bug["old"], bug["new"]),
        "tests": bug["tests"],
    }


def test_there_are_bugs_of_every_place():
    assert len(BUGS) >= 60
    assert {bug["place"] for bug in BUGS.values()} == PLACES


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_has_its_place(name):
    """Otherwise the code was changed: change `old` and `new` of this bug."""
    bug = BUGS[name]
    assert changed_text(bug["file"], bug["old"], bug["new"])
    assert bug["old"] != bug["new"]
    for named in bug["tests"]:
        file, _, test = named.partition("::")
        assert f"def {test.partition('[')[0]}" in (ROOT / file).read_text()


def sample(seed):
    """Return ten quick bugs, no two of which are of the same place."""
    quick = [name for name, bug in BUGS.items() if bug.get("quick")]
    shuffled = np.random.default_rng(int(seed, 16)).permutation(quick)
    return list({BUGS[name]["place"]: str(name) for name in shuffled}.values())[:SAMPLE]


def test_a_sample_has_ten_bugs_of_ten_places_and_sooner_or_later_every_quick_one():
    samples = [sample(f"{number:x}") for number in range(200)]
    assert all(len({BUGS[name]["place"] for name in names}) == len(names) == SAMPLE for names in samples)
    assert {name for names in samples for name in names} == {name for name in BUGS if BUGS[name].get("quick")}
    assert {bug["place"] for bug in BUGS.values() if bug.get("quick")} == PLACES


@pytest.mark.slow
@pytest.mark.parametrize("seed", [SEED])
def test_a_sample_of_the_planted_bugs_is_noticed(seed):
    names = sample(seed)
    found = dict(zip(names, outcomes(planted(BUGS[name]) for name in names), strict=True))
    assert {name: end.code for name, end in found.items()} == dict.fromkeys(names, FAILED)


@pytest.mark.deep
def test_the_package_itself_passes_the_tests_that_notice_bugs():
    tests = sorted({test for bug in BUGS.values() for test in bug["tests"]})
    (end,) = outcomes([{"tests": tests}], seconds=1200.0)
    assert (end.code, end.failed) == (PASSED, "")


@pytest.mark.deep
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_noticed(name):
    (end,) = outcomes([planted(BUGS[name])])
    assert end.code == FAILED
