"""Show how much of the privacy budget is spent while a fit runs. Shows released facts only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from privfit.accounting import Ledger


@contextmanager
def budget_bar(title: str, verbose: int) -> Iterator[Callable[[Ledger], None]]:
    """Yield a callback for `Curator(on_answer=...)` that moves a bar, or does nothing if verbose is 0."""
    if not verbose:
        yield lambda ledger: None
        return
    from rich.console import Console  # imported late, because most fits show no bar
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}% of the privacy budget, {task.fields[questions]} questions"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=1.0, questions=0)
        yield lambda ledger: progress.update(
            task, completed=ledger.spent / ledger.rho, questions=len(ledger.entries)
        )
