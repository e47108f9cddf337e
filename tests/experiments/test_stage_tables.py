"""Tables of means and of changes, counted again with nothing of the package."""

import csv
from pathlib import Path
from statistics import fmean, stdev

import pytest

from privfit.experiments.claims.blocks import block
from privfit.experiments.claims.evidence import Evidence
from privfit.experiments.designs import EXPERIMENTS, SEED, Cell
from privfit.experiments.fit import Outcome
from privfit.experiments.results import Results

RESULTS = Path(__file__).parents[2] / "results"


def accuracies(algorithm):
    """Read those on BANK at epsilon 0.4 by repetition and fold."""
    with (RESULTS / "waterfall.csv").open(newline="") as file:
        return {
            (row["repetition"], row["fold"]): float(row["accuracy"])
            for row in csv.DictReader(file)
            if (row["dataset"], row["algorithm"], row["epsilon"]) == ("bank", algorithm, "0.4")
        }


def raw_columns_of(name):
    head, _, *lines = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in block(name, Evidence(RESULTS, SEED)).splitlines()
    )
    return {line[0]: dict(zip(head, line, strict=True)) for line in lines}


def test_means_are_over_folds_and_repetitions():
    printed = raw_columns_of("means waterfall accuracy")["E4: select privately"]["BANK 0.4"]
    assert printed == f"{fmean(accuracies('authors-e4').values()):.3f}".removeprefix("0")


def test_changes_are_those_from_the_stage_before_on_the_same_folds():
    before, after = accuracies("authors-e1-NOT-PRIVATE"), accuracies("authors-e4")
    gaps = [after[fold] - before[fold] for fold in before]
    mean, error = fmean(gaps), stdev(gaps) / len(gaps) ** 0.5
    printed = raw_columns_of("changes waterfall accuracy")["E4: select privately"]["BANK 0.4"]
    assert printed == f"{mean:.3f}±{error:.3f}".replace("-", "\N{MINUS SIGN}").replace("0.", ".")


@pytest.mark.parametrize("epsilon", [0.05, 0.8])
def test_epsilons_that_were_not_run_are_left_out(tmp_path, epsilon):
    results = Results(tmp_path / "authors.csv", seed=1)
    with results.appending():
        for algorithm in EXPERIMENTS["authors"].algorithms:
            at = float("inf") if algorithm in ("nonprivate", "majority") else epsilon
            cell = Cell("authors", "bank", "logistic", algorithm, at, None, 0, 0)
            results.append(cell, Outcome(0.5, 1.0, 1.0, 1, 9))
    head = block("means authors accuracy", Evidence(tmp_path, seed=1)).splitlines()[0]
    assert head == f"|  | BANK {epsilon:g} |"


@pytest.mark.parametrize(("steps", "printed"), [(0, ".500 (no step)"), (1, ".500")])
def test_fits_without_a_step_are_marked(tmp_path, steps, printed):
    results = Results(tmp_path / "authors.csv", seed=1)
    with results.appending():
        for cell in EXPERIMENTS["authors"].cells(1):
            results.append(cell, Outcome(0.5, 1.0, 1.0, steps, 9))
    lines = block("means authors accuracy", Evidence(tmp_path, seed=1)).splitlines()
    marked = {line.split("|")[1].strip() for line in lines if "(no step)" in line}
    assert marked == ({"authors' SGD-MA: NOT PRIVATE"} if steps == 0 else set())
    (line,) = (line for line in lines if "SGD-MA" in line)
    assert line.split("|")[2].strip() == printed


def test_what_was_not_run_is_said_instead_of_a_table(tmp_path):
    text = block("means authors accuracy", Evidence(tmp_path, seed=1))
    assert text == "Not run yet: authors.csv."


def runs_without(tmp_path, unwanted):
    """Return the last column of the table of runs, where some cells of the authors' were not run."""
    results = Results(tmp_path / "authors.csv", seed=1)
    with results.appending():
        for cell in EXPERIMENTS["authors"].cells(1):
            if not unwanted(cell):
                results.append(cell, Outcome(0.5, 1.0, 1.0, 1, 9))
    return block("runs", Evidence(tmp_path, seed=1)).splitlines()[2].strip("|").split("|")[-1].strip()


@pytest.mark.parametrize(
    ("unwanted", "said"),
    [
        (lambda cell: False, ""),
        (lambda cell: cell.epsilon in (0.2, 0.8), "ε 0.2, 0.8"),
        (
            lambda cell: (
                cell.dataset == "bank" or cell.algorithm == "authors-privgene" or cell.epsilon == 0.2
            ),
            "BANK; authors' PrivGene; ε 0.2",
        ),
        (
            lambda cell: cell.algorithm == "authors-privgene" and cell.epsilon == 0.2,
            "settings of authors' PrivGene: 3",
        ),
    ],
)
def test_the_table_of_runs_says_what_was_not_run(tmp_path, unwanted, said):
    assert runs_without(tmp_path, unwanted) == said
