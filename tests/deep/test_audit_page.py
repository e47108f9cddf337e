"""What docs/audit.md and docs/security.md say was run is what the files of results say."""

import re
from dataclasses import replace
from hashlib import sha256

import audit_page
import pytest
import run
from weak_attacks import WEAK

from privfit.auditing.run import catalogue

FOUND = {row.name: row for row in audit_page.findings()}


@pytest.mark.parametrize("page", audit_page.PAGES, ids=lambda page: page.name)
def test_a_page_is_made_of_the_results(page):
    results = audit_page.Results(run.read(run.RESULTS))
    assert page.read_text() == audit_page.filled(page.read_text(), results), (
        "run: python tests/deep/audit_page.py"
    )


def test_every_part_is_on_a_page():
    text = "".join(page.read_text() for page in audit_page.PAGES)
    assert set(re.findall(r"<!-- deep: ([\w-]+) -->", text)) == set(audit_page.PARTS)


def test_everything_was_audited_and_nothing_more_was_proven_than_is_claimed():
    assert list(FOUND) == list(catalogue())
    for row in FOUND.values():
        assert float(row.proven_epsilon) <= float(row.claimed_epsilon) < float(row.control_epsilon)


def test_cases_that_are_weak_have_a_reason_and_the_others_have_power():
    few = {row.name for row in FOUND.values() if float(row.shift) < 0.5 * float(row.claimed_mu)}
    assert few <= set(WEAK) <= set(FOUND)


def test_the_chart_is_made_of_the_findings():
    digest = sha256((audit_page.ROOT / "benchmarks" / "audit.csv").read_bytes()).hexdigest()
    assert digest in (audit_page.ROOT / "docs" / "pictures" / "audit.svg").read_text()


ROW = run.Row("", "passed", "300", "12", "2026-11-19T09:00Z", "0.2.0", "abc1234", "now")


def test_a_bug_that_nothing_noticed_and_one_that_was_never_planted_are_named():
    first, second, *others = (bug["name"] for bug in audit_page.BUGS)
    rows = {audit_page.PLANTED(name): ROW for name in others}
    rows[audit_page.PLANTED(first)] = replace(ROW, outcome="failed")
    said = " ".join(audit_page.bugs(audit_page.Results(rows)).split())
    assert f"a test noticed {len(others)}, and none noticed: {first}." in said
    assert f"Not planted yet: {second}." in said


def test_failures_are_no_cases():
    assert audit_page.cases([ROW, replace(ROW, outcome="failed", cases="")]) == "300, some failed"
    assert audit_page.cases([]) == "0"
    assert audit_page.when([]) == "never"
