"""Names of the version before this one, which still work: to be deleted after one release."""

from __future__ import annotations

from typing import Any

import typer

_RENAMED = {"budget": "ledger", "data-set": "dataset"}
_RENAMED_KEYS = {"data_set": "dataset", "account": "ledger"}


def current_name(token: str) -> str:
    """Return the name of a command or an option, and warn if it was given by its earlier one."""
    current = _RENAMED.get(token, token)
    if current != token:
        warning = f"Warning: {token!r} is called {current!r} now; the next release will not know {token!r}."
        typer.echo(warning, err=True)
    return current


def with_earlier_keys(facts: dict[str, Any]) -> dict[str, Any]:
    """Add what a JSON document had under another name in the version before this one."""
    return facts | {old: facts[new] for old, new in _RENAMED_KEYS.items() if new in facts}
