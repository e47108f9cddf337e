"""Penalties: regularisers that are added to the mean loss, and sets in which the weights must stay."""

from privfit.penalties.ball import Ball
from privfit.penalties.box import Box
from privfit.penalties.convex_set import ConvexSet
from privfit.penalties.non_negative import NonNegative
from privfit.penalties.penalty import Penalty
from privfit.penalties.regulariser import Regulariser
from privfit.penalties.ridge import NO_PENALTY, Ridge
from privfit.penalties.within import Within, moved_into

__all__ = [
    "NO_PENALTY",
    "Ball",
    "Box",
    "ConvexSet",
    "NonNegative",
    "Penalty",
    "Regulariser",
    "Ridge",
    "Within",
    "moved_into",
]
