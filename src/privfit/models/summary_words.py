"""The words of a regression table: its header, how to read it, and how to get more intervals."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from privfit.accounting.amounts import written_up
from privfit.models.contrast import TOO_LITTLE
from privfit.models.effects import INTERCEPT, NOT_ASKED, EffectRow, Effects
from privfit.models.inference import TOO_SMALL, UNSTEADY
from privfit.models.published import Published
from privfit.printable import printable

FOR_THE_EFFECTS = "for the effects"  # the end of ledger entries about standard errors
# Plain words for names of ledger entries that are terms of statistics.
SPENDING_WORDS = {
    "gradient": "gradients: the training",
    "moments": "column means, variances",
    "norms": "size of a record",
    "second moments": "curvature of the loss",
    "targets": "mean of the label",
}


def header(model: Published, effects: Effects) -> list[tuple[str, str]]:
    """Return the facts in the header, all of them public or released.

    Parameters
    ----------
    model : Published
        The model.
    effects : Effects
        Its effects.

    Returns
    -------
    facts : list of pairs of str
        Names and texts.
    """
    privacy, facts = model.privacy, list[tuple[str, str]]()
    label = None if effects.schema is None else effects.schema.label.name
    if label is not None:
        facts.append(("Predicts", printable(label)))
    if effects.several:
        facts.append(("Compared with", printable(str(model.classes[0]))))
    elif effects.positive is not None:
        facts.append(("Positive class", printable(str(effects.positive))))
    records = privacy.get("origin", {}).get("records") or (model.schema or {}).get("records")
    counted = "number not declared as public" if records is None else f"{records:,}"
    facts.append(("Records", f"{counted}, weighted" if model.weighting else counted))
    facts.append(("Intervals", f"{100.0 * effects.level:g}%"))
    promise = privacy["promise"]
    if promise is None:
        return [*facts, ("Privacy", "none")]
    most = privacy.get("records_per_person")
    unit = "one record" if most is None else f"one person, up to {most:,} records each"
    facts.append(("Unit of privacy", unit))
    if promise["epsilon"] is not None:
        facts += [("Epsilon", written_up(promise["epsilon"])), ("Delta", written_up(promise["delta"]))]
    if model.has_seeded_noise:
        facts.append(("Noise", "seeded: not for publication"))
    spending = privacy["spending"]
    bought = sum(rho for what, rho in spending.items() if what.endswith(FOR_THE_EFFECTS))
    if bought:
        facts.append(("Spent on intervals", f"{bought / sum(spending.values()):.0%} of the budget"))
    return facts


def footnotes(effects: Effects, rows: Sequence[EffectRow]) -> list[str]:
    """Return sentences about how to read the table.

    Parameters
    ----------
    effects : Effects
        The effects of a model.
    rows : sequence of EffectRow
        The rows of the table.

    Returns
    -------
    notes : list of str
        The meaning of the columns and, if effects are refused, advice.
    """
    ratio = effects.reading.ratio
    change = f"coef is the change of {effects.reading.changed}, other columns being the same."
    if any(row.contrast is not None and row.column and not row.level for row in rows):
        unit = " in the column's own unit" if effects.schema is not None else ""
        change += (
            f" For a number, coef is the change if it grows by the amount after its name, such as +1{unit}."
        )
    if any(row.contrast is None for row in rows):
        change += " A category's row compares it with the reference of its column."
    if rows and rows[-1].name == INTERCEPT and rows[-1].contrast is not None:
        changed = effects.reading.changed
        comma = "," * (", in " in changed)  # after a unit
        change += f" The intercept is {changed}{comma} of {rows[-1].contrast.words}."
    notes = [change]
    if ratio:
        percent = f"{100.0 * effects.level:g}%"
        notes.append(
            f"The {ratio} is e to the power of coef; the last two columns are its {percent} interval."
        )
    notes.append(
        "std err has two parts, whose squares add up: sampling, and privacy, the noise of the fit. Intervals "
        "and p-values count both. They hold for many records, not for few: see docs/inference.md of privfit."
    )
    contrasts = [row.contrast for row in rows if row.contrast is not None]
    reasons = dict.fromkeys(each.refused for each in contrasts if each.refused not in (None, NOT_ASKED))
    if reasons:
        notes.append(
            f'"{TOO_LITTLE}": noise hides how exact the effect is, so no interval would be right. '
            f"{_what_helps(effects.model, reasons)} help."
        )
        notes += [reason for reason in reasons if reason is not None and reason != TOO_SMALL]
    return notes


def _what_helps(model: Published, reasons: Collection[str | None]) -> str:
    """Return the changes that would give more effects an interval, judged by declared and released facts."""
    remedies = ["more records", "fewer columns"]
    if set(reasons) != {UNSTEADY}:
        remedies.append("a larger epsilon")
    if UNSTEADY in reasons and not model.link.predicts_classes and "tau" not in model.settings:
        remedies.append("narrower declared bounds of what is predicted")
    if UNSTEADY in reasons and (model.privacy.get("records_per_person") or 1) > 1:
        remedies.append("fewer records per person")
    *first, last = remedies
    return f"{', '.join(first)} or {last}".capitalize()
