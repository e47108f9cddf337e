"""What a ledger promises, as a type: which theorem turns what may be spent into an epsilon.

A promise is fixed before the first look, and is what a statement quotes. What happened to be spent of it is
bookkeeping: it depends on the run, and no theorem speaks of a total that was not fixed beforehand.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from privfit.accounting.promises.concentrated import Concentrated
from privfit.accounting.promises.direct import Direct
from privfit.accounting.promises.gaussian import Gaussian

__all__ = ["Concentrated", "Direct", "Gaussian", "Promise", "from_dict", "name_of", "to_dict"]

Promise = Concentrated | Gaussian | Direct

_KINDS: dict[str, type[Promise]] = {kind.__name__.lower(): kind for kind in (Concentrated, Gaussian, Direct)}


def name_of(promise: Promise) -> str:
    """Return the kind of a promise as ``promise=`` names it."""
    return type(promise).__name__.lower()


def to_dict(promise: Promise) -> dict[str, Any]:
    """Write a promise as plain numbers and strings, one about records as earlier versions wrote it."""
    said = {"kind": name_of(promise)} | asdict(promise)
    return said if promise.person_id is not None else {k: v for k, v in said.items() if k != "person_id"}


def from_dict(written: dict[str, Any]) -> Promise:
    """Read a promise that `to_dict` wrote."""
    return _KINDS[written["kind"]](**{name: value for name, value in written.items() if name != "kind"})
