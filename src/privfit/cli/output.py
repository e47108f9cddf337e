"""What commands print: text for people, or one JSON document for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer


def show(facts: dict[str, Any], text: str, *, as_json: bool) -> None:
    """Print the facts as JSON if that was asked for, and the text otherwise."""
    typer.echo(json.dumps(_plain(facts), indent=1, ensure_ascii=False) if as_json else text)


def _plain(value: Any) -> Any:
    """Return what JSON can hold: numbers that do not exist are null."""
    if isinstance(value, dict):
        return {key: _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text in columns, the first of which is to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    )


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show on the error stream how far something is; yields what to call with (done, total)."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, markup=False, highlight=False)
    parts = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*parts, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
