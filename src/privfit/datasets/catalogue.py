"""One door to all data sets."""

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
# What `subset` may be; the first is the default.
_SUBSETS: dict[str, tuple[str, ...]] = {"adult": ("all", "train", "test"), "kddcup99": ("10%", "full")}


def load(
    name: Name,
    *,
    encoding: Encoding = "schema",
    subset: Literal["train", "test", "all", "10%", "full"] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    schema: Schema | None = None,
) -> Bunch:
    """Load a data set with the public facts about it.

    Adult is shipped with the package. A file of another data set is looked for in `data_dir`, or else in the
    directory that the environment variable PRIVFIT_DATA names, then in the user's cache, and is at last
    downloaded into that from its official address. The IPUMS files cannot be downloaded.

    Guarantee: an encoded record is a function of that record and of constants in this package (or of your
    `schema`), never of other records.

    Parameters
    ----------
    name : {"adult", "bank", "ipums-br", "ipums-us", "kddcup99"}
        The data set. "ipums-us" is your own extract, ``IPUMS-US.dat``: numbers separated by spaces, one
        record a line, a label of 0 or 1 last.
    encoding : {"schema", "paper"}, default="schema"
        "schema" is the library's own: numbers rescaled from bounds that are documented or round figures, one
        indicator for each documented category. "paper" is the matrix of Lee & Kifer's experiments: 123
        columns for Adult (LIBSVM's encoding), 32 for Bank, 52 and 57 for IPUMS, 119 for KDD Cup 1999. The
        paper counts one more, the bias, which the estimators add themselves. Its bounds are the extremes in
        the data, declared public as in the paper. The IPUMS files are encoded already; for them both mean
        the same.
    subset : str, optional
        For "adult", "all" (default), "train" or "test"; for "kddcup99", "10%" (default) or "full".
    data_dir : path, optional
        Directory with the official files, plain or as .gz.
    schema : Schema, optional
        For "ipums-us" only, the public facts about your extract. Without it bounds are taken from the file,
        with a PrivacyLeakWarning.

    Returns
    -------
    Bunch
        ``data`` (CSR, float32, in [0, 1]), ``target`` (strings), ``classes`` (the two, negative first),
        ``feature_names``, ``schema``, ``licence`` and ``DESCR``.

    Raises
    ------
    DownloadError
        If a file could not be fetched whole and unchanged; nothing of it was kept.
    FileNotFoundError
        If a file that cannot be downloaded is nowhere.

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
        raise ValueError(f"schema is for 'ipums-us' only; that of {name!r} is part of the package.")
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
