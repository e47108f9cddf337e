"""Measurements of the default beside a rejected variant, and what docs/research.md says of them."""

import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
ROWS = list(csv.DictReader((ROOT / "benchmarks" / "tables.csv").open()))
EPSILONS = ("0.1", "0.4", "1.0", "4.0")


def quoted():
    section = (ROOT / "docs" / "research.md").read_text().split("### ab.")[1].split("\n## ")[0]
    for line in re.findall(r"^\| (?:real|permuted) \|.*$", section, re.MULTILINE):
        labels, loss, tables, count, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        yield pytest.param(labels, loss, tables, int(count), cells, id=f"{labels}-{loss}-{tables}")


@pytest.mark.parametrize(("labels", "loss", "tables", "count", "cells"), quoted())
def test_quoted_means_are_those_of_the_rows(labels, loss, tables, count, cells):
    found = defaultdict(list)
    for row in ROWS:
        is_aside = "set aside" if row["set_aside"] == "yes" else "others"
        if (row["labels"], row["loss"], is_aside) == (labels, loss, tables) and ".raw" not in row["table"]:
            found[row["epsilon"]].append(float(row["difference"]))
    for epsilon, cell in zip(EPSILONS, cells, strict=True):
        gaps = np.array(found[epsilon])
        assert len(gaps) == count
        mean, error = (float(part.replace("\N{MINUS SIGN}", "-")) for part in cell.split(" ± "))
        assert mean == pytest.approx(gaps.mean(), abs=6e-5)
        assert error == pytest.approx(gaps.std(ddof=1) / len(gaps) ** 0.5, abs=6e-5)


def test_all_kinds_of_tables_are_there():
    assert len(list(quoted())) == 8
    aside = {row["table"].removesuffix(".raw") for row in ROWS if row["set_aside"] == "yes"}
    tables = {row["table"].removesuffix(".raw") for row in ROWS}
    assert (len(aside), len(tables)) == (10, 25)
