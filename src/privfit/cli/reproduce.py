"""`privfit reproduce`: parse, run, draw, say where it is."""

from __future__ import annotations

import os
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from privfit.cli.guard import Mistake


class What(StrEnum):
    """What can be reproduced."""

    TABLE1 = "table1"
    SPLITS = "splits"
    GAMMA = "gamma"
    C_GRAD = "c-grad"
    C_OBJ = "c-obj"
    LOGISTIC = "logistic"
    SVM = "svm"
    KDDCUP99 = "kddcup99"
    ALL = "all"


def reproduce(
    what: Annotated[What, typer.Argument(help="A table or figure of the paper, or all of them.")],
    quick: Annotated[bool, typer.Option("--quick", help="1 x 5-fold, the default.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The paper's 20 x 5-fold.")] = False,
    repeats: Annotated[int | None, typer.Option(min=1, help="Any number of repetitions x 5-fold.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, one core each.")] = os.cpu_count() or 1,
    out: Annotated[Path, typer.Option(file_okay=False, help="Directory of the results.")] = Path("results"),
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of folds and noise; by default that of the published results.")
    ] = None,
) -> None:
    """Run the paper's experiments again.

    Writes CSV, figures (PNG, SVG) and a Markdown summary. What is finished is kept: the same command goes on
    where the last one was stopped, and more repetitions can be added later. A data set that cannot be had is
    left out; an experiment without any is an error.

    Example: privfit reproduce logistic --quick --jobs 2
    """
    if quick + full + (repeats is not None) > 1:
        raise typer.BadParameter("Give one of --quick, --full and --repeats.")
    if find_spec("matplotlib") is None:
        raise Mistake("Figures need matplotlib; install it with: pip install 'privfit[report]'")
    from concurrent.futures.process import BrokenProcessPool

    from rich.console import Console

    from privfit.experiments.cells import EXPERIMENTS, FULL_REPEATS, SEED
    from privfit.experiments.figures import draw
    from privfit.experiments.results import Results
    from privfit.experiments.run import run
    from privfit.experiments.summary import summarise
    from privfit.experiments.table1 import table1, write_table1

    seed = SEED if seed is None else seed
    out.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True, markup=False, highlight=False)
    names = [name for name in EXPERIMENTS if what in (name, What.ALL)]
    if what in (What.TABLE1, What.ALL):
        with console.status("Watching one run of DP-AGD for table 1", spinner="line"):
            write_table1(table1(seed), out)
    count = FULL_REPEATS if full else repeats or 1
    cells = [cell for name in names for cell in EXPERIMENTS[name].cells(count)]
    try:
        failed = run(cells, out, seed=seed, jobs=jobs, console=console)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"Finished cells are in {out}; run the same command again to go on.")
        raise
    except BrokenProcessPool:
        console.print(
            f"A worker process died, perhaps for lack of memory. Finished cells are in {out}; run the same "
            "command again to go on, with fewer --jobs."
        )
        raise typer.Exit(1) from None
    rows = {name: Results(out / f"{name}.csv", seed).finished() for name in names}
    for name in filter(rows.get, names):
        draw(EXPERIMENTS[name], rows[name], out)
    empty = [name for name in names if not rows[name]]
    if len(empty) < len(names) or what is What.TABLE1:
        summary = out / "summary.md"
        summary.write_text(summarise(out, seed), encoding="utf-8")
        console.print(f"Results: {summary}")
    if failed:
        console.print(f"{len(failed)} cells failed; run the same command again to try only those.")
        raise typer.Exit(1)
    if empty:
        raise Mistake(f"Nothing of {', '.join(empty)} could be run, because its data could not be had.")
