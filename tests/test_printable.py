"""What people read: a stranger's names are shown as they are, and no terminal obeys them."""

import unicodedata

import numpy as np
import pytest

from privfit import DPLogisticRegression, Schema
from privfit.cli.output import columns
from privfit.printable import brief, padded, printable, terminal_width
from privfit.schema import Categorical, Label, Numeric

EVIL = "a\x1b[31m\x9b2J\x07\r\n\u202e"


@pytest.mark.parametrize("text", ["Zürich", "naïve\u00a0?", "日本", "می\u200cشد", "👩\u200d🔬", "שלום", ""])
def test_text_of_any_language_stays_as_it_is(text):
    assert printable(text) == text


def test_every_character_that_acts_is_escaped():
    # all that Unicode calls control, surrogate or line separator, and all that turns the direction of writing
    for code in [*range(0x3000), *range(0xD800, 0xE000), 0xFEFF, 0xE0001]:
        character = chr(code)
        acts = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        if acts or unicodedata.bidirectional(character) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI"):
            assert printable(character).isascii(), hex(code)
            assert printable(character).isprintable(), hex(code)


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("Bern", 4), ("Łódź", 4), ("Zu\u0308rich", 6), ("東京", 4), ("ｶﾅ", 2)]
)
def test_a_text_is_as_wide_as_a_terminal_shows_it(text, width):
    assert terminal_width(text) == width
    assert padded(text, 8) == text + " " * (8 - width)
    assert padded(text, 8, right=True) == " " * (8 - width) + text


def test_tables_are_aligned_beside_names_of_wide_characters():
    lines = columns([("town", "weight"), ("東京", "+0.45"), ("Genève", "-0.03")]).split("\n")
    assert [terminal_width(line) for line in lines] == [14, 14, 14]


def test_a_sentence_that_quotes_a_megabyte_keeps_its_beginning_and_its_remedy():
    told = brief(f"Column {'x' * 10**6!r} is not there; correct the schema.")
    assert len(told) == 2000
    assert told.startswith("Column 'xxx")
    assert told.endswith("xxx' is not there; correct the schema.")


def test_a_finding_does_not_print_a_megabyte():
    name = "x" * 10**6
    findings = Schema([Numeric(name, 0, 1)], Label("ill", ["no", "yes"])).check(
        {name: ["?"] * 20, "ill": ["no"] * 20}
    )
    assert findings.found[0].column == name
    assert len(str(findings)) < 10_000


def test_weights_and_findings_of_hostile_names_print_line_by_line():
    schema = Schema(
        [Numeric(EVIL, 0, 1, unit=EVIL), Categorical("c", [EVIL, "b"], unit=EVIL)],
        Label("y", [EVIL + "0", EVIL + "1"]),
    )
    rng = np.random.default_rng(0)
    table = {EVIL: rng.uniform(0, 2, 200), "c": [EVIL, "b"] * 100, "y": [EVIL + "1", EVIL + "0"] * 100}
    weights = DPLogisticRegression(schema=schema).fit(table).weights_
    findings = schema.check(table | {"d" + EVIL: [1] * 200})
    assert len(findings.found) == 2
    for shown in (weights, findings):
        assert all(line.isprintable() for line in str(shown).split("\n"))
    assert sum(r"\x1b[31m" in line for line in str(findings).split("\n")) == len(findings.found)
