"""UCI Bank Marketing: which customers called on the telephone subscribe to a term deposit."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from privfit.datasets.dataset import CC_BY, Encoding, dataset, encode, raw_columns
from privfit.datasets.sources import Source, locate, reading
from privfit.schema import Categorical, Label, Numeric, Schema

SOURCE = Source(
    file="bank-full.csv",
    sha256="d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
    urls=("https://archive.ics.uci.edu/static/public/222/bank+marketing.zip",),
    members=("bank.zip", "bank-full.csv"),
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LABEL = Label("y", ("no", "yes"))

# Columns, categories and classes are those of bank-names.txt, the documentation of the data set. It gives no
# bounds. The bounds below are round numbers that are plausible for customers of a bank and for calls from May
# 2008 to November 2010. Values beyond them are clipped.
BANK_SCHEMA = Schema(
    columns=(
        Numeric("age", 18, 100),
        Categorical(
            "job",
            (
                *("admin.", "unknown", "unemployed", "management", "housemaid", "entrepreneur", "student"),
                *("blue-collar", "self-employed", "retired", "technician", "services"),
            ),
        ),
        Categorical("marital", ("married", "divorced", "single")),
        Categorical("education", ("unknown", "secondary", "primary", "tertiary")),
        Categorical("default", ("yes", "no")),
        # in euros, the average over a year
        Numeric("balance", -5_000, 20_000),
        Categorical("housing", ("yes", "no")),
        Categorical("loan", ("yes", "no")),
        Categorical("contact", ("unknown", "telephone", "cellular")),
        Numeric("day", 1, 31),
        Categorical("month", _MONTHS),
        # in seconds, up to an hour
        Numeric("duration", 0, 3_600),
        Numeric("campaign", 1, 50),
        # days since the call of the last campaign, up to two and a half years; -1 if there was none
        Numeric("pdays", -1, 915),
        Numeric("previous", 0, 50),
        Categorical("poutcome", ("unknown", "other", "failure", "success")),
    ),
    label=_LABEL,
)

# The paper's matrix, with the columns of the authors' BANK.dat. One category of each column is left out. The
# date is 30 month + day. There is an indicator of an earlier call, and another column has the time since
# then. The bounds are the smallest and largest values in the file, declared public as in the paper.
BANK_PAPER_SCHEMA = Schema(
    columns=(
        Numeric("age", 18, 95),
        Categorical(
            "job",
            (
                *("admin.", "unemployed", "management", "housemaid", "entrepreneur", "student"),
                *("blue-collar", "self-employed", "retired", "technician", "services"),
            ),
        ),
        Categorical("marital", ("single", "married")),
        Categorical("education", ("primary", "secondary", "tertiary")),
        Categorical("default", ("yes",)),
        Numeric("balance", -8_019, 102_127),
        Categorical("housing", ("yes",)),
        Categorical("loan", ("yes",)),
        Categorical("contact", ("telephone", "cellular")),
        Numeric("date", 36, 391),
        Numeric("duration", 0, 4_918),
        Numeric("campaign", 1, 63),
        Numeric("contacted", 0, 1),
        Numeric("pdays", 0, 871),
        Numeric("previous", 0, 275),
        Categorical("poutcome", ("other", "failure", "success")),
    ),
    label=_LABEL,
)

_DESCRIPTION = """Bank Marketing

45,211 customers of a Portuguese bank who were called about a term deposit, sixteen attributes each; the task
is to say whether a customer subscribed. Authors: Sérgio Moro, Paulo Rita and Paulo Cortez, 2012.
Source: UCI Machine Learning Repository, https://doi.org/10.24432/C5K306. Licence: CC BY 4.0.
"""


def load_bank(*, encoding: Encoding, data_dir: str | os.PathLike[str] | None) -> Bunch:
    """Load UCI Bank Marketing from its official file, from which the paper's matrix is computed, too."""
    columns, labels = _read(locate(SOURCE, data_dir))
    schema = BANK_SCHEMA
    if encoding == "paper":
        schema, columns = BANK_PAPER_SCHEMA, columns | _as_in_the_paper(columns)
    return dataset(encode(columns, schema), labels, schema=schema, licence=CC_BY, description=_DESCRIPTION)


def _read(path: Path) -> tuple[dict[str, Any], NDArray[np.str_]]:
    expected = [*(column.name for column in BANK_SCHEMA.columns), _LABEL.name]
    with reading(path) as file:
        lines = file.readlines()
    try:
        rows = list(csv.reader(lines, delimiter=";"))
        if rows[:1] != [expected]:
            raise ValueError
        columns, labels = raw_columns(rows[1:], BANK_SCHEMA)
        if not set(labels) <= set(_LABEL.classes):
            raise ValueError
    except (ValueError, csv.Error):
        # the original error is dropped, because it quotes a record
        raise ValueError(
            f"{path} is not bank-full.csv: a line of names and then records of 17 values separated by "
            "semicolons, the last of them yes or no."
        ) from None
    return columns, labels


def _as_in_the_paper(columns: dict[str, Any]) -> dict[str, Any]:
    number = {name: month for month, name in enumerate(_MONTHS, start=1)}
    month = np.array([number.get(name, np.nan) for name in columns["month"]])
    contacted = columns["pdays"] >= 0
    return {
        "date": 30 * month + columns["day"],
        "contacted": contacted,
        "pdays": np.where(contacted, columns["pdays"], 0),
    }
