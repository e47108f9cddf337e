"""Encode blocks of rows of a table in parts, on the worker that holds them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from privfit.accounting.relation import Relation
from privfit.estimators.declared import Declared
from privfit.estimators.records import Records
from privfit.estimators.targets import TargetEncoder
from privfit.estimators.validation import check_lengths
from privfit.schema.encoding import with_curves
from privfit.schema.frames import column_names
from privfit.schema.people import NOBODY, People

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem

Block = Mapping[str, Any]  # X, y, sample_weight and groups of some rows, as far as they were given


@dataclass(frozen=True, eq=False)
class PartReader:
    """Reads blocks as a fit reads a table in one place.

    Parameters
    ----------
    estimator : estimator
        A copy of the estimator, without its ledger and its seed.
    declared : Declared
        The public facts about the records.
    encoder : TargetEncoder
        The encoder of the targets.
    relation : Relation
        How many records of each person are used.
    empty : Problem
        The problem without any record.
    names : tuple of str
        The parts of each block: "X", and "y", "sample_weight" and "groups" if they were given.
    columns : collection of str, optional
        The names of the columns of X, if they have names.
    """

    estimator: Any
    declared: Declared
    encoder: TargetEncoder
    relation: Relation
    empty: Problem
    names: tuple[str, ...]
    columns: Collection[Any] | None

    def blocks(self, columns: Sequence[Sequence[Any]]) -> list[Block]:
        """Return some blocks; `columns` has their parts in the order of `names`."""
        return [dict(zip(self.names, each, strict=True)) for each in zip(*columns, strict=True)]

    def part(self, columns: Sequence[Sequence[Any]]) -> tuple[Problem, Sequence[int]]:
        """Return the problem of the rows of some blocks, and how many records came of each block."""
        blocks = self.blocks(columns)
        # numbers are read at once, because reading a block takes half a millisecond
        if self.declared.schema is None and are_plain(blocks):
            return self.problem([self.records(together(blocks))]), [len(block["X"]) for block in blocks]
        read = [self.records(block) for block in blocks]
        return self.problem(read), [each.X.shape[0] for each in read]

    def records_of_table(self, table: Any) -> Records:
        """Return the records of a raw table of some rows."""
        return self.records({"X": table})

    def part_of_records(self, columns: Sequence[Sequence[Records]]) -> tuple[Problem, Sequence[int]]:
        """Return the problem of records that were read: of a partition, or of some people."""
        (pieces,) = columns
        problem = self.problem(pieces)
        return problem, [problem.n_records]

    def pieces(self, columns: Sequence[Sequence[Any]], count: int) -> list[Records]:
        """Divide the records of some blocks by person into this many pieces (Q42).

        The id of a person decides the piece, so it is the same for all blocks. Records without an id are in
        no piece.
        """
        records = joined([self.records(block) for block in self.blocks(columns)])
        people = records.groups
        assert people is not None  # because the relation is about people
        by_person = np.array([*(piece_of(person, count) for person in people.ids), NOBODY])
        pieces = (records.keep(by_person[people.numbers] == piece) for piece in range(count))
        return [each.with_groups(_without_others(each.groups)) for each in pieces]

    def records(self, block: Block) -> Records:
        """Return the records of a block, features and targets as numbers."""
        X, y, weights, groups = (block.get(name) for name in ("X", "y", "sample_weight", "groups"))
        for name, values in (("y", y), ("sample_weight", weights), ("groups", groups)):
            if values is not None:
                check_lengths(X, values, name)
        given = Records.given(X, y, weights, groups).as_part()
        records: Records = self.estimator._read(given, self.declared, self.relation)
        if self.declared.schema is None:
            self._check_columns(X, records.X.shape[1])
        targets, found = self.estimator._encoded(records.y, self.declared.target)
        if found.assumption != self.encoder.assumption:
            raise ValueError("The blocks of y have different types; give all of them the same type.")
        return records.with_targets(targets)

    def _check_columns(self, X: Any, width: int) -> None:
        """Raise unless a block has the columns of the table, which are told apart by their places."""
        own = column_names(X)
        if width != self.empty.table.n_columns or (own is not None and own != self.columns):
            raise ValueError(
                "The blocks of X have other columns than X says; give all of them the same columns in the "
                "same order."
            )

    def problem(self, read: Sequence[Records]) -> Problem:
        """Return the problem of records that are encoded already."""
        from privfit.engine.problem import Problem

        records, persons = joined(read).of_people(self.relation)
        schema = self.declared.schema
        features = records.X if schema is None else with_curves(records.X, schema)
        shares = self.declared.weighting.of(records.sample_weight, self.encoder, self.declared.target).given
        part = Problem.of(
            features.astype(self.empty.table.layout.take(slice(0, 0)).dtype, copy=False),
            records.y,
            self.empty.loss,
            intercept=self.empty.table.intercept,
            weights=shares,
            persons=persons,
        )
        part.is_part = True
        return part


def are_plain(blocks: Sequence[Block]) -> bool:
    """Return whether blocks consist of NumPy arrays whose types and widths are the same in all blocks."""
    if any(type(values) is not np.ndarray for block in blocks for values in block.values()):
        return False
    kinds = {tuple((values.dtype, values.shape[1:]) for values in block.values()) for block in blocks}
    lengths_agree = all(len({len(values) for values in block.values()}) == 1 for block in blocks)
    return len(kinds) == 1 and lengths_agree


def together(blocks: Sequence[Block]) -> Block:
    """Return plain blocks as one, whose rows are in the same order."""
    if len(blocks) == 1:
        return blocks[0]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def joined(records: Sequence[Records]) -> Records:
    """Return all of these records, in this order."""
    if len(records) == 1:
        return records[0]
    features = [each.X for each in records]
    X = sparse.vstack(features, format="csr") if sparse.issparse(features[0]) else np.concatenate(features)
    y = np.concatenate([each.y for each in records])
    weights = [each.sample_weight for each in records if each.sample_weight is not None]
    people = [each.groups for each in records if each.groups is not None]
    return Records(
        X,
        y,
        np.concatenate(weights) if weights else None,
        _together(people) if people else None,
        is_part=True,
    )


def _together(people: Sequence[People]) -> People:
    """Return the people of several blocks; the same id is the same person in all blocks."""
    numbers: dict[Any, int] = {}
    found = []
    for each in people:
        own = [numbers.setdefault(person, len(numbers)) for person in each.ids]
        found.append(np.array([*own, NOBODY], dtype=np.int64)[each.numbers])
    return People(np.concatenate(found), list(numbers))


def _without_others(people: People | None) -> People:
    """Return the people of these records, without people who have no records."""
    assert people is not None
    present, numbers = np.unique(people.numbers, return_inverse=True)
    return People(numbers.astype(np.int64), [people.ids[number] for number in present])


def piece_of(person: Any, count: int) -> int:
    """Return the number of the piece that gets the records of a person."""
    said = repr(person).encode("utf-8", errors="backslashreplace")
    return int.from_bytes(hashlib.blake2b(said, digest_size=8).digest()) % count
