"""A page about a fit that anyone can open: one HTML file, no network, nothing unreleased."""

from privfit.report.page import render

__all__ = ["render"]
