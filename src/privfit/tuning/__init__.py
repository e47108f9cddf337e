"""Private search over settings: one privacy budget pays for every fit and every score."""

from privfit.tuning.search import DPSearchCV

__all__ = ["DPSearchCV"]
