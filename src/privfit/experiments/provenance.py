"""Which rows of a directory of results were made where and by what: `provenance.json`.

A run is written down before its first row, so that a run that is killed has a record as well. It refuses to
add rows beside those of a version whose output differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from privfit.experiments import environment
from privfit.experiments.cells import EXPERIMENTS, Cell
from privfit.experiments.fingerprints import fingerprint
from privfit.experiments.results import Results

FILE = "provenance.json"
CPU_TIME = "CPU time of one thread"
Kind = tuple[str, str]  # an experiment and an algorithm


@dataclass(frozen=True, kw_only=True)
class Run:
    """One or more calls of the command under the same conditions, and what they ran."""

    commit: str
    versions: dict[str, str]
    machine: str
    seed: int
    clock: str  # what `seconds` counts
    fingerprints: dict[str, str]
    experiments: dict[str, list[str]]  # the algorithms of each experiment

    def goes_on(self, other: Run) -> bool:
        """Say whether the other one is more of the same."""
        here, there = (asdict(replace(run, fingerprints={}, experiments={})) for run in (self, other))
        shared = self.fingerprints.keys() & other.fingerprints.keys()
        return here == there and all(self.fingerprints[name] == other.fingerprints[name] for name in shared)

    def of(self, kind: Kind) -> Run:
        """Return the part of it that ran one kind of cells."""
        experiment, algorithm = kind
        fingerprints = {algorithm: self.fingerprints[algorithm]}
        return replace(self, fingerprints=fingerprints, experiments={experiment: [algorithm]})

    def kinds(self) -> dict[Kind, str]:
        """Return the fingerprint of everything it ran."""
        return {
            (experiment, algorithm): self.fingerprints[algorithm]
            for experiment, algorithms in self.experiments.items()
            for algorithm in algorithms
        }


def this_run(kinds: Iterable[Kind], seed: int, clock: str = CPU_TIME) -> Run:
    """Describe a run of these kinds of cells here and now."""
    kinds = sorted(set(kinds))
    return Run(
        commit=environment.commit(),
        versions=environment.versions(),
        machine=environment.machine(),
        seed=seed,
        clock=clock,
        fingerprints={algorithm: fingerprint(algorithm) for algorithm in sorted({a for _, a in kinds})},
        experiments={
            experiment: [a for e, a in kinds if e == experiment]
            for experiment in sorted({e for e, _ in kinds})
        },
    )


def read(out: Path) -> list[Run]:
    """Return the runs that the directory remembers."""
    path = out / FILE
    if not path.exists():
        return []
    try:
        return [Run(**run) for run in json.loads(path.read_text(encoding="utf-8"))]
    except (TypeError, ValueError):
        raise ValueError(
            f"{path} is damaged; restore it, or delete it and run `privfit reproduce adopt`."
        ) from None


def record(out: Path, run: Run) -> None:
    """Remember a run, in one piece with an earlier one that it goes on with."""
    runs = read(out)
    for number, earlier in enumerate(runs):
        if earlier.goes_on(run):
            names = sorted(earlier.experiments.keys() | run.experiments.keys())
            runs[number] = replace(
                earlier,
                fingerprints=dict(sorted((earlier.fingerprints | run.fingerprints).items())),
                experiments={
                    name: sorted({*earlier.experiments.get(name, ()), *run.experiments.get(name, ())})
                    for name in names
                },
            )
            break
    else:
        runs.append(run)
    _write(out, runs)


def begin(cells: Iterable[Cell], out: Path, seed: int) -> None:
    """Write a run down before its first row, and refuse to mix its rows with others."""
    kinds = {(cell.experiment, cell.algorithm) for cell in cells}
    mixed = {kind: why for kind, why in unfit(out, seed).items() if kind in kinds}
    for (experiment, algorithm), why in mixed.items():
        raise ValueError(
            f"Rows of {algorithm} in {out / experiment}.csv {why}, and new rows must not be mixed with them: "
            "give --replace to run them again."
        )
    record(out, this_run(kinds, seed))
    (out / environment.LOCK_FILE).write_text(environment.lock(), encoding="utf-8")


def unfit(out: Path, seed: int) -> dict[Kind, str]:
    """Return the kinds of rows that this version did not make, each with the reason."""
    made: dict[Kind, dict[str, str]] = {}
    for run in read(out):
        for kind, digits in run.kinds().items() if run.seed == seed else ():
            made.setdefault(kind, {})[digits] = run.commit
    found = {}
    for kind in present(out, seed):
        if kind not in made:
            found[kind] = "are in no record of a run (`privfit reproduce adopt` checks and records them)"
        elif fingerprint(kind[1]) not in made[kind]:
            last = list(made[kind].values())[-1]
            found[kind] = f"come from a solver whose output has changed since {last}"
    return found


def present(out: Path, seed: int) -> list[Kind]:
    """Return the kinds of rows that the directory holds."""
    return list(
        dict.fromkeys(
            (cell.experiment, cell.algorithm)
            for name in EXPERIMENTS
            for cell in Results(out / f"{name}.csv", seed).finished()
        )
    )


def drop(out: Path, seed: int, kinds: Iterable[Kind]) -> None:
    """Take the rows of these kinds out of the files, and out of the record."""
    gone = set(kinds)
    for name in {experiment for experiment, _ in gone}:
        Results(out / f"{name}.csv", seed).drop(lambda cell: (cell.experiment, cell.algorithm) in gone)
    kept = []
    for run in read(out):
        experiments = {
            name: [algorithm for algorithm in algorithms if run.seed != seed or (name, algorithm) not in gone]
            for name, algorithms in run.experiments.items()
        }
        experiments = {name: algorithms for name, algorithms in experiments.items() if algorithms}
        used = {algorithm for algorithms in experiments.values() for algorithm in algorithms}
        fingerprints = {name: digits for name, digits in run.fingerprints.items() if name in used}
        kept.append(replace(run, experiments=experiments, fingerprints=fingerprints))
    _write(out, [run for run in kept if run.experiments])


def _write(out: Path, runs: list[Run]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    new = out / f"{FILE}.new"
    new.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n", encoding="utf-8")
    new.replace(out / FILE)
