"""The attacker who sees every noisy answer, and the likelihood of the answers for each of two tables.

A `Listener` replaces the noise source of a run, and records its inputs and its answers. A `Player` then gives
the same answers to a second run on the neighbouring table, and records the inputs of that run. The ratio of
the two likelihoods is the best statistic for telling the tables apart (Neyman and Pearson). It uses the
scales that the runs asked for. If the two runs ask different questions after the same answers, or end with
different results, something other than the answers depends on the records, and the attacker is certain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.mechanisms.noise import NoiseSource, Shape

Vector = NDArray[np.float64]
# (whether the canary is in the table, noise) -> the released values
Release = Callable[[bool, NoiseSource], Any]
CERTAIN = 1e3  # a log likelihood ratio that stands for certainty
QUANTILES = (np.arange(2000) + 0.5) / 2000  # for averaging over the noise of a winner


@dataclass(frozen=True, eq=False)
class Answer:
    """The input of a noise source, the requested scale and shape, and its output."""

    kind: str
    fed: Vector
    settings: tuple[Any, ...]
    released: Any


class Diverged(Exception):
    """The second run asked another question than the first after the same answers."""


class Listener:
    """A noise source that records the inputs and outputs of another one."""

    secure = True

    def __init__(self, source: NoiseSource) -> None:
        self.source = source
        self.answers: list[Answer] = []

    def _answer(self, kind: str, fed: Vector, *settings: Any) -> Any:
        released = getattr(self.source, kind)(fed, *settings)
        self.answers.append(Answer(kind, np.array(fed, dtype=np.float64), settings, released))
        return released

    def gaussian(self, values: Vector, sigma: float) -> Vector:
        """Return values plus Gaussian noise."""
        noisy: Vector = self._answer("gaussian", values, sigma)
        return noisy

    def laplace(self, values: Vector, scale: float) -> Vector:
        """Return values plus Laplace noise."""
        noisy: Vector = self._answer("laplace", values, scale)
        return noisy

    def noisy_argmax(self, scores: Vector, scale: float, shape: Shape) -> int:
        """Return the index of the largest noisy score."""
        return int(self._answer("noisy_argmax", scores, scale, shape))

    def radial(self, size: int, scale: float) -> Vector:
        """Raise NotImplementedError, because such noise is used inside a release and not released."""
        raise NotImplementedError("Audit mechanisms that open the data by their result alone.")

    def poisson_rows(self, n_rows: int, probability: float) -> NDArray[np.intp]:
        """Raise NotImplementedError, because samples are not released."""
        raise NotImplementedError("Audit mechanisms that draw samples by their result alone.")

    def spawn(self, n: int) -> list[NoiseSource]:
        """Return this source n times, so that all answers are recorded."""
        return [self] * n


class Player(Listener):
    """A noise source that gives the answers of another run, and records its own inputs."""

    def __init__(self, original: Listener) -> None:
        super().__init__(original)
        self.script = iter(original.answers)

    def _answer(self, kind: str, fed: Vector, *settings: Any) -> Any:
        known = next(self.script, None)
        if known is None or (known.kind, known.settings, known.fed.shape) != (kind, settings, np.shape(fed)):
            raise Diverged
        self.answers.append(Answer(kind, np.array(fed, dtype=np.float64), settings, known.released))
        return np.copy(known.released) if isinstance(known.released, np.ndarray) else known.released


def log_likelihood_ratio(release: Release, present: bool, noise: NoiseSource) -> float:
    """Return the log likelihood ratio of a run's answers: with the canary against without it.

    Parameters
    ----------
    release : callable
        What is audited.
    present : bool
        Whether the canary is in the table of the run.
    noise : NoiseSource
        The source of its noise.

    Returns
    -------
    statistic : float
        Positive if the canary seems to be in the table; +-`CERTAIN` if the answers or the result leave no
        doubt.
    """
    listener = Listener(noise)
    result = release(present, listener)
    player = Player(listener)
    sign = 1.0 if present else -1.0
    try:
        again = release(not present, player)
    except Diverged:
        return sign * CERTAIN
    if len(player.answers) < len(listener.answers) or not np.array_equal(result, again, equal_nan=True):
        return sign * CERTAIN
    pairs = zip(listener.answers, player.answers, strict=True)
    ratio = sum(_log_likelihood(here) - _log_likelihood(there) for here, there in pairs)
    return float(np.clip(sign * ratio, -CERTAIN, CERTAIN))


def _log_likelihood(answer: Answer) -> float:
    """Return the log likelihood of the released values, up to a constant that is the same for both tables."""
    scale = float(answer.settings[0])
    if answer.kind == "gaussian":
        return -float(np.sum((answer.released - answer.fed) ** 2)) / (2.0 * scale**2)
    if answer.kind == "laplace":
        return -float(np.sum(np.abs(answer.released - answer.fed))) / scale
    return _log_probability_of_winner(answer.fed / scale, answer.released, answer.settings[1])


def _log_probability_of_winner(scores: Vector, winner: int, shape: Shape) -> float:
    """Return the log of the probability that one score is the largest after noise of scale 1."""
    behind = scores[winner] - np.delete(scores, winner)
    if shape == "gumbel":
        return -float(np.logaddexp.reduce(np.append(-behind, 0.0)))
    if shape == "exponential":
        own, below = -np.log1p(-QUANTILES), _exponential_distribution
    else:
        own = np.where(QUANTILES < 0.5, np.log(2.0 * QUANTILES), -np.log(2.0 - 2.0 * QUANTILES))
        below = _laplace_distribution
    chances = np.prod(below(own[:, None] + behind[None, :]), axis=1)
    return float(np.log(max(float(np.mean(chances)), 1e-300)))


def _exponential_distribution(x: Vector) -> Vector:
    chance: Vector = -np.expm1(-np.maximum(x, 0.0))
    return chance


def _laplace_distribution(x: Vector) -> Vector:
    half = 0.5 * np.exp(-np.abs(x))
    chance: Vector = np.where(x < 0.0, half, 1.0 - half)
    return chance
