"""Private Frank-Wolfe: each step goes towards the vertex of an L1 ball towards which the loss falls fastest.

Talwar, Thakurta & Zhang (2015); for sparse tables Raff, Khanna & Lu (2023). A step chooses one of 2 p
vertices and measures one number, so its noise grows with log p. The noise of a noisy gradient grows with
sqrt(p).
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

INTERCEPT_SHARE = 0.1  # share of a step's price for the intercept, on which all slopes depend
# assumed mean square of a chosen column, such as a 0/1 column that is 1 in every seventh record
MEAN_SQUARE = 1 / 7
FEWEST_STEPS, MOST_STEPS = 6, 200  # with 200 steps, each changes a margin by 1/200 of the radius
LARGEST_INTERCEPT = 20.0  # larger intercepts come from noise, because no label is rarer than e^-20


@register
@dataclass(frozen=True, kw_only=True)
class FrankWolfe:
    """Add up vertices of an L1 ball, each chosen privately (Q15), and measure the intercept (Q17).

    Use it for a sparse model, because each step selects at most one more column, and as a reference whose
    noise hardly grows with the number of columns.

    Parameters
    ----------
    radius : float
        Radius of the ball: the largest sum of the absolute weights, for features scaled into [-1, 1]. The
        intercept is not included.
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
        """Take steps, all at the same price, over a ball whose radius grows by `step` each time.

        Over a ball of radius t * step, the last point is scaled to that radius, and Frank-Wolfe's step has
        weight 1 / t. Together they add step times the vertex. Early vertices keep their weight, and later
        ones correct them.
        """
        n = number_of_records(curator)
        scaled = bounded(curator, curator.remaining, n)
        features, loss = scaled.curator, curator.loss
        steps = self._steps(features, n)
        # with a regulariser the optimum's weights are below L / alpha, and longer steps would overshoot
        step = min(self.radius / steps, loss.lipschitz * features.regulariser.longest_step)
        w, net = np.zeros(features.n_weights), np.zeros(features.n_features, dtype=int)
        trace: list[Step] = []
        for left in range(steps, 0, -1):
            price, slope = features.remaining / left, None
            if features.intercept:
                slope = features.measure(SlopesAt(w, loss.lipschitz), INTERCEPT_SHARE * price)
                gradient = slope.value[0] / n + features.regulariser.gradient(w)[-1]
                moved = w[-1] - gradient / (_curvature(features) + features.penalty.alpha)
                w[-1] = np.clip(moved, -LARGEST_INTERCEPT, LARGEST_INTERCEPT)
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
        """Return the number of steps T that minimises the sum of the optimisation error and the noise.

        After T steps the loss exceeds its minimum by about A / T, A = curvature * mean square * radius^2 / 2.
        Choosing among 2 p vertices with Gumbel noise of scale L sqrt(T) / sqrt(2 rho) adds radius * log(2 p)
        / n times that scale, which is B sqrt(T). The sum of both is least at T = (2 A / B)^(2/3).
        """
        noise = features.loss.lipschitz * math.log(2.0 * features.n_features)
        reach = features.reach(n)
        best = (self.radius * _curvature(features) * MEAN_SQUARE * reach / noise) ** (2.0 / 3.0)
        return int(np.clip(math.ceil(min(best, MOST_STEPS)), FEWEST_STEPS, MOST_STEPS))


def _curvature(features: Curator) -> float:
    """Return the largest curvature of the loss; a kink counts as if it extended over a margin of 1."""
    return min(features.loss.smoothness, features.loss.lipschitz)
