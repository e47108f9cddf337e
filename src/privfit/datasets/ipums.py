"""IPUMS census extracts as the paper's authors encoded them: numbers separated by spaces, the label last."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from privfit.datasets.dataset import dataset, encode
from privfit.datasets.sources import Source, locate, reading
from privfit.leaks import leak
from privfit.schema import Label, Numeric, Schema


def _source(file: str) -> Source:
    return Source(
        file=file,
        why="the terms of IPUMS forbid passing extracts on (the paper's authors list it as "
        f"dataset/{file} of github.com/ppmlguy/DP-AGD, under those terms)",
    )


SOURCES = {"ipums-br": _source("IPUMS-BR.dat"), "ipums-us": _source("IPUMS-US.dat")}
_TASKS = {"ipums-br": "300 dollars a month", "ipums-us": "25,000 dollars a year"}
_LICENCE = "IPUMS International terms of use, https://international.ipums.org: not to be redistributed"
_US_LABEL = Label("income", ("<=25K", ">25K"))

# The 52 columns of IPUMS-BR.dat have no names and no documentation. Most hold only 0 and 1. These are the
# smallest and the largest values of the others. The paper rescales by them, so they are declared public here,
# too.
_BR_BOUNDS = {
    **{6: (1, 2), 7: (0, 6), 8: (1, 2), 9: (1, 30), 10: (1, 27), 11: (0, 9), 12: (0, 4), 13: (10, 100)},
    **{14: (1, 2), 19: (1, 2), 50: (1, 140), 51: (1, 2), 52: (0, 88)},
}
IPUMS_BR_SCHEMA = Schema(
    columns=tuple(Numeric(f"x{j}", *_BR_BOUNDS.get(j, (0, 1))) for j in range(1, 53)),
    label=Label("income", ("<=300", ">300")),
)


def load_ipums(
    name: Literal["ipums-br", "ipums-us"], *, schema: Schema | None, data_dir: str | os.PathLike[str] | None
) -> Bunch:
    """Load an extract. The file is encoded already, so every `encoding` rescales it to [0, 1]."""
    if name == "ipums-br":
        schema = IPUMS_BR_SCHEMA
    path = locate(SOURCES[name], data_dir)
    table = _read(path)
    features, labels = table[:, :-1].T, table[:, -1].astype(int)
    if schema is None:
        leak(
            f"The smallest and largest value of each column of {path.name} were",
            "declare them with schema=Schema([Numeric(...), ...], label=...)",
        )
        low, high = features.min(axis=1), features.max(axis=1)
        high = np.where(high > low, high, low + 1)  # a constant column needs an interval, too
        schema = Schema(
            [Numeric(f"x{j}", *bounds) for j, bounds in enumerate(zip(low, high, strict=True), start=1)],
            label=_US_LABEL,
        )
    if len(features) != len(schema.columns):
        raise ValueError(f"{path} has {len(features)} columns before the label, not {len(schema.columns)}.")
    names = (column.name for column in schema.columns)
    return dataset(
        encode(dict(zip(names, features, strict=True)), schema),
        schema.label.targets(labels),
        schema=schema,
        licence=_LICENCE,
        description="Census records from IPUMS International, https://international.ipums.org, encoded by "
        f"the authors of DP-AGD; the task is to say whether a person earns more than {_TASKS[name]}.",
    )


def _read(path: Path) -> NDArray[np.float64]:
    with reading(path) as file:
        lines = file.readlines()
    try:
        table = np.loadtxt(lines, dtype=np.float64, ndmin=2) if lines else np.empty((0, 0))
        if table.shape[1] < 2 or not np.isfinite(table).all() or not np.isin(table[:, -1], (0, 1)).all():
            raise ValueError
    except ValueError:
        # the original error is dropped, because it quotes a record
        raise ValueError(
            f"{path} is not a table of finite numbers separated by spaces with a label, 0 or 1, at the end "
            "of each line."
        ) from None
    return table
