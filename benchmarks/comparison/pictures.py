"""The charts of docs/comparison.md and of the README, made from the file of rows alone.

They are SVG with few elements, follow light and dark mode, and name the file of rows by its digest, so that a
test notices a chart that is older than the rows.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from comparison import rows
from comparison.learners import CURVES, EBM, LOGISTIC, OURS
from comparison.results import BEST, EPSILONS, FIXED, OPEN, TWO_CLASSES, Place, Results

WIDTH = 476  # pixels of the chart of the README, so that a phone shows all of it with readable letters
FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
# name in the chart, colour, width and dashes of each line
LINES = {
    CURVES: ("privfit, curves", "one", 3.0, ""),
    OURS: ("privfit", "one", 3.0, "7 4"),
    BEST: ("Opacus, best of grid †", "three", 2.0, "3 3"),
    FIXED: ("Opacus", "three", 2.0, ""),
    "DP-EBM": ("DP-EBM", "two", 2.0, ""),
    "diffprivlib": ("diffprivlib", "four", 2.0, ""),
    LOGISTIC: ("linear, not private", "line", 1.5, "1 3"),
    EBM: ("EBM, not private", "line", 1.5, "5 3"),
}
COLOURS = {  # in light and in dark mode
    "ink": ("#1b2733", "#e8eaee"),
    "soft": ("#dde3ea", "#3a414e"),
    "line": ("#5b6b7b", "#9aa7b5"),
    "one": ("#0072b2", "#56b4e9"),
    "two": ("#c04a00", "#f0923c"),
    "three": ("#008055", "#3cc795"),
    "four": ("#8a5a9e", "#c79adb"),
}
LIGHT, DARK = ("; ".join(f"--{name}: {each[k]}" for name, each in COLOURS.items()) for k in (0, 1))
STYLE = f"""  <style>
    .chart {{ {LIGHT} }}
    .chart {{ font: 14px sans-serif; fill: var(--ink) }}
    @media (prefers-color-scheme: dark) {{ .chart {{ {DARK} }} }}
    [data-md-color-scheme="default"] .chart {{ {LIGHT} }}
    [data-md-color-scheme="slate"] .chart {{ {DARK} }}
  </style>"""


def digest(path: Path = rows.PATH) -> str:
    """Return the digest of the rows, which a chart contains."""
    return f"rows: sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}"


def values(results: Results, learner: str, measure: str, tables: Sequence[str]) -> list[float] | None:
    """Return the mean over tables for every epsilon, or None if the learner was not run on all of them."""
    found = [
        [results.mean(Place(table, epsilon, learner, measure)) for table in tables] for epsilon in EPSILONS
    ]
    if any(value is None for each in found for value in each):
        return None
    return [sum(each) / len(each) for each in found]


class Panel:
    """Lines over epsilon in a rectangle of a chart.

    Parameters
    ----------
    box
        Left, top, width and height.
    low, high
        The values at the lower and the upper edge. Values beyond them are drawn at the edge.
    """

    def __init__(self, box: tuple[float, float, float, float], low: float, high: float) -> None:
        self.left, self.top, self.width, self.height = box
        self.low, self.high = low, high
        self.parts: list[str] = []

    def x(self, position: int) -> float:
        """Return the x coordinate of an epsilon; epsilons are evenly spaced."""
        return self.left + self.width * (position + 0.15) / (len(EPSILONS) - 0.7)

    def y(self, value: float) -> float:
        """Return the y coordinate of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.top + self.height * (1.0 - min(max(share, 0.0), 1.0))

    def axes(self, step: float, title: str, size: int) -> None:
        """Draw a grid with numbers, and a title above it."""
        self.parts.append(
            f'<text x="{self.left:.0f}" y="{self.top - 12:.0f}" font-weight="bold">{title}</text>'
        )
        for tick in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1):
            height = self.y(tick * step)
            self.parts.append(
                f'<path d="M{self.left:.0f} {height:.1f} h{self.width:.0f}" stroke="var(--soft)"/>'
                f'<text x="{self.left - 5:.0f}" y="{height + 4:.1f}" text-anchor="end" font-size="{size}">'
                f"{f'{tick * step:.2f}'.removeprefix('0').rstrip('0').rstrip('.') or '0'}</text>"
            )
        for position, epsilon in enumerate(EPSILONS):
            self.parts.append(
                f'<text x="{self.x(position):.1f}" y="{self.top + self.height + size + 4:.0f}" '
                f'text-anchor="middle" font-size="{size}">{epsilon.removeprefix("0")}</text>'
            )

    def line(self, learner: str, found: Sequence[float]) -> None:
        """Draw a learner's line, flat and without points if epsilon does not matter."""
        _, colour, width, dashes = LINES[learner]
        points = [(self.x(position), self.y(value)) for position, value in enumerate(found)]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(
            f'<polyline points="{drawn}" fill="none" stroke="var(--{colour})" stroke-width="{width}"{dash}/>'
        )
        if learner not in OPEN:
            self.parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width + 0.6:.1f}" fill="var(--{colour})"/>'
                for x, y in points
            ]

    def labels(self, ends: dict[str, float]) -> None:
        """Name the lines at their right ends, moved apart where they would overlap."""
        wanted = sorted((self.y(value), learner) for learner, value in ends.items())
        placed: list[float] = []
        for height, _ in wanted:
            placed.append(max(height, placed[-1] + 17.0) if placed else height)
        overshoot = max(placed[-1] - (self.top + self.height), 0.0)
        right = self.x(len(EPSILONS) - 1)
        for (height, learner), place in zip(wanted, placed, strict=True):
            name, colour, _, _ = LINES[learner]
            there = place - overshoot
            self.parts.append(
                f'<path d="M{right + 6:.1f} {height:.1f} L{right + 20:.1f} {there:.1f}" '
                f'stroke="var(--{colour})" fill="none"/>'
                f'<text x="{right + 24:.1f}" y="{there + 4.5:.1f}" fill="var(--{colour})">{name}</text>'
            )


def chart(size: tuple[int, int], title: str, parts: Sequence[str]) -> str:
    """Return a whole SVG."""
    head = (
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}" role="img">'
    )
    body = "\n".join(f"  {part}" for part in parts)
    return f"{head}\n  <title>{title}</title>\n  <!-- {digest()} -->\n{STYLE}\n{body}\n</svg>\n"


def overview(results: Results) -> str:
    """Return the chart of the README: the mean AUC over the tables of two classes."""
    found = {each: line for each in LINES if (line := values(results, each, "auc", TWO_CLASSES))}
    low, high = min(map(min, found.values())), max(map(max, found.values()))
    panel = Panel((46, 66, 254, 300), math.floor(low * 20) / 20, math.ceil(high * 50) / 50)
    panel.axes(0.05, "Mean AUC on held-out records of ten tables", 13)
    for learner in reversed(found):
        panel.line(learner, found[learner])
    panel.labels({learner: line[-1] for learner, line in found.items()})
    notes = [
        '<text x="173" y="404" text-anchor="middle">epsilon (delta = 1e-6)</text>',
        '<text x="16" y="22" font-size="17" font-weight="bold">privfit beside other private learners</text>',
        *(
            f'<text x="16" y="{height}" font-size="13">{words}</text>'
            for height, words in (
                (430, "† The best of five settings for each number: this choice was"),
                (447, "not paid for. Means over five splits; † over two, EBM one."),
            )
        ),
    ]
    return chart((WIDTH, 458), "Mean AUC of private learners over epsilon", [*panel.parts, *notes])


def small_multiples(results: Results) -> str:
    """Return one panel for each table of two classes."""
    parts, columns, width, height = [], 4, 150, 130
    for number, table in enumerate(TWO_CLASSES):
        row, column = divmod(number, columns)
        found = {each: line for each in LINES if (line := values(results, each, "auc", [table]))}
        low = min(min(line) for line in found.values())
        high = max(max(line) for line in found.values())
        step = next(each for each in (0.01, 0.02, 0.05, 0.1, 0.2) if (high - low) / each < 6)
        edges = math.floor(low / step) * step, math.ceil(high / step) * step
        panel = Panel((34 + column * (width + 42), 90 + row * (height + 62), width, height), *edges)
        panel.axes(step, table, 11)
        for learner in reversed(found):
            panel.line(learner, found[learner])
        parts += panel.parts
    for number, (name, colour, width_, dashes) in enumerate(LINES.values()):
        x, y = 16 + 198 * (number % 4), 16 + 22 * (number // 4)
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(
            f'<path d="M{x} {y} h30" stroke="var(--{colour})" stroke-width="{width_}"{dash}/>'
            f'<text x="{x + 36}" y="{y + 5}">{name}</text>'
        )
    return chart((780, 660), "AUC of every learner over epsilon, a panel for each table", parts)


CHARTS = {"compare-mean.svg": overview, "compare-tables.svg": small_multiples}


def draw(results: Results) -> None:
    """Write all charts."""
    for name, make in CHARTS.items():
        (FOLDER / name).write_text(make(results), encoding="utf-8")
