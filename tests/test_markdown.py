import re

import markdown_lines
import pytest
from markdown_lines import ROOT, broken, pages, too_long

LONG = " ".join(["word"] * 40)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_prose_end_at_100_characters(page):
    found = list(too_long(page.read_text()))
    assert not found, "run `python tests/markdown_lines.py`"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_code_fit_the_page(page):
    # the site shows 100 characters; blocks without a language are output, which scrolls
    blocks = re.findall(r"^```(?:python|sh|toml)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert not [line for block in blocks for line in block.splitlines() if len(line) > 100]


def test_what_cannot_or_need_not_be_broken_is_left():
    address = "https://example.org/" + "x" * 120
    for line in (f"| {LONG} |", f"```\n{LONG}\n```", f"- {address}", f"# {LONG}", address):
        assert not list(too_long(line))
        assert broken(line + "\n") == line + "\n"
    assert [number for number, _ in too_long(f"short\n\n{LONG}\n")] == [3]


def test_breaking_keeps_the_words_and_the_lists():
    page = f"one\ntwo\n\n- {LONG}\n  {LONG}\n- item\n\n1. {LONG} 2. {LONG}\n\n| {LONG} |\n"
    done = broken(page)
    assert done.split() == page.split()
    assert not list(too_long(done))
    assert done.startswith("one\ntwo\n\n- word")
    assert "\n- item\n" in done
    assert "\n2. " not in done  # the end of a sentence has not become a list
    assert broken(done) == done


def test_every_page_is_looked_at():
    names = {page.name for page in markdown_lines.pages()}
    assert {"README.md", "CHANGELOG.md", "privacy.md", "claims.md", "summary.md"} <= names


def test_every_table_of_the_research_page_says_what_made_it():
    page = (ROOT / "docs" / "research.md").read_text()
    sections = re.split(r"^(?=#{1,3} )", page, flags=re.MULTILINE)
    assert len(sections) > 20
    for section in sections:
        if "\n|---" in section or "\n| ---" in section:
            made_by = re.search(r"\*made by\*|python benchmarks/|`privfit |`tests/", section, re.IGNORECASE)
            assert made_by, section.splitlines()[0]
