"""Styles of curves, in colours that people with any colour vision can distinguish, in light and dark mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privfit.experiments.designs import FAULTY

INK, PAPER, FAINT = "#1f2329", "#fefefe", "#8b949f"  # in dark mode a style sheet exchanges the first two
DARK_INK, DARK_PAPER = "#e6edf3", "#0d1117"

# Okabe & Ito's colours without yellow, which is hard to see on white.
BLUE, SKY, GREEN, ORANGE, VERMILION, PURPLE = (
    "#0072b2",
    "#56b4e9",
    "#009e73",
    "#e69f00",
    "#d55e00",
    "#cc79a7",
)


@dataclass(frozen=True)
class Style:
    """The style of a curve; related algorithms share a colour and differ in dashes and marks."""

    colour: str
    shape: str
    dashes: str = "-"
    width: float = 1.3
    hollow: bool = False


STYLES: dict[str, Style] = {
    "adaptive": Style(INK, "o", width=2.2),
    "gradient-descent": Style(FAINT, "D"),
    "dpagd": Style(VERMILION, "s", width=1.8),
    "dpagd-capped": Style(VERMILION, "*", ":"),
    FAULTY: Style(VERMILION, "s", "--", hollow=True),
    "objective-perturbation": Style(GREEN, "v"),
    "approximate-minima-perturbation": Style(GREEN, "^", "--", hollow=True),
    "output-perturbation": Style(ORANGE, "P"),
    "privgene": Style(PURPLE, "X"),
    "sgd-adv": Style(SKY, "<"),
    "sgd-ma": Style(BLUE, ">"),
    "sgd-pld": Style(BLUE, "d", "--", hollow=True),
    "authors-dpagd-NOT-PRIVATE": Style(VERMILION, "s", "--", hollow=True),
    "authors-objpert-NOT-PRIVATE": Style(GREEN, "v", "--", hollow=True),
    "authors-outpert-NOT-PRIVATE": Style(ORANGE, "P", "--", hollow=True),
    "authors-privgene": Style(PURPLE, "X"),
    "authors-sgd-adv": Style(SKY, "<"),
    "authors-sgd-ma-NOT-PRIVATE": Style(BLUE, ">", "--"),  # hollow marks stand for fits without a step
    "dpagd-exponential": Style(VERMILION, "x", "-."),
    "dpagd-fixed-range": Style(SKY, "<"),
    "sgd-ma-fixed": Style(BLUE, "o", "--"),
    "outpert-fixed": Style(ORANGE, "P"),
    "dpagd-no-averaging": Style(GREEN, "^"),
    "dpagd-no-averaging-capped": Style(GREEN, "^", ":", hollow=True),
    "dpagd-fixed-shares": Style(PURPLE, "X"),
    "dpagd-fixed-shares-capped": Style(PURPLE, "X", ":", hollow=True),
    "dpagd-equal-split": Style(BLUE, "D"),
    "dpagd-equal-split-capped": Style(BLUE, "D", ":", hollow=True),
    "dpagd-fixed-step": Style(ORANGE, "P", "-."),
    "nonprivate": Style(INK, "", "--", width=1.0),
    "majority": Style(INK, "", ":", width=1.0),
}
OTHER = Style(FAINT, "h", "-.")  # for algorithms without a style of their own
EPSILON_COLOURS = {
    0.1: BLUE,
    0.2: SKY,
    0.4: ORANGE,
    0.8: VERMILION,
    1.6: PURPLE,
}

LOOKS: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.color": FAINT,
    "svg.fonttype": "none",
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}

_STYLE_SHEET = f"""
  <style>
   svg {{ --ink: {INK}; --paper: {PAPER} }}
   @media (prefers-color-scheme: dark) {{ svg {{ --ink: {DARK_INK}; --paper: {DARK_PAPER} }} }}
  </style>
"""


def adapt_to_dark_paper(svg: str) -> str:
    """Let a drawing follow the reader's choice of light or dark mode."""
    start = svg.index(">", svg.index("<svg")) + 1
    body = svg[start:].replace(INK, "var(--ink)").replace(PAPER, "var(--paper)")
    return svg[:start] + _STYLE_SHEET + body
