"""The privacy statement of a fit, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import Any

from privfit.accounting import Direct, Gaussian, Promise
from privfit.accounting.amounts import written_up
from privfit.accounting.budget import in_words
from privfit.accounting.composition import FamilyTotal
from privfit.accounting.group import for_records
from privfit.accounting.relation import ONE_RECORD
from privfit.leaks import warn_of_earlier_name
from privfit.models.origin import UNKNOWN, Origin
from privfit.models.published import ONE_RECORD_EACH
from privfit.models.receipt import Receipt

SEEDED = (
    "SEEDED NOISE, FOR RESEARCH ONLY: anyone who can guess the seed can remove the noise; "
    "fit with secure noise before publishing"
)

# The same in every statement, with or without a check and its findings, so that it reveals nothing.
CHECKS_AND_REFUSALS = (
    "findings of a check of the table, and error messages, are shown to the custodian of the data alone"
)

GROUPS = (2, 10)  # a statement gives the promise to people with so many records


@dataclass(frozen=True)
class PrivacyStatement:
    """The guarantee of one fit. It is fixed before the data are read, so it is the same in every run.

    Attributes
    ----------
    promise : Promise or None
        The privacy budget of the fit, and the theorem that makes a guarantee of it. None: no privacy.
    assumptions : tuple of str
        The assumptions of the promise, and the facts that it does not cover.
    spending : dict
        Bookkeeping: the rho spent on each kind of question.
    notes : tuple of str
        The decisions of the solver, which it based on released values.
    subject : str
        What was released.
    ledger : Promise or None
        The promise of the shared ledger that paid for the fit, which covers all answers under it.
    family : FamilyTotal or None
        Bookkeeping: the total of all fits of the estimator, its clones and refits, if no ledger limits them.
    relation : str
        The adjacency: which pairs of tables the promise is about.
    records_per_person : int or None
        The largest number of records of a person that were used, if the promise is about a person.
    origin : Origin
        The data set, the ledger and the day, as far as they are known and public.
    receipt : Receipt or None
        The charges and the noise of the release, for its evidence; None if a file does not hold them.
    """

    promise: Promise | None
    assumptions: tuple[str, ...]
    spending: dict[str, float]
    notes: tuple[str, ...] = ()
    subject: str = "model"
    ledger: Promise | None = None
    family: FamilyTotal | None = None
    relation: str = ONE_RECORD.adjacency
    records_per_person: int | None = None
    origin: Origin = UNKNOWN
    receipt: Receipt | None = field(default=None, repr=False)

    @property
    def epsilon(self) -> float:
        """The epsilon of the promise; infinite without privacy."""
        return math.inf if self.promise is None or self.promise.epsilon is None else self.promise.epsilon

    @property
    def delta(self) -> float:
        """The delta of the promise."""
        return 1.0 if self.promise is None or self.promise.delta is None else self.promise.delta

    @property
    def rho(self) -> float:
        """The promise in zero-concentrated differential privacy, or a release's price in a shared ledger."""
        return math.inf if self.promise is None else self.promise.rho

    @property
    def account(self) -> Promise | None:
        """The same as `ledger`, which was called `account` in privfit 0.1; to be removed in 0.3."""
        warn_of_earlier_name("PrivacyStatement.account", "ledger")
        return self.ledger

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "account" in state:  # pickled by an earlier version
            state = {"ledger": state["account"]} | {k: v for k, v in state.items() if k != "account"}
        self.__dict__.update(state)

    @property
    def in_short(self) -> str:
        """The promise in numbers alone: epsilon at delta, and rho."""
        return "none" if self.promise is None else in_words(self.promise)

    @property
    def text(self) -> str:
        """The promise in plain words."""
        if math.isinf(self.epsilon):
            return (
                "This model promises no privacy: it was computed from the exact data without noise. "
                "Do not publish it if the data are sensitive."
            )
        epsilon, delta = written_up(self.epsilon), written_up(self.delta)
        if self.records_per_person is not None:
            whole, one = "all records of one person", "person, with however many records,"
        else:
            whole, one = "one record", "person's record" if self.is_about_people else "record"
        return (
            f"This {self.subject} is ({epsilon}, {delta})-differentially private "
            f"({self._concentrated()}) with respect to adding or removing {whole}. In plain words: "
            f"whether or not any one {one} was in the table, every conclusion anyone can draw from "
            f"the published {self.subject} is almost equally likely: its probability changes by a factor of "
            f"at most e^epsilon{self._factor()}, and by at most {delta} besides. "
            "This holds whatever else the reader knows, and cannot be undone by later "
            f"processing. It is not a promise about what is true of people in general: the {self.subject} "
            f"may well reveal that.{self._several_records()} It rests on: "
            + "; ".join(self.assumptions)
            + ". "
            + self._bookkeeping()
        )

    @property
    def is_about_people(self) -> bool:
        """Whether the promise is about one person: with all their records, or assumed to have one."""
        return self.records_per_person is not None or ONE_RECORD_EACH in self.assumptions

    def _several_records(self) -> str:
        """State the promise to people with several records, if there may be such people."""
        if self.is_about_people or self.promise is None:
            return ""
        sentences = [
            " This is a promise about one record, not about one person, because the schema declares an id "
            "column and does not limit how many records a person has."
        ]
        for k in GROUPS:
            epsilon, delta = for_records(self.promise, k)
            promised = (
                "nothing is promised"
                if math.isinf(epsilon)
                else f"epsilon is at most {written_up(epsilon)} at delta = {written_up(delta)}"
            )
            sentences.append(f"For a person with {k} records {promised}.")
        return " ".join(sentences)

    def _factor(self) -> str:
        return f" = {written_up(math.exp(self.epsilon))}" if self.epsilon < 700.0 else ""

    def _concentrated(self) -> str:
        if isinstance(self.promise, Direct):
            approximately = f"{written_up(self.delta)}-approximately " if self.delta else ""
            return f"in a shared ledger: {approximately}{written_up(self.rho)}-zCDP"
        exactly = f", {written_up(self.promise.mu)}-GDP" if isinstance(self.promise, Gaussian) else ""
        return f"{written_up(self.rho)}-zCDP{exactly}"

    def _bookkeeping(self) -> str:
        """Return the bookkeeping, which is no part of the promise: other uses of the data, and spending."""
        sentences = []
        if self.ledger is not None:
            sentences.append(
                f"It was paid from a shared ledger, which promises {in_words(self.ledger)} in all"
            )
        if self.family is not None and not self.family.is_single:
            sentences.append(f"Bookkeeping, not a promise: {self.family}")
        total = sum(self.spending.values())
        if total:
            shares = ", ".join(f"{what} {rho / total:.1%}" for what, rho in self.spending.items())
            sentences.append(
                "; ".join((f"What was spent of the privacy budget bought: {shares}", *self.notes))
            )
        else:
            sentences.append("Nothing was bought")
        return ". ".join(sentences) + "."

    def _about(self) -> str:
        return self.relation if self.is_about_people else f"{self.relation}; a person may have several"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        rows = {"Promise": self.in_short, "About": self._about(), "Rests on": "; ".join(self.assumptions)}
        cells = "".join(
            f'<tr><th scope="row">{name}</th><td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in rows.items()
        )
        words = f"<details><summary>In plain words</summary><p>{escape(self.text)}</p></details>"
        return f"<table><caption>What was promised</caption><tbody>{cells}</tbody></table>{words}"
