"""The error that a ledger raises when a charge does not fit."""

from __future__ import annotations

from privfit.accounting.amounts import four_digits_down


class BudgetExceeded(RuntimeError):
    """A question was refused because its price does not fit into what is left.

    Attributes
    ----------
    asked, left, total : float
        The price, what was left and the total, in `unit`.
    what : str
        What was asked for.
    unit : {"rho", "epsilon", "delta"}
        "epsilon" for a ledger that was opened with an epsilon. Each amount is then the epsilon of a ledger of
        that size, at the delta of this one. Rhos add up; epsilons do not, because they grow like the square
        root of rho. "delta" if too little delta was left.
    equals : tuple of float or None
        The same three amounts in rho if `unit` is "epsilon", and in epsilon if it is "rho".
    at : float or None
        The delta at which these epsilons hold.
    """

    def __init__(
        self,
        asked: float,
        left: float,
        total: float,
        what: str = "",
        unit: str = "rho",
        equals: tuple[float, float, float] | None = None,
        at: float | None = None,
    ) -> None:
        super().__init__(asked, left, total, what, unit, equals, at)
        self.asked, self.left, self.total, self.what, self.unit = asked, left, total, what, unit
        self.equals, self.at = equals, at

    def __str__(self) -> str:
        amounts: list[tuple[float, ...]] = [(self.asked,), (self.left,), (self.total,)]
        if self.equals is not None:
            amounts = list(zip((self.asked, self.left, self.total), self.equals, strict=True))
        amounts[1] = tuple(four_digits_down(amount) for amount in amounts[1])
        asked, left, total = (self._in_words(*amount) for amount in amounts)
        at = "" if self.at is None else f" at delta = {self.at:g}"
        advice = "ask for no more than that" if self.left > 0.0 else "nothing more can be asked for"
        what = self.what or "this question"
        return f"{what} needs {asked}{at}, and {left} is left of {total}; {advice}."

    def _in_words(self, amount: float, equal: float | None = None) -> str:
        other = "rho" if self.unit == "epsilon" else "epsilon"
        return f"{self.unit} = {amount:.4g}" + ("" if equal is None else f" ({other} = {equal:.4g})")
