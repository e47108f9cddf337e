"""Bars made of characters, for terminals that show Unicode block elements, or ASCII only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " .:-=+*%#"


def sparkline(
    values: Sequence[float], *, width: int = 40, top: float | None = None, ascii_only: bool = False
) -> str:
    """Draw the values as at most `width` characters, each as high as the mean of the values it stands for.

    The highest character stands for `top`, by default the largest mean.
    """
    levels = ASCII if ascii_only else BLOCKS
    cells = min(width, len(values))
    edges = [round(i * len(values) / cells) for i in range(cells + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    top = max(means) if top is None else top
    return "".join(levels[max(1, round(mean / top * (len(levels) - 1)))] for mean in means)


def bar(share: float, *, width: int = 40, ascii_only: bool = False) -> str:
    """Draw a share between 0 and 1 as a bar of at most `width` characters; a tiny share stays visible."""
    return (ASCII if ascii_only else BLOCKS)[-1] * max(1, round(width * share))
