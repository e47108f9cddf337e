"""Scores of a regressor, computed from one release."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privfit.metrics.estimates import QUANTILE, Estimates, Interval, Ratio
from privfit.metrics.evaluation import Evaluation
from privfit.metrics.scores import Score, clipped, score
from privfit.metrics.strategies import Vector

UNKNOWN = Ratio(math.nan, -math.inf, math.inf)
EXPLAINED = (-1.0, 1.0)  # range of R^2; lower values are reported as -1
STEPS = 2**12  # predictions are rounded to this many steps between the bounds of the target
CENTRE = 0.5  # the middle of the bounds, as a share of their distance

# The sums that are bought for each score. Each adds up a function of a record's target and prediction.
NEEDED = {
    "r2": ("squares", "targets", "squared_targets"),
    "mean_absolute_error": ("distances",),
    "root_mean_squared_error": ("squares",),
    "mean_pinball_loss": ("pinball",),
    "mean_poisson_deviance": ("deviances",),
    "d2_poisson": ("deviances", "targets", "entropies"),
}


def number_range(name: str, quantile: float | None, floor: float) -> Interval:
    """Return the smallest and the largest summand of a sum, for targets in [0, 1].

    Deviances are of targets in [0, 1] and predictions in [floor, 1].
    """
    if name == "pinball":
        assert quantile is not None  # because the pinball loss is bought with a quantile only
        return 0.0, max(quantile, 1.0 - quantile)
    largest = {"squared_targets": CENTRE**2, "deviances": max(2.0, 2.0 * (floor - 1.0 - math.log(floor)))}
    least = {"entropies": -1.0 / math.e}
    return least.get(name, 0.0), 0.0 if name == "entropies" else largest.get(name, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class NumberEvaluation(Evaluation):
    """Private scores of a regressor, all from one release.

    Targets and predictions beyond the bounds count as the nearer bound.

    Attributes
    ----------
    privacy : PrivacyStatement
        The privacy statement, which was fixed before the records were read.
    estimates : Estimates
        The released number of records and sums, with their noise.
    bought : tuple of str
        The names of the scores.
    sums : tuple of str
        The names of the sums.
    target_bounds : pair of float
        The bounds of targets and predictions.
    quantile : float or None
        The quantile of the pinball loss.
    floor : float
        For the deviance, predictions are raised to at least this share of the upper bound.
    """

    estimates: Estimates
    bought: tuple[str, ...]
    sums: tuple[str, ...]
    target_bounds: Interval
    quantile: float | None
    floor: float

    @property
    def r2(self) -> Score:
        """Share of the targets' variance that the predictions explain; values below -1 count as -1."""
        self._need("r2")
        found, drawn = self._residual_share(sampled=False), self._residual_share(sampled=True)
        spread = float(self._mean("squared_targets").value) - self._centred_mean**2
        residuals = max(self._mean("squares").value, 0.0)
        hidden = (2.0 * math.sqrt(residuals) + _HALF_STEP) * _HALF_STEP / spread if spread > 0.0 else 0.0
        return _explained(found, drawn, hidden)

    @property
    def mean_absolute_error(self) -> Score:
        """Mean distance between target and prediction."""
        return self._mean_score("mean_absolute_error", "distances", self._width)

    @property
    def root_mean_squared_error(self) -> Score:
        """Root of the mean squared distance between target and prediction."""
        self._need("root_mean_squared_error")
        found, drawn = (self._mean("squares", sampled=sampled) for sampled in (False, True))
        return self._in_units(_root(found), _root(drawn), _HALF_STEP, self._width, (0.0, 1.0))

    @property
    def mean_pinball_loss(self) -> Score:
        """Mean of q (y - f) if the target y is above the prediction f, and (1 - q) (f - y) otherwise."""
        return self._mean_score("mean_pinball_loss", "pinball", self._width)

    @property
    def mean_poisson_deviance(self) -> Score:
        """Mean of 2 (y log(y / f) - y + f), with f raised to at least `floor` times the upper bound."""
        return self._mean_score("mean_poisson_deviance", "deviances", self.target_bounds[1])

    @property
    def d2_poisson(self) -> Score:
        """Share of a constant's deviance that the predictions explain; values below -1 count as -1."""
        self._need("d2_poisson")
        found, drawn = self._deviance_share(sampled=False), self._deviance_share(sampled=True)
        _, constant = self._null_deviance
        n = float(self.estimates.everybody @ self.estimates.counts)
        hidden = _half_step_of_deviances(self.floor) * n / constant if constant > 0.0 else 0.0
        return _explained(found, drawn, hidden)

    # -- what they are made of ---------------------------------------------------------------------------

    def _available(self) -> Iterator[str]:
        yield from self.bought

    def _need(self, name: str) -> None:
        if name not in self.bought:
            raise ValueError(f"{name} was not bought; ask for it by metrics.{name}.")

    @property
    def _width(self) -> float:
        low, high = self.target_bounds
        return high - low

    def _range(self, name: str) -> Interval:
        return number_range(name, self.quantile, self.floor)

    def _sum(self, name: str) -> Vector:
        """Return the coefficients of the counts that give a sum."""
        return self.estimates.of_number(self.sums.index(name), self._range(name))

    def _mean(self, name: str, *, sampled: bool = False) -> Ratio:
        return self.estimates.mean(self.sums.index(name), self._range(name), sampled=sampled)

    def _mean_score(self, name: str, summed: str, unit: float) -> Score:
        self._need(name)
        within = self._range(summed)
        hidden = _half_step_of_deviances(self.floor) if summed == "deviances" else within[1] * _HALF_STEP
        found, drawn = (self._mean(summed, sampled=sampled) for sampled in (False, True))
        return self._in_units(found, drawn, hidden, unit, within)

    def _in_units(self, found: Ratio, drawn: Ratio, hidden: float, unit: float, within: Interval) -> Score:
        """Return a score that rounded predictions leave open by `hidden`, in units of the target."""
        found, drawn = (Ratio(unit * r.value, unit * r.low, unit * r.high) for r in (found, drawn))
        low, high = unit * within[0], unit * within[1]
        return _rounded_score(found, drawn, unit * hidden, (low, high))

    # -- R^2 ---------------------------------------------------------------------------------------------

    @property
    def _centred_mean(self) -> float:
        """The mean of the targets, measured from the centre of their bounds; at most half their distance."""
        return float(np.clip(self._mean("targets").value - CENTRE, -CENTRE, CENTRE))

    def _residual_share(self, *, sampled: bool) -> Ratio:
        """Return the squares of residuals over those of the targets' distances from their mean.

        Both are multiplied by the number of records, which makes them polynomials of the sums. Their noise is
        that of the linear terms; the variance of the products of two noises is added.
        """
        n, squares, squared = (self.estimates.everybody, self._sum("squares"), self._sum("squared_targets"))
        centred = self._sum("targets") - CENTRE * n
        parts = np.stack([n, squares, squared, centred])
        count, residual, total, offset = (parts @ self.estimates.counts).tolist()
        covariance = parts @ self.estimates.covariance @ parts.T
        over = count * residual - covariance[0, 1]
        under = count * total - offset**2 - covariance[0, 2] + covariance[3, 3]
        variances = np.diag(covariance)
        products = [
            variances[0] * variances[1] + covariance[0, 1] ** 2,
            2.0 * (variances[0] * variances[2] + covariance[0, 2] ** 2 + 2.0 * variances[3] ** 2),
        ]
        further = np.diag(products)
        if sampled and count > 0.0:
            farthest = CENTRE + abs(self._centred_mean)  # the largest distance of a target from the mean
            fourth = [max(residual, 0.0), farthest**2 * max(under, 0.0) / count]
            further = further + self.estimates.unit * count**2 * np.diag(fourth)
        slopes = residual * n + count * squares, total * n + count * squared - 2.0 * offset * centred
        return self.estimates.fieller(over, under, *slopes, further)

    # -- deviance ----------------------------------------------------------------------------------------

    @property
    def _targets_over_high(self) -> Vector:
        """The coefficients of the counts that give the sum of the targets, in units of the upper bound."""
        low, high = self.target_bounds
        weights: Vector = (low * self.estimates.everybody + self._width * self._sum("targets")) / high
        return weights

    @property
    def _null_deviance(self) -> tuple[float, float]:
        """The mean target, and the deviance of predicting it always, in units of the upper bound."""
        counts = self.estimates.counts
        n, summed = float(self.estimates.everybody @ counts), float(self._targets_over_high @ counts)
        if n <= 0.0 or not 0.0 < summed < n:
            return math.nan, math.nan
        mean = summed / n
        return mean, 2.0 * (float(self._sum("entropies") @ counts) - summed * math.log(mean))

    def _deviance_share(self, *, sampled: bool) -> Ratio:
        """Return the deviance of the predictions over that of the mean target."""
        estimates, everybody = self.estimates, self.estimates.everybody
        mean, under = self._null_deviance
        targets, deviances = self._targets_over_high, self._sum("deviances")
        noise = float(targets @ estimates.covariance @ targets)
        if math.isnan(mean) or float(targets @ estimates.counts) ** 2 <= (2.0 * QUANTILE) ** 2 * noise:
            return UNKNOWN  # the logarithm of the mean is not linear in so much noise
        over = float(deviances @ estimates.counts)
        slope = 2.0 * (self._sum("entropies") - (math.log(mean) + 1.0) * targets + mean * everybody)
        further = np.diag([0.0, (noise / float(targets @ estimates.counts)) ** 2])
        if sampled:
            largest = self._range("deviances")[1], max(2.0 * (mean - 1.0 - math.log(mean)), 2.0 * mean)
            squares = [most * max(part, 0.0) for most, part in zip(largest, (over, under), strict=True)]
            further = further + estimates.unit * np.diag(squares)
        return estimates.fieller(over, under, deviances, slope, further)


_HALF_STEP = 0.5 / STEPS


def _half_step_of_deviances(floor: float) -> float:
    """Return by how much rounding the logarithm of a prediction moves a deviance, at most.

    The derivative with respect to the logarithm is 2 (f - y), both between 0 and 1.
    """
    return 2.0 * _HALF_STEP * -math.log(floor) * 1.01  # f moves as well, by less than a hundredth


def _root(ratio: Ratio) -> Ratio:
    """Return the root; Fieller's interval holds for it, because the root rises."""
    if not math.isfinite(ratio.high):
        return ratio
    value, low, high = (math.sqrt(max(part, 0.0)) for part in (ratio.value, ratio.low, ratio.high))
    return Ratio(value, low, high)


def _explained(found: Ratio, drawn: Ratio, hidden: float) -> Score:
    """Return 1 minus a share of what is not explained."""
    left, population = (Ratio(1.0 - r.value, 1.0 - r.high, 1.0 - r.low) for r in (found, drawn))
    return _rounded_score(left, population, hidden, EXPLAINED)


def _rounded_score(found: Ratio, drawn: Ratio, hidden: float, within: Interval) -> Score:
    """Return a score that rounding leaves open by `hidden` to either side."""
    least, most = (
        Ratio(found.value + side, found.low + side, found.high + side) for side in (-hidden, hidden)
    )
    return score(found, least, most, within, clipped(drawn.low - hidden, drawn.high + hidden, within))
