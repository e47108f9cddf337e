"""The effects of a model in the schema's words: a row for each number and category, with its interval."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privfit.models.changes import Change, change_between, change_of, zeros
from privfit.models.contrast import Contrast, Reading
from privfit.models.inference import Effect, Inference
from privfit.models.published import Published, Vector
from privfit.models.shown_scores import shown_scores
from privfit.printable import printable
from privfit.schema import Boolean, Categorical, Date, Ordinal, Schema
from privfit.schema.column import OTHER, Feature, Scale
from privfit.schema.curved import Curved

INTERCEPT = "(intercept)"
DAYS_OF_A_DATE = 365.0  # a date's row is for so many days
NO_INFERENCE = "This model has no intervals, because it was fitted without inference=True."
NOT_ASKED = "This effect was not asked for."
OVERFLOWED = Effect(
    0.0, math.nan, math.nan, refused="The numbers that the model was published with are too large."
)


@dataclass(frozen=True)
class EffectRow:
    """An effect, and where it stands in a table.

    Attributes
    ----------
    column : str
        The column of the table; "" for the intercept.
    level : str
        The category, or "" for a number.
    name : str
        What the row is called where there is room for little.
    contrast : Contrast or None
        The effect; None for a reference level, with which the others are compared.
    label : str
        Of several classes, the one that is compared with the first; "" otherwise.
    """

    column: str
    level: str
    name: str
    contrast: Contrast | None
    label: str = ""


class Effects:
    """What is known about the effects of a published model.

    Parameters
    ----------
    model : Published
        A model with an inference. Of several classes each is compared with the first.
    level : float
        Of the intervals.

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
        # of two labels, effects are those of the first if the schema calls it the positive one
        self._sign = -1.0 if model.classes and shown.positive == model.classes[0] else 1.0
        bounds = model.bounds if self.schema is not None else None
        p = model.n_columns
        self.several = model.target.outputs > 1
        self._block = 0  # of several classes: how many come before the one that is compared with the first
        if self.several:
            self.reading = self._against_the_first("a class")
        self._starts = np.zeros(p) if bounds is None else np.clip(0.0, *bounds)
        self._ends = np.ones(p) if bounds is None else np.clip(1.0, *bounds)

    @property
    def inference(self) -> Inference:
        """What was released about the effects."""
        assert self.model.inference is not None
        return self.model.inference

    def _against_the_first(self, label: str) -> Reading:
        """Return how an effect of several classes is read."""
        first = printable(str(self.model.classes[0]))
        return Reading(f"the log odds of {label} against {first}", "odds ratio")

    # -- single effects ------------------------------------------------------------------------------------

    def of(self, first: Any, second: Any = None) -> Contrast:
        """Return the effect of a change, or of the difference between two rows.

        Parameters
        ----------
        first : mapping or row
            A change by column or, if there is a second one, a row.
        second : row, optional
            The row that the first one is changed to.

        Returns
        -------
        contrast : Contrast
            The effect in words.

        Raises
        ------
        ValueError
            If columns or values do not fit the model, or it treats both sides alike.
        """
        if self.several:
            raise ValueError(
                "contrast is not known for several classes; inference_.effect(a) judges any sum of effects."
            )
        change = change_of(self.model, first) if second is None else change_between(self.model, first, second)
        effect = self._effect(change.contrast)
        if effect.refused is None and not effect.std_err:
            raise ValueError("The model treats both sides alike, so there is nothing to compare.")
        return Contrast(change.words, effect, self.reading, self.level)

    def _effect(self, contrast: Vector) -> Effect:
        """Return the effect of a contrast for the class that is shown, or of one that nobody asked for."""
        inference, d = self.inference, len(contrast)
        if self.several:
            placed = np.zeros(len(inference))
            placed[self._block * d : (self._block + 1) * d] = contrast
            contrast = placed
        signed = self._sign * contrast
        if inference.chosen is not None:
            asked = [name in inference.chosen for name in inference.names]
            if (contrast[~(np.array(asked) | inference.is_reference)] != 0.0).any():
                estimate = float(signed @ inference.estimate)
                return Effect(estimate, math.nan, math.nan, refused=NOT_ASKED)
        try:
            with np.errstate(all="ignore"):
                effect = inference.effect(signed)
        except (ArithmeticError, np.linalg.LinAlgError):  # a stranger's file may hold numbers of any size
            return OVERFLOWED
        known = effect.refused is not None or math.isfinite(effect.std_err)
        return effect if known and math.isfinite(effect.estimate) else OVERFLOWED

    # -- all effects ---------------------------------------------------------------------------------------

    def rows(self, per: Mapping[str, float] | None = None) -> list[EffectRow]:
        """Return a row for each number and category, and one for the intercept.

        Parameters
        ----------
        per : mapping of str to float, optional
            By column: how much a number grows, in its own unit; 1 by default, and 365 days for a date.

        Returns
        -------
        rows : list of EffectRow
            In the order of the schema, the intercept last; of several classes, one class after the other.

        Raises
        ------
        ValueError
            If `per` names a column that is not a number of the model, or has a curve.
        """
        per = dict(per or {})
        numbers = None if self.schema is None else set(map(_line, self.schema.features))
        for name, amount in per.items():
            if numbers is not None and name not in numbers:
                raise ValueError(
                    f"per can name columns of numbers and dates without a curve, which {name!r} is not."
                )
            change_of(self.model, {name: amount})  # refuses what is no change of it
        if not self.several:
            return self._rows(per)
        found, reading = list[EffectRow](), self.reading
        for block, label in enumerate(printable(str(label)) for label in self.model.classes[1:]):
            self._block = block
            self.reading = self._against_the_first(label)
            found += [replace(row, label=label) for row in self._rows(per)]
        self.reading = reading
        return found

    def _rows(self, per: dict[str, float]) -> list[EffectRow]:
        rows = list(self._of_columns(per) if self.schema is None else self._of_schema(self.schema, per))
        return rows + self._intercept()

    def over_ranges(self) -> list[EffectRow]:
        """Return a row for each number and category, numbers over their whole range, as in `weights_`.

        Returns
        -------
        rows : list of EffectRow
            Their sizes can be compared. In the order of the schema, without the intercept.
        """
        if self.several:
            raise ValueError("Effects over whole ranges are not known for several classes.")
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
                contrast[j], words = high - low, f"from {low:.6g} to {high:.6g}"
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

        The pieces of a curve lie between public edges. A row for each stretch over which the curve rises or
        falls, as in `weights_`, would be chosen by looking at the estimates, and its interval too narrow.
        """
        name, ends = printable(fact.name), self._ends - self._starts
        for j, level in enumerate(fact.levels, place.start):
            contrast = zeros(self.model)
            contrast[j] = ends[j]
            words = f"{name} {printable(fact.step(level))}"
            if level == OTHER:
                low = f"{printable(fact.span[0])} {printable(fact.unit)}".rstrip()
                yield self._row(fact.name, level, f"{name} = {level}, not {low}", Change(words, contrast))
            elif isinstance(fact, Curved) and fact.shape is not None:
                unit = f" {printable(fact.unit)}" if fact.unit else ""
                yield self._row(fact.name, level, f"{name}, {level}{unit}", Change(words, contrast))
            else:
                yield self._of_line(fact, j, per)

    def _of_line(self, fact: Scale, j: int, per: dict[str, float] | None) -> EffectRow:
        """Return the row of a number without a curve; over its range if `per` is None."""
        contrast, name = zeros(self.model), printable(fact.name)
        low, high = fact.ends
        if isinstance(fact, Boolean):
            contrast[j] = (self._ends - self._starts)[j]
            no, yes = map(printable, fact.span)
            return self._row(
                fact.name, "", f"{name} = {yes}", Change(f"{name}: {yes} instead of {no}", contrast)
            )
        unit, one = printable(fact.unit), 1.0
        if isinstance(fact, Date):
            unit, one = "days", DAYS_OF_A_DATE
        elif isinstance(fact, Ordinal):
            unit = "levels"
        if per is None:
            contrast[j] = (self._ends - self._starts)[j]
            words = f"{name}, {printable(fact.step(''))}{self._until(fact, j)}"
            return self._row(fact.name, "", words, Change(words, contrast))
        amount = float(per.get(fact.name, one))
        contrast[j] = amount / (high - low)
        units = f" ({unit})" if unit else ""
        named = f"{name}{units}, {amount:+g}{self._until(fact, j)}"
        return self._row(fact.name, "", named, Change(f"{name}: {amount:+g} {unit}".rstrip(), contrast))

    def _until(self, fact: Feature, j: int) -> str:
        """Say from which value on a number no longer changes a score, if a fit bought a bound for it."""
        end = float(self._ends[j])
        if end >= 1.0 or isinstance(fact, Ordinal):
            return ""
        assert isinstance(fact, Scale)
        low, high = fact.ends
        value = low + end * (high - low)
        return (
            f", up to {datetime.date.fromordinal(round(value)) if isinstance(fact, Date) else f'{value:.6g}'}"
        )


def _line(fact: Feature) -> str | None:
    """Return the name of a column of numbers or dates without a curve, None for others."""
    return fact.name if isinstance(fact, Curved) and fact.shape is None else None
