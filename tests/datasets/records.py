"""Made-up records of every data set, and how to load them."""

import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import strategies as st

from privfit.datasets import adult, bank, ipums, kddcup99, load
from privfit.preprocessing import Numeric

SCHEMAS = {
    "adult": adult.ADULT_SCHEMA,
    "bank": bank.BANK_SCHEMA,
    "ipums-br": ipums.IPUMS_BR_SCHEMA,
    "kddcup99": kddcup99.KDDCUP99_SCHEMA,
}
LABELS = {
    "adult": ["<=50K", ">50K.", ">50K"],
    "bank": ["no", "yes"],
    "ipums-br": ["0", "1"],
    "kddcup99": ["normal.", "smurf.", "nmap."],
}


def _field(fact):
    if isinstance(fact, Numeric):
        return st.integers(int(fact.low), int(fact.high)) | st.integers(-(10**10), 10**10)
    return st.sampled_from([*fact.categories, "unheard-of"])


def records(name):
    """Lists of records as rows of text, in and out of bounds, of known and unknown categories, label last."""
    fields = [_field(fact).map(str) for fact in SCHEMAS[name].columns]
    return st.lists(st.tuples(*fields, st.sampled_from(LABELS[name])).map(list), min_size=1, max_size=4)


def load_records(name, rows, **options):
    """Load these records as if they were the data set."""
    if name == "adult":
        with mock.patch.object(adult, "_rows", lambda file, sha256: rows if file == "adult.data.gz" else []):
            return load("adult", **options)
    with tempfile.TemporaryDirectory() as directory:
        write_records(name, rows, Path(directory))
        return load(name, data_dir=directory, **options)


def write_records(name, rows, directory):
    if name == "bank":
        header = [*(fact.name for fact in bank.BANK_SCHEMA.columns), "y"]
        lines = [";".join(f'"{field}"' for field in row) for row in [header, *rows]]
        path = directory / "bank-full.csv"
    elif name == "kddcup99":
        lines, path = [",".join(row) for row in rows], directory / "kddcup.data_10_percent"
    else:
        lines, path = [" ".join(row) + " " for row in rows], directory / f"{name.upper()}.dat"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
