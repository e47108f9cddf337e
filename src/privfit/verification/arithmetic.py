"""Checks of the arithmetic: the epsilon of a budget, the sum of the charges, and the price of each charge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from privfit.models.claims import CLAIMS
from privfit.verification.accountant import TOLERANCE, Budget, exact_sum, fits, nearest, price_of
from privfit.verification.check import Check

PARTS = "Q36"  # the claim of a charge that pays for two disjoint parts of the records


def of_promises(promise: dict[str, Any], shared: dict[str, Any] | None) -> Iterator[Check]:
    """Check that the budgets of a release and of its shared ledger give at most the stated epsilons."""
    yield _worth("promise", "the promise", promise)
    if shared is None:
        yield Check(
            "shared ledger",
            None,
            "No shared ledger was charged, so nothing limits the total of all releases about the records.",
        )
        return
    yield _worth("shared ledger", "the shared ledger", shared)
    try:
        part, whole = Budget.written(promise), Budget.written(shared)
    except ValueError:
        return  # another check reports this
    within = fits(exact_sum([part.rho]), whole.rho) and fits(exact_sum([part.slack]), whole.slack)
    yield Check(
        "shared ledger",
        within,
        f"The release may spend rho = {part.rho:.4g}, which is {'within' if within else 'more than'} the rho "
        f"= {whole.rho:.4g} of the shared ledger.",
    )


def _worth(about: str, whose: str, promise: dict[str, Any]) -> Check:
    try:
        budget = Budget.written(promise)
    except ValueError as error:
        return Check(about, False, f"The budget of {whose} makes no sense: {error}.")
    if budget.epsilon is None or budget.delta is None:
        return Check(about, None, f"The budget of {whose} is rho = {budget.rho:.4g}; no epsilon is stated.")
    if budget.kind == "direct":
        return Check(
            about,
            None,
            f"For {whose}, epsilon = {budget.epsilon:.4g} at delta = {budget.delta:.4g} follows from the "
            "theorem of one release; no accountant can compute it from a price.",
        )
    worth = budget.worth()
    holds = worth <= budget.epsilon * (1.0 + TOLERANCE) + 1e-9
    return Check(
        about,
        holds,
        f"The budget of {whose}, rho = {budget.rho:.4g}, is worth epsilon = {worth:.6g} at delta = "
        f"{budget.delta:.4g} by dp_accounting, {'at most' if holds else 'MORE THAN'} the stated "
        f"{budget.epsilon:.6g}.",
    )


def of_sums(promise: dict[str, Any], rhos: Iterable[float], what: str) -> Iterator[Check]:
    """Check that charges add up to at most the budget, without rounding."""
    try:
        budget = Budget.written(promise)
    except ValueError:
        return  # another check reports this
    rhos = list(rhos)
    total = exact_sum(rhos)
    holds = fits(total, budget.rho)
    yield Check(
        "sum",
        holds,
        f"All {what} ({len(rhos)}) add up to rho = {nearest(total):.6g}, "
        f"{'within' if holds else 'MORE THAN'} the budget of {budget.rho:.6g}.",
    )


def of_charges(evidence: dict[str, Any]) -> Iterator[Check]:
    """Check that each charge is of a kind that the promise pays for, and that its noise costs its price."""
    try:
        budget = Budget.written(evidence["promise"])
    except ValueError:
        return  # another check reports this
    charges = evidence["charges"]
    yield _deltas(budget, charges)
    wrong = _first([_wrong_kind(budget, charge) for charge in charges])
    if budget.kind == "direct" and len(charges) > 1:
        wrong = "One release was promised, and there are several charges"
    yield Check("kinds", wrong is None, f"{wrong or 'Every charge is of a kind that the promise pays for'}.")
    wrong = _first([_wrong_noise(charge) for charge in charges])
    blurred = sum(charge["noise"] != "" for charge in charges)
    yield Check(
        "noise",
        wrong is None,
        f"{wrong}."
        if wrong
        else f"In all charges with noise ({blurred}) the noise, the sensitivity and the price agree.",
    )
    releases = [charge for charge in charges if charge["noise"] == ""]
    if releases:
        claims = ", ".join(sorted({charge["claim"] or "none" for charge in releases}))
        yield Check(
            "releases",
            None,
            f"{len(releases)} of the charges are for releases with a theorem of their own ({claims}).",
        )
    unknown = sorted({charge["claim"] for charge in charges} - set(CLAIMS))
    yield Check(
        "claims",
        None if unknown else True,
        f"This version of privfit does not know the claims {', '.join(map(repr, unknown))}."
        if unknown
        else "Every charge names a claim of docs/privacy.md.",
    )


def _deltas(budget: Budget, charges: list[dict[str, Any]]) -> Check:
    total = exact_sum(charge["delta"] for charge in charges)
    holds = fits(total, budget.slack)
    return Check(
        "deltas",
        holds,
        f"The deltas of the charges add up to {nearest(total):.4g}, {'within' if holds else 'MORE THAN'} the "
        f"{budget.slack:.4g} that they may use up.",
    )


def _first(sentences: list[str | None]) -> str | None:
    """Return the first sentence, with the number of its charge."""
    for number, sentence in enumerate(sentences, 1):
        if sentence is not None:
            return f"Charge {number} {sentence}"
    return None


def _wrong_kind(budget: Budget, charge: dict[str, Any]) -> str | None:
    noise, is_parts = charge["noise"], charge["claim"] == PARTS
    if budget.kind == "gaussian" and noise != "gaussian" and not is_parts:
        return "is paid by a promise that pays for Gaussian noise alone, and its noise is another"
    if budget.kind == "direct":
        whole = math.isclose(charge["rho"], budget.rho, rel_tol=1e-9) and charge["delta"] == budget.slack
        if noise != "" or not whole:
            return "is not the one release of the whole budget that was promised"
    return None


def _wrong_noise(charge: dict[str, Any]) -> str | None:
    noise, sensitivity, scale = charge["noise"], charge["sensitivity"], charge["scale"]
    if noise == "":
        return None if sensitivity is None and scale is None else "has a sensitivity and no noise"
    if sensitivity is None or scale is None:
        return "has noise, and does not say its scale and the sensitivity"
    price, paid = price_of(noise, sensitivity, scale), charge["rho"]
    how = (
        f"gaussian, sensitivity {sensitivity:.6g}"
        if noise == "gaussian"
        else f"noisy min, {noise}, scale {scale:.6g}"
    )
    if price > paid * (1.0 + 1e-12):
        return f"has noise of scale {scale:.6g} that costs rho = {price:.6g}, and {paid:.6g} was paid"
    if price < paid * (1.0 - TOLERANCE):
        return f"has noise of scale {scale:.6g} that costs rho = {price:.6g}, less than the {paid:.6g} paid"
    if charge["mechanism"] != how:
        return "describes its mechanism in words that are not those of its numbers"
    return None
