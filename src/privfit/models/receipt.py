"""The receipt of a release: the charges of its own ledger, the seal of the shared ledger, and the noise."""

from __future__ import annotations

from dataclasses import dataclass, field

from privfit.accounting import Entry


@dataclass(frozen=True)
class Receipt:
    """The bookkeeping of one release. It is public, because prices and bounds depend on released values only.

    Attributes
    ----------
    entries : tuple of Entry
        Every charge that was made for it, in order.
    secure_noise : bool
        Whether the noise comes from the system's entropy, so that nobody can remove it.
    seal : str or None
        The seal of the row by which a ledger in a file or on a server paid for it.
    versions : dict
        Versions of privfit and of the libraries it used.
    """

    entries: tuple[Entry, ...]
    secure_noise: bool
    seal: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
