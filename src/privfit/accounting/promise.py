"""Promises: one type for each theorem that turns a privacy budget into an epsilon.

A promise is fixed before the data are read, and statements quote it. How much of it was spent is bookkeeping:
that number depends on the run, and the theorems are only about a total that was fixed beforehand.
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
    """Return the kind of a promise, as users write it in ``promise=``."""
    return type(promise).__name__.lower()


def to_dict(promise: Promise) -> dict[str, Any]:
    """Write a promise as plain numbers and strings.

    A promise about records has no key `person_id`, because privfit 0.1 wrote none.
    """
    said = {"kind": name_of(promise)} | asdict(promise)
    return said if promise.person_id is not None else {k: v for k, v in said.items() if k != "person_id"}


def from_dict(written: dict[str, Any]) -> Promise:
    """Read a promise that `to_dict` wrote."""
    return _KINDS[written["kind"]](**{name: value for name, value in written.items() if name != "kind"})
