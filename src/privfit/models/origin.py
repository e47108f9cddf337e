"""The origin of a release: data set, ledger, day, and number of records, as far as they are public."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Origin:
    """Facts about a release that were declared or are in its ledger; None for unknown facts.

    Attributes
    ----------
    dataset : str or None
        The name under which a ledger in a file or on a server keeps the data set.
    ledger : str or None
        The random identifier of the shared ledger that paid. Releases with the same identifier were paid from
        the same ledger.
    day : str or None
        The day of the first charge, in UTC, as YYYY-MM-DD. It does not depend on how long the fit takes.
    records : int or None
        The number of records, if it was declared as public.
    """

    dataset: str | None = None
    ledger: str | None = None
    day: str | None = None
    records: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the known facts by name."""
        return {name: fact for name, fact in asdict(self).items() if fact is not None}


UNKNOWN = Origin()
