"""The result of one check of a promise."""

from __future__ import annotations

from dataclasses import dataclass

from privfit.printable import printable


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes
    ----------
    about : str
        The subject of the check, in a word.
    holds : bool or None
        Whether the check succeeded; None if it was not possible.
    sentence : str
        The result in a sentence; what it quotes of a file cannot act on a terminal.
    """

    about: str
    holds: bool | None
    sentence: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "sentence", printable(self.sentence))

    def __str__(self) -> str:
        return f"{ {True: 'holds', False: 'FAILS', None: 'not checked'}[self.holds] }: {self.sentence}"
