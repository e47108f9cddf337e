"""Records in several parts, in this process or on the machines of a cluster: looks add up.

A question asks for exact sums over records and folds them into its answer (`Bounded.sums`, `Bounded.fold`).
Of records in parts, each part computes its sums where its records are, the sums are added, which is exact,
and the total is folded once. The answer is that of the same records in one place, bit for bit, however they
are divided (Q39 in docs/privacy.md).

Here are a part, the records in parts as a curator sees them, and parts in this process; `dask_parts` has
parts on the workers of a cluster.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple, Protocol
from weakref import WeakSet

import numpy as np

from privfit.engine.bounded import Bounded, Scores, Sums
from privfit.engine.exact.grids import MAX_RECORDS, FloatArray
from privfit.engine.problem import Problem
from privfit.losses.loss import Loss


class PartsLost(RuntimeError):
    """Parts of a table are gone, or are not what they were."""


class Step(NamedTuple):
    """How one place is derived from another: by a method of it, with public arguments."""

    number: int
    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Request:
    """What every part is asked.

    Parameters
    ----------
    start : int or None
        The number of the place that the steps lead on from; None for the records themselves.
    steps : tuple of Step
        How to get to the place that is asked about.
    question : Question
        What is asked there.
    kept : frozenset of int
        The places that may be asked about later; a part forgets the others.
    """

    start: int | None
    steps: tuple[Step, ...]
    question: Any
    kept: frozenset[int]


class Part:
    """Some of the records, and what has been derived from them, where they are.

    Norms, targets and predictions are kept by row number, so they stay here, beside the rows. They can all be
    derived again from the records and the steps: a part that was lost and made again starts without them.
    """

    def __init__(self, records: Problem) -> None:
        self.records = records
        self._places: dict[int, Any] = {}

    def answer(self, request: Request) -> Sums | None:
        """Return the sums that a question asks for, or None if the place to start from is not known here."""
        if request.start is None:
            place: Any = self.records
        elif request.start in self._places:
            place = self._places[request.start]
        else:
            return None
        for step in request.steps:
            place = getattr(place, step.method)(*step.arguments)
            self._places[step.number] = place
        self._places = {number: self._places[number] for number in request.kept & self._places.keys()}
        sums: Sums = request.question.bounded(place).sums()
        return sums

    def __getstate__(self) -> dict[str, Any]:
        return {"records": self.records, "_places": {}}

    def __repr__(self) -> str:  # of which a log shows nothing else
        return "<part>"


class Parts(Protocol):
    """Where the parts are."""

    def answers(self, request: Request, parts: Sequence[int] | None = None) -> Mapping[int, Sums | None]:
        """Return the answer of each part, or of some of them, by its number: once for each."""
        ...


class LocalParts:
    """Parts in this process."""

    def __init__(self, parts: Sequence[Part]) -> None:
        check_total(part.records.n_records for part in parts)
        self.parts = parts

    def answers(self, request: Request, parts: Sequence[int] | None = None) -> Mapping[int, Sums | None]:
        """Return the answers, one part after the other."""
        return {
            k: self.parts[k].answer(request) for k in (range(len(self.parts)) if parts is None else parts)
        }


def check_total(sizes: Iterable[int]) -> None:
    """Refuse more records in all parts than sums are exact for."""
    if sum(sizes) > MAX_RECORDS:
        raise ValueError(f"at most {MAX_RECORDS} records are supported in all parts together")


def total(answers: Iterable[Sums]) -> Sums:
    """Add up what all parts found. Every sum is exact, so neither the order nor the parts matter."""

    def added(one: Sums, other: Sums) -> Sums:
        if isinstance(one, tuple):
            return tuple(a + b for a, b in zip(one, other, strict=True))
        return np.add(one, other)

    return reduce(added, answers)


class _Kept:
    """The numbers of the places that somebody still holds, and of those that all parts know."""

    def __init__(self) -> None:
        self.places: WeakSet[InParts] = WeakSet()
        self.known: frozenset[int] = frozenset()
        self.numbers = itertools.count()


class InParts:
    """A problem, or a point or line of it, whose records are in parts.

    Parameters
    ----------
    without_records : Problem, Point or Line
        The same without any record: all that is public, such as bounds and views.
    parts : Parts
        Where the records are.

    Notes
    -----
    Places are derived when something is first asked about them: the steps are sent with the question.
    """

    in_parts = True
    persons = None

    def __init__(self, without_records: Any, parts: Parts) -> None:
        self.without_records, self.parts = without_records, parts
        self._steps: tuple[Step, ...] = ()
        self._kept = _Kept()

    # -- what is public ------------------------------------------------------------------------------------

    @property
    def table(self) -> Any:
        """The table without its records, for its columns and view."""
        return self.without_records.table

    @property
    def loss(self) -> Loss:
        """The loss."""
        loss: Loss = self.without_records.loss
        return loss

    @property
    def weighted(self) -> bool:
        """Whether records have weights."""
        return bool(self.without_records.weighted)

    @property
    def n_weights(self) -> int:
        """Number of columns, plus one with an intercept."""
        return int(self.without_records.n_weights)

    @property
    def w(self) -> FloatArray:
        """The weights of a point."""
        w: FloatArray = self.without_records.w
        return w

    # -- the same records in another form, and places: each part derives its own -----------------------------

    def _then(self, method: str, *arguments: Any) -> InParts:
        derived = InParts(getattr(self.without_records, method)(*arguments), self.parts)
        derived._kept = self._kept
        own = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)  # read when it is asked
        derived._steps = (*self._steps, Step(next(self._kept.numbers), method, own))
        self._kept.places.add(derived)
        return derived

    def transformed(self, center: FloatArray, scale: FloatArray, bias: float = 1.0) -> InParts:
        """Return the same problem with transformed features."""
        return self._then("transformed", center, scale, bias)

    def clipped(self, low: FloatArray, high: FloatArray) -> InParts:
        """Return the same problem with clipped features."""
        return self._then("clipped", low, high)

    def projected(self, w: FloatArray) -> InParts:
        """Return the problem of records whose only feature is their score."""
        return self._then("projected", w)

    def retargeted(self, center: float, scale: float, loss: Loss) -> InParts:
        """Return the problem of predicting (target - center) / scale with a loss."""
        return self._then("retargeted", center, scale, loss)

    def weighed_by(self, rule: Any) -> InParts:
        """Return the same problem with the weights that a rule gives the records of each part."""
        return self._then("weighed_by", rule)

    def at(self, w: FloatArray) -> InParts:
        """Return the point w."""
        return self._then("at", w)

    def along(self, direction: FloatArray) -> InParts:
        """Return the line from here against a direction."""
        return self._then("along", direction)

    def move(self, step: float) -> InParts:
        """Return the point at this step along the line."""
        return self._then("move", step)

    def sampled(self, draw: Any) -> InParts:
        """Refuse: no sample is drawn of records in parts."""
        raise ValueError("Samples are drawn of tables in one place only, not of a table in parts.")

    # -- looks -----------------------------------------------------------------------------------------------

    def bounded(self, question: Any) -> Bounded | Scores:
        """Return what a question asks, not looked at yet: bound and fold are public, sums are the parts'."""
        asked: Bounded | Scores = question.bounded(self.without_records)
        return replace(asked, sums=lambda: self._sums(question))

    def _sums(self, question: Any) -> Sums:
        """Ask every part and add up what they found."""
        kept = frozenset(place._steps[-1].number for place in self._kept.places if place._steps)
        known = [k for k, step in enumerate(self._steps) if step.number in self._kept.known]
        first = known[-1] + 1 if known else 0
        start = self._steps[first - 1].number if first else None
        found = dict(self.parts.answers(Request(start, self._steps[first:], question, kept)))
        forgetful = [k for k, sums in found.items() if sums is None]
        if forgetful:  # they were lost and made again
            found |= self.parts.answers(Request(None, self._steps, question, kept), forgetful)
        derived = {step.number for step in self._steps[first:]}
        self._kept.known = kept & (self._kept.known | derived)
        return total(sums for _, sums in sorted(found.items()) if sums is not None)


def divided(problem: Problem, borders: Sequence[int]) -> InParts:
    """Return a problem divided into parts in this process, which begin at these rows.

    Parameters
    ----------
    problem : Problem
        The records in one place, of which it is not known whose they are.
    borders : sequence of int
        Ascending row numbers between 0 and the number of records; equal ones make a part without records.

    Returns
    -------
    in_parts : InParts
        The same records, whose answers are the same, bit for bit.
    """
    if problem.persons is not None:
        raise ValueError("Records of people with several records must stay in one place.")
    ends = [0, *borders, problem.n_records]
    parts = [part_of(problem, slice(*rows)) for rows in itertools.pairwise(ends)]
    return InParts(part_of(problem, slice(0, 0)), LocalParts([Part(part) for part in parts]))


def part_of(problem: Problem, rows: slice) -> Problem:
    """Return some rows as a part."""
    part = problem.subset(np.arange(*rows.indices(problem.n_records)))
    part.is_part = True
    return part
