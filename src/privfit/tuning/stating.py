"""Statements about the models of a search: each model was one of several, and one promise covers all."""

from __future__ import annotations

from dataclasses import replace

from privfit.estimators.statement import PrivacyStatement
from privfit.tuning.plan import Plan


def how_chosen(plan: Plan, held_out: float) -> str:
    """Return the sentence of a statement about how a setting was chosen, and among how many."""
    whom = "person, with all records," if plan.relation.unit == "person" else "record"
    return (
        f"the settings were chosen among {len(plan.settings)} by their {plan.scoring.replace('_', ' ')}; "
        f"each {whom} was held out for that with probability {held_out:g}, by a coin of its own, and the "
        "promise covers all fits and scores of the search"
    )


def restated(
    fit: PrivacyStatement, own: PrivacyStatement, note: str, n_records: int | None, said: dict[str, str]
) -> PrivacyStatement:
    """Return the statement of a fit with the promise of the whole search in place of its own.

    Parameters
    ----------
    fit : PrivacyStatement
        That of one fit, which had a part of the privacy budget.
    own : PrivacyStatement
        The promise of the search.
    note : str
        How the settings were chosen.
    n_records : int, optional
        The declared number of all records.
    said : dict
        Sentences that replace some of the assumptions of a fit.

    Returns
    -------
    statement : PrivacyStatement
        The assumptions of the fit, with the promise of the search.
    """
    assumptions = (said.get(assumption, assumption) for assumption in fit.assumptions)
    return replace(
        fit,
        promise=own.promise,
        assumptions=tuple(_about_all_records(assumption, n_records) for assumption in assumptions),
        spending=own.spending,
        notes=(note, *fit.notes),
        ledger=own.ledger,
        family=own.family,
        origin=own.origin,
        receipt=own.receipt,
    )


def _about_all_records(assumption: str, n_records: int | None) -> str:
    """Put the declared number of records in place of the number that a fit expected in its part."""
    counted, declared, _ = assumption.partition(", declared as ")
    if n_records is None or not declared or not counted.startswith("the number of records"):
        return assumption
    return f"{counted}{declared}{n_records:,}, is public"
