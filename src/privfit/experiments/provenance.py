"""The origin of the rows of a directory of results, in `provenance.json`: machines, versions, commits.

A run is recorded before its first row, so that a killed run has a record, too. A run refuses to add rows to
those of a version with another output. `fingerprints.json` has the fingerprints of this version, so that the
documents can count outdated rows without computing fingerprints again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from privfit.experiments import environment
from privfit.experiments.designs import EXPERIMENTS, Cell
from privfit.experiments.fingerprints import fingerprint
from privfit.experiments.results import Results

FILE = "provenance.json"
FINGERPRINTS = "fingerprints.json"
CPU_TIME = "CPU time of one thread"
Kind = tuple[str, str]  # an experiment and an algorithm


@dataclass(frozen=True, kw_only=True)
class Run:
    """One or more calls of the command under the same conditions, with the experiments that they ran."""

    commit: str
    versions: dict[str, str]
    machine: str
    seed: int
    clock: str  # the kind of time in `seconds`
    fingerprints: dict[str, str]
    experiments: dict[str, list[str]]  # the algorithms of each experiment

    def goes_on(self, other: Run) -> bool:
        """Return whether the other run has the same conditions."""
        here, there = (asdict(replace(run, fingerprints={}, experiments={})) for run in (self, other))
        shared = self.fingerprints.keys() & other.fingerprints.keys()
        return here == there and all(self.fingerprints[name] == other.fingerprints[name] for name in shared)

    def of(self, kind: Kind) -> Run:
        """Return the part of this run that ran one kind of cells."""
        experiment, algorithm = kind
        fingerprints = {algorithm: self.fingerprints[algorithm]}
        return replace(self, fingerprints=fingerprints, experiments={experiment: [algorithm]})

    def kinds(self) -> dict[Kind, str]:
        """Return the fingerprint of each kind of cells that it ran."""
        return {
            (experiment, algorithm): self.fingerprints[algorithm]
            for experiment, algorithms in self.experiments.items()
            for algorithm in algorithms
        }


def this_run(kinds: Iterable[Kind], seed: int, clock: str = CPU_TIME) -> Run:
    """Return the record of a run of these kinds of cells on this machine."""
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
    """Return the runs that are recorded in the directory."""
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
    """Record a run; if it continues an earlier run, both become one record."""
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


def begin(cells: Iterable[Cell], out: Path, seed: int, *, replacing: Collection[Kind] = ()) -> None:
    """Record a run before its first row, and refuse to mix its rows with rows that it does not replace."""
    kinds = {(cell.experiment, cell.algorithm) for cell in cells}
    for (experiment, algorithm), why in unfit(out, seed, kinds - set(replacing)).items():
        raise ValueError(
            f"Rows of {algorithm} in {out / experiment}.csv {why}, and new rows must not be mixed with them: "
            "give --replace to run them again."
        )
    record(out, this_run(kinds, seed))
    environment.write_lock(out)


def unfit(out: Path, seed: int, asked: Collection[Kind] | None = None) -> dict[Kind, str]:
    """Return the kinds of rows that this version did not make completely, each with the reason.

    The fingerprint of a row tells which version of its algorithm made it. For rows without one, all versions
    count that are recorded for their kind, because the record does not tell which version made which row.
    Pass the kinds of interest as `asked`, because each fingerprint takes some fits.
    """
    recorded = _recorded(out, seed)
    found = {}
    for kind, stamps in stamped(out, seed).items():
        if asked is not None and kind not in asked:
            continue
        made = stamps - {""} | (recorded.get(kind, {""}) if "" in stamps else set())
        if "" in made:
            found[kind] = "carry no fingerprint, and no record of a run has one for them"
        elif len(made) > 1:
            found[kind] = f"come from {len(made)} versions of the algorithm whose outputs differ"
        elif made != {fingerprint(kind[1])}:
            found[kind] = "come from a version of the algorithm whose output differs from this one's"
    return found


def _recorded(out: Path, seed: int) -> dict[Kind, set[str]]:
    """Return the recorded fingerprints for each kind of rows."""
    found: dict[Kind, set[str]] = {}
    for run in read(out):
        for kind, digits in run.kinds().items() if run.seed == seed else ():
            found.setdefault(kind, set()).add(digits)
    return found


def write_fingerprints(out: Path, seed: int) -> None:
    """Write the fingerprints of this version for all algorithms that have rows."""
    found = {algorithm: fingerprint(algorithm) for algorithm in sorted({a for _, a in present(out, seed)})}
    (out / FINGERPRINTS).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def is_outdated(out: Path, seed: int) -> Callable[[Kind, str], bool] | None:
    """Return a function of a row's kind and fingerprint that tells whether the row is outdated.

    A row is current if its fingerprint is the written one of its algorithm, or if it has none and the written
    fingerprint is the only one that is recorded for its kind. If no fingerprints were written, the result is
    None.
    """
    if not (out / FINGERPRINTS).exists():
        return None
    current = json.loads((out / FINGERPRINTS).read_text(encoding="utf-8"))
    recorded = _recorded(out, seed)

    def outdated(kind: Kind, stamp: str) -> bool:
        made = {stamp} if stamp else recorded.get(kind, set())
        return made != {current.get(kind[1])}

    return outdated


def stamped(out: Path, seed: int) -> dict[Kind, set[str]]:
    """Return the fingerprints in the rows of each kind; rows of earlier versions have none."""
    found: dict[Kind, set[str]] = {}
    for name in EXPERIMENTS:
        for cell, outcome in Results(out / f"{name}.csv", seed).finished().items():
            found.setdefault((cell.experiment, cell.algorithm), set()).add(outcome.fingerprint)
    return found


def present(out: Path, seed: int) -> list[Kind]:
    """Return the kinds of rows in the directory."""
    return list(stamped(out, seed))


def forget(out: Path, seed: int) -> None:
    """Remove runs of earlier versions from the record if none of their rows is left."""
    runs = read(out)
    stamps = {kind: digits for kind, digits in stamped(out, seed).items() if "" not in digits}
    kept = []
    for run in runs:
        gone = {
            kind
            for kind, digits in run.kinds().items()
            if run.seed == seed and kind in stamps and digits not in stamps[kind]
        }
        experiments = {
            name: [algorithm for algorithm in algorithms if (name, algorithm) not in gone]
            for name, algorithms in run.experiments.items()
        }
        experiments = {name: algorithms for name, algorithms in experiments.items() if algorithms}
        used = {algorithm for algorithms in experiments.values() for algorithm in algorithms}
        fingerprints = {name: digits for name, digits in run.fingerprints.items() if name in used}
        kept.append(replace(run, experiments=experiments, fingerprints=fingerprints))
    kept = [run for run in kept if run.experiments]
    if kept != runs:
        _write(out, kept)


def _write(out: Path, runs: list[Run]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    new = out / f"{FILE}.new"
    new.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n", encoding="utf-8")
    new.replace(out / FILE)
