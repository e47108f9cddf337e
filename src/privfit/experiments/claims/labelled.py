"""Tables whose first columns are labels: what is the same in every line is said once, in the title."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from privfit.experiments.claims.evidence import table


def labelled(title: str, labels: Sequence[str], head: Iterable[str], *lines: Sequence[str]) -> str:
    """Write a table whose first columns have these labels.

    A label is a text with a place for what its column says, such as "of {}". A column that says the same in
    every line is left out, and its label, filled in, goes to the title. A line does not repeat what the line
    above says.
    """
    kept = [place for place in range(len(labels)) if len({line[place] for line in lines}) > 1] or [0]
    left_out = [place for place in range(len(labels)) if place not in kept]
    shared = [labels[place].format(line[place]) for line in lines[:1] for place in left_out]
    title = " ".join(filter(None, [title, *shared])).rstrip(",:")
    names = [[line[place] for place in kept] for line in lines]
    shown = [_unrepeated(before, name) for before, name in zip([[], *names], names, strict=False)]
    rows = ([*name, *line[len(labels) :]] for name, line in zip(shown, lines, strict=True))
    return table([title, *[""] * (len(kept) - 1), *head], *rows)


def _unrepeated(before: list[str], names: list[str]) -> list[str]:
    """Empty the leading names that the line before has as well, but never the last."""
    shown = list(names)
    for place in range(len(names) - 1):
        if names[: place + 1] != before[: place + 1]:
            break
        shown[place] = ""
    return shown


def most_common(names: Iterable[str]) -> str:
    """Return the name that stands most often, the first one of several."""
    return Counter(names).most_common(1)[0][0]
