"""`privfit reproduce`: run the paper's experiments again, draw the figures and write the summary."""

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

    from privfit.experiments.designs import Cell


class What(StrEnum):
    """What can be reproduced."""

    TABLE1 = "table1"
    TABLE2 = "table2"
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
    REGULARISED = "regularised"
    ALL = "all"
    ADOPT = "adopt"
    SUMMARY = "summary"
    CLAIMS = "claims"


SMOKE = "smoke"


def reproduce(
    what: Annotated[
        What,
        typer.Argument(
            help="A table or figure of the paper, or all of them. adopt: copy rows that this version made "
            "from another directory, --source. summary: draw and describe the existing results. claims: "
            "decide the paper's claims by the existing results, and write the documents."
        ),
    ],
    dataset: Annotated[list[str] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    algorithm: Annotated[list[str] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="1 x 5-fold, the default.")] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="20 x 5-fold for the paper's figures and algorithms; 5 x 5 for KDDCup99 and additions.",
        ),
    ] = False,
    repeats: Annotated[int | None, typer.Option(min=1, help="Any number of repetitions x 5-fold.")] = None,
    smoke: Annotated[
        bool,
        typer.Option(
            "--smoke",
            help="Run everything once, on a few records of the data sets that are there, in about a minute; "
            "replaces OUT/smoke.",
        ),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Run rows again that another version made.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, one core each.")] = os.cpu_count() or 1,
    out: Annotated[Path, typer.Option(file_okay=False, help="Directory of the results.")] = Path("results"),
    source: Annotated[
        Path | None, typer.Option(file_okay=False, help="Directory from which adopt copies rows.")
    ] = None,
    docs: Annotated[Path, typer.Option(file_okay=False, help="Directory of the documents.")] = Path("docs"),
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of folds and noise; by default that of the published results."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the paper's experiments again.

    The command writes CSV files, figures (PNG, SVG), a Markdown summary, a record of which version ran what
    on which machine, and a lock file of the environment. It keeps finished runs: the same command continues
    where the last one was stopped, and more repetitions can be added later.

    Example: privfit reproduce logistic --dataset adult --algorithm dpagd --epsilon 0.1 --jobs 2
    """
    if quick + full + smoke + (repeats is not None) > 1:
        raise typer.BadParameter("Give one of --quick, --full, --repeats and --smoke.")
    if find_spec("matplotlib") is None:
        raise Mistake("Figures need matplotlib; install it with: pip install 'privfit[report]'")
    from rich.console import Console

    from privfit.experiments.designs import BUNDLED, DATASETS, OPTIONAL, SEED

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
    cells = _cells(names, dataset or (), algorithm or (), epsilon or (), None if full else repeats or 1)
    everything = what is What.ALL and not (dataset or algorithm or epsilon)
    optional: Collection[str] = () if dataset else OPTIONAL
    if smoke:
        cells, out = _once(cells, epsilon or ()), out / SMOKE
        optional = () if dataset else [name for name in DATASETS if name not in BUNDLED]
        _clear(out)
    out.mkdir(parents=True, exist_ok=True)
    if what is What.TABLE1 or everything:
        _watch_table1(out, seed, smoke, console)
    if what is What.TABLE2 or everything:
        from privfit.experiments.environment import write_lock
        from privfit.experiments.table2 import write_table2

        for sentence in write_table2(out, optional):
            console.print(sentence)
        write_lock(out)
    failed = _run(cells, out, seed, jobs, console, smoke, optional, replace)
    facts = _describe(out, seed, console, smoke=smoke)
    if as_json:
        show(facts | {"failed_cells": failed}, "", as_json=True)
    if failed:
        console.print(f"{failed} cells failed; run the same command again to try only those.")
        raise typer.Exit(1)
    return None


def _watch_table1(out: Path, seed: int, smoke: bool, console: Console) -> None:
    from privfit.experiments.environment import write_lock
    from privfit.experiments.provenance import record, this_run
    from privfit.experiments.table1 import DRAWS, run_draws, write_table1

    with console.status("Watching runs of DP-AGD for table 1", spinner="line"):
        if not smoke:
            record(out, this_run([(What.TABLE1.value, "dpagd")], seed))
        write_table1(run_draws(seed, 1 if smoke else DRAWS), out)
    write_lock(out)


def _refuse(what: What, options: Sequence[str]) -> None:
    """Raise an error for options that choose what to run, if nothing will be run."""
    for option in options:
        raise Mistake(f"`privfit reproduce {what}` uses all existing results; leave out --{option}.")


def _without_running(
    what: What, out: Path, source: Path | None, docs: Path, seed: int, console: Console
) -> dict[str, Any]:
    """Copy, describe or judge existing results."""
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

        if source is None:
            raise Mistake("`privfit reproduce adopt` needs --source, the directory whose rows it takes over.")
        adopt(out, source=source, seed=seed, console=console)
    return _describe(out, seed, console)


def _names(what: What) -> list[str]:
    from privfit.experiments.designs import EXPERIMENTS, GROUPS

    wanted = GROUPS.get(what, (what,))
    return [name for name in EXPERIMENTS if what is What.ALL or name in wanted]


def _cells(
    names: Sequence[str],
    datasets: Collection[str],
    algorithms: Collection[str],
    epsilons: Collection[float],
    repeats: int | None,
) -> list[Cell]:
    """Return the cells to run, repetition by repetition; raise an error if a filter excludes everything."""
    from privfit.experiments.designs import DATASETS, EXPERIMENTS, select

    order = list(DATASETS)
    every = sorted(
        (cell for name in names for cell in EXPERIMENTS[name].cells(repeats)),
        key=lambda cell: (cell.repetition, order.index(cell.dataset), cell.fold),
    )
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
    """Keep one fit of each algorithm for each task: first fold and value, and one epsilon unless named."""
    from privfit.experiments.designs import EXPERIMENTS, SMOKE_EPSILON, select

    first: dict[Cell, Cell] = {}
    usual = [
        cell
        for cell in cells
        if cell.epsilon in (SMOKE_EPSILON, float("inf"))
        or SMOKE_EPSILON not in EXPERIMENTS[cell.experiment].epsilons
    ]
    for cell in select(cells, epsilons=epsilons) if epsilons else usual:
        first.setdefault(cell._replace(value=None, repetition=0, fold=0), cell)
    return list(first.values())


def _clear(out: Path) -> None:
    """Remove the results of an earlier smoke test, because another version may have made them."""
    for path in (*out.glob("*.csv"), *out.glob("*.json")):
        path.unlink()


def _run(
    cells: Sequence[Cell],
    out: Path,
    seed: int,
    jobs: int,
    console: Console,
    smoke: bool,
    optional: Collection[str],
    replace: bool,
) -> int:
    """Run the cells and return how many of them failed."""
    from concurrent.futures.process import BrokenProcessPool

    from privfit.experiments.designs import SMOKE_RECORDS
    from privfit.experiments.run import run

    how: dict[str, Any] = {"records": SMOKE_RECORDS if smoke else None, "optional": optional}
    try:
        return len(run(cells, out, seed=seed, jobs=jobs, console=console, replace=replace, **how))
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"Finished cells are in {out}; run the same command again to go on.")
        raise
    except BrokenProcessPool:
        console.print(
            f"A worker process died, perhaps for lack of memory. Finished cells are in {out}; run the same "
            "command again to go on, with fewer --jobs."
        )
        raise typer.Exit(1) from None


def _describe(out: Path, seed: int, console: Console, *, smoke: bool = False) -> dict[str, Any]:
    """Draw all figures and write the summary of all results in the directory; return their files."""
    from privfit.experiments.designs import EXPERIMENTS
    from privfit.experiments.figures import draw
    from privfit.experiments.provenance import write_fingerprints
    from privfit.experiments.results import Results
    from privfit.experiments.summary import summarise

    for experiment in EXPERIMENTS.values():
        rows = Results(out / f"{experiment.name}.csv", seed).finished()
        if rows and experiment.has_figure:
            draw(experiment, rows, out, seed)
    if not smoke:
        write_fingerprints(out, seed)
    summary = out / "summary.md"
    summary.write_text(summarise(out, seed, smoke=smoke), encoding="utf-8")
    console.print(f"Results: {summary}")
    return {"summary": str(summary), "figures": sorted(map(str, out.glob("*.png")))}
