"""Sources of noise. `secure` is the default and the only one a release may use; `seeded` is for research.

A source takes numbers and returns numbers with noise. It never sees a record and knows no privacy budget. The
scales of noise that it is given are calibrated by `accounting.zcdp`.
"""

from __future__ import annotations

import math
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Shape = Literal["gumbel", "exponential", "laplace"]


class NoiseSource(Protocol):
    """The protocol of noise sources.

    A source adds noise to a vector, draws a random vector, picks the largest of noisy scores, or draws a
    subset.
    """

    secure: bool

    def gaussian(self, values: Vector, sigma: float) -> Vector:
        """Return values plus independent Gaussian noise of standard deviation sigma."""
        ...

    def laplace(self, values: Vector, scale: float) -> Vector:
        """Return values plus independent Laplace noise of this scale."""
        ...

    def radial(self, size: int, scale: float) -> Vector:
        """Return a vector b of this size whose density is proportional to exp(-||b|| / scale)."""
        ...

    def noisy_argmax(self, scores: Vector, scale: float, shape: Shape) -> int:
        """Return the index of the largest score after independent noise of this shape and scale."""
        ...

    def poisson_rows(self, n_rows: int, probability: float) -> NDArray[np.intp]:
        """Return a subset of rows, each in it independently with this probability."""
        ...

    def spawn(self, n: int) -> list[NoiseSource]:
        """Return n sources independent of this one and of each other."""
        ...


class SeededNoise:
    """Noise from a seeded NumPy generator, for research only: whoever knows the seed can subtract it."""

    secure = False

    def __init__(self, seed: int | np.random.SeedSequence | np.random.Generator) -> None:
        self._rng = np.random.default_rng(seed)

    def gaussian(self, values: Vector, sigma: float) -> Vector:
        """Return values plus Gaussian noise."""
        _require_finite(values, sigma)
        return values + sigma * self._rng.standard_normal(values.shape)

    def laplace(self, values: Vector, scale: float) -> Vector:
        """Return values plus Laplace noise."""
        _require_finite(values, scale)
        return values + self._rng.laplace(scale=scale, size=values.shape)

    def radial(self, size: int, scale: float) -> Vector:
        """Return a vector with density proportional to exp(-norm / scale)."""
        _require_finite(np.empty(0), scale)
        direction = self._rng.standard_normal(size)
        radial: Vector = direction * (self._rng.gamma(size, scale) / np.linalg.norm(direction))
        return radial

    def noisy_argmax(self, scores: Vector, scale: float, shape: Shape) -> int:
        """Return the index of the largest noisy score."""
        _require_finite(scores, scale)
        _require_shape(shape)
        draw = getattr(self._rng, shape)
        return int(np.argmax(scores + draw(scale=scale, size=scores.shape)))

    def poisson_rows(self, n_rows: int, probability: float) -> NDArray[np.intp]:
        """Return a Poisson sample of the rows."""
        return np.flatnonzero(self._rng.random(n_rows) < probability)

    def spawn(self, n: int) -> list[NoiseSource]:
        """Return n independent sources."""
        return [SeededNoise(rng) for rng in self._rng.spawn(n)]


class SecureNoise:
    """Noise from the operating system's entropy through exact samplers.

    The rounding of its outputs does not reveal the input, unlike that of textbook samplers (Mironov 2012; Jin
    et al. 2022), because no draw depends on a floating-point function. Nothing is kept between calls, so
    threads and forked processes draw independently. OpenDP is imported when Laplace or exponential noise is
    first needed, because its import takes longer than all others.
    """

    secure = True

    def __init__(self) -> None:
        # a machine may lack the cipher; check it now, because the first draw comes after a charge
        from privfit.mechanisms.exact import gaussian, selection, uniform  # noqa: F401  # loaded, not used
        from privfit.mechanisms.exact.digits import Digits, UnsupportedAlgorithm

        try:
            Digits(1)
        except UnsupportedAlgorithm:
            raise RuntimeError(
                "There is no secure noise on this machine, because its OpenSSL lacks ChaCha20; nothing was "
                "charged. Use another build of the package cryptography."
            ) from None

    def gaussian(self, values: Vector, sigma: float) -> Vector:
        """Return values plus Gaussian noise, rounded to a grid 2^-40 times as fine as sigma (N2)."""
        _require_finite(values, sigma)
        from privfit.mechanisms.exact.gaussian import add_gaussian

        return add_gaussian(values, float(sigma))

    def laplace(self, values: Vector, scale: float) -> Vector:
        """Return values plus discrete Laplace noise on a grid 2^-80 times as fine as its scale."""
        _require_finite(values, scale)
        from privfit.mechanisms.opendp_noise import add_laplace

        return add_laplace(values, scale)

    def radial(self, size: int, scale: float) -> Vector:
        """Return a vector with density proportional to exp(-norm / scale).

        It is computed in floating point, from the operating system's entropy. Never add it to a value that is
        released, because it would not hide the value's low bits. It is for objectives of which only the
        minimiser is released.
        """
        _require_finite(np.empty(0), scale)
        from privfit.mechanisms.exact.uniform import radial

        return radial(size, scale)

    def noisy_argmax(self, scores: Vector, scale: float, shape: Shape) -> int:
        """Return the index of the largest noisy score.

        With Gumbel noise this is the exponential mechanism, drawn by rejection (N3), so the time that it
        takes depends on the scores.
        """
        _require_finite(scores, scale)
        _require_shape(shape)
        if shape == "laplace":
            return int(np.argmax(self.laplace(scores, scale)))
        if shape == "exponential":
            from privfit.mechanisms.opendp_noise import argmax_with_exponential_noise

            return argmax_with_exponential_noise(scores, scale)
        from privfit.mechanisms.exact.selection import exponential_mechanism

        return exponential_mechanism(scores, float(scale))

    def poisson_rows(self, n_rows: int, probability: float) -> NDArray[np.intp]:
        """Return a Poisson sample of the rows, each in it with exactly this probability (N4)."""
        from privfit.mechanisms.exact.uniform import poisson_rows

        return poisson_rows(n_rows, probability)

    def spawn(self, n: int) -> list[NoiseSource]:
        """Return n independent sources; they all read the operating system's entropy."""
        return [SecureNoise() for _ in range(n)]


def noise_source(random_state: int | np.random.Generator | np.random.RandomState | None) -> NoiseSource:
    """Return secure noise for None, reproducible noise for a seed or generator."""
    if random_state is None:
        return SecureNoise()
    if isinstance(random_state, np.random.RandomState):
        return SeededNoise(int(random_state.randint(2**31 - 1)))
    return SeededNoise(random_state)


def _require_finite(values: Vector, scale: float) -> None:
    """Refuse values and scales that are not finite, which no noise can hide."""
    if not np.isfinite(values).all():
        raise ValueError("Noise can be added to finite numbers only, got NaN or infinity.")
    if not (scale > 0.0 and math.isfinite(scale)):
        raise ValueError(f"The noise scale must be a positive finite number, got {scale!r}.")


def _require_shape(shape: str) -> None:
    if shape not in get_args(Shape):
        raise ValueError(f"The noise shape must be one of {get_args(Shape)}, got {shape!r}.")
