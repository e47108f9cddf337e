"""Choosing among settings: every fit and every score is paid for, by one promise."""

from privfit.tuning.search import DPSearchCV

__all__ = ["DPSearchCV"]
