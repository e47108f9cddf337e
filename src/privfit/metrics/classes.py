"""Scores of a classifier of several classes, computed from one release."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from privfit.metrics.estimates import Estimates, Interval, Ratio
from privfit.metrics.evaluation import Evaluation
from privfit.metrics.scores import ClassScores, ConfusionMatrix, Score, clipped, score
from privfit.metrics.strategies import Vector

SHARE = (0.0, 1.0)
BRIER = (0.0, 2.0)  # the sum of squares over all classes
LOSS_STEP = 2.0**-9  # losses are rounded to this share of half their range


def log_loss_range(clip: float) -> Interval:
    """Return the smallest and the largest log loss of a record with clipped probabilities."""
    return -math.log1p(-clip), -math.log(clip)


OF_CLASSES = ("accuracy", "balanced_accuracy", "recall")
OF_PAIRS = ("precision", "confusion_matrix")
OF_LOSSES = ("log_loss", "brier_score")
# The largest number of classes for which the counts of all pairs are bought. With more classes, only counts
# of correct predictions are: least squares would take minutes, and noise would hide the counts of pairs.
MOST_IN_A_MATRIX = 32


def check_bought(name: str, n_classes: int, *, losses: bool, probabilities: bool) -> None:
    """Raise ValueError if a score cannot be computed from the release."""
    if name not in (*OF_CLASSES, *OF_PAIRS, *OF_LOSSES):
        raise ValueError(
            f"{name} is available for two classes only, because for several it needs the distribution of "
            "scores of each class against the rest; use accuracy, balanced_accuracy, log_loss or brier_score."
        )
    if name in OF_PAIRS and n_classes > MOST_IN_A_MATRIX:
        raise ValueError(
            f"{name} is available for at most {MOST_IN_A_MATRIX} classes, because noise would hide the "
            "counts of so many pairs of classes; use recall and balanced_accuracy."
        )
    if name in OF_LOSSES and not probabilities:
        raise ValueError(
            f"{name} needs probabilities, and this model has no predict_proba; use DPLogisticRegression, "
            "or ask for accuracy and balanced_accuracy."
        )
    if name in OF_LOSSES and not losses:
        raise ValueError(f"{name} was not bought; evaluate with curves=True.")


@dataclass(frozen=True, eq=False, repr=False)
class ClassEvaluation(Evaluation):
    """Private scores of a classifier of several classes, all from one release.

    Attributes
    ----------
    privacy : PrivacyStatement
        The privacy statement, which was fixed before the records were read.
    estimates : Estimates
        The released counts of true and predicted classes and sums of losses, with their noise.
    classes : tuple
        The labels.
    has_losses : bool
        Whether log loss and Brier score were bought, or only which classes were predicted.
    has_probabilities : bool
        Whether the model gives probabilities, which log loss and Brier score need.
    log_loss_clip : float
        Probabilities are clipped to this distance from 0 and 1 for the log loss.
    """

    estimates: Estimates
    classes: tuple[Any, ...]
    has_losses: bool
    has_probabilities: bool
    log_loss_clip: float

    @property
    def accuracy(self) -> Score:
        """Share of the records whose class is predicted correctly."""
        return self._share(self._right.sum(axis=0), self.estimates.everybody)

    @property
    def balanced_accuracy(self) -> Score:
        """Mean over the classes of the share of their records that are predicted correctly."""
        pairs = list(zip(self._right, self._of_class, strict=True))
        found = _mean_of_ratios(self.estimates, pairs)
        drawn = _mean_of_ratios(self.estimates.with_sampling(), pairs)
        return score(found, found, found, SHARE, clipped(drawn.low, drawn.high, SHARE))

    @property
    def confusion_matrix(self) -> ConfusionMatrix:
        """Counts of true and predicted classes."""
        self._need("confusion_matrix")
        k = len(self.classes)
        totals = [self.estimates.total(cell) for cell in self._cells]
        counts, low, high = (
            np.reshape([getattr(total, part) for total in totals], (k, k))
            for part in ("value", "low", "high")
        )
        return ConfusionMatrix(self.classes, counts, low, high)

    @property
    def recall(self) -> ClassScores:
        """For each class, the share of its records that are predicted correctly."""
        return self._shares(self._right, self._of_class)

    @property
    def precision(self) -> ClassScores:
        """For each class, the share of the records with this prediction that have this class."""
        self._need("precision")
        k = len(self.classes)
        predicted = self._cells.reshape(k, k, -1).sum(axis=0)
        return self._shares(self._right, predicted)

    @property
    def log_loss(self) -> Score:
        """Mean of -log p of the true class, with p clipped to [log_loss_clip, 1 - log_loss_clip]."""
        return self._mean_loss("log_loss", 0, log_loss_range(self.log_loss_clip))

    @property
    def brier_score(self) -> Score:
        """Mean of the sum over classes of the squared distance of predicted probability and truth, 0 to 2."""
        return self._mean_loss("brier_score", 1, BRIER)

    # -- what they are made of ---------------------------------------------------------------------------

    def _available(self) -> Iterator[str]:
        yield from OF_CLASSES
        if self._has_matrix:
            yield from OF_PAIRS
        if self.has_losses:
            yield from OF_LOSSES

    def _need(self, name: str) -> None:
        check_bought(name, len(self.classes), losses=self.has_losses, probabilities=self.has_probabilities)

    @property
    def _has_matrix(self) -> bool:
        return len(self.classes) <= MOST_IN_A_MATRIX

    @property
    def _cells(self) -> Vector:
        """The coefficients of the counts that give the count of each cell, a row for each."""
        return np.eye(self.estimates.n_cells, len(self.estimates.counts))

    @property
    def _of_class(self) -> Vector:
        """The coefficients of the counts that give the number of records of each class."""
        cells: Vector = self._cells.reshape(len(self.classes), -1, len(self.estimates.counts)).sum(axis=1)
        return cells

    @property
    def _right(self) -> Vector:
        """The coefficients of the counts that give the number of right predictions for each class."""
        k = len(self.classes)
        return self._cells[np.arange(k) * (k + 1) if self._has_matrix else 2 * np.arange(k) + 1]

    def _share(self, over: Vector, under: Vector) -> Score:
        found = self.estimates.ratio(over, under)
        drawn = self.estimates.with_sampling().ratio(over, under)
        return score(found, found, found, SHARE, clipped(drawn.low, drawn.high, SHARE))

    def _shares(self, over: Vector, under: Vector) -> ClassScores:
        found = [self._share(*pair) for pair in zip(over, under, strict=True)]
        values = np.array([share.value for share in found])
        low, high = np.array([share.interval for share in found]).T
        return ClassScores(self.classes, values, low, high)

    def _mean_loss(self, name: str, number: int, within: Interval) -> Score:
        self._need(name)
        found = self.estimates.mean(number, within)
        hidden = 0.25 * LOSS_STEP * (within[1] - within[0])
        drawn = self.estimates.mean(number, within, sampled=True)
        least, most = (
            Ratio(found.value + side, found.low + side, found.high + side) for side in (-hidden, hidden)
        )
        return score(found, least, most, within, clipped(drawn.low - hidden, drawn.high + hidden, within))


def _mean_of_ratios(estimates: Estimates, pairs: list[tuple[Vector, Vector]]) -> Ratio:
    """Return the mean of several ratios with an interval.

    The error of a ratio a / b is that of a - ratio * b, divided by b. So the half-widths of Fieller's
    intervals add up like standard deviations, with the correlations of these errors. The middles of the
    intervals cannot be averaged, because noise in b shifts each of them by more than the ratio's bias. The
    bias of the ratios is subtracted instead. If one of the ratios is unknown, so is their mean.
    """
    ratios = [estimates.ratio(*pair) for pair in pairs]
    values = np.array([ratio.value for ratio in ratios])
    if not all(math.isfinite(ratio.high) for ratio in ratios):
        return Ratio(float(values.mean()), -math.inf, math.inf)
    over, under = (np.array(part) for part in zip(*pairs, strict=True))
    slopes = over - values[:, None] * under
    covariance = slopes @ estimates.covariance @ slopes.T
    deviations = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    halves = np.array([0.5 * (ratio.high - ratio.low) for ratio in ratios]) / deviations
    doubt = math.sqrt(max(float(halves @ covariance @ halves), 0.0)) / len(ratios)
    biases = -np.sum((slopes @ estimates.covariance) * under, axis=1) / (under @ estimates.counts) ** 2
    value = float((values - biases).mean())
    return Ratio(value, value - doubt, value + doubt)
