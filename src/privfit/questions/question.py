"""The protocol of questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from privfit.engine.bounded import Bounded, Scores


class Question(Protocol):
    """The public parameters of a sum over records."""

    @property
    def what(self) -> str:
        """The name of the question in the ledger."""
        ...

    def bounded(self, of: Any) -> Bounded | Scores:
        """Return the sum with its sensitivity, without reading the data; refuse invalid parameters."""
        ...


def asked(question: Question, of: Any) -> Any:
    """Return the sum that a question asks for at a problem, point or line, without reading the data.

    The records may be in parts, whose sums add up (`privfit.engine.parts`).
    """
    if not is_ours(question):
        raise TypeError("Only questions of privfit.questions are answered: their bounds are proved.")
    return of.bounded(question) if getattr(of, "in_parts", False) else question.bounded(of)


def is_ours(question: Question) -> bool:
    """Return whether a question is one of this package, whose bounds are proved."""
    return type(question).__module__.startswith(f"{__package__}.")
