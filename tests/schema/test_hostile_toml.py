"""TOML that is meant to do harm: a schema, or one sentence, and soon."""

import pytest

from privfit import Schema

GOOD = """
[[columns]]
name = "a"
type = "numeric"
low = 0
high = 1

[label]
name = "y"
classes = ["no", "yes"]
"""
REFUSED = {
    "lists in lists": ("x = " + 100_000 * "[", "has lists or tables that are nested too deeply"),
    "tables in tables": ("x = " + 3_000 * "{a=" + "1" + 3_000 * "}" + GOOD, "that are nested too deeply"),
    # Python's parser would take gigabytes for these
    "a key of parts": ("a" + 100_000 * ".a" + " = 1" + GOOD, "has a key of more than 50 parts"),
    "a table of parts": ("[" + 100_000 * "a . " + "a]" + GOOD, "has a key of more than 50 parts"),
    "a key of quoted parts": ("'a'" + 100_000 * '."a"' + " = 1" + GOOD, "has a key of more than 50 parts"),
    "parts in a table": ("x = {a" + 100_000 * ".a" + " = 1}" + GOOD, "has a key of more than 50 parts"),
    "digits": (GOOD.replace("high = 1", "high = " + 5_000 * "9"), "has an integer of thousands of digits"),
    "the largest number": (GOOD.replace("high = 1", "high = 1e400"), "must be finite numbers"),
    "no number": (GOOD.replace("high = 1", "high = nan"), "must be finite numbers"),
    "a key twice": (
        GOOD.replace("high = 1", "high = 1\nhigh = 2"),
        "TOML: Cannot overwrite a value",
    ),
    "half a character": (
        GOOD.replace('"a"', r'"\ud800"'),
        "TOML: Escaped character is not a Unicode",
    ),
    "a key that clears the screen": (
        GOOD.replace("high = 1", r"high = 1" + "\n" + r'"\u001b[2J\nx" = 1'),
        r"unknown key '\\x1b\[2J\\nx'",
    ),
    "a pattern for a format": (
        GOOD.replace("numeric", "date").replace("high = 1", 'high = 2\nformat = "(a+)+$"'),
        "column 'a'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_toml_gets_one_sentence(case, tmp_path):
    text, message = REFUSED[case]
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as refusal:
        Schema.from_toml(path)
    assert str(refusal.value).isprintable()
    assert refusal.value.__cause__ is None


def test_a_file_that_is_no_text_gets_one_sentence(tmp_path):
    (tmp_path / "schema.toml").write_bytes(GOOD.encode().replace(b'"a"', b'"\xff"'))
    with pytest.raises(ValueError, match="is not UTF-8 text"):
        Schema.from_toml(tmp_path / "schema.toml")


def test_a_mark_that_editors_put_in_front_and_long_lists_of_numbers_are_read(tmp_path):
    numbers = ", ".join(f"{i}.5" for i in range(2_000))
    text = GOOD + f'positive = "yes"\n# {numbers} {"a." * 20}\n'
    (tmp_path / "schema.toml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert Schema.from_toml(tmp_path / "schema.toml").label.positive == "yes"


@pytest.mark.parametrize("place", ["name", "positive"])
def test_a_refusal_that_quotes_a_list_of_long_texts_stays_a_sentence(place):
    facts = {
        "columns": [{"name": "x", "type": "numeric", "low": 0, "high": 1}],
        "label": {"name": "y", "classes": ["no", "yes"]},
    }
    (facts["columns"][0] if place == "name" else facts["label"])[place] = 3 * [3_000 * "a"]
    with pytest.raises(ValueError, match=r"The schema: .* \['aaa.*'\]") as refused:
        Schema.from_dict(facts)
    assert len(str(refused.value)) == 2_000
