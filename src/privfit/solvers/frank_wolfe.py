"""Private Frank-Wolfe: step after step towards the corner of an L1 ball at which the loss falls fastest.

Talwar, Thakurta & Zhang (2015); for sparse tables Raff, Khanna & Lu (2023). A step asks for the name of one
of 2 p corners and for one number, so its noise grows with log p, where a noisy gradient's grows with sqrt(p).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privfit.accounting import Concentrated
from privfit.curator import Curator
from privfit.questions import SlopesAt, VerticesAt
from privfit.solvers.base import Solution, Step, register
from privfit.solvers.geometry import bounded
from privfit.solvers.kit import check_positive, number_of_records
from privfit.solvers.requirements import (
    BOUNDED_SLOPE,
    LABELS_NOT_NUMBERS,
    OWN_LOSS,
    PLAIN,
    POSITIVE_DELTA,
    Requirement,
)

INTERCEPT_SHARE = 0.1  # of a step's price: one number needs little, and a wrong intercept misleads all slopes
MEAN_SQUARE = 1 / 7  # of a chosen column in [-1, 1]; a 0/1 column that is 1 in every seventh record
FEWEST, MOST = 6, 200  # steps; of 200 the last moves a margin by 1/200 of the radius, which is nothing
FARTHEST = 20.0  # of an intercept: labels that are rarer than e^-20 are none, and noise goes further


@register
@dataclass(frozen=True, kw_only=True)
class FrankWolfe:
    """Add up corners of an L1 ball, each chosen privately (Q15), and measure the intercept beside them (Q17).

    Use it for a model of few columns, at most one a step, that are named privately; and as the reference
    whose noise hardly grows with the number of columns.

    Parameters
    ----------
    radius : float
        Of the ball: the largest sum of the weights' sizes, for features scaled into [-1, 1]. The
        intercept does not count.
    """

    name: ClassVar[str] = "frank-wolfe"
    private: ClassVar[bool] = True
    requires: ClassVar[tuple[Requirement, ...]] = (
        *PLAIN,
        BOUNDED_SLOPE,
        POSITIVE_DELTA,
        OWN_LOSS,
        LABELS_NOT_NUMBERS,
    )
    promise = staticmethod(Concentrated.of)

    radius: float = 10.0

    def __post_init__(self) -> None:
        check_positive(self, "radius")

    def solve(self, curator: Curator) -> Solution:
        """Walk, all steps at the same price, over balls that grow by a step each time.

        Over a ball of radius t * step, Frank-Wolfe's step of weight 1 / t from the last point, stretched to
        that radius, adds step times the corner. Early corners keep their weight, and later ones correct them.
        """
        n = number_of_records(curator)
        scaled = bounded(curator, curator.remaining, n)
        features, loss = scaled.curator, curator.loss
        steps = self._steps(features, n)
        # where alpha holds the weights of the optimum below L / alpha, longer steps would only overshoot
        step = min(self.radius / steps, loss.lipschitz * features.regulariser.longest_step)
        w, net = np.zeros(features.n_weights), np.zeros(features.n_features, dtype=int)
        trace: list[Step] = []
        for left in range(steps, 0, -1):
            price, slope = features.remaining / left, None
            if features.intercept:
                slope = features.measure(SlopesAt(w, loss.lipschitz), INTERCEPT_SHARE * price)
                gradient = slope.value[0] / n + features.regulariser.gradient(w)[-1]
                moved = w[-1] - gradient / (_curvature(features) + features.penalty.alpha)
                w[-1] = np.clip(moved, -FARTHEST, FARTHEST)
            rho = features.remaining - (left - 1) * price
            pull = n * features.regulariser.gradient(w)[: features.n_features]
            corners, penalties = VerticesAt(w, loss.lipschitz), np.concatenate([pull, -pull])
            corner = features.choose(corners, rho, penalties=penalties)
            downwards, column = divmod(corner[0], features.n_features)
            net[column] += -1 if downwards else 1
            w[column] = step * net[column]
            paid, sigma = (slope.rho, slope.sigma) if slope else (0.0, 0.0)
            trace.append(Step(len(trace) + 1, step, paid, rho, sigma))
        notes = (*scaled.notes, f"{steps} steps gave {np.count_nonzero(net)} columns a weight")
        return Solution(features.raw_weights(w), tuple(trace), notes, features.bounds)

    def _steps(self, features: Curator, n: float) -> int:
        """Return the number of steps T at which what they lack in fineness is what they lose to noise.

        Steps to corners leave an excess of about A / T, A = curvature * mean square * radius^2 / 2. Choosing
        among 2 p of them with Gumbel noise of scale L sqrt(T) / sqrt(2 rho) loses radius * log(2 p) / n times
        that, in all B sqrt(T). The sum of both is least at T = (2 A / B)^(2/3).
        """
        noise = features.loss.lipschitz * math.log(2.0 * features.n_features)
        reach = features.reach(n)
        best = (self.radius * _curvature(features) * MEAN_SQUARE * reach / noise) ** (2.0 / 3.0)
        return int(np.clip(math.ceil(min(best, MOST)), FEWEST, MOST))


def _curvature(features: Curator) -> float:
    """Return the largest curvature of the loss; a kink counts as a turn that takes a margin of 1."""
    return min(features.loss.smoothness, features.loss.lipschitz)
