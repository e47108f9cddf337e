"""The checks of `privfit verify`: a sentence for each check, and for each fact that cannot be checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from privfit.accounting import Ledger
from privfit.verification.arithmetic import of_charges, of_promises, of_sums
from privfit.verification.check import Check
from privfit.verification.consistency import of_file, of_noise, of_unit, of_words
from privfit.verification.reading import Document, read_document
from privfit.verification.stores import of_ledger

__all__ = ["BEYOND", "Check", "Verification", "verify"]

# Facts that cannot be checked from a file.
BEYOND = (
    "That one record, or person, moves each sum by no more than the sensitivity in `charges` is proved in "
    "docs/privacy.md and tested with the program, and cannot be checked from a file.",
    "That privfit made the file, with this noise, from these records alone, and that facts declared as "
    "public are public, cannot be checked from a file. The publisher answers for it.",
)


@dataclass(frozen=True)
class Verification:
    """The results of all checks of a promise.

    Attributes
    ----------
    checks : tuple of Check
        The checks in order.
    """

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return all(check.holds is not False for check in self.checks)

    def __str__(self) -> str:
        return "\n".join(map(str, self.checks))


def verify(path: str | Path, *, ledger: Ledger | None = None) -> Verification:
    """Check a promise without the records, with an independent accountant.

    Parameters
    ----------
    path : str or Path
        A model file, a file of scores that `privfit evaluate --out` wrote, or a file of evidence.
    ledger : Ledger, optional
        The ledger in a file or on a server that paid, according to the evidence. The check is whether it
        holds the charge under the seal of the evidence.

    Returns
    -------
    verification : Verification
        A sentence for each check; `holds` says whether none failed.

    Raises
    ------
    ValueError
        If the file holds neither a model nor scores nor evidence.
    """
    return Verification(tuple(_checks(read_document(path), ledger)))


def _checks(document: Document, ledger: Ledger | None) -> Iterator[Check]:
    evidence, privacy = document.evidence, document.privacy
    if evidence is None:
        promise = None if privacy is None else privacy["promise"]
        if document.is_of_later_version:
            yield Check("evidence", None, "The evidence is of a later version; update privfit to check it.")
        elif promise is None:
            yield Check("evidence", False, "Nothing was promised: there is no privacy to check.")
        else:
            yield Check(
                "evidence",
                None,
                "The file holds no list of charges: an earlier version made the model, or somebody removed "
                "the evidence. Only the facts in the file are checked.",
            )
        if privacy is not None and promise is not None:
            yield from of_promises(promise, privacy["account"])
            yield from of_sums(promise, privacy["spending"].values(), "kinds of charges")
    else:
        yield from of_promises(evidence["promise"], evidence["shared_ledger"])
        yield from of_sums(evidence["promise"], (c["rho"] for c in evidence["charges"]), "charges")
        yield from of_charges(evidence)
        yield of_unit(evidence)
        yield of_noise(evidence)
        yield of_words(evidence)
        yield from of_file(document, evidence)
    yield of_ledger(evidence, ledger)
    for sentence in BEYOND:
        yield Check("beyond", None, sentence)
