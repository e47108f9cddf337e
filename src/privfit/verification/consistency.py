"""Checks that a document is consistent: unit, texts, and the statement of the model beside the evidence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from privfit.estimators.evidence import evidence_of, statement_of
from privfit.models.published import versions_of_release
from privfit.verification.accountant import exact_sum, nearest
from privfit.verification.check import Check
from privfit.verification.reading import Document

WORDS = ("claims", "nist_sp_800_226", "registry")

# The entry of the evidence for each name in the statement that states the same fact.
_SAID_TWICE = {
    "promise": "promise",
    "account": "shared_ledger",
    "relation": "adjacency",
    "assumptions": "public",
    "origin": "origin",
}


def of_unit(evidence: dict[str, Any]) -> Check:
    """Check that unit, adjacency, promise and shared ledger are about the same."""
    person_id, shared = evidence["promise"].get("person_id"), evidence["shared_ledger"]
    unit = "one record" if person_id is None else "all records of one person"
    agree = (
        evidence["adjacency"] == f"add or remove {unit}"
        and (evidence["records_per_person"] is None) == (person_id is None)
        and (shared is None or shared.get("person_id") == person_id)
    )
    if agree:
        return Check("unit", True, f"Promise, adjacency and ledger are about {unit}.")
    return Check(
        "unit", False, "Promise, adjacency, records per person and ledger are about different units."
    )


def of_noise(evidence: dict[str, Any]) -> Check:
    """Check that the evidence states secure noise."""
    if evidence["secure_noise"]:
        return Check("random numbers", True, "The noise is stated to come from the system's entropy.")
    return Check("random numbers", False, "The noise was seeded: anybody who guesses the seed can remove it.")


def of_words(evidence: dict[str, Any]) -> Check:
    """Check that the texts of the evidence follow from its facts, if this version wrote them."""
    if evidence["versions"].get("privfit") != versions_of_release()["privfit"]:
        return Check(
            "words", None, "Another version of privfit wrote the words; `privfit evidence` writes them again."
        )
    try:
        again = evidence_of(statement_of(evidence))
    except (ValueError, TypeError, ArithmeticError):
        return Check("words", None, "The words cannot be computed again, because the promise makes no sense.")
    different = [name for name in WORDS if again is None or again[name] != evidence[name]]
    if different:
        return Check("words", False, f"Words that do not follow from the facts: {' and '.join(different)}.")
    return Check("words", True, "The words of the evidence follow from its facts.")


def of_file(document: Document, evidence: dict[str, Any]) -> Iterator[Check]:
    """Check that the statement of a model, or of scores, says the same as the evidence beside it."""
    privacy = document.privacy
    if privacy is None:
        return
    different = [
        name
        for name, other in _SAID_TWICE.items()
        if privacy.get(name, {} if name == "origin" else None) != evidence[other]
    ]
    if privacy.get("records_per_person") != evidence["records_per_person"]:
        different.append("records_per_person")
    if not _same_spending(privacy["spending"], evidence["charges"]):
        different.append("spending")
    days = [charge["day"] for charge in evidence["charges"]]
    if days[:1] != [privacy.get("origin", {}).get("day")][: len(days)]:
        different.append("day")
    said = f"The statement of the {document.kind} says"
    yield Check(
        "statement",
        not different,
        f"{said} something else than the evidence about: {', '.join(different)}."
        if different
        else f"{said} the same as the evidence.",
    )
    stepped = exact_sum(step[name] for step in document.steps for name in ("rho_gradient", "rho_selection"))
    within = stepped <= exact_sum(charge["rho"] for charge in evidence["charges"]) * (1 + 2**-40)
    if document.steps:
        yield Check(
            "steps",
            within,
            f"The {len(document.steps)} steps of the fit cost rho = {nearest(stepped):.4g}, "
            f"{'no more' if within else 'MORE'} than all charges.",
        )


def _same_spending(spending: dict[str, float], charges: list[dict[str, Any]]) -> bool:
    paid: dict[str, list[float]] = {}
    for charge in charges:
        paid.setdefault(charge["what"], []).append(charge["rho"])
    return set(paid) == set(spending) and all(
        math.isclose(nearest(exact_sum(rhos)), spending[what], rel_tol=1e-12) for what, rhos in paid.items()
    )
