"""What is added to the mean loss: regularisers, and sets that the weights must stay in."""

from privfit.penalties.penalty import Penalty
from privfit.penalties.regulariser import Regulariser
from privfit.penalties.ridge import NO_PENALTY, Ridge

__all__ = ["NO_PENALTY", "Penalty", "Regulariser", "Ridge"]
