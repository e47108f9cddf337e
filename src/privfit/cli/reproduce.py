"""`privfit reproduce`: parse, run, draw, say where it is."""

from __future__ import annotations

import os
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privfit.cli.guard import Mistake
from privfit.cli.options import Json
from privfit.cli.output import show

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from rich.console import Console

    from privfit.experiments.cells import Cell


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
    AUTHORS = "authors"
    WATERFALL = "waterfall"
    ABLATIONS = "ablations"
    TUNING = "tuning"
    ALL = "all"
    ADOPT = "adopt"
    SUMMARY = "summary"
    CLAIMS = "claims"


SMOKE = "smoke"


def reproduce(
    what: Annotated[
        What,
        typer.Argument(
            help="A table or figure of the paper, or all of them; adopt: check rows that another run wrote, "
            "and record them; summary: draw and describe what is there; claims: decide the paper's claims by "
            "what is there, and write the documents."
        ),
    ],
    dataset: Annotated[list[str] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    algorithm: Annotated[list[str] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="1 x 5-fold, the default.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The paper's 20 x 5-fold.")] = False,
    repeats: Annotated[int | None, typer.Option(min=1, help="Any number of repetitions x 5-fold.")] = None,
    smoke: Annotated[
        bool,
        typer.Option(
            "--smoke", help="Everything once, on a few records, in about a minute; into OUT/smoke, anew."
        ),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Run those rows again that another version made.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, one core each.")] = os.cpu_count() or 1,
    out: Annotated[Path, typer.Option(file_okay=False, help="Directory of the results.")] = Path("results"),
    source: Annotated[
        Path | None, typer.Option(file_okay=False, help="Directory whose rows adopt takes over.")
    ] = None,
    docs: Annotated[Path, typer.Option(file_okay=False, help="Directory of the documents.")] = Path("docs"),
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of folds and noise; by default that of the published results.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the paper's experiments again.

    Writes CSV, figures (PNG, SVG), a Markdown summary, a record of what was run where by which version, and a
    lock file of the environment. What is finished is kept: the same command goes on where the last one was
    stopped, and more repetitions can be added later.

    Example: privfit reproduce logistic --dataset adult --algorithm dpagd --epsilon 0.1 --jobs 2
    """
    if quick + full + smoke + (repeats is not None) > 1:
        raise typer.BadParameter("Give one of --quick, --full, --repeats and --smoke.")
    if find_spec("matplotlib") is None:
        raise Mistake("Figures need matplotlib; install it with: pip install 'privfit[report]'")
    from rich.console import Console

    from privfit.experiments.cells import FULL_REPEATS, OPTIONAL, SEED

    seed = SEED if seed is None else seed
    console = Console(stderr=True, markup=False, highlight=False)
    if what in (What.ADOPT, What.SUMMARY, What.CLAIMS):
        chosen = {
            "dataset": dataset, "algorithm": algorithm, "epsilon": epsilon, "quick": quick, "full": full,
            "repeats": repeats, "smoke": smoke, "replace": replace,
        }  # fmt: skip
        _refuse(what, [name for name, value in chosen.items() if value])
        facts = _without_running(what, out, source, docs, seed, console)
        return show(facts, "", as_json=True) if as_json else None
    names = _names(what)
    cells = _cells(
        names, dataset or (), algorithm or (), epsilon or (), FULL_REPEATS if full else repeats or 1
    )
    if smoke:
        cells, out = _once(cells, epsilon or ()), out / SMOKE
        _clear(out)
    out.mkdir(parents=True, exist_ok=True)
    if what is What.TABLE1 or (what is What.ALL and not (dataset or algorithm or epsilon)):
        from privfit.experiments.provenance import record, this_run
        from privfit.experiments.table1 import table1, write_table1

        with console.status("Watching one run of DP-AGD for table 1", spinner="line"):
            record(out, this_run([(What.TABLE1.value, "dpagd")], seed))
            write_table1(table1(seed), out)
    if replace:
        _drop_outdated(cells, out, seed, console)
    failed = _run(cells, out, seed, jobs, console, smoke, () if dataset else OPTIONAL)
    facts = _describe(out, seed, console)
    if as_json:
        show(facts | {"failed_cells": failed}, "", as_json=True)
    if failed:
        console.print(f"{failed} cells failed; run the same command again to try only those.")
        raise typer.Exit(1)
    return None


def _refuse(what: What, options: Sequence[str]) -> None:
    """Refuse options that choose what to run, where nothing is run."""
    for option in options:
        raise Mistake(f"`privfit reproduce {what}` takes all that is there; leave out --{option}.")


def _without_running(
    what: What, out: Path, source: Path | None, docs: Path, seed: int, console: Console
) -> dict[str, Any]:
    """Check, describe or judge what is there."""
    needed = {"results": [out, *([source] if source else [])], "documents": [docs] * (what is What.CLAIMS)}
    for content, directories in needed.items():
        for directory in directories:
            if not directory.is_dir():
                raise Mistake(f"There are no {content} in {directory}: it is not a directory.")
    if what is What.CLAIMS:
        from privfit.experiments.claims import Evidence
        from privfit.experiments.claims.page import write_documents
        from privfit.experiments.provenance import present

        if not present(out, seed):
            raise Mistake(f"There are no results of seed {seed} in {out}; run `privfit reproduce all` first.")
        changed = write_documents(docs, Evidence(out, seed))
        console.print(f"Written: {', '.join(map(str, changed))}" if changed else "Nothing has changed.")
        return {"written": list(map(str, changed))}
    if what is What.ADOPT:
        from privfit.experiments.adoption import adopt

        adopt(out, seed=seed, console=console, source=source)
    return _describe(out, seed, console)


def _names(what: What) -> list[str]:
    from privfit.experiments.cells import EXPERIMENTS, GROUPS

    wanted = GROUPS.get(what, (what,))
    return [name for name in EXPERIMENTS if what is What.ALL or name in wanted]


def _cells(
    names: Sequence[str],
    datasets: Collection[str],
    algorithms: Collection[str],
    epsilons: Collection[float],
    repeats: int,
) -> list[Cell]:
    """List what is to be run; a filter that nothing can pass is a mistake."""
    from privfit.experiments.cells import EXPERIMENTS, select

    every = [cell for name in names for cell in EXPERIMENTS[name].cells(repeats)]
    for option, given, known in (
        ("dataset", datasets, {cell.dataset for cell in every}),
        ("algorithm", algorithms, {cell.algorithm for cell in every}),
        ("epsilon", epsilons, {cell.epsilon for cell in every} - {float("inf")}),
    ):
        for value in given:
            if value not in known:
                there_are = ", ".join(map(str, sorted(known))) or "none"
                raise Mistake(f"--{option} {value} is not part of this; there are: {there_are}.")
    chosen = select(every, datasets=datasets, algorithms=algorithms, epsilons=epsilons)
    if every and not chosen:
        raise Mistake("No experiment has all that --dataset, --algorithm and --epsilon ask for.")
    return chosen


def _once(cells: Sequence[Cell], epsilons: Collection[float]) -> list[Cell]:
    """Keep one fit of each algorithm for each task: first fold, first value, one epsilon unless named."""
    from privfit.experiments.cells import SMOKE_EPSILON, select

    first: dict[Cell, Cell] = {}
    for cell in select(cells, epsilons=epsilons or (SMOKE_EPSILON,)):
        first.setdefault(cell._replace(value=None, repetition=0, fold=0), cell)
    return list(first.values())


def _clear(out: Path) -> None:
    """Remove what an earlier smoke test left, because its rows may be another version's."""
    for path in (*out.glob("*.csv"), *out.glob("*.json")):
        path.unlink()


def _drop_outdated(cells: Sequence[Cell], out: Path, seed: int, console: Console) -> None:
    from privfit.experiments.provenance import drop, unfit

    asked = {(cell.experiment, cell.algorithm) for cell in cells}
    outdated = {kind: why for kind, why in unfit(out, seed).items() if kind in asked}
    for (experiment, algorithm), why in outdated.items():
        console.print(f"Dropped: rows of {algorithm} in {experiment}.csv, which {why}.")
    drop(out, seed, outdated)


def _run(
    cells: Sequence[Cell],
    out: Path,
    seed: int,
    jobs: int,
    console: Console,
    smoke: bool,
    optional: Collection[str],
) -> int:
    """Run the cells and return how many of them failed."""
    from concurrent.futures.process import BrokenProcessPool

    from privfit.experiments.cells import SMOKE_RECORDS
    from privfit.experiments.run import run

    records = SMOKE_RECORDS if smoke else None
    try:
        return len(run(cells, out, seed=seed, jobs=jobs, console=console, records=records, optional=optional))
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"Finished cells are in {out}; run the same command again to go on.")
        raise
    except BrokenProcessPool:
        console.print(
            f"A worker process died, perhaps for lack of memory. Finished cells are in {out}; run the same "
            "command again to go on, with fewer --jobs."
        )
        raise typer.Exit(1) from None


def _describe(out: Path, seed: int, console: Console) -> dict[str, Any]:
    """Draw every figure and write the summary of all that the directory holds; return where they are."""
    from privfit.experiments.cells import EXPERIMENTS
    from privfit.experiments.figures import draw
    from privfit.experiments.results import Results
    from privfit.experiments.summary import summarise

    for experiment in EXPERIMENTS.values():
        rows = Results(out / f"{experiment.name}.csv", seed).finished()
        if rows:
            draw(experiment, rows, out, seed)
    summary = out / "summary.md"
    summary.write_text(summarise(out, seed), encoding="utf-8")
    console.print(f"Results: {summary}")
    return {"summary": str(summary), "figures": sorted(map(str, out.glob("*.png")))}
