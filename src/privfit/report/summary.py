"""The summary at the top of the page: data set, date, number of records, ledger, and the total promise."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from privfit.accounting import Direct, Promise
from privfit.accounting import promise as promises
from privfit.accounting.amounts import written_up
from privfit.accounting.budget import in_words
from privfit.accounting.composition import FamilyTotal, composed
from privfit.models.origin import Origin
from privfit.models.published import Published

NOT_STATED = "not stated"
DATA_FIELDS = ("Data set", "People and data it was trained on")  # fields of a model card; the first one wins


def summary(model: Published, scores: Mapping[str, Any] | None, card: Mapping[str, str]) -> str:
    """Return the answers as a list of terms."""
    origin = origin_of(model.privacy)
    records = origin.records or (model.schema or {}).get("records")
    named = (card[field] for field in DATA_FIELDS if field in card)
    answers = {
        "Data set": origin.dataset or next(named, NOT_STATED),
        "Date": NOT_STATED if origin.day is None else f"{origin.day} (UTC)",
        "Number of records": "not declared as public"
        if records is None
        else f"{records:,}, declared as public",
        "Ledger": _ledger(model.privacy),
        "Model and scores": _together(model.privacy, None if scores is None else scores["privacy"]),
    }
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in answers.items())
    return f'<dl class="summary">{rows}</dl>'


def origin_of(privacy: Mapping[str, Any]) -> Origin:
    """Return the origin of a release, as far as its file states it."""
    return Origin(**privacy.get("origin", {}))


def promise_of(privacy: Mapping[str, Any]) -> Promise | None:
    """Return the promise of a release, or None if there is none or the file does not state it.

    Earlier versions wrote only epsilon and delta of scores. These are read as the promise of one release.
    """
    if privacy.get("promise") is not None:
        return promises.from_dict(privacy["promise"])
    epsilon, delta = (privacy.get(name) for name in ("epsilon", "delta"))
    if "promise" in privacy or epsilon is None or delta is None:
        return None
    return Direct(float(epsilon), float(delta))


def _ledger(privacy: Mapping[str, Any]) -> str:
    if privacy["account"] is not None:
        kept = promises.from_dict(privacy["account"])
        return f"It promises {in_words(kept)} for this model and everything else that it ever pays for."
    words = "None. So nothing limits the total privacy loss of all releases about the same records."
    family = None if privacy["family"] is None else FamilyTotal(**privacy["family"])
    if family is None or family.is_single:
        return words
    return f"{words} Bookkeeping, not a promise: {family}."


def _together(model: Mapping[str, Any], scores: Mapping[str, Any] | None) -> str:
    """Return the total promise of model and scores, and whether one ledger limits it."""
    promised = promise_of(model)
    if promised is None:
        return "Nothing is promised."
    if scores is None:
        return f"{in_words(promised)} for the model alone. No scores are on this page."
    scored = promise_of(scores)
    if scored is None:
        return f"{in_words(promised)} for the model alone. The file of the scores states no promise."
    if promised.person_id != scored.person_id:
        return (
            f"{in_words(promised)} for the model, and {in_words(scored)} for the scores. The two do not add "
            "up, because they are about different units."
        )
    epsilon, delta = composed([promised, scored])
    ledgers = [origin_of(privacy).ledger for privacy in (model, scores)]
    limit = (
        "This ledger paid for both, so what it promises in all holds for them, too."
        if ledgers[0] is not None and ledgers[0] == ledgers[1]
        else "No ledger paid for both, so none limits this sum."
    )
    return (
        f"Together at most epsilon = {written_up(epsilon)} at delta = {written_up(delta)}, for a "
        f"{promised.unit} that was used for both. {limit}"
    )
