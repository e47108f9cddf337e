"""Tables, and bar charts that need no scripts: tables whose cells are filled with the page's colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def bars(rows: Sequence[tuple[str, float, str]], *, caption: str, scale: Sequence[float] = ()) -> str:
    """Draw labelled bars from a common zero, as a table whose cells are filled; values may be negative.

    `scale` holds the values of all charts that share a zero and a unit.
    """
    values = scale or [value for _, value, _ in rows]
    largest = max(map(abs, values), default=0.0) or 1.0
    both_sides = any(value < 0.0 for value in values)
    zero, room = (50.0, 50.0) if both_sides else (0.0, 100.0)
    lines = []
    for label, value, text in rows:
        length = max(abs(value) / largest * room, 0.5)
        start = zero if value >= 0.0 else zero - length
        kind = "bar" if value >= 0.0 else "bar minus"
        lines.append(
            f'<tr><th scope="row">{escape(label)}</th><td class="track" aria-hidden="true">'
            f'<div class="{kind}" style="margin-left:{start:.2f}%;width:{length:.2f}%"></div></td>'
            f"<td>{escape(text)}</td></tr>"
        )
    return f'<table class="bars"><caption>{escape(caption)}</caption><tbody>{"".join(lines)}</tbody></table>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Draw a table whose rows have names; if it is too wide, it gets a scroll bar of its own."""
    heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    lines = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(text)}</td>" for text in rest)}</tr>'
        for first, *rest in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{lines}</tbody></table></div>"
    )
