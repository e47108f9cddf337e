"""Table 2: how many records and weights each data set has, here and in the paper."""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path

import numpy as np

from privfit.experiments.designs import DATASETS
from privfit.experiments.fit import table

# Records and dimensions, including the intercept, that the paper prints.
PAPER = {
    "adult": (48_842, 124),
    "bank": (45_211, 33),
    "ipums-us": (40_000, 58),
    "ipums-br": (38_000, 53),
    "kddcup99": (4_898_431, 120),
}
HEADER = ("dataset", "records", "weights", "label", "share_of_label", "paper_records", "paper_weights")


def write_table2(out: Path, optional: Collection[str]) -> list[str]:
    """Write the table, and return sentences about data sets that are not available.

    Raises
    ------
    OSError
        If a data set that is not optional cannot be loaded.
    """
    lines, missing = [], []
    for name, printed in PAPER.items():
        try:
            data = table(name)
        except OSError as error:
            if name not in optional:
                raise OSError(f"{DATASETS[name]} cannot be had: {error}") from error
            missing.append(f"{DATASETS[name]} is left out: {error}")
            continue
        label = data.classes[1]
        share = float(np.mean(data.target == label))
        n, d = data.data.shape
        lines.append((name, n, d + 1, label, f"{share:.4f}", *printed))
    out.mkdir(parents=True, exist_ok=True)
    with (out / "table2.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(lines)
    return missing


def table2_as_markdown(out: Path) -> str:
    """Return the table for a page, with the paper's numbers beside those here."""
    lines = [
        "| | records | in the paper | weights | in the paper | label | its share |",
        "|---|---|---|---|---|---|---|",
    ]
    with (out / "table2.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            records, printed = int(row["records"]), int(row["paper_records"])
            lines.append(
                f"| {DATASETS[row['dataset']]} | {records:,} | {printed:,} | {row['weights']} | "
                f"{row['paper_weights']} | {row['label']} | {row['share_of_label']} |"
            )
    return "\n".join(lines)
