"""The page about a model: one HTML file that any browser can open, made of released and public facts only."""

from privfit.report.page import render

__all__ = ["render"]
