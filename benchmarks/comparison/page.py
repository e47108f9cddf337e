"""The tables of docs/comparison.md, made of the file of rows and of nothing else.

Every part of the page stands between the marks `<!-- compare: NAME -->` and `<!-- end of compare -->`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from comparison.learners import CURVES, OURS
from comparison.results import (
    BEST,
    EPSILONS,
    LOWER_IS_BETTER,
    MEANT,
    OPEN,
    PRIVATE,
    RIVALS,
    TWO_CLASSES,
    Lead,
    Place,
    Results,
    main_measure,
    mean,
)
from comparison.tables import NAMES, NUMBERS, OTHER_TARGETS

PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"
MARK = re.compile(r"(<!-- compare: ([\w-]+) -->\n).*?(<!-- end of compare -->)", re.DOTALL)
HEADINGS = {
    CURVES: "privfit, curves",
    BEST: "Opacus, best of grid †",
    OPEN[0]: "linear, not private",
    OPEN[1]: "EBM, not private",
}
OF_NUMBERS = tuple(name for name, kind in OTHER_TARGETS.items() if kind == NUMBERS)
WITH_CLASSES = tuple(name for name in NAMES if name not in OF_NUMBERS)
FEWER_EPSILONS = ("0.1", "1")  # for measures besides the main one; the file of rows has all
NEVER_BROKEN = "\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}"
NOTHING, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
WORDS = {"auc": "AUC", "score": "accuracy", "log_loss": "log loss", "calibration_error": "calibration error"}


def number(value: float | None, digits: int = 3) -> str:
    """Return a number as tables show it: no zero before the point, a dash where there is none."""
    if value is None:
        return NOTHING
    if value < -1.0:
        return f"below {MINUS}1"
    text = f"{abs(value):.{digits}f}"
    if abs(value) >= 10.0:
        text = f"{abs(value):.1f}"
    if text.startswith("0."):
        text = text[1:]
    return f"{MINUS}{text}" if value < 0.0 and float(text) else text


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines)) + "\n"


def losses(results: Results) -> str:
    """Return every cell in which the mean of another private learner is ahead of privfit's.

    Ahead of plain columns or of curves, by more than MEANT; the largest lead comes first.
    """
    found = []
    for rival in RIVALS:
        for table in NAMES:
            for epsilon in EPSILONS:
                place = Place(table, epsilon, OURS, main_measure(table))
                leads = {each: results.lead(place._replace(learner=each), rival) for each in (OURS, CURVES)}
                if any(lead is not None and lead.difference < -MEANT for lead in leads.values()):
                    found.append((place, rival, leads))
    lines = []
    for place, rival, leads in sorted(
        found, key=lambda each: min(lead.difference for lead in each[2].values())
    ):
        what = "R²" if place.table in OF_NUMBERS else WORDS[place.measure]
        theirs = results.values(place._replace(learner=rival))
        line = [place.table, place.epsilon, what, HEADINGS.get(rival, rival), number(mean(theirs.values()))]
        for learner, lead in leads.items():
            ours = results.values(place._replace(learner=learner))
            line.append(number(mean(ours[split] for split in theirs) if ours else None))
            line.append(_behind(lead) if lead is not None and lead.difference < -MEANT else "")
        lines.append(line)
    head = [
        "table",
        "ε",
        "measure",
        "who is ahead",
        "theirs",
        "privfit",
        "behind by",
        "with curves",
        "behind by",
    ]
    return markdown(head, lines)


def _behind(lead: Lead) -> str:
    error = f" ± {number(lead.error)}" if lead.error < math.inf else ""
    return f"{number(-lead.difference)}{error}{'' if lead.verdict < 0 else ' (uncertain)'}"


def tally(results: Results) -> str:
    """Return in how many cells privfit is better, equal or worse, for each rival and measure."""
    lines = []
    for measure in ("auc", "score", "log_loss", "calibration_error"):
        for rival in (*RIVALS, OURS):
            line = [WORDS[measure] if measure != "score" else "accuracy, R²", HEADINGS.get(rival, rival)]
            for learner in (OURS, CURVES):
                verdicts = [lead.verdict for lead in results.leads(learner, rival, measure).values()]
                counts = NEVER_BROKEN.join(str(verdicts.count(which)) for which in (1, 0, -1))
                line.append(counts if learner != rival else "")
            lines.append(line)
    return markdown(["measure", "beside", "privfit", "with curves"], lines)


def means(results: Results) -> str:
    """Return the means over all tables of two classes, one number for each epsilon."""
    lines = []
    for measure, word in WORDS.items():
        line = [word]
        for learner in (*PRIVATE, *OPEN):
            over = []
            for epsilon in EPSILONS if learner in PRIVATE else EPSILONS[:1]:
                found = [results.mean(Place(table, epsilon, learner, measure)) for table in TWO_CLASSES]
                over.append(None if None in found else sum(found) / len(found))
            line.append(_at_epsilons(over, [None] * len(over)))
        lines.append(line)
    what = f"mean at ε {', '.join(EPSILONS)}"
    return markdown([what, *(HEADINGS.get(each, each) for each in (*PRIVATE, *OPEN))], lines)


def seconds(results: Results) -> str:
    """Return how long a fit took at epsilon = 1; other budgets take about as long."""
    learners = [each for each in (*PRIVATE, *OPEN) if each != BEST]
    lines = [
        [table, *(number(results.mean(Place(table, "1", each, "seconds")), 2) for each in learners)]
        for table in NAMES
    ]
    return markdown(["ε = 1", *(HEADINGS.get(each, each) for each in learners)], lines)


def cells(results: Results, measure: str, tables: Sequence[str], epsilons: Sequence[str] = EPSILONS) -> str:
    """Return the means of a measure for every table, one number for each epsilon; the best private is bold.

    Without privacy there is one number for all of them.
    """
    lines = []
    pick = min if measure in LOWER_IS_BETTER else max
    for table in tables:
        found = {
            learner: [results.mean(Place(table, epsilon, learner, measure)) for epsilon in epsilons]
            for learner in (*PRIVATE, *OPEN)
        }
        best = []
        for at_epsilon in zip(*(found[learner] for learner in PRIVATE), strict=True):
            private = [value for value in at_epsilon if value is not None]
            best.append(number(pick(private)) if private else None)
        shown = [_at_epsilons(found[learner], best) for learner in PRIVATE]
        lines.append([table, *shown, *(_at_epsilons(found[learner][:1], [None]) for learner in OPEN)])
    what = f"at ε {', '.join(epsilons)}"
    return markdown([what, *(HEADINGS.get(each, each) for each in (*PRIVATE, *OPEN))], lines)


def _at_epsilons(values: Sequence[float | None], best: Sequence[str | None]) -> str:
    """Return the numbers of a learner, those that are the best in bold, or one dash if there is none."""
    if all(value is None for value in values):
        return NOTHING
    texts = map(number, values)
    return " ".join(f"**{text}**" if text == most else text for text, most in zip(texts, best, strict=True))


def synthetic(results: Results) -> str:
    """Return what was trained on synthetic records beside what was trained on the records."""
    lines = []
    for table in NAMES:
        shown = [
            number(results.mean(Place(table, "1", learner, measure)), 2 if measure == "seconds" else 3)
            for learner in ("MST", OURS)
            for measure in ("auc", "score", "log_loss", "seconds")
        ]
        if shown[0] != NOTHING:
            lines.append([table, *shown])
    words = ("AUC", "accuracy", "log loss", "seconds")
    head = ["ε = 1", *(f"MST, {word}" for word in words), *(f"privfit, {word}" for word in words)]
    return markdown(head, lines)


PARTS: dict[str, Callable[[Results], str]] = {
    "losses": losses,
    "tally": tally,
    "means": means,
    "auc": lambda results: cells(results, "auc", WITH_CLASSES),
    "accuracy": lambda results: cells(results, "score", WITH_CLASSES, FEWER_EPSILONS),
    "log-loss": lambda results: cells(results, "log_loss", WITH_CLASSES, FEWER_EPSILONS),
    "calibration": lambda results: cells(results, "calibration_error", WITH_CLASSES, FEWER_EPSILONS),
    "numbers": lambda results: cells(results, "score", OF_NUMBERS),
    "seconds": seconds,
    "synthetic": synthetic,
}


def filled(page: str, results: Results) -> str:
    """Return the page with every part made anew."""
    return MARK.sub(lambda mark: f"{mark[1]}\n{PARTS[mark[2]](results)}\n{mark[3]}", page)
