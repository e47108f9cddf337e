"""Scores and curves of a classifier of two classes, computed from one release."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.isotonic import isotonic_regression

from privfit.metrics.bin_counts import BinCounts
from privfit.metrics.estimates import Ratio
from privfit.metrics.evaluation import Evaluation
from privfit.metrics.scores import ConfusionMatrix, Curve, Score, clipped, score
from privfit.metrics.strategies import Vector

GROUPS = 16  # number of groups of predicted probabilities in the calibration curve
SHARE = (0.0, 1.0)


OF_LABELS = ("accuracy", "balanced_accuracy", "confusion_matrix")
OF_SCORES = ("roc_auc", "roc_curve")
OF_PROBABILITIES = ("brier_score", "log_loss", "calibration_curve")


def check_bought(name: str, *, curves: bool, probabilities: bool) -> None:
    """Raise ValueError if a score cannot be computed from the release."""
    if name in OF_PROBABILITIES and not probabilities:
        raise ValueError(
            f"{name} needs probabilities, and this model has no predict_proba; use DPLogisticRegression, "
            "or ask for accuracy and roc_auc."
        )
    if name not in OF_LABELS and not curves:
        raise ValueError(
            f"{name} needs the distribution of scores, which was not bought; evaluate with curves=True."
        )


@dataclass(frozen=True, eq=False, repr=False)
class TwoLabelEvaluation(Evaluation):
    """Private scores of a classifier of two classes, all from one release.

    Attributes
    ----------
    privacy : PrivacyStatement
        The privacy statement, which was fixed before the records were read.
    cells : BinCounts
        The released counts of labels and score bins, with their noise.
    classes : tuple
        The two labels; the second one is the positive class.
    has_curves : bool
        Whether the distribution of scores was bought, or only how often which label was predicted.
    has_probabilities : bool
        Whether the model gives probabilities, as log loss, Brier score and calibration need.
    log_loss_clip : float
        Probabilities are clipped to this distance from 0 and 1 for the log loss.
    """

    cells: BinCounts
    classes: tuple[Any, Any]
    has_curves: bool
    has_probabilities: bool
    log_loss_clip: float

    # -- predicted labels -------------------------------------------------------------------------------

    @property
    def accuracy(self) -> Score:
        """Share of the records whose label is predicted correctly."""
        second = self._predicted_second
        return self._ratio(np.concatenate([~second, second]))

    @property
    def balanced_accuracy(self) -> Score:
        """Mean of the shares of each label's records that are predicted correctly."""
        second = self._predicted_second.astype(np.float64)
        return self._pairs(np.add.outer(second, 1.0 - second) / 2.0)

    @property
    def confusion_matrix(self) -> ConfusionMatrix:
        """Counts of true and predicted labels."""
        second = self._predicted_second.astype(np.float64)
        chosen = [_of_labels(label, column) for label in np.eye(2) for column in (1.0 - second, second)]
        totals = [self.cells.total(cells) for cells in chosen]
        counts, low, high = (
            np.reshape([getattr(total, part) for total in totals], (2, 2))
            for part in ("value", "low", "high")
        )
        return ConfusionMatrix(self.classes, counts, low, high)

    # -- the order of scores ----------------------------------------------------------------------------

    @property
    def roc_auc(self) -> Score:
        """Share of pairs of records of either label whose scores are in the right order; ties count half.

        The order of scores within a bin is unknown, so the interval includes all possible orders.
        """
        self._need("roc_auc")
        ahead = np.tri(self.cells.n_bins, k=-1)
        return self._pairs(*(ahead + ties * np.eye(self.cells.n_bins) for ties in (0.5, 0.0, 1.0)))

    @property
    def roc_curve(self) -> Curve:
        """True and false positive rates at every edge of the bins."""
        self._need("roc_curve")
        bins = np.arange(self.cells.n_bins)
        beyond = [(bins >= k).astype(np.float64) for k in range(self.cells.n_bins, -1, -1)]
        columns = {"threshold": np.concatenate([[np.inf], self.cells.edges[::-1], [-np.inf]])}
        for name, label in (("fpr", [1.0, 0.0]), ("tpr", [0.0, 1.0])):
            of_label = _of_labels(label, np.ones(self.cells.n_bins))
            columns |= _banded(
                name, [self.cells.ratio(_of_labels(label, k), of_label) for k in beyond], rising=True
            )
        return Curve(columns)

    # -- probabilities ----------------------------------------------------------------------------------

    @property
    def brier_score(self) -> Score:
        """Mean squared distance between the predicted probability and the label (0 or 1)."""
        self._need("brier_score")
        return self._mean_loss(lambda p: (1.0 - p) ** 2, SHARE)

    @property
    def log_loss(self) -> Score:
        """Mean of -log p of the true label, with p clipped to [log_loss_clip, 1 - log_loss_clip]."""
        self._need("log_loss")
        clip = self.log_loss_clip
        within = -math.log1p(-clip), -math.log(clip)
        return self._mean_loss(lambda p: -np.log(np.clip(p, clip, 1.0 - clip)), within)

    @property
    def calibration_curve(self) -> Curve:
        """Observed shares of the second label for groups of predicted probabilities with public bounds."""
        self._need("calibration_curve")
        edges, n = self._probability_edges, self.cells.n_bins
        groups = np.kron(np.eye(GROUPS), np.ones(n // GROUPS))
        observed = [self.cells.ratio(_of_labels([0.0, 1.0], g), _of_labels([1.0, 1.0], g)) for g in groups]
        counts = self.cells.counts[:n] + self.cells.counts[n:]
        likely, middles = np.maximum(counts, 0.0), (edges[1:] + edges[:-1]) / 2.0
        with np.errstate(invalid="ignore"):
            predicted = (groups @ (likely * middles)) / (groups @ likely)
        return Curve(
            {
                "lowest": edges[:-1][:: n // GROUPS],
                "highest": edges[1:][n // GROUPS - 1 :: n // GROUPS],
                "predicted": predicted,
                **_banded("observed", observed, rising=False),
                "records": groups @ counts,
            }
        )

    # -- what they are made of ---------------------------------------------------------------------------

    def _available(self) -> Iterator[str]:
        yield from OF_LABELS
        if self.has_curves:
            yield from OF_SCORES
            if self.has_probabilities:
                yield from OF_PROBABILITIES

    def _need(self, name: str) -> None:
        check_bought(name, curves=self.has_curves, probabilities=self.has_probabilities)

    @property
    def _predicted_second(self) -> NDArray[np.bool_]:
        return np.asarray(np.arange(self.cells.n_bins) >= self.cells.n_bins // 2)

    @property
    def _probability_edges(self) -> Vector:
        return np.concatenate([[0.0], expit(self.cells.edges), [1.0]])

    def _mean_loss(self, loss: Any, within: tuple[float, float]) -> Score:
        """Return the mean of a loss that decreases with the probability of the true label."""
        edges = self._probability_edges
        ends = [np.concatenate([loss(1.0 - edges[side]), loss(edges[side])]) for side in (_BELOW, _ABOVE)]
        least, most = np.minimum(*ends), np.maximum(*ends)
        return self._ratio((least + most) / 2.0, least, most, within=within)

    def _ratio(self, *weights: NDArray[Any], within: tuple[float, float] = SHARE) -> Score:
        """Return a mean over records, with the value of a cell at the middle of its bin and at both ends."""
        ones = np.ones(len(self.cells.counts))
        return self._score([(cell_weights, ones) for cell_weights in weights], BinCounts.ratio, within)

    def _pairs(self, *wins: NDArray[np.float64]) -> Score:
        return self._score([(won,) for won in wins], BinCounts.pairs, SHARE)

    def _score(self, arguments: list[tuple[Any, ...]], mean: Any, within: tuple[float, float]) -> Score:
        middle, *bounds = [mean(self.cells, *given) for given in arguments]
        least, most = bounds or (middle, middle)
        drawn = self.cells.with_sampling()
        lows, highs = zip(
            *((r.low, r.high) for r in (mean(drawn, *given) for given in arguments)), strict=True
        )
        return score(middle, least, most, within, clipped(min(lows), max(highs), within))


_BELOW, _ABOVE = slice(0, -1), slice(1, None)


def _of_labels(weights: Any, bins: Vector) -> Vector:
    """Return the weights of the cells of both labels in these bins, given a weight for each label."""
    return np.asarray(np.outer(weights, bins).ravel(), dtype=np.float64)


def _banded(name: str, points: list[Ratio], *, rising: bool) -> dict[str, Vector]:
    """Return estimates and intervals of the points of a curve, all of them shares."""
    values = np.array([point.value if math.isfinite(point.high) else np.nan for point in points])
    low, high = np.array([clipped(point.low, point.high, SHARE) for point in points]).T
    if rising and not np.isnan(values).any():  # the exact rates do not fall, so a falling rate is noise
        values = np.asarray(isotonic_regression(values, y_min=0.0, y_max=1.0))
    values = np.clip(values, 0.0, 1.0)
    return {name: values, f"{name}_low": np.fmin(low, values), f"{name}_high": np.fmax(high, values)}
