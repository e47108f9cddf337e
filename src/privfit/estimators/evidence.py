"""Evidence: the facts by which an outsider can judge a promise, as one JSON document, and its reader.

The document holds facts (numbers and declarations) and texts. The texts are computed from the facts alone, so
`privfit verify` can compute them again and compare.
"""

from __future__ import annotations

from typing import Any

from privfit.accounting import Entry, Promise
from privfit.accounting import promise as promises
from privfit.accounting.amounts import written_up
from privfit.accounting.budget import in_words
from privfit.estimators.statement import PrivacyStatement
from privfit.models.claims import THEOREMS, sentence_of
from privfit.models.origin import Origin
from privfit.models.published import ONE_RECORD_EACH
from privfit.models.receipt import Receipt
from privfit.models.registry_entry import registry_entry
from privfit.printable import printable

FORMAT, VERSION = "privfit-evidence", 1


def evidence_of(statement: PrivacyStatement) -> dict[str, Any] | None:
    """Return the evidence for a promise in a form that JSON can hold.

    Parameters
    ----------
    statement : PrivacyStatement
        The promise of one release.

    Returns
    -------
    evidence : dict or None
        None without a promise, or for a statement from a file of an earlier version, which does not hold the
        charges.
    """
    promise, receipt = statement.promise, statement.receipt
    if promise is None or receipt is None:
        return None
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "subject": statement.subject,
        "promise": promises.to_dict(promise),
        "shared_ledger": None if statement.ledger is None else promises.to_dict(statement.ledger),
        "adjacency": statement.relation,
        "records_per_person": statement.records_per_person,
        "charges": [_charge_to_dict(entry) for entry in receipt.entries],
        "public": list(map(printable, statement.assumptions)),
        "secure_noise": receipt.secure_noise,
        "origin": statement.origin.to_dict(),
        "seal": receipt.seal,
        "versions": dict(receipt.versions),
    }
    return facts | _words(statement, promise, receipt)


def _words(statement: PrivacyStatement, promise: Promise, receipt: Receipt) -> dict[str, Any]:
    """Return the texts: the sentences of the claims, and answers to the questions of NIST and OpenDP."""
    claims = sorted(
        {*THEOREMS[promises.name_of(promise)], *(entry.claim for entry in receipt.entries if entry.claim)},
        key=lambda claim: (claim[0], int(claim[1:])) if claim[1:].isdecimal() else (claim, 0),
    )
    return {
        "claims": {claim: sentence_of(claim) for claim in claims},
        "nist_sp_800_226": {
            "privacy parameters": f"{in_words(promise)}.",
            "unit of privacy": _unit(statement, promise),
            "neighbouring tables": f"Two tables are neighbours if you {statement.relation} to make one the "
            "other; the number of records is not assumed to be the same.",
            "sensitivity and clipping": "What one record, or person, can add to a sum is bounded by "
            "clipping, whatever the record holds; `charges` has each bound, and `claims` what proves it.",
            "mechanisms": _mechanisms(receipt),
            "composition": "The privacy budget was fixed before the first look. Each question was charged "
            "before the records were looked at, and charges beyond the budget are refused.",
            "random numbers": _random_numbers(receipt),
            "floating point": _floating_point(receipt),
            "choice of delta": _choice_of_delta(statement),
            "trust model": "Central: whoever holds the records runs privfit and is trusted with them.",
            "who sees what": "The custodian of the records sees them, and warnings and refusals, which are "
            f"not covered by the promise. Everybody else sees the {statement.subject} and this evidence. Who "
            "can read a shared ledger sees who asked what, on which day and for how much.",
            "refits and crashes": _refits(statement),
            "side channels": "Running time, memory and power are not covered: nobody but the custodian may "
            "be able to measure them.",
            "data collection and security": "Not known to privfit: how the records were collected, who can "
            "read them, and what else was published about them.",
            "who answers for it": "To be filled in by the organisation that publishes.",
        },
        "registry": registry_entry(
            statement.subject, promise, statement.origin, tuple(map(printable, statement.assumptions))
        ),
    }


def statement_of(evidence: dict[str, Any]) -> PrivacyStatement:
    """Read the facts of an evidence document, from which `evidence_of` computes the texts again.

    Parameters
    ----------
    evidence : dict
        The document, which has been compared with the JSON Schema.

    Returns
    -------
    statement : PrivacyStatement
        The statement, without the bookkeeping that the document does not hold.

    Raises
    ------
    ValueError
        If a promise in it makes no sense; the message completes a sentence that begins with a name.
    """
    try:
        promise, ledger = (
            None if evidence[name] is None else promises.from_dict(evidence[name])
            for name in ("promise", "shared_ledger")
        )
    except (TypeError, ValueError, ArithmeticError, KeyError) as error:
        raise ValueError(f"a promise in its evidence makes no sense: {error}") from None
    return PrivacyStatement(
        promise,
        tuple(evidence["public"]),
        {},
        subject=evidence["subject"],
        ledger=ledger,
        relation=evidence["adjacency"],
        records_per_person=evidence["records_per_person"],
        origin=Origin(**evidence["origin"]),
        receipt=receipt_from_dict(evidence),
    )


def receipt_from_dict(written: dict[str, Any]) -> Receipt | None:
    """Read the charges, the noise, the seal and the versions from an evidence document.

    Parameters
    ----------
    written : dict
        The document, which has been compared with the JSON Schema.

    Returns
    -------
    receipt : Receipt or None
        None if a later version of privfit wrote the document.
    """
    if written["version"] != VERSION:
        return None
    return Receipt(
        entries=tuple(
            Entry(
                what=printable(charge["what"]),
                mechanism=printable(charge["mechanism"]),
                rho=float(charge["rho"]),
                delta=float(charge["delta"]),
                when=printable(charge["day"]),
                claim=printable(charge["claim"]),
                noise=charge["noise"],
                sensitivity=_float_or_none(charge["sensitivity"]),
                scale=_float_or_none(charge["scale"]),
            )
            for charge in written["charges"]
        ),
        secure_noise=written["secure_noise"],
        seal=written["seal"],
        versions={printable(name): printable(number) for name, number in written["versions"].items()},
    )


def _float_or_none(number: float | None) -> float | None:
    return None if number is None else float(number)


def _charge_to_dict(entry: Entry) -> dict[str, Any]:
    return {
        "what": entry.what,
        "claim": entry.claim,
        "mechanism": entry.mechanism,
        "noise": entry.noise,
        "sensitivity": entry.sensitivity,
        "scale": entry.scale,
        "rho": entry.rho,
        "delta": entry.delta,
        "day": entry.when,
    }


def _unit(statement: PrivacyStatement, promise: Promise) -> str:
    if promise.person_id is not None:
        return (
            f"A person, with all records: people are told apart by the id {promise.person_id!r}, and at most "
            f"{statement.records_per_person} records of each were used."
        )
    if ONE_RECORD_EACH in statement.assumptions:
        return "A record. Each person is assumed to have at most one."
    return "A record. A person may have several, for whom the promise is weaker."


def _mechanisms(receipt: Receipt) -> str:
    named = {
        "gaussian": "Gaussian noise",
        "gumbel": "noisy choices (exponential mechanism)",
        "laplace": "noisy choices (Laplace noise)",
        "exponential": "noisy choices (exponential noise)",
        "": "releases with a proof of their own",
    }
    used = {named[entry.noise] for entry in receipt.entries}
    return f"{'; '.join(sorted(used)) or 'none'}: {len(receipt.entries)} charges, listed under `charges`."


def _random_numbers(receipt: Receipt) -> str:
    if receipt.secure_noise:
        return (
            "Keystreams of ChaCha20 with keys from the operating system, fresh for every call; nothing is "
            "seeded or kept (claim N5)."
        )
    return "SEEDED: whoever can guess the seed can remove the noise. This must not be published."


def _floating_point(receipt: Receipt) -> str:
    sums = "Sums are exact: summands are rounded to a grid, and the bounds include that (claims S1 to S3)."
    if receipt.secure_noise:
        return (
            f"{sums} Noise is drawn by comparing digits, and the noisy sum is rounded to a grid that does "
            "not depend on the records (claims N1 to N4)."
        )
    return (
        f"{sums} The seeded noise is drawn in floating point, which attacks on its last digits can exploit."
    )


def _choice_of_delta(statement: PrivacyStatement) -> str:
    chosen = f"delta = {written_up(statement.delta)} was set before the fit and not read off the data."
    records = statement.origin.records
    if records is None:
        return f"{chosen} It should be well below 1 / number of people, which was not declared."
    return (
        f"{chosen} The number of records was declared as {records}, so that delta times their number is "
        f"{written_up(statement.delta * records)}; it should be well below 1."
    )


def _refits(statement: PrivacyStatement) -> str:
    if statement.ledger is None:
        return (
            "No shared ledger was charged. This promise is about one release; nobody added up what else was "
            "computed from the records."
        )
    return (
        f"Every release draws on one ledger, which promises {in_words(statement.ledger)} for all of them "
        "together. A fit that fails stays charged."
    )
