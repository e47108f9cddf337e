"""Output of commands: text for people, JSON for programs, and progress on standard error."""

from __future__ import annotations

import json
import math
import shutil
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from privfit.cli.renamed import with_earlier_keys
from privfit.printable import ACTING, padded, printable, terminal_width

WIDEST = 100  # columns; longer lines are hard to read


def show(facts: dict[str, Any], text: str, *, as_json: bool) -> None:
    """Print the facts as JSON if that was asked for, and the text otherwise."""
    lines = document(with_earlier_keys(facts)) if as_json else "\n".join(map(printable, text.split("\n")))
    typer.echo(lines)


def document(facts: dict[str, Any]) -> str:
    """Return facts as a JSON document, in which NaN and infinities are null.

    JSON escapes characters below U+0020 by itself. Other characters that control a terminal are escaped, too.
    """
    text = json.dumps(_plain(facts), indent=1, ensure_ascii=False, allow_nan=False)
    return "\n".join(ACTING.sub(lambda found: json.dumps(found[0])[1:-1], line) for line in text.split("\n"))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def wrapped(text: object) -> str:
    """Break a paragraph to fit the terminal."""
    width = min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)
    return textwrap.fill(str(text), max(20, width), break_long_words=False, break_on_hyphens=False)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text in columns; the first row is a heading, and numbers are aligned to the right."""
    rows = [[printable(cell) for cell in row] for row in rows]
    by_column = [
        (max(map(terminal_width, cells)), all(map(_is_number, cells[1:])))
        for cells in zip(*rows, strict=True)
    ]
    return "\n".join(
        "  ".join(
            padded(cell, width, right=are_numbers)
            for cell, (width, are_numbers) in zip(row, by_column, strict=True)
        ).rstrip()
        for row in rows
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", ""))
    except ValueError:
        return cell == "-"
    return True


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show on standard error, if it is a terminal, what the command is waiting for."""
    from rich.progress import SpinnerColumn

    with _task(what, SpinnerColumn("line")):
        yield


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress on standard error; yields a function to call with (done, total)."""
    from rich.progress import BarColumn, TimeElapsedColumn

    with _task(what, BarColumn(), TimeElapsedColumn()) as (bar, task):
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def reading(what: str, size: int) -> Iterator[Callable[[int], None]]:
    """Show on standard error how many bytes were read; yields a function to call with each further number.

    A size of 0 means that it is not known.
    """
    from rich.progress import BarColumn, DownloadColumn

    with _task(what, BarColumn(), DownloadColumn(), total=size or None) as (bar, task):
        yield lambda more: bar.advance(task, more)


@contextmanager
def _task(what: str, *parts: Any, total: int | None = None) -> Iterator[tuple[Any, Any]]:
    """Show a line on standard error, if it is a terminal, and remove it at the end."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    console = Console(stderr=True, markup=False, highlight=False)
    text = TextColumn("{task.description}", markup=False)  # names of files may hold brackets
    # standard output is not redirected, because libraries that are imported meanwhile may use it
    hidden = not console.is_terminal
    with Progress(
        text, *parts, console=console, transient=True, redirect_stdout=False, disable=hidden
    ) as bar:
        yield bar, bar.add_task(printable(what), total=total)
