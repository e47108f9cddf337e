"""What a question is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from privfit.engine.bounded import Bounded, Scores


class Question(Protocol):
    """Public parameters of a sum over records that has not been looked at."""

    @property
    def what(self) -> str:
        """What is asked, in the words of the ledger."""
        ...

    def bounded(self, of: Any) -> Bounded | Scores:
        """Return the sum with its bound, without looking yet. Refuses bad parameters."""
        ...


def asked(question: Question, of: Any) -> Any:
    """Return what a question asks of a problem, point or line, not looked at yet.

    Records may be in parts; what each of them is asked adds up (`privfit.engine.parts`).
    """
    if not is_ours(question):
        raise TypeError("Only questions of privfit.questions are answered: their bounds are proved.")
    return of.bounded(question) if getattr(of, "in_parts", False) else question.bounded(of)


def is_ours(question: Question) -> bool:
    """Tell whether a question is one of this package, whose bounds are proved."""
    return type(question).__module__.startswith(f"{__package__}.")
