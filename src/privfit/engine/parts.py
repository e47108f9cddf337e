"""Records in several parts, in this process or on the machines of a cluster.

A question asks for exact sums over records and turns them into its answer (`Bounded.sums`, `Bounded.finish`).
If the records are in parts, each part computes the sums of its records. The sums are added up, which is
exact, and the total is turned into the answer once. The answer is the same, bit for bit, as for the same
records in one place, however they are divided (Q39 in docs/privacy.md).

This file has a part, the records in parts as a curator uses them, and parts in this process. `dask_parts` and
`spark_parts` have parts on the workers of a cluster.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple, Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from privfit.engine.bounded import Bounded, Scores, Sums
from privfit.engine.exact.grids import MAX_RECORDS, FloatArray
from privfit.engine.persons import Persons
from privfit.engine.problem import Problem
from privfit.losses.loss import Loss


class PartsLost(RuntimeError):
    """Parts of a table were lost or have changed."""


class OwnRows(NamedTuple):
    """Row numbers for every part, counted within the part; each part uses its own."""

    by_part: Sequence[NDArray[np.uint32]]

    def __repr__(self) -> str:  # shows no row, because a cluster logs the arguments of a call that fails
        return "<rows of every part>"


class Step(NamedTuple):
    """How one place (a problem, point or line) is derived from another: a method's name and its arguments.

    The arguments hold no records.
    """

    number: int
    method: str
    arguments: tuple[Any, ...]

    def of_part(self, part: int) -> Step:
        """Return the step with the arguments for this part."""
        own = (a.by_part[part] if isinstance(a, OwnRows) else a for a in self.arguments)
        return self._replace(arguments=tuple(own))


@dataclass(frozen=True, eq=False)
class Request:
    """A question that is sent to every part.

    Parameters
    ----------
    start : int or None
        The number of the place from which the steps start; None for the records themselves.
    steps : tuple of Step
        The steps from there to the place that the question is about.
    question : Question
        The question.
    kept : frozenset of int
        The numbers of the places that later questions may be about; a part forgets all others.
    """

    start: int | None
    steps: tuple[Step, ...]
    question: Any
    kept: frozenset[int]

    def of_part(self, part: int) -> Request:
        """Return the request for the part of this number."""
        return replace(self, steps=tuple(step.of_part(part) for step in self.steps))


class Part:
    """Some of the records, and the data that were derived from them.

    Norms, targets and predictions belong to rows, so each part keeps those of its own rows. All of them can
    be derived again from the records and the steps, so a part that was lost and recreated starts without
    them.
    """

    def __init__(self, records: Problem) -> None:
        self.records = records
        self._places: dict[int, Any] = {}

    def answer(self, request: Request) -> Sums | None:
        """Return the sums that a question asks for, or None if the place to start from is not known here."""
        places = dict(self._places)  # a copy, because another request may run at the same time
        if request.start is None:
            place: Any = self.records
        elif request.start in places:
            place = places[request.start]
        else:
            return None
        for step in request.steps:
            place = places[step.number] = getattr(place, step.method)(*step.arguments)
        self._places = {number: places[number] for number in request.kept & places.keys()}
        sums: Sums = request.question.bounded(place).sums()
        return sums

    def __getstate__(self) -> dict[str, Any]:
        return {"records": self.records, "_places": {}}

    def __repr__(self) -> str:  # shows no records, because a cluster writes it to its logs
        return "<part>"


class Parts(Protocol):
    """The parts of a table, wherever they are."""

    @property
    def stretches(self) -> Sequence[Sequence[slice]]:
        """For each part, which rows of the whole table it has, in its own order. They are not public."""
        ...

    def answers(self, request: Request, parts: Sequence[int] | None = None) -> Mapping[int, Sums | None]:
        """Return the answer of each part, or of some of the parts, by the part's number."""
        ...


class LocalParts:
    """Parts in this process."""

    def __init__(self, parts: Sequence[Part]) -> None:
        sizes = [part.records.n_records for part in parts]
        check_total(sizes)
        self.parts = parts
        self.stretches = [[rows] for rows in stretches_of(sizes)]

    def answers(self, request: Request, parts: Sequence[int] | None = None) -> Mapping[int, Sums | None]:
        """Return the answers, one part after the other."""
        asked = range(len(self.parts)) if parts is None else parts
        return {k: self.parts[k].answer(request.of_part(k)) for k in asked}


def stretches_of(sizes: Iterable[int]) -> list[slice]:
    """Return the rows of stretches of these sizes, one after the other."""
    ends = [0, *itertools.accumulate(sizes)]
    return [slice(*rows) for rows in itertools.pairwise(ends)]


def check_total(sizes: Iterable[int]) -> None:
    """Raise ValueError if all parts together have more records than exact sums allow."""
    if sum(sizes) > MAX_RECORDS:
        raise ValueError(f"at most {MAX_RECORDS} records are supported in all parts together")


def total(answers: Iterable[Sums]) -> Sums:
    """Add up the sums of all parts. They are exact, so the order of the parts does not matter."""

    def added(one: Sums, other: Sums) -> Sums:
        if isinstance(one, tuple):
            return tuple(a + b for a, b in zip(one, other, strict=True))
        return np.add(one, other)

    return reduce(added, answers)


class _Kept:
    """The places that are still in use, and the numbers of those that all parts remember."""

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
    Parts derive a place when a question is first asked about it; the steps are sent with the question.
    """

    in_parts = True

    def __init__(self, without_records: Any, parts: Parts) -> None:
        self.without_records, self.parts = without_records, parts
        self._is_sample = False
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
    def persons(self) -> Persons | None:
        """Persons without any records; the largest number of records per person, which is public."""
        persons: Persons | None = getattr(self.without_records, "persons", None)
        return persons

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
        own = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)  # they are read later
        return self._derived(Step(next(self._kept.numbers), method, own), arguments)

    def _derived(self, step: Step, arguments: tuple[Any, ...]) -> InParts:
        """Return the place that a step leads to; `arguments` are those for the object without records."""
        derived = InParts(getattr(self.without_records, step.method)(*arguments), self.parts)
        derived._kept, derived._is_sample = self._kept, self._is_sample
        derived._steps = (*self._steps, step)
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

    def sampled(self, draw: Callable[[int], NDArray[np.integer]]) -> InParts:
        """Return the problem of the records that are drawn, by their numbers in the whole table (Q41).

        The sample is drawn here for all row numbers, so it does not matter which part has the record.
        """
        if self.persons is not None or self._is_sample:
            raise ValueError(
                "Samples of people, and samples of samples, are drawn of tables in one place only."
            )
        stretches = self.parts.stretches
        drawn = np.zeros(max((rows.stop for part in stretches for rows in part), default=0), dtype=bool)
        drawn[draw(len(drawn))] = True
        inside = [[drawn[:0], *(drawn[rows] for rows in part)] for part in stretches]
        own = [np.flatnonzero(np.concatenate(each)).astype(np.uint32) for each in inside]
        step = Step(next(self._kept.numbers), "subset", (OwnRows(own),))
        derived = self._derived(step, (np.empty(0, dtype=np.intp),))
        derived._is_sample = True
        return derived

    # -- looks -----------------------------------------------------------------------------------------------

    def bounded(self, question: Any) -> Bounded | Scores:
        """Return what a question asks, not computed yet. Only the sums need the parts; the rest is public."""
        asked: Bounded | Scores = question.bounded(self.without_records)
        return replace(asked, sums=lambda: self._sums(question))

    def _sums(self, question: Any) -> Sums:
        """Ask every part, and add up their sums."""
        kept = frozenset(place._steps[-1].number for place in self._kept.places if place._steps)
        known = [k for k, step in enumerate(self._steps) if step.number in self._kept.known]
        first = known[-1] + 1 if known else 0
        start = self._steps[first - 1].number if first else None
        found = dict(self.parts.answers(Request(start, self._steps[first:], question, kept)))
        forgetful = [k for k, sums in found.items() if sums is None]
        if forgetful:  # these parts were lost and recreated, so they need all steps
            found |= self.parts.answers(Request(None, self._steps, question, kept), forgetful)
        derived = {step.number for step in self._steps[first:]}
        self._kept.known = kept & (self._kept.known | derived)
        return total(sums for _, sums in sorted(found.items()) if sums is not None)


def divided(problem: Problem, borders: Sequence[int]) -> InParts:
    """Return a problem divided into parts in this process, which begin at these rows.

    Parameters
    ----------
    problem : Problem
        The records in one place.
    borders : sequence of int
        Ascending row numbers between 0 and the number of records; equal ones make a part without records.
        All records of a person must be in one part.

    Returns
    -------
    in_parts : InParts
        The same records, whose answers are the same, bit for bit.
    """
    if problem.persons is not None and not np.isin(borders, problem.persons.starts).all():
        raise ValueError("All records of a person must be in one part.")
    ends = [0, *borders, problem.n_records]
    parts = [part_of(problem, slice(*rows)) for rows in itertools.pairwise(ends)]
    return InParts(part_of(problem, slice(0, 0)), LocalParts([Part(part) for part in parts]))


def part_of(problem: Problem, rows: slice) -> Problem:
    """Return some rows as a part."""
    part = problem.subset(np.arange(*rows.indices(problem.n_records)))
    part.is_part = True
    return part
