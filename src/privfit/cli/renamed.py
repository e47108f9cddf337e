"""Names of privfit 0.1 that still work. They will be removed in 0.3."""

from __future__ import annotations

from typing import Any

import typer

_RENAMED = {"budget": "ledger", "data-set": "dataset"}
_RENAMED_KEYS = {"data_set": "dataset", "account": "ledger"}


def current_name(token: str) -> str:
    """Return the current name of a command or an option, and warn if the earlier name was used."""
    current = _RENAMED.get(token, token)
    if current != token:
        warning = f"Warning: {token!r} is called {current!r} now; privfit 0.3 will not know {token!r}."
        typer.echo(warning, err=True)
    return current


def with_earlier_keys(facts: dict[str, Any]) -> dict[str, Any]:
    """Add the keys that a JSON document had in privfit 0.1."""
    return facts | {old: facts[new] for old, new in _RENAMED_KEYS.items() if new in facts}
