"""The glossary: words of ours are explained, and each is used where its entry says."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
GLOSSARY = (DOCS / "glossary.md").read_text()
ENTRIES = dict(re.findall(r"^- \*\*(.+?)\*\*: (.+?)(?=^- |^#|\Z)", GLOSSARY, re.DOTALL | re.MULTILINE))
# words that the field does not have, or uses otherwise; whoever brings in another one adds it here
OURS = (
    *("bookkeeping", "claim", "curator", "custodian", "drift", "family", "ledger", "look", "portion"),
    *("promise", "question", "reach", "reservation", "seal", "settle", "view", "walk"),
)


@pytest.mark.parametrize("word", OURS)
def test_a_word_of_ours_is_explained(word):
    assert word in ENTRIES


@pytest.mark.parametrize("word", ENTRIES)
def test_an_entry_is_short_and_links_to_where_the_word_is_used(word):
    entry = " ".join(ENTRIES[word].split())
    linked = re.findall(r"\]\(([\w-]+\.md)", entry)
    assert linked
    words = re.sub(r"\(?\[[^]]*\]\([^)]*\)[,)]*", "", entry)
    assert len(words) < 400
    for name in word.split(", "):
        assert any(name in (DOCS / page).read_text().lower() for page in linked), linked
