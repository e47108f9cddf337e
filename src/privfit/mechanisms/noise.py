"""Sources of noise. `secure` is the default and the only one a release may use; `seeded` is for research.

A source takes numbers and returns blurred numbers; it never sees a record and knows no budget. Scales
arrive already calibrated (accounting.zcdp); the tests hold them against OpenDP's own privacy maps.
"""

from __future__ import annotations

import math
import secrets
from functools import cache
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Shape = Literal["gumbel", "exponential", "laplace"]


class NoiseSource(Protocol):
    """What a mechanism needs: blur a vector, draw one, pick the largest of noisy scores, draw a subset."""

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
    """Reproducible noise from a NumPy generator. For research: whoever knows the seed can subtract it."""

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
        return _radial(self._rng, size, scale)

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
    """Noise from the operating system's entropy through OpenDP's exact samplers.

    Its outputs do not betray the input through floating-point rounding, as textbook samplers do
    (Mironov 2012; Jin et al. 2022): values and noise meet on a power-of-two grid in exact arithmetic.
    """

    secure = True

    def __init__(self) -> None:
        _opendp()  # here rather than at the first draw, which comes after a charge

    def gaussian(self, values: Vector, sigma: float) -> Vector:
        """Return values plus discrete Gaussian noise on a grid 2^-80 times as fine as sigma."""
        _require_finite(values, sigma)
        dp = _opendp()
        space = _floats(values.size), dp.l2_distance(T=float)
        measurement = dp.m.make_gaussian(*space, scale=float(sigma), k=_granularity(sigma))
        return np.asarray(measurement(values.tolist()), dtype=np.float64)

    def laplace(self, values: Vector, scale: float) -> Vector:
        """Return values plus discrete Laplace noise on a grid 2^-80 times as fine as its scale."""
        _require_finite(values, scale)
        dp = _opendp()
        space = _floats(values.size), dp.l1_distance(T=float)
        measurement = dp.m.make_laplace(*space, scale=float(scale), k=_granularity(scale))
        return np.asarray(measurement(values.tolist()), dtype=np.float64)

    def radial(self, size: int, scale: float) -> Vector:
        """Return a vector with density proportional to exp(-norm / scale).

        It is drawn in floating point, from a generator that the operating system's entropy seeds. Never add
        it to a released value, whose low bits it would not hide: it is for objectives of which only the
        minimiser is released.
        """
        return _radial(np.random.default_rng(secrets.randbits(256)), size, scale)

    def noisy_argmax(self, scores: Vector, scale: float, shape: Shape) -> int:
        """Return the index of the largest noisy score."""
        _require_finite(scores, scale)
        _require_shape(shape)
        if shape == "laplace":
            return int(np.argmax(self.laplace(scores, scale)))
        dp = _opendp()
        # OpenDP draws Gumbel noise under the zCDP measure and exponential noise under max-divergence
        measure = dp.zero_concentrated_divergence() if shape == "gumbel" else dp.max_divergence()
        space = _floats(scores.size), dp.linf_distance(T=float)
        return int(dp.m.make_noisy_max(*space, measure, scale=float(scale))(scores.tolist()))

    def poisson_rows(self, n_rows: int, probability: float) -> NDArray[np.intp]:
        """Return a Poisson sample of the rows."""
        rng = np.random.default_rng(secrets.randbits(256))
        return np.flatnonzero(rng.random(n_rows) < probability)

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


def _radial(rng: np.random.Generator, size: int, scale: float) -> Vector:
    """Draw a uniform direction and, of the density r^(size - 1) exp(-r / scale), a length."""
    _require_finite(np.empty(0), scale)
    direction = rng.standard_normal(size)
    radial: Vector = direction * (rng.gamma(size, scale) / np.linalg.norm(direction))
    return radial


def _require_finite(values: Vector, scale: float) -> None:
    """Refuse what no noise can hide: OpenDP turns NaN into 0 and infinity into the largest float."""
    if not np.isfinite(values).all():
        raise ValueError("Only finite numbers can be blurred, got NaN or infinity.")
    if not (scale > 0.0 and math.isfinite(scale)):
        raise ValueError(f"The noise scale must be a positive finite number, got {scale!r}.")


def _require_shape(shape: str) -> None:
    if shape not in get_args(Shape):
        raise ValueError(f"The noise shape must be one of {get_args(Shape)}, got {shape!r}.")


@cache
def _opendp() -> Any:
    """Import OpenDP, late, because it takes longer than all of NumPy and seeded noise needs none of it."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def _floats(size: int) -> Any:
    dp = _opendp()
    return dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size)


def _granularity(scale: float) -> int:
    """Return the k of the noise's grid 2^k.

    Rounding a vector of size d to the grid adds up to sqrt(d) 2^k to its sensitivity. 80 bits below the
    scale that is far inside zcdp.NOISE_MARGIN even for shares of 1e-16 and millions of coordinates.
    """
    return math.frexp(scale)[1] - 80
