"""The page about a model. Its sections are in the order of the questions that readers ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from typing import Any

from privfit.accounting import promise as promises
from privfit.accounting.amounts import written_up
from privfit.accounting.group import for_records
from privfit.models.published import SEEDED, Published
from privfit.models.registry import title_of
from privfit.models.separators import with_separators
from privfit.models.summary_words import SPENDING_WORDS
from privfit.models.targets import Classes, Counts, Interval, TwoLabels
from privfit.models.weight_table import WeightTable
from privfit.models.weights import weights_of
from privfit.printable import printable
from privfit.report.charts import bars, table
from privfit.report.odds import BELIEFS, FALSE_ALARMS, Odds, rounded_down, rounded_up
from privfit.report.scores import refuse_scores_of_another_model, scores_block
from privfit.report.summary import summary
from privfit.report.weights import CLASSES_DRAWN, weights_section

CARD_FIELDS = (
    "Intended use",
    "People and data it was trained on",
    "Who is responsible, and how to reach them",
    "Where it should not be used",
    "Known limits",
)
LEAST_CHANCE_IN_WORDS = 1e-12  # smaller probabilities are not written as "1 in ..."
RECORDS_OF_A_PERSON = (1, 2, 5, 10)  # the page states the promise to a person with so many records
IN_ONE_ROW = 5  # facts at the top of the page; more of them are too narrow for whole words


def render(
    model: Published,
    *,
    scores: Mapping[str, Any] | None = None,
    title: str | None = None,
    card: Mapping[str, str] | None = None,
) -> str:
    """Return the page of a model.

    Parameters
    ----------
    model : Published
        The published model.
    scores : mapping, optional
        Private scores, from `privfit.metrics.evaluate(...).to_dict()`.
    title : str, optional
        The heading of the page.
    card : mapping of str to str, optional
        Fields of a model card, by name; common fields that are missing are shown as not stated.

    Returns
    -------
    html : str
        A complete HTML file that needs no other files.
    """
    refuse_scores_of_another_model(model, scores)
    weights = weights_of(model, CLASSES_DRAWN)
    kept = "without privacy" if model.privacy["promise"] is None else "with differential privacy"
    heading = title or f"{title_of(model.kind)} {kept}"
    sections = [
        ("promise", "What was promised", _promise(model)),
        ("means", f"What that means for one {_unit(model)}", _meaning(model)),
        ("public", "What was taken for public", _public(model)),
        ("budget", "What the privacy budget bought", _budget(model)),
        ("weights", "What the model says", weights_section(model, weights)),
        ("scores", "How good it is", scores_block(scores)),
        ("card", "Model card", _card(model, card or {})),
        ("verify", "How to verify this", _verify(model)),
    ]
    style = files("privfit.report").joinpath("style.css").read_text(encoding="utf-8")
    contents = "".join(f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text, _ in sections)
    body = "".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(text)}</h2>{html}</section>'
        for name, text, html in sections
    )
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src data:\">"
        '<link rel="icon" href="data:,">'
        f"<title>{escape(heading)}</title><style>{style}</style></head><body>"
        '<a class="skip" href="#promise">Skip to the promise</a>'
        f"<header><h1>{escape(heading)}</h1>{_warnings(model, scores)}{_facts(model, weights)}"
        f"{summary(model, scores, card or {})}"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav></header>'
        f"<main>{body}</main>"
        f"<footer><p>Made by privfit {escape(model.versions.get('privfit', ''))}.{_origin(model)}</p>"
        "</footer></body></html>\n"
    )
    return "\n".join(map(printable, page.split("\n")))


def _origin(model: Published) -> str:
    if model.privacy["promise"] is None:
        return ""
    return " Everything on this page was released with privacy or was public."


def _warnings(model: Published, scores: Mapping[str, Any] | None) -> str:
    if model.privacy["promise"] is None:
        return (
            '<p class="warning" role="alert">This model promises no privacy. Do not publish it if the data '
            "are sensitive.</p>"
        )
    bought = {} if scores is None else scores["privacy"]
    if model.has_seeded_noise or any(SEEDED in text for text in bought.get("assumptions", ())):
        return (
            '<p class="warning" role="alert">Made with seeded noise, for research only: anybody who knows '
            "the seed can remove the noise. Do not publish it.</p>"
        )
    return ""


def _facts(model: Published, weights: WeightTable) -> str:
    promise = model.privacy["promise"]
    facts = [("model", title_of(model.kind)), ("weights", f"{model.weights.size:,}")]
    if promise is not None and promise["epsilon"] is not None:
        facts = [
            ("epsilon", written_up(promise["epsilon"])),
            ("delta", written_up(promise["delta"])),
            *facts,
        ]
    if model.weighting:
        facts.append(("records", "weighted"))
    if weights.classes:
        facts.append(("classes", f"{len(model.classes):,}"))
    elif model.classes:
        facts.append(("positive class", str(weights.positive)))
    else:
        facts.append(("predicts", (model.schema or {}).get("label", {}).get("name", "a number")))
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    return f'<dl class="facts{" many" * (len(facts) > IN_ONE_ROW)}">{cells}</dl>'


def _promise(model: Published) -> str:
    return f"<p>{escape(_before(model.privacy['text'], ' It rests on:'))}</p>"


def _meaning(model: Published) -> str:
    promise = model.privacy["promise"]
    if promise is None or promise["epsilon"] is None:
        return "<p>Nothing, because this model has no privacy guarantee.</p>"
    odds = Odds.of(promise)
    rows = []
    for before in BELIEFS:
        least, most = odds.belief_after(before)
        rows.append((f"{before:.0%}", rounded_down(least), rounded_up(most)))
    unit = _unit(model)
    exactly = "" if odds.mu is None else ", exactly, because all noise was Gaussian"
    return (
        f"<p>Suppose somebody has a belief about one {unit}, for any reason. Seeing the model changes this "
        "belief by no more than this:</p>"
        + table(("believed before", "at least, after", "at most, after"), rows, f"Belief about one {unit}")
        + _exceptions(odds, unit)
        + f"<p>Suppose somebody knows all other {_UNITS[unit]}, sees the model, and guesses whether one "
        f"{unit} was in the table. The guess is right in at most {rounded_up(odds.best_guess())} of cases "
        f"(without the model: 50%){exactly}. A test with a false alarm for {FALSE_ALARMS:.0%} of those who "
        f"were not in the table finds at most {rounded_up(odds.power())} of those who were.</p>"
        + _several_records(model)
        + "<p>These numbers are about what taking part in the table reveals. The model does reveal what is "
        "true of people in general, because that is its purpose.</p>"
    )


def _exceptions(odds: Odds, unit: str) -> str:
    """Return the probability with which a belief may change by more than the table says, in words."""
    chance = odds.exceptions()
    if chance == 0.0:
        return f"<p>There is no exception: no noise changes a belief about one {unit} by more.</p>"
    shown = f", 1 in {_two_digits_down(1.0 / chance):,}" if LEAST_CHANCE_IN_WORDS < chance < 0.1 else ""
    return (
        "<p>There is one exception. The noise in the model was drawn at random, and the draw may have been "
        f"unlucky for one {unit}. A belief about this {unit} may then change by more. The probability of "
        f"this is at most {escape(written_up(chance))}{shown}, for each {unit} separately. It depends only "
        "on the draw of the noise, and not on what somebody knows or computes.</p>"
    )


def _two_digits_down(x: float) -> int:
    whole = str(int(x))
    return int(whole[:2].ljust(len(whole), "0"))


_UNITS = {"person": "people", "record": "records"}


def _unit(model: Published) -> str:
    return "person" if model.is_about_people else "record"


def _several_records(model: Published) -> str:
    """State the promise to people with several records, if there may be such people."""
    if model.is_about_people:
        return ""
    promise = promises.from_dict(model.privacy["promise"])
    rows = []
    for k in RECORDS_OF_A_PERSON:
        epsilon, delta = for_records(promise, k)
        rows.append((str(k), written_up(epsilon), written_up(delta)))
    return (
        "<p>A person may have several records, because the schema declares an id column. The more records a "
        "person has, the weaker the promise:</p>"
        + table(("records of a person", "epsilon at most", "delta"), rows, "The promise to one person")
    )


def _public(model: Published) -> str:
    return "<p>The promise assumes that these facts are public or true:</p>" + _list(
        model.privacy["assumptions"]
    )


def _budget(model: Published) -> str:
    spending = model.privacy["spending"]
    total = sum(spending.values())
    if not total:
        return "<p>Nothing was bought.</p>"
    rows = sorted(spending.items(), key=lambda item: -item[1])
    shares = [(SPENDING_WORDS.get(what, what), rho, f"{rho / total:.1%}") for what, rho in rows]
    chart = bars(shares, caption="What the privacy budget was spent on")
    return chart + _list(model.privacy["notes"])


def _card(model: Published, card: Mapping[str, str]) -> str:
    fields = {
        "Kind of model": title_of(model.kind),
        **_predicted(model),
        **{name: card.get(name, "not stated") for name in CARD_FIELDS},
        **{name: text for name, text in card.items() if name not in CARD_FIELDS},
        "Made with": ", ".join(f"{name} {version}" for name, version in model.versions.items()),
    }
    return table(("field", "entry"), fields.items(), "What to know before using it")


def _predicted(model: Published) -> dict[str, str]:
    match model.target:
        case Interval(low=low, high=high):
            quantile = model.settings.get("quantile")
            number = "a number" if quantile is None else f"the {quantile:g} quantile of a number"
            clipped = with_separators(f"the fit clipped targets to {low:.6g} and {high:.6g}")
            return {"Predicts": f"{number}; {clipped}"}
        case Counts(largest=largest):
            return {"Predicts": f"the mean of a count; the fit clipped counts to {largest:,.6g}"}
        case TwoLabels(classes=classes) | Classes(classes=classes):
            *others, last = map(str, classes)
            return {"Labels": f"{', '.join(others)} and {last}"}


def _verify(model: Published) -> str:
    kinds = {
        "concentrated": "zero-concentrated differential privacy; claims P1 to P5",
        "gaussian": "Gaussian differential privacy, accounted for exactly; claim P7",
        "direct": "a single release, analysed by itself; claim P6",
    }
    promise = model.privacy["promise"]
    theorem = "no promise, so nothing to verify" if promise is None else kinds[promise["kind"]]
    return _list(
        [
            f"The promise: {theorem} in docs/privacy.md of privfit, with proofs.",
            "The ledger, if it is kept in a file or on a server: privfit ledger verify checks every entry.",
            "The model: its JSON file follows a published JSON Schema. All numbers on this page are computed "
            "from it, except the scores and the total with scores.",
            "The noise: exact samplers and the operating system's entropy, unless a warning is at the top of "
            "this page.",
        ]
    )


def _list(items: Iterable[str]) -> str:
    entries = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<ul>{entries}</ul>" if entries else ""


def _before(text: str, mark: str) -> str:
    return text.split(mark, 1)[0].rstrip(".") + "."
