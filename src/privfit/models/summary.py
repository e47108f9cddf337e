"""A regression table with intervals, on a terminal, in a notebook and as a frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import zip_longest
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

from privfit.models.contrast import TOO_LITTLE, Contrast, number_text, pvalue_text, ratio_texts, size_text
from privfit.models.effects import NOT_ASKED, EffectRow, Effects
from privfit.models.published import Published
from privfit.models.registry import title_of
from privfit.models.summary_words import footnotes, header
from privfit.printable import padded, printable, terminal_width

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 100  # columns of a terminal
SHORTEST_NAME = 16  # columns; the least width of names, which are broken into lines
REFERENCE = "(reference)"
LEFT = "not asked for"


class Summary(tuple[EffectRow, ...]):
    """The effects of a model with their intervals: a tuple of `EffectRow` that prints as a table.

    Attributes
    ----------
    level : float
        The confidence level of the intervals.
    changed : str
        The quantity that an effect changes.
    ratio : str
        "odds ratio" or "rate ratio"; "" if the model has none.
    title : str
        The kind of model.
    facts : tuple of pairs of str
        Names and texts of the header: what is predicted, the number of records if it is public, the promise.
    notes : tuple of str
        Sentences about how to read the table.
    first : str
        With several classes, the class with which the others are compared; "" if there is one score.
    """

    level: float
    changed: str
    ratio: str
    title: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    first: str = ""

    @classmethod
    def of(cls, model: Published, level: float = 0.95, per: Mapping[str, float] | None = None) -> Summary:
        """Return the table of a model's effects.

        Parameters
        ----------
        model : Published
            A model with an inference.
        level : float
            Of the intervals.
        per : mapping of str to float, optional
            The increase for the row of each column, in the column's unit; 1 by default.

        Returns
        -------
        summary : Summary
            A row for each number and category, and the intercept.
        """
        effects = Effects(model, level)
        summary = cls(effects.rows(per))
        summary.level = effects.level
        summary.changed, summary.ratio = effects.reading.changed, effects.reading.ratio
        kept = "without privacy" if model.privacy["promise"] is None else "with differential privacy"
        summary.title = f"{title_of(model.kind)} {kept}"
        summary.facts = tuple(header(model, effects))
        summary.first = printable(str(model.classes[0])) if effects.several else ""
        summary.notes = tuple(footnotes(effects, summary))
        return summary

    @property
    def _percent(self) -> str:
        return f"{100.0 * self.level:g}%"

    def heading(self) -> tuple[str, ...]:
        """Return the names of the columns of numbers.

        Returns
        -------
        names : tuple of str
            The last two are the ends of the interval.
        """
        ratio = (self.ratio,) if self.ratio else ()
        tails = (0.5 - 0.5 * self.level, 0.5 + 0.5 * self.level)
        return ("coef", "std err", "privacy", "z", "p", *ratio, *(f"{tail:.4g}" for tail in tails))

    def compared(self, row: EffectRow) -> str:
        """Return the heading above the rows of a class.

        Parameters
        ----------
        row : EffectRow
            One of the rows.

        Returns
        -------
        text : str
            The class and the class that it is compared with; "" if there is one score.
        """
        return f"{row.label} against {self.first}" if row.label else ""

    def cells(self, row: EffectRow) -> tuple[str, ...] | str:
        """Return the numbers of a row as texts.

        Parameters
        ----------
        row : EffectRow
            One of the rows.

        Returns
        -------
        texts : tuple of str, or str
            A text for each name of `heading`, or one text for a reference level or a refused effect.
        """
        contrast = row.contrast
        if contrast is None:
            return REFERENCE
        if contrast.refused is not None:
            return LEFT if contrast.refused == NOT_ASKED else TOO_LITTLE
        error = contrast.std_err
        last = tuple(number_text(end, error) for end in contrast.interval())
        if contrast.ratio is not None:
            last = ratio_texts([contrast.ratio, *(contrast.ratio_interval() or ())], error)
        return (
            number_text(contrast.estimate, error),
            size_text(error, error),
            size_text(contrast.privacy, error),
            f"{contrast.z:.2f}",
            pvalue_text(contrast.pvalue),
            *last,
        )

    def top(self, count: int) -> Summary:
        """Return the table with only the effects that have the largest z.

        Parameters
        ----------
        count : int
            How many effects are kept.

        Returns
        -------
        summary : Summary
            The kept effects in their order, with the references of their columns. Refused effects are left
            out first.
        """
        order = sorted(
            (place for place, row in enumerate(self) if row.contrast is not None),
            key=lambda place: -_size(self[place].contrast),
        )
        kept = set(order[:count])
        columns = {(self[place].label, self[place].column) for place in kept}
        summary = Summary(
            row
            for place, row in enumerate(self)
            if place in kept or (row.contrast is None and (row.label, row.column) in columns)
        )
        vars(summary).update(vars(self))
        left = len(order) - len(kept)
        if left:
            summary.notes += (f"{left:,} effects with smaller z, or without one, are left out.",)
        return summary

    # -- a terminal ----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        heading, cells = self.heading(), [self.cells(row) for row in self]
        numbers = [texts for texts in cells if not isinstance(texts, str)]
        widths = [max(map(len, column)) for column in zip(heading, *numbers, strict=True)]
        of_numbers = sum(widths) + 2 * len(widths)
        longest = max((terminal_width(row.name) for row in self), default=0)
        room = max(min(longest, WIDTH - of_numbers), SHORTEST_NAME)
        lines = [_line("", heading, room, widths), "-" * (room + of_numbers)]
        label = ""
        for row, texts in zip(self, cells, strict=True):
            if row.label != label:
                label = row.label
                lines.append(self.compared(row))
            *begin, end = wrap(row.name, room) or [""]
            lines += begin
            lines.append(
                f"{padded(end, room)}  {texts}" if isinstance(texts, str) else _line(end, texts, room, widths)
            )
        width = max(room + of_numbers, 60)
        rule = "=" * width
        return "\n".join(
            [
                self.title.center(width).rstrip(),
                rule,
                *_header(self.facts, width),
                rule,
                *lines,
                rule,
                *(fill(note, WIDTH, break_long_words=False) for note in self.notes),
            ]
        )

    __str__ = __repr__

    # -- a notebook ----------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        heading = self.heading()
        left, right = 'style="text-align:left"', 'style="text-align:right"'
        facts = "".join(
            f'<tr><th scope="row" {left}>{escape(name)}</th><td {left}>{escape(text)}</td></tr>'
            for name, text in self.facts
        )
        heads = "".join(f'<th scope="col" {right}>{escape(name)}</th>' for name in ("", *heading))
        rows, label = [], ""
        for row in self:
            if row.label != label:
                label = row.label
                above = escape(self.compared(row))
                rows.append(f'<tr><th colspan="{len(heading) + 1}" {left}>{above}</th></tr>')
            texts = self.cells(row)
            name = f'<th scope="row" {left}>{escape(row.name)}</th>'
            if isinstance(texts, str):
                cells = (
                    f'<td colspan="{len(heading)}" style="text-align:left;opacity:.7">{escape(texts)}</td>'
                )
            else:
                sure = row.contrast is not None and row.contrast.is_sure
                style = right if sure else 'style="text-align:right;opacity:.7"'
                cells = "".join(f"<td {style}>{escape(text)}</td>" for text in texts)
            rows.append(f"<tr>{name}{cells}</tr>")
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<table><caption>{escape(self.title)}</caption><tbody>{facts}</tbody></table>"
            f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>{notes}"
        )

    # -- programs ------------------------------------------------------------------------------------------

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as plain data, for JSON and for frames.

        Returns
        -------
        records : list of dict
            Numbers of refused effects are None. A reference level has the estimate 0 and no other number.
        """
        return [_record(row, self.ratio) for row in self]

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a frame of pandas.

        Returns
        -------
        frame : pandas.DataFrame
            A row for each effect, indexed by its name; NaN where an effect is refused.
        """
        import pandas as pd  # imported late: only frames need it

        records = self.records()
        index = pd.Index([record.pop("name") for record in records], name="effect")
        frame = pd.DataFrame(records, index=index)
        texts = ["column", "level", "class", "change", "refused"]
        return frame.astype({name: float for name in frame.columns if name not in (*texts, "is_reference")})


def _record(row: EffectRow, ratio: str) -> dict[str, Any]:
    """Return a row as plain data."""
    named = {"name": row.name, "column": row.column, "level": row.level}
    if row.label:
        named["class"] = row.label
    contrast, ratio = row.contrast, ratio.replace(" ", "_")
    numbers: dict[str, float | None] = dict.fromkeys(
        ("coef", "std_err", "sampling", "privacy", "z", "pvalue", "low", "high"), None
    )
    ratios = dict.fromkeys((ratio, f"{ratio}_low", f"{ratio}_high"), None) if ratio else {}
    if contrast is None:
        numbers["coef"] = 0.0
        return {**named, "change": "", **numbers, **ratios, "is_reference": True, "refused": None}
    low, high = contrast.interval()
    found = {
        "coef": contrast.estimate,
        "std_err": contrast.std_err,
        "sampling": contrast.sampling,
        "privacy": contrast.privacy,
        "z": contrast.z,
        "pvalue": contrast.pvalue,
        "low": low,
        "high": high,
    }
    ends = contrast.ratio_interval()
    if ends is not None and contrast.ratio is not None:
        found |= dict(zip(ratios, (contrast.ratio, *ends), strict=True))
    shown = contrast.refused is None
    kept = {name: value if shown and math.isfinite(value) else None for name, value in found.items()}
    return {
        **named,
        "change": contrast.words,
        **kept,
        "is_reference": False,
        "refused": contrast.refused,
    }


def _line(name: str, texts: Sequence[str], room: int, widths: Sequence[int]) -> str:
    numbers = (text.rjust(width) for text, width in zip(texts, widths, strict=True))
    return "  ".join([padded(name, room), *numbers]).rstrip()


def _header(facts: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Return the facts in two columns if they fit, otherwise one below the other."""
    rows = (len(facts) + 1) // 2
    left, right = (_aligned(side) for side in (facts[:rows], facts[rows:]))
    beside = max(map(len, left))
    if beside + 2 + max(map(len, right), default=0) <= WIDTH:
        beside = max(beside, width - 2 - max(max(map(len, right), default=0), width // 2))
        return [f"{a.ljust(beside)}  {b}".rstrip() for a, b in zip_longest(left, right, fillvalue="")]
    return [line for text in _aligned(facts) for line in wrap(text, WIDTH, subsequent_indent="    ")]


def _aligned(facts: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in facts), default=0) + 1
    return [f"{(name + ':').ljust(width)} {text}" for name, text in facts]


def _size(contrast: Contrast | None) -> float:
    """Return how many standard errors an effect is from 0; refused ones come last."""
    return abs(contrast.z) if contrast is not None and math.isfinite(contrast.z) else -1.0
