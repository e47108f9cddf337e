"""Compare a table with its schema: count the cells of each column that do not fit, without quoting any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from privfit.schema.batches import batches_of
from privfit.schema.column import Column, Feature, Identifier, Ignored
from privfit.schema.findings import Finding, Findings, Verdict
from privfit.schema.frames import column_names, columns_of, refuse_what_is_no_table
from privfit.schema.ids import id_counts
from privfit.schema.label import AnyLabel, Label
from privfit.schema.levels import Boolean, Categorical, Ordinal
from privfit.schema.numbers import Date, Integer, Numeric
from privfit.schema.parts import under_one_another
from privfit.schema.quantities import Quantity
from privfit.schema.schema import Schema
from privfit.schema.spelling import beside_the_number, other_spelling
from privfit.schema.tally import Gathered, Tally
from privfit.schema.weight import Weight

Purpose = Literal["train", "evaluate", "predict"]

# types of columns that a table may lack for a purpose, because they are not read for it
_UNREAD: dict[str, tuple[type[Column], ...]] = {
    "train": (),
    "evaluate": (),
    "predict": (Identifier, AnyLabel, Weight),
}

# A column is "lost" if more than this share of its values, and at least this many of them, do not fit. Fewer
# such values are a warning.
MOST_LOST = 0.1
FEWEST_LOST = 10


def checked(table: Any, schema: Schema, purpose: Purpose = "train") -> Findings:
    """Compare a table with its schema; a table that is not in memory is read in batches."""
    checking = Checking(schema, purpose)
    source = batches_of(table)
    for part in [table] if source is None else source.read(None, lambda size: None):
        checking.see(part)
    return checking.findings()


class Checking:
    """A comparison of a table with its schema; the table may be given in several parts.

    Parameters
    ----------
    schema : Schema
        The schema.
    purpose : {"train", "evaluate", "predict"}
        The use of the table.
    """

    def __init__(self, schema: Schema, purpose: Purpose = "train") -> None:
        if purpose not in ("train", "evaluate", "predict"):
            raise ValueError(f"purpose must be 'train', 'evaluate' or 'predict', not {purpose!r}.")
        self.schema, self.purpose = schema, purpose
        self._names: list[Any] = []
        self._seen: dict[str, Gathered | list[Any] | Finding] = {}

    @property
    def _declared(self) -> list[Column]:
        unread: tuple[type[Column], ...] = (Ignored, *_UNREAD[self.purpose])
        return [fact for fact in (*self.schema.columns, self.schema.label) if not isinstance(fact, unread)]

    def see(self, table: Any) -> None:
        """Add some rows to the comparison; all parts must have the same columns."""
        refuse_what_is_no_table(table)
        names = column_names(table)
        if names is None:
            raise TypeError("The table must have named columns to be checked; make it a frame.")
        self._names = list(names)
        for fact in self._declared:
            seen = self._seen.get(fact.name)
            if isinstance(seen, Finding):
                continue
            if fact.name not in names:
                self._seen[fact.name] = _absent(fact)
                continue
            try:
                (column,) = columns_of(table, [fact])
            except (TypeError, ValueError) as refusal:  # its dtype or shape cannot be read
                self._seen[fact.name] = Finding(fact.name, f"cannot be read: {refusal}")
                continue
            if isinstance(fact, Identifier):
                self._seen[fact.name] = [*(seen if isinstance(seen, list) else []), column]
                continue
            read_as = fact.as_column if isinstance(fact, Weight) else fact
            assert isinstance(read_as, Feature | AnyLabel)
            gathered = seen if isinstance(seen, Gathered) else Gathered(read_as)
            gathered.add(column)
            self._seen[fact.name] = gathered

    def findings(self) -> Findings:
        """Return the findings in all parts."""
        schema, purpose = self.schema, self.purpose
        found: list[Finding] = []
        n_labels = None
        for fact in self._declared:
            seen = self._seen[fact.name]
            if isinstance(seen, Finding):
                found.append(seen)
            elif isinstance(seen, list):
                assert isinstance(fact, Identifier)
                found.extend(_in_ids(fact, under_one_another(seen)))
            elif isinstance(fact, Weight):
                found.extend(_in_weights(fact, seen.tally()))
            elif isinstance(fact, AnyLabel):
                counted = seen.tally()
                n_labels = counted.n_records - _n_dropped(fact, counted)
                found.extend(_in_label(fact, counted))
                if isinstance(fact, Label) and purpose == "train":
                    found.extend(_in_classes(fact, counted))
            else:
                assert isinstance(fact, Feature)
                found.extend(_in_feature(fact, seen.tally()))
        known = {fact.name for fact in (*schema.columns, schema.label)}
        found.extend(
            Finding(str(name), "is not in the schema, and is ignored", verdict=Verdict.PROVIDED_FOR)
            for name in self._names
            if name not in known
        )
        if purpose == "train" and schema.records is not None and n_labels is not None:
            found.extend(_in_number_of_records(schema, n_labels))
        return Findings(tuple(found))


def _absent(fact: Column) -> Finding:
    if isinstance(fact, Identifier):
        what = "is declared, but is not in the table: whether some people have several records is not known"
        return Finding(fact.name, what, verdict=Verdict.WARNING)
    return Finding(fact.name, "is declared, but is not in the table")


def _in_ids(fact: Identifier, column: Any) -> Iterator[Finding]:
    counts = id_counts(column)
    k = fact.rows_per_person
    if counts.missing:
        have = "have no id" if k is None else "have no id; a fit leaves them out"
        yield Finding(fact.name, have, counts.missing, Verdict.WARNING)
    if counts.repeated and k is not None:
        what = f"repeat an id; at most {k} of each person are used"
        yield Finding(fact.name, what, counts.repeated, Verdict.PROVIDED_FOR)
    elif counts.repeated:
        yield Finding(
            fact.name,
            "repeat an id: some people have several records",
            counts.repeated,
            remedy="say how many of them are used at most, by rows_per_person, or combine them into one",
        )


def _in_weights(fact: Weight, counted: Tally) -> Iterator[Finding]:
    negative, above = (counted.number_where(which) for which in (counted.said < 0.0, counted.said > fact.max))
    for what, records, becomes in (
        ("have no weight", counted.n_empty, "such weights count as 0"),
        ("have a weight that is no number", counted.n_misfits, "such weights count as 0"),
        ("have a negative weight", negative, "such weights count as 0"),
        ("have a weight above max", above, "such weights count as max"),
    ):
        if records:
            lost = _is_lost(records, counted.n_records)
            verdict = Verdict.REFUSAL if lost else Verdict.WARNING
            yield Finding(fact.name, what, records, verdict, becomes)


# -- features -----------------------------------------------------------------------------------------------


def _in_feature(fact: Feature, counted: Tally) -> Iterator[Finding]:
    says_what_becomes = fact.has_indicator or fact.fill is not None
    if counted.n_empty:
        if fact.missing == "refuse":
            verdict = Verdict.REFUSAL
        elif counted.n_said or says_what_becomes:
            verdict = Verdict.PROVIDED_FOR
        else:
            verdict = Verdict.WARNING
        yield Finding(fact.name, "have no value", counted.n_empty, verdict)
    if counted.n_misfits:
        share = counted.n_misfits / counted.n_said
        spelling = other_spelling(fact, counted)
        # an indicator or a fill is for unusual values, not for values with another notation
        is_meant = says_what_becomes and not spelling
        lost = _is_lost(counted.n_misfits, counted.n_said)
        if fact.missing == "refuse" or (lost and (share == 1.0 or not is_meant)):
            verdict = Verdict.REFUSAL
        elif lost or not is_meant:
            verdict = Verdict.WARNING
        else:
            verdict = Verdict.PROVIDED_FOR
        what, remedy = (
            _MISFITS.get(type(fact), "have a value that does not fit"),
            spelling or beside_the_number(fact, counted),
        )
        yield Finding(fact.name, what, counted.n_misfits, verdict, remedy, share)
    if isinstance(fact, Numeric | Date):
        yield from _beyond_bounds(fact, counted)


def _is_lost(records: int, values: int) -> bool:
    return records >= FEWEST_LOST and records > MOST_LOST * values


def _beyond_bounds(fact: Numeric | Date, counted: Tally) -> Iterator[Finding]:
    """Count values beyond the bounds of a column, or of a label."""
    low, high = fact.ends
    below, above = (counted.number_where(which) for which in (counted.said < low, counted.said > high))
    lost = _is_lost(below + above, counted.n_said)
    units = "the bounds must be in the units of the table" if lost else ""
    for side, records in (("below the low bound", below), ("above the high bound", above)):
        if records:
            yield Finding(
                fact.name,
                f"have a value {side}",
                records,
                Verdict.REFUSAL if lost else Verdict.WARNING,
                units,
                records / counted.n_said,
            )


_MISFITS: dict[type[Feature], str] = {
    Numeric: "have a value that is no number",
    Integer: "have a value that is no whole number",
    Date: "have a value that is no date",
    Boolean: "have a value that is neither true nor false",
    Categorical: "have a value that is none of the categories",
    Ordinal: "have a value that is none of the levels",
}


# -- the label ----------------------------------------------------------------------------------------------


def _n_dropped(label: AnyLabel, counted: Tally) -> int:
    """Return the number of records that a fit leaves out."""
    if not label.drops:
        return 0
    return counted.n_empty + (counted.n_misfits if label.drops_misfits else 0)


def _in_label(label: AnyLabel, counted: Tally) -> Iterator[Finding]:
    if counted.n_empty:
        if label.drops:
            verdict = Verdict.PROVIDED_FOR if counted.n_said else Verdict.REFUSAL
            yield Finding(label.name, "have no label", counted.n_empty, verdict, _LEFT_OUT)
        else:
            yield Finding(label.name, "have no label", counted.n_empty, remedy=_DROP)
    if isinstance(label, Label):
        yield from _other_labels(label, counted)
    elif isinstance(label, Quantity):
        yield from _in_quantity(label, counted)


_LEFT_OUT, _DROP = "such records are left out", 'missing = "drop" leaves such records out'


def _other_labels(label: Label, counted: Tally) -> Iterator[Finding]:
    if counted.n_misfits:
        kinds = counted.different_misfits()
        one_of = "another label" if kinds == 1 else f"one of {kinds:,} labels that are none of the classes"
        one = "correct the classes, or tell one label from all others by one_against_rest = ..."
        remedy = other_spelling(label, counted) or one
        yield Finding(label.name, f"have {one_of}", counted.n_misfits, remedy=remedy)


def _in_quantity(label: Quantity, counted: Tally) -> Iterator[Finding]:
    if counted.n_misfits:
        spelling = other_spelling(label, counted) or beside_the_number(label, counted)
        lost = _is_lost(counted.n_misfits, counted.n_said) or counted.n_misfits == counted.n_said
        yield Finding(
            label.name,
            f"have a label that is {label.misfit}",
            counted.n_misfits,
            Verdict.REFUSAL if lost or not label.drops else Verdict.WARNING,
            spelling or (_LEFT_OUT if label.drops else _DROP),
            counted.n_misfits / counted.n_said,
        )
    if label.bounds is not None:
        yield from _beyond_bounds(label.as_column, counted)


def _in_classes(label: Label, counted: Tally) -> Iterator[Finding]:
    for place, name in enumerate(label.classes):
        if counted.n_said > counted.n_misfits and not counted.number_where(counted.said == place):
            is_the_one = label.one_against_rest is not None and name == label.positive
            verdict = Verdict.REFUSAL if is_the_one else Verdict.WARNING
            yield Finding(label.name, f"no record is of class {name!r}", verdict=verdict)


def _in_number_of_records(schema: Schema, n_records: int) -> Iterator[Finding]:
    if n_records != schema.records:
        counted = "records with a label" if schema.label.drops else "records"
        yield Finding(
            "",
            f"does not have as many {counted} as are declared",
            remedy="correct the number, or leave it out and a noisy count is bought",
        )
