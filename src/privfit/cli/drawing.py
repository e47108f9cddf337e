"""Bars made of characters, for terminals that know block elements and for those that know ASCII only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " .:-=+*%#"


def sparkline(values: Sequence[float], *, width: int = 40, ascii_only: bool = False) -> str:
    """Draw the values as at most `width` characters, each as high as the mean of its share of them."""
    levels = ASCII if ascii_only else BLOCKS
    cells = min(width, len(values))
    edges = [round(i * len(values) / cells) for i in range(cells + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    top = max(means)
    return "".join(levels[max(1, round(mean / top * (len(levels) - 1)))] for mean in means)


def bar(share: float, *, width: int = 40, ascii_only: bool = False) -> str:
    """Draw a share of 1 as a bar of at most `width` characters; the smallest share is still seen."""
    return (ASCII if ascii_only else BLOCKS)[-1] * max(1, round(width * share))
