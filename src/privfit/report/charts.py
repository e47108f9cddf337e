"""Tables, and charts without scripts (bars are tables, lines SVG) that follow the page's colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 460, 200, 62, 40, 20
POINTS = 300  # of a line: more cannot be seen


def bars(rows: Sequence[tuple[str, float, str]], *, caption: str) -> str:
    """Draw labelled bars from a common zero, as a table whose cells are filled; values may be negative."""
    largest = max((abs(value) for _, value, _ in rows), default=0.0) or 1.0
    signed = any(value < 0.0 for _, value, _ in rows)
    zero, room = (50.0, 50.0) if signed else (0.0, 100.0)
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


def line(values: Sequence[float], *, title: str, about: str, x_label: str, y_label: str) -> str:
    """Draw a line over 1, 2, 3, ... from zero up."""
    stride = max(1, -(-len(values) // POINTS))
    shown = [(i, value) for i, value in enumerate(values) if i % stride == 0 or i == len(values) - 1]
    top = max(values, default=0.0) or 1.0
    across, base = (WIDTH - LEFT - 10) / max(len(values) - 1, 1), HEIGHT - BOTTOM
    points = " ".join(
        f"{LEFT + i * across:.1f},{base - value / top * (base - TOP):.1f}" for i, value in shown
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(f"{title}: {about}")}">'
        f"<title>{escape(title)}</title>"
        f'<line class="axis" x1="{LEFT}" y1="{base}" x2="{WIDTH - 10}" y2="{base}"/>'
        f'<line class="axis" x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{base}"/>'
        f'<polyline class="curve" points="{points}"/>'
        f'<text x="{LEFT - 6}" y="{TOP + 4}" text-anchor="end">{top:.2g}</text>'
        f'<text x="{LEFT - 6}" y="{base + 4}" text-anchor="end">0</text>'
        f'<text x="{LEFT}" y="{base + 18}">1</text>'
        f'<text x="{WIDTH - 10}" y="{base + 18}" text-anchor="end">{len(values)}</text>'
        f'<text x="{(WIDTH + LEFT) / 2}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x_label)}</text>'
        f'<text x="{LEFT}" y="12">{escape(y_label)}</text></svg>'
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Draw a table whose rows have a name, which scrolls by itself where it is too wide."""
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
