"""One effect of a model in words: the change, its estimate and its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from privfit.models.inference import Effect
from privfit.models.links import LOG
from privfit.models.published import Published
from privfit.models.separators import with_separators
from privfit.printable import printable
from privfit.schema import Schema
from privfit.schema.quantities import Quantity

TOO_LITTLE = "too little budget to say"


@dataclass(frozen=True)
class Reading:
    """How to read the effects of a model, which follows from its link.

    Attributes
    ----------
    changed : str
        The quantity that an effect changes, such as "the log odds of ill".
    ratio : str
        The name of e to the power of an effect, such as "odds ratio"; "" if it has no meaning.
    """

    changed: str
    ratio: str = ""

    @classmethod
    def of(cls, model: Published, schema: Schema | None, positive: object) -> Reading:
        """Return how to read the effects of a model.

        Parameters
        ----------
        model : Published
            The model.
        schema : Schema, optional
            Its schema.
        positive : object
            The class whose odds positive effects increase; None if numbers are predicted.

        Returns
        -------
        reading : Reading
            By the model's link.
        """
        predicted = "the prediction" if schema is None else f"the predicted {printable(schema.label.name)}"
        if model.link.has_odds:
            event = printable(str(positive))
            if schema is not None:
                event = f"{printable(schema.label.name)} = {event}"
            return cls(f"the log odds of {event}", "odds ratio")
        if model.link.predicts_classes:
            return cls(f"the score for {printable(str(positive))}")
        if model.link is LOG:
            return cls(f"the logarithm of {predicted}", "rate ratio")
        unit = schema.label.unit if schema is not None and isinstance(schema.label, Quantity) else ""
        return cls(f"{predicted}, in {printable(unit)}" if unit else predicted)


@dataclass(frozen=True)
class Contrast:
    """How much a change of one or several columns changes a score, with its interval.

    Attributes
    ----------
    words : str
        The change, in the words of the table.
    effect : Effect
        The estimate and its standard error, or the reason why it is refused.
    reading : Reading
        The quantity that the estimate is a change of.
    level : float
        The confidence level of the printed interval.
    """

    words: str
    effect: Effect
    reading: Reading
    level: float = 0.95

    @property
    def estimate(self) -> float:
        """The change of the score."""
        return self.effect.estimate

    @property
    def std_err(self) -> float:
        """The standard error of the estimate; NaN if the effect is refused."""
        return self.effect.std_err

    @property
    def sampling(self) -> float:
        """The part of the standard error from sampling; its square and that of `privacy` add up."""
        return self.effect.sampling

    @property
    def privacy(self) -> float:
        """The part of the standard error from the noise of the fit."""
        return self.effect.privacy

    @property
    def z(self) -> float:
        """The estimate in standard errors."""
        return self.effect.z

    @property
    def pvalue(self) -> float:
        """The probability of an estimate at least as far from 0 if the effect were 0."""
        return self.effect.pvalue

    @property
    def refused(self) -> str | None:
        """The reason why the budget is too small for a standard error; None if there is one."""
        return self.effect.refused

    @property
    def ratio(self) -> float | None:
        """The odds ratio or rate ratio, e to the power of the estimate; None if there is none."""
        return exp(self.estimate) if self.reading.ratio else None

    @property
    def is_sure(self) -> bool:
        """Whether the interval excludes an effect of zero."""
        low, high = self.interval()
        return low > 0.0 or high < 0.0

    def interval(self, level: float | None = None) -> tuple[float, float]:
        """Return the ends of a confidence interval of the change of the score.

        Parameters
        ----------
        level : float, optional
            The confidence level; by default that of the contrast.

        Returns
        -------
        low, high : float
            NaN if the effect is refused.
        """
        return self.effect.interval(self.level if level is None else level)

    def ratio_interval(self, level: float | None = None) -> tuple[float, float] | None:
        """Return the ends of a confidence interval of the odds ratio or rate ratio.

        Parameters
        ----------
        level : float, optional
            The confidence level; by default that of the contrast.

        Returns
        -------
        ends : pair of float or None
            NaN if the effect is refused; None if the model has no such ratio.
        """
        low, high = self.interval(level)
        return (exp(low), exp(high)) if self.reading.ratio else None

    def facts(self) -> list[tuple[str, str]]:
        """Return the printed facts, as names and texts.

        Returns
        -------
        facts : list of pairs of str
            The ratio first, if there is one.
        """
        if self.refused is not None:
            return [("Result", TOO_LITTLE), ("Reason", printable(self.refused))]
        percent = f"{100.0 * self.level:g}% interval"
        low, high = self.interval()
        facts, error = [], self.std_err
        if self.reading.ratio:
            ratios = [exp(x) for x in (self.estimate, low, high)]
            ratio, least, most = ratio_texts(ratios, self.std_err)
            facts.append((self.reading.ratio.capitalize(), f"{ratio} ({percent}: {least} to {most})"))
        facts += [
            (
                f"Change of {self.reading.changed}",
                f"{number_text(self.estimate, error)} ({percent}: {number_text(low, error)} to "
                f"{number_text(high, error)})",
            ),
            (
                "Standard error",
                f"{size_text(error, error)}, of which privacy {size_text(self.privacy, error)}",
            ),
            ("z, p", f"{self.z:.2f}, {pvalue_text(self.pvalue)}"),
        ]
        return facts

    def __repr__(self) -> str:
        facts = self.facts()
        width = max(len(name) for name, _ in facts)
        return "\n".join([self.words, *(f"  {name.ljust(width)}  {text}" for name, text in facts)])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self.facts()
        )
        return f"<table><caption>{escape(self.words)}</caption><tbody>{rows}</tbody></table>"


class Contrasts(tuple[Contrast, ...]):
    """The effects of one change on the odds of several classes against one class; they print together.

    Each is a `Contrast`, in the order of the classes. `reading.changed` says which two classes it compares.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return "".join(contrast._repr_html_() for contrast in self)


def exp(x: float) -> float:
    """Return e to the power of a number, infinity where that is too large, NaN for NaN."""
    return math.exp(x) if not x >= 700.0 else math.inf


def _decimals(std_err: float) -> int | None:
    """Return how many decimals show two digits of a standard error; None if too many would be needed."""
    if not 1e-7 <= std_err < 1e15:
        return None
    return max(1 - math.floor(math.log10(std_err)), 0)


def size_text(number: float, std_err: float) -> str:
    """Write a number with as many decimals as show two digits of its standard error.

    Parameters
    ----------
    number : float
        The number.
    std_err : float
        The standard error.

    Returns
    -------
    text : str
        Without a plus sign.
    """
    decimals = _decimals(std_err)
    if decimals is None or abs(number) >= 1e15:
        return f"{number:.3g}"
    return with_separators(f"{number:.{decimals}f}")


def number_text(number: float, std_err: float) -> str:
    """Write a number with its sign, and with as many decimals as show two digits of its standard error.

    Parameters
    ----------
    number : float
        The number.
    std_err : float
        The standard error.

    Returns
    -------
    text : str
        With a plus or a minus sign.
    """
    text = size_text(number, std_err)
    return text if text.startswith("-") else f"+{text}"


def ratio_texts(ratios: Sequence[float], std_err: float) -> tuple[str, ...]:
    """Write a ratio and the ends of its interval with as many decimals as the standard error calls for.

    Parameters
    ----------
    ratios : sequence of float
        The ratio first.
    std_err : float
        The standard error of its logarithm.

    Returns
    -------
    texts : tuple of str
        With two decimals at least and six at most; very large and very small ones with an exponent.
    """
    decimals = _decimals(ratios[0] * std_err)
    decimals = 6 if decimals is None else min(max(decimals, 2), 6)
    return tuple(f"{x:.{decimals}f}" if 1e-3 <= x < 1e4 else f"{x:.3g}" for x in ratios)


def pvalue_text(pvalue: float) -> str:
    """Write a p-value with three decimals.

    Parameters
    ----------
    pvalue : float
        Between 0 and 1.

    Returns
    -------
    text : str
        "<0.001" for smaller ones.
    """
    return "<0.001" if pvalue < 0.001 else f"{pvalue:.3f}"
