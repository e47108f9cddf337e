"""What exactly was promised, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class PrivacyStatement:
    """The guarantee of one fit.

    Attributes
    ----------
    epsilon, delta : float
        The fit is (epsilon, delta)-differentially private: what it spent, not only what it was allowed.
    rho : float
        What it spent in zero-concentrated differential privacy, the stronger statement.
    relation : str
        Which pairs of tables the promise is about.
    assumptions : tuple of str
        What the promise rests on, and what it does not cover.
    spending : dict
        What was bought, and for how much rho.
    notes : tuple of str
        What the solver decided from what it had bought.
    approximate : bool
        Whether the model was one release that is (epsilon, delta)-DP by a proof of its own. It is then
        rho-zCDP only except with probability delta, which is how a shared account counts it.
    subject : str
        What was released.
    """

    epsilon: float
    delta: float
    rho: float
    relation: str
    assumptions: tuple[str, ...]
    spending: dict[str, float]
    notes: tuple[str, ...] = ()
    approximate: bool = False
    subject: str = "model"

    @property
    def text(self) -> str:
        """The promise in plain words."""
        if math.isinf(self.epsilon):
            return (
                "This model promises no privacy: it was computed from the exact data without noise. "
                "Do not publish it if the data are sensitive."
            )
        return (
            f"This {self.subject} is ({_round_up(self.epsilon)}, {self.delta:g})-differentially private "
            f"({self._concentrated()}) with respect to adding or removing one record. In plain words: "
            "whether or not any one person's record was in the table, every conclusion anyone can draw from "
            f"the published {self.subject} is almost equally likely; the odds change by a factor of at most "
            f"e^epsilon = {_round_up(math.exp(min(self.epsilon, 700.0)))}, except with probability "
            f"{self.delta:g}. This holds whatever else the reader knows, and cannot be undone by later "
            f"processing. It is not a promise about what is true of people in general: the {self.subject} "
            "may well reveal that. It rests on: " + "; ".join(self.assumptions) + ". " + self._bought()
        )

    def _concentrated(self) -> str:
        if self.approximate:
            price = f"{_round_up(self.epsilon**2 / 2.0)}-zCDP"
            return f"in a shared account: {f'{self.delta:g}-approximately ' if self.delta else ''}{price}"
        return f"{_round_up(self.rho)}-zCDP"

    def _bought(self) -> str:
        total = sum(self.spending.values())
        if not total:
            return "Nothing was bought."
        shares = ", ".join(f"{what} {rho / total:.1%}" for what, rho in self.spending.items())
        return "; ".join((f"The budget bought: {shares}", *self.notes)) + "."

    def __str__(self) -> str:
        return self.text


def _round_up(x: float) -> str:
    """Write x with four significant digits, never smaller than it is."""
    digits = 3 - math.floor(math.log10(x)) if x > 0.0 else 0
    return f"{math.ceil(x * 10.0**digits) / 10.0**digits:.4g}"
