"""Every Python snippet in the README and in docs/ runs, block after block, as a reader would type it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text())], ids=lambda p: p.name)
def test_snippets_run(page):
    namespace: dict[str, object] = {}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_and_named_files_exist(page):
    text = page.read_text()
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (page.parent / target).exists(), target
    for named in re.findall(r"`((?:tests|src|benchmarks|docs)/[\w./-]+)`", text):
        assert (ROOT / named).exists(), named


def test_every_claim_cited_in_the_code_is_stated():
    stated = set(re.findall(r"\*\*([A-Z]\d+)\b", (ROOT / "docs" / "privacy.md").read_text()))
    cited = set()
    for source in (ROOT / "src").rglob("*.py"):
        cited |= set(re.findall(r"\(([GNOPQSU]\d+)\b", source.read_text()))
    assert cited
    assert cited <= stated
