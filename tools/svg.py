"""Small charts as SVG that follow light and dark mode, for the pages of docs/."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from comparison.pictures import STYLE

WIDTH = 440  # pixels, so that letters can be read on a phone


class Chart:
    """A chart with two axes.

    Parameters
    ----------
    title
        The title of the chart, which is shown above it.
    x, y
        The ends of the axes.
    height
        Of the whole picture.
    left
        The room for the numbers or names of the vertical axis.
    right
        The room to the right of the axes.
    log
        Whether the horizontal axis is logarithmic.
    """

    def __init__(
        self,
        title: str,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        height: int = 280,
        left: int = 48,
        right: int = 16,
        log: bool = False,
    ) -> None:
        self.title, self.height, self.left, self.right, self.log = title, height, left, right, log
        self.top, self.bottom = 40, height - 46
        self.ends = tuple(map(self._position, x)), y
        self.parts = [f'<text x="12" y="22" font-weight="bold">{escape(title)}</text>']

    def _position(self, value: float) -> float:
        return math.log(value) if self.log else value

    def x(self, value: float) -> float:
        """Return the x coordinate of a value."""
        low, high = self.ends[0]
        return self.left + (self._position(value) - low) / (high - low) * (WIDTH - self.left - self.right)

    def y(self, value: float) -> float:
        """Return the y coordinate of a value."""
        low, high = self.ends[1]
        return self.bottom - (value - low) / (high - low) * (self.bottom - self.top)

    def text(self, x: float, y: float, words: str, anchor: str = "start", colour: str = "ink") -> None:
        """Write text at a place of the picture."""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="13" '
            f'fill="var(--{colour})">{escape(words)}</text>'
        )

    def axis_x(self, ticks: Iterable[float], name: str, form: str = "g") -> None:
        """Draw the horizontal axis."""
        for tick in ticks:
            self.parts.append(
                f'<path d="M{self.x(tick):.1f} {self.top} V{self.bottom}" stroke="var(--soft)"/>'
            )
            self.text(self.x(tick), self.bottom + 16, format(tick, form), "middle")
        self.text((self.left + WIDTH - self.right) / 2, self.height - 8, name, "middle")

    def axis_y(self, ticks: Iterable[float], form: str = "g") -> None:
        """Draw the vertical axis."""
        for tick in ticks:
            self.parts.append(
                f'<path d="M{self.left} {self.y(tick):.1f} H{WIDTH - self.right}" stroke="var(--soft)"/>'
            )
            self.text(self.left - 6, self.y(tick) + 4, format(tick, form), "end")

    def line(
        self, xs: Sequence[float], ys: Sequence[float], colour: str, dashes: str = "", width: float = 2.5
    ) -> None:
        """Draw a line through points."""
        points = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, ys, strict=True))
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(
            f'<polyline points="{points}" fill="none" stroke="var(--{colour})" stroke-width="{width}"{dash}/>'
        )

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str) -> None:
        """Fill the area between two lines."""
        there = [f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, low, strict=True)]
        back = [f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, high, strict=True)][::-1]
        self.parts.append(
            f'<polygon points="{" ".join(there + back)}" fill="var(--{colour})" fill-opacity="0.2"/>'
        )

    def dots(
        self, xs: Sequence[float], ys: Sequence[float], colour: str, size: float = 4.0, opacity: float = 1.0
    ) -> None:
        """Draw points."""
        circles = "".join(
            f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="{size}"/>'
            for x, y in zip(xs, ys, strict=True)
        )
        self.parts.append(f'<g fill="var(--{colour})" fill-opacity="{opacity}">{circles}</g>')

    def span(self, low: float, high: float, y: float, colour: str, width: float = 2.5) -> None:
        """Draw a horizontal interval at a height."""
        self.parts.append(
            f'<path d="M{self.x(low):.1f} {self.y(y):.1f} H{self.x(high):.1f}" stroke="var(--{colour})" '
            f'stroke-width="{width}" stroke-linecap="round"/>'
        )

    def names(self, labels: Sequence[str]) -> None:
        """Name the heights 0, 1, 2, ... of the vertical axis, the first one at the top."""
        for place, label in enumerate(labels):
            self.text(self.left - 8, self.y(-place) + 4, label, "end")

    def legend(self, entries: Sequence[tuple[str, str]], x: float, y: float) -> None:
        """Draw a legend with one line for each colour."""
        for number, (name, colour) in enumerate(entries):
            height = y + 18 * number
            self.parts.append(f'<circle cx="{x:.1f}" cy="{height - 4:.1f}" r="5" fill="var(--{colour})"/>')
            self.text(x + 11, height, name)

    def svg(self) -> str:
        """Return the whole picture."""
        return drawing(self.title, (WIDTH, self.height), self.parts)


def drawing(title: str, size: tuple[float, float], parts: Sequence[str]) -> str:
    """Return a picture that consists of these parts."""
    head = (
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" role="img">'
    )
    body = "\n".join(f"  {part}" for part in parts)
    return f"{head}\n  <title>{escape(title)}</title>\n{STYLE}\n{body}\n</svg>\n"
