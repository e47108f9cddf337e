"""The function `load`, which loads any of the data sets."""

from __future__ import annotations

import os
from typing import Any, Literal, get_args

from sklearn.utils import Bunch

from privfit.datasets.adult import encoded_adult
from privfit.datasets.bank import load_bank
from privfit.datasets.dataset import Encoding
from privfit.datasets.ipums import load_ipums
from privfit.datasets.kddcup99 import load_kddcup99
from privfit.schema import Schema

Name = Literal["adult", "bank", "ipums-br", "ipums-us", "kddcup99"]
# The allowed values of `subset`, the default first.
_SUBSETS: dict[str, tuple[str, ...]] = {"adult": ("all", "train", "test"), "kddcup99": ("10%", "full")}


def load(
    name: Name,
    *,
    encoding: Encoding = "schema",
    subset: Literal["train", "test", "all", "10%", "full"] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    schema: Schema | None = None,
) -> Bunch:
    """Load a data set together with the public facts about it.

    Adult is part of the package. Files of other data sets are first looked for in `data_dir` or, without it,
    in the directory that the environment variable PRIVFIT_DATA names, and then in the user's cache. A file
    that is in neither place is downloaded from its official address into the cache. The IPUMS files cannot be
    downloaded.

    Guarantee: an encoded record depends on that record and on constants in this package (or on your
    `schema`), and never on other records.

    Parameters
    ----------
    name : {"adult", "bank", "ipums-br", "ipums-us", "kddcup99"}
        The data set. "ipums-us" is your own extract, ``IPUMS-US.dat``: a text file with one record in each
        line: numbers separated by spaces, and at the end the label, 0 or 1.
    encoding : {"schema", "paper"}, default="schema"
        "schema" is the encoding of this package: numbers are rescaled by bounds that are documented or round
        numbers, and each documented category has an indicator. "paper" is the matrix of Lee & Kifer's
        experiments: 123 columns for Adult (LIBSVM's encoding), 32 for Bank, 52 and 57 for IPUMS, 119 for KDD
        Cup 1999. The paper counts one more column, the intercept, which the estimators add. Its bounds are
        the extremes in the data, declared public as in the paper. The IPUMS files are encoded already, so
        both encodings are the same for them.
    subset : str, optional
        For "adult", "all" (default), "train" or "test"; for "kddcup99", "10%" (default) or "full".
    data_dir : path, optional
        Directory with the official files, plain or as .gz.
    schema : Schema, optional
        For "ipums-us" only: the public facts about your extract. Without a schema, bounds are taken from the
        file, with a `PrivacyLeakWarning`.

    Returns
    -------
    Bunch
        ``data`` (a CSR matrix of float32 between 0 and 1), ``target`` (strings), ``classes`` (both labels,
        the negative class first), ``feature_names``, ``schema``, ``licence`` and ``DESCR``.

    Raises
    ------
    DownloadError
        If a file could not be downloaded, or its hash is wrong; nothing of it is kept.
    FileNotFoundError
        If a file that cannot be downloaded is not on this machine.

    Examples
    --------
    >>> from privfit.datasets import load
    >>> adult = load("adult", encoding="paper", subset="train")
    >>> adult.data.shape, adult.classes
    ((32561, 123), ('<=50K', '>50K'))
    """
    if name not in get_args(Name):
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(map(repr, get_args(Name)))}.")
    if encoding not in get_args(Encoding):
        raise ValueError(f"encoding must be 'schema' or 'paper', not {encoding!r}.")
    if schema is not None and name != "ipums-us":
        raise ValueError(f"schema is for 'ipums-us' only; the schema of {name!r} is part of the package.")
    subsets = _SUBSETS.get(name, (None,))
    if subset not in (None, *subsets):
        known = f"must be {' or '.join(map(repr, subsets))}" if name in _SUBSETS else "must be left out"
        raise ValueError(f"subset of {name!r} {known}, not {subset!r}.")
    chosen: Any = subset or subsets[0]
    if name == "adult":
        return encoded_adult(chosen, encoding)
    if name == "bank":
        return load_bank(encoding=encoding, data_dir=data_dir)
    if name == "kddcup99":
        return load_kddcup99(encoding=encoding, subset=chosen, data_dir=data_dir)
    return load_ipums(name, schema=schema, data_dir=data_dir)
