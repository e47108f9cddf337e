"""Files of strangers with evidence: one sentence for each, never a traceback, and nothing in them is run."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privfit import DPLogisticRegression, load
from privfit.verification import verify

X = np.random.default_rng(0).uniform(0, 1, (100, 2))
MODEL = DPLogisticRegression(classes=(0, 1), feature_bounds=(0, 1), n_records=100).fit(X, X[:, 0] > 0.5)
EVIDENCE = MODEL.evidence()
DOCUMENTS = {"evidence": EVIDENCE}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    MODEL.save(folder / "model.json")
    DOCUMENTS["model"] = json.loads((folder / "model.json").read_text())
    return folder / "hostile.json"


def places(document, path=()):
    """Yield where each entry of a document is."""
    for key, held in document.items() if isinstance(document, dict) else enumerate(document):
        yield (*path, key)
        if isinstance(held, dict | list):
            yield from places(held, (*path, key))


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -1.0, 5e-324, 1e-300, 1e300, 1.7e308, 10**307]),
    st.text(max_size=20),
    st.sampled_from(["\x1b[2J", "Q1", "gaussian", "direct", "concentrated", "{0.__class__}", "a" * 5000]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
)


def sentences(path):
    """Return what is said of a file; anything but a refusal or checks is an error."""
    try:
        return [check.sentence for check in verify(path).checks]
    except ValueError as error:
        return [str(error), "" if "holds no evidence" in str(error) else "\x00"]


@settings(max_examples=20, deadline=None)
@given(data=st.data(), whole=st.booleans())
def test_any_entry_may_hold_anything(place, data, whole):
    name = "model" if whole else "evidence"
    document = json.loads(json.dumps(DOCUMENTS[name]))
    inside = "evidence" if whole else None
    found = [path for path in places(document) if inside is None or path[0] in (inside, "privacy", "steps")]
    for _ in range(data.draw(st.integers(1, 3))):
        path, value = data.draw(st.sampled_from(found)), data.draw(VALUES)
        held = document
        try:
            for key in path[:-1]:
                held = held[key]
            held[path[-1]] = value
        except (TypeError, KeyError, IndexError):  # an earlier change removed it
            continue
    place.write_text(json.dumps(document))
    assert all(sentence.isprintable() for sentence in sentences(place))


@settings(max_examples=20, deadline=None)
@given(text=st.text(max_size=200) | st.binary(max_size=200))
def test_any_file_is_refused_in_a_sentence(place, text):
    place.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ValueError, match="holds no evidence"):
        verify(place)


TEXTS = {
    "nesting": "[" * 100_000,
    "a repeated key": '{"format": "privfit-evidence", "format": "privfit-evidence"}',
    "not a number": '{"format": "privfit-evidence", "version": NaN}',
    "no version": '{"format": "privfit-evidence"}',
    "a list": "[]",
    "scores without a promise": '{"privacy": {}}',
    "scores with half a promise": '{"privacy": {"promise": {"kind": "gaussian"}}, "evidence": {}}',
}


@pytest.mark.parametrize("name", TEXTS)
def test_odd_files_are_refused(name, place):
    place.write_text(TEXTS[name])
    with pytest.raises(ValueError, match="holds no evidence"):
        verify(place)


@pytest.mark.parametrize(
    ("levels", "why"),
    [(99, "breaks the rule 'type'"), (100, "in more than 100 others"), (800, "in more than")],
)
def test_files_that_are_nested_nearly_as_deeply_as_can_be_parsed_are_refused(levels, why, place):
    """What reads them after the parser needs as many levels of Python's stack, and a few more."""
    evidence = json.dumps(EVIDENCE | {"claims": {"P1": 0}})
    place.write_text(evidence.replace('{"P1": 0}', '{"P1": ' + "[" * levels + "]" * levels + "}"))
    with pytest.raises(ValueError, match=f"holds no evidence: .*{why}"):
        verify(place)


def test_a_file_that_is_too_large_is_not_read(place, monkeypatch):
    place.write_text(json.dumps(EVIDENCE))
    assert verify(place).checks
    monkeypatch.setattr("privfit.verification.reading.LARGEST_FILE", place.stat().st_size - 1)
    with pytest.raises(ValueError, match="holds no evidence: it is too large"):
        verify(place)


def test_a_model_with_broken_evidence_is_not_loaded(place):
    document = json.loads(json.dumps(DOCUMENTS["model"]))
    document["evidence"]["charges"] = "none"
    place.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"is no model file: its entry evidence/charges breaks the rule"):
        load(place)


def test_what_a_charge_says_cannot_act_on_a_terminal(place):
    document = json.loads(json.dumps(DOCUMENTS["model"]))
    document["evidence"]["charges"][0]["what"] = "\x1b[2Jgradient"
    place.write_text(json.dumps(document))
    assert "\x1b" not in json.dumps(load(place).evidence(), ensure_ascii=False)


def test_what_a_claim_is_called_cannot_act_on_a_terminal(place):
    """A release of its own: its claim is quoted, and could begin a line that says that all is well."""
    evidence = json.loads(json.dumps(EVIDENCE))
    evidence["charges"][0] |= {"noise": "", "sensitivity": None, "scale": None, "claim": "\x1b[2J\nok"}
    place.write_text(json.dumps(evidence))
    verification = verify(place)
    assert any("\\x1b[2J\\nok" in check.sentence for check in verification.checks)
    assert len(str(verification).splitlines()) == len(verification.checks)
    assert str(verification).replace("\n", "").isprintable()
