"""The sentences about claims are those of docs/privacy.md: every claim is proved, every question has one."""

import re
from pathlib import Path

import privfit.questions as questions
from privfit.models.claims import CLAIMS, ELSEWHERE, THEOREMS, sentence_of

ROOT = Path(__file__).parents[2]
PROVED = set(re.findall(r"^\*\*([A-Z]\d+)\b", (ROOT / "docs" / "privacy.md").read_text(), re.MULTILINE))


def test_every_claim_of_the_register_is_proved():
    assert set(CLAIMS) <= PROVED
    assert {claim for claims in THEOREMS.values() for claim in claims} <= set(CLAIMS)


def test_every_question_that_can_be_charged_has_a_sentence():
    folder = Path(questions.__file__).parent
    used = set(re.findall(r'"(Q\d+)"', "".join(path.read_text() for path in folder.glob("*.py"))))
    assert used
    assert used <= set(CLAIMS)


def test_every_solver_that_opens_the_data_names_its_claim():
    folder = Path(questions.__file__).parents[1] / "solvers"
    named = re.findall(
        r'claim(?:: ClassVar\[str\])? ?= ?"(\w+)"', "".join(p.read_text() for p in folder.glob("*.py"))
    )
    assert set(named) == {"O1", "O2", "U1", "G1", "G2"}
    assert set(named) <= set(CLAIMS)


def test_a_claim_of_another_version_is_looked_up_elsewhere():
    assert sentence_of("Q999") == ELSEWHERE
