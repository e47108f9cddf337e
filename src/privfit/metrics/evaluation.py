"""The base class of sets of private scores: names, JSON, a small table, and the privacy statement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from privfit.estimators.evidence import evidence_of
from privfit.estimators.publishing import statement_to_dict
from privfit.estimators.statement import PrivacyStatement
from privfit.metrics.display import as_html, as_text
from privfit.metrics.scores import Score


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(ABC):
    """Private scores of a model on held-out records, all from one release.

    Attributes
    ----------
    privacy : PrivacyStatement
        The privacy statement, which was fixed before the records were read.
    """

    privacy: PrivacyStatement

    @abstractmethod
    def _available(self) -> Iterator[str]:
        """Yield the names of all scores, matrices and curves that were bought."""

    def __getattr__(self, name: str) -> Any:
        """Raise an error that names the available scores, if this kind of model does not have this score."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"{name} is not available; there are: {', '.join(self._available())}.")

    def scores(self) -> dict[str, Score]:
        """Return every score that was bought.

        Returns
        -------
        scores : dict
            Scores by name.
        """
        found = {name: getattr(self, name) for name in self._available()}
        return {name: score for name, score in found.items() if isinstance(score, Score)}

    def to_dict(self) -> dict[str, Any]:
        """Return all results in a form that JSON can hold.

        Returns
        -------
        evaluation : dict
            Every score, matrix and curve by name, the promise under "privacy", and the evidence for it under
            "evidence".
        """
        privacy = self.privacy
        return {name: getattr(self, name).to_dict() for name in self._available()} | {
            "privacy": {
                "rho": privacy.rho,
                "epsilon": privacy.epsilon,
                "delta": privacy.delta,
                **statement_to_dict(privacy),
            },
            "evidence": self.evidence(),
        }

    def evidence(self) -> dict[str, Any] | None:
        """Return the facts by which an outsider can judge the promise.

        Returns
        -------
        evidence : dict or None
            As of a model: unit, adjacency, the charge with its claim, what was public, noise and versions.
        """
        return evidence_of(self.privacy)

    def __str__(self) -> str:
        return as_text(self.scores(), self.privacy.in_short)

    __repr__ = __str__  # a console shows the scores, not the sums from which they are computed

    def _repr_html_(self) -> str:
        return as_html(self.scores(), self.privacy.in_short)
