"""Standard errors, intervals and p-values of a model's effects, computed from released numbers alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

Vector = NDArray[np.float64]

KNOWN_CURVATURE = 3.0  # in units of its noise; a smaller curvature counts as unknown, because it may be noise
DOUBT_LIMIT = 0.25  # relative error of a standard error above which an effect is refused
INFLATION_FACTOR = 1.5  # the shift of a noisy inverse, times this factor, is added to this error
MOST_FREEDOM = 1e9  # degrees of freedom from which a t distribution counts as normal

TOO_SMALL = "The budget is too small to say how exact this effect is."
UNSTEADY = (
    "The budget is too small to say how exact some effects are: noise hides how much they vary between "
    "samples, and twice the epsilon would not change that."
)
HIDDEN = (
    "The budget is too small to say how exact some effects are: noise hides them altogether. Look for "
    "columns that hardly vary, levels that hardly anybody has, and columns that say the same. Without a "
    "schema, leave out one level of each category."
)
_NAN = math.nan


@dataclass(frozen=True)
class Effect:
    """One effect of a model: its estimate and its standard error.

    Attributes
    ----------
    estimate : float
        The change of the score.
    sampling, privacy : float
        The two parts of the standard error: sampling (other people might have been in the table), and privacy
        (the noise that protects the people in it). NaN if the effect is refused.
    refused : str or None
        The reason, in one sentence, why the budget is too small for a standard error.
    freedom : float
        Degrees of freedom of the t distribution for intervals and p-values. There are fewer if the standard
        error itself is noisy.
    """

    estimate: float
    sampling: float
    privacy: float
    refused: str | None = None
    freedom: float = math.inf

    @property
    def std_err(self) -> float:
        """The standard error: the root of the sum of the squares of both parts."""
        return math.hypot(self.sampling, self.privacy)

    @property
    def z(self) -> float:
        """The estimate divided by its standard error; NaN if refused, or for a reference level."""
        return self.estimate / self.std_err if self.std_err > 0.0 else _NAN

    @property
    def pvalue(self) -> float:
        """The probability of an estimate at least as far from 0 if the effect were 0; NaN if `z` is NaN."""
        return float(2.0 * stdtr(min(self.freedom, MOST_FREEDOM), -abs(self.z)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of a confidence interval.

        Parameters
        ----------
        level : float
            The confidence level, between 0 and 1.

        Returns
        -------
        low, high : float
            The ends; NaN if the effect is refused, and (0, 0) for a reference level.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1, both excluded, got {level!r}.")
        quantile = float(stdtrit(min(self.freedom, MOST_FREEDOM), 0.5 + 0.5 * level))
        width = quantile * self.std_err
        return self.estimate - width, self.estimate + width


class _Judged(NamedTuple):
    """The two variances of an effect, the relative error of their sum, and that of the standard error."""

    sampling: float
    privacy: float
    error: float
    doubt: float


REFERENCE = Effect(0.0, 0.0, 0.0)  # the effect of a reference level, which is compared with itself


@dataclass(frozen=True, eq=False, kw_only=True)
class Inference:
    """The released numbers about the effects of a model, from which standard errors are computed.

    A last Newton step corrected the model. At the released weights before the step, the gradient sum g, the
    curvature sum H and the sum V of squared scores were released with Gaussian noise. Let v = H^-1 a. The
    sampling variance of the effect a.w is v'Vv. Its privacy variance is
    v'(s^2 I + sigma_H^2/2 (|u|^2 I + u u'))v, plus the square of the remaining error after the step. Here s
    and sigma_H are the scales of the noise, and u is the step. All matrices are in coordinates of q free
    directions, in which the noise is isotropic; `directions` maps these to the weights.

    The noise of H and V makes the variance itself uncertain. Its relative standard deviation k gives the
    degrees of freedom, 2 / k^2 (Satterthwaite). An effect is refused if k / 2, the shift of the noisy inverse
    and the remaining error together may change its standard error by more than DOUBT_LIMIT.

    Parameters
    ----------
    names : tuple of str
        The names of the effects, one for each column of `coef_`; the intercept, if any, is last.
    estimate : array of shape (d,)
        The weights. The weight of a level is its difference from the reference level, whose weight is 0. The
        weight of an effect that is not refused is the centre of its interval.
    is_reference : array of bool of shape (d,)
        Whether each weight belongs to a reference level.
    directions : array of shape (d, q)
        The change of each weight along each of the free directions.
    curvature, spread : arrays of shape (q, q)
        The released H, the penalty's part included, and V.
    sigma_curvature, sigma_spread, sigma_gradient : float
        The scales of the noise in H, V and g.
    step : array of shape (q,)
        The last step u.
    mass : float
        The released sum of the second derivatives of the losses.
    remainder : float
        The remaining error after a Newton step u, as a share of u'Hu; 0 if a Newton step is exact.
    chosen : tuple of str, optional
        The effects of interest; the others have no standard errors. None for all effects.
    corrected : array of shape (d,), optional
        The weights after the last step, which give the estimates of contrasts. For refused effects they are
        only noise, so a model may keep the solver's weights in `estimate`. By default `estimate`.
    """

    names: tuple[str, ...]
    estimate: Vector
    is_reference: NDArray[np.bool_]
    directions: Vector
    curvature: Vector
    spread: Vector
    sigma_curvature: float
    sigma_spread: float
    sigma_gradient: float
    step: Vector
    mass: float
    remainder: float = 0.15
    chosen: tuple[str, ...] | None = None
    corrected: Vector | None = None

    def __post_init__(self) -> None:
        d, q = self.directions.shape
        shapes = {"estimate": (d,), "is_reference": (d,), "curvature": (q, q), "spread": (q, q), "step": (q,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} must have shape {shape}, got {getattr(self, name).shape}.")
        if len(self.names) != d:
            raise ValueError(f"names must be {d}, one for each weight, got {len(self.names)}.")

    @cached_property
    def _inverse(self) -> Vector:
        """The inverse of the curvature."""
        return inverted(self.curvature, self.sigma_curvature)

    @cached_property
    def _privacy(self) -> Vector:
        """The covariance of the noise of the last step's gradient and of the curvature times the step."""
        half = 0.5 * self.sigma_curvature**2
        noise = self.sigma_gradient**2 + half * float(self.step @ self.step)
        covariance: Vector = noise * np.eye(len(self.step)) + half * np.outer(self.step, self.step)
        return covariance

    # -- effects ---------------------------------------------------------------------------------------------

    def effect(self, a: int | str | ArrayLike) -> Effect:
        """Return one effect.

        Parameters
        ----------
        a : int, str or array of shape (d,)
            The number or the name of a weight, or the coefficients of a linear combination of weights, such
            as the difference of two levels, or ten years of age.

        Returns
        -------
        effect : Effect
            The estimate and standard error, or the reason why it is refused.

        Raises
        ------
        KeyError
            If no weight has this name.
        ValueError
            If the array has another length.
        """
        a = self._coefficients(a)
        along = self.directions.T @ a
        estimate = float(a @ self.estimate)
        if not along.any():
            return replace(REFERENCE, estimate=estimate)
        found = self._judged(along)
        if found.doubt > DOUBT_LIMIT:
            return Effect(estimate, _NAN, _NAN, refused=self._reason(along, found.doubt))
        freedom = 2.0 / found.error**2 if found.error > 0.0 else math.inf
        centre = estimate if self.corrected is None else float(a @ self.corrected)
        return Effect(centre, math.sqrt(found.sampling), math.sqrt(found.privacy), freedom=freedom)

    def _judged(self, along: Vector, noise: float = 1.0) -> _Judged:
        """Return the variances of an effect, and the possible error of its standard error.

        `noise` is a factor for all noise; a factor below 1 gives the result of a larger privacy budget.
        """
        v = self._inverse @ along
        sampling, privacy = float(v @ self.spread @ v), noise**2 * float(v @ self._privacy @ v)
        left = self._left_to_go(float(along @ v))
        privacy += left**2
        sampling = max(sampling, 0.0)  # noise may have made it negative
        total, length = sampling + privacy, float(v @ v)
        b = self._inverse @ (self.spread @ v)
        of_curvature = 2.0 * self.sigma_curvature**2 * (float(b @ b) * length + float(b @ v) ** 2)
        error = noise * math.sqrt(of_curvature + (self.sigma_spread * length) ** 2) / total
        shift = self.sigma_curvature**2 * float(np.trace(self._inverse)) * length / (2.0 * float(along @ v))
        doubt = 0.5 * error + INFLATION_FACTOR * noise**2 * shift + left**2 / (2.0 * total)
        return _Judged(sampling, privacy, error, doubt)

    def _reason(self, along: Vector, doubt: float) -> str:
        """Return why an effect is refused, and whether a larger budget would help."""
        if self._is_hidden:
            return HIDDEN
        # with less noise, the remaining variance is the sampling part, which is computed from noisy squares
        return TOO_SMALL if self._judged(along, 0.5).doubt < doubt else UNSTEADY

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The effects of all weights, in order; effects that were not asked for are refused."""
        return tuple(self.effect(j) if self._is_chosen(j) else self._unasked(j) for j in range(len(self)))

    @property
    def covariance(self) -> Vector:
        """The covariance of the weights: NaN for refused effects, and 0 for reference levels."""
        around = self._inverse @ (self.spread + self._privacy) @ self._inverse
        found: Vector = self.directions @ around @ self.directions.T
        effects = self.effects
        np.fill_diagonal(found, [effect.std_err**2 for effect in effects])
        refused = np.array([effect.refused is not None for effect in effects])
        found[refused] = found[:, refused] = _NAN
        return found

    def __len__(self) -> int:
        return len(self.names)

    def _coefficients(self, a: int | str | ArrayLike) -> Vector:
        if isinstance(a, str):
            if a not in self.names:
                raise KeyError(f"there is no effect {a!r}; there are {', '.join(self.names)}")
            a = self.names.index(a)
        if isinstance(a, int | np.integer):
            unit = np.zeros(len(self))
            unit[a] = 1.0
            return unit
        found = np.asarray(a, dtype=np.float64)
        if found.shape != (len(self),):
            raise ValueError(f"a contrast must have a number for each of {len(self)} weights.")
        return found

    def _is_chosen(self, j: int) -> bool:
        return self.chosen is None or self.names[j] in self.chosen or bool(self.is_reference[j])

    def _unasked(self, j: int) -> Effect:
        return Effect(float(self.estimate[j]), _NAN, _NAN, refused="This effect was not asked for.")

    @cached_property
    def _is_hidden(self) -> bool:
        """Whether noise hides the curvature in some direction, so that `_inverse` treats it as unknown."""
        return bool(np.linalg.eigvalsh(self.curvature)[0] < KNOWN_CURVATURE * self.sigma_curvature)

    def _left_to_go(self, inverse: float) -> float:
        """Return the possible remaining error of an effect after the last step; `inverse` is a.v."""
        if not self.remainder:
            return 0.0
        gone = float(self.step @ np.linalg.solve(self._inverse, self.step))
        return self.remainder * gone * math.sqrt(max(inverse, 0.0) / max(self.mass, 1.0))

    # -- other units, and files ------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return all released numbers for a model file.

        Returns
        -------
        document : dict
            What `from_dict` takes.
        """
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else _listed(value)
            for name, value in found.items()
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Inference:
        """Read an inference that `to_dict` wrote.

        Parameters
        ----------
        document : dict
            Of a model file.

        Returns
        -------
        inference : Inference
            An equal inference.
        """
        arrays = ("estimate", "directions", "curvature", "spread", "step")
        numbers = ("sigma_curvature", "sigma_spread", "sigma_gradient", "mass", "remainder")
        chosen, corrected = document.get("chosen"), document.get("corrected")
        known: dict[str, Any] = {name: np.array(document[name], dtype=np.float64) for name in arrays}
        known |= {name: float(document[name]) for name in numbers}
        return cls(
            names=tuple(document["names"]),
            is_reference=np.array(document["is_reference"], dtype=bool),
            chosen=None if chosen is None else tuple(chosen),
            corrected=None if corrected is None else np.array(corrected, dtype=np.float64),
            **known,
        )


def inverted(curvature: Vector, sigma: float) -> Vector:
    """Return the inverse of a noisy matrix in which an unknown eigenvalue counts as `sigma`, its noise.

    Effects that depend on such a direction are refused, because the inverse is then as uncertain as it is
    large. Without this, a direction in which the loss is flat would count as curved whenever its noise
    happens to be positive, and intervals along it would be too narrow.
    """
    values, vectors = np.linalg.eigh(curvature)
    unknown = values < KNOWN_CURVATURE * sigma
    least = max(sigma, np.finfo(float).tiny)
    inverse: Vector = (vectors / np.where(unknown, least, np.maximum(values, least))) @ vectors.T
    return inverse


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
