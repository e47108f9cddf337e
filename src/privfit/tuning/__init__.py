"""Private search over settings. One privacy budget pays for all fits and all scores."""

from privfit.tuning.search import DPSearchCV

__all__ = ["DPSearchCV"]
