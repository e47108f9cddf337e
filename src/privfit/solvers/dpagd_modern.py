"""DP-AGD with later techniques: the same loop with better prices, better scores and an average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privfit.accounting import Concentrated
from privfit.curator import Curator, SealedLine, Vector
from privfit.questions import RisesAlong
from privfit.solvers.base import register
from privfit.solvers.dpagd import NUMBERS_WITHOUT_ALPHA, LineSearchDescent
from privfit.solvers.kit import check_positive, check_share
from privfit.solvers.requirements import (
    BOUNDED_SLOPE,
    OWN_LOSS,
    POSITIVE_DELTA,
    Requirement,
)


@register
@dataclass(frozen=True, kw_only=True)
class ModernDPAGD(LineSearchDescent):
    """DP-AGD with loss-difference scores, Gumbel selection, rebalanced shares and tail averaging.

    Use it to see how accurate an adaptive budget with a line search can be; "adaptive" is more accurate.

    Parameters
    ----------
    iterations : float
        The planned number of iterations; if gradients are refined, there are fewer.
    gradient_share : float
        Share of an iteration's price that pays for its gradient.
    slope_clip : float
        Clipping threshold of a record's x.direction when a step size is chosen. It should exceed the norm of
        most records, because otherwise long steps seem better than they are.
    C_grad, gamma, m, alpha_max, tau, eta, alpha_cap, batch_size
        As in `LineSearchDescent`.
    """

    name: ClassVar[str] = "dpagd-modern"
    requires: ClassVar[tuple[Requirement, ...]] = (
        BOUNDED_SLOPE,
        POSITIVE_DELTA,
        OWN_LOSS,
        NUMBERS_WITHOUT_ALPHA,
    )
    promise = staticmethod(Concentrated.of)

    C_grad: float = 2.0
    alpha_max: float = 1.0
    iterations: float = 60.0
    gradient_share: float = 0.8
    slope_clip: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "iterations", "slope_clip")
        check_share(self, "gradient_share")

    def shares(self, curator: Curator) -> tuple[float, float]:
        """Return equal prices for the planned iterations, most of each for the gradient."""
        price = curator.remaining / self.iterations
        return self.gradient_share * price, (1.0 - self.gradient_share) * price

    def choose(self, curator: Curator, line: SealedLine, steps: Vector, rho: float, penalties: Vector) -> int:
        """Compare sums of how far each record's loss lies above its minimum along the line."""
        scores = RisesAlong(steps, self.slope_clip)
        return curator.choose(scores, rho, of=line, penalties=penalties)[0]

    def answer(self, path: list[Vector]) -> Vector:
        """Return the mean of the second half of the points visited."""
        mean: Vector = np.mean(path[len(path) // 2 :], axis=0)
        return mean
