"""UCI Adult, shipped with the package."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from privfit.datasets.dataset import CC_BY, Encoding, dataset, encode, raw_columns
from privfit.schema import Categorical, Label, Numeric, Schema

_FILES = {
    "train": ("adult.data.gz", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
    "test": ("adult.test.gz", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),
}


def _documented(name: str, listing: str) -> Categorical:
    """Return a categorical column with the categories that the documentation lists."""
    return Categorical(name, listing.split(", "))


# Columns, categories and classes are those of adult.names, the documentation of the data set. Its mark for a
# missing value, "?", is not a category. The documentation gives no bounds. The bounds below come from the
# rules of the survey, not from the records.
ADULT_SCHEMA = Schema(
    columns=(
        # Only people over 16 were extracted; the survey records 90 for anyone older.
        Numeric("age", 17, 90),
        _documented(
            "workclass",
            "Private, Self-emp-not-inc, Self-emp-inc, Federal-gov, Local-gov, State-gov, Without-pay, "
            "Never-worked",
        ),
        # The number of people that a record stands for. No bound is documented, so a round number is
        # declared.
        Numeric("fnlwgt", 0, 1_500_000),
        _documented(
            "education",
            "Bachelors, Some-college, 11th, HS-grad, Prof-school, Assoc-acdm, Assoc-voc, 9th, 7th-8th, 12th, "
            "Masters, 1st-4th, 10th, Doctorate, 5th-6th, Preschool",
        ),
        # The sixteen levels of education, numbered.
        Numeric("education-num", 1, 16),
        _documented(
            "marital-status",
            "Married-civ-spouse, Divorced, Never-married, Separated, Widowed, Married-spouse-absent, "
            "Married-AF-spouse",
        ),
        _documented(
            "occupation",
            "Tech-support, Craft-repair, Other-service, Sales, Exec-managerial, Prof-specialty, "
            "Handlers-cleaners, Machine-op-inspct, Adm-clerical, Farming-fishing, Transport-moving, "
            "Priv-house-serv, Protective-serv, Armed-Forces",
        ),
        _documented("relationship", "Wife, Own-child, Husband, Not-in-family, Other-relative, Unmarried"),
        _documented("race", "White, Asian-Pac-Islander, Amer-Indian-Eskimo, Other, Black"),
        _documented("sex", "Female, Male"),
        # The survey stores five digits; the highest code is 99999.
        Numeric("capital-gain", 0, 99_999),
        # No bound is documented. This is a round number above the 3,000 dollars that a tax return may deduct.
        Numeric("capital-loss", 0, 5_000),
        # The data set has only people who work; the survey stores two digits.
        Numeric("hours-per-week", 1, 99),
        _documented(
            "native-country",
            "United-States, Cambodia, England, Puerto-Rico, Canada, Germany, Outlying-US(Guam-USVI-etc), "
            "India, Japan, Greece, South, China, Cuba, Iran, Honduras, Philippines, Italy, Poland, Jamaica, "
            "Vietnam, Mexico, Portugal, Ireland, France, Dominican-Republic, Laos, Ecuador, Taiwan, Haiti, "
            "Columbia, Hungary, Guatemala, Nicaragua, Scotland, Thailand, Yugoslavia, El-Salvador, "
            "Trinadad&Tobago, Peru, Hong, Holand-Netherlands",
        ),
    ),
    label=Label("income", ("<=50K", ">50K")),
)

# The paper uses Adult in LIBSVM's encoding (a9a and a9a.t), which divides numbers into intervals with one
# indicator each. These are the upper ends of the intervals; the last interval has none. They are near the
# quintiles of the training file, and are declared public, as in the paper.
_INTERVALS = {
    "age": (25, 32, 40, 49),
    "fnlwgt": (106_640, 158_660, 196_337, 259_870),
    "education-num": (8, 9, 10, 12),
    "capital-gain": (0,),
    "capital-loss": (0,),
    "hours-per-week": (34, 39, 40, 47),
}


def _interval_names(ends: tuple[int, ...]) -> tuple[str, ...]:
    return (*(f"<={end}" for end in ends), f">{ends[-1]}")


ADULT_PAPER_SCHEMA = Schema(
    columns=tuple(
        Categorical(fact.name, _interval_names(_INTERVALS[fact.name])) if fact.name in _INTERVALS else fact
        for fact in ADULT_SCHEMA.columns
    ),
    label=ADULT_SCHEMA.label,
)


def load_adult(*, split: Literal["train", "test", "all"] = "all") -> Bunch:
    """Load UCI Adult, encoded by its public schema.

    Parameters
    ----------
    split : {"train", "test", "all"}, default="all"
        The official training file (32,561 people), test file (16,281), or both in that order.

    Returns
    -------
    Bunch
        What `privfit.datasets.load` returns, and ``frame``, a dict of the raw columns.
    """
    if split not in ("train", "test", "all"):
        raise ValueError(f"split must be 'train', 'test' or 'all', not {split!r}.")
    return encoded_adult(split, "schema")


def encoded_adult(split: Literal["train", "test", "all"], encoding: Encoding) -> Bunch:
    """Load Adult in either encoding; the paper's encoding is computed from the official files, too."""
    rows = [row for part in _FILES if split in (part, "all") for row in _rows(*_FILES[part])]
    frame, labels = raw_columns(rows, ADULT_SCHEMA)
    schema, columns = ADULT_SCHEMA, frame
    if encoding == "paper":
        schema, columns = ADULT_PAPER_SCHEMA, frame | _intervals(frame)
    bunch = dataset(
        encode(columns, schema),
        # The test file ends its labels with a full stop.
        np.char.rstrip(labels, "."),
        schema=schema,
        licence=CC_BY,
        description=files(__package__).joinpath("files", "ATTRIBUTION.md").read_text(encoding="utf-8"),
    )
    bunch.frame = frame
    return bunch


def _intervals(frame: dict[str, Any]) -> dict[str, Any]:
    """Replace each number by the name of the interval it lies in."""
    return {
        name: np.array(_interval_names(ends), dtype=object)[np.searchsorted(ends, frame[name])]
        for name, ends in _INTERVALS.items()
    }


def _rows(name: str, sha256: str) -> list[list[str]]:
    """Unpack one bundled file, check that it is the official file, and split its lines into fields."""
    try:
        unpacked = gzip.decompress(files(__package__).joinpath("files", name).read_bytes())
    except (OSError, EOFError, zlib.error):
        unpacked = b""
    if hashlib.sha256(unpacked).hexdigest() != sha256:
        raise RuntimeError(f"The bundled file {name} is missing or damaged; reinstall privfit.")
    # The test file opens with a comment ("|1x3 Cross validator"), and both end with an empty line.
    lines = unpacked.decode("ascii").splitlines()
    return [line.split(", ") for line in lines if line and not line.startswith("|")]
