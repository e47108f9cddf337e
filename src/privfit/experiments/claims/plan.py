"""What is still to be run, the cheapest and most decisive parts first: commands, fits and time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import mean

from privfit.experiments.claims.evidence import Evidence, table
from privfit.experiments.designs import ALL_RECORDS, EXPERIMENTS, FAULTY, GROUPS, Cell, select
from privfit.experiments.fit import BATCH

ALL = "all"
NOT_AT_HAND = ("ipums-us",)  # nobody who published rows here has it
MINUTE = 60.0
Kind = tuple[str, str, str, float | None]  # a data set, a loss, an algorithm, and an epsilon or all of them


@dataclass(frozen=True, kw_only=True)
class Part:
    """One command, and what its rows are for. Without `repeats` it is a full run."""

    what: str
    algorithms: tuple[str, ...] = ()
    repeats: int | None = None
    decides: tuple[str, ...] = ()  # claims
    why: str = ""

    @property
    def command(self) -> str:
        """The command, which goes on where it was stopped."""
        named = "".join(f" --algorithm {name}" for name in self.algorithms)
        often = "--full" if self.repeats is None else f"--repeats {self.repeats}"
        return f"privfit reproduce {self.what}{named} --replace {often}"

    def cells(self) -> Iterator[Cell]:
        """List the fits of the command."""
        for name in EXPERIMENTS if self.what == ALL else GROUPS.get(self.what, (self.what,)):
            for cell in select(EXPERIMENTS[name].cells(self.repeats), algorithms=self.algorithms):
                if cell.dataset not in NOT_AT_HAND:
                    yield cell


PLAN = (
    Part(
        what="ablations",
        algorithms=("dpagd-fixed-range", "sgd-ma-fixed"),
        repeats=5,
        decides=("range-of-steps", "iterations-matter"),
    ),
    Part(what="gamma", algorithms=("dpagd",), repeats=5, decides=("gamma-budget",)),
    Part(what="logistic", algorithms=("dpagd",), repeats=5, decides=("rejected-directions",)),
    Part(what="svm", algorithms=("dpagd",), repeats=5, decides=("useful-statistics",)),
    Part(
        what="kddcup99",
        algorithms=("dpagd", "dpagd-capped", FAULTY),
        repeats=2,
        decides=("useful-statistics", "kddcup99-svm-cause"),
    ),
    Part(what="logistic", algorithms=("dpagd-exponential",), repeats=5, decides=("exponential-noise",)),
    Part(what="svm", algorithms=("dpagd-exponential",), repeats=5, decides=("exponential-noise",)),
    Part(what="kddcup99", algorithms=("dpagd-exponential",), repeats=2, decides=("exponential-noise",)),
    Part(
        what="kddcup99",
        algorithms=("dpagd-all-records", "privgene-all-records"),
        repeats=1,
        decides=("kddcup99-time",),
    ),
    Part(what="tuning", algorithms=("privgene",), repeats=1, decides=("privgene-tuning",)),
    Part(what="regularised", repeats=1, decides=("competitive-regularised",)),
    Part(what=ALL, algorithms=("adaptive",), repeats=5, why="the default in its final form"),
    Part(what=ALL, repeats=5, why="all rows of one version"),
    Part(what=ALL, why="the paper's 20 x 5 folds"),
)


@dataclass
class _Clock:
    """The time that fits took, and is expected of others of their kind."""

    evidence: Evidence
    _seconds: dict[Kind, list[float]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for (_, dataset, loss, algorithm, epsilon, _), fits in self.evidence.rows.items():
            for fit in fits.values():
                for of in (epsilon, None):
                    self._seconds[dataset, loss, algorithm, of].append(fit.seconds)

    def of(self, cell: Cell) -> float:
        """Return what its kind took, at its epsilon if that was run; else DP-AGD or PrivGene on its table.

        On KDDCup99 those work on batches, so that fits on all records take as many times as long.
        """
        relative = "privgene" if "privgene" in cell.algorithm else "dpagd"
        for algorithm, epsilon in ((cell.algorithm, cell.epsilon), (cell.algorithm, None), (relative, None)):
            known = self._seconds.get((cell.dataset, cell.loss, algorithm, epsilon))
            if known:
                batches = self._batches if cell.algorithm in ALL_RECORDS and algorithm == relative else 1.0
                return batches * mean(known)
        return 0.0

    @property
    def _batches(self) -> float:
        """How many batches make up all of KDDCup99."""
        tables = (fits for setting, fits in self.evidence.rows.items() if setting[1] == "kddcup99")
        return max((fit.records for fits in tables for fit in fits.values()), default=BATCH) / BATCH


def left_to_run(evidence: Evidence) -> str:
    """Tell for each part how many of its fits have no row with a fingerprint, and how long they may take."""
    clock = _Clock(evidence)
    lines = []
    for part in PLAN:
        todo = [cell for cell in part.cells() if not _has_fingerprint(evidence, cell)]
        purpose = ", ".join(f"[{key}](claims.md#{key})" for key in part.decides)
        minutes = sum(map(clock.of, todo)) / MINUTE
        purpose = " ".join(filter(None, (purpose, part.why)))
        lines.append([f"`{part.command}`", purpose, f"{len(todo):,}", f"{minutes:,.0f}"])
    return table(["command", "for", "fits to go", "minutes of one core"], *lines)


def _has_fingerprint(evidence: Evidence, cell: Cell) -> bool:
    setting = (cell.experiment, cell.dataset, cell.loss, cell.algorithm, cell.epsilon, cell.value)
    row = evidence.rows.get(setting, {}).get((cell.repetition, cell.fold))
    return row is not None and bool(row.fingerprint)
