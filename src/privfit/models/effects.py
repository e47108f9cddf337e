"""The effects of a model in the words of the schema: a row for each number and category, with an interval."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privfit.models.changes import Change, change_between, change_of, listed, zeros
from privfit.models.contrast import Contrast, Contrasts, Reading
from privfit.models.inference import Effect, Inference
from privfit.models.published import Published, Vector
from privfit.models.separators import in_words, with_separators
from privfit.models.shown_scores import shown_scores
from privfit.printable import printable
from privfit.schema import Boolean, Categorical, Date, Ordinal, Schema
from privfit.schema.column import OTHER, Feature, Scale
from privfit.schema.curved import Curved

INTERCEPT = "(intercept)"
DAYS_OF_A_DATE = 365.0  # the row of a date is for a change of so many days
NO_INFERENCE = "This model has no intervals, because it was fitted without inference=True."
NOT_ASKED = "This effect was not asked for."
OVERFLOWED = Effect(
    0.0, math.nan, math.nan, refused="The numbers that the model was published with are too large."
)


@dataclass(frozen=True)
class EffectRow:
    """An effect as a row of a table.

    Attributes
    ----------
    column : str
        The column of the table; "" for the intercept.
    level : str
        The category, or "" for a number.
    name : str
        A short name of the row.
    contrast : Contrast or None
        The effect; None for a reference level, with which the others are compared.
    label : str
        With several classes, the class that is compared with the first; otherwise "".
    """

    column: str
    level: str
    name: str
    contrast: Contrast | None
    label: str = ""


class Effects:
    """The effects of a published model with their intervals.

    Parameters
    ----------
    model : Published
        A model with an inference. With several classes, each is compared with the first, unless `between` is
        used.
    level : float
        The confidence level of the intervals.

    Raises
    ------
    ValueError
        If the model has no inference, or the level is not between 0 and 1.
    """

    def __init__(self, model: Published, level: float = 0.95) -> None:
        if model.inference is None:
            raise ValueError(NO_INFERENCE)
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0.0 < level < 1.0:
            raise ValueError(f"level must be a number between 0 and 1, both excluded, got {level!r}.")
        self.model, self.level = model, float(level)
        self.schema = None if model.schema is None else Schema.from_dict(model.schema)
        shown = shown_scores(model, self.schema)
        self.positive = shown.positive
        self.reading = Reading.of(model, self.schema, shown.positive)
        # if the schema declares the first of two labels as the positive class, effects change its odds
        self._sign = -1.0 if model.classes and shown.positive == model.classes[0] else 1.0
        bounds = model.bounds if self.schema is not None else None
        p = model.n_columns
        self.several = model.target.outputs > 1
        # with several classes: the places of the class whose odds change, and of the class to compare with
        self._pair = (1, 0)
        if self.several:
            self.reading = _of_classes("a class", model.classes[0])
        self._starts = np.zeros(p) if bounds is None else np.clip(0.0, *bounds)
        self._ends = np.ones(p) if bounds is None else np.clip(1.0, *bounds)

    @property
    def inference(self) -> Inference:
        """The released numbers about the effects."""
        assert self.model.inference is not None
        return self.model.inference

    # -- several classes -----------------------------------------------------------------------------------

    def between(self, of: int, against: int = 0) -> Effects:
        """Return the effects on the odds of one class against another.

        Parameters
        ----------
        of, against : int
            The places of the two classes among those of the model.

        Returns
        -------
        effects : Effects
            The effects for these two classes.
        """
        found, classes = copy(self), self.model.classes
        found._pair, found.reading = (of, against), _of_classes(classes[of], classes[against])
        return found

    def _of_each_class(self) -> Iterator[tuple[str, Effects]]:
        """Yield the name of each class but the first, and the effects on its odds against the first."""
        for place, label in enumerate(self.model.classes[1:], 1):
            yield printable(str(label)), self.between(place)

    def _place(self, label: Any, role: str) -> int:
        """Return the place of a class that a caller named; raise if there is no such class."""
        classes = self.model.classes
        if not self.several:
            raise ValueError(
                f"{role} names one of several classes, and this model has one score; leave it out."
            )
        if label not in classes:
            raise ValueError(f"{role} must be one of the classes, which are {listed(classes)}.")
        return list(classes).index(label)

    # -- single effects ------------------------------------------------------------------------------------

    def of(
        self, first: Any, second: Any = None, *, of: Any = None, against: Any = None
    ) -> Contrast | Contrasts:
        """Return the effect of a change, or of the difference between two rows.

        Parameters
        ----------
        first : mapping or row
            A change by column or, if there is a second one, a row.
        second : row, optional
            The row that the first one is changed to.
        of : object, optional
            With several classes: the class whose odds change; by default each in turn.
        against : object, optional
            With several classes: the class with which it is compared; by default the first.

        Returns
        -------
        contrast : Contrast or Contrasts
            The effect in words; with several classes one for each class, unless `of` names one.

        Raises
        ------
        ValueError
            If columns, values or classes do not fit the model, or if the model treats both sides alike.
        """
        other = 0 if against is None else self._place(against, "against")
        named = None if of is None else self._place(of, "of")
        if named == other:
            raise ValueError("of and against name the same class, so there is nothing to compare.")
        change = change_of(self.model, first) if second is None else change_between(self.model, first, second)
        if not self.several:
            return self._contrast(change)
        if named is not None:
            return self.between(named, other)._contrast(change)
        places = (place for place in range(len(self.model.classes)) if place != other)
        return Contrasts(self.between(place, other)._contrast(change) for place in places)

    def _contrast(self, change: Change) -> Contrast:
        effect = self._effect(change.contrast)
        if effect.refused is None and not effect.std_err:
            raise ValueError("The model treats both sides alike, so there is nothing to compare.")
        words = change.words
        if self.several:
            named, other = (printable(str(self.model.classes[place])) for place in self._pair)
            words = f"{words}, {named} against {other}"
        return Contrast(words, effect, self.reading, self.level)

    def _effect(self, contrast: Vector) -> Effect:
        """Return the effect of a contrast for the shown classes; refuse it if it was not asked for."""
        inference = self.inference
        if self.several:  # the weights are differences from the first class, which has no weights of its own
            placed = np.zeros((len(self.model.classes), len(contrast)))
            placed[list(self._pair)] = contrast, -contrast
            contrast = placed[1:].ravel()
        signed = self._sign * contrast
        if inference.chosen is not None:
            asked = [name in inference.chosen for name in inference.names]
            if (contrast[~(np.array(asked) | inference.is_reference)] != 0.0).any():
                estimate = float(signed @ inference.estimate)
                return Effect(estimate, math.nan, math.nan, refused=NOT_ASKED)
        try:
            with np.errstate(all="ignore"):
                effect = inference.effect(signed)
        except (ArithmeticError, np.linalg.LinAlgError):  # a file may hold numbers of any size
            return OVERFLOWED
        known = effect.refused is not None or math.isfinite(effect.std_err)
        return effect if known and math.isfinite(effect.estimate) else OVERFLOWED

    # -- all effects ---------------------------------------------------------------------------------------

    def rows(self, per: Mapping[str, float] | None = None) -> list[EffectRow]:
        """Return a row for each number and category, and one for the intercept.

        Parameters
        ----------
        per : mapping of str to float, optional
            The change of a number by column, in its unit; by default 1, and 365 days for a date.

        Returns
        -------
        rows : list of EffectRow
            The rows in the order of the schema, the intercept last; with several classes, class by class.

        Raises
        ------
        ValueError
            If `per` names a column that is not a number of the model, or has a curve.
        """
        per = dict(per or {})
        for name, amount in per.items():
            if self.schema is not None and name not in (numbers := list(_lines(self.schema))):
                known = f"which are {listed(numbers)}" if numbers else "of which this model has none"
                raise ValueError(
                    f"per can name columns of numbers and dates without a curve, {known}; {name!r} is none "
                    "of them."
                )
            change_of(self.model, {name: amount})  # raises if this is not a change of the column
        if not self.several:
            return self._rows(per)
        return [replace(row, label=label) for label, each in self._of_each_class() for row in each._rows(per)]

    def _rows(self, per: dict[str, float]) -> list[EffectRow]:
        rows = list(self._of_columns(per) if self.schema is None else self._of_schema(self.schema, per))
        return rows + self._intercept()

    def over_ranges(self) -> list[EffectRow]:
        """Return a row for each number and category, numbers over their whole range, as in `weights_`.

        Returns
        -------
        rows : list of EffectRow
            Rows whose sizes can be compared, in the order of the schema, without the intercept; with several
            classes, class by class.
        """
        if self.several:
            return [
                replace(row, label=label) for label, each in self._of_each_class() for row in each._ranges()
            ]
        return self._ranges()

    def _ranges(self) -> list[EffectRow]:
        return list(self._of_columns(None) if self.schema is None else self._of_schema(self.schema, None))

    def _intercept(self) -> list[EffectRow]:
        if self.model.has_intercept:
            contrast = zeros(self.model)
            contrast[:-1], contrast[-1] = self._starts, 1.0
            start = "every reference category, and every number at its lowest declared value"
            record = "a record of zeros" if self.schema is None else f"a record with {start}"
            return [self._row("", "", INTERCEPT, Change(record, contrast))]
        return []

    def _row(self, column: str, level: str, name: str, change: Change) -> EffectRow:
        effect = self._effect(change.contrast)
        is_reference = effect.refused is None and not effect.std_err
        contrast = None if is_reference else Contrast(change.words, effect, self.reading, self.level)
        return EffectRow(column, level, name, contrast)

    def _of_columns(self, per: dict[str, float] | None) -> Iterator[EffectRow]:
        names = self.model.feature_names or [f"x{j}" for j in range(self.model.n_columns)]
        for j, name in enumerate(map(printable, names)):
            contrast = zeros(self.model)
            if per is None and self.model.bounds is not None:
                low, high = (float(side[j]) for side in self.model.bounds)
                contrast[j], words = high - low, with_separators(f"from {low:.6g} to {high:.6g}")
            else:
                contrast[j] = float((per or {}).get(names[j], 1.0))
                words = f"{contrast[j]:+g}"
            yield self._row(names[j], "", f"{name}, {words}", Change(f"{name}: {words}", contrast))

    def _of_schema(self, schema: Schema, per: dict[str, float] | None) -> Iterator[EffectRow]:
        start = 0
        for fact in schema.features:
            place = slice(start, start + len(fact.levels))
            start = place.stop
            if isinstance(fact, Categorical):
                yield from self._of_categories(fact, place)
            else:
                assert isinstance(fact, Scale)
                yield from self._of_number(fact, place, per)

    def _of_categories(self, fact: Categorical, place: slice) -> Iterator[EffectRow]:
        ends = (self._ends - self._starts)[place]
        reference = fact.levels.index(fact.reference_level)
        for j, level in enumerate(fact.levels):
            name = f"{printable(fact.name)} = {printable(level)}"
            if j == reference:
                yield EffectRow(fact.name, level, name, None)
                continue
            contrast = zeros(self.model)
            contrast[place.start + j], contrast[place.start + reference] = ends[j], -ends[reference]
            yield self._row(fact.name, level, name, Change(f"{name} {printable(fact.step(level))}", contrast))

    def _of_number(self, fact: Scale, place: slice, per: dict[str, float] | None) -> Iterator[EffectRow]:
        """Yield a row for a number or for each piece of its curve, and one for cells without a number.

        A column of two words has a row for each of them; the first is the reference.

        The pieces of a curve lie between public edges. Rows for stretches over which the curve rises or
        falls, as in `weights_`, would be chosen by the estimates, so their intervals would be too narrow.
        """
        name, ends = printable(fact.name), self._ends - self._starts
        for j, level in enumerate(fact.levels, place.start):
            contrast = zeros(self.model)
            contrast[j] = ends[j]
            words = f"{name} {printable(in_words(fact, level))}"
            if level == OTHER:
                low = f"{printable(fact.span[0])} {printable(fact.unit)}".rstrip()
                yield self._row(fact.name, level, f"{name} = {level}, not {low}", Change(words, contrast))
            elif isinstance(fact, Curved) and fact.shape is not None:
                unit = f" {printable(fact.unit)}" if fact.unit else ""
                yield self._row(fact.name, level, f"{name}, {level}{unit}", Change(words, contrast))
            elif isinstance(fact, Boolean):
                no, yes = map(printable, fact.span)
                yield EffectRow(fact.name, no, f"{name} = {no}", None)
                change = Change(f"{name}: {yes} instead of {no}", contrast)
                yield self._row(fact.name, yes, f"{name} = {yes}", change)
            else:
                yield self._of_line(fact, j, per)

    def _of_line(self, fact: Scale, j: int, per: dict[str, float] | None) -> EffectRow:
        """Return the row of a number without a curve; over its range if `per` is None."""
        contrast, name = zeros(self.model), printable(fact.name)
        low, high = fact.ends
        unit, one = printable(fact.unit), 1.0
        if isinstance(fact, Date):
            unit, one = "days", DAYS_OF_A_DATE
        elif isinstance(fact, Ordinal):
            unit = "levels"
        if per is None:
            contrast[j] = (self._ends - self._starts)[j]
            words = f"{name}, {printable(in_words(fact, ''))}{self._until(fact, j)}"
            return self._row(fact.name, "", words, Change(words, contrast))
        amount = float(per.get(fact.name, one))
        contrast[j] = amount / (high - low)
        units = f" ({unit})" if unit else ""
        named = f"{name}{units}, {amount:+g}{self._until(fact, j)}"
        return self._row(fact.name, "", named, Change(f"{name}: {amount:+g} {unit}".rstrip(), contrast))

    def _until(self, fact: Feature, j: int) -> str:
        """Return in words the value above which a number no longer changes a score, if there is one."""
        end = float(self._ends[j])
        if end >= 1.0 or isinstance(fact, Ordinal):
            return ""
        assert isinstance(fact, Scale)
        low, high = fact.ends
        value = low + end * (high - low)
        if isinstance(fact, Date):
            return f", up to {datetime.date.fromordinal(round(value))}"
        return with_separators(f", up to {value:.6g}")


def _lines(schema: Schema) -> Iterator[str]:
    """Yield the names of columns of numbers or dates without a curve."""
    for fact in schema.features:
        if isinstance(fact, Curved) and fact.shape is None:
            yield fact.name


def _of_classes(label: Any, other: Any) -> Reading:
    """Return how to read an effect of several classes."""
    named, against = printable(str(label)), printable(str(other))
    return Reading(f"the log odds of {named} against {against}", "odds ratio")
