"""Every table of docs/authors.md is computed again from the results."""

import math
import re
from pathlib import Path

import pytest

from privfit.experiments.cells import ALGORITHMS, DATASETS, EXPERIMENTS, REFERENCES, SEED, WATERFALL
from privfit.experiments.curves import curves
from privfit.experiments.results import Results

ROOT = Path(__file__).parents[2]
NAMES = {label: name for name, label in (ALGORITHMS | WATERFALL | REFERENCES).items()}
SHORT = {label: name for name, label in DATASETS.items()}


def tables(page):
    """Yield (experiment, metric, header, rows) of each table with a caption."""
    text = (ROOT / "docs" / page).read_text()
    caption = r"^\*\*([a-z-]+)\.csv, (accuracy|objective)\*\*.*\n\n((?:\|.*\n)+)"
    for match in re.finditer(caption, text, flags=re.M):
        header, _, *rows = (
            [part.strip() for part in line.strip("|").split("|")] for line in match[3].splitlines()
        )
        yield match[1], match[2], header, rows


PRINTED = [(page, *table) for page in ("authors.md",) for table in tables(page)]


@pytest.mark.parametrize(
    ("experiment", "metric", "header", "rows"),
    [printed[1:] for printed in PRINTED],
    ids=[f"{printed[1]}-{printed[2]}" for printed in PRINTED],
)
def test_a_printed_table_is_what_the_results_say(experiment, metric, header, rows):
    """Columns are a data set and an epsilon; rows are an algorithm, with a value where one is varied."""
    finished = Results(ROOT / "results" / f"{experiment}.csv", SEED).finished()
    for label, *numbers in rows:
        name, _, value = label.partition(", at ")
        for column, number in zip(header[1:], numbers, strict=True):
            dataset, epsilon = column.rsplit(" ", 1)
            task = next(task for task in EXPERIMENTS[experiment].tasks if task[0] == SHORT[dataset])
            found = curves(EXPERIMENTS[experiment], finished, task, metric)
            if value:
                point = found[NAMES[name], float(epsilon)][float(value)]
            else:
                curve = found[NAMES[name]]
                point = curve.get(math.inf) or curve[float(epsilon)]
            assert float(number) == pytest.approx(point.mean, abs=0.0005001), (label, column)


def test_there_are_tables():
    assert {printed[1] for printed in PRINTED} == {"waterfall"}
