"""What is raised when a question does not fit."""

from __future__ import annotations


class BudgetExceeded(RuntimeError):
    """A question was refused because its price does not fit into what is left.

    Attributes
    ----------
    asked, left, total : float
        The price, what was left and the whole budget, in `unit`.
    unit : {"rho", "epsilon", "delta"}
        "epsilon" for an account that was opened with one: what accounts of these sizes would promise at
        its delta. (Epsilons do not add up; they grow like the root of what does.) "delta" if that ran out.
    """

    def __init__(self, asked: float, left: float, total: float, what: str = "", unit: str = "rho") -> None:
        super().__init__(asked, left, total, what, unit)
        self.asked, self.left, self.total, self.what, self.unit = asked, left, total, what, unit

    def __str__(self) -> str:
        return (
            f"{self.what or 'this question'} needs {self.unit}={self.asked:.4g}, "
            f"{self.left:.4g} left of {self.total:.4g}; raise the budget or ask for less."
        )
